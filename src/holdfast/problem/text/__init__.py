"""Expressions as text: read by a whitelist, and written so that they read back the same."""
