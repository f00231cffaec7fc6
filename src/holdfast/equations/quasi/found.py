"""Accelerations and multipliers of a form, put in the place of those of the equations, and checked against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.solving.self_check import require_solved
from holdfast.equations.solving.solution import Solution
from holdfast.graph.nodes import Node

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class FoundSolution(Solution):
    """A solution that another form has found."""

    found: tuple[Nodes, Nodes] = ((), ())  # a and μ

    @property
    def accelerations(self) -> Nodes:
        return self.found[0]

    @property
    def mu(self) -> Nodes:
        return self.found[1]


def with_found(equations: Equations, accelerations: Nodes, mu: Nodes, solution: Solution | None = None) -> Equations:
    """The equations with another's accelerations and multipliers."""
    base = solution or equations.solution
    parts = {field.name: getattr(base, field.name) for field in fields(Solution)}
    return replace(equations, solution=FoundSolution(**parts, found=(accelerations, mu)))


def require_same(kinematics: Kinematics, held: Equations, seen: Sequence[Sample]) -> None:
    """An `InternalError` where what a form has found does not solve the equations: M a = h + E μ, J a + γ = Y."""
    equations, solution = kinematics.equations, held.solution
    names = (*equations.coordinates, *equations.constraints)
    dynamics = replace(equations.dynamics, mass=kinematics.rows_in_u(equations.dynamics.mass))
    jacobian = kinematics.rows_in_u(equations.deviations.jacobian)
    deviations = replace(equations.deviations, jacobian=jacobian)
    parts = {
        name: tuple(kinematics.in_u(getattr(solution, name)))
        for name in ("bias", "drift", "excess_bias", "demand", "linear", "rest")
    }
    found = tuple(kinematics.in_u(solution.accelerations)), tuple(kinematics.in_u(solution.mu))
    in_u = FoundSolution(solution.solver, obeyed=solution.obeyed, found=found, **parts)
    holders = kinematics.rows_in_u(equations.holders)
    require_solved(names, dynamics, deviations, holders, in_u, with_velocities(kinematics, seen))


def with_velocities(kinematics: Kinematics, seen: Sequence[Sample]) -> list[Sample]:
    """Samples that know the quasi-velocities too."""
    return [
        Sample(sample.values | dict(zip(kinematics.u, sample.of(kinematics.definitions), strict=True)), sample.seed)
        for sample in seen
    ]
