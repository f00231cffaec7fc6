"""Bounds of the deviations along a run, step after step in the order of time: no step by itself needs to contract.

    ψ_{k+1} = M_k ψ_k + d_k,  d_k ∈ m_k ± r_k    ⇒    ψ_k ∈ c_k ± Σ_j |M_{k−1} ⋯ M_{j+1}| r_j,   c_{k+1} = M_k c_k + m_k

For laws that attract only some directions at a time, or that hold only where constraints agree, what counts is what
many steps do together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.tube_proof import OrderedProof, Tube
from holdfast.stability.proof.enclosure import magnitude
from holdfast.stability.proof.granted.obedience import Place
from holdfast.stability.proof.prove import STATED_ROUNDING
from holdfast.stability.proof.rounding import clock_error
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.sampling import Batch
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.cells import Array, Cells, Centre, outside, scales_of
from holdfast.stability.tube.flow import TubeFlow, tube_flow
from holdfast.stability.tube.in_phase import cells_at_rows
from holdfast.stability.tube.lengths import StepLengths
from holdfast.stability.tube.prove import LITTLE, NARROWER, WIDTH, WITHIN
from holdfast.stability.tube.rounding.by_slopes import RoundingSlopes
from holdfast.stability.tube.rounding.cover import MOST_MONOMIALS, units_of
from holdfast.stability.tube.rounding.tape import RoundingTape
from holdfast.stability.tube.step import limits_hold, rates_between
from holdfast.stability.tube.step_map import PADDING, UNIT, StepMap, StepRanges, with_lengths

BITS = 128
STEPS = (8, 4, 2)  # of a cell in time
OWN_STEPS = (4, 2, 1)  # the same where the run chose its steps, each as long as its states allow
CLOSE = 1.5  # times the width: half-widths of cells whose cubics follow the run closely enough
TRIES = 11  # widths, each so much narrower than the one before: down to 2·10⁻⁸ of a range
GAIN = 2.0  # a narrower tube must gain so much to be worth it
LEAP = 4  # widths at a time, at most: below some width doubles alone leave what is left
NEAR = 3.0  # times the bounds of the narrowest: a wider tube that is tried where its rounding has no bound
SHARES = (1e-5, 1e-9)  # of the largest singular value: directions below count as none
MOST_NUMBERS = 2**26  # of all forms together, half a gigabyte
SAMPLED = 16  # boxes
MADE_AGAIN = 0.01  # of a width: what steps made again from the times of rows may be beside those that were chosen
GROUP = 10  # steps whose remainders are added up before they are followed
STATED = 1.02  # times what was found, for another enclosure to confirm it
LEAST = 1e-9  # of what is stated: what another arithmetic may take for 0


@dataclass(frozen=True, eq=False)
class OrderedAttempt:
    """A tube with the steps from its boxes at the rows, and what follows for the deviations at any row."""

    width: float
    cells: Cells
    boxes: Cells
    owners: Array
    ranges: StepRanges
    bounds: Array  # [deviation]


@dataclass(frozen=True, eq=False)
class OrderedProver:
    """One run, whose deviations are followed all together."""

    equations: Equations
    scheme: RungeKutta
    step: float | None  # None: the run chose each of its steps, which are those between its rows
    parameters: Mapping[Any, Any]
    run: Trajectory
    seen: Array  # the largest of each deviation along the run, not below what reading it off may add
    work: SearchWork
    counted_from: float | None = None  # rows of the run lie at counted_from + k step; None: at its own first + k step

    def proof(self, rows: list[Place]) -> OrderedProof | str:
        """A proof of all deviations, or why there is none; `rows` are states at which the equations are tried."""
        if self._steps < 1:
            return "an event ends the run within its first step, and whole steps alone are followed"
        numbers = len(self.run.times) * 2 * len(self._flow.psi) * len(self._shape)
        if len(self._shape) > MOST_MONOMIALS or numbers > MOST_NUMBERS:
            return "the states are too many for steps to be followed in the order of time"
        require_agreement(self._flow, rows)
        tried: list[OrderedAttempt] = []
        for found in self._attempts():
            if not tried or self._ratio(found.bounds) * GAIN < self._ratio(tried[-1].bounds):
                tried.append(found)
        for k, found in enumerate(reversed(tried)):
            if k and self._ratio(found.bounds) > NEAR * self._ratio(tried[-1].bounds):
                break  # of wider tubes, those that say nearly as much: their rounding may be bounded where this is not
            proof = self._proof(found)
            if proof is not None:
                return proof
        return "nor was a bound found by steps in the order of time, in a tube along the run"

    def _proof(self, found: OrderedAttempt) -> OrderedProof | None:
        """With rounding, and the run shown to lie in the tube, on whose way to the next row nothing fails."""
        longest = self._lengths.longest_from(found.owners)
        exist, evaluated = rates_between(self._flow, self.scheme, longest, self._shape, found.boxes)
        self._charge(self._map.tape, evaluated)
        if not exist.all():
            return None
        rounding = STATED_ROUNDING * self._rounding(found)
        bounds = self._summed(found.ranges, found.owners, rounding) if np.isfinite(rounding).all() else None
        if bounds is None or not np.isfinite(bounds).all() or outside(found.cells, self.run):
            return None
        return OrderedProof(
            tube=self._tube(found),
            names=self._flow.psi_names,
            start=tuple(self._start.tolist()),
            bounds=tuple((STATED * bounds).tolist()),
            rounding=tuple(rounding.max(axis=0).tolist()),
            steps=self._steps,
            reaches=tuple(found.ranges.reach.max(axis=0).tolist()),
        )

    def _ratio(self, bounds: Array) -> float:
        return float((bounds / self.seen).max())

    def _attempts(self) -> Iterator[OrderedAttempt]:
        """Narrower and narrower tubes, until the bounds are near what was seen; remainders fall with the square."""
        depth, last = 0, math.inf
        while depth < TRIES and self.work.left >= self._reserve:
            found = self._attempt(WIDTH / NARROWER**depth)
            if found is None:
                depth += 2
                continue
            yield found
            ratio = self._ratio(found.bounds)
            if ratio <= WITHIN or ratio > last / GAIN:
                return
            last = ratio
            depth += max(1, min(LEAP, math.floor(math.log(ratio / WITHIN) / (2 * math.log(NARROWER)))))

    def _attempt(self, width: float) -> OrderedAttempt | None:
        """Without rounding; None where a step has no bound."""
        cells = self._cells(width)
        boxes, owners = cells_at_rows(cells, self.run)
        order = np.argsort(owners, kind="stable")
        order = order[owners[order] < self._steps]  # a whole step begins at each of these rows
        boxes, owners = boxes.chosen(order), owners[order]
        few = np.union1d(_sampled(len(boxes)), np.flatnonzero(np.isin(owners, list(self._doubtful))))
        self._charge(self._map.tape, len(few))
        tried = self._map.ranges(
            boxes.chosen(few), owners[few], SHARES[:1], self.seen, self._lengths.ranges_from(owners[few])
        )
        if not all(np.isfinite(one.radius).all() for one in tried):
            return None
        self._charge(self._map.tape, len(boxes))
        longest = self._lengths.longest_from(owners)
        if self._flow.limits and not limits_hold(self._flow, self.scheme, longest, self._shape, boxes).all():
            return None
        best: OrderedAttempt | None = None
        for ranges in self._map.ranges(boxes, owners, SHARES, self.seen, self._lengths.ranges_from(owners)):
            unbounded = ~np.isfinite(ranges.radius).all(axis=1)
            if unbounded.any():
                self._doubtful.update(owners[unbounded][:SAMPLED].tolist())
                return None
            bounds = self._summed(ranges, owners, np.zeros_like(ranges.radius))
            if np.isfinite(bounds).all() and (best is None or self._ratio(bounds) < self._ratio(best.bounds)):
                best = OrderedAttempt(width, cells, boxes, owners, ranges, bounds)
        return best

    @cached_property
    def _lengths(self) -> StepLengths:
        return StepLengths(self.run, self.step)

    @property
    def _steps(self) -> int:
        return self._lengths.whole

    @cached_property
    def _doubtful(self) -> set[int]:
        """Rows whose steps had no bound in some tube: they are tried first in the next."""
        return set()

    def _cells(self, width: float) -> Cells:
        """Of as many steps each as a cubic follows the run, beside the width of the tube."""
        times = self.run.times
        for steps in OWN_STEPS if self._lengths.chosen else STEPS:
            ends = np.unique([*times[::steps], times[-1]])
            cells = self._centre.cells(np.column_stack([ends[:-1], ends[1:]]), width)
            if (cells.halves <= CLOSE * width * self._centre.scales).all():
                break
        return cells

    def _summed(self, ranges: StepRanges, owners: Array, rounding: Array) -> Array:
        """The largest |ψ| at any row, at most.

        ψ = c + Σ G z with |z| ≤ b entry by entry; what doubles lose of M c and M G goes to the next remainder.
        """
        low, high = ranges.middle - ranges.radius - rounding, ranges.middle + ranges.radius + rounding
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        matrices, size = ranges.matrices[starts], ranges.matrices.shape[1]
        middle, radius = (low + high) / 2, (high - low) / 2 * PADDING + UNIT * np.maximum(np.abs(low), np.abs(high))
        centre, lately, most = np.zeros(size), self._start.copy(), self._start.copy()
        generators, sides = np.zeros((0, size, size)), np.zeros((0, size))
        reach = lately
        with np.errstate(all="ignore"):
            for k, M in enumerate(matrices):
                lost = UNIT * (size + 2) * (np.abs(M) @ (reach + np.abs(centre)) + np.abs(middle[k]))
                centre = M @ centre + middle[k]
                generators = M @ generators
                lately = (np.abs(M) @ lately + radius[k] + lost) * PADDING
                if k % GROUP == 0:
                    generators = np.concatenate([generators, np.eye(size)[None]])
                    sides, lately = np.concatenate([sides, lately[None]]), np.zeros(size)
                reach = (np.einsum("nij,nj->i", np.abs(generators), sides) + lately) * PADDING
                most = np.fmax(most, np.abs(centre) + reach)
                if not np.isfinite(reach).all():
                    return np.full(size, np.inf)
        return np.asarray(most * PADDING)

    # ── what is the same for all widths ───────────────────────────────────────────────────────────

    @cached_property
    def _flow(self) -> TubeFlow:
        return tube_flow(self.equations, self.parameters)

    @cached_property
    def _shape(self) -> CellMonomials:
        return monomials((1,) * (len(self._flow.variables) + 2), 2)

    @cached_property
    def _shapes(self) -> dict[bool, CellMonomials]:
        """Of forms for rounding: where errors are added up, sizes suffice."""
        return {True: self._shape, False: monomials((1,) * (len(self._flow.variables) + 2), 1)}

    @cached_property
    def _map(self) -> StepMap:
        return StepMap(self._flow, self.scheme, self.step, self._shape)

    @cached_property
    def _centre(self) -> Centre:
        run = self.run
        slopes = Batch.of(self.equations, self.equations.field.rates, self.parameters)(run.times, run.y.T)
        scales = scales_of(run, len(self.equations.inputs.q), self._flow.angles)
        return Centre(run, slopes, self._with_kept(scales))

    def _with_kept(self, scales: Array) -> Array:
        """The same, a value that is kept as wide as what is kept: neighbours keep values of their own."""
        flow, found = self._flow, scales.copy()
        still = [i for i, rate in enumerate(flow.rates) if rate.is_zero]
        if not still:
            return found
        few = _sampled(len(self.run.times))
        for row in jacobian(flow.psi, flow.variables):
            names = list(row)
            values = Batch.of(self.equations, list(row.values()), self.parameters)
            slopes = np.abs(values(self.run.times[few], self.run.y[:, few].T))
            moved = sum((slopes[:, k] * scales[flow.places[i]] for k, i in enumerate(names) if i not in still), 0.0)
            for k, i in enumerate(names):
                if i in still and (slopes[:, k] > 0).all():
                    found[flow.places[i]] = max(found[flow.places[i]], float(np.max(moved / slopes[:, k])))
        return found

    @cached_property
    def _start(self) -> Array:
        """|ψ| of the run's start, not below."""
        flow, state = self._flow, self.run.y[:, 0].tolist()
        with precision(BITS):
            tape = Tape(flow.inputs, flow.psi).compiled(balls())
            place = [float(self.run.times[0]), *(state[k] for k in flow.places)]
            return np.array([magnitude(x) for x in tape([ball(value) for value in place])]) + LEAST * self.seen

    @property
    def _reserve(self) -> float:
        """Work that an attempt and the rounding of the one that is chosen take."""
        finest = max(units_of(model.tape) for model in (self._model(fine=True), self._slopes) if model is not None)
        return len(self.run.times) * (units_of(self._map.tape) + finest)

    def _charge(self, tape: Any, boxes: int) -> None:
        self.work.charge(boxes * units_of(tape))

    @cached_property
    def _clock(self) -> float:
        begin = float(self.run.times[0]) if self.counted_from is None else self.counted_from
        return clock_error(begin, self.run.times, self._lengths.longest, self.scheme)

    @cached_property
    def _slopes(self) -> RoundingSlopes | None:
        """Of each deviation by itself; None where slopes are not followed."""
        each = [([k], np.ones((1, 1))) for k in range(len(self._flow.psi))]
        try:
            return RoundingSlopes(
                self._flow, self.scheme, self._lengths.longest, self._shapes[False], each, self._clock,
                varying=self._lengths.chosen,
            )  # fmt: skip
        except BadRequest:
            return None

    @cached_property
    def _models(self) -> dict[bool, RoundingTape]:
        return {}

    def _model(self, *, fine: bool) -> RoundingTape:
        if fine not in self._models:
            varying = self._lengths.chosen
            self._models[fine] = RoundingTape(
                self._flow, self.scheme, self._lengths.longest, self._shapes[fine], fine=fine, varying=varying
            )
        return self._models[fine]

    def _rounding(self, found: OrderedAttempt) -> Array:
        """Of one step from each box: errors added up, and where that counts each by its slope, or with a symbol."""
        radius = found.ranges.radius
        bounds, few, every = np.full_like(radius, np.inf), _sampled(len(radius)), np.arange(len(radius))
        if np.isfinite(self._rounded(found, few, self._model(fine=False))).all():
            bounds = self._rounded(found, every, self._model(fine=False))
        poor: Array = every[np.any(~(bounds <= LITTLE * radius), axis=1)]
        for model in (self._slopes, self._model(fine=True)):
            if model is not None and len(poor):
                closer = self._rounded(found, poor, model)
                bounds[poor] = np.fmin(bounds[poor], closer)
                poor = poor[~np.isfinite(closer).all(axis=1)]  # where slopes have a bound, symbols have no better
        return bounds

    def _rounded(self, found: OrderedAttempt, chosen: Array, model: RoundingTape | RoundingSlopes) -> Array:
        shape, boxes = model.tape.monomials, found.boxes.chosen(chosen)
        data = boxes.inputs(shape, self._flow.places, self._flow.timed)
        data[:, 0, -1] = self._clock
        lengths = self._lengths.ranges_from(found.owners[chosen])
        if lengths is not None:
            data = with_lengths(data, lengths, shape, self._flow)
        self._charge(model.tape, len(boxes))
        return model.errors(data) if isinstance(model, RoundingTape) else model.bounds(data)

    def _tube(self, found: OrderedAttempt) -> Tube:
        scales = zip(self.run.state_names, self._centre.scales.tolist(), strict=True)
        rows = zip(found.cells.spans.tolist(), found.cells.curves.tolist(), found.cells.halves.tolist(), strict=True)
        kept = tuple((a, b, tuple(map(tuple, curves)), tuple(half)) for (a, b), curves, half in rows)
        width = found.width * (1 - MADE_AGAIN) if self._lengths.chosen else found.width
        return Tube(width, tuple(scales), kept)


def _sampled(count: int) -> Array:
    """A few places, by which it is seen early that something has no bound."""
    return np.unique(np.linspace(0, count - 1, SAMPLED).astype(int))
