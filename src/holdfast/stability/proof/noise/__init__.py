"""Proofs in the mean square: what noise leaves of a program, with its rounding."""
