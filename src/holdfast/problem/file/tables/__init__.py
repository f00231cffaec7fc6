"""Tables of a problem file that take a page of their own."""
