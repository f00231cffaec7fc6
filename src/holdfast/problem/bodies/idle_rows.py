"""Rows of joints that nothing can change: a door on two hinges is held by one of them.

Whether a row moves at all is seen at random states, with the parameters as they are stated and with others: one that
rests at stated values only is kept. One that stays at zero is left out, and said; one that stays elsewhere can never be
met. What is small is judged beside the terms that the row itself is made of, whatever else moves, in any unit.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.quantities import NamedSymbol

STILL = 1e-9  # of the terms of a row: one that changes less, and is less, rests at zero; places have nine digits
SEEDS = (1, 2)


def idle_rows(
    rows: Mapping[str, sp.Expr],
    owners: Mapping[str, str],
    definitions: Mapping[str, sp.Expr],
    parameters: Mapping[str, sp.Expr | None],
) -> tuple[str, ...]:
    """The rows that are zero at every state."""
    stated = [_RowLook(definitions, parameters, seed) for seed in SEEDS]
    others = [_RowLook(definitions, dict.fromkeys(parameters), 3, seed) for seed in SEEDS]
    found = []
    for name, row in rows.items():
        values = [look.value(row) for look in stated]
        reach = STILL * max(look.size(row) for look in stated)
        if not abs(values[1] - values[0]) <= reach:
            continue
        if abs(values[0]) > reach:
            joint = owners[name]
            raise BadStatement(
                f"the joint {joint!r} cannot close: {name!r} stays at {values[0]:.4g}, whatever moves",
                where=f"joints.{joint}",
                fix="look at the places and axes of its two ends",
            )
        if _rests(row, others):
            found.append(name)
    return tuple(found)


def _rests(row: sp.Expr, looks: list[_RowLook]) -> bool:
    """Whether the row does not move for other parameters either; values that do not exist decide nothing."""
    values = [look.value(row) for look in looks]
    return not abs(values[1] - values[0]) > STILL * max(look.size(row) for look in looks)


class _RowLook:
    """All definitions at one random state, each with the size of the terms it is made of.

    Parameters without a value are random, by a seed of their own: two looks may differ in their states only.
    """

    def __init__(
        self,
        definitions: Mapping[str, sp.Expr],
        parameters: Mapping[str, sp.Expr | None],
        seed: int,
        state_seed: int | None = None,
    ) -> None:
        self._random = random.Random(seed)
        self._values, self._sizes = dict[str, float](), dict[str, float]()
        for name, value in parameters.items():
            self._put(name, sp.Float(self._random.uniform(0.5, 1.5)) if value is None else value)
        if state_seed is not None:
            self._random = random.Random(state_seed)
        for name, value in definitions.items():
            self._put(name, value)

    def _put(self, name: str, value: sp.Expr) -> None:
        number, size = self.value(value), self.size(value)
        self._values[name], self._sizes[name] = number, size

    def value(self, expression: sp.Expr) -> float:
        """A number, NaN where there is none; states and coordinates are random, the same throughout."""
        for symbol in expression.free_symbols:
            if symbol.name not in self._values:
                assert isinstance(symbol, NamedSymbol)
                self._values[symbol.name] = self._sizes[symbol.name] = self._random.uniform(0.2, 1.0)
        found = sp.N(expression.xreplace({s: sp.Float(self._values[s.name]) for s in expression.free_symbols}))
        return float(found) if found.is_real else math.nan

    def size(self, expression: sp.Expr) -> float:
        """What the terms of an expression are at most, before they cancel."""
        if expression.is_Symbol:
            self.value(expression)
            return self._sizes[expression.name]
        if expression.is_Add:
            return sum(self.size(part) for part in expression.args)
        if expression.is_Mul:
            return math.prod(self.size(part) for part in expression.args)
        if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
            return self.size(expression.base) ** int(expression.exp)
        own = abs(self.value(expression))
        return own if expression.is_number or expression.is_Pow else max(own, *map(self.size, expression.args))
