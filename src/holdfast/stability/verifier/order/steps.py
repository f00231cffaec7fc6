"""A step from each box of a tube at the rows of a run, as a map of the deviations; and what all of them do together.

    ψ(Φ(x)) − M ψ(x) ∈ m ± r  for every x of the box,      ψ_{k+1} = M_k ψ_k + d_k,   d_k ∈ m_k ± r_k

Any matrix M will do. Here it takes the linear parts of ψ before the step to those after it; of what is left, squares of
a direction lie in [0, 1] and all else in [−1, 1]. What solving a stage leaves is carried on as symbols, one for each
row of its system: that J a + γ = Y holds but for the residual of that row is known after the step, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.reading.file import Claims
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Unconfirmed, require
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.step import after
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.space import box_space
from holdfast.stability.verifier.tube.step import TubeMotion

BATCH = 256  # boxes at a time
CHANGED = 4 * UNIT  # of the latest time: how far a step may be from the difference of its rows, whose times are rounded
NOTHING = 1e-9  # of the largest singular value: linear parts below it count as none
PADDING = 1 + 1e-9  # of sums of up to 10⁵ terms that are not negative


@dataclass(frozen=True, eq=False)
class StepRows:
    """The rows from which steps are taken: when, and how long the step from each is."""

    times: Array
    lengths: Array
    off: float  # a step is as long as that within this: 0 where all have one length

    @staticmethod
    def of(claims: Claims, steps: int) -> StepRows:
        """The first so many of a claim, whose run chose its steps or took one of a stated length."""
        if claims.times is None:
            assert claims.step is not None
            return StepRows(claims.begin + np.arange(steps) * claims.step, np.full(steps, claims.step), 0.0)
        times = np.array(claims.times)
        return StepRows(times[:steps], np.diff(times)[:steps], CHANGED * float(np.abs(times).max()))

    @property
    def longest(self) -> float:
        return float(self.lengths.max()) + self.off


@dataclass(frozen=True, eq=False)
class Boxes:
    """The states of a tube at the times of rows, each where one or two cells meet: with the row of each."""

    cells: TubeCells
    rows: Array
    owners: Array  # the cell of each
    steps: StepRows

    def lengths(self, chosen: Array) -> tuple[Array, Array]:
        """Of the steps from some boxes: a middle and a reach."""
        return self.steps.lengths[self.rows[chosen]], np.full(len(chosen), self.steps.off)


def boxes(tube: StatedTube, steps: StepRows, clock: float) -> Boxes:
    """Of all rows from which a step is taken; a row's time is wrong by no more than the clock."""
    whole = TubeCells.whole(list(tube.scales), tube.spans, tube.curves, tube.halves)
    times = steps.times
    first = np.searchsorted(tube.spans[:, 1], times - clock, side="left")
    last = np.searchsorted(tube.spans[:, 0], times + clock, side="right") - 1
    require(bool((first <= last).all() and (last < len(tube.spans)).all()), "a row of the run is not in the tube")
    count = last - first + 1
    rows = np.repeat(np.arange(len(times)), count)
    owners = np.repeat(first, count) + np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
    cells = whole.chosen(owners)
    length = cells.spans[:, 1] - cells.spans[:, 0]
    place = (times[rows] - cells.spans[:, 0]) / length
    off = 2 * clock / length + 4 * UNIT * (1 + np.abs(place))
    cells.low[:, 0], cells.high[:, 0] = np.clip(place - off, 0, 1), np.clip(place + off, 0, 1)
    return Boxes(cells, rows, owners, steps)


@dataclass(frozen=True, eq=False)
class StepMaps:
    """M, m and r of the step from each row."""

    matrices: Array
    middle: Array
    radius: Array


