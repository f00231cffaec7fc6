"""Tubes along a run, re-checked: cells as cubics in time with a box around them, steps with symbols for what is left."""
