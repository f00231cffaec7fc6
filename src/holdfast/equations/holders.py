"""Who holds the program, and with what force: multipliers and controls from the demand.

    M a = h − m₂ + E μ,     J a + γ = Y        ⇒        A μ = Y − γ − J M⁻¹(h − m₂),    A = J M⁻¹ E

where column k of E is Jᵢᵀ for a constraint held by its own reaction and the direction of a control otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from holdfast.equations.deviation import Deviations
from holdfast.equations.diagnosis import singular, why_singular
from holdfast.equations.inputs import Inputs
from holdfast.equations.lagrange import Dynamics
from holdfast.equations.sample import Sample
from holdfast.graph.linear_algebra import (
    GeneralFactor,
    PivotOrder,
    Rows,
    SymmetricFactor,
    factor_general,
    factor_symmetric,
    pivot_order,
    product,
    times,
    transposed,
)
from holdfast.graph.nodes import Graph, Node
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program

SolutionForm = Literal["solved", "saddle"]


def holders_of(program: Program, deviations: Deviations, inputs: Inputs, coordinates: Sequence[str]) -> Rows:
    """E as sparse rows: coordinates by holders, reactions first, then the controls."""
    place = {name: k for k, name in enumerate(coordinates)}
    row = {name: k for k, name in enumerate(program.constraints)}
    columns: Rows = [dict(deviations.jacobian[row[name]]) for name in program.held_by_reaction]
    for direction in program.controls.values():
        entries = {place[name]: inputs.walk(component) for name, component in direction.items()}
        columns.append({j: node for j, node in entries.items() if not node.is_zero})
    return transposed(columns, len(coordinates))


@dataclass(frozen=True, eq=False)
class Solver:
    """Solves for accelerations and holders' forces, given the free forces and the demand on dw/dt."""

    form: SolutionForm
    graph: Graph
    mass: SymmetricFactor | None
    response: Rows  # M⁻¹E, solved form only
    jacobian: Rows
    system: SymmetricFactor | GeneralFactor  # of A in the solved form, of the saddle matrix otherwise
    authority: Rows  # A, solved form only

    @property
    def pivots(self) -> tuple[Node, ...]:
        return (*(self.mass.pivots if self.mass else ()), *self.system.pivots)

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Accelerations and holders' forces for M a = forces + E μ and J a = demand."""
        if self.mass is None:
            unknowns = self.system.solve([*forces, *demand])
            return unknowns[: len(forces)], unknowns[len(forces) :]
        free = self.mass.solve(forces)
        lacking = [want - have for want, have in zip(demand, times(self.jacobian, free, self.graph), strict=True)]
        mu = self.system.solve(lacking)
        held = times(self.response, mu, self.graph)
        return [a + b for a, b in zip(free, held, strict=True)], mu


def solver_of(
    problem: Problem, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, holders: Rows, samples: list[Sample]
) -> Solver:
    """The solver that suits the system: LDLᵀ where all is symmetric and definite, LU with a chosen order otherwise."""
    n, r = len(inputs.q), len(deviations.w)
    _refuse_generic_rank_loss(problem, dynamics, deviations, holders, samples, n, r)
    graph = inputs.graph
    if not dynamics.symmetric or not _definite(dynamics.mass, n, samples):
        saddle: Rows = [dict(row) for row in dynamics.mass] + [dict(row) for row in deviations.jacobian]
        for i, row in enumerate(holders):
            saddle[i] |= {n + k: -node for k, node in row.items()}
        factor = factor_general(saddle, graph, _order(saddle, samples))
        return Solver("saddle", graph, None, [], deviations.jacobian, factor, [])
    mass = factor_symmetric(dynamics.mass, graph)
    columns = transposed(holders, r)
    solved = [_sparse(mass.solve([column.get(i, graph.zero) for i in range(n)])) for column in columns]
    response = transposed(solved, n)
    authority = product(deviations.jacobian, response)
    if not problem.program.controls:
        return Solver(
            "solved", graph, mass, response, deviations.jacobian, factor_symmetric(authority, graph), authority
        )
    factor = factor_general(authority, graph, _order(authority, samples))
    return Solver("solved", graph, mass, response, deviations.jacobian, factor, authority)


def _sparse(vector: Sequence[Node]) -> dict[int, Node]:
    return {i: node for i, node in enumerate(vector) if not node.is_zero}


def _definite(mass: Rows, n: int, samples: list[Sample]) -> bool:
    """Whether the mass matrix is positive definite at the first state where it is defined."""
    if any(i not in row for i, row in enumerate(mass)):
        return False
    for sample in samples:
        matrix = sample.dense(mass, n)
        if np.isfinite(matrix).all():
            scale = np.sqrt(np.abs(np.diag(matrix)))
            if not (scale > 0).all():
                return False
            scaled = matrix / np.outer(scale, scale)
            try:  # pivots of the scaled matrix are at most 1, so a small one is a small eigenvalue
                return bool(np.diag(np.linalg.cholesky(scaled)).min() > 1e-6)
            except np.linalg.LinAlgError:
                return False
    return True


def _order(matrix: Rows, samples: list[Sample]) -> PivotOrder:
    """Pivots chosen at the start, or beside it where the start is singular."""
    order = PivotOrder(())
    for sample in samples:
        values = sample.rows(matrix)
        if all(np.isfinite(list(row.values())).all() for row in values):
            order = pivot_order(values)
            if not order.rows_left:
                return order
    return order


def _refuse_generic_rank_loss(
    problem: Problem,
    dynamics: Dynamics,
    deviations: Deviations,
    holders: Rows,
    samples: list[Sample],
    n: int,
    r: int,
) -> None:
    """Raise, with names, if the equations are singular at every state looked at."""
    found = None
    for sample in samples:
        mass = sample.dense(dynamics.mass, n)
        jacobian = sample.dense(deviations.jacobian, n)
        forces = sample.dense(holders, r)
        if not all(np.isfinite(part).all() for part in (mass, jacobian, forces)):
            continue
        if not singular(mass, jacobian, forces):
            return
        found = (mass, jacobian, forces)
    if found is not None:
        raise why_singular(problem, *found, np.array([sample.of(deviations.y) for sample in samples]))
