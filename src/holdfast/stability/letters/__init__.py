"""Stability in letters: characteristic polynomials and inequalities in gains and parameters."""
