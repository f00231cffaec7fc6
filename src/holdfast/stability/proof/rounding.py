"""Rounding of one step, bounded over a box: what doubles add to the deviations beside the scheme.

The step is evaluated on the same graph in `rounded_balls`, with parameters as the inputs they are in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import JUMPING, ball, clipped_balls, continuous_balls, symmetric
from holdfast.graph.arithmetics.rounded_balls import (
    UNIT,
    Pair,
    rounded_balls,
    rounded_constant,
    rounded_product,
    rounded_sum,
    size,
)
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import ancestors
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.enclosure import Ball, ball_matrix, column, entries, norm


class RoundingTapes:
    """The rates that are run, and how the deviations of a block depend on what they lead to; whatever the step."""

    def __init__(self, equations: Equations, places: Sequence[int], counted: frozenset[str] = frozenset()) -> None:
        """`counted` are operations whose jumps are bounded otherwise."""
        field = equations.field
        self.rates = Tape(field.inputs, field.rates).compiled(rounded_balls())
        psi = [*equations.deviations.y, *equations.deviations.w]
        own = [psi[i] for i in places]
        rows = jacobian(own, (field.time, *field.state))
        self.places = [list(row) for row in rows]
        slopes = Tape(field.inputs, tuple(node for row in rows for node in row.values()))
        self.slopes = slopes.compiled(clipped_balls())
        jumps = any(node.op in JUMPING - counted for node in ancestors(own))
        self.own = Tape(field.inputs, tuple(own)).compiled(continuous_balls()) if jumps else None


class RoundingModel:
    """Bounds ‖Lᵀ(error of ψ)‖ that the rounding of one step causes, over boxes of the whole state."""

    def __init__(
        self,
        tapes: RoundingTapes,
        scheme: RungeKutta,
        step: float,
        factor: np.ndarray,
        parameters: Sequence[float],
        moment: float,
        leaps: Sequence[float] = (),
    ) -> None:
        """`leaps` are what each deviation jumps by at most where its time passes a knot of data."""
        self._clock = ball(float(moment)) * 8 * UNIT  # of t = begin + count·step at both ends, and of the stages within
        self._scheme, self._step = scheme, step
        self._factor = ball_matrix(factor.T)
        self._rates, self._slopes, self._places, self._own = tapes.rates, tapes.slopes, tapes.places, tapes.own
        self._parameters = [(ball(float(p)), ball(0)) for p in parameters]
        self._leaps = [ball(float(leap)) for leap in leaps] or [ball(0)] * len(self._places)

    def _steady(self, place: Sequence[Ball]) -> bool:
        """Whether no deviation may jump between the exact state after a step and the rounded one."""
        if self._own is None:
            return True
        try:
            self._own(place)
        except Undecided:
            return False
        return True

    def bound(self, time: Ball, state: Sequence[Ball]) -> float:
        """Over one box; infinite where an operation is not decided over all of it."""
        try:
            return self._bound(time, state)
        except Undecided:
            return math.inf

    def _bound(self, time: Ball, state: Sequence[Ball]) -> float:
        """Stages with errors, the new state with its error, and what that does to ψ."""
        step = (ball(self._step), ball(0))
        clock = self._clock
        x: list[Pair] = [(value, ball(0)) for value in state]
        stages: list[list[Pair]] = []
        for node, row in zip(self._scheme.nodes, self._scheme.stages, strict=True):
            place = _advanced(x, step, row, stages)
            stages.append(self._rates([(time + ball(node) * step[0], clock), *place, *self._parameters]))
        after = _advanced(x, step, self._scheme.weights, stages)
        wide = [*(v + e * symmetric(1.0) for v, e in ((time + step[0], clock), *after))]
        wide += [p for p, _ in self._parameters]
        if not self._steady(wide):
            return math.inf
        values = self._slopes(wide)
        flat = iter(values)
        moved = []
        for columns, leap in zip(self._places, self._leaps, strict=True):
            total = leap
            for j in columns:
                total = total + size(next(flat)) * (clock if j == 0 else after[j - 1][1])
            moved.append(total * symmetric(1.0))
        return norm(entries(self._factor * column(moved)))


def _advanced(x: list[Pair], step: Pair, weights: Sequence[Any], stages: list[list[Pair]]) -> list[Pair]:
    """x + step Σ b K with the rounding of a driver that adds the terms one by one, in any order."""
    used = [(rounded_constant(Fraction(b)), stage) for b, stage in zip(weights, stages, strict=False) if b]
    result = []
    for i, value in enumerate(x):
        total = value
        for weight, stage in used:
            total = rounded_sum(total, rounded_product(rounded_product(step, weight), stage[i]))
        moved = sum((size(weight[0]) * size(stage[i][0]) for weight, stage in used), ball(0)) * step[0]
        carried = total[1] + (len(used) + 2) * UNIT * moved
        result.append((total[0], carried))
    return result
