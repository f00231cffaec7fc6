"""Cells: boxes cut down to a region, in coordinates along and across the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import JUMPING, ball, ball_between, balls, continuous_balls
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import ancestors
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.enclosure import Ball, Box, ball_matrix, column, entries, magnitude, matrix

ROUNDS = 12  # of cutting a box down, as long as it shrinks
THIN = 1e-3  # a deviation that moves the state by less than this part of a cell's length is no variable of its chart


@dataclass(frozen=True, eq=False)
class Cell:
    """A box cut down to the region, and the same set in coordinates along and across the program.

    x = centre + basis · offset
    """

    box: list[Ball]
    centre: list[Ball]
    basis: Any
    inverse: Any
    offset: list[Ball]
    along: int  # how many of the offsets lie along the program
    limits: list[Ball]  # of the deviations within the cell
    slopes: np.ndarray  # of the deviations, roughly

    @property
    def length(self) -> float:
        """The largest offset along the program."""
        return max((float(u.rad()) for u in self.offset[: self.along]), default=0.0)

    @cached_property
    def moves(self) -> list[float]:
        """How far each deviation moves the state across the program, roughly, as a part of the cell's length."""
        sizes = np.maximum(np.linalg.norm(self.slopes, axis=1) * self.length, 1e-300)
        return [float(limit.rad()) / float(size) for limit, size in zip(self.limits, sizes, strict=True)]

    @cached_property
    def wide(self) -> list[int]:
        """The deviations that move the state enough to be variables of a chart."""
        return [j for j, move in enumerate(self.moves) if move > THIN]

    def direction(self, k: int) -> list[float]:
        """How much each variable of the box moves coordinate k along or across the program."""
        return [magnitude(self.inverse[k, j]) for j in range(len(self.box))]

    def spreading(self, row: Sequence[float]) -> int:
        """The variable of the box that spreads the cell most, where it moves it as the row says."""
        reach = [abs(share) * float(x.rad()) for share, x in zip(row, self.box, strict=True)]
        return max(range(len(reach)), key=reach.__getitem__)


class Cutter:
    """Cuts boxes of the variables of a motion down to what lies within limits of its deviations."""

    def __init__(self, motion: BlockFlow) -> None:
        self.motion = motion

    def _tape(self, nodes: Sequence[Any]) -> Tape:
        return Tape((self.motion.time, *self.motion.state), tuple(nodes))

    @cached_property
    def bounds(self) -> tuple[Evaluator, Evaluator, list[list[int]]]:
        """All deviations and their partials by the variables, in balls."""
        motion = self.motion
        nodes = (*motion.psi, *motion.others, *motion.extras)
        rows = jacobian(nodes, motion.variables)
        slopes = self._tape([node for row in rows for node in row.values()])
        return self._tape(nodes).compiled(balls()), slopes.compiled(balls()), [list(row) for row in rows]

    @cached_property
    def _jumping(self) -> Evaluator | None:
        """All deviations and extras, `Undecided` over a box in which one may jump; None where none ever does."""
        nodes = (*self.motion.psi, *self.motion.others, *self.motion.extras)
        if not any(node.op in JUMPING for node in ancestors(nodes)):
            return None
        return self._tape(nodes).compiled(continuous_balls())

    def require_no_jump(self, box: Sequence[Ball]) -> None:
        """`Undecided` where a deviation or an extra may jump within a box: slopes say nothing across a jump."""
        if self._jumping is not None:
            self._jumping(self.full(box))

    def full(self, box: Sequence[Any]) -> list[Any]:
        """Time and state from values of the variables; 0 for what nothing depends on."""
        return self.motion.placed(box, [ball(0)] * (1 + len(self.motion.state)))

    def cell(self, box: Box, limits: Sequence[Ball]) -> Cell | None:
        """The part of a box where deviations and extras lie within their limits; None where there is none."""
        balls_of = self.drawn_in(box, limits)
        if balls_of is None:
            return None
        if self.motion.affine:
            return plain_cell(balls_of)  # a stretch of time: the reduced state is on the program
        try:
            self.require_no_jump(balls_of)
        except Undecided:
            return plain_cell(balls_of)
        return self._along_and_across(balls_of, limits[: len(limits) - len(self.motion.extras)])

    def drawn_in(self, box: Box, limits: Sequence[Ball]) -> list[Ball] | None:
        """The box drawn in to where deviations and extras lie within their limits; None where nothing is left.

        ψ(x) = ψ(c) + ψ'(X)(x − c)     row by row, solved for one variable after the other
        """
        balls_of = [ball_between(low, high) for low, high in box]
        if self.motion.affine:
            return balls_of
        value, slopes, places = self.bounds
        for _ in range(ROUNDS):
            try:
                self.require_no_jump(balls_of)
            except Undecided:
                return balls_of
            centre = [x.mid() for x in balls_of]
            at_centre = value(self.full(centre))
            flat = iter(slopes(self.full(balls_of)))
            rows = [{j: next(flat) for j in row} for row in places]
            offset = [x - c for x, c in zip(balls_of, centre, strict=True)]
            cut = _contracted(rows, at_centre, limits, offset)
            if cut is None:
                return None
            balls_of = [c + u for c, u in zip(centre, cut, strict=True)]
            if all(u.rad() > 0.8 * old.rad() for u, old in zip(cut, offset, strict=True)):
                break
        return balls_of

    def slopes(self, box: Sequence[Ball]) -> list[list[Ball]]:
        """The partials of all deviations by the variables, over a box; `Undecided` where one may jump."""
        self.require_no_jump(box)
        _, slopes, places = self.bounds
        flat = iter(slopes(self.full(box)))
        rows = [[ball(0)] * len(box) for _ in (*self.motion.psi, *self.motion.others)]
        for row, columns in zip(rows, places, strict=False):
            for j in columns:
                row[j] = next(flat)
        return rows

    def bending(self, cell: Cell) -> int | None:
        """The variable along which the program bends most within a cell; None where it is straight."""
        bends = []
        for k, wide in enumerate(cell.box):
            box = [wide if k == j else centre for j, centre in enumerate(cell.centre)]
            try:
                bends.append(sum(float(slope.rad()) for row in self.slopes(box) for slope in row))
            except Undecided:
                return k  # it jumps there
        most = max(range(len(bends)), key=bends.__getitem__)
        return most if 0 < bends[most] < float("inf") else None

    def _along_and_across(self, box: list[Ball], limits: Sequence[Ball]) -> Cell | None:
        """Coordinates along and across the program, in which the box is cut down once more."""
        size, rank = len(box), len(limits)
        centre = [x.mid() for x in box]
        offset = [x - c for x, c in zip(box, centre, strict=True)]
        slopes = self.slopes(box)
        middle = np.array([[float(x.mid()) for x in row] for row in slopes]).reshape(rank, size)
        if not 0 < rank < size or not np.isfinite(middle).all():
            return plain_cell(box)
        try:
            basis = ball_matrix(_coordinates(middle, np.array([float(u.rad()) for u in offset])))
            inverse = basis.inv()
        except (np.linalg.LinAlgError, ZeroDivisionError):
            return plain_cell(box)
        carried = matrix(slopes) * basis
        at_centre = self.bounds[0](self.full(centre))[:rank]
        turned = _contracted(
            [
                {j: table[i, j] for j in range(size)}
                for table, rows in ((carried, rank), (basis, size))
                for i in range(rows)
            ],
            [*at_centre, *[ball(0)] * size],
            [*limits, *offset],
            entries(inverse * column(offset)),
        )
        if turned is None:
            return None
        within = [
            common(limit, at + sum((a * u for a, u in zip(row, offset, strict=True)), ball(0)))
            for limit, at, row in zip(limits, at_centre, slopes, strict=True)
        ]
        return Cell(box, centre, basis, inverse, turned, size - rank, within, middle)