class MapReader:
    """Steps from boxes by the verifier's own forms."""

    def __init__(self, equations: Equations, names: list[str], tableau: Tableau) -> None:
        self.motion, self.tableau = TubeMotion(equations, names), tableau
        self.count, self._symbols = len(names), len(tableau.weights) * self.motion.rows

    def maps(self, found: Boxes, tell: Callable[[float], None]) -> StepMaps:
        """Boxes of one row share the M of the first, and what is left of both is left of the row."""
        starts = np.flatnonzero(np.diff(found.rows, prepend=-1))
        matrices = np.zeros((len(starts), self.count, self.count))
        low, high = np.full((2, len(found.rows), self.count), np.nan)
        for k in range(0, len(found.rows), BATCH):
            chosen = np.arange(k, min(k + BATCH, len(found.rows)))
            before, later = self._forms(found.cells.chosen(chosen), *found.lengths(chosen))
            own = _maps(before, later)
            rows = found.rows[chosen]
            leading = np.isin(chosen, starts)
            matrices[rows[leading]] = own[leading]
            low[chosen], high[chosen] = _left(matrices[rows], before, later)
            tell((k + len(chosen)) / len(found.rows))
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        if not np.isfinite(low + high).all():
            raise Unconfirmed("a step from a box of the tube is not enclosed")
        middle = (low + high) / 2
        radius = np.maximum(high - middle, middle - low) * PADDING + UNIT * (np.abs(low) + np.abs(high))
        return StepMaps(matrices, middle, radius)

    def _forms(self, cells: TubeCells, lengths: Array, off: Array) -> tuple[list[Form], list[Form]]:
        chosen = bool(off.any())  # steps that a run chose: what a length may be off by is a direction, too
        own = box_space(1 + len(cells.names) + chosen, self._symbols)
        self.motion.begin_step()
        with np.errstate(all="ignore"):
            values = cells.values(own)
            tau = Form.constant(own, lengths)
            if chosen:
                tau.c[:, own.linear[1 + len(cells.names)], 0] = off
            return self.motion.psi(own, len(cells), values), after(self.motion, self.tableau, tau, values)


def _maps(before: Sequence[Form], later: Sequence[Form]) -> Array:
    """M of each box, in doubles: of any matrix what is left is enclosed. Each deviation counts in its own size."""
    linear = before[0].space.linear
    a, b = (np.stack([form.c[:, linear, 0] for form in forms], axis=1) for forms in (before, later))
    sound = np.isfinite(a).all(axis=(1, 2)) & np.isfinite(b).all(axis=(1, 2))
    a, b = np.where(sound[:, None, None], a, 0.0), np.where(sound[:, None, None], b, 0.0)
    sizes = np.abs(a).max(axis=2, keepdims=True)
    sizes[sizes == 0] = 1.0
    try:
        return np.asarray(b @ np.linalg.pinv(a / sizes, rcond=NOTHING) / sizes.transpose(0, 2, 1))
    except np.linalg.LinAlgError:
        return np.zeros((len(a), len(before), len(before)))


def _left(matrices: Array, before: Sequence[Form], later: Sequence[Form]) -> tuple[Array, Array]:
    """The range of ψ after less M times ψ before."""
    own, size = before[0].space, len(before)
    a, b = (np.stack([form.c[:, :, 0] for form in forms], axis=1) for forms in (before, later))
    off_a, off_b = (np.stack([form.r[:, 0] for form in forms], axis=1) for forms in (before, later))
    with np.errstate(all="ignore"):
        weights = np.abs(matrices)
        left = b - matrices @ a
        lost = np.abs(b).sum(axis=2) + (weights @ np.abs(a).sum(axis=2)[..., None])[..., 0]
        rest = off_b + (weights @ off_a[..., None])[..., 0] + (size + 4) * UNIT * lost
        squares = _squares(own)
        halves = left[:, :, squares] / 2
        others = [k for k in range(1, own.size) if k not in set(squares)]
        middle = left[:, :, 0] + halves.sum(axis=2)
        reach = np.abs(left[:, :, others]).sum(axis=2) + np.abs(halves).sum(axis=2) + rest
        reach = (reach + UNIT * (len(squares) + 4) * (np.abs(left[:, :, 0]) + np.abs(halves).sum(axis=2))) * GROWTH
    return middle - reach * PADDING, middle + reach * PADDING


def _squares(own: Space) -> list[int]:
    """The places of the squares of directions."""
    return [k for k, exponents in enumerate(own.exponents) if sum(exponents) == max(exponents) == 2]


def largest(maps: StepMaps, start: Array, rounding: Array) -> Array:
    """The largest |ψ| at any row, at most: ψ_k = c_k + G z, |z| ≤ 1, a column of G for each d of each step before.

    What doubles lose of M c and M G is added to the next r.
    """
    size, steps = len(start), len(maps.matrices)
    columns = np.zeros((size, size * (steps + 1)))
    columns[:, :size] = np.diag(start)
    centre, most, reach = np.zeros(size), start.copy(), start.copy()
    unit, used = 2 * (size + 2) * UNIT, size
    with np.errstate(all="ignore"):
        for M, middle, radius, rounded in zip(maps.matrices, maps.middle, maps.radius, rounding, strict=True):
            lost = unit * (np.abs(M) @ (reach + np.abs(centre)) + np.abs(middle)) + 1e-290
            columns[:, :used] = M @ columns[:, :used]
            columns[:, used : used + size] = np.diag((radius + rounded + lost) * PADDING)
            used += size
            centre = M @ centre + middle
            reach = np.abs(columns[:, :used]).sum(axis=1) * PADDING
            most = np.maximum(most, (np.abs(centre) + reach) * PADDING)
    return np.where(np.isfinite(most), most, np.inf)
