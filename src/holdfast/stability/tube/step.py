"""One step of an explicit scheme on a tape of forms: the defect's Taylor coefficient, and the rounding of the run.

    ψ(Φ_τ(x)) − R(τH) ψ(x) = c τ^(p+1),      c = the coefficient of s^(p+1) at τ = ξ + s,   ξ ∈ [0, step]

The variables of a cell are its time, the deviation of each state from the centre, and ξ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import Monomials
from holdfast.engine.forms.rounding import OPERATION
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.graph.derivatives import jacobian
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.flow import TubeFlow


def variables_of(flow: TubeFlow) -> list[list[int]]:
    """Which variables of a cell time and each state depend on: 0 is the time, 1 … n the states, n + 1 ξ."""
    return [[0] if flow.timed else [], *([0, 1 + i] for i in range(len(flow.variables)))]


class _Stages:
    """Takes the stages of a scheme on a tape."""

    def __init__(self, flow: TubeFlow, scheme: RungeKutta, tape: Recorder, tau: Value) -> None:
        self.flow, self.scheme, self.tape, self.tau = flow, scheme, tape, tau
        chosen = variables_of(flow)
        self.time = tape.input(chosen[0])
        self.state: list[Value] = [tape.input(found) for found in chosen[1:]]

    def advanced(self, weights: Sequence[Fraction], stages: Sequence[list[Value]]) -> list[Value]:
        """x + τ Σ b K."""
        used = [(Fraction(b), stage) for b, stage in zip(weights, stages, strict=False) if b]
        result = []
        for i, x in enumerate(self.state):
            total: Value = Fraction(0)
            for b, stage in used:
                total = self.tape.add(total, self.tape.mul(stage[i], b))
            result.append(self.tape.add(x, self.tape.mul(self.tau, total)))
        return result

    def moment(self, node: Fraction) -> Value:
        return self.tape.add(self.time, self.tape.mul(self.tau, Fraction(node)))

    def rates(self, moment: Value, place: Sequence[Value]) -> list[Value]:
        """The rates of the states, those behind the system by their residuals."""
        flow = self.flow
        direct = [i for i in range(len(flow.rates)) if i not in flow.unknowns]
        wanted = [*flow.entries.values(), *flow.right] if flow.unknowns else []
        found = self.tape.graph(flow.inputs, [moment, *place], [*wanted, *(flow.rates[i] for i in direct)])
        result: dict[int, Value] = dict(zip(direct, found[len(wanted) :], strict=True))
        if flow.unknowns:
            entries = dict(zip(flow.entries, found, strict=False))
            unknowns = self.tape.solve(entries, found[len(entries) : len(wanted)])
            result |= {i: unknowns[k] for i, k in flow.unknowns.items()}
        return [result[i] for i in range(len(flow.rates))]


def defect_tape(
    flow: TubeFlow, scheme: RungeKutta, blocks: Sequence[tuple[Sequence[int], np.ndarray]], monomials: Monomials
) -> FormTape:
    """ψ after a step, less R(τH)ψ beyond the scheme's order; its coefficient of s^(p+1) is the defect's.

    `blocks` are places of deviations with their H. The inputs of the tape are ξ + s, then time and state.
    """
    tape = Recorder(scheme.order + 2, monomials)
    tau = tape.input([len(flow.variables) + 1], 1)
    taken = _Stages(flow, scheme, tape, tau)
    stages: list[list[Value]] = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        stages.append(taken.rates(taken.moment(node), taken.advanced(row, stages)))
    after = taken.advanced(scheme.weights, stages)
    psi = tape.graph(flow.inputs, [taken.moment(Fraction(1)), *after], flow.psi)
    if len(scheme.stability.numerator) > scheme.order + 1:
        before = tape.graph(flow.inputs, [taken.time, *taken.state], flow.psi)
        for places, matrix in blocks:
            for i, beyond in zip(places, _beyond(tape, scheme, matrix, tau, [before[k] for k in places]), strict=True):
                psi[i] = tape.sub(psi[i], beyond)
    return FormTape(tape, [tape.number(value) for value in psi])


def _beyond(
    tape: Recorder, scheme: RungeKutta, matrix: np.ndarray, tau: Value, psi: Sequence[Value]
) -> list[Value]:
    """Σ r_k τᵏ Hᵏ ψ over the powers beyond the scheme's order: the others have no (p+1)-th derivative."""
    law = [[Fraction(float(x)) for x in row] for row in matrix]
    power = [[Fraction(int(i == j)) for j in range(len(law))] for i in range(len(law))]
    total: list[Value] = [Fraction(0)] * len(law)
    for k, factor in enumerate(scheme.stability.numerator):
        if k > scheme.order and factor:
            length = tape.power(tau, k)
            for i, row in enumerate(power):
                moved: Value = Fraction(0)
                for entry, value in zip(row, psi, strict=True):
                    moved = tape.add(moved, tape.mul(value, entry))
                total[i] = tape.add(total[i], tape.mul(tape.mul(length, moved), Fraction(factor)))
        power = [[sum((a * law[m][j] for m, a in enumerate(row)), Fraction(0)) for j in range(len(law))] for row in power]
    return total


