"""What rounding adds to the deviations in one step, over cells of the whole state; and whether the code that is run
computes what the problem asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.dag import inputs_of, ordered
from holdfast.stability.verifier.numbers.evaluate import Forms, ball_values
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form, Space, space
from holdfast.stability.verifier.reading.code import Code, Rounded, advanced, constant
from holdfast.stability.verifier.reading.equations import KINKS, Equations
from holdfast.stability.verifier.refusal import Refused, require
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.cells import Cells
from holdfast.stability.verifier.steps.friction import UNKNOWN, newton_in_balls
from holdfast.stability.verifier.steps.unknowns import System

BITS = 200
TINY = 2.0**-40  # of the largest term: what a difference that should vanish may leave


class RoundingModel:
    """Bounds ‖Lᵀ(error of ψ)‖ for one step of the code."""

    def __init__(
        self, equations: Equations, code: Code, names: Sequence[str], tableau: Tableau, step: float,
        factor: list[list[float]], numbers: Mapping[str, float], clock: float, jumps: Sequence[float] = (),
    ) -> None:  # fmt: skip
        """`jumps`: what each deviation may jump by where the clock rounds, at a knot of data."""
        self.equations, self.code, self.tableau, self.step = equations, code, tableau, step
        self._clock = clock
        self._factor, self._numbers, self._jumps = np.array(factor), numbers, jumps or [0.0] * len(names)
        inputs = [equations.dag.input(name) for name in equations.inputs]
        self._slopes = equations.dag.partials([equations.psi[name] for name in names], inputs)

    def bounds(self, cells: Cells) -> Array:
        return self.normed(self.after(cells))

    def _space(self, cells: Cells) -> Space:
        return space((1,) * cells.basis.shape[2], 1, 1)

    def after(self, cells: Cells) -> tuple[Forms, list[Array]]:
        """The states that a step may reach, as computed, and the error of each: the same for all blocks."""
        with np.errstate(all="ignore"):
            return self._after(cells)

    def _after(self, cells: Cells) -> tuple[Forms, list[Array]]:
        chosen = self._space(cells)
        values = cells.values(chosen)
        moment, count = values["t"], len(cells)
        clock = np.full(count, self._clock)
        fixed = {name: constant(Fraction(value), moment) for name, value in self._numbers.items()}
        names = self.equations.inputs[1:]
        state = [Rounded(values[name], np.zeros(count)) for name in names]
        step, stages = constant(Fraction(self.step), moment), list[list[Rounded]]()
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            place = advanced(state, step, row, stages)
            at = Rounded(moment.shifted(np.full(count, float(node) * self.step), 1e-15 * self.step), clock)
            stages.append(self.code.rounded({"t": at, **dict(zip(names, place, strict=True)), **fixed}))
        after = advanced(state, step, self.tableau.weights, stages)
        errors = [clock, *(x.error for x in after)]
        wide = {"t": moment.shifted(np.full(count, self.step), self._clock + 1e-15 * self.step)}
        for name, x in zip(names, after, strict=True):
            wide[name] = Form(chosen, x.form.c, x.form.r + x.error[:, None])
        return Forms(chosen, count, wide), errors

    def normed(self, reached: tuple[Forms, list[Array]]) -> Array:
        """‖Lᵀ(error of ψ)‖ by the slopes of the deviations where a step ends."""
        forms, errors = reached
        moved = []
        with np.errstate(all="ignore"):
            for slopes, jump in zip(self._slopes, self._jumps, strict=True):
                sizes = [form.bound()[:, 0] for form in forms.of(slopes)]
                parts = zip(sizes, errors, strict=True)
                moved.append(sum((np.where(size > 0, size * error, 0.0) for size, error in parts), jump))
            turned = np.abs(self._factor.T) @ np.array(moved)
            bounds: Array = np.sqrt((turned**2).sum(axis=0)) * GROWTH
        return np.where(np.isnan(bounds), np.inf, bounds)


class Agreement:
    """Whether the code computes accelerations that satisfy the problem's own equations, at points of the region."""

    bits = BITS

    def __init__(self, equations: Equations, code: Code, numbers: Mapping[str, float]) -> None:
        require(code.inputs[: len(equations.inputs)] == tuple(equations.inputs), "the code is of another state")
        require(set(code.inputs[len(equations.inputs) :]) == set(numbers), "the code has other parameters")
        require(len(code.rates) == len(equations.inputs) - 1, "the code does not give a rate for each state")
        self.equations, self.code, self.numbers = equations, code, numbers
        self.system = System(equations)
        nodes = [node for row in self.system.matrix for node in row] + self.system.right
        own = any(node.op in KINKS for node in ordered(nodes)) or not self.system.known_rows
        branches = {str(op) for op, *_ in code.operations} & (KINKS | {"select"})
        require(own or not branches, "the code that is run branches where the problem does not")

    def check(self, point: Sequence[float]) -> bool:
        """Refuse where they differ; False where the equations are not defined."""
        import flint

        before, flint.ctx.prec = flint.ctx.prec, self.bits
        try:
            return self._checked([flint.arb(float(x)) for x in point], flint)
        except ZeroDivisionError:
            return False
        finally:
            flint.ctx.prec = before

    def _checked(self, point: list[Any], flint: Any) -> bool:
        equations, system = self.equations, self.system
        n, stated = system.count, equations.stated
        values = dict(zip(equations.inputs, point, strict=True))
        rates = self.code.balls(values | {name: flint.arb(value) for name, value in self.numbers.items()})
        if not all(rate.is_finite() for rate in rates):
            return False
        accelerations = rates[n : 2 * n]
        first = 0 if system.known_rows else n
        flat = [node for row in system.matrix[first:] for node in row] + system.right[first:]
        values |= self._reactions(values, flint)
        found = ball_values(flat, values)
        width = len(system.matrix[0])
        rows = [found[i * width : (i + 1) * width] for i in range(len(system.matrix) - first)]
        right = found[len(rows) * width :]
        if not all(x.is_finite() for x in found):
            return False
        noise = 2.0**-60 * max(float(x.abs_upper()) for x in (*found, *rates, *point))  # beside which 0 is 0
        for k, name in enumerate(stated.coordinates):
            _vanishes([rates[k], -values[f"{name}_dot"]], noise, f"the code moves {name} not by its rate")
        for i, name in enumerate(stated.constraints):
            row, b = rows[n - first + i], right[n - first + i]
            terms = [a * x for a, x in zip(row[:n], accelerations, strict=True)]
            _vanishes([*terms, -b], noise, f"the code that is run does not ask of {name!r} what the law asks")
        if system.known_rows:
            solution = flint.arb_mat(rows).solve(flint.arb_mat([[b] for b in right]))
            for k, name in enumerate(stated.coordinates):
                why = f"the code that is run gives {name} another acceleration than the problem"
                _vanishes([accelerations[k], -solution[k, 0]], noise, why)
            first = n + len(stated.constraints) - len(stated.controls)
            values |= {f"control {name}": solution[first + k, 0] for k, name in enumerate(stated.controls)}
        self._states(values, rates[2 * n :], noise)
        return True

    def _reactions(self, values: Mapping[str, Any], flint: Any) -> dict[str, Any]:
        """The unknowns that forces use, as the code finds them."""
        if not self.system.slopes:
            return {}
        found = newton_in_balls(self.system, values, flint)
        return {f"{UNKNOWN}{j}": found[j, 0] for j in range(len(self.system.right))}

    def _states(self, values: Mapping[str, Any], rates: Sequence[Any], noise: float) -> None:
        for (name, node), rate in zip(self.equations.state_rates.items(), rates, strict=True):
            if inputs_of([node]) <= set(values):  # among variable masses controls are not known here
                own = ball_values([node], values)[0]
                _vanishes([rate, -own], noise, f"the code moves the state {name} otherwise")


def _vanishes(terms: Sequence[Any], noise: float, otherwise: str) -> None:
    """The sum contains 0, and is tiny beside its largest term, or beside a part of all there is."""
    total = sum(terms[1:], terms[0])
    largest = max(noise, *(float(term.abs_upper()) for term in terms))
    if not (total.contains(0) and float(total.rad()) <= TINY * largest):
        raise Refused(otherwise)
