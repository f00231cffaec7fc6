"""How time is cut: one-step schemes as exact data. The engine reads it to emit code, `stability` to make a promise."""
