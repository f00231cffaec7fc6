"""Best-first bisection in rounds: in each the worst cells are cut and their halves judged together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast.stability.proof.enclosure import Box
from holdfast.stability.proof.lanes.cutter import Array, Boxes
from holdfast.stability.proof.search import MOST_CELLS, NEAR_ATTAINED
from holdfast.stability.proof.work import SearchWork

FEW = 24  # parts of a round, which are cut again before they are judged: as many take about as long as the rest of it
FEWEST = 64  # cells that are cut in one round, where so many are above what is wanted: batches pay


@dataclass(frozen=True, eq=False)
class LaneJudgement:
    """Bounds over the parts of boxes that lie in the region; `alive` says of which boxes there is a part."""

    alive: Array
    boxes: Boxes
    bounds: Array
    reached: Array  # about values that are attained, which no cutting betters
    variables: Array  # which to cut to better a bound
    inside: Array  # how much of a bound others may lose within a step, which no cutting betters
    spent: float  # units of work


@dataclass(frozen=True, eq=False)
class LaneCover:
    """A region covered by cells, with a bound over each."""

    boxes: Boxes
    bounds: Array
    inside: Array

    @property
    def bound(self) -> float:
        return float(self.bounds.max(initial=0.0))

    def stated(self, room: float) -> float:
        """The bound with a little room for other enclosures, and with all that these may lose within a step."""
        return float((room * self.bounds + self.inside).max(initial=0.0))

    @property
    def cells(self) -> int:
        return len(self.bounds)

    def leaves(self) -> list[Box]:
        """The boxes of all cells."""
        pairs = zip(self.boxes.low.tolist(), self.boxes.high.tolist(), strict=True)
        return [tuple(zip(low, high, strict=True)) for low, high in pairs]


def lane_cover(
    judge: Callable[[Boxes], LaneJudgement], region: Box, *, wanted: float, cost: Callable[[], float], work: SearchWork,
    near: float = NEAR_ATTAINED,
) -> LaneCover:  # fmt: skip
    """Bisect the worse half of the cells above what is wanted, until all are near what is attained, or the work is
    done; `cost` says what the dearest cell took so far.
    """
    ends = np.array(region, dtype=float)
    found = judge(Boxes(ends[None, :, 0], ends[None, :, 1]))
    work.charge(found.spent)
    boxes, bounds, variables, inside = found.boxes, found.bounds, found.variables, found.inside
    attained = float(found.reached.max(initial=0.0))
    while len(bounds):
        above = np.flatnonzero(bounds > max(wanted, near * attained))
        room = min(int(work.left / (2 * cost())), MOST_CELLS - len(bounds))
        if not len(above) or room <= 0:
            break
        order = above[np.argsort(-bounds[above], kind="stable")]
        chosen = order[: min(max(FEWEST, -(-len(above) // 2)), room)]
        fresh = judge(_parted(boxes.chosen(chosen), variables[chosen], room))
        work.charge(fresh.spent)
        kept = np.ones(len(bounds), bool)
        kept[chosen] = False
        boxes = _joined(boxes.chosen(kept), fresh.boxes)
        bounds = np.concatenate([bounds[kept], fresh.bounds])
        variables = np.concatenate([variables[kept], fresh.variables])
        inside = np.concatenate([inside[kept], fresh.inside])
        attained = max(attained, float(fresh.reached.max(initial=0.0)))
    return LaneCover(boxes, bounds, inside)


def _parted(boxes: Boxes, variables: Array, room: int) -> Boxes:
    """Halves; while they are few, each again in the same variable: a round costs about as much with one cell as with
    many."""
    parts, again = boxes.halved(variables), variables
    while len(parts) <= FEW and len(parts) <= room:
        again = np.concatenate([again, again])
        parts = parts.halved(again)
    return parts


def _joined(a: Boxes, b: Boxes) -> Boxes:
    if not len(b):
        return a
    return Boxes(np.concatenate([a.low, b.low]), np.concatenate([a.high, b.high]))
