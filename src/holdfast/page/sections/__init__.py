"""One file for each section of the page; `page/in_order.py` lists them."""
