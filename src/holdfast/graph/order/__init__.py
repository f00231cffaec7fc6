"""Orders in which a matrix can be eliminated."""
