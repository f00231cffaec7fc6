"""Bodies in stages, with eliminations of large systems by tables between them."""
