"""The explicit schemes of two stages and order 2: one for each place α of the second stage.

x̄ = x + α step F(x, t)
x⁺ = x + step ((1 - σ) F(x, t) + σ F(x̄, t + α step)),          2 α σ = 1
"""

from __future__ import annotations

import re
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


NAME = re.compile(r"two-stage\((\d{1,60})(?:/(\d{1,60}))?\)")  # a place with more digits has a name, but no way back


def two_stage_named(name: str) -> RungeKutta | None:
    """The scheme of a name as `two_stage` gives it, "two-stage(3/4)"; nothing for any other name."""
    found = NAME.fullmatch(name)
    if found is None or (found[2] is not None and not int(found[2])):
        return None
    place = F(int(found[1]), int(found[2] or 1))
    scheme = two_stage(place) if place > 0 else None
    return scheme if scheme is not None and scheme.name == name else None


MIDPOINT = two_stage(F(1, 2), name="midpoint")
HEUN = two_stage(1, name="heun")
RALSTON = two_stage(F(2, 3), name="ralston")
