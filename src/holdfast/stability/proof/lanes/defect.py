"""The defect of one step over many cells at a time, in native Taylor forms.

    ψ(Φ_τ(x)) − R(τH) ψ(x) = c τ^(p+1),      c = c₁ + c₂(ξ) τ,     τ = step,   ξ ∈ [0, step]

where c_k is the (p+k)-th Taylor coefficient, in s, of a step of the length s and of one of the length ξ + s. The second
counts less and has forms of a lower order, with ξ as one more variable; s is counted in steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.common.memo import Memo
from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.engine.forms.tape import Recorder, Value, require_known
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.lanes.chart import FULL, SLIGHT, Charted, ChartSlopes, LaneCharts, held_of, wide
from holdfast.stability.proof.lanes.cover import LaneJudgement
from holdfast.stability.proof.lanes.cutter import SLACK, Array, Boxes, Cut, LaneCutter

ROUGH = 2  # the order of the forms of c₂
NATIVE = 1.1e-4  # units of work of one product, for each pair of terms in s, as in a tube
AROUND = 30.0  # units of work of a cell beside its forms: cutting and charts (20 to 60 µs in a batch)
SURE = 0.25  # of a middle value: where more than this is not known of it, it is none that is attained
LITTLE = 1e-5  # of a bound: a deviation that moved it by less in the cells before does not count (1e-4: bertrand loses)
EMPTY = 10.0  # units, for a box that the region misses


class LaneDefect:
    """Bounds ‖Lᵀc‖ of one block over boxes; refuses at once (`BadRequest`) what the kernel does not know."""

    def __init__(
        self, motion: BlockFlow, scheme: RungeKutta, step: float, factor: Array, kept: Memo | None = None
    ) -> None:
        self.motion, self.scheme, self.step, self.factor = motion, scheme, step, factor
        self._tapes = tapes = Memo() if kept is None else kept
        require_known((*motion.psi, *motion.others, *motion.extras, *motion.moving))
        self.held, self._kinds = held_of(motion), dict[tuple[int, ...], ChartDefect]()
        self._counts = np.ones(self.held, bool)  # which deviations the bound was seen to depend on; all, at first
        self.cutter = tapes.once(LaneCutter, lambda: LaneCutter(motion))
        self._slopes = tapes.once(ChartSlopes, lambda: ChartSlopes(motion)) if self.held else None

    def _kind(self, weights: tuple[int, ...]) -> ChartDefect:
        if weights not in self._kinds:
            tapes = self._tapes.once(weights, lambda: ChartTapes(self.motion, self.scheme, weights, self._slopes))
            self._kinds[weights] = ChartDefect(self.scheme, self.step, self.factor, tapes)
        return self._kinds[weights]

    @property
    def cost(self) -> float:
        """Units of work of the dearest cell so far."""
        return max((kind.cost for kind in self._kinds.values()), default=AROUND)

    def cut(self, boxes: Boxes, low: Array, high: Array) -> Cut:
        if self.motion.affine:
            return Cut(boxes, np.ones(len(boxes), bool), self.cutter.rows(boxes))
        return self.cutter.cut(boxes, low, high)

    def judged(self, boxes: Boxes, low: Array, high: Array) -> LaneJudgement:
        """Bounds over the parts of boxes whose deviations and extras lie between limits [row]."""
        with np.errstate(all="ignore"):
            cut = self.cut(boxes, low, high)
            found = np.zeros((4, len(cut.boxes)))
            spent = EMPTY * float((~cut.alive).sum())
            full = wide(cut, low, high, self.held)
            for rows, weights in self._alike(full):
                kind = self._kind(weights)
                part = cut if len(rows) == len(full) else cut.chosen(rows)
                found[:, rows], shares = kind.judged(part, low, high)
                spent += kind.cost * len(rows)
                self._counts = shares > LITTLE if full[rows].any() else self._counts
        bounds, reached, inside, variables = found
        return LaneJudgement(cut.alive, cut.boxes, bounds, reached, variables.astype(int), inside, spent)

    def _alike(self, full: Array) -> Iterator[tuple[Array, tuple[int, ...]]]:
        """Cells whose forms have the same weights, with these: where deviations are wide, those that count have more
        terms.
        """
        slight, counts = (SLIGHT,) * self.held, tuple(FULL if one else SLIGHT for one in self._counts)
        for rows, weights in ((np.flatnonzero(~full), slight), (np.flatnonzero(full), counts)):
            if len(rows):
                yield rows, weights


class ChartTapes:
    """A step of any length over cells whose deviations have the same weights in the forms, recorded."""

    def __init__(
        self, motion: BlockFlow, scheme: RungeKutta, weights: tuple[int, ...], slopes: ChartSlopes | None
    ) -> None:
        self.motion, self.scheme, self.charts = motion, scheme, LaneCharts(motion, weights, slopes)
        count = len(motion.variables)
        self.rough = monomials((*(min(w, ROUGH) for w in self.charts.shape.weights), 1), ROUGH)
        self.near = self._recorded(scheme.order + 2, self.charts.shape, [])
        self.far = self._recorded(scheme.order + 3, self.rough, [count])
        self.has = np.array([[k in factors for factors in self.charts.shape.factors] for k in range(count)])

    def _recorded(self, terms: int, shape: CellMonomials, beyond: Sequence[int]) -> FormTape:
        """ψ after a step, whose length depends on s and on variables beyond those of a chart."""
        motion = self.motion
        tape = Recorder(terms, shape)
        tau = tape.input(beyond, 1)
        values = [tape.input(self._seen(k)) for k in range(len(motion.variables))]
        time, *state = motion.placed(values, [Fraction(0)] * (1 + len(motion.state)))
        inputs = (motion.time, *motion.state)
        if motion.affine:
            state = [tape.mul(x, Fraction(-1)) for x in tape.graph(inputs, [time, *state], motion.psi)]
        stages: list[list[Value]] = []

        def advanced(weights: Sequence[Fraction]) -> list[Value]:
            result = []
            for i, x in enumerate(state):
                total: Value = Fraction(0)
                for b, stage in zip(weights, stages, strict=False):
                    total = tape.add(total, tape.mul(stage[i], Fraction(b))) if b else total
                result.append(tape.add(x, tape.mul(tau, total)))
            return result

        for node, row in zip(self.scheme.nodes, self.scheme.stages, strict=True):
            moment = tape.add(time, tape.mul(tau, Fraction(node)))
            stages.append(tape.graph(inputs, [moment, *advanced(row)], motion.moving))
        after = [tape.add(time, tau), *advanced(self.scheme.weights)]
        return FormTape(tape, [tape.number(x) for x in tape.graph(inputs, after, motion.psi)])

    def _seen(self, k: int) -> Sequence[int]:
        """The variables of a chart that a variable of the motion may depend on: any, where some follow from others."""
        return self.charts.variables() if self.charts.held else [k]


class ChartDefect:
    """The defect of steps of one length over such cells."""

    def __init__(self, scheme: RungeKutta, step: float, factor: Array, tapes: ChartTapes) -> None:
        self.scheme, self.step, self.factor = scheme, step, factor
        self.near, self.far, self.rough, self.charts, self._has = (
            tapes.near, tapes.far, tapes.rough, tapes.charts, tapes.has
        )  # fmt: skip

    @cached_property
    def cost(self) -> float:
        """Units of work of one cell."""
        parts = ((tape.products, tape.terms) for tape in (self.near, self.far))
        return AROUND + NATIVE * sum(products * (terms * (terms + 1) / 2 + 3) for products, terms in parts)

    def judged(self, cut: Cut, low: Array, high: Array) -> tuple[Array, Array]:
        """Bounds, values in the middle, what lies within the step, and the variable to cut [4, cell]; and how much of
        any of the bounds each deviation moves, at most.
        """
        charted = self.charts.drawn(cut, low, high)
        found = np.zeros((4, len(cut.boxes)))
        found[0], found[3] = np.inf, _bending(cut)
        sound = np.flatnonzero(charted.sound)
        if len(sound) < len(cut.boxes):  # of the others there is nothing to evaluate
            charted, cut = charted.chosen(sound), cut.chosen(sound)
        if not len(sound):
            return found, np.ones(self.charts.held)
        found[:, sound], shares = self._judged(charted, cut, found[3, sound])
        return found, shares

    def _judged(self, charted: Charted, cut: Cut, otherwise: Array) -> tuple[Array, Array]:
        """The same of cells that have a chart; where they have no bound, a variable to cut is given."""
        polynomials, missed, second = self.forms(charted)
        bounds, seen, shares = self._bounded(polynomials, missed)
        inside = np.linalg.norm(second @ np.abs(self.factor), axis=1) / self.step ** (self.scheme.order + 1)
        known = np.isfinite(bounds)
        variables = np.where(known, self._moving(shares, charted, cut), otherwise)
        found = [np.where(known, bounds, np.inf), np.where(known, seen, 0.0), np.where(known, inside, 0.0), variables]
        parts = shares[:, self.charts.free :] / (self.step ** (self.scheme.order + 1) * bounds[:, None])
        return np.stack(found), np.where(np.isnan(parts), 1.0, parts).max(axis=0)

    def forms(self, charted: Charted) -> tuple[Array, Array, Array]:
        """(c₁ + c₂(ξ) step) step^(p+1) for each deviation: its polynomial over the chart, what that misses, and the
        size of the second part, but for its remainder.
        """
        data, width = charted.data, len(self.charts.shape)
        near = np.zeros((len(data), 1, data.shape[2]))
        near[:, 0, -3] = self.step
        rough = np.zeros((len(data), 1 + data.shape[1], len(self.rough) + 3))
        rough[:, 1:, self._kept] = data[:, :, self._places]
        sizes = np.abs(data[..., :width]).sum(axis=-1)
        bent = np.maximum(sizes - np.abs(data[..., self._places]).sum(axis=-1), 0.0)
        rough[:, 1:, -2] = data[..., -2] + bent + SLACK * sizes
        rough[:, 0, 0] = rough[:, 0, self.rough.place[(data.shape[1],)]] = self.step / 2
        rough[:, 0, -3] = self.step
        order = self.scheme.order
        first, second = self.near(np.concatenate([near, data], axis=1), order + 1), self.far(rough, order + 2)
        same, size = second.polynomials[..., self._kept], np.abs(second.polynomials).sum(axis=-1)
        within = np.maximum(size - np.abs(same).sum(axis=-1), 0.0)  # the step
        lost = SLACK * (size + np.abs(first.polynomials).sum(axis=-1))
        first.polynomials[..., self._places] += same
        return first.polynomials, (first.remainders + second.remainders + within + lost) * (1 + SLACK), size

    @cached_property
    def _kept(self) -> list[int]:
        """Which terms of rough forms have no place within the step, so that a chart has them too."""
        last = len(self.rough.weights) - 1
        return [m for m, factors in enumerate(self.rough.factors) if last not in factors]

    @cached_property
    def _places(self) -> list[int]:
        """Where those are among the terms of a chart."""
        return [self.charts.shape.place[self.rough.factors[m]] for m in self._kept]

    def _bounded(self, c: Array, missed: Array) -> tuple[Array, Array, Array]:
        """‖Lᵀc‖ over each cell, in its middle, and how much each variable of the chart moves it.

        Each component is bounded over all ξ before the norm is taken, since each has a ξ of its own.
        """
        even, factor = self.charts.shape.even, self.factor
        turned, sizes = np.einsum("ij,cim->cjm", factor, c), np.einsum("ij,cim->cjm", np.abs(factor), np.abs(c))
        rest = np.einsum("ij,ci->cj", np.abs(factor), missed)
        middle = turned[..., 0] + 0.5 * turned[..., even].sum(axis=-1)
        spread = np.abs(turned[..., 1:]).sum(axis=-1) - 0.5 * np.abs(turned[..., even]).sum(axis=-1)
        reach = np.abs(middle) + spread + rest * (1 + SLACK) + SLACK * sizes.sum(axis=-1)
        scale = self.step ** (self.scheme.order + 1)
        bound = np.linalg.norm(reach, axis=1) * (1 + SLACK) / scale
        middle = np.linalg.norm(turned[..., 0], axis=1)
        seen = np.where(np.linalg.norm(rest, axis=1) < SURE * middle, middle / scale, 0.0)
        return bound, seen, np.einsum("cjm,km->ck", np.abs(turned), self._has)

    def _moving(self, shares: Array, charted: Charted, cut: Cut) -> Array:
        """The variable to cut: the one that is the chart's own, or that moves a deviation most."""
        most, free = shares.argmax(axis=1), self.charts.free
        cells = np.arange(len(most))
        own = charted.free[cells, np.minimum(most, free - 1)]
        if not self.charts.held:
            return own
        row = np.clip(most - free, 0, self.charts.held - 1)
        moved = np.abs(cut.rows.slopes[cells, row]).argmax(axis=1)
        return np.where(most < free, own, moved)


def _bending(cut: Cut) -> Array:
    """The variable that bends the program most within a cell, else the one that is longest beside its place."""
    bends = np.where(np.isfinite(cut.rows.bends), cut.rows.bends, 0.0)
    length = cut.boxes.reach
    return np.where(bends.max(axis=1) > 0, bends.argmax(axis=1), length.argmax(axis=1))
