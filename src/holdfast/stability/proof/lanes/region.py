"""The cover of a region: by native forms where the kernel knows all operations, by forms of balls otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from holdfast.common.memo import Memo
from holdfast.errors import BadRequest
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.enclosure import Ball, Box, upper
from holdfast.stability.proof.lanes.cover import LaneCover, lane_cover
from holdfast.stability.proof.lanes.cutter import Array
from holdfast.stability.proof.lanes.defect import LaneDefect
from holdfast.stability.proof.search import NEAR_ATTAINED, CellJudgement, Cover, cover
from holdfast.stability.proof.work import SearchWork

NEAR = 1.1  # in place of `NEAR_ATTAINED`: cells are cheap in lanes


def lane_defect(
    motion: BlockFlow, scheme: RungeKutta, step: float, factor: Array, tapes: Memo | None = None
) -> LaneDefect | None:
    """The model in native forms; None where there is no variable to cut, or the kernel refuses an operation.

    `tapes` keep what is recorded for this motion and scheme.
    """
    if not motion.variables:
        return None
    try:
        return LaneDefect(motion, scheme, step, factor, tapes)
    except BadRequest:
        return None


def ends(limits: Sequence[Ball]) -> tuple[Array, Array]:
    """Limits of deviations and extras as doubles, not within them."""
    return np.array([-upper(-x) for x in limits]), np.array([upper(x) for x in limits])


def region_cover(
    model: LaneDefect | None,
    otherwise: Callable[[Box], CellJudgement | None],
    region: Box,
    limits: Sequence[Ball],
    *,
    wanted: float,
    work: SearchWork,
    expected: float = 0.0,
) -> Cover | LaneCover:
    """A cover by native forms; by balls, with the work that is left, where there are none or they find no bound.

    Its bound is as wanted, or near to what is expected, and to what is attained.
    """
    if model is not None:
        low, high = ends(limits)
        aim = max(wanted, NEAR * expected)
        judged = partial(model.judged, low=low, high=high)
        found = lane_cover(judged, region, wanted=aim, cost=lambda: model.cost, work=work, near=NEAR)
        if found.bound < math.inf or work.left <= 0:
            return found
    return cover(otherwise, region, wanted=max(wanted, NEAR_ATTAINED * expected), work=work)
