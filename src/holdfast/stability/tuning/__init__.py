"""Gains for one model, scheme and step."""
