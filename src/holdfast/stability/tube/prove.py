"""Proving that the deviations keep within bounds in a tube along a run: width after width, all blocks at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import precision
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.tube_proof import Tube, TubeProof
from holdfast.stability.proof.block import ProofBlock, motion_of
from holdfast.stability.proof.claim import BITS, Claim, total_defect
from holdfast.stability.proof.defect import terms_of
from holdfast.stability.proof.granted.obedience import Obedience, Place
from holdfast.stability.proof.prove import LEAST_SHARE, STATED_DEFECT, STATED_ROUNDING, Interrupted
from holdfast.stability.proof.rounding import clock_error
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.sampling import Batch
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.cells import PARTS, Array, Centre, joined, outside, scales_of
from holdfast.stability.tube.cover import PROBED, TubeCover, TubeSearch
from holdfast.stability.tube.flow import TubeFlow, tube_flow
from holdfast.stability.tube.rounding.cover import MOST_MONOMIALS, RoundingCover, units_of
from holdfast.stability.tube.step import defect_tape, deviation_tape, limits_hold, rates_between

WIDTH = 1e-3  # of each state's range: the first tube
NARROWER, TRIES = 3.0, 5  # each next one is so much narrower
WITHIN = 5.0  # times the largest defect seen: a bound that is near enough
FORMS = ((3, 2), (2, 1), (3, 1))  # order of the forms, and weight of the states in it: cheap ones first
LENGTHS = (2, 8, 32)  # steps of the pieces by which a tube is tried
FIRST = 32  # pieces to begin with, at least
NO_WORSE = 1.1  # times the bound in a narrower tube: what a wider one may state that says no less
ROOM = 1.3  # times the pieces to begin with: what a cover takes at least
FEWEST = 4 * FIRST  # cells: less work than that is not worth beginning with
SHARE = 0.7  # of the work that is left, for one attempt
LITTLE = 0.1  # of the defect: rounding below is not bounded more finely
NOTHING = 2.0**-30  # of what a tube lets a deviation be: a defect below is as good as none


@dataclass(frozen=True, eq=False)
class TubeRequest:
    """One block that is to be proved: its norm, and the largest defect that the run showed in it."""

    block: ProofBlock
    factor: Array  # L of its norm
    gamma: float
    seen: float


@dataclass(frozen=True, eq=False)
class TubeProver:
    """One run, with the blocks that are to be proved along it."""

    equations: Equations
    scheme: RungeKutta
    step: float
    parameters: Mapping[Any, Any]
    run: Trajectory
    requests: Sequence[TubeRequest]
    work: SearchWork
    speeds: float = 0.0  # by what part of themselves the rates of positions may be larger or less (8.15)
    counted_from: float | None = None  # rows of the run lie at counted_from + k step; None: at its own first + k step
    _tapes: dict[CellMonomials, FormTape] = field(default_factory=dict)
    _doubtful: list[float] = field(default_factory=list)  # starts of steps that had no bound in some tube
    _unheld: list[float] = field(default_factory=list)  # starts of cells in which what holds the program may fail
    _rounding_units: dict[Attempt, float] = field(default_factory=dict)  # of work, for each cell of a cover

    def proofs(self, rows: Sequence[Place]) -> list[TubeProof | str]:
        """A proof for each block, or why there is none; `rows` are states of the run at which equations are tried.

        `Interrupted` with those that are there by then, where Ctrl-C ended the search for better ones.
        """
        if not self.requests:
            return []
        self.require_sound(rows)
        best: list[Attempt | None] = [None] * len(self.requests)
        try:
            for attempt in self._attempts(best):
                for k, ratio in enumerate(attempt.ratios):
                    known = math.inf if (found := best[k]) is None else found.ratios[k]
                    if known > WITHIN and ratio < known:  # of those that are near enough, the widest stays
                        best[k] = attempt
        except KeyboardInterrupt:
            if not any(best):
                raise
            raise Interrupted(self._in_turn(self._of_covers(best))) from None
        try:
            made = self._of_covers(best)
        except KeyboardInterrupt:  # covers without rounding prove nothing: that is found all the same
            raise Interrupted(self._in_turn(self._of_covers(best))) from None
        try:
            for found in dict.fromkeys(best):
                made |= self._widened(found, [k for k, one in enumerate(best) if one is found], made)
        except KeyboardInterrupt:
            raise Interrupted(self._in_turn(made)) from None
        return self._in_turn(made)

    @staticmethod
    def _in_turn(made: Mapping[int, TubeProof | str]) -> list[TubeProof | str]:
        return [made[k] for k in range(len(made))]

    def _of_covers(self, best: Sequence[Attempt | None]) -> dict[int, TubeProof | str]:
        """Each block by the cover that is best for it."""
        made: dict[int, TubeProof | str] = {}
        for found in dict.fromkeys(best):
            made |= self._with_rounding(found, [k for k, one in enumerate(best) if one is found])
        return made

    def _widened(
        self, found: Attempt | None, blocks: Sequence[int], made: Mapping[int, TubeProof | str]
    ) -> dict[int, TubeProof | str]:
        """The blocks of a cover in a tube halfway to the next wider one, where the work that is left does for it and
        for its rounding, and bounds are near enough there, too. What no tube proves is to have that work instead.
        """
        known = {k: proof for k, proof in made.items() if isinstance(proof, TubeProof)}
        if found is None or found.width >= WIDTH or self.speeds or len(known) < len(made):
            return {}
        if max(found.ratios[k] for k in blocks) > WITHIN:
            return {}
        width, each = found.width * math.sqrt(NARROWER), self._rounding_units[found] / 2
        if self._cells_left(self._defect(found.shape)) < FEWEST:
            return {}
        hope, first = self._hope(width, found.shape, blocks)
        # of the cells that are looked at, those of the beginning and half of the others are there in the end
        most = int((self.work.left - each * first) / (self._units(self._defect(found.shape)) + each))
        if hope > WITHIN or ROOM * first > most:
            return {}
        wider = self._attempt(width, found.shape, first, most)
        if max(wider.ratios[k] for k in blocks) > WITHIN:
            return {}
        proofs = self._with_rounding(wider, blocks)
        seen = wider.cover.attained * self._scale
        for k, proof in proofs.items():
            enough = max(WITHIN * seen[k], NO_WORSE * self._stated(known[k]))
            if isinstance(proof, str) or self._stated(proof) > enough:
                return {}
        return proofs

    def _stated(self, proof: TubeProof) -> float:
        return total_defect(proof.coefficient, proof.rounding, self.scheme, self.step)

    def _attempts(self, best: Sequence[Attempt | None]) -> Iterator[Attempt]:
        """Covers of narrower and narrower tubes, until each block has one that is near enough or the work is done.

        Where short pieces show that cutting in time cannot help, none is made; if that is so of all, the best of them.
        """
        spare: tuple[float, float, CellMonomials] | None = None
        for width, shape in self._kinds():
            waiting = [k for k, found in enumerate(best) if found is None or found.ratios[k] > WITHIN]
            if not waiting or self._cells_left(self._defect(shape)) < FEWEST:
                continue
            hope, first = self._hope(width, shape, waiting)
            if hope <= WITHIN and ROOM * first <= self._cells_left(self._defect(shape)):
                yield self._attempt(width, shape, first)
            elif hope < (math.inf if spare is None else spare[0]):
                spare = hope, width, shape
        if spare is not None and any(found is None for found in best):
            yield self._attempt(*spare[1:], FIRST)

    def _kinds(self) -> Iterator[tuple[float, CellMonomials]]:
        """Widths with forms, the widest and the cheapest first; for other speeds, which bend more, the finest alone."""
        shapes = [self._shape(*form) for form in FORMS]
        shapes = [shape for k, shape in enumerate(shapes) if len(shape) <= MOST_MONOMIALS or k == 0]
        for depth in range(TRIES):
            for shape in shapes[-1:] if self.speeds else shapes:
                yield WIDTH / NARROWER**depth, shape

    def _hope(self, width: float, shape: CellMonomials, waiting: Sequence[int]) -> tuple[float, int]:
        """The largest ratio over pieces of one step, which cutting in time does not better; and with how many pieces to
        begin, so that half of them are short enough.
        """
        span, least = float(self.run.times[-1] - self.run.times[0]) / self.step, self._probed(width, shape, 1, waiting)
        first = span
        for steps in LENGTHS if least.max() <= WITHIN else ():
            if not np.median(self._probed(width, shape, steps, waiting)) <= WITHIN:
                break
            first = span / steps
        return float(least.max()), max(FIRST, math.ceil(first))

    def _probed(self, width: float, shape: CellMonomials, steps: int, waiting: Sequence[int]) -> Array:
        """The largest ratio of the waiting blocks, for each of a few pieces of so many steps."""
        seen, also = self._seen / self._scale, self._doubtful if steps == 1 else []
        self._charge(self._defect(shape), PROBED + len(also))
        with np.errstate(all="ignore"):
            ratios = (self._cover(shape).probe(width, steps, also) / seen)[:, list(waiting)]
        return np.asarray(np.nan_to_num(ratios, nan=math.inf, posinf=math.inf).max(axis=1))

    def _attempt(self, width: float, shape: CellMonomials, first: int, most: int | None = None) -> Attempt:
        most = most or max(int(ROOM * first), int(SHARE * self._cells_left(self._defect(shape))))
        cover = self._cover(shape).made(width, first, most)
        self._charge(self._defect(shape), cover.evaluated)
        self._doubtful.extend(cover.unbounded()[:PROBED])
        free = limits_hold(self._flow, self.scheme, self.step, shape, cover.cells).all() and self._exist(cover, shape)
        ratios = self._ratios(cover) if free else [math.inf] * len(self.requests)
        if self.speeds and max(ratios) < math.inf:  # one tube for all: two take a verifier twice as long
            ratios = [max(ratios)] * len(ratios)
        return Attempt(width, shape, cover, ratios, self._centre, self.speeds)

    def _exist(self, cover: TubeCover, shape: CellMonomials) -> bool:
        """Whether what holds the program has a value on the way of every step, where the rates do not meet it."""
        if not self._flow.apart:
            return True
        known, _ = rates_between(self._flow, self.scheme, self.step, shape, cover.cells)
        self._unheld.extend(cover.cells.spans[~known, 0].tolist())
        return bool(known.all())

    def _cover(self, shape: CellMonomials) -> TubeSearch:
        flow, least = self._flow, self._seen / self._scale
        return TubeSearch(self._defect(shape), self._centre, flow.places, flow.timed, self.step, self._factors, least)

    def gaps(self) -> list[tuple[float, float]]:
        """Stretches of time in which steps have no bound that is near enough, in the narrowest of the tubes.

        Refused where the work does not reach for looking at all of them.
        """
        times, shape, width = self.run.times, self._shape(*FORMS[0]), WIDTH / NARROWER ** (TRIES - 1)
        search, enough = self._cover(shape), WITHIN * self._seen / self._scale
        ends = np.unique([*times[:: LENGTHS[1]], times[-1]])
        spans = np.column_stack([ends[:-1], ends[1:]])
        self._require_work_for(shape, len(spans))
        held = limits_hold(self._flow, self.scheme, self.step, shape, self._centre.cells(spans, width))
        poor = ~((search.bounds(spans, width) <= enough).all(axis=1) & held)
        steps = np.column_stack([times[:-1], times[1:]])
        steps = steps[np.isin(np.searchsorted(ends, steps[:, 0], side="right") - 1, np.flatnonzero(poor))]
        if not len(steps):
            return []
        self._require_work_for(shape, len(steps))
        held = limits_hold(self._flow, self.scheme, self.step, shape, self._centre.cells(steps, width))
        return joined(steps[~((search.bounds(steps, width) <= enough).all(axis=1) & held)])

    def _require_work_for(self, shape: CellMonomials, pieces: int) -> None:
        """So many pieces are looked at: all of them or none."""
        tape = self._defect(shape)
        if pieces > self._cells_left(tape):
            raise BadRequest(
                f"an effort of {self.work.effort:g} does not reach for looking at every step of the run",
                where="certify_stretches", fix="give it more effort",
            )  # fmt: skip
        self._charge(tape, pieces)

    # ── what is the same for all widths ───────────────────────────────────────────────────────────

    @cached_property
    def _flow(self) -> TubeFlow:
        return replace(tube_flow(self.equations, self.parameters), speeds=self.speeds > 0)

    @cached_property
    def _centre(self) -> Centre:
        run = self.run
        slopes = Batch.of(self.equations, self.equations.field.rates, self.parameters)(run.times, run.y.T)
        count, speeds = len(self.equations.inputs.q), None
        if self.speeds > 0:
            speeds = np.zeros(len(run.y))
            speeds[count : 2 * count] = self.speeds
        return Centre(run, slopes, scales_of(run, count, self._flow.angles), speeds)

    @cached_property
    def _seen(self) -> Array:
        """The largest defect that the run showed; where it showed none at all, a nothing beside the tube itself."""
        seen = np.array([request.seen for request in self.requests])
        if (seen > 0).all():
            return seen
        starts = np.linspace(self.run.times[0], max(self.run.times[0], self.run.times[-1] - self.step), PROBED)
        pieces = self._centre.cells(np.column_stack([starts, starts + self.step]), WIDTH)
        shape = self._shape(*FORMS[0])
        found = deviation_tape(self._flow, shape)(pieces.inputs(shape, self._flow.places, self._flow.timed)).sizes()
        reach = np.where(np.isfinite(found), found, 0.0).max(axis=0)
        least = [np.linalg.norm(reach[list(places)] @ np.abs(factor)) for places, factor in self._factors]
        return np.asarray(np.where(seen > 0, seen, NOTHING * np.array(least)))

    @cached_property
    def _factors(self) -> list[tuple[Sequence[int], Array]]:
        return [(request.block.places, request.factor) for request in self.requests]

    @property
    def _scale(self) -> float:
        return float(self.step ** (self.scheme.order + 1))

    def _shape(self, order: int, weight: int) -> CellMonomials:
        return self._flow.shape(order, weight)

    def _defect(self, shape: CellMonomials) -> FormTape:
        if shape not in self._tapes:
            self._tapes[shape] = defect_tape(self._flow, self.scheme, shape)
        return self._tapes[shape]

    def _units(self, tape: FormTape) -> float:
        """Of one cell, all parts of its speeds."""
        return units_of(tape) * (PARTS if self.speeds else 1)

    def _cells_left(self, tape: FormTape) -> int:
        return int(min(self.work.left / self._units(tape), 1e6))

    def _charge(self, tape: FormTape, cells: int) -> None:
        self.work.charge(cells * self._units(tape))

    def require_sound(self, rows: Sequence[Place]) -> None:
        """What the proof takes for granted: the rates that are run obey the law and solve the system."""
        require_agreement(self._flow, rows)
        for request in self.requests:
            claim = self._claim(request)
            motion_of(self.equations, request.block, self.parameters)  # refuses what its H does not say exactly
            with precision(BITS, terms_of(self.scheme)):
                obedience = Obedience(claim.whole_motion(), self.scheme)
            known = any([obedience.shown(place) for place in rows])
            if not known and not any(obedience.shown(place) for place in self._beside(rows)):
                raise BadRequest("the equations are not defined, or too ill conditioned, at the states of the run")

    def _beside(self, rows: Sequence[Place]) -> list[Place]:
        """States beside those of the run: where nothing but positions moves along it, its own rows show nothing."""
        scales, shake = WIDTH * np.abs(self.run.y).max(axis=1), np.random.default_rng(3)
        return [(time, (np.array(state) + scales * shake.uniform(-1, 1, len(scales))).tolist()) for time, state in rows]

    def _claim(self, request: TubeRequest) -> Claim:
        return Claim(self.equations, request.block, self.scheme, self.step, self.parameters, {}, {})

    def _ratios(self, cover: TubeCover) -> list[float]:
        """The bound of each block's defect beside the largest that was seen, along the run or in a cell's middle."""
        seen = cover.attained * self._scale
        bounds = cover.coefficient() * self._scale
        return [0.0 if b == 0 else float(b / s) if s > 0 else math.inf for b, s in zip(bounds, seen, strict=True)]

    # ── one block ─────────────────────────────────────────────────────────────────────────────────

    def _with_rounding(self, found: Attempt | None, blocks: Sequence[int]) -> dict[int, TubeProof | str]:
        """Proofs of some blocks by one cover, or why there is none."""
        rounding = {} if found is None else self._rounding(found, blocks)
        return {k: self._proof(k, found, rounding.get(k, math.inf)) for k in blocks}

    def _proof(self, k: int, found: Attempt | None, rounding: float) -> TubeProof | str:
        request = self.requests[k]
        if found is None or not found.ratios[k] < math.inf:
            words = f"nor was a tube along the run, {WIDTH:g} of each range wide or narrower"
            if not self._unheld:
                return words
            return f"{words}: forces, or what holds the program, may have no value from t = {min(self._unheld):.6g} on"
        rounded = STATED_ROUNDING * rounding
        coefficient = max(STATED_DEFECT * float(found.cover.coefficient()[k]), LEAST_SHARE * rounded / self._scale)
        if not math.isfinite(coefficient):
            return "rounding has no bound in a tube along the run: the equations are nearly singular there"
        with precision(BITS):
            contraction = self._claim(request).contraction(request.factor, request.gamma)
            if not contraction.holds():
                return "the norm that was found is not shown to contract"
            radius = contraction.radius(total_defect(coefficient, rounded, self.scheme, self.step))
        if outside(found.cover.cells, self.run):
            return "the run itself is not shown to lie in the tube"
        return TubeProof(
            factor=tuple(tuple(float(x) for x in row) for row in request.factor),
            gamma=request.gamma,
            coefficient=coefficient,
            rounding=rounded,
            radius=radius,
            tube=found.tube,
            reaches=tuple(float(self._reaches(found)[i]) for i in request.block.places),
        )

    def _rounding(self, found: Attempt, blocks: Sequence[int]) -> dict[int, float]:
        """A bound of the rounding of one step over a cover, for some blocks."""
        own, factors, before = list(blocks), [self._factors[k] for k in blocks], self.work.spent
        begin = float(self.run.times[0]) if self.counted_from is None else self.counted_from
        clock = clock_error(begin, self.run.times, self.step, self.scheme)
        cover = RoundingCover(self._flow, self.scheme, self.step, factors, clock, self.work)
        enough = LITTLE * found.cover.coefficient()[own] * self._scale
        bounds = cover.bounds(found.cover.cells, found.shape, enough).tolist()
        self._rounding_units[found] = (self.work.spent - before) / len(found.cover.cells)
        return dict(zip(own, bounds, strict=True))

    def _reaches(self, found: Attempt) -> Array:
        """What the tube alone says of each deviation, at most."""
        tape = deviation_tape(self._flow, found.shape)
        data = found.cover.cells.inputs(found.shape, self._flow.places, self._flow.timed)
        return np.asarray(tape(data).sizes().max(axis=0))


@dataclass(frozen=True, eq=False)
class Attempt:
    """A cover of a tube of one width by one kind of forms, with the ratios that were reached."""

    width: float
    shape: CellMonomials
    cover: TubeCover
    ratios: list[float]
    centre: Centre
    speeds: float

    @cached_property
    def tube(self) -> Tube:
        """As a certificate keeps it; the same object for all blocks."""
        cells, centre = self.cover.cells, self.centre
        scales = zip(centre.run.state_names, centre.scales.tolist(), strict=True)
        rows = zip(cells.spans.tolist(), cells.curves.tolist(), cells.halves.tolist(), strict=True)
        kept = tuple((a, b, _tuples(curves), tuple(half)) for (a, b), curves, half in rows)
        return Tube(self.width, tuple(scales), kept, self.speeds)


def _tuples(rows: list[list[float]]) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in rows)
