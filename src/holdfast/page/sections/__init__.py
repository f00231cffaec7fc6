"""One file for each section of the page; `in_order` lists them."""
