"""Verbs that meet other tools."""
