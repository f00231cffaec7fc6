"""Sections on the theory behind a run: what follows from a stated function, beside what was measured."""
