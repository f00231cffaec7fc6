"""Controls that are not what the law asks for: cut off at limits, found by a model with other numbers, or held.

    u = min(max(u_wanted(p_model), low), high),      M a = h − m₂ + E_λ λ + E_u u,      J_λ a + γ_λ = Y_λ

Reactions go on holding their constraints whatever the controls do. Deviations of what the controls hold follow from the
forces there are; where no limit is reached and the model is right, they obey the law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.diagnosis import definite
from holdfast.equations.solving.solution import Nodes, Solution
from holdfast.equations.solving.solver import solver_of
from holdfast.errors import BadStatement
from holdfast.graph.linear_algebra import Rows, factor_symmetric, transposed
from holdfast.graph.nodes import Node, substitute
from holdfast.problem.controller import HELD, model_symbols
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.quantities import Parameter


@dataclass(frozen=True, eq=False)
class Applied(Solution):
    """The solution under the controls that act; its parts are those of what they would have to be.

    `command` is what the controller computes, by control.
    """

    wanted: Solution | None = None
    cut: tuple[Nodes, Nodes] = ((), ())  # accelerations and holders' forces
    command: dict[str, Node] = field(default_factory=dict)

    @property
    def accelerations(self) -> Nodes:
        return self.cut[0]

    @property
    def mu(self) -> Nodes:
        return self.cut[1]

    @cached_property
    def mu_parts(self) -> tuple[Nodes, Nodes, Nodes]:
        assert self.wanted is not None
        return self.wanted.mu_parts


def applied(
    problem: Problem, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, holders: Rows,
    samples: list[Sample], wanted: Solution,
) -> Solution:  # fmt: skip
    """The solution under the limits, the model and the sampling of the program, if it has any."""
    program = problem.program
    if not program.shortfall:
        return wanted
    if deviations.extensions or program.shares_effort:
        why = "has rates of its own" if deviations.extensions else "shares its work with others"
        name = deviations.extensions[0].control if deviations.extensions else next(iter(program.controls))
        word = "limits" if program.limits else "model" if program.model else "sampling"
        raise BadStatement(
            f"the control {name!r} {why}, and {word} is not known for such controls",
            where=f"program.{word}",
            fix=f"hold fewer programs with it, or leave the {word} out",
        )
    graph, reactions = inputs.graph, len(program.held_by_reaction)
    command = _command(program, inputs, wanted.mu[reactions:])
    controls = dict(command)
    if program.sampling is not None:
        controls = {name: inputs.parameters[f"{name}{HELD}"] for name in program.controls}
    for name, (low, high) in program.limits.items():
        value = controls[name]
        value = value if high is None else graph.call("min", value, inputs.walk(high))
        controls[name] = value if low is None else graph.call("max", value, inputs.walk(low))
    columns = transposed(holders, len(program.constraints))
    forces = [h - m for h, m in zip(wanted.bias, wanted.excess_bias, strict=True)]
    for column, value in zip(columns[reactions:], controls.values(), strict=True):
        for i, direction in column.items():
            forces[i] = forces[i] + direction * value
    accelerations, reaction = under_forces(
        problem, inputs, dynamics, deviations, columns[:reactions], samples, wanted, forces
    )
    cut = (tuple(accelerations), (*reaction, *controls.values()))
    return Applied(
        wanted.solver, wanted.bias, wanted.drift, wanted.excess_bias, wanted.demand, wanted.linear, wanted.rest,
        program.held_by_reaction, wanted=wanted, cut=cut, command=command,
    )  # fmt: skip


def _command(program: Program, inputs: Inputs, wanted: Sequence[Node]) -> dict[str, Node]:
    """What the controller computes: the controls of the law, with the numbers of its model."""
    model = {inputs.walk(Parameter(name)): inputs.walk(symbol) for name, symbol in model_symbols(program).items()}
    return dict(zip(program.controls, substitute(wanted, model) if model else wanted, strict=True))


def under_forces(
    problem: Problem, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, reactions: Rows,
    samples: list[Sample], wanted: Solution, forces: Sequence[Node],
) -> tuple[Sequence[Node], Sequence[Node]]:  # fmt: skip
    """Accelerations and reactions under given forces."""
    program, n = problem.program, len(dynamics.mass)
    rows = [program.constraints.index(name) for name in program.held_by_reaction]
    moved = next((program.constraints[k] for k in rows if deviations.through_rows[k]), None)
    if moved is not None:
        raise BadStatement(
            f"a control moves {moved!r}, which its reaction holds, through a state: the reaction is not known from "
            "forces alone",
            where="program.reactions",
            fix="let constraints that reactions hold be free of states that controls drive",
        )
    if not rows:
        if not any(definite(sample.dense(dynamics.mass, n)) for sample in samples if dynamics.symmetric):
            raise BadStatement(
                "given controls leave a coordinate without inertia to itself",
                where="program.controls",
                fix="give every coordinate inertia, or let controls be what the law asks for",
            )
        return factor_symmetric(dynamics.mass, inputs.graph).solve(forces), ()
    held = replace(
        deviations,
        w=tuple(deviations.w[k] for k in rows),
        jacobian=[deviations.jacobian[k] for k in rows],
        drift=tuple(wanted.drift[k] for k in rows),
        through=[],
    )
    solver = solver_of(problem, inputs, dynamics, held, transposed(reactions, n), samples)
    return solver(forces, [wanted.demand[k] - wanted.drift[k] for k in rows])
