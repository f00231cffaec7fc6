"""Kutta's schemes of 1901: third order, the classical fourth order, and the 3/8 rule."""

from fractions import Fraction as F

from holdfast.schemes.kinds.runge_kutta import RungeKutta

KUTTA3 = RungeKutta(name="kutta3", order=3, stages=((), (F(1, 2),), (F(-1), F(2))), weights=(F(1, 6), F(2, 3), F(1, 6)))

RK4 = RungeKutta(
    name="rk4",
    order=4,
    stages=((), (F(1, 2),), (F(0), F(1, 2)), (F(0), F(0), F(1))),
    weights=(F(1, 6), F(1, 3), F(1, 3), F(1, 6)),
)

THREE_EIGHTHS = RungeKutta(
    name="three-eighths",
    order=4,
    stages=((), (F(1, 3),), (F(-1, 3), F(1)), (F(1), F(-1), F(1))),
    weights=(F(1, 8), F(3, 8), F(3, 8), F(1, 8)),
)
