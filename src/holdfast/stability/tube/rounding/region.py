"""Rounding of one step over many boxes of a region at a time, by the tape that follows the code in a tube."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import monomials
from holdfast.errors import BadRequest
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.claim import Claim
from holdfast.stability.proof.granted.obedience import Place
from holdfast.stability.proof.lanes.cover import LaneJudgement
from holdfast.stability.proof.lanes.cutter import Array, Boxes, LaneCutter
from holdfast.stability.tube.agreement import require_agreement
from holdfast.stability.tube.flow import tube_flow
from holdfast.stability.tube.rounding.by_slopes import RoundingSlopes
from holdfast.stability.tube.rounding.tape import RoundingTape

YIELDING = ("eased", "redundant")  # ways of solving by which the law is not met as it stands
ORDER = 1  # of the forms: boxes are cut until rounding counts little
UNITS = 30.0  # of work of a box beside its forms
NATIVE = 1.1e-4 * 4  # units of one product of forms that are no series


def native_rounding(
    setting: Claim, whole: BlockFlow, factor: Array, places: Sequence[Place], *, by_slopes: bool = False
) -> LaneRounding | None:
    """The model of one block; None where the kernel refuses the code, or the code is no one linear system."""
    if setting.equations.solver.form in YIELDING or not places or not whole.variables:
        return None
    try:
        return LaneRounding(setting, whole, factor, places, by_slopes=by_slopes)
    except BadRequest:
        return None


class LaneRounding:
    """Bounds ‖Lᵀ(error of ψ)‖ of one block over boxes, errors added up or each by its slope.

    `places` are states at which the rates that are run are seen to solve the system that is followed.
    """

    def __init__(
        self, setting: Claim, whole: BlockFlow, factor: Array, places: Sequence[Place], *, by_slopes: bool = False
    ) -> None:
        flow, region = tube_flow(setting.equations, setting.parameters), setting.region
        self._timed = flow.timed
        self._shape = monomials((1,) * (len(flow.variables) + 2), ORDER)
        factors, run = [(setting.block.places, factor)], (flow, setting.scheme, setting.step, self._shape)
        self._tape: FormTape
        self._model: Callable[[Array], Array]
        if by_slopes:
            slopes = RoundingSlopes(*run, factors, setting.clock)
            self._tape, self._model = slopes.tape, slopes.bounds
        else:
            added = RoundingTape(*run)  # refuses what forms do not know
            self._tape, self._model = added.tape, lambda data: added.bounds(data, factors)
        require_agreement(flow, places)
        self._cutter = LaneCutter(whole)
        own = {name: k for k, name in enumerate(whole.variable_names)}
        self._columns = [own.get(name) for name in ("t", *flow.names)]
        self._region, self._names = region, ("t", *flow.names)
        self._clock = setting.clock
        sides = np.array([region[name][1] - region[name][0] for name in whole.variable_names])
        self._sides = np.where(sides > 0, sides, np.inf)

    @property
    def cost(self) -> float:
        """Units of work of one box."""
        return UNITS + 2 * NATIVE * self._tape.products

    def judged(self, boxes: Boxes, low: Array, high: Array) -> LaneJudgement:
        """Bounds over the parts of boxes whose deviations and extras lie between limits [row]."""
        with np.errstate(all="ignore"):
            cut = self._cutter.cut(boxes, low, high)
            kept = cut.boxes
            bounds, reached = self._bounds(kept), self._bounds(Boxes(kept.middle, kept.middle))
            longest = ((kept.high - kept.low) / self._sides).argmax(axis=1)
        known = np.where(np.isfinite(reached) & np.isfinite(bounds), reached, 0.0)
        return LaneJudgement(cut.alive, kept, bounds, known, longest, np.zeros(len(kept)), self.cost * len(boxes))

    def _bounds(self, boxes: Boxes) -> Array:
        return self._model(self._inputs(boxes))[:, 0] if len(boxes) else np.zeros(0)

    def _inputs(self, boxes: Boxes) -> Array:
        """Time and states of the flow as straight forms, each over its part of the box or of the region."""
        low, high = (np.empty((len(boxes), len(self._names))) for _ in range(2))
        for k, (name, column) in enumerate(zip(self._names, self._columns, strict=True)):
            low[:, k] = self._region[name][0] if column is None else boxes.low[:, column]
            high[:, k] = self._region[name][1] if column is None else boxes.high[:, column]
        wide, data = Boxes(low, high), np.zeros((len(boxes), len(self._names), len(self._shape) + 3))
        data[:, :, 0] = wide.middle
        for k, reach in enumerate(wide.reach.T):
            data[:, k, self._shape.place[(k,)] if k or self._timed else -2] = reach
        data[:, 0, -1] = self._clock
        return data
