"""What doubles add to the deviations in one step, bounded over a region.

Running errors in balls are tried over the whole region first; where they are not good enough, native forms follow the
code's own elimination over many boxes at a time; and where that is far from what the last sum of a step loses alone,
each rounding is followed by its slope, so that those which undo each other count once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

from holdfast.graph.arithmetics.balls import ball_between
from holdfast.graph.nodes import operation_count
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.cells import Cutter
from holdfast.stability.proof.contraction import Contraction
from holdfast.stability.proof.enclosure import Ball, Box, hull
from holdfast.stability.proof.granted.obedience import Place
from holdfast.stability.proof.lanes.cover import LaneCover, LaneJudgement, lane_cover
from holdfast.stability.proof.lanes.cutter import Boxes
from holdfast.stability.proof.lanes.region import ends
from holdfast.stability.proof.rounding import RoundingModel
from holdfast.stability.proof.search import CellJudgement, Cover, cover, longest
from holdfast.stability.proof.work import LEAST_CELL, SearchWork

if TYPE_CHECKING:
    from holdfast.stability.proof.claim import Claim

PAIR = 3.0  # units of work of one operation on a value with its error (3 to 4 µs)
INWARD = 1e-6  # of a side: a corner that is surely no further out than the region
FAR = 2.0  # times what the last sum alone may lose: nothing is within less by much
SMALL = 500  # operations of the rates: tapes of the slopes of more take seconds to record
JUDGED = 3  # evaluations of a box: over it, in its middle, at a corner


class BoxRounding(Protocol):
    """Bounds rounding over many boxes at a time."""

    @property
    def cost(self) -> float: ...

    def judged(self, boxes: Boxes, low: np.ndarray, high: np.ndarray) -> LaneJudgement: ...


class NativeRounding(Protocol):
    """Finds what bounds the rounding of one block natively, or None."""

    def __call__(
        self, setting: Claim, whole: BlockFlow, factor: np.ndarray, places: Sequence[Place], *, by_slopes: bool = False
    ) -> BoxRounding | None: ...


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
        added_up = self._added_up(tube, wanted, work)
        operations = operation_count(self.setting.equations.field.rates)
        if added_up.bound <= wanted or operations > SMALL or added_up.bound <= FAR * self._last_sum(tube):
            return added_up
        return self._better(added_up, self._slopes, tube, wanted, work)

    def _added_up(self, tube: float, wanted: float, work: SearchWork) -> Cover | LaneCover:
        plain = self._by_balls(tube, wanted, work.part(1.0))  # one cell
        if plain.near(wanted):
            return plain
        found = self._better(plain, self._lanes, tube, wanted, work)
        return found if found.bound < math.inf else self._by_balls(tube, wanted, work)

    def _better(
        self, known: Cover | LaneCover, lanes: BoxRounding | None, tube: float, wanted: float, work: SearchWork
    ) -> Cover | LaneCover:
        """What is known, or a cover by these if that bounds rounding better."""
        if lanes is None:
            return known
        low, high = ends(self._limits(tube))
        region = self.setting.box(self.whole.variable_names)
        found = lane_cover(
            lambda b: lanes.judged(b, low, high), region, wanted=wanted, cost=lambda: lanes.cost, work=work
        )
        return found if found.bound < known.bound else known

    def _last_sum(self, tube: float) -> float:
        """What the last sum of a step may lose all over the region; nothing where that is not known."""
        box = self._cutter.cell(self.setting.box(self.whole.variable_names), self._limits(tube))
        anywhere = [ball_between(*self.setting.region[name]) for name in ("t", *self.whole.names)]
        if box is None:
            return 0.0
        moment, *state = self.whole.placed(box.box, anywhere)
        found = self._model.of_last_sum(moment, state)
        return found if found < math.inf else 0.0

    def pieces(self, tube: float) -> tuple[Callable[[Box], list[Ball] | None], Box]:
        """What cuts boxes of the whole state down to the region, and that region."""
        limits = self._limits(tube)

        def cut(box: Box) -> list[Ball] | None:
            cell = self._cutter.cell(box, limits)
            return None if cell is None else cell.box

        return cut, self.setting.box(self.whole.variable_names)

    def near(self, tube: float) -> Callable[[Box], list[Ball] | None]:
        """What cuts boxes down to all that is near the program, whatever the region says of observables: between two
        rows that lie in it the energy, say, may be any other.
        """
        observed = len(self.whole.extras)
        limits = self._limits(tube)[: len(self.whole.psi) + len(self.whole.others)] if observed else self._limits(tube)
        cutter = Cutter(replace(self.whole, extras=())) if observed else self._cutter

        def cut(box: Box) -> list[Ball] | None:
            cell = cutter.cell(box, limits)
            return None if cell is None else cell.box

        return cut

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

    @cached_property
    def _slopes(self) -> BoxRounding | None:
        if self._native is None:
            return None
        return self._native(self.setting, self.whole, self.factor, self.places, by_slopes=True)

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
