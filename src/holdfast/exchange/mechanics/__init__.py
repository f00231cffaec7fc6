"""Systems of `sympy.physics.mechanics` as problems."""
