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
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.refinement import Refinement
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
        tape, flow = self._tape, self.flow
        entries, right, direct = taken.system(moment, place)
        solved: list[Value]
        if flow.refinement is not None and entries:
            solved, computed = self._in_passes(flow.refinement, entries, right, [moment, *place])
        else:
            unknowns, computed = self._code([moment, *place])
            errors = self._left(entries, unknowns, len(right)) if entries else []
            solved = [*tape.solve(entries, right, errors)] if entries else []
        found: Rates = {i: tape.more(tape.number(x), computed[i]) for i, x in direct.items()}
        tape.forget_symbols()
        return taken.solved(solved, found)

    def _in_passes(
        self, refinement: Refinement, entries: Mapping[tuple[int, int], Value], right: Sequence[Value],
        place: Sequence[Value],
    ) -> tuple[list[Value], list[int]]:  # fmt: skip
        """Unknowns and rates where a system is solved in passes: each from what the one before has computed.

        A pass is exact in what it is given but for the errors of its own operations, which are added to its results:
        enclosures of all passes at once would multiply the errors of each by the weights of the next.
        """
        tape = self._tape
        solved: list[Value] = []
        computed: list[int] = []
        for k, nodes in enumerate(refinement.passes):
            known = dict(zip(refinement.passes[k - 1], self._wide(solved), strict=True)) if k else {}
            tape.forget_symbols()
            unknowns, computed = self._code(place, nodes, known)
            exact = refinement.solved_once(tape, entries, right, solved)
            solved = [tape.more(x, own) for x, own in zip(exact, unknowns, strict=True)]
        return solved, computed

    def _wide(self, values: Sequence[Value]) -> list[int]:
        """The values of the computed step, without residuals and taken for exact."""
        return [self._tape.wide(self._tape.plain(x)) for x in values]

    def _code(
        self, place: Sequence[Value], wanted: Sequence[Node] | None = None, known: Mapping[Node, Value] | None = None
    ) -> tuple[list[int], list[int]]:
        """Unknowns (those of the system, or others) and rates as they are computed at a place, from what is known."""
        flow, tape = self.flow, self._tape
        moment, *state = self._wide(place)
        at = dict(zip(flow.variables, state, strict=True))
        before = known or {}
        inputs = flow.code_inputs[1 : len(flow.code_inputs) - len(flow.parameters)]
        with self._carried(self._own):
            numbers = [tape.number(Fraction(value)) for value in flow.parameters]
            values: list[Value] = [moment, *(at.get(node, Fraction(0)) for node in inputs), *numbers]
            wanted = wanted or (flow.code_unknowns if flow.unknowns else ())
            given, start = (*flow.code_inputs, *before), [*values, *before.values()]
            found = [tape.number(x) for x in tape.graph(given, start, (*wanted, *self._direct))]
        return found[: len(wanted)], found[len(wanted) :]

    @property
    def _direct(self) -> list[Node]:
        """The rates, nothing in the place of those that a system gives."""
        zero = self.flow.time.graph.zero
        return [zero if i in self.flow.unknowns else rate for i, rate in enumerate(self.flow.code_rates)]

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

    def errors(self, cells: np.ndarray) -> np.ndarray:
        """Of each deviation after a step, at most [cell, deviation]; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            found = self.tape(cells).rounding[:, : len(self.flow.psi)] * (1 + 1e-12)
        return np.where(np.isfinite(found), found, np.inf)

    def bounds(self, cells: np.ndarray, factors: Sequence[Factor]) -> np.ndarray:
        """At most, for each cell and block; `cells` as the tape takes them."""
        with np.errstate(all="ignore"):
            errors = self.tape(cells).rounding[:, : len(self.flow.psi)]
            turned = [np.linalg.norm(errors[:, list(places)] @ np.abs(factor), axis=1) for places, factor in factors]
        bounds = np.array(turned).T * (1 + 1e-12)
        return np.where(np.isfinite(bounds), bounds, np.inf)
