"""The cells of a tube against the claims of several blocks: rounding and defects, halved where a bound is too large."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.stability.verifier.check import POINTS, Reading, Shown
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import Array, Space
from holdfast.stability.verifier.reading.code import clock_error
from holdfast.stability.verifier.reading.file import BlockClaim
from holdfast.stability.verifier.reading.statement import reactions_in
from holdfast.stability.verifier.reading.tubes import StatedTube, TubeClaim
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.rounding.adjoint import AdjointRounding
from holdfast.stability.verifier.steps.by_time import TimeCover, decided_by_time
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.steps.data import data_of
from holdfast.stability.verifier.steps.existence import WHAT, Existence
from holdfast.stability.verifier.steps.motion import WholeMotion
from holdfast.stability.verifier.steps.rounding import RoundingModel
from holdfast.stability.verifier.steps.unknowns import System
from holdfast.stability.verifier.tube.cells import OF_EACH, TubeCells
from holdfast.stability.verifier.tube.groups import grouped, groups
from holdfast.stability.verifier.tube.limits import WatchedCode
from holdfast.stability.verifier.tube.space import TubeSpace
from holdfast.stability.verifier.tube.speeds import speeds_of
from holdfast.stability.verifier.tube.step import TubeStep

BATCH = 32  # parts of cells at a time: forms with symbols are long
DEEPEST = 24  # halvings of a cell, after which a bound that is still too large is not confirmed
DEEPEST_IN_TIME = 8  # the same for rounding, for which cells are halved in time alone
PROBED = 4  # whole cells that are tried first
MANY = 256  # cells: of fewer, pairs save less than it takes to try some
WORTH_PAIRS = 0.6  # of the pairs that are tried: a pair that fails costs half as much again as its two cells
PAIRS_PART = 0.7  # of the defects' work: what pairs take of it, for progress to be told
HOPELESS = 1000.0  # times what is stated: cells would have to be cut by ten in several directions, each
FIRST_PART = 0.2  # of the work: what rounding takes of it, for progress to be told
FORESEEN = 0.1  # of the cells: once these are done, what the others will take is foreseen from them
CHEAPER = 2.0  # times: by so much the others may be cheaper before the budget is said to be too small
TWICE = 2.5  # times what is stated: a part is halved twice before it is looked at again
Progress = Callable[[float], None]
Judge = Callable[[TubeCells], tuple[Array, Array]]
"""Bounds of parts (blocks, parts), and how much s, the place within the step and each state add: shares."""


@dataclass(frozen=True, eq=False)
class Claimed:
    """A block whose numbers were found to fit, before its cells are looked at."""

    block: BlockClaim
    proof: TubeClaim
    shown: Shown


class Failing(Exception):
    """One block of several that is not confirmed."""

    def __init__(self, place: int, words: str) -> None:
        super().__init__(words)
        self.place, self.words = place, words


class TubeRounding(RoundingModel):
    """The same model over parts of a tube, whose forms follow its curve: elimination forgives no crude ones."""

    def running(self, code: Any) -> TubeRounding:
        """The same with the stages of another code."""
        found = copy(self)
        found.code = code
        return found

    def _space(self, cells: Any) -> Space:
        return TubeSpace(len(cells.names) + cells.across, 0, 1)


class TubeRoundings:
    """Rounding of all blocks over parts of a tube: errors added up, which is quick, or by their slopes."""

    def __init__(self, read: Reading, tube: StatedTube, claims: Sequence[Claimed]) -> None:
        self._read, self._claims, self._speeds = read, claims, tube.speeds > 0
        self._made: dict[tuple[int, ...], AdjointRounding] = {}
        self._wanted = np.array([one.proof.rounding for one in claims])
        step = read.claims.step
        assert step is not None
        ends = float(tube.spans[0, 0]), float(tube.spans[-1, 1])
        self._clock = clock_error(read.claims.begin, *ends, step, read.tableau)

    @cached_property
    def _added(self) -> list[TubeRounding]:
        made, stated = self._read.equations, self._read.claims
        assert stated.step is not None
        return [
            TubeRounding(
                made, self._read.code, one.block.names, self._read.tableau, stated.step, one.proof.factor,
                stated.parameters, self._clock,
            )
            for one in self._claims
        ]  # fmt: skip

    def by_slopes(self, blocks: tuple[int, ...]) -> AdjointRounding:
        """The slopes of some blocks."""
        if blocks not in self._made:
            made, stated, chosen = self._read.equations, self._read.claims, [self._claims[k] for k in blocks]
            assert stated.step is not None
            names, factors = [one.block.names for one in chosen], [np.array(one.proof.factor) for one in chosen]
            self._made[blocks] = AdjointRounding(
                made, self._read.code, names, self._read.tableau, stated.step, factors, stated.parameters, self._clock,
                int(self._speeds),
            )  # fmt: skip
        return self._made[blocks]

    def reached(self, cells: TubeCells) -> tuple[Array, Array]:
        """0 where no limit of a control is reached, else infinite; and that the cell is what to halve."""
        watched = WatchedCode(self._read.code, self._read.cuts, len(cells))
        model = self._added[0].running(watched)
        model.after(cells)  # type: ignore[arg-type]
        shares = np.zeros_like(cells.low)
        shares[:, 0] = 1.0
        return np.where(watched.held, 0.0, np.inf)[None], shares

    @cached_property
    def _bends(self) -> bool:
        """Whether forces bend with the reactions that they use."""
        made = self._read.equations
        return bool(reactions_in(made.bias)) and bool(System(made).slopes)

    def _quick(self, cells: TubeCells) -> Array:
        """By errors added up, which know nothing of what Newton's steps leave of reactions."""
        if self._bends:
            return np.full((len(self._claims), len(cells)), np.inf)
        reached = self._added[0].after(cells)  # type: ignore[arg-type]
        return np.array([model.normed(reached) for model in self._added])

    def judged(self, cells: TubeCells) -> tuple[Array, Array]:
        """Bounds for each block (blocks, parts), and that the cell is what to halve."""
        bounds = self._quick(cells)
        above = bounds > self._wanted[:, None]
        blocks, poor = tuple(np.flatnonzero(above.any(axis=1)).tolist()), np.flatnonzero(above.any(axis=0))
        if len(poor):
            for block, found in zip(blocks, self.by_slopes(blocks).judged(cells.chosen(poor)), strict=True):
                bounds[block, poor] = np.fmin(bounds[block, poor], found)
        shares = np.zeros_like(cells.low)
        shares[:, 0] = 1.0
        return bounds, shares


