"""Rows of joints that nothing can change: a door on two hinges is held by one of them.

Whether a row moves at all is seen at two random states, with the parameters as they are stated. One that stays at zero
is left out, and said; one that stays elsewhere can never be met.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.quantities import Coordinate, NamedSymbol, State

STILL = 1e-9  # of the largest number on the way: a row that changes less, and is less, is one that rests at zero
SEEDS = (1, 2)


def idle_rows(
    rows: Mapping[str, sp.Expr],
    owners: Mapping[str, str],
    definitions: Mapping[str, sp.Expr],
    parameters: Mapping[str, sp.Expr | None],
) -> tuple[str, ...]:
    """The rows that are zero at every state."""
    looks = [_Look(definitions, parameters, seed) for seed in SEEDS]
    found = []
    for name, row in rows.items():
        values = [look.value(row) for look in looks]
        reach = STILL * max(1e-300, *(look.reach for look in looks))
        if any(abs(value - values[0]) > reach for value in values):
            continue
        if not abs(values[0]) <= reach:
            joint = owners[name]
            raise BadStatement(
                f"the joint {joint!r} cannot close: {name!r} stays at {values[0]:.4g}, whatever moves",
                where=f"joints.{joint}",
                fix="look at the places and axes of its two ends",
            )
        found.append(name)
    return tuple(found)


class _Look:
    """All definitions at one random state."""

    def __init__(self, definitions: Mapping[str, sp.Expr], parameters: Mapping[str, sp.Expr | None], seed: int) -> None:
        self._random, self._values = random.Random(seed), dict[str, sp.Expr]()
        self.reach = 1e-300
        for name, value in parameters.items():
            self._values[name] = sp.Float(self._random.uniform(0.5, 1.5) if value is None else self.value(value))
        for name, value in definitions.items():
            self._values[name] = sp.Float(self.value(value))
            self.reach = max(self.reach, abs(float(self._values[name])))

    def value(self, expression: sp.Expr) -> float:
        """A number; states and coordinates are random, the same throughout."""
        for symbol in expression.free_symbols:
            if symbol.name not in self._values:
                assert isinstance(symbol, NamedSymbol)
                size = 1.0 if isinstance(symbol, (Coordinate, State)) else 0.5
                self._values[symbol.name] = sp.Float(size * self._random.uniform(0.2, 1.0))
        return float(sp.N(expression.xreplace({s: self._values[s.name] for s in expression.free_symbols})))
