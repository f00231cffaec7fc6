"""The explicit schemes of two stages and order 2: one for each place α of the second stage.

x̄ = x + α step F(x, t)
x⁺ = x + step ((1 - σ) F(x, t) + σ F(x̄, t + α step)),          2 α σ = 1
"""

from __future__ import annotations

from fractions import Fraction as F

from holdfast.errors import BadStatement
from holdfast.schemes.kinds.runge_kutta import RungeKutta


def two_stage(alpha: F | int | float | str, *, name: str | None = None) -> RungeKutta:
    """The scheme whose second stage stands at t + α step; σ = 1/(2α) is its weight."""
    place = F(repr(alpha)) if isinstance(alpha, float) else F(alpha)
    if place <= 0:
        raise BadStatement(f"a second stage at α = {place}", where="two_stage(alpha)", fix="give an α > 0")
    weight = 1 / (2 * place)
    return RungeKutta(name=name or f"two-stage({place})", order=2, stages=((), (place,)), weights=(1 - weight, weight))


MIDPOINT = two_stage(F(1, 2), name="midpoint")
HEUN = two_stage(1, name="heun")
RALSTON = two_stage(F(2, 3), name="ralston")
