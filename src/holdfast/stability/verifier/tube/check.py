"""Blocks that are proved in a tube along a run, re-checked: numbers, cells, defects and rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.check import (
    LEAST_ROUNDING,
    POINTS,
    Reading,
    Shown,
    _defect,
    _start_size,
)
from holdfast.stability.verifier.numbers.forms import Array, Space
from holdfast.stability.verifier.reading.file import BlockClaim
from holdfast.stability.verifier.reading.tubes import StatedTube, TubeClaim
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.steps.contraction import BITS, Contraction, top
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.steps.rounding import RoundingModel
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.space import TubeSpace
from holdfast.stability.verifier.tube.step import TubeStep

BATCH = 16  # parts of cells at a time: forms with symbols are long
DEEPEST = 24  # halvings of a cell, after which a bound that is still too large is not confirmed
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Claimed:
    """A block whose numbers were found to fit, before its cells are looked at."""

    block: BlockClaim
    proof: TubeClaim
    shown: Shown


def tube_outcomes(
    read: Reading, budget: Budget, progress: Progress | None = None
) -> list[tuple[BlockClaim, Shown | None, str]]:
    """Every block that is proved in a tube: what was shown of it, or None, and a sentence."""
    found: list[tuple[BlockClaim, Shown | None, str]] = []
    for place in sorted({b.tube_proof.tube for b in read.claims.blocks if b.tube_proof is not None}):
        blocks = [b for b in read.claims.blocks if b.tube_proof is not None and b.tube_proof.tube == place]
        found += _of_tube(read, place, blocks, budget, progress)
    return found


def _of_tube(
    read: Reading, place: int, blocks: list[BlockClaim], budget: Budget, progress: Progress | None
) -> list[tuple[BlockClaim, Shown | None, str]]:
    failed: dict[int, str] = {}
    fitting: list[Claimed] = []
    try:
        require(place < len(read.claims.tubes), "its tube is not in the certificate")
        tube = read.claims.tubes[place]
        _require_tube(read, tube)
    except Refused as refusal:
        return [(block, None, f"{_named(block)}: does not hold: {refusal}") for block in blocks]
    for block in blocks:
        try:
            fitting.append(_fitting(read, block))
        except Refused as refusal:
            failed[id(block)] = f"{_named(block)}: does not hold: {refusal}"
        except Unconfirmed as doubt:
            failed[id(block)] = f"{_named(block)}: {doubt}"
    while fitting:
        try:
            count = TubeCover(read, tube, fitting, budget, progress).cells()
            break
        except _Failing as failing:
            worst = fitting.pop(failing.place)
            failed[id(worst.block)] = f"{_named(worst.block)}: {failing.words}"
        except (Refused, Unconfirmed) as trouble:
            words = f"does not hold: {trouble}" if isinstance(trouble, Refused) else str(trouble)
            failed |= {id(one.block): f"{_named(one.block)}: {words}" for one in fitting}
            fitting = []
    good = {id(one.block): one.shown for one in fitting}
    return [_told(block, good, failed, count if fitting else 0) for block in blocks]


def _told(
    block: BlockClaim, good: dict[int, Shown], failed: dict[int, str], count: int
) -> tuple[BlockClaim, Shown | None, str]:
    if id(block) not in good:
        return block, None, failed[id(block)]
    shown = good[id(block)]
    shown.cells = count
    words = f"holds in the tube, {count} parts of cells re-checked, the code agrees at {shown.points} states"
    return block, shown, f"{_named(block)}: {words}"


def _named(block: BlockClaim) -> str:
    return ", ".join(block.constraints)


class _Failing(Exception):
    """One block of several that is not confirmed."""

    def __init__(self, place: int, words: str) -> None:
        super().__init__(words)
        self.place, self.words = place, words


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────


def _require_tube(read: Reading, tube: StatedTube) -> None:
    """The cells bear the states of the problem, from the beginning of the run to its end, as wide as is said."""
    claims = read.claims
    assert claims.step is not None
    require(list(tube.scales) == read.equations.inputs[1:], "the tube is not one of the states of the problem")
    require(tube.curves.shape[1] == len(tube.scales), "the tube is not one of the states of the problem")
    require(float(tube.spans[0, 0]) == claims.begin, "the tube begins elsewhere than the run")
    require(float(tube.spans[-1, 1]) >= claims.begin + claims.duration, "the tube ends before the run")
    scales = np.array([*tube.scales.values()])
    require(bool((tube.halves >= tube.width * scales * (1 - 1e-12)).all()), "the tube is narrower than stated")


def _fitting(read: Reading, block: BlockClaim) -> Claimed:
    """The numbers of a block: names, law, contraction, radius, bounds and start."""
    import flint

    proof, made, claims = block.tube_proof, read.equations, read.claims
    assert proof is not None
    assert claims.step is not None
    _require_names(read, block, proof)
    matrix = made.matrix(block.names)
    require(matrix == [[Fraction(x) for x in row] for row in block.matrix], "the law is not the one of the problem")
    require(block.gamma == proof.gamma < 1, "the contraction is not the one of the proof, or none")
    require(block.stayed is True, "a tube is along a run that stays in it")
    require(proof.rounding >= LEAST_ROUNDING, "the rounding is stated smaller than doubles can show: squares underflow")
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        contraction = Contraction(matrix, read.tableau, claims.step, proof.factor, proof.gamma)
        defect = _defect(proof, read.tableau, claims.step)
        radius = top(contraction.radius(defect)) * (1 - 1e-14)
        require(radius <= proof.radius, "the radius is smaller than the defect allows")
        require(
            block.defect is not None and block.defect >= top(defect) * (1 - 1e-14), "the defect is smaller than shown"
        )
        require(block.epsilon is not None and block.epsilon >= radius, "epsilon is smaller than what was shown")
        start = _start_size(read, block, contraction)
        misstated = "the certificate misstates whether the start is on the program"
        require(block.settles == (start > proof.radius), misstated)
        if block.start_size is not None:
            require(block.from_step == 0, "the certificate misstates from which step on it holds")
            require(block.start_size >= start * (1 - 1e-12), "the start deviates more than stated")
        share = 0.0 if block.settles else start
        settled, widths = contraction.settled(defect), contraction.widths()
        shown = [top(a + flint.arb(share) * b) for a, b in zip(settled, widths, strict=True)]
        wide = [top(width) for width in widths]
    finally:
        flint.ctx.prec = before
    for name, claimed, least in zip(block.names, block.bounds, shown, strict=True):
        require(claimed >= least * (1 - 1e-12), f"the bound of {name} is smaller than what was shown")
    return Claimed(block, proof, Shown(block, top(defect), shown, wide, start, 0, 0, contraction))


def _require_names(read: Reading, block: BlockClaim, proof: TubeClaim) -> None:
    stated = read.stated
    unknown = [name for name in block.constraints if name not in stated.constraints]
    require(not unknown, f"the problem has no constraint {unknown[0] if unknown else ''!r}")
    own = {f"y_{name}" for name in block.constraints if name in stated.holonomic}
    own |= {f"w_{name}" for name in block.constraints}
    require(set(block.names) == own, "the deviations are not those of its constraints")
    size = len(block.names)
    require(len(block.matrix) == len(proof.factor) == size, "the norm or the law is of another size")
    require(len(block.bounds) == size, "there is not one bound for each deviation")


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────


class TubeRounding(RoundingModel):
    """The same model over parts of a tube, whose forms follow its curve: elimination forgives no crude ones."""

    def _space(self, cells: Any) -> Space:
        return TubeSpace(len(cells.names), 0, 1)


class TubeCover:
    """All cells of a tube against the claims of several blocks, halved where a bound is too large."""

    def __init__(
        self, read: Reading, tube: StatedTube, claims: Sequence[Claimed], budget: Budget, progress: Progress | None
    ) -> None:
        step = read.claims.step
        assert step is not None
        self.read, self.claims, self.budget, self.progress = read, claims, budget, progress
        self.names = list(tube.scales)
        self.whole = TubeCells.whole(self.names, tube.spans, tube.curves, tube.halves)
        self.step = TubeStep(read.equations, [one.block.names for one in claims], read.tableau, step)
        self.factors = [np.array(one.proof.factor) for one in claims]
        self.wanted = np.array([one.proof.coefficient for one in claims])

    def cells(self) -> int:
        """How many parts it took; `_Failing` where a block is not confirmed."""
        count = 0
        for place, one in enumerate(self.claims):
            count += self._covered(self._rounding(one), np.array([one.proof.rounding]), "rounding", place)
        count += self._covered(self._defects, self.wanted, "defect")
        self._agree()
        return count

    def _defects(self, cells: TubeCells) -> tuple[Array, Array]:
        return self.step.judged(cells, self.factors)

    def _rounding(self, one: Claimed) -> Callable[[TubeCells], tuple[Array, Array]]:
        read, claims = self.read, self.read.claims
        assert claims.code is not None
        assert claims.step is not None
        latest = max(abs(float(self.whole.spans[0, 0])), abs(float(self.whole.spans[-1, 1]))) + claims.step
        model = TubeRounding(
            read.equations, claims.code, one.block.names, read.tableau, claims.step, one.proof.factor,
            claims.parameters, latest,
        )  # fmt: skip

        def judged(cells: TubeCells) -> tuple[Array, Array]:
            bounds, _, _ = model.judge(cells)  # type: ignore[arg-type]
            shares = np.zeros_like(cells.low)
            shares[:, 0] = 1.0
            return bounds[None, :], shares

        return judged

    def _covered(
        self, judge: Callable[[TubeCells], tuple[Array, Array]], wanted: Array, what: str, place: int | None = None
    ) -> int:
        waiting, depth = self.whole, np.zeros(len(self.whole), dtype=int)
        done, total = 0, len(self.whole)
        while len(waiting):
            batch, depths = waiting.chosen(np.arange(min(BATCH, len(waiting)))), depth[:BATCH]
            waiting, depth = waiting.chosen(np.arange(len(batch), len(waiting))), depth[len(batch) :]
            self.budget.spend(len(batch))
            bounds, shares = judge(batch)
            wrong = np.asarray((bounds > wanted[:, None]).any(axis=0))
            done += int((~wrong).sum())
            if wrong.any():
                deep = wrong & (depths >= DEEPEST)
                if deep.any():
                    excess = (bounds[:, deep] / wanted[:, None]).max(axis=1)
                    block = int(excess.argmax()) if place is None else place
                    words = f"its {what} is not confirmed: {float(excess.max()):.3g} times what is stated"
                    raise _Failing(block, words)
                halves = batch.chosen(wrong).halved(_chosen(shares[wrong]))
                waiting = _joined(halves, waiting)
                depth = np.concatenate([np.tile(depths[wrong] + 1, 2), depth])
                total += int(wrong.sum())
            if self.progress is not None:
                self.progress(done / total)
        return done

    def _agree(self) -> None:
        """The code against the equations, at the middle of cells and beside it."""
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


def _chosen(shares: Array) -> Array:
    """The variable to halve: the one that adds most, along the cell where nothing is known."""
    return np.where(shares.max(axis=1) > 0, shares.argmax(axis=1), 0)


def _joined(a: TubeCells, b: TubeCells) -> TubeCells:
    parts = zip(*((x.spans, x.curves, x.halves, x.low, x.high) for x in (a, b)), strict=True)
    return TubeCells(a.names, *(np.concatenate(part) for part in parts))