def _coordinates(slopes: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Directions along the program, each moving one variable of its own, and orthonormal ones across it.

    The variables are those that bound the cell most, so that the cell is nearly a box in these coordinates too.
    """
    rank = len(slopes)
    _, _, rows = np.linalg.svd(slopes)
    along, across = rows[rank:].T, rows[:rank].T
    least = max(1e-9 * widths.max(), 1e-150)
    order = _leading((along / np.maximum(widths, least)[:, None]).T)
    return np.hstack([along @ np.linalg.inv(along[order]), across])


def _leading(table: np.ndarray) -> list[int]:
    """As many columns as there are rows, by Gram and Schmidt: each the longest beside those before it."""
    left, chosen = table.copy(), list[int]()
    for _ in table:
        sizes = np.square(left).sum(axis=0)
        sizes[chosen] = -1.0
        chosen.append(int(sizes.argmax()))
        column = left[:, chosen[-1]] / max(float(np.sqrt(sizes[chosen[-1]])), 1e-300)
        left -= np.outer(column, column @ left)
    return chosen


def plain_cell(box: list[Ball]) -> Cell:
    """A box as a cell in its own coordinates."""
    centre = [x.mid() for x in box]
    identity = ball_matrix(np.eye(len(box)))
    return Cell(
        box,
        centre,
        identity,
        identity,
        [x - c for x, c in zip(box, centre, strict=True)],
        len(box),
        [],
        np.zeros((0, len(box))),
    )


def _contracted(
    rows: list[dict[int, Ball]], at_centre: list[Ball], limits: Sequence[Ball], offset: list[Ball]
) -> list[Ball] | None:
    """Offsets that can satisfy Σ slope·offset ∈ limit − value at the centre, or None."""
    cut = list(offset)
    for row, value, limit in zip(rows, at_centre, limits, strict=True):
        terms = {j: slope * cut[j] for j, slope in row.items()}
        total = sum(terms.values(), ball(0))
        wanted = limit - value
        if total.is_finite() and not total.overlaps(wanted):
            return None
        for j, slope in row.items():
            if not slope.is_finite() or slope.contains(0) or cut[j].is_zero():
                continue
            rest = sum((term for k, term in terms.items() if k != j), ball(0))
            allowed = (wanted - rest) / slope
            if not allowed.is_finite():
                continue
            if not allowed.overlaps(cut[j]):
                return None
            cut[j] = common(cut[j], allowed)
            terms[j] = slope * cut[j]
    return cut


def common(a: Ball, b: Ball) -> Ball:
    """The intersection of two balls that are known to overlap; the smaller one if rounding says otherwise."""
    try:
        return a.intersection(b)
    except ValueError:
        return a if a.rad() < b.rad() else b
