"""Proofs in a tube along a run: every run near this one, at the same time, drifts no more than is said."""
