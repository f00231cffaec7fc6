"""Explicit Euler: x⁺ = x + step F(x, t)."""

from fractions import Fraction as F

from holdfast.schemes.kinds.runge_kutta import RungeKutta

EULER = RungeKutta(name="euler", order=1, stages=((),), weights=(F(1),))
