"""Accelerations and the holders' forces, in total and split by cause."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from holdfast.equations.dynamics.demand import Demand
from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.solving.solver_form import Solver
from holdfast.graph.nodes import Node, substitute

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Solution:
    """The equations solved at the actual deviations.

    M a = h − m₂ + E μ,      J a + γ = Y,        μ = μ₀ + μ₁ + μ₂

    μ₀ classical: holds the exact program     M a₀ = h + E μ₀,      J a₀ = −γ
    μ₁ corrects deviations to first order     M a₁ = E μ₁,          J a₁ = K y + B w
    μ₂ the terms of second order              M a₂ = −m₂ + E μ₂,    J a₂ = Y₂
    """

    solver: Solver
    bias: Nodes  # h
    drift: Nodes  # γ
    excess_bias: Nodes  # m₂
    demand: Nodes  # Y
    linear: Nodes  # K y + B w
    rest: Nodes  # Y₂
    obeyed: tuple[str, ...] | None = None  # the constraints whose demand is met whatever happens; None: all

    @cached_property
    def solved(self) -> tuple[list[Node], list[Node]]:
        """Accelerations and holders' forces."""
        forces = [h - m for h, m in zip(self.bias, self.excess_bias, strict=True)]
        return self.solver(forces, [y - d for y, d in zip(self.demand, self.drift, strict=True)])

    @property
    def accelerations(self) -> Nodes:
        return tuple(self.solved[0])

    @property
    def mu(self) -> Nodes:
        return tuple(self.solved[1])

    @cached_property
    def mu_parts(self) -> tuple[Nodes, Nodes, Nodes]:
        """μ₀, μ₁, μ₂."""
        none = [self.solver.graph.zero] * len(self.bias)
        _, first = self.solver(self.bias, [-d for d in self.drift])
        _, second = self.solver(none, self.linear)
        _, third = self.solver([-m for m in self.excess_bias], self.rest)
        return tuple(first), tuple(second), tuple(third)


def solution_of(
    inputs: Inputs, solver: Solver, demand: Demand, dynamics: Dynamics, deviations: Deviations, second_order: bool
) -> tuple[Solution, dict[str, Node]]:
    """Put the actual deviations in the place of the inputs y and w; without second order, m₂ and Y₂ are dropped.

    Beside it, what the law demands of the last state of each extension, by constraint: there the rate that its control
    holds is the first state.
    """
    zero = inputs.graph.zero
    excess = demand.excess_bias if second_order and demand.excess_bias is not None else (zero,) * len(dynamics.bias)
    rest = demand.rest if second_order and demand.rest is not None else (zero,) * len(deviations.w)
    wanted = demand.value if second_order else demand.linear
    actual = dict(zip((*inputs.y.values(), *inputs.w.values()), (*deviations.y, *deviations.w), strict=True))
    flat = iter(substitute([*excess, *wanted, *demand.linear, *rest], actual))
    m2, value, linear, second = (tuple(next(flat) for _ in nodes) for nodes in (excess, wanted, demand.linear, rest))
    drift, last = deviations.drift, {}
    for extension in deviations.extensions:
        row, first = inputs_row(inputs, extension.constraint), next(iter(extension.states.values()))
        last[extension.constraint] = value[row]
        value, linear, second = (
            _replaced(nodes, row, x) for nodes, x in ((value, first), (linear, first), (second, zero))
        )
    if last:
        rates = {extension.last_rate: last[extension.constraint] for extension in deviations.extensions}
        drift = tuple(substitute(drift, rates))
    return Solution(solver, dynamics.bias, drift, m2, value, linear, second), last


def inputs_row(inputs: Inputs, constraint: str) -> int:
    """The row of a constraint in w."""
    return list(inputs.w).index(constraint)


def _replaced(nodes: Nodes, place: int, node: Node) -> Nodes:
    return (*nodes[:place], node, *nodes[place + 1 :])
