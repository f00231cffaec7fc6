"""Equations linearised along a motion."""
