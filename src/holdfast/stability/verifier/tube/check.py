"""Blocks that are proved in a tube along a run, re-checked: numbers, cells, defects and rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.check import LEAST_ROUNDING, Reading, Shown, _defect, _start_size, require_at_once
from holdfast.stability.verifier.reading.file import BlockClaim
from holdfast.stability.verifier.reading.tubes import StatedTube, TubeClaim
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.steps.contraction import Contraction, bits_for, top
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.tube.cores import confirmed
from holdfast.stability.verifier.tube.cover import Claimed, Failing, Progress
from holdfast.stability.verifier.tube.speeds import require_no_time

ROUNDED_END = 2.0**-50  # of begin and duration: their sum is rounded, and so is the duration


def tube_outcomes(
    read: Reading, budget: Budget, progress: Progress | None = None, client: Any = None
) -> list[tuple[BlockClaim, Shown | None, str]]:
    """Every block that is proved in a tube: what was shown of it, or None, and a sentence."""
    found: list[tuple[BlockClaim, Shown | None, str]] = []
    for place in sorted({b.tube_proof.tube for b in read.claims.blocks if b.tube_proof is not None}):
        blocks = [b for b in read.claims.blocks if b.tube_proof is not None and b.tube_proof.tube == place]
        found += _of_tube(read, place, blocks, budget, progress, client)
    return found


def _of_tube(
    read: Reading, place: int, blocks: list[BlockClaim], budget: Budget, progress: Progress | None, client: Any
) -> list[tuple[BlockClaim, Shown | None, str]]:
    failed: dict[int, str] = {}
    fits: list[Claimed] = []
    try:
        require(place < len(read.claims.tubes), "its tube is not in the certificate")
        tube = read.claims.tubes[place]
        _require_tube(read, tube)
    except Refused as refusal:
        return [(block, None, f"{_named(block)}: does not hold: {refusal}") for block in blocks]
    for block in blocks:
        try:
            fits.append(fitting(read, block))
        except Refused as refusal:
            failed[id(block)] = f"{_named(block)}: does not hold: {refusal}"
        except Unconfirmed as doubt:
            failed[id(block)] = f"{_named(block)}: {doubt}"
    while fits:
        try:
            count = confirmed(read, place, tube, fits, budget, progress, client)
            break
        except Failing as failing:
            worst = fits.pop(failing.place)
            failed[id(worst.block)] = f"{_named(worst.block)}: {failing.words}"
        except (Refused, Unconfirmed) as trouble:
            words = f"does not hold: {trouble}" if isinstance(trouble, Refused) else str(trouble)
            failed |= {id(one.block): f"{_named(one.block)}: {words}" for one in fits}
            fits = []
    good = {id(one.block): one.shown for one in fits}
    return [_told(block, good, failed, count if fits else 0) for block in blocks]


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


# ── numbers ───────────────────────────────────────────────────────────────────────────────────────


def _require_tube(read: Reading, tube: StatedTube) -> None:
    """The cells bear the states of the problem, from the beginning of the run to its end, as wide as is said."""
    claims = read.claims
    require(list(tube.scales) == read.equations.inputs[1:], "the tube is not one of the states of the problem")
    require(tube.curves.shape[1] == len(tube.scales), "the tube is not one of the states of the problem")
    require(float(tube.spans[0, 0]) == claims.begin, "the tube begins elsewhere than the run")
    end = claims.begin + claims.duration - ROUNDED_END * (abs(claims.begin) + claims.duration)
    require(float(tube.spans[-1, 1]) >= end, "the tube ends before the run")
    scales = np.array([*tube.scales.values()])
    require(bool((tube.halves >= tube.width * scales * (1 - 1e-12)).all()), "the tube is narrower than stated")
    if tube.speeds:
        require_no_time(read)


def fitting(read: Reading, block: BlockClaim) -> Claimed:
    """The numbers of a block: names, law, contraction, radius, bounds and start."""
    import flint

    proof, made, claims = block.tube_proof, read.equations, read.claims
    assert proof is not None
    assert claims.step is not None
    _require_names(read, block, proof)
    require_at_once(made)
    matrix = made.matrix(block.names)
    require(matrix == [[Fraction(x) for x in row] for row in block.matrix], "the law is not the one of the problem")
    require(block.gamma == proof.gamma < 1, "the contraction is not the one of the proof, or none")
    require(block.stayed is True, "a tube is along a run that stays in it")
    require(proof.rounding >= LEAST_ROUNDING, "the rounding is stated smaller than doubles can show: squares underflow")
    before, flint.ctx.prec = flint.ctx.prec, bits_for(len(block.names))
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
        share = 0.0 if block.settles else max(start, block.start_size or 0.0)
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
    own = {word for name in block.constraints for word in read.equations.names_of(name)}
    require(set(block.names) == own, "the deviations are not those of its constraints")
    size = len(block.names)
    require(len(block.matrix) == len(proof.factor) == size, "the norm or the law is of another size")
    require(len(block.bounds) == size, "there is not one bound for each deviation")
