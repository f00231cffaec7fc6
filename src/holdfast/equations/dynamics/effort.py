"""More controls than programs: the least effort that holds them.

    min uᵀR u / 2  with  D u = b        ⇒        u = R⁻¹Dᵀ ν,     (D R⁻¹ Dᵀ) ν = b

where D = J M⁻¹E is what the controls do to the programs while reactions hold their constraints, and R are the weights.
So the controls act together along E R⁻¹ Dᵀ, one direction for each program, and ν takes the place of the controls among
the holders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.errors import BadStatement
from holdfast.graph.linear_algebra import Rows, factor_symmetric, product, transposed
from holdfast.graph.nodes import Node
from holdfast.problem.program import Program


@dataclass(frozen=True, eq=False)
class Effort:
    """Who pushes how much: for each control its share of the holders' forces, by column of E."""

    names: tuple[str, ...]  # of the holders: lambda_ of reactions, controls that act alone, effort_ of programs
    shares: dict[str, dict[int, Node]]

    def controls(self, mu: Sequence[Node]) -> dict[str, Node]:
        """The controls from the holders' forces."""
        graph = mu[0].graph
        return {
            name: graph.sum([share * mu[column] for column, share in row.items()]) for name, row in self.shares.items()
        }


def shared_holders(
    program: Program, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, holders: Rows, definite: bool
) -> tuple[Rows, Effort]:
    """E with one direction for each program, and the share of each control in it.

    `holders` has a column for each reaction, then one for each control.
    """
    if deviations.through:
        raise BadStatement(
            "controls that act through first-order states cannot share the effort with others",
            where="program.controls",
            fix="give one control for each program",
        )
    if not definite:
        raise BadStatement(
            "the effort of more controls than programs is shared by the masses they move, and some coordinate has none",
            where="program.controls",
            fix="give one control for each program",
        )
    graph, n = inputs.graph, len(dynamics.mass)
    columns = transposed(holders, len(program.held_by_reaction) + len(program.controls))
    reactions, pushes = columns[: len(program.held_by_reaction)], columns[len(program.held_by_reaction) :]
    alone = {extension.control: extension.constraint for extension in deviations.extensions}
    together = [name for name in program.controls if name not in alone]
    by_name = dict(zip(program.controls, pushes, strict=True))
    row_of = {name: k for k, name in enumerate(program.constraints)}
    direct = [*reactions, *(by_name[name] for name in alone)]
    direct_rows = [deviations.jacobian[row_of[name]] for name in (*program.held_by_reaction, *alone.values())]
    waiting = [
        name for name in program.constraints if name not in program.held_by_reaction and name not in alone.values()
    ]
    response = _held_response(dynamics, direct_rows, direct, [by_name[name] for name in together], inputs)
    authority = product([deviations.jacobian[row_of[name]] for name in waiting], response)
    first, shares = len(direct), dict[str, dict[int, Node]]()
    for k, name in enumerate(alone):
        shares[name] = {len(reactions) + k: graph.one}
    for j, name in enumerate(together):
        weight = inputs.walk(program.effort[name]) if name in program.effort else graph.one
        shares[name] = {first + i: row[j] / weight for i, row in enumerate(authority) if j in row}
    found = [*direct]
    for i in range(len(waiting)):
        total: dict[int, Node] = {}
        for name in together:
            if first + i not in shares[name]:
                continue
            for place, node in by_name[name].items():
                part = node * shares[name][first + i]
                total[place] = total[place] + part if place in total else part
        found.append(total)
    names = (*(f"lambda_{name}" for name in program.held_by_reaction), *alone, *(f"effort_{name}" for name in waiting))
    return transposed(found, n), Effort(names, {name: shares[name] for name in program.controls})


def _held_response(
    dynamics: Dynamics,
    rows: Rows,
    holders: Sequence[dict[int, Node]],
    pushes: Sequence[dict[int, Node]],
    inputs: Inputs,
) -> Rows:
    """What each push does to the accelerations, while these rows are held by these holders: n × pushes."""
    from holdfast.graph.general_solver import factor_general

    graph, n = inputs.graph, len(dynamics.mass)
    mass = factor_symmetric(dynamics.mass, graph)

    def moved(column: dict[int, Node]) -> dict[int, Node]:
        solved = mass.solve([column.get(i, graph.zero) for i in range(n)])
        return {i: node for i, node in enumerate(solved) if not node.is_zero}

    loose = [moved(column) for column in pushes]
    if not holders:
        return transposed(loose, n)
    held = transposed([moved(column) for column in holders], n)
    system = factor_general(product(rows, held), graph)
    found = []
    for column in loose:
        lacking = [-sum((row[j] * column[j] for j in row if j in column), graph.zero) for row in rows]
        answer = system.solve(lacking)
        total = dict(column)
        for i, row in enumerate(held):
            for k, node in row.items():
                total[i] = total[i] + node * answer[k] if i in total else node * answer[k]
        found.append(total)
    return transposed(found, n)