class TubeCover:
    """All cells of a tube against the claims of several blocks, halved where a bound is too large."""

    def __init__(
        self, read: Reading, tube: StatedTube, claims: Sequence[Claimed], budget: Budget, progress: Progress | None
    ) -> None:
        step = read.claims.step
        assert step is not None
        self.read, self.tube, self.claims, self.budget, self.progress = read, tube, claims, budget, progress
        self.every = 1  # which part of the cells is looked at in this process
        self.names = list(tube.scales)
        self.whole = TubeCells.whole(self.names, tube.spans, tube.curves, tube.halves, speeds_of(read, tube))
        blocks = [one.block.names for one in claims]
        self.step = TubeStep(read.equations, blocks, read.tableau, step, self.whole.across)
        self.factors = [np.array(one.proof.factor) for one in claims]
        self._by_time = [self._decided_by_time(one.block) for one in claims]
        told = zip(claims, self._by_time, strict=True)
        self.wanted = np.array([np.inf if by_time else one.proof.coefficient for one, by_time in told])

    def _decided_by_time(self, block: BlockClaim) -> bool:
        """Not where data are followed: what rounding adds at their knots is shown in regions alone."""
        made = self.read.equations
        return decided_by_time(made, block.constraints, self.read.tableau) and not data_of(made, block.names)

    def over_time(self) -> int:
        """Cells of time that the defects of affine blocks took, which no state changes; `Failing` as of all cells."""
        read, count, times = self.read, 0, (float(self.tube.spans[0, 0]), float(self.tube.spans[-1, 1]))
        for place, (one, by_time) in enumerate(zip(self.claims, self._by_time, strict=True)):
            if by_time:
                alone = TimeCover(read.equations, one.block.names, read.tableau, self.step.step, one.proof.factor)
                try:
                    count += alone.shown(times, one.proof.coefficient, self.budget).cells
                except Refused as refusal:
                    raise Failing(place, f"does not hold: {refusal}") from None
                except Unconfirmed as doubt:
                    raise Failing(place, str(doubt)) from None
        return count

    def confirmed(self, first: int = 0, every: int = 1) -> int:
        """How many parts the cells took, or every n-th of them; `Failing` where a block is not confirmed."""
        self.every = every
        chosen = self.whole.chosen(np.arange(first, len(self.whole), every))
        count = self._limits(chosen) + self._exist(chosen) + self._rounding(groups(len(self.whole))[first::every])
        if self._paired:
            pairs = groups(len(self.whole), 2)[first::every]
            done, chosen = self._together(pairs, self._defects, self.wanted)
            count += done
        return count + self._covered(chosen, self._defects, self.wanted, "defect", FIRST_PART)

    @cached_property
    def _paired(self) -> bool:
        """Whether two cells at once are mostly below what is stated: tried at a few places, where there are many."""
        pairs = groups(len(self.whole), 2)
        if len(self.whole) < MANY:
            return False
        rows = np.linspace(0, len(pairs) - 1, 2 * PROBED).astype(int)
        some = joined_cells([grouped(self.whole.chosen(pairs[k])) for k in rows])
        fine = (self._defects(some)[0] <= self.wanted[:, None]).all(axis=0)
        return bool(fine.mean() > WORTH_PAIRS)

    def _together(self, places: Sequence[Array], judge: Judge, wanted: Array) -> tuple[int, TubeCells]:
        """How many groups of cells are as claimed, and the cells of the others."""
        count, left = 0, [np.zeros(0, dtype=int)]
        for k in range(0, len(places), BATCH):
            some = places[k : k + BATCH]
            together = joined_cells([grouped(self.whole.chosen(rows)) for rows in some])
            self.budget.spend(len(together))
            wrong = np.asarray((judge(together)[0] > wanted[:, None]).any(axis=0))
            count += int((~wrong).sum())
            left += [rows for rows, one in zip(some, wrong, strict=True) if one]
            if self.progress is not None and judge == self._defects:
                self.progress(FIRST_PART + (1 - FIRST_PART) * PAIRS_PART * min(1.0, (k + BATCH) / len(places)))
        return count, self.whole.chosen(np.concatenate(left))

    def _limits(self, cells: TubeCells) -> int:
        """No limit of a control is reached at any stage of a step from these cells."""
        if not self.read.cuts:
            return 0
        model = TubeRoundings(self.read, self.tube, self.claims)
        try:
            return self._covered(cells, model.reached, np.ones(1), "limits", 0.0)
        except Failing as failing:
            raise Failing(failing.place, "that no limit of a control is reached is not confirmed") from None

    def _exist(self, cells: TubeCells) -> int:
        """What holds the program has a value at every state of these cells, where the defects do not ask for it."""
        if self._wanted_to_exist.nothing:
            return 0

        def judge(cells: TubeCells) -> tuple[Array, Array]:
            space, shares = TubeSpace(len(self.names) + cells.across, 0, 1), np.zeros_like(cells.low)
            shares[:, 0] = 1.0
            held = self._wanted_to_exist.held(Forms(space, len(cells), cells.values(space, self.names)))
            return np.where(held, 0.0, np.inf)[None], shares

        try:
            return self._covered(cells, judge, np.ones(1), WHAT, 0.0)
        except Failing as failing:
            raise Failing(failing.place, f"the {WHAT} is not confirmed") from None

    @cached_property
    def _wanted_to_exist(self) -> Existence:
        told = zip(self.claims, self._by_time, strict=True)
        names = [name for one, by_time in told if not by_time for name in one.block.names]
        return Existence(self.read.equations, WholeMotion(self.read.equations, names) if names else None)

    def _rounding(self, places: Sequence[Array]) -> int:
        """Groups of cells first; of those of which that says too little, the cells."""
        roundings = TubeRoundings(self.read, self.tube, self.claims)
        stated = np.array([one.proof.rounding for one in self.claims])
        count, cells = self._together(places, roundings.judged, stated)
        return count + self._covered(cells, roundings.judged, stated, "rounding", 0.0)

    def require_hope(self) -> None:
        """`Failing` at once where most of a few cells exceed a claim so far that cutting them would not end.

        `Unconfirmed` where the budget has no room for the cells, in pairs at best.
        """
        self.budget.require_room(len(self.whole) / (2 if len(self.whole) >= MANY else 1))
        rows = np.unique(np.linspace(0, len(self.whole) - 1, PROBED).astype(int))
        self.budget.spend(len(rows))
        excess = np.median(_times_stated(self._defects(self.whole.chosen(rows))[0], self.wanted), axis=1)
        if excess.max() > HOPELESS:
            words = f"it is enclosed here by {excess.max():.2g} times what is stated"
            raise Failing(int(excess.argmax()), f"its defect is not confirmed: {words}")

    def _defects(self, cells: TubeCells) -> tuple[Array, Array]:
        return self.step.judged(cells, self.factors)

    def _covered(
        self,
        cells: TubeCells,
        judge: Callable[[TubeCells], tuple[Array, Array]],
        wanted: Array,
        what: str,
        before: float,
    ) -> int:
        waiting, depth = cells, np.zeros(len(cells), dtype=int)
        done, total, taken = 0, len(cells), 0
        while len(waiting):
            batch, depths = waiting.chosen(np.arange(min(BATCH, len(waiting)))), depth[:BATCH]
            waiting, depth = waiting.chosen(np.arange(len(batch), len(waiting))), depth[len(batch) :]
            self.budget.spend(len(batch))
            taken += len(batch)
            bounds, shares = judge(batch)
            wrong = np.asarray((bounds > wanted[:, None]).any(axis=0))
            done += int((~wrong).sum())
            if wrong.any():
                deep = wrong & (depths >= (DEEPEST if what == "defect" else DEEPEST_IN_TIME))
                if deep.any():
                    excess = _times_stated(bounds[:, deep], wanted).max(axis=1)
                    words = f"its {what} is not confirmed: {float(excess.max()):.3g} times what is stated"
                    raise Failing(int(excess.argmax()), words)
                excess = _times_stated(bounds[:, wrong], wanted).max(axis=0)
                pieces, deeper = _cut(batch.chosen(wrong), shares[wrong], depths[wrong], excess > TWICE)
                waiting, depth = joined_cells([pieces, waiting]), np.concatenate([deeper, depth])
                total += len(pieces) - int(wrong.sum())
            self._foresee(taken, 1 - float((depth == 0).sum()) / len(cells))
            if self.progress is not None:
                share = FIRST_PART if before == 0 else 1 - FIRST_PART
                self.progress(before + share * done / total)
        return done

    def _foresee(self, taken: int, share: float) -> None:
        """The parts that the cells not yet begun will take, against the budget."""
        if share >= FORESEEN:
            self.budget.require_room(self.every * taken * (1 / share - 1) / CHEAPER)

    def agree(self) -> None:
        """The code against the equations, at the middle of cells and beside it."""
        self.read.tell(self._wanted_to_exist.note)
        shake, read = np.random.default_rng(11), self.read
        rows = np.unique(np.linspace(0, len(self.whole) - 1, 2 * POINTS).astype(int))
        curves, halves, spans = self.whole.curves[rows], self.whole.halves[rows], self.whole.spans[rows]
        s = shake.uniform(0, 1, len(rows))
        powers = np.stack([s**k for k in range(4)], axis=1)
        states = np.einsum("nik,nk->ni", curves, powers) + shake.uniform(-1, 1, halves.shape) * halves
        moments = spans[:, 0] + s * (spans[:, 1] - spans[:, 0])
        points = sum(read.agreement.check([t, *x]) for t, x in zip(moments, states, strict=True))
        require(points > 0, "the code could not be compared with the equations at any state of the tube")
        for one in self.claims:
            one.shown.points = points