class RoundingTape:
    """Bounds of what doubles add to ψ in one step, over cells.

    Two tracks: the exact stages, enclosed tightly by residuals, and the operations that are run, evaluated from these
    with their errors carried along.
    """

    def __init__(self, flow: TubeFlow, scheme: RungeKutta, step: float, monomials: Monomials) -> None:
        self.flow, self.scheme = flow, scheme
        tape = self._tape = Recorder(1, monomials)
        self._step = Fraction(step)
        taken = _Stages(flow, scheme, tape, self._step)
        self._parameters = self._registers()
        slopes = jacobian(flow.psi, flow.inputs)
        self._columns = [list(row) for row in slopes]
        after = self._after(taken)
        self._known = list(after)
        wide = [tape.wide(x) for x in after]
        flat = tape.graph(flow.inputs, wide, [node for row in slopes for node in row.values()])
        self.tape = FormTape(tape, [*after, *(tape.number(x) for x in flat)])

    def _registers(self) -> list[Value]:
        self._tape.rounds = 1
        found: list[Value] = [self._tape.number(Fraction(value)) for value in self.flow.parameters]
        self._tape.rounds = 0
        return found

    def _after(self, taken: _Stages) -> list[int]:
        """Time and state after the step, each with its rounding."""
        tape, scheme = self._tape, self.scheme
        start = [tape.plain(x) for x in taken.state]
        stages: list[list[Value]] = []
        computed: list[list[int]] = []
        for node, row in zip(scheme.nodes, scheme.stages, strict=True):
            place = taken.advanced(row, stages)
            stages.append(taken.rates(taken.moment(node), place))
            errors = self._advanced(start, row, computed)
            known = [tape.take(tape.plain(x), e) for x, e in zip(place, errors, strict=True)]
            found = self._code(self._clock(taken, node), known)
            computed.append([tape.take(tape.plain(x), e) for x, e in zip(stages[-1], found, strict=True)])
        exact = taken.advanced(scheme.weights, stages)
        errors = self._advanced(start, scheme.weights, computed)
        known = [tape.take(tape.plain(x), e) for x, e in zip(exact, errors, strict=True)]
        return [self._clock(taken, Fraction(1)), *known]

    def _clock(self, taken: _Stages, node: Fraction) -> int:
        """The time of a stage, as wrong as the clock is."""
        return self._tape.take(self._tape.plain(taken.moment(node)), taken.time)

    def _code(self, moment: int, place: Sequence[int]) -> list[int]:
        """The rates as they are run."""
        flow, tape = self.flow, self._tape
        state = dict(zip(flow.variables, place, strict=True))
        inputs = flow.code_inputs[1 : len(flow.code_inputs) - len(self._parameters)]
        values: list[Value] = [moment, *(state.get(node, Fraction(0)) for node in inputs), *self._parameters]
        tape.rounds = 1
        found = [tape.number(x) for x in tape.graph(flow.code_inputs, values, flow.code_rates)]
        tape.rounds = 0
        return found

    def _advanced(self, start: Sequence[int], weights: Sequence[Fraction], stages: Sequence[list[int]]) -> list[int]:
        """x + step Σ b K with the rounding of a driver that adds the terms one by one, in any order."""
        tape, used = self._tape, [(Fraction(b), stage) for b, stage in zip(weights, stages, strict=False) if b]
        tape.rounds = 1
        length = tape.number(self._step)
        result = []
        for i, x in enumerate(start):
            total, terms = x, []
            for b, stage in used:
                terms.append(tape.number(tape.mul(tape.mul(length, tape.number(b)), stage[i])))
                total = tape.number(tape.add(total, terms[-1]))
            for term in terms:
                total = tape.slack(total, term, (len(used) + 2) * OPERATION)
            result.append(total)
        tape.rounds = 0
        return result

    def bounds(self, cells: np.ndarray, factors: Sequence[tuple[Sequence[int], np.ndarray]]) -> np.ndarray:
        """‖Lᵀ(error of ψ)‖ at most, for each cell and block; `cells` as the tape takes them."""
        found = self.tape(cells)
        count = len(self._known)
        with np.errstate(all="ignore"):
            errors, sizes = found.rounding[:, :count], iter(found.sizes()[:, count:].T)
            rows = []
            for columns in self._columns:
                terms = [(next(sizes), errors[:, j]) for j in columns]
                rows.append(sum((np.where(size > 0, size * error, 0.0) for size, error in terms), np.zeros(len(cells))))
            moved = np.array(rows).T
            turned = [np.linalg.norm(moved[:, list(places)] @ np.abs(factor), axis=1) for places, factor in factors]
        bounds = np.array(turned).T * (1 + 1e-12)
        return np.where(np.isfinite(bounds), bounds, np.inf)
