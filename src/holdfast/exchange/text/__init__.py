"""Equations as text for NumPy, JAX, CasADi, Modelica and LaTeX."""
