"""Steps from single states in balls, where rows that may repeat each other are met in passes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.numbers.forms import GROWTH, Array
from holdfast.stability.verifier.order.repeated import Balls, BallSystem, RepeatedEquations
from holdfast.stability.verifier.refusal import Unconfirmed
from holdfast.stability.verifier.schemes import Tableau

BITS = 192  # five passes with weights of 2²⁰ lose a hundred of them at most


class CentreSteps:
    """ψ before and after one step of the scheme, without rounding."""

    def __init__(self, equations: RepeatedEquations, names: Sequence[str], tableau: Tableau, step: float) -> None:
        self.equations, self.tableau, self.step = equations, tableau, step
        matrix, right = equations.rows
        self._psi = [equations.psi[name] for name in names]
        self._others = list(equations.state_rates.values())
        self._nodes = [*(node for row in matrix for node in row), *right, *self._others]

    def deviations(self, centres: Array) -> tuple[Array, Array, Array, Array]:
        """Before, and how far that may be off; after, and as much: (states, deviations) each."""
        import flint

        prec, flint.ctx.prec = flint.ctx.prec, BITS
        try:
            found = [self._both([flint.arb(x) for x in row], flint) for row in centres.tolist()]
            near = np.array([[[float(x.mid()) for x in psi] for psi in both] for both in found])
            pairs = zip((x for both in found for psi in both for x in psi), near.ravel().tolist(), strict=True)
            off = np.array([float((x - y).abs_upper()) for x, y in pairs]).reshape(near.shape) * GROWTH
        finally:
            flint.ctx.prec = prec
        return near[:, 0], off[:, 0], near[:, 1], off[:, 1]

    def _both(self, begin: Balls, flint: Any) -> tuple[Balls, Balls]:
        tau, rates = flint.arb(self.step), list[Balls]()
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            rates.append(self._rates(self._moved(begin, node, row, rates, tau, flint), flint))
        after = self._moved(begin, Fraction(1), self.tableau.weights, rates, tau, flint)
        return self._deviations(begin), self._deviations(after)

    def _deviations(self, place: Balls) -> Balls:
        return ball_values(self._psi, dict(zip(self.equations.inputs, place, strict=True)))

    def _rates(self, place: Balls, flint: Any) -> Balls:
        n = len(self.equations.stated.coordinates)
        found = ball_values(self._nodes, dict(zip(self.equations.inputs, place, strict=True)))
        own, others = found[: len(found) - len(self._others)], found[len(found) - len(self._others) :]
        try:
            system = BallSystem(own, n, self.equations.weights, flint)
        except ZeroDivisionError:
            raise Unconfirmed("the system of a stage is singular, or nearly so") from None
        return [*place[1 + n : 1 + 2 * n], *system.passes(self.equations.passes)[-1][:n], *others]

    @staticmethod
    def _moved(
        begin: Balls, node: Fraction, weights: Sequence[Fraction], rates: Sequence[Balls], tau: Any, flint: Any
    ) -> Balls:
        def exact(value: Fraction) -> Any:
            return flint.arb(flint.fmpq(value.numerator, value.denominator))

        found = [begin[0] + exact(node) * tau, *begin[1:]]
        for weight, stage in zip(weights, rates, strict=False):
            if weight:
                share = exact(weight) * tau
                found = [found[0], *(x + share * rate for x, rate in zip(found[1:], stage, strict=True))]
        return found
