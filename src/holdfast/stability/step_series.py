"""One step of a scheme over a cell: the Taylor coefficients of the deviations in the step's length.

The start is given in Taylor forms (`holdfast.graph.taylor`), whose terms become power series of balls in the length of
the step. No mathematics per scheme or model is needed: the graph is evaluated in this arithmetic, stage by stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from holdfast.graph.balls import ball
from holdfast.graph.evaluate import Evaluator, Tape
from holdfast.graph.taylor import Form, taylor_forms
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Motion
from holdfast.stability.enclosure import Ball

Coefficients = Callable[[int], list[Form]]


class StepSeries:
    """Takes steps of a scheme on a motion, with τ = moment + s as a series in s."""

    def __init__(self, motion: Motion, scheme: RungeKutta) -> None:
        self.motion, self.scheme = motion, scheme
        self._law = [[(j, ball(float(entry))) for j, entry in enumerate(row) if entry] for row in motion.matrix]
        self._nodes = [ball(node) for node in scheme.nodes]
        self._rows = [_weights(row) for row in scheme.stages]
        self._weights = _weights(scheme.weights)

    def _evaluator(self, nodes: Sequence[Any]) -> Evaluator:
        return Tape((self.motion.time, *self.motion.state), tuple(nodes)).compiled(taylor_forms())

    @cached_property
    def _rates(self) -> Evaluator:
        return self._evaluator(self.motion.moving)

    @cached_property
    def _psi(self) -> Evaluator:
        return self._evaluator(self.motion.psi)

    def defect(self, place: Sequence[Any], moment: Ball) -> Coefficients:
        """The coefficients of ψ(Φ_τ(x)) − R(τH)ψ(x), from time and state (an affine motion needs the time only)."""
        import flint

        time, *state = place
        if self.motion.affine:
            state = self._on_program(time)
        tau = flint.arb_series([moment, 1])
        stages: list[list[Any]] = []
        for node, row in zip(self._nodes, self._rows, strict=True):
            stages.append(self._rates([time + node * tau, *combined(state, tau, row, stages)]))
        after = self._psi([time + tau, *combined(state, tau, self._weights, stages)])
        before = self._psi([time, *state])

        def of_degree(degree: int) -> list[Form]:
            found = [_coefficient(form, degree) for form in after]
            linear = self._linear_part(tau, before, degree)
            return [a - b for a, b in zip(found, linear, strict=True)]

        return of_degree

    def _on_program(self, time: Any) -> list[Any]:
        """The reduced state with zero deviation: Y = e(t), W = e'(t)."""
        return [-value for value in self._psi([time, *[ball(0)] * len(self.motion.state)])]

    def _linear_part(self, tau: Any, psi: list[Any], degree: int) -> list[Any]:
        """The same coefficient of R(τH)ψ; only a scheme with more stages than its order has one."""
        total: list[Any] = [ball(0)] * len(psi)
        factors = self.scheme.stability.numerator
        if len(factors) <= degree:
            return total
        power = tau**0
        for factor in factors:
            share = _coefficient(power, degree) * ball(factor)
            total = [a + share * b for a, b in zip(total, psi, strict=True)]
            psi = [sum((entry * psi[j] for j, entry in row), ball(0)) for row in self._law]
            power = power * tau
        return total


def _coefficient(value: Any, degree: int) -> Any:
    """One coefficient in s of a form, of a series, or of what never became one."""
    import flint

    if isinstance(value, Form):
        return value.mapped(lambda term: _coefficient(term, degree))
    if isinstance(value, flint.arb_series):
        return value[degree]
    return value if degree == 0 else ball(0)


def _weights(row: Sequence[Any]) -> list[tuple[int, Ball]]:
    """The weights that are not zero, as balls, with their stages."""
    return [(k, ball(weight)) for k, weight in enumerate(row) if weight]


def combined(state: Sequence[Any], tau: Any, weights: list[tuple[int, Ball]], stages: list[list[Any]]) -> list[Any]:
    """x + τ Σ b_i K_i."""
    if not weights:
        return list(state)
    result = []
    for i, x in enumerate(state):
        total = None
        for k, weight in weights:
            term = stages[k][i] if weight == 1 else weight * stages[k][i]
            total = term if total is None else total + term
        result.append(x + tau * total)
    return result
