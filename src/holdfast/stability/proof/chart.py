"""Charts: the states of a cell as Taylor forms, in coordinates along the program and in the deviations across it.

    x = c + T u + N v(u, z),      ψ(x) = z

A cell is short along the program but the program is curved, so that a box around it is never thin. The polynomial v
follows the curve; what it leaves is enclosed:

    v ∈ v₀(u, z) + A⁻¹ (z − ψ(c + T u + N v₀(u, z))),     A = ψ'(X) N
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.arithmetics.taylor import Form, Monomials, monomials, range_of, taylor_forms
from holdfast.stability.proof.cells import Cell, Cutter
from holdfast.stability.proof.enclosure import Ball, ball_matrix, column, entries, matrix

ORDER = 3
SLIGHT = 0.3  # a deviation that moves the state by less than this part of the cell's length counts as of second order


class Charts:
    """Draws charts of cells of one motion."""

    def __init__(self, cutter: Cutter) -> None:
        self.cutter = cutter

    @cached_property
    def deviations(self) -> Evaluator:
        """All deviations as Taylor forms."""
        motion = self.cutter.motion
        return Tape((motion.time, *motion.state), (*motion.psi, *motion.others)).compiled(taylor_forms())

    def places(self, cell: Cell) -> list[Any]:
        """Time and state as Taylor forms: u along the program first, then the deviations that are wide."""
        return self.cutter.full(Chart(self, cell).places() if cell.limits else _straight(cell, shape_of(cell)))


class Chart:
    """The states of one cell."""

    def __init__(self, charts: Charts, cell: Cell) -> None:
        self._charts, self._cell = charts, cell
        across = range(cell.along, len(cell.offset))
        self._normal = [[cell.basis[i, k] for k in across] for i in range(len(cell.box))]
        middle = self._across(_middle(cell))
        self._precondition = ball_matrix(_inverse(middle))
        self._base = _straight(cell, shape_of(cell))

    def places(self) -> list[Form]:
        """c + T u + N v, with what the polynomial v leaves enclosed."""
        cell = self._cell
        self._solved(cell.box, [ball(0)] * len(cell.limits))  # fails at once where the program bends too much
        v = self._followed()
        lacking = [range_of(form) for form in self._lacking(self._targets(), v)]
        reached = [box.union(range_of(form)) for box, form in zip(cell.box, self._moved(v), strict=True)]
        return self._moved([a + b for a, b in zip(v, self._solved(reached, lacking), strict=True)])

    def _followed(self) -> list[Form]:
        """A polynomial that follows the program: one order is gained in each round."""
        shape, targets = shape_of(self._cell), self._targets()
        v = [shape.constant(ball(0)) for _ in targets]
        for order in range(1, ORDER + 1):
            rough = shape.of_order(order)
            centres = [target.over(rough).mapped(_mid) for target in targets]
            better = _times(self._precondition, self._lacking(centres, v))
            v = [(a.over(rough) + b).mapped(_mid) for a, b in zip(v, better, strict=True)]
        return v

    def _targets(self) -> list[Form]:
        """The deviations z: variables where they are wide, balls otherwise."""
        cell, shape = self._cell, shape_of(self._cell)
        return [
            shape.linear(limit.mid(), [*[None] * cell.along, *(limit.rad() if k == j else None for k in cell.wide)])
            if j in cell.wide
            else shape.constant(limit)
            for j, limit in enumerate(cell.limits)
        ]

    def _across(self, box: Sequence[Ball]) -> Any:
        """A = ψ' N over a box."""
        return matrix(self._charts.cutter.slopes(box)) * matrix(self._normal)

    def _solved(self, box: Sequence[Ball], right: list[Ball]) -> list[Ball]:
        """A⁻¹ times a vector, for all A over a box."""
        try:
            return entries((self._precondition * self._across(box)).solve(self._precondition * column(right)))
        except ZeroDivisionError:
            raise Undecided("the program bends too much within this cell", fix="bisect the cell") from None

    def _moved(self, v: list[Form]) -> list[Form]:
        """c + T u + N v."""
        shape = v[0].monomials
        return [place.over(shape) + _dot(row, v) for place, row in zip(self._base, self._normal, strict=True)]

    def _lacking(self, targets: list[Form], v: list[Form]) -> list[Form]:
        """z − ψ at a place, in the monomials of z."""
        places = self._moved([form.over(targets[0].monomials) for form in v])
        found = self._charts.deviations(self._charts.cutter.full(places))
        return [target - value for target, value in zip(targets, found, strict=True)]


def shape_of(cell: Cell) -> Monomials:
    """The variables of a chart and how much they weigh."""
    across = [1 if cell.moves[j] > SLIGHT else 2 for j in cell.wide]
    return monomials((*[1] * cell.along, *across), ORDER)


def _straight(cell: Cell, shape: Monomials) -> list[Form]:
    """c + T u, with u over the offsets along the program."""
    along, further = range(cell.along), [None] * (len(shape.weights) - cell.along)
    return [
        shape.linear(middle, [*(cell.basis[i, k] * cell.offset[k].rad() for k in along), *further])
        for i, middle in enumerate(_middle(cell))
    ]


def _middle(cell: Cell) -> list[Ball]:
    """The middle of the cell along the program."""
    return [
        centre
        + _dot([cell.basis[i, k] for k in range(cell.along)], [offset.mid() for offset in cell.offset[: cell.along]])
        for i, centre in enumerate(cell.centre)
    ]


def _mid(term: Ball) -> Ball:
    return term.mid()


def _inverse(table: Any) -> np.ndarray:
    """The inverse of the middle of a ball matrix, in doubles."""
    middle = np.array([[float(table[i, j].mid()) for j in range(table.ncols())] for i in range(table.nrows())])
    try:
        return np.linalg.inv(middle)
    except np.linalg.LinAlgError:
        raise Undecided("the constraints depend on each other here", fix="bisect the cell") from None


def _dot(row: Sequence[Ball], vector: Sequence[Any]) -> Any:
    return sum((a * b for a, b in zip(row, vector, strict=True)), ball(0))


def _times(table: Any, vector: list[Form]) -> list[Any]:
    return [_dot([table[i, j] for j in range(len(vector))], vector) for i in range(table.nrows())]
