"""Lyapunov functions and the theorems on one-step schemes."""
