"""Gains of laws above order two: one rate, the root of each constraint as often as its order.

    (d/dt + rate)ⁿ y = 0        cₖ = C(n, k) rateⁿ⁻ᵏ

A damping ratio has no meaning there, so that the rate alone is chosen, by the same measurements and limits as for order
two (`tune`): the least deviation at no more than twice the errors without gains.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy.special import gammainccinv

from holdfast.equations.equations import Equations
from holdfast.graph.derivatives import jacobian
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.problem.laws.linear import CriticallyDamped, Unstabilised
from holdfast.stability.sampling import Batch
from holdfast.stability.tuning.trials import LOOKED_AT, MeasuredGains, Trials, watched_field

BROUGHT_BACK = 11 * np.exp(-10.0)  # of a deviation is left within half the run, as of order two at 20/duration


class ChainTrials(Trials):
    """Critically damped laws of the orders that the constraints have; a rate stands where others have a damping."""

    no_gains = Unstabilised()

    @property
    def orders(self) -> tuple[int, ...]:
        """Of the law of each constraint."""
        return tuple(self.equations.degrees[name] for name in self.constraints)

    @property
    def with_ratios(self) -> bool:
        return False

    def watch(self, equations: Equations) -> Field:
        """The first deviation of each constraint, then the energy."""
        return watched_field(equations, _firsts(equations))

    def _scales(self) -> tuple[dict[str, float], np.ndarray]:
        """sigma of each constraint: what its first deviation would change by if all that moves moved by its size."""
        equations, reference = self.equations, self.reference
        inputs, zero = equations.inputs, equations.inputs.graph.zero
        moving = (*inputs.q, *inputs.v)
        rows = jacobian(_firsts(equations), moving)
        parameters = dict(zip(equations.parameter_names, self.constants.tolist(), strict=True))
        slopes = Batch.of(equations, [row.get(j, zero) for row in rows for j in range(len(moving))], parameters)
        looked = np.unique(np.linspace(0, len(reference.times) - 1, LOOKED_AT).astype(int))
        values = np.abs(slopes(reference.times[looked], reference.states[looked]))
        sigma = (values.reshape(len(looked), len(rows), -1) @ reference.sizes[: len(moving)]).max(axis=0)
        named = {name: float(s) or 1.0 for name, s in zip(self.constraints, sigma, strict=True)}
        return named, np.zeros(0)

    def gains(self, rates: Any, ratios: Any) -> tuple[np.ndarray, np.ndarray]:
        """Nothing, and the rate of each constraint."""
        rate = np.asarray(rates, float).reshape(len(rates), -1)
        wide = np.broadcast_to(rate, (len(rate), len(self.constraints))).copy()
        return np.zeros_like(wide), wide

    def measure_gains(self, stiffness: np.ndarray, damping: np.ndarray) -> MeasuredGains:
        """The three numbers for each row of rates, which stand in the place of `damping`."""
        names = list(self.equations.parameter_names)
        constants = np.tile(self.constants, (len(damping), 1))
        for j, (name, order) in enumerate(zip(self.constraints, self.orders, strict=True)):
            for k, gain in enumerate(self._gain_names(name, order)):
                constants[:, names.index(gain)] = comb(order, k) * damping[:, j] ** (order - k)
        return self._measure(self.kernel, constants)

    def _gain_names(self, name: str, order: int) -> tuple[str, ...]:
        """The gains of a constraint, that of its first deviation first; of the usual orders in their own words."""
        if name in self.equations.deviations.degrees:
            return tuple(f"law.c{k}.{name}" for k in range(order))
        return (f"law.stiffness.{name}", f"law.damping.{name}")[2 - order :]

    def law(self, stiffness: np.ndarray, damping: np.ndarray) -> CriticallyDamped:
        """One rate for all where they agree, else by constraint."""
        rates = damping.tolist()
        return CriticallyDamped(rates[0] if len(set(rates)) == 1 else dict(zip(self.constraints, rates, strict=True)))

    @property
    def must_attract(self) -> bool:
        return self.deviates  # the drift of a program that controls hold says little of what brings it back

    @property
    def attracting_rate(self) -> float:
        """A rate that brings a start off the program back within half the run, whatever the order."""
        return 2 * float(gammainccinv(max(self.orders), BROUGHT_BACK)) / self.request.duration


def _firsts(equations: Equations) -> list[Node]:
    """The first deviation of each constraint: y where it has one, else w."""
    named = dict(zip(equations.deviation_names, (*equations.deviations.y, *equations.deviations.w), strict=True))
    return [named[f"y_{name}"] if f"y_{name}" in named else named[f"w_{name}"] for name in equations.constraints]