def _times_stated(bounds: Array, wanted: Array) -> Array:
    """Bounds as multiples of what is stated, which may be nothing: (blocks, parts)."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(bounds / wanted[:, None], nan=0.0, posinf=np.inf)


def _chosen(shares: Array) -> Array:
    """The variable to halve: the one that adds most, along the cell where nothing is known."""
    return np.where(shares.max(axis=1) > 0, shares.argmax(axis=1), 0)


def _cut(cells: TubeCells, shares: Array, depths: Array, twice: Array) -> tuple[TubeCells, Array]:
    """Parts halved where most is added, some of them twice; and how often each piece was halved by now."""
    variables, rows = _chosen(shares), np.arange(len(cells))
    pieces, depths = cells.halved(variables), np.tile(depths + 1, 2)
    left = shares.copy()
    left[rows, variables] /= 2
    left, again = np.tile(left, (2, 1)), np.tile(twice, 2)
    if again.any():
        finer = pieces.chosen(again).halved(_chosen(left[again]))
        depths = np.concatenate([np.tile(depths[again] + 1, 2), depths[~again]])
        pieces = joined_cells([finer, pieces.chosen(~again)])
    return pieces, depths


def joined_cells(several: Sequence[TubeCells]) -> TubeCells:
    parts: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in several]) for name in OF_EACH}
    return replace(several[0], **parts)
