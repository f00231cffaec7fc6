"""Charts of many cells: states as forms in some of the variables themselves and in the deviations.

    x_p = c_p + r_p u,      x_r = P(u, z) + v,      ψ(x) = z,      |v| ≤ |C| |z − ψ(x_p, P)| + |I − C A| |v|

As many variables x_r as there are deviations follow from the others by the program; p are those that bound the cell
most. P is a polynomial in doubles, made by Newton's rounds, C the inverse of A = ∂ψ/∂x_r in the middle, in doubles too;
A is enclosed over a box that holds the cell and P, so that the mean value is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import monomials
from holdfast.engine.forms.tape import Recorder
from holdfast.engine.forms.values import LEAST
from holdfast.graph.derivatives import jacobian
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.lanes.cutter import SLACK, Array, Boxes, Cut, over_variables, straight

ORDER = 3  # of the forms
SLIGHT, FULL = 2, 1  # weights of the deviations in it
WIDE = 0.3  # of what a cell lets a deviation change by: one that may change by more has its full weight, if it counts
SINGULAR = 1e-14  # a determinant, rows and columns scaled to 1, below which no inverse is asked for
WIDER, WIDENED = 1.02, 30  # a bound of v is widened by so much, so often, before the cell is cut instead


@dataclass(frozen=True, eq=False)
class Charted:
    """Cells as forms: inputs of a tape [cell, variable, monomials + 3], and what each chart variable stands for."""

    data: Array
    free: Array  # [cell, u]: the variables that are variables of the chart
    sound: Array  # [cell]

    def chosen(self, which: Array) -> Charted:
        return Charted(self.data[which], self.free[which], self.sound[which])


def held_of(motion: BlockFlow) -> int:
    """How many variables follow from the others by the program; none where a box is as good."""
    held = 0 if motion.affine else len(motion.psi) + len(motion.others)
    return held if held < len(motion.variables) else 0


def within(cut: Cut, low: Array, high: Array, held: int) -> tuple[Array, Array]:
    """What limits and cells leave of each deviation [cell, row]."""
    least, most = cut.rows.reached()
    bottom = np.fmax(least[:, :held], low[:held])
    return bottom, np.maximum(np.fmin(most[:, :held], high[:held]), bottom)


def wide(cut: Cut, low: Array, high: Array, held: int) -> Array:
    """The cells in which a deviation may change by much of what they let it change by."""
    bottom, top = within(cut, low, high, held)
    moved = np.abs(cut.rows.slopes[:, :held]).sum(axis=-1)
    return np.asarray((top - bottom > 2 * WIDE * moved).any(axis=1))


class ChartSlopes:
    """∂ψ/∂x of all deviations by the variables of a motion, over boxes; the same for charts of any weight."""

    def __init__(self, motion: BlockFlow) -> None:
        self._shape = monomials((1,) * len(motion.variables), 1)
        rows = jacobian((*motion.psi, *motion.others), motion.variables)
        self._rows, self._columns = len(rows), [(i, j) for i, row in enumerate(rows) for j in row]
        self._tape = over_variables(motion, [rows[i][j] for i, j in self._columns], self._shape)

    def over(self, boxes: Boxes) -> tuple[Array, Array]:
        """Their middles, and how far they may be from them [box, row, variable]."""
        count, n = boxes.low.shape
        found = self._tape(straight(boxes, self._shape, n))
        near, spread = np.zeros((count, self._rows, n)), np.zeros((count, self._rows, n))
        reach = np.abs(found.polynomials[..., 1:]).sum(axis=-1) + found.remainders
        for k, (i, j) in enumerate(self._columns):
            near[:, i, j], spread[:, i, j] = found.polynomials[:, k, 0], reach[:, k]
        return near, spread


class LaneCharts:
    """Draws charts of cells of one motion; `shape` has the variables u, then z."""

    def __init__(self, motion: BlockFlow, weights: Sequence[int], slopes: ChartSlopes | None) -> None:
        """With the weights of the deviations in the order of forms."""
        self.motion, self._slopes, n = motion, slopes, len(motion.variables)
        self.held = held_of(motion)
        self.free = n - self.held
        self.shape = monomials((*[1] * self.free, *weights), ORDER)

    @cached_property
    def _deviations(self) -> FormTape:
        motion, tape = self.motion, Recorder(1, self.shape)
        values = [tape.input(self.variables()) for _ in motion.variables]
        place = motion.placed(values, [Fraction(0)] * (1 + len(motion.state)))
        found = tape.graph((motion.time, *motion.state), place, (*motion.psi, *motion.others))
        return FormTape(tape, [tape.number(x) for x in found])

    def variables(self) -> range:
        """Of the chart."""
        return range(self.free + self.held)

    def drawn(self, cut: Cut, low: Array, high: Array) -> Charted:
        """Charts of cells, whose deviations lie between limits [row]."""
        boxes, n = cut.boxes, len(self.motion.variables)
        if not self.held:
            return Charted(
                straight(boxes, self.shape, n), np.tile(np.arange(n), (len(boxes), 1)), np.ones(len(boxes), bool)
            )
        slopes = cut.rows.slopes[:, : self.held]
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        free, rest = self._pivots(slopes)
        data, targets = self._started(boxes, free), self._targets(cut, low, high)
        sound = np.isfinite(targets).all(axis=(1, 2))
        rows = np.arange(len(boxes))[:, None]
        inverse = _inverses(_columns(slopes, rest)) * boxes.reach[rows, rest][..., None]
        for _ in range(ORDER):
            lacking = targets - self._deviations(data).polynomials
            data[rows, rest, : len(self.shape)] += inverse @ lacking
        left, shown = self._missed(boxes, data, targets, rest, inverse)
        data[rows, rest, -2] = left
        return Charted(data, free, sound & shown)

    def _pivots(self, slopes: Array) -> tuple[Array, Array]:
        """The variables to keep, by Gram and Schmidt with pivots on directions along the program; and the others."""
        _, _, rows = np.linalg.svd(slopes)
        along = rows[:, self.held :, :].copy()  # [cell, free, variable], in parts of the cell's sides
        chosen, cells = np.zeros((len(slopes), self.free), int), np.arange(len(slopes))
        for k in range(self.free):
            sizes = (along**2).sum(axis=1)
            sizes[cells[:, None], chosen[:, :k]] = -1.0
            chosen[:, k] = sizes.argmax(axis=1)
            column = along[cells, :, chosen[:, k]]
            column = column / np.maximum(np.linalg.norm(column, axis=1, keepdims=True), LEAST)
            along -= column[:, :, None] * np.einsum("cf,cfv->cv", column, along)[:, None, :]
        chosen.sort(axis=1)
        left = np.ones(slopes.shape[::2], bool)
        left[cells[:, None], chosen] = False
        return chosen, np.nonzero(left)[1].reshape(len(slopes), self.held)

    def _started(self, boxes: Boxes, free: Array) -> Array:
        """x_p = c_p + r_p u, and x_r = c_r."""
        data, cells = np.zeros((len(boxes), boxes.low.shape[1], len(self.shape) + 3)), np.arange(len(boxes))
        data[:, :, 0], reach = boxes.middle, boxes.reach
        for k in range(self.free):
            data[cells, free[:, k], self.shape.place[(k,)]] = reach[cells, free[:, k]]
        return data

    def _targets(self, cut: Cut, low: Array, high: Array) -> Array:
        """z = middle + reach e, over what the limits and the cell leave of each deviation."""
        bottom, top = within(cut, low, high, self.held)
        targets = np.zeros((len(cut.boxes), self.held, len(self.shape)))
        middle = bottom + (top - bottom) / 2
        targets[..., 0] = middle
        for j in range(self.held):
            room = SLACK * (np.abs(bottom[:, j]) + np.abs(top[:, j])) + LEAST
            targets[:, j, self.shape.place[(self.free + j,)]] = (top[:, j] - bottom[:, j]) / 2 + room
        return targets

    def _missed(self, boxes: Boxes, data: Array, targets: Array, rest: Array, inverse: Array) -> tuple[Array, Array]:
        """|v|, at most, and whether it was shown; `inverse` is C."""
        cells, width = np.arange(len(boxes))[:, None], len(self.shape)
        found = self._deviations(data)
        lacking = np.abs(targets - found.polynomials).sum(axis=-1) + found.remainders
        lacking += SLACK * (np.abs(targets) + np.abs(found.polynomials)).sum(axis=-1) + LEAST
        followed = data[cells, rest, :width]
        size = np.abs(followed[..., 1:]).sum(axis=-1) + SLACK * np.abs(followed).sum(axis=-1)
        low, high = boxes.low.copy(), boxes.high.copy()
        low[cells, rest] = np.fmin(low[cells, rest], followed[..., 0] - size)
        high[cells, rest] = np.fmax(high[cells, rest], followed[..., 0] + size)
        assert self._slopes is not None
        near, spread = (_columns(x, rest) for x in self._slopes.over(Boxes(low, high)))
        bent = np.abs(inverse)
        one = np.eye(self.held)
        off = np.abs(one - inverse @ near) + bent @ (spread + SLACK * np.abs(near)) + SLACK * one
        left, shown = _fixed(off, np.einsum("cij,cj->ci", bent, lacking) * (1 + SLACK) + LEAST)
        shown &= np.isfinite(size).all(axis=1)
        return np.where(shown[:, None], left, np.inf), shown


def _columns(tables: Array, chosen: Array) -> Array:
    """Some columns of each table [cell, row, column]."""
    cells, rows = np.arange(len(tables))[:, None, None], np.arange(tables.shape[1])[:, None]
    return np.asarray(tables[cells, rows, chosen[:, None, :]])


def _fixed(off: Array, first: Array) -> tuple[Array, Array]:
    """v ≥ first + off v [cell, row], widened until that holds, and whether it does; `first` is positive.

    Neither is negative, so that there is a v only where the spectral radius of `off` is below 1: others need no try.
    """
    finite = np.isfinite(off).all(axis=(1, 2))
    hopeful = finite & (np.abs(np.linalg.eigvals(np.where(finite[:, None, None], off, 0.0))).max(axis=1) < 1)
    v = first * (1 + SLACK)
    for _ in range(WIDENED):
        needed = (first + np.einsum("cij,cj->ci", off, v)) * (1 + SLACK)
        shown = (needed <= v).all(axis=1) & np.isfinite(v).all(axis=1)
        if (shown | ~hopeful).all():
            break
        v = np.where(shown[:, None], v, needed * WIDER)
    return v, shown


def _inverses(tables: Array) -> Array:
    """In doubles; nan where there is none. Rows and columns are scaled first: each has a unit of its own."""
    one = np.eye(tables.shape[1])
    rows = np.abs(tables).max(axis=2, keepdims=True)
    scaled = tables / rows
    columns = np.abs(scaled).max(axis=1, keepdims=True)
    scaled = scaled / columns
    regular = np.isfinite(scaled).all(axis=(1, 2))
    safe = np.where(regular[:, None, None], scaled, one)
    regular &= np.abs(np.linalg.det(safe)) > SINGULAR
    safe = np.where(regular[:, None, None], scaled, one)
    found = np.linalg.inv(safe) / np.swapaxes(columns, 1, 2) / np.swapaxes(rows, 1, 2)
    return np.where(regular[:, None, None], found, np.nan)
