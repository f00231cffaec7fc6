"""Functional Mock-up Units: FMI 2.0 and 3.0, model exchange and co-simulation."""
