"""The arithmetics in which a graph is evaluated: one table of functions each."""
