"""What doubles add to the deviations in one step, bounded over cells of a tube."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.evaluate import Forms, FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.rounding import OPERATION
from holdfast.engine.forms.tape import CARRIED, DIFFERENCE, RUNNING, SYMBOLS, Recorder, Value
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.step import Rates, Stages

Factor = tuple[Sequence[int], np.ndarray]


class RoundingTape:
    """Bounds ‖Lᵀ(error of ψ)‖ for one step as it is run.

    At each stage the code's own elimination is followed from the stage's state to the residual it leaves in the system
    (errors of all operations added up, which is quick, or `fine`, with a symbol for each); from there on the computed
    step is an exact one with other residuals, and differs as these do.
    """

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, step: float, monomials: CellMonomials, *, fine: bool = False,
        chosen: Sequence[list[int]] | None = None, varying: bool = False,
    ) -> None:  # fmt: skip
        """With `varying`, the length of the step is the first input, at most `step`."""
        self.flow, self.scheme = flow, scheme
        self._own = SYMBOLS if fine else RUNNING
        tape = self._tape = Recorder(1, monomials)
        tape.rounds = DIFFERENCE
        self._step = Fraction(step)
        tau: Value = tape.input([len(flow.variables) + 1]) if varying else self._step
        taken = Stages(flow, scheme, tape, tau, chosen)
        stages: list[list[Value]] = []
        for node, row in zip(scheme.nodes, scheme.stages, strict=True):
            place = self._advanced(taken, row, stages)
            stages.append(self._rates(taken, taken.moment(node), place))
        after = self._advanced(taken, scheme.weights, stages)
        psi = tape.graph(flow.inputs, [taken.moment(Fraction(1)), *after], flow.psi)
        self.tape = FormTape(tape, [tape.number(x) for x in (*psi, *after)])

    @contextmanager
    def _carried(self, how: int) -> Iterator[None]:
        """Within, rounding is carried in another way."""
        before, self._tape.rounds = self._tape.rounds, how
        yield
        self._tape.rounds = before

    def _rates(self, taken: Stages, moment: Value, place: Sequence[Value]) -> list[Value]:
        """The rates of a stage, as wrong as the code computes them."""
        tape = self._tape
        entries, right, direct = taken.system(moment, place)
        unknowns, computed = self._code([moment, *place])
        errors = self._left(entries, unknowns, len(right)) if entries else []
        solved: list[Value] = [*tape.solve(entries, right, errors)] if entries else []
        found: Rates = {i: tape.more(tape.number(x), computed[i]) for i, x in direct.items()}
        tape.forget_symbols()
        return taken.solved(solved, found)

    def _wide(self, values: Sequence[Value]) -> list[int]:
        """The values of the computed step, without residuals and taken for exact."""
        return [self._tape.wide(self._tape.plain(x)) for x in values]

    def _code(self, place: Sequence[Value]) -> tuple[list[int], list[int]]:
        """Unknowns and rates as they are computed at a place."""
        flow, tape = self.flow, self._tape
        moment, *state = self._wide(place)
        known = dict(zip(flow.variables, state, strict=True))
        inputs = flow.code_inputs[1 : len(flow.code_inputs) - len(flow.parameters)]
        with self._carried(self._own):
            numbers = [tape.number(Fraction(value)) for value in flow.parameters]
            values: list[Value] = [moment, *(known.get(node, Fraction(0)) for node in inputs), *numbers]
            wanted = flow.code_unknowns if flow.unknowns else ()
            found = [tape.number(x) for x in tape.graph(flow.code_inputs, values, (*wanted, *flow.code_rates))]
        return found[: len(wanted)], found[len(wanted) :]

    def _left(self, entries: Mapping[tuple[int, int], Value], unknowns: Sequence[int], size: int) -> list[int]:
        """The residual that computed unknowns leave: A times their errors, as the error of A times themselves."""
        tape = self._tape
        rows: list[Value] = [Fraction(0)] * size
        for (i, j), entry in zip(entries, self._wide(list(entries.values())), strict=True):
            with self._carried(CARRIED):
                rows[i] = tape.add(rows[i], tape.mul(entry, unknowns[j]))
        return [tape.number(row) for row in rows]

    def _advanced(self, taken: Stages, weights: Sequence[Fraction], stages: Sequence[list[Value]]) -> list[Value]:
        """x + step Σ b K with the rounding of a driver that adds the terms one by one, in any order.

        With n terms, each has at most 3 roundings, and each of n sums one of a partial sum; the other half is for the
        products of errors, and for a driver that sums the terms before it multiplies by the step.
        """
        tape, used = self._tape, [(Fraction(b), stage) for b, stage in zip(weights, stages, strict=False) if b]
        result: list[Value] = []
        for i, x in enumerate(taken.advanced(weights, stages) if used else taken.state):
            value = tape.number(x)
            if used:
                value = tape.slack(value, tape.number(taken.state[i]), 2 * len(used) * OPERATION)
            for b, stage in used:
                share = float(abs(b) * self._step) * (1 + OPERATION)
                value = tape.slack(value, tape.number(stage[i]), (2 * len(used) + 8) * OPERATION * share)
            result.append(value)
        return result

    def step(self, cells: np.ndarray) -> Forms:
        """The state after a step: its polynomials and remainders over cells, and the rounding of each component."""
        found, count = self.tape(cells), len(self.flow.psi)
        return Forms(found.polynomials[:, count:], found.remainders[:, count:], found.rounding[:, count:])

    def bounds(self, cells: np.ndarray, factors: Sequence[Factor]) -> np.ndarray:
        """At most, for each cell and block; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            errors = self.tape(cells).rounding[:, : len(self.flow.psi)]
            turned = [np.linalg.norm(errors[:, list(places)] @ np.abs(factor), axis=1) for places, factor in factors]
        bounds = np.array(turned).T * (1 + 1e-12)
        return np.where(np.isfinite(bounds), bounds, np.inf)
