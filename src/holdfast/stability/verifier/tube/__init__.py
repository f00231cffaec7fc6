"""Tubes along a run, re-checked: cubics in time with a box around them, and symbols for what solving leaves."""
