"""Rounding of one step, bounded over a box: what doubles add to the deviations beside the scheme.

The step is evaluated on the same graph in `rounded_balls`, with parameters as the inputs they are in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import JUMPING, ball, clipped_balls, continuous_balls, symmetric
from holdfast.graph.arithmetics.rounded_balls import (
    LARGEST,
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


def clock_error(begin: float, times: Iterable[float], step: float, scheme: RungeKutta) -> float:
    """What the time of a row or a stage may be wrong by, for steps between some times.

    A stage is no more than three roundings from the row where its step begins.
    """
    return row_error(begin, times, step * max(1.0, *(abs(float(node)) for node in scheme.nodes)))


def row_error(begin: float, times: Iterable[float], reach: float = 0.0) -> float:
    """What the time between two rows that follow each other may be off from the step, for rows between some times.

    t = begin + k step: the product is rounded, and the sum; so are they at the other end of the step. A run may begin
    at any of the times, too; `reach` goes beyond them.
    """
    ends = [begin, *map(float, times)]
    latest, covered = max(map(abs, ends)) + reach, max(ends) - min(ends) + reach
    return 2.01 * UNIT * (latest + covered)


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
        clock: float,
        leaps: Sequence[float] = (),
    ) -> None:
        """`clock` is what times may be wrong by, `leaps` what each deviation jumps by at most where its time passes a
        knot of data.
        """
        self._clock = ball(clock)
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

    def of_last_sum(self, time: Ball, state: Sequence[Ball]) -> float:
        """About what the last sum of a step and its clock add, over one box; infinite where that is not decided."""
        try:
            return self._moved(time, [(value, size(value) * UNIT) for value in state])
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
        return self._moved(time + step[0], after)

    def _moved(self, time: Ball, after: Sequence[Pair]) -> float:
        """‖Lᵀ(error of ψ)‖ at states with errors, and a time with that of the clock."""
        wide = [*(v + e * symmetric(1.0) for v, e in ((time, self._clock), *after))]
        wide += [p for p, _ in self._parameters]
        if not self._steady(wide):
            return math.inf
        flat = iter(self._slopes(wide))
        moved = []
        for columns, leap in zip(self._places, self._leaps, strict=True):
            total = leap
            for j in columns:
                total = total + size(next(flat)) * (self._clock if j == 0 else after[j - 1][1])
            moved.append(total * symmetric(1.0))
        return norm(entries(self._factor * column(moved)))


def _advanced(x: list[Pair], step: Pair, weights: Sequence[Any], stages: list[list[Pair]]) -> list[Pair]:
    """x + step Σ b K with the rounding of a driver: the terms are summed in any order, times the step, and x is last.

    A product that is fused with a sum rounds less.
    """
    used = [(rounded_constant(Fraction(b)), stage) for b, stage in zip(weights, stages, strict=False) if b]
    return [rounded_sum(value, rounded_product(step, _total(used, i))) if used else value for i, value in enumerate(x)]


def _total(used: Sequence[tuple[Pair, list[Pair]]], i: int) -> Pair:
    """Σ b K of one state: n terms take n - 1 sums, each of some of them, and the n-th is for products of errors."""
    terms = [rounded_product(weight, stage[i]) for weight, stage in used]
    most = sum((size(value) + error for value, error in terms), ball(0))
    carried = sum((error for _, error in terms), len(terms) * UNIT * most)
    return sum((value for value, _ in terms), ball(0)), carried if most < LARGEST else ball(math.inf)
