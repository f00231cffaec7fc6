"""When equations of the second order are Lagrange's: the conditions, and where they fail."""
