"""Accelerations and the holders' forces, solved, checked against what was stated, or refused by name."""
