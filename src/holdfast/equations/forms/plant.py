"""The plant of a program: its controls are inputs, reactions go on holding their constraints.

M a = h − m₂ + E_λ λ + E_u u,      J_λ a + γ_λ = Y_λ
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.equations.dynamics.sample import samples_of
from holdfast.equations.equations import Equations
from holdfast.equations.solving.applied import under_forces
from holdfast.graph.field import Field
from holdfast.graph.linear_algebra import transposed
from holdfast.graph.nodes import Node, substitute


@dataclass(frozen=True, eq=False)
class Plant:
    """Rates of the state (without that of extended controls) in the controls as inputs, by name."""

    equations: Equations
    controls: dict[str, Node]
    rates: tuple[Node, ...]

    @property
    def state_names(self) -> tuple[str, ...]:
        return self.equations.state_names[: len(self.rates)]

    @property
    def state(self) -> tuple[Node, ...]:
        return self.equations.field.state[: len(self.rates)]

    @property
    def field(self) -> Field:
        """dx/dt = F(x, p, t), the controls after the parameters and gains."""
        own = self.equations.field
        return Field(
            time=own.time,
            state=self.state,
            parameters=(*own.parameters, *self.controls.values()),
            rates=self.rates,
            pivots=(),
            scales=(),
            observables=(),
            positions=own.positions,
        )


def plant_of(equations: Equations) -> Plant:
    """The plant of equations with controls; made once."""
    equations.require_given_forces("a control as an input")
    return equations.memo.once(plant_of, lambda: _made(equations))


def _made(equations: Equations) -> Plant:
    inputs, problem, program = equations.inputs, equations.problem, equations.problem.program
    u = {name: inputs.graph.input(f"input {name}") for name in program.controls}
    place = {name: k for k, name in enumerate(equations.coordinates)}
    forces = [h - m for h, m in zip(equations.dynamics.bias, equations.solution.excess_bias, strict=True)]
    for name, direction in program.controls.items():
        for coordinate, component in direction.items():
            if coordinate in place:
                forces[place[coordinate]] = forces[place[coordinate]] + inputs.walk(component) * u[name]
    deviations = equations.deviations
    samples = samples_of(problem, equations.form, inputs, (*deviations.y, *deviations.w))
    reactions = transposed(equations.holders, len(program.constraints))[: len(program.held_by_reaction)]
    accelerations, _ = under_forces(
        problem, inputs, equations.dynamics, deviations, reactions, samples, equations.solution, forces
    )
    put = {node: u[name] for name, node in inputs.controls.items()}
    return Plant(equations, u, (*inputs.v, *accelerations, *substitute(inputs.stated_rates, put)))
