"""Runs in the user's names: their start, their rows, how they are judged, kept and drawn."""
