"""One step of a scheme over a cell: the Taylor coefficients of the deviations in the step's length.

The start is given in Taylor forms (`holdfast.graph.arithmetics.taylor`), whose terms become power series of balls in
the length of the step. No mathematics per scheme or model is needed: the graph is evaluated in this arithmetic, stage
by stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from math import factorial
from typing import Any

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.balls import ball
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.arithmetics.taylor import Form, taylor_forms
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.enclosure import Ball

Coefficients = Callable[[int], list[Form]]


class StepSeries:
    """Takes steps of a scheme on a motion, with τ = moment + s as a series in s."""

    def __init__(self, motion: BlockFlow, scheme: RungeKutta, arithmetic: Arithmetic | None = None) -> None:
        """In Taylor forms, or in an arithmetic that knows no more than the places have."""
        self.motion, self.scheme = motion, scheme
        self._arithmetic = taylor_forms() if arithmetic is None else arithmetic
        self._law = [[(j, ball(float(entry))) for j, entry in enumerate(row) if entry] for row in motion.matrix]
        self._nodes = [ball(node) for node in scheme.nodes]
        self._rows = [_weights(row) for row in scheme.stages]
        self._weights = _weights(scheme.weights)
        self._terms = [self._evaluator(row) for row in motion.law_terms[: scheme.order]]

    def _evaluator(self, nodes: Sequence[Any]) -> Evaluator:
        return Tape((self.motion.time, *self.motion.state), tuple(nodes)).compiled(self._arithmetic)

    @cached_property
    def _rates(self) -> Evaluator:
        return self._evaluator(self.motion.moving)

    @cached_property
    def _psi(self) -> Evaluator:
        return self._evaluator(self.motion.psi)

    def step(self, place: Sequence[Any], moment: Ball) -> tuple[list[Any], list[Any], Any]:
        """Time and state before and after a step of the length τ, and τ (an affine motion needs the time only)."""
        import flint

        time, *state = place
        if self.motion.affine:
            state = self._on_program(time)
        tau = flint.arb_series([moment, 1])
        stages: list[list[Any]] = []
        for node, row in zip(self._nodes, self._rows, strict=True):
            stages.append(self._rates([time + node * tau, *combined(state, tau, row, stages)]))
        return [time, *state], [time + tau, *combined(state, tau, self._weights, stages)], tau

    def defect(self, place: Sequence[Any], moment: Ball) -> Coefficients:
        """The coefficients of ψ(Φ_τ(x)) − R(τH)ψ(x), from time and state."""
        return self.between(*self.step(place, moment))

    def between(self, start: Sequence[Any], end: Sequence[Any], tau: Any) -> Coefficients:
        """The coefficients of ψ(end) − R(τH)ψ(start)."""
        after, before = self._psi(end), self._psi(start)
        linear: list[tuple[Any, list[Any]]] = []

        def of_degree(degree: int) -> list[Form]:
            found = [coefficient(form, degree) for form in after]
            if self._terms:
                return found if degree > len(self._terms) or not degree else self._beyond_law(degree, found, start)
            if degree > self.scheme.order:
                return found  # beyond what is taken of R
            if not linear:
                linear.extend(self._linear_terms(tau, before))
            for power, term in linear:
                share = coefficient(power, degree)
                if not share.is_zero():
                    found = [a - share * b for a, b in zip(found, term, strict=True)]
            return found

        return of_degree

    def _beyond_law(self, degree: int, found: list[Any], start: Sequence[Any]) -> list[Any]:
        """A coefficient of ψ(end) less F_k(ψ, x, t)/k!, which the law itself asks for."""
        share = ball(Fraction(1, factorial(degree)))
        return [a - share * b for a, b in zip(found, self._terms[degree - 1](start), strict=True)]

    def _on_program(self, time: Any) -> list[Any]:
        """The reduced state with zero deviation: Y = e(t), W = e'(t)."""
        return [-value for value in self._psi([time, *[ball(0)] * len(self.motion.state)])]

    def _linear_terms(self, tau: Any, psi: list[Any]) -> list[tuple[Any, list[Any]]]:
        """R(τH)ψ as powers of τ, each with what it multiplies: r_k Hᵏ ψ."""
        terms, power = [], tau**0
        for factor in self.scheme.stability.numerator[: self.scheme.order + 1]:
            terms.append((power * ball(factor), psi))
            psi = [sum((entry * psi[j] for j, entry in row), ball(0)) for row in self._law]
            power = power * tau
        return terms


def coefficient(value: Any, degree: int) -> Any:
    """One coefficient in s of a form, of a series, or of what never became one."""
    import flint

    if isinstance(value, Form):
        return value.mapped(lambda term: coefficient(term, degree))
    if isinstance(value, flint.arb_series):
        if degree >= value.prec:  # a quotient at a pole loses terms, and flint reads those as 0
            raise Undecided(f"a series is not known to degree {degree} over this box", fix="bisect the box")
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
