"""Quasi-velocities u with q' = S(q, t) u, and the forms of the equations that are written in them."""
