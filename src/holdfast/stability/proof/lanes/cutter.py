"""Boxes cut down to a region, many at a time: forms of second order instead of slopes over a box.

    ψ(x) = a + Σ l_k e_k + q(e) + r(e),    x_k = c_k + r_k e_k,   |e_k| ≤ 1

The cutting itself is native (`holdfast.engine.forms.cutting`); here is what it leaves, as rows that others read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.cutting import CUT_SLACK
from holdfast.engine.forms.evaluate import Forms, FormTape
from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.engine.forms.tape import Recorder
from holdfast.engine.forms.values import LEAST
from holdfast.graph.nodes import Node
from holdfast.stability.proof.block import BlockFlow

Array = np.ndarray
SLACK = CUT_SLACK  # of the terms of a sum


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of the variables of a motion, with exact ends [box, variable]."""

    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.low)

    def chosen(self, which: Array) -> Boxes:
        return Boxes(self.low[which], self.high[which])

    @property
    def middle(self) -> Array:
        return np.asarray(self.low + (self.high - self.low) / 2)

    @property
    def reach(self) -> Array:
        """Not below what either end is away from the middle; never 0, so that each e has a meaning."""
        middle = self.middle
        away = np.maximum(self.high - middle, middle - self.low)
        return np.asarray(away * (1 + SLACK) + 1e-15 * np.abs(middle) + LEAST)

    def halved(self, variables: Array) -> Boxes:
        """Each cut in the middle of one variable, first all lower halves."""
        rows, middle = np.arange(len(self)), self.middle
        below, above = self.high.copy(), self.low.copy()
        below[rows, variables] = above[rows, variables] = middle[rows, variables]
        return Boxes(np.concatenate([self.low, above]), np.concatenate([below, self.high]))


@dataclass(frozen=True, eq=False)
class Cut:
    """Boxes after cutting, with which of them hold a state of the region at all, and the deviations over them."""

    boxes: Boxes
    alive: Array  # [box]
    rows: LimitedRows

    def chosen(self, which: Array) -> Cut:
        """Some of the boxes that are alive."""
        return Cut(self.boxes.chosen(which), np.ones(len(which), bool), self.rows.chosen(which))


@dataclass(frozen=True, eq=False)
class LimitedRows:
    """Deviations and extras over boxes: a + Σ l e, and the range of the rest, all [box, row]."""

    value: Array
    slopes: Array  # [box, row, variable], by e
    middle: Array  # of the rest
    spread: Array
    bends: Array  # [box, variable]: how much each bends the rows

    def chosen(self, which: Array) -> LimitedRows:
        parts = (self.value, self.slopes, self.middle, self.spread, self.bends)
        return LimitedRows(*(part[which] for part in parts))

    def reached(self) -> tuple[Array, Array]:
        """The least and the largest value of each row, not within them."""
        size = np.abs(self.slopes).sum(axis=-1)
        room = SLACK * (np.abs(self.value) + size + np.abs(self.middle) + self.spread) + LEAST
        centre, away = self.value + self.middle, size + self.spread + room
        return centre - away, centre + away


def straight(boxes: Boxes, shape: CellMonomials, width: int) -> Array:
    """Inputs of a tape: x_k = c_k + r_k e_k."""
    data = np.zeros((len(boxes), width, len(shape) + 3))
    data[:, :, 0] = boxes.middle
    for k, reach in enumerate(boxes.reach.T):
        data[:, k, shape.place[(k,)]] = reach
    return data


def over_variables(motion: BlockFlow, nodes: Sequence[Node], shape: CellMonomials) -> FormTape:
    """Functions of the motion over boxes of its variables."""
    tape = Recorder(1, shape)
    values = [tape.input([k]) for k in range(len(motion.variables))]
    place = motion.placed(values, [Fraction(0)] * (1 + len(motion.state)))
    found = tape.graph((motion.time, *motion.state), place, nodes)
    return FormTape(tape, [tape.number(x) for x in found])


class LaneCutter:
    """Cuts boxes of the variables of a motion down to what lies within limits of its deviations and extras."""

    def __init__(self, motion: BlockFlow) -> None:
        self.motion, self._shape = motion, monomials((1,) * len(motion.variables), 2)
        self._tape = over_variables(motion, (*motion.psi, *motion.others, *motion.extras), self._shape)
        factors = self._shape.factors
        self._linear = [self._shape.place[(k,)] for k in range(len(motion.variables))]
        self._squares = [m for m, f in enumerate(factors) if len(f) == 2 and f[0] == f[1]]
        self._mixed = [m for m, f in enumerate(factors) if len(f) == 2 and f[0] != f[1]]
        self._has = np.array([[len(f) == 2 and k in f for f in factors] for k in range(len(motion.variables))])

    def rows(self, boxes: Boxes) -> LimitedRows:
        """The rows over boxes as they are."""
        return self._limited(self._tape(straight(boxes, self._shape, boxes.low.shape[1])))

    def _limited(self, found: Forms) -> LimitedRows:
        c, rest = found.polynomials, found.remainders
        squares = c[..., self._squares]
        spread = 0.5 * np.abs(squares).sum(-1) + np.abs(c[..., self._mixed]).sum(-1) + rest
        room = SLACK * np.abs(c).sum(axis=-1) + LEAST
        bends = np.einsum("crm,km->ck", np.abs(c), self._has)
        return LimitedRows(c[..., 0], c[..., self._linear], 0.5 * squares.sum(axis=-1), spread + room, bends)

    def cut(self, boxes: Boxes, low: Array, high: Array) -> Cut:
        """The parts of boxes where each row lies between two limits [row]."""
        (below, above), alive, found = self._tape.cut(boxes.low, boxes.high, np.array([low, high]))
        return Cut(Boxes(below[alive], above[alive]), alive, self._limited(found))
