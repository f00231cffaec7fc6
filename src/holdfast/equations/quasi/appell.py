"""`hf.appell`: Maggi's equations from one function of the accelerations.

    G(ν', ν, q, t) = ½ aᵀ M a + aᵀ c,     a = N ν' + σ,     c = Q* − h
    ∂G/∂ν' = Nᵀ Q*,      Q* = Q − ∂P/∂q − ∂D/∂v

For points G is Gibbs's energy of accelerations Σ m |r''|²/2, up to terms without ν'. With Appell's function
S = ½ aᵀ M a − aᵀ h the same reads ∂S/∂ν' = 0: of all accelerations that the program allows, the actual ones make it
least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.quasi.maggi import Maggi, reduced_kinematics, solved
from holdfast.equations.quasi.symbols import QuasiVelocity
from holdfast.equations.quasi.text import text
from holdfast.equations.writing.text import formula
from holdfast.graph.derivatives import gradient, jacobian
from holdfast.graph.linear_algebra import times
from holdfast.graph.nodes import Node, substitute
from holdfast.problem.quantities import latex_name
from holdfast.problem.types import ByName

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Appell(Maggi):
    """Appell's equations: ∂G/∂ν' = Q, with G in `gibbs` and Q in `along`."""

    energy: Node | None = None  # G
    accelerating: Nodes = ()  # ν', as inputs
    pushes: Nodes = ()  # Nᵀ Q*

    title = "Appell's equations (reactions left out)"

    @property
    def _read(self) -> Appell:
        found = self.on_program
        assert isinstance(found, Appell)
        return found

    @cached_property
    def gibbs(self) -> sp.Expr:
        """G as a function of the quasi-accelerations, without what does not contain them."""
        form, zero = self._read, self.equations.inputs.graph.zero
        assert form.energy is not None
        rates = [QuasiVelocity(name).rate for name in form.velocity_names]
        slopes = gradient(form.energy, form.accelerating)
        rest = {node: zero for node in form.accelerating}
        linear = substitute([slopes.get(node, zero) for node in form.accelerating], rest)
        quadratic = (sp.Matrix([rates]) * form.mass_matrix * sp.Matrix(rates))[0] / 2
        terms = [form.shown(node) * rate for node, rate in zip(linear, rates, strict=True)]
        return sp.expand(quadratic, deep=False) + sp.Add(*terms)

    @cached_property
    def along(self) -> dict[str, sp.Expr]:
        """Nᵀ Q*: the given forces on the quasi-velocities, by name."""
        form = self._read
        return {name: form.shown(node) for name, node in zip(form.velocity_names, form.pushes, strict=True)}

    def more_lines(self) -> list[str]:
        lines = ["", "They are dG/du' = Q of Gibbs's function", f"  G = {text(self.gibbs)}", "and the forces"]
        return [*lines, *(f"  Q_{name} = {text(value)}" for name, value in self.along.items()), *super().more_lines()]

    def more_latex(self) -> list[str]:
        forces = [f"Q_{{{latex_name(name)}}} = {formula(push)}" for name, push in self.along.items()]
        return [f"G = {formula(self.gibbs)}", *forces]

    def to_dict(self) -> dict[str, Any]:
        along = {name: str(value) for name, value in self.along.items()}
        return {**super().to_dict(), "gibbs": str(self.gibbs), "forces": along}


@clear_arguments
def appell(equations: Equations, velocities: ByName | None = None, *, attraction: Any = None) -> Appell:
    """Appell's equations: Gibbs's function in quasi-accelerations, and the equations that follow by differentiating it.

    Quasi-velocities and attraction are those of `maggi`, and so are the equations.
    """
    kinematics, seen = reduced_kinematics(equations, velocities, attraction, "appell")
    graph = equations.inputs.graph
    rates = tuple(graph.input(f"{name}_dot") for name in kinematics.names)
    given = _given_forces(kinematics)
    energy = _gibbs(kinematics, rates, given)
    pushes = kinematics.along(given)
    slopes = gradient(energy, rates)
    momenta = [slopes.get(node, graph.zero) for node in rates]
    at_rest = substitute(momenta, {node: graph.zero for node in rates})
    mass = jacobian(momenta, rates)
    forces = [push - rest for push, rest in zip(pushes, at_rest, strict=True)]
    parts = solved(kinematics, mass, forces, seen)
    made = Appell(kinematics, *parts, None, energy, rates, tuple(pushes))
    return replace(made, formulas=lambda: appell(equations, velocities, attraction=0)) if kinematics.attracted else made


def _given_forces(kinematics: Kinematics) -> list[Node]:
    """Q* = Q − ∂P/∂q − ∂D/∂v, in u."""
    inputs, dynamics = kinematics.equations.inputs, kinematics.equations.dynamics
    by_position = gradient(dynamics.potential, inputs.q)
    zero = inputs.graph.zero
    parts = zip(dynamics.forces, dynamics.resistance, inputs.q, strict=True)
    return kinematics.in_u([force - resist - by_position.get(q, zero) for force, resist, q in parts])


def _gibbs(kinematics: Kinematics, rates: Nodes, given: list[Node]) -> Node:
    """½ aᵀ M a + aᵀ (Q* − h)."""
    equations, graph = kinematics.equations, kinematics.equations.inputs.graph
    a = kinematics.accelerations(rates)
    inertia = times(kinematics.rows_in_u(equations.dynamics.mass), a, graph)
    bias = kinematics.in_u(equations.dynamics.bias)
    lacking = [force - h for force, h in zip(given, bias, strict=True)]
    return graph.dot(a, inertia) / 2 + graph.dot(a, lacking)
