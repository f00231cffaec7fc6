"""Covering a region: boxes are halved until each is empty or as claimed, within a budget.

The certificate's claim is all that is taken from the search: where to cut is decided here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.steps.cells import Cells, Cutter

BATCH = 64  # boxes that are looked at together
TOGETHER = 8  # boxes that cost hardly more than one: as many are made where few are left


@dataclass
class Budget:
    """How much a verification may take in all: cells, so that the answer is the same everywhere; time only if asked."""

    seconds: float
    cells: int
    spent: int = 0  # cells
    started: float = field(default_factory=time.perf_counter)
    progress: Callable[[float], None] | None = None  # told the part of a region that is done

    def left(self) -> tuple[int, float]:
        """Cells and seconds."""
        return self.cells - self.spent, self.seconds - (time.perf_counter() - self.started)

    def spend(self, cells: int) -> None:
        self.spent += cells
        if self.spent > self.cells:
            raise Unconfirmed(f"not verified within the budget: {self.cells} cells; a larger one may do it")
        self._require_time()

    def require_room(self, cells: float) -> None:
        """`Unconfirmed` at once where the cells still to come are more than are left, before time is spent on them."""
        if cells > self.left()[0]:
            short = f"{self.cells} cells where about {cells + self.spent:.0f} or more are needed"
            raise Unconfirmed(f"not verified within the budget: {short}; a larger one may do it")

    def _require_time(self) -> None:
        if time.perf_counter() - self.started > self.seconds:
            raise Unconfirmed(f"not verified within the budget: {self.seconds:g} s; a larger one may do it")


Judge = Callable[[Cells], tuple[Array, Array, Array]]
"""For a batch of cells: a bound of each, a bound from below all over the cell, and how much each variable adds."""
SLENDER = 2.0**-8  # of a box's relatively longest side: one so much shorter is not cut, whatever it is thought to add
LEAST_SPREAD = 1e-3  # of its size: a variable that changes by less may still count, as a late time does
SMALL = 2.0**-7  # of the region's width: a cell that small, all of which exceeds the claim, ends the search


@dataclass(eq=False)
class Cover:
    """What covering found."""

    cells: int = 0
    largest: float = 0.0
    points: list[Array] = field(default_factory=list)  # centres of cells


def covered(region: Array, cutter: Cutter, judge: Judge, claimed: float, what: str, budget: Budget) -> Cover:
    """Confirm that no cell of the region exceeds what is claimed."""
    waiting: list[tuple[Array, Array, float]] = [(region[:, 0].copy(), region[:, 1].copy(), 1.0)]
    found = Cover()
    while waiting:
        if budget.progress is not None:
            budget.progress(max(0.0, 1 - sum(share for _, _, share in waiting)))
        batch = [waiting.pop() for _ in range(min(BATCH, len(waiting)))]
        budget.spend(len(batch))
        low, high = np.array([a for a, _, _ in batch]), np.array([b for _, b, _ in batch])
        alive, cells = cutter.cells(low, high)
        if not len(cells):
            continue
        bounds, least, shares = judge(cells)
        fine = bounds <= claimed
        found.cells += int(fine.sum())
        found.largest = max(found.largest, float(bounds[fine].max(initial=0.0)))
        found.points += list(cells.centre[fine])
        worst = least[small(cells, region)].max(initial=0.0)
        if worst > claimed:
            raise Refused(f"the {what} is larger than stated: {worst:.3g} all over a cell, {claimed:.3g} is claimed")
        wrong = np.flatnonzero(~fine)
        least_cuts = int(np.log2(max(1.0, TOGETHER / max(1, len(wrong) + len(waiting)))))
        for k in wrong:
            cuts = max(least_cuts, _cuts(bounds[k] / max(claimed, 1e-300)))
            pieces = _pieces(cells.low[k], cells.high[k], shares[k], region, what, cuts)
            part = batch[alive[k]][2] / len(pieces)
            waiting += [(a, b, part) for a, b in pieces]
    return found


def small(cells: Cells, region: Array) -> Array:
    """Which cells are so small that all of one exceeding the claim ends the search."""
    found: Array = ((cells.high - cells.low) <= SMALL * (region[:, 1] - region[:, 0])).all(axis=1)
    return found


def _cuts(excess: float) -> int:
    """How often a box is halved: the more, the further its bound exceeds the claim."""
    return 1 if excess < 2 else 2 if excess < 16 else 3


def _pieces(low: Array, high: Array, share: Array, region: Array, what: str, cuts: int) -> list[tuple[Array, Array]]:
    """The box halved so often."""
    pieces = [(low, high, share)]
    for _ in range(cuts):
        pieces = [half for piece in pieces for half in _halves(*piece, region, what)]
    return [(a, b) for a, b, _ in pieces]


def _spread(region: Array) -> Array:
    """The width of each variable beside its size: where nothing is told, one that hardly changes is cut last."""
    size = np.maximum(np.abs(region).max(axis=1), 1e-300)
    found: Array = np.clip((region[:, 1] - region[:, 0]) / size, LEAST_SPREAD, 1.0)
    return found


def _halves(low: Array, high: Array, share: Array, region: Array, what: str) -> list[tuple[Array, Array, Array]]:
    """The box cut in the middle of the variable that adds most, or of its relatively longest."""
    width = high - low
    relative = width / np.maximum(region[:, 1] - region[:, 0], 1e-300)
    usable = width > 1e-13 * np.maximum(np.abs(low), np.abs(high)) + 1e-290
    if not len(low) or not usable.any():
        raise Unconfirmed(f"the {what} is not confirmed: over a box too small to be cut it may be larger than stated")
    stout = usable & (relative >= SLENDER * np.where(usable, relative, 0.0).max())
    told = np.isfinite(share).all() and share[stout].max(initial=0) > 0
    j = int(np.where(stout, share if told else relative * _spread(region), -1.0).argmax())
    below, above, left = high.copy(), low.copy(), share.copy()
    below[j] = above[j] = low[j] + width[j] / 2
    left[j] /= 2
    return [(low, below, left), (above, high, left)]
