"""What doubles add to the deviations in one step, bounded over a region.

Running errors in balls are tried over the whole region first; where they are not good enough, native forms follow the
code's own elimination over many boxes at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from holdfast.graph.arithmetics.balls import ball_between
from holdfast.graph.nodes import operation_count
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.cells import Cutter
from holdfast.stability.proof.contraction import Contraction
from holdfast.stability.proof.enclosure import Ball, Box, hull
from holdfast.stability.proof.lanes.cover import LaneCover, LaneJudgement, lane_cover
from holdfast.stability.proof.lanes.cutter import Boxes
from holdfast.stability.proof.lanes.region import ends
from holdfast.stability.proof.obedience import Place
from holdfast.stability.proof.rounding import RoundingModel
from holdfast.stability.proof.search import CellJudgement, Cover, cover, longest
from holdfast.stability.proof.work import LEAST_CELL, SearchWork

if TYPE_CHECKING:
    from holdfast.stability.proof.claim import Claim

PAIR = 3.0  # units of work of one operation on a value with its error (3 to 4 µs)
INWARD = 1e-6  # of a side: a corner that is surely no further out than the region
JUDGED = 3  # evaluations of a box: over it, in its middle, at a corner


class BoxRounding(Protocol):
    """Bounds rounding over many boxes at a time."""

    @property
    def cost(self) -> float: ...

    def judged(self, boxes: Boxes, low: np.ndarray, high: np.ndarray) -> LaneJudgement: ...


NativeRounding = Callable[["Claim", BlockFlow, np.ndarray, Sequence[Place]], BoxRounding | None]


class RegionRounding:
    """Bounds of one block's rounding, tube after tube; `places` are states at which the equations were tried."""

    def __init__(
        self, setting: Claim, whole: BlockFlow, factor: np.ndarray, contraction: Contraction,
        native: NativeRounding | None, leaps: Sequence[float] = (),
    ) -> None:  # fmt: skip
        self._leaps = tuple(leaps)
        self.setting, self.whole, self.factor, self.contraction = setting, whole, factor, contraction
        self._native = native
        self.places: tuple[Place, ...] = ()

    def cover(self, tube: float, wanted: float, work: SearchWork) -> Cover | LaneCover:
        """Cut until it counts little, or is about as good as any."""
        plain = self._by_balls(tube, wanted, work.part(1.0))  # one cell
        if plain.near(wanted):
            return plain
        lanes, setting = self._lanes, self.setting
        if lanes is not None:
            low, high = ends(self._limits(tube))
            region = setting.box(self.whole.variable_names)
            found = lane_cover(
                lambda b: lanes.judged(b, low, high), region, wanted=wanted, cost=lambda: lanes.cost, work=work
            )
            if found.bound < math.inf:
                return found if found.bound < plain.bound else plain
        return self._by_balls(tube, wanted, work)

    def pieces(self, tube: float) -> tuple[Callable[[Box], list[Ball] | None], Box]:
        """What cuts boxes of the whole state down to the region, and that region."""
        limits = self._limits(tube)

        def cut(box: Box) -> list[Ball] | None:
            cell = self._cutter.cell(box, limits)
            return None if cell is None else cell.box

        return cut, self.setting.box(self.whole.variable_names)

    def _limits(self, tube: float) -> list[Ball]:
        return self.setting.limit_balls(self.whole, self.contraction, tube)

    @cached_property
    def _cutter(self) -> Cutter:
        return self.setting.made.once(("cutter", self.setting.extra_names), lambda: Cutter(self.whole))

    @cached_property
    def _model(self) -> RoundingModel:
        return self.setting.rounding(self.factor, self._leaps)

    @cached_property
    def _lanes(self) -> BoxRounding | None:
        return None if self._native is None else self._native(self.setting, self.whole, self.factor, self.places)

    def _cost(self) -> float:
        """Units of work of one box: a few products of balls for each operation of each stage."""
        stages, field = len(self.setting.scheme.weights), self.setting.equations.field
        return LEAST_CELL + JUDGED * PAIR * stages * operation_count(field.rates)

    def _by_balls(self, tube: float, wanted: float, work: SearchWork) -> Cover:
        setting, whole, limits, cost = self.setting, self.whole, self._limits(tube), self._cost()
        region = setting.box(whole.variable_names)
        anywhere = [ball_between(*setting.region[name]) for name in ("t", *whole.names)]

        def cut(box: Box) -> list[Ball] | None:
            return self._cutter.drawn_in(box, limits)

        def bound(balls: Sequence[Ball]) -> float:
            moment, *state = whole.placed(balls, anywhere)
            return self._model.bound(moment, state)

        def judged(box: Box) -> CellJudgement | None:
            balls = cut(box)
            if balls is None:
                return None
            tight, most = hull(balls), float(bound(balls))
            if most <= wanted:
                return CellJudgement(most, longest(tight, region), tight, 0.0, cost)  # good, whatever is attained
            points = [tuple((low + (high - low) / 2,) * 2 for low, high in tight), tuple(map(_far, tight))]
            inside = [point for point in points if cut(point) is not None]
            found = [bound([ball_between(*ends) for ends in point]) for point in inside]
            reached = max((x for x in found if x < math.inf), default=0.0)  # no part that holds the point has less
            return CellJudgement(most, longest(tight, region), tight, reached, cost)

        return cover(judged, region, wanted=wanted, work=work)


def _far(ends: tuple[float, float]) -> tuple[float, float]:
    """Just within the end that is further from 0, where doubles lose most."""
    far, near = sorted(ends, key=abs, reverse=True)
    return (far + INWARD * (near - far),) * 2
