"""Implicit midpoint: x⁺ = x + step F((x + x⁺)/2, t + step/2). Symmetric, symplectic, A-stable; order 2."""

from fractions import Fraction as F

from holdfast.schemes.kinds.runge_kutta import RungeKutta

IMPLICIT_MIDPOINT = RungeKutta(name="implicit-midpoint", order=2, stages=((F(1, 2),),), weights=(F(1),))
