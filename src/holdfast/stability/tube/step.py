"""One step of an explicit scheme on a tape of forms: the defect's Taylor coefficient, and the rounding of the run.

    ψ(Φ_τ(x)) − R(τH) ψ(x) = c τ^(p+1),      c = the coefficient of s^(p+1) at τ = ξ + s,   ξ ∈ [0, step]

The variables of a cell are its time, the deviation of each state from the centre, and ξ.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.cells import Array, Cells
from holdfast.stability.tube.flow import TubeFlow

LENGTHS = (1, 8, 64)  # parts of a step's length that are looked at one by one, where fewer of them have no bound
EDGE = 1e-9  # by which parts of a length overlap: far more than their rounding
LIMIT_MARGIN = 1e-9  # of a control: far more than the rounding of one that a tube bounds


def variables_of(flow: TubeFlow) -> list[list[int]]:
    """Which variables of a cell time and each state depend on: 0 is the time, 1 … n the states, n + 1 ξ, n + 2 η."""
    last = len(flow.variables) + 2
    states = ([0, 1 + i, last] if flow.speeds and i in flow.unknowns else [0, 1 + i] for i in range(last - 2))
    return [[0] if flow.timed else [], *states]


Rates = dict[int, Value]  # by the place of their state


class Stages:
    """Takes the stages of a scheme on a tape."""

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, tape: Recorder, tau: Value, chosen: Sequence[list[int]] | None = None
    ) -> None:
        """`chosen` are the variables that time and each state depend on, where they are not those of a cell."""
        self.flow, self.scheme, self.tape, self.tau = flow, scheme, tape, tau
        chosen = variables_of(flow) if chosen is None else chosen
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

    def system(self, moment: Value, place: Sequence[Value]) -> tuple[dict[tuple[int, int], Value], list[Value], Rates]:
        """Entries and right side of the system behind the rates, and the rates that need no system."""
        flow = self.flow
        direct = [i for i in range(len(flow.rates)) if i not in flow.unknowns]
        apart = 0 if flow.friction is None else len(flow.friction.forces)  # found with their reactions
        wanted = [*flow.entries.values(), *flow.right[apart:]] if flow.unknowns else []
        found = self.tape.graph(flow.inputs, [moment, *place], [*wanted, *(flow.rates[i] for i in direct)])
        entries = dict(zip(flow.entries, found, strict=False)) if wanted else {}
        right = found[len(entries) : len(wanted)]
        if flow.friction is not None and entries:
            right = [*flow.friction.solved(self.tape, flow.inputs, [moment, *place], entries, right), *right]
        return entries, right, dict(zip(direct, found[len(wanted) :], strict=True))

    def solved(self, unknowns: Sequence[Value], direct: Rates) -> list[Value]:
        """All rates, in the order of the states."""
        found = direct | {i: unknowns[k] for i, k in self.flow.unknowns.items()}
        return [found[i] for i in range(len(found))]

    def rates(self, moment: Value, place: Sequence[Value]) -> list[Value]:
        """The rates of the states, those behind the system by their residuals."""
        entries, right, direct = self.system(moment, place)
        return self.solved(self.unknowns(entries, right) if entries else [], direct)

    def unknowns(self, entries: dict[tuple[int, int], Value], right: Sequence[Value]) -> list[int]:
        """Of the system, solved as the code does: at once, or in passes."""
        if self.flow.refinement is not None:
            return self.flow.refinement.solved(self.tape, entries, right)
        return self.tape.solve(entries, right)


def defect_tape(flow: TubeFlow, scheme: RungeKutta, monomials: CellMonomials) -> FormTape:
    """ψ after a step of the length ξ + s; its coefficient of s^(p+1) is that of the defect.

    R is taken up to the scheme's order, so that R(τH)ψ has none. The inputs are ξ + s, then time and state.
    """
    tape = Recorder(scheme.order + 2, monomials)
    taken = Stages(flow, scheme, tape, tape.input([len(flow.variables) + 1], 1))
    stages: list[list[Value]] = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        stages.append(taken.rates(taken.moment(node), taken.advanced(row, stages)))
    after = taken.advanced(scheme.weights, stages)
    psi = tape.graph(flow.inputs, [taken.moment(Fraction(1)), *after], flow.psi)
    return FormTape(tape, [tape.number(value) for value in psi])


def deviation_tape(flow: TubeFlow, monomials: CellMonomials) -> FormTape:
    """ψ itself, over the cells of a tube: what the tube alone says of the deviations."""
    tape = Recorder(1, monomials)
    place = [tape.input(chosen) for chosen in variables_of(flow)]
    return FormTape(tape, [tape.number(value) for value in tape.graph(flow.inputs, place, flow.psi)])


def limits_hold(flow: TubeFlow, scheme: RungeKutta, step: float | Array, shape: CellMonomials, cells: Cells) -> Array:
    """Whether no control reaches a limit at any stage of a step from any state of a cell [cell], each of its length."""
    if not flow.limits:
        return np.ones(len(cells), bool)
    data = cells.inputs(shape, flow.places, flow.timed)
    tau = np.zeros((len(cells), 1, data.shape[2]))
    tau[:, 0, 0] = tau[:, 0, shape.place[(len(flow.variables) + 1,)]] = step / 2
    low, high = (np.tile([getattr(limit, end) for limit in flow.limits], len(scheme.nodes)) for end in ("low", "high"))
    with np.errstate(all="ignore"):
        found = control_tape(flow, scheme, shape)(np.concatenate([tau, data], axis=1))
        middle, size = found.polynomials[..., 0], found.sizes()
        reach = size - np.abs(middle) + LIMIT_MARGIN * size
        inside = (middle - reach > low) & (middle + reach < high)
    return np.asarray(inside.all(axis=1))


def control_tape(flow: TubeFlow, scheme: RungeKutta, shape: CellMonomials) -> FormTape:
    """The controls that have limits at every stage of a step of any length up to a whole one."""
    tape = Recorder(1, shape)
    taken = Stages(flow, scheme, tape, tape.input([len(flow.variables) + 1]))
    stages: list[list[Value]] = []
    wanted: list[int] = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        entries, right, direct = taken.system(taken.moment(node), taken.advanced(row, stages))
        solved = taken.unknowns(entries, right)
        wanted += [solved[limit.unknown] for limit in flow.limits]
        stages.append(taken.solved(solved, direct))
    return FormTape(tape, wanted)


def rates_between(
    flow: TubeFlow, scheme: RungeKutta, step: float | Array, shape: CellMonomials, cells: Cells
) -> tuple[Array, int]:
    """Whether rates and what holds the program exist on the whole way from the states of a cell to the next row [cell];
    and how many evaluations of a cell that took.

    A step goes over places at which a control fails, if none of its stages happens to lie there. Where the lengths of
    a step taken together have no bound (friction that turns over within it), they are looked at part by part.
    """
    data, tape = cells.inputs(shape, flow.places, flow.timed), _way_tape(flow, scheme, shape)
    length, lacking = shape.place[(len(flow.variables) + 1,)], np.arange(len(cells))
    lengths = np.broadcast_to(np.asarray(step, float), len(cells))
    evaluated = 0
    for parts in LENGTHS:
        known = np.ones(len(lacking), bool)
        evaluated += parts * len(lacking)
        for part in range(parts):
            tau = np.zeros((len(lacking), 1, data.shape[2]))
            tau[:, 0, 0] = lengths[lacking] * (2 * part + 1) / (2 * parts)
            tau[:, 0, length] = lengths[lacking] * (1 + EDGE) / (2 * parts)
            with np.errstate(all="ignore"):
                found = tape(np.concatenate([tau, data[lacking]], axis=1))
                known &= np.isfinite(found.sizes()).all(axis=1)
        lacking = lacking[~known]
        if not len(lacking):
            break
    return ~np.isin(np.arange(len(cells)), lacking), evaluated


def _way_tape(flow: TubeFlow, scheme: RungeKutta, shape: CellMonomials) -> FormTape:
    """The unknowns of the system and the rates after a step of any length up to a whole one.

    A system that is solved in passes (8.14) is regular everywhere: of that, what it is made of has to exist.
    """
    tape = Recorder(1, shape)
    taken = Stages(flow, scheme, tape, tape.input([len(flow.variables) + 1]))
    stages: list[list[Value]] = []
    for node, row in zip(scheme.nodes, scheme.stages, strict=True):
        stages.append(taken.rates(taken.moment(node), taken.advanced(row, stages)))
    place = [taken.moment(Fraction(1)), *taken.advanced(scheme.weights, stages)]
    entries, right, direct = taken.system(place[0], place[1:])
    found: Sequence[Value] = [*entries.values(), *right]
    if flow.refinement is None and entries:
        found = taken.unknowns(entries, right)
    apart = tape.graph(flow.inputs, place, flow.apart)
    return FormTape(tape, [tape.number(value) for value in (*found, *direct.values(), *apart)])
