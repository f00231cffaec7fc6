"""Blocks that are proved by steps in the order of time, re-checked: docs/theory/8-tube.md, 8.14.

The tube at the rows, a map of the deviations from each of its boxes by the verifier's own forms and matrices, rounding
by slopes over groups of cells, and the sum (8.8) over all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.stability.verifier.check import POINTS, Reading
from holdfast.stability.verifier.numbers.evaluate import Forms, ball_values
from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.order.repeated import RepeatedEquations
from holdfast.stability.verifier.order.rows import require_regular, steps_of_rows
from holdfast.stability.verifier.order.steps import Boxes, MapReader, StepMaps, StepRows, boxes, largest
from holdfast.stability.verifier.reading.code import clock_error
from holdfast.stability.verifier.reading.file import BlockClaim, Claims
from holdfast.stability.verifier.reading.tubes import StatedTube
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.rounding.adjoint import AdjointRounding
from holdfast.stability.verifier.steps.cover import Budget
from holdfast.stability.verifier.steps.existence import WHAT, Existence
from holdfast.stability.verifier.tube.cells import TubeCells
from holdfast.stability.verifier.tube.check import _require_tube
from holdfast.stability.verifier.tube.cover import joined_cells
from holdfast.stability.verifier.tube.groups import grouped, groups
from holdfast.stability.verifier.tube.space import TubeSpace

BITS = 200
BATCH = 32  # groups of cells, or cells, whose rounding is looked at together
MAPS_PART = 0.4  # of the work: what the maps take of it, for progress to be told
HALVINGS = 12  # of a cell in time, over which what moves the states is to have a value
SHORTER = 1e-6  # of a step: by so much the step by which an event is met is shorter, at least
MOST_STEPS = 200_000  # of one claim: a column of 8 doubles for each deviation of each
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class ShownOrder:
    """What was shown of one claim, for all blocks that share it."""

    claim: dict[str, Any]
    tube: StatedTube
    boxes: Boxes
    maps: StepMaps
    rounding: Array  # (steps, deviations)
    bounds: Array
    points: int

    @property
    def told(self) -> str:
        share = float((self.bounds / np.array(self.claim["bounds"])).max())
        words = f"{len(self.boxes.rows)} boxes at {self.claim['steps']} rows re-checked, {share:.3f} of its bounds"
        return f"holds in the order of time, {words}, the code agrees at {self.points} states"


def order_outcomes(
    read: Reading, budget: Budget, progress: Progress | None = None
) -> list[tuple[BlockClaim, ShownOrder | None, str]]:
    """Every block that is proved so: what was shown of it, or None, and a sentence. Blocks of one claim share it."""
    known: list[tuple[dict[str, Any], ShownOrder | None, str]] = []
    found: list[tuple[BlockClaim, ShownOrder | None, str]] = []
    for block in read.claims.blocks:
        claim = block.ordered
        if claim is None:
            continue
        names = ", ".join(block.constraints)
        try:
            _require_block(read, block, claim)
        except Refused as refusal:
            found.append((block, None, f"{names}: does not hold: {refusal}"))
            continue
        same = next(((shown, words) for other, shown, words in known if other == claim), None)
        if same is None:
            same = _outcome(read, claim, budget, progress or (lambda share: None))
            known.append((claim, *same))
        found.append((block, same[0], f"{names}: {same[1]}"))
    return found


def _outcome(read: Reading, claim: dict[str, Any], budget: Budget, progress: Progress) -> tuple[ShownOrder | None, str]:
    try:
        shown = _checked(read, claim, budget, progress)
    except Refused as refusal:
        return None, f"does not hold: {refusal}"
    except Unconfirmed as doubt:
        return None, str(doubt)
    return shown, shown.told


def _require_block(read: Reading, block: BlockClaim, claim: dict[str, Any]) -> None:
    """What a block says beside its claim: its own bounds, and nothing of a contraction."""
    stated = read.stated
    unknown = [name for name in block.constraints if name not in stated.constraints]
    require(not unknown, f"the problem has no constraint {unknown[0] if unknown else ''!r}")
    own = {word for name in block.constraints for word in read.equations.names_of(name)}
    require(set(block.names) == own, "the deviations are not those of its constraints")
    require(own <= set(claim["names"]), "its proof is not of its deviations")
    sure = dict(zip(claim["names"], claim["bounds"], strict=False))
    require(len(block.bounds) == len(block.names), "there is not one bound for each deviation")
    for name, bound in zip(block.names, block.bounds, strict=True):
        require(bound >= sure.get(name, np.inf), f"the bound of {name} is smaller than that of its proof")
    none = all(x is None for x in (block.gamma, block.defect, block.epsilon, block.start_size))
    require(none and not block.settles and block.from_step == 0, "it states a contraction that its proof has not")
    require(block.stayed is True, "a tube is along a run that stays in it")
    require(not block.matrix, "it states a law that single steps obey, which its proof does not say")


def _checked(read: Reading, claim: dict[str, Any], budget: Budget, progress: Progress) -> ShownOrder:
    claims, made, names = read.claims, read.equations, claim["names"]
    require(claim["tube"] < len(claims.tubes), "its tube is not in the certificate")
    tube, steps = claims.tubes[claim["tube"]], claim["steps"]
    _require_tube(read, tube)
    require(not tube.speeds, "steps in the order of time are at the speeds of their run")
    require(set(names) <= set(made.psi), "its proof is of what is no deviation of the problem")
    sizes = {len(claim[name]) for name in ("start", "bounds", "rounding")}
    require(sizes == {len(names)}, "its numbers are not one for each deviation")
    require(0 < steps <= MOST_STEPS, "it is of no step, or of too many")
    require(_are_of_run(claims, steps), "its steps are not those of its run")
    _require_start(read, claim)
    if read.cuts:
        raise Unconfirmed("limits of controls are not re-checked by steps in the order of time")
    found = boxes_of(read, claim)
    budget.require_room(len(found.rows))
    budget.spend(len(found.rows))
    agreeing = _agreeing(read, found.cells) if made.in_passes else None  # a wrong weight is told by it, and at once
    _require_existence(read, tube, budget)
    maps, rounding = _steps(read, claim, found, budget, progress)
    bounds = largest(maps, np.array(claim["start"]), rounding)
    _require_bounds(claim, bounds)
    agreeing = _agreeing(read, found.cells) if agreeing is None else agreeing
    return ShownOrder(claim, tube, found, maps, rounding, bounds, agreeing)


def _require_existence(read: Reading, tube: StatedTube, budget: Budget) -> None:
    """All that moves the states has a value all over the tube: steps ask for that at its rows alone."""
    wanted = Existence(read.equations, None)
    read.tell(wanted.note)
    if wanted.nothing:
        return
    cells = TubeCells.whole(list(tube.scales), tube.spans, tube.curves, tube.halves)
    for _ in range(HALVINGS):
        budget.spend(len(cells))
        space = TubeSpace(len(tube.scales), 0, 1)
        held = wanted.held(Forms(space, len(cells), cells.values(space, list(tube.scales))))
        if held.all():
            return
        cells = cells.chosen(~held).halved(np.zeros(int((~held).sum()), dtype=int))
    raise Unconfirmed(f"the {WHAT} is not confirmed")


def _are_of_run(claims: Claims, steps: int) -> bool:
    """Whether so many steps are all that the run takes, but for one by which an event is met: that one is shorter."""
    if claims.times is None:
        assert claims.step is not None
        left = claims.duration - steps * claims.step
        return -1e-9 * claims.duration <= left < (1 - SHORTER) * claims.step
    ends = claims.times[0] == claims.begin and claims.times[-1] - claims.times[0] == claims.duration
    return ends and steps in (len(claims.times) - 2, len(claims.times) - 1)


def boxes_of(read: Reading, claim: dict[str, Any]) -> Boxes:
    """The states of its tube at its rows."""
    claims, steps = read.claims, StepRows.of(read.claims, claim["steps"])
    clock = clock_error(claims.begin, claims.begin, claims.begin + claims.duration, steps.longest, read.tableau)
    return boxes(claims.tubes[claim["tube"]], steps, clock)


def _steps(
    read: Reading, claim: dict[str, Any], found: Boxes, budget: Budget, progress: Progress
) -> tuple[StepMaps, Array]:
    """The step from each row as a map of deviations, and its rounding: (steps, deviations)."""
    claims, made, names = read.claims, read.equations, claim["names"]
    tube = claims.tubes[claim["tube"]]
    if isinstance(made, RepeatedEquations):
        if claims.times is not None:
            raise Unconfirmed("constraints that may repeat each other are re-checked at one step alone")
        require_regular(made, tube, claims.begin, claims.start)
        place = next(k for k, block in enumerate(claims.blocks) if block.ordered == claim)

        def tell(share: float) -> None:
            budget.spend(0)  # of cells; but it may have taken too long
            progress(share)

        maps, rounding = steps_of_rows(read, names, found, place, tell)
        _require_rounding(rounding, claim)
        return maps, rounding
    reader = MapReader(made, names, read.tableau)
    maps = reader.maps(found, lambda share: progress(MAPS_PART * share))
    by_box = _rounding(read, found, claim, budget, progress)
    return maps, np.maximum.reduceat(by_box, np.flatnonzero(np.diff(found.rows, prepend=-1)))


def _require_start(read: Reading, claim: dict[str, Any]) -> None:
    import flint

    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        place = dict(zip(read.equations.inputs, map(flint.arb, (read.claims.begin, *read.claims.start)), strict=True))
        found = ball_values([read.equations.psi[name] for name in claim["names"]], place)
        for name, value, most in zip(claim["names"], found, claim["start"], strict=True):
            require(bool(abs(value) <= flint.arb(most)), f"the start deviates more in {name} than stated")
    finally:
        flint.ctx.prec = before


def _require_bounds(claim: dict[str, Any], bounds: Array) -> None:
    for name, stated, shown in zip(claim["names"], claim["bounds"], bounds.tolist(), strict=True):
        if shown > stated:
            raise Unconfirmed(f"the bound of {name} is not confirmed: {shown / max(stated, 1e-300):.4g} times is shown")


def _rounding(read: Reading, found: Boxes, claim: dict[str, Any], budget: Budget, progress: Progress) -> Array:
    """What doubles add to each deviation in a step from each box: of several cells at once where that says enough, else
    of cells, and last of the boxes themselves.
    """
    claims, names, tube = read.claims, claim["names"], read.claims.tubes[claim["tube"]]
    longest = found.steps.longest
    clock = clock_error(claims.begin, float(tube.spans[0, 0]), float(tube.spans[-1, 1]), longest, read.tableau)
    model = AdjointRounding(
        read.equations, read.code, [[name] for name in names], read.tableau, longest,
        [np.ones((1, 1))] * len(names), claims.parameters, clock,
    )  # fmt: skip
    whole, wanted = (
        TubeCells.whole(list(tube.scales), tube.spans, tube.curves, tube.halves),
        np.array(claim["rounding"]),
    )
    bounds = np.full((len(whole), len(names)), np.inf)

    def look(places: Sequence[Array], of: TubeCells, bounds: Array, *, at_rows: bool = False) -> None:
        open_ones = [rows for rows in places if not (bounds[rows] <= wanted).all()]
        for k in range(0, len(open_ones), BATCH):
            some = open_ones[k : k + BATCH]
            budget.spend(len(some))
            together = joined_cells([grouped(of.chosen(rows)) if len(rows) > 1 else of.chosen(rows) for rows in some])
            lengths = found.lengths(np.concatenate(some)) if at_rows else None
            for rows, own in zip(some, model.judged(together, lengths).T, strict=True):
                bounds[rows] = np.fmin(bounds[rows], own)
            progress(MAPS_PART + (1 - MAPS_PART) * float((bounds <= wanted).all(axis=1).mean()))

    if claims.times is None:  # else each row has a step of its own
        look(groups(len(whole)), whole, bounds)
        look([np.array([k]) for k in range(len(whole))], whole, bounds)
    by_box = bounds[found.owners]
    look([np.array([k]) for k in range(len(by_box))], found.cells, by_box, at_rows=True)
    _require_rounding(by_box, claim)
    return by_box


def _require_rounding(bounds: Array, claim: dict[str, Any]) -> None:
    excess = (bounds / np.maximum(np.array(claim["rounding"]), 1e-300)).max()
    if not excess <= 1:
        raise Unconfirmed(f"its rounding is not confirmed: {excess:.3g} times what is stated")


def _agreeing(read: Reading, cells: TubeCells) -> int:
    """The code against the equations, in boxes."""
    shake = np.random.default_rng(29)
    rows = np.unique(np.linspace(0, len(cells) - 1, 2 * POINTS).astype(int))
    chosen = cells.chosen(rows)
    s = (chosen.low[:, 0] + chosen.high[:, 0]) / 2
    states = np.einsum("nik,nk->ni", chosen.curves, np.stack([s**k for k in range(4)], axis=1))
    states = states + shake.uniform(-1, 1, states.shape) * chosen.halves
    times = chosen.spans[:, 0] + s * (chosen.spans[:, 1] - chosen.spans[:, 0])
    points = sum(read.agreement.check([t, *x]) for t, x in zip(times.tolist(), states.tolist(), strict=True))
    require(points > 0, "the code could not be compared with the equations at any state of the tube")
    return points
