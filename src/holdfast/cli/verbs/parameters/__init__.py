"""Verbs that ask for parameters: how a motion, or a rest, changes with them, and which fit data."""
