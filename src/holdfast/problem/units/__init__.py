"""Units as dimensions, and whether a problem's own agree."""
