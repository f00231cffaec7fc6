"""What bodies add to the dynamics of a system: masses, bias and energies."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from holdfast.equations.dynamics.bodies.composite import bias, kinetic_energy, mass_matrix
from holdfast.equations.dynamics.bodies.tree import FrameTree, tree_of
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.problem.bodies.frames import in_space
from holdfast.problem.system import System


@dataclass(frozen=True, eq=False)
class BodyShare:
    """M and h of all bodies, and their energies; the tree they were taken from."""

    tree: FrameTree
    kinetic: Node
    potential: Node
    mass: Rows
    bias: tuple[Node, ...]


def body_share(system: System, inputs: Inputs) -> BodyShare:
    """The share of a system's bodies, by recursions on the graph."""
    tree = tree_of(system, inputs)
    q, v = list(inputs.q), list(inputs.v)
    pushed = bias(tree, q, v)
    return BodyShare(
        tree=tree,
        kinetic=kinetic_energy(tree, q, v),
        potential=potential_energy(system, inputs),
        mass=mass_matrix(tree, q, len(q)),
        bias=tuple(pushed.get(k, inputs.graph.zero) for k in range(len(q))),
    )


def potential_energy(system: System, inputs: Inputs) -> Node:
    """P = −Σ m g·r of the centres of mass."""
    made = system.frames
    assert made is not None
    if not made.gravity:
        return inputs.graph.zero
    weight = [inputs.walk(part) for part in in_space(made.gravity)]
    terms = []
    for name, body in made.bodies.items():
        frame, center = made.frames.found[name], in_space(body.center) if body.center is not None else (sp.S.Zero,) * 3
        place = [inputs.walk(part) for part in frame.at(center)]
        terms.append(-(inputs.walk(body.mass) * inputs.graph.dot(weight, place)))
    return inputs.graph.sum(terms)
