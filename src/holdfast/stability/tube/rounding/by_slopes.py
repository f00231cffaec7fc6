"""What doubles add to the deviations in one step, each rounding by its slope: signs are kept to the end.

    ψ̂ − ψ = Σ_j v̄_j η_j,      |η_j| ≤ unit_j |v_j|

for the operations of all stages and of the driver, with v̄_j the slope of Lᵀψ after the step by the j-th result, over
all that the results may be (docs/theory/8-tube.md, 8.6).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.rounded_balls import UNDERFLOW
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.rounding.computed import ComputedStep, driver_units
from holdfast.stability.tube.rounding.slopes import Slopes, Sweep, tallied
from holdfast.stability.tube.rounding.tape import Factor

NOTHING = Fraction(0)


class RoundingSlopes:
    """Bounds ‖Lᵀ(error of ψ)‖ for one step as it is run, by slopes through all of its operations.

    Where the results may lie is found forwards, by errors added up: that these are far too many matters little there.
    """

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, step: float, monomials: CellMonomials, factors: Sequence[Factor],
        clock: float, *, varying: bool = False,
    ) -> None:  # fmt: skip
        """`clock` is what the time of a stage may be wrong by, which the inputs say, too. With `varying`, the length of
        the step is the first input, at most `step`.
        """
        if flow.refinement is not None:
            raise BadRequest("slopes are not followed through passes")
        self.flow, self.scheme, self._clock, self._factors = flow, scheme, clock, factors
        self._longest, self._tape = Fraction(step), Recorder(1, monomials)
        self._count = sum(factor.shape[1] for _, factor in factors)
        self._taken = ComputedStep(flow, scheme, step, self._tape, varying=varying)
        self._rates = [self._taken.wide(stage) for stage in self._taken.stages]
        self.tape = FormTape(self._tape, self._back())

    def bounds(self, cells: np.ndarray) -> np.ndarray:
        """At most, for each cell and block; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            moved = self.tape(cells).rounding
            cuts = np.cumsum([factor.shape[1] for _, factor in self._factors])[:-1]
            norms = [np.linalg.norm(own, axis=1) for own in np.split(moved, cuts, axis=1)]
            bounds = np.array(norms).T * (1 + 1e-12) + UNDERFLOW
        return np.where(np.isfinite(bounds), bounds, np.inf)

    def _back(self) -> list[int]:
        """How far each component of Lᵀψ is moved: from the end of the step back to its first stage."""
        tape, taken, weights, rows = self._tape, self._taken, self.scheme.weights, self.scheme.stages
        end = taken.wide([taken.end, *taken.after])
        tape.rounds = 0
        totals = [tape.number(NOTHING)] * self._count
        last = self._of_psi(end)
        totals = self._driven(totals, last, weights)
        at: dict[int, list[Slopes]] = {}
        for i in reversed(range(len(rows))):
            used = [(Fraction(weights[i]), last), *((Fraction(rows[j][i]), at[j]) for j in at)]
            tau = self._taken.tau
            seeds = self._weighted([(tape.mul(tau, weight), slopes) for weight, slopes in used if weight])
            sweep = Sweep(tape, self.flow.code_rates, taken.results[i], self._ends, rounded=True)
            at[i], totals = sweep.back(seeds, totals)
            totals = self._driven(totals, at[i], rows[i][:i])
        return totals

    @property
    def _ends(self) -> tuple[Node, ...]:
        return (self.flow.code_inputs[0], *self.flow.variables)

    def _of_psi(self, end: Sequence[int]) -> list[Slopes]:
        """Lᵀ ∂ψ/∂(t, x) after the step."""
        tape, flow = self._tape, self.flow
        seeds: list[Slopes] = [[NOTHING] * self._count for _ in flow.psi]
        first = 0
        for places, factor in self._factors:
            for place, row in zip(places, factor.tolist(), strict=True):
                seeds[place][first : first + len(row)] = map(Fraction, row)
            first += factor.shape[1]
        known = tape.whole_graph(flow.inputs, end, flow.psi)
        return Sweep(tape, flow.psi, known, flow.inputs, rounded=False).back(seeds, [])[0]

    def _weighted(self, chosen: Sequence[tuple[Value, list[Slopes]]]) -> list[Slopes]:
        """Σ w g of each state: the slopes by its rate."""
        tape = self._tape
        found: list[Slopes] = [[NOTHING] * self._count for _ in self.flow.variables]
        for weight, slopes in chosen:
            for total, own in zip(found, slopes[1:], strict=True):
                total[:] = [tape.add(a, tape.mul(b, weight)) for a, b in zip(total, own, strict=True)]
        return found

    def _driven(self, totals: list[int], slopes: list[Slopes], weights: Sequence[Fraction]) -> list[int]:
        """With what the driver's own sums and the clock add at a place."""
        tape, own, shares = self._tape, *driver_units(weights, self._longest)
        totals = tallied(tape, totals, slopes[0], tape.number(Fraction(1)), self._clock)
        if shares:
            for i, slope in enumerate(slopes[1:]):
                totals = tallied(tape, totals, slope, tape.number(self._taken.start[i]), own)
                for k, share in shares.items():
                    totals = tallied(tape, totals, slope, self._rates[k][i], share)
        return totals
