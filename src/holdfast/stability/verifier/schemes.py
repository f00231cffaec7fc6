"""The explicit tableaus that a certificate may name, written down once more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction as F
from math import factorial


@dataclass(frozen=True)
class Tableau:
    """x⁺ = x + step Σ b_i K_i of order p = number of stages, so R(z) = Σ_{k≤p} z^k/k!."""

    stages: tuple[tuple[F, ...], ...]
    weights: tuple[F, ...]

    @property
    def order(self) -> int:
        return len(self.weights)

    @property
    def stability(self) -> list[F]:
        return [F(1, factorial(k)) for k in range(self.order + 1)]

    @property
    def nodes(self) -> list[F]:
        return [sum(row, F(0)) for row in self.stages]


_HALF, _THIRD, _ZERO, _ONE = F(1, 2), F(1, 3), F(0), F(1)
TABLEAUS = {
    "euler": Tableau(((),), (_ONE,)),
    "midpoint": Tableau(((), (_HALF,)), (_ZERO, _ONE)),
    "heun": Tableau(((), (_ONE,)), (_HALF, _HALF)),
    "ralston": Tableau(((), (F(2, 3),)), (F(1, 4), F(3, 4))),
    "kutta3": Tableau(((), (_HALF,), (-_ONE, F(2))), (F(1, 6), F(2, 3), F(1, 6))),
    "rk4": Tableau(((), (_HALF,), (_ZERO, _HALF), (_ZERO, _ZERO, _ONE)), (F(1, 6), _THIRD, _THIRD, F(1, 6))),
    "three-eighths": Tableau(
        ((), (_THIRD,), (-_THIRD, _ONE), (_ONE, -_ONE, _ONE)), (F(1, 8), F(3, 8), F(3, 8), F(1, 8))
    ),
}
PLACE = re.compile(r"two-stage\(([1-9]\d{0,59})(?:/([1-9]\d{0,59}))?\)")


def tableau_named(name: str) -> Tableau | None:
    """The tableau of a name; "two-stage(p/q)" has its second stage at α = p/q with the weight 1/(2α), so order 2:

    Σ b = 1,   Σ b c = α/(2α) = 1/2.
    """
    if name in TABLEAUS:
        return TABLEAUS[name]
    found = PLACE.fullmatch(name)
    if found is None:
        return None
    place = F(int(found[1]), int(found[2] or 1))
    return Tableau(((), (place,)), (1 - 1 / (2 * place), 1 / (2 * place)))
