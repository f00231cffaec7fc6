"""Orders in which the statements of a body can stand: the same values, other registers."""
