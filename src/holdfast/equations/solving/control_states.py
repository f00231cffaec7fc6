"""States whose rates use the values of controls, such as a current that a voltage drives, or a mass that the thrust
burns away.

Of a constraint, only its last rate before the law may contain a control (`through`). The inertia of a `kinetic` energy
may not depend on such a state: the control follows from accelerations, which would need its rate. A `MovingMass` may,
when its reactive force is the control itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.effort import Effort
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.solving.solution import Solution
from holdfast.errors import BadStatement
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program


def check_order(problem: Problem, inputs: Inputs, dynamics: Dynamics, deviations: Deviations) -> None:
    """Refuse equations in which a control would be needed before it is known."""
    if not inputs.controls:
        return
    for name, w in zip(problem.program.constraints, deviations.w, strict=True):
        found = _controls_in([w], inputs)
        if found:
            raise BadStatement(
                f"the rate of the constraint {name!r} contains the control {found[0]!r}: it is of degree 1",
                where=f"program.holonomic.{name}",
                fix=f"state it as nonholonomic: program.nonholonomic.{name}, with a law of first order",
            )
    entries = [node for row in dynamics.mass for node in row.values()]
    _refuse("the inertia or a reactive force", "system", [*entries, *dynamics.bias], inputs)


def _refuse(whose: str, where: str, nodes: list[Node], inputs: Inputs) -> None:
    found = _controls_in(nodes, inputs)
    if found:
        raise BadStatement(
            f"{whose} changes with a state whose rate is set by the control {found[0]!r}, before that control is known",
            where=where,
            fix="let inertia be free of such states, or state it as hf.MovingMass(..., thrust=(...))",
        )


def _controls_in(nodes: list[Node], inputs: Inputs) -> list[str]:
    unknown = {node: name for name, node in inputs.controls.items()}
    return [unknown[node] for node in ancestors(nodes) if node in unknown]


def with_extensions(inputs: Inputs, deviations: Deviations, last_rates: Mapping[str, Node]) -> Inputs:
    """The inputs with the states that extensions add, each with its rate: the next one, and of the last what the law
    demands.
    """
    states, rates = list(inputs.s), list(inputs.state_rates)
    for extension in deviations.extensions:
        chain = list(extension.states.values())
        states += chain
        rates += [*chain[1:], last_rates[extension.constraint]]
    return replace(inputs, s=tuple(states), state_rates=tuple(rates)) if deviations.extensions else inputs


def with_controls(inputs: Inputs, program: Program, solution: Solution, effort: Effort | None = None) -> Inputs:
    """The inputs with the controls that were found in the rates of states."""
    if not inputs.controls:
        return inputs
    if effort is not None:
        values = effort.controls(solution.mu)
    else:
        values = dict(zip(program.controls, solution.mu[len(program.held_by_reaction) :], strict=True))
    found = {node: values[name] for name, node in inputs.controls.items()}
    return replace(inputs, state_rates=tuple(substitute(inputs.state_rates, found)))
