"""Mechanisms by bodies and joints: what is stated, which tree it makes, and which names it gives."""
