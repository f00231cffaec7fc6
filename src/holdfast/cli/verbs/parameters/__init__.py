"""Verbs that ask for parameters: how a motion changes with them, and which fit data."""
