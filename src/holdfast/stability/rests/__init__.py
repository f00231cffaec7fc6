"""Rests in a parameter: branches, folds, and where stability changes."""
