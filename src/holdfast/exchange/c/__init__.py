"""Equations as C99: a header, a source, and the controller alone."""
