"""Radau IIA of order 5: three stages, L-stable, for what is stiff; with a fixed step, or with steps by its error.

The tableau lies in Q(√6); √6 is kept to 60 digits, so that nothing computed from it in doubles can tell.
Hairer, Wanner, *Solving Ordinary Differential Equations II*, table IV.5.6.
"""

from fractions import Fraction as F
from math import isqrt

from holdfast.schemes.kinds.collocation import Collocation
from holdfast.schemes.kinds.runge_kutta import RungeKutta

DIGITS = 60
ROOT6 = F(isqrt(6 * 10 ** (2 * DIGITS)), 10**DIGITS)


def _number(rational: F, root6: F) -> F:
    return rational + root6 * ROOT6


RADAU5 = RungeKutta(
    name="radau5",
    order=5,
    stages=(
        (_number(F(88, 360), F(-7, 360)), _number(F(296, 1800), F(-169, 1800)), _number(F(-2, 225), F(3, 225))),
        (_number(F(296, 1800), F(169, 1800)), _number(F(88, 360), F(7, 360)), _number(F(-2, 225), F(-3, 225))),
        (_number(F(16, 36), F(-1, 36)), _number(F(16, 36), F(1, 36)), F(1, 9)),
    ),
    weights=(_number(F(16, 36), F(-1, 36)), _number(F(16, 36), F(1, 36)), F(1, 9)),
    digits=DIGITS,
)

RADAU = Collocation(name="radau", main=RADAU5)
