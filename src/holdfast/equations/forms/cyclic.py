"""Which coordinates of a system are cyclic: nothing depends on them, and nothing acts along them."""

from __future__ import annotations

from typing import Any

from holdfast.equations.equations import Equations
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import gradient
from holdfast.graph.nodes import Node, ancestors
from holdfast.problem.vocabulary import name_of


def require_reducible(whole: Equations) -> None:
    """T must be quadratic in the rates, and what the reduced system cannot state must not be there."""
    system, program = whole.problem.system, whole.problem.program
    for what, there in (
        ("points of variable mass", system.masses),
        ("bodies", system.bodies),
        ("noise", system.noise),
        ("first integrals that are kept", program.keep),
        ("rates that use controls", whole.inputs.controls),
    ):
        if there:
            raise BadStatement(f"there is no Routhian form for {what}", where="system", fix="use hf.derive")
    entries = [node for row in whole.dynamics.mass for node in row.values()]
    if any(part in set(whole.inputs.v) for part in ancestors(entries)):
        raise BadStatement(
            "the kinetic energy is not quadratic in the rates", where="system.kinetic", fix="use hf.canonical"
        )


def chosen_cyclic(whole: Equations, cyclic: Any) -> tuple[str, ...]:
    listed = cyclic if isinstance(cyclic, (list, tuple, set)) else (cyclic,)
    names = tuple(dict.fromkeys(name_of(key) for key in listed))
    for name in names:
        if name not in whole.coordinates:
            raise BadStatement(f"{name!r} is not a coordinate", where="routh.cyclic")
        reason = why_not_cyclic(whole, whole.coordinates.index(name))
        if reason:
            raise BadStatement(f"{name!r} is not cyclic: {reason}", where="routh.cyclic", fix="leave it out")
    return names


def why_not_cyclic(whole: Equations, i: int) -> str:
    """What depends on a coordinate, or acts along it; nothing where it is cyclic."""
    inputs, dynamics, q = whole.inputs, whole.dynamics, whole.inputs.q[i]
    if whole.holders[i] or not whole.solution.excess_bias[i].is_zero:
        return "the program acts along it"
    along = dynamics.forces[i] - dynamics.resistance[i]
    if not _vanishes(whole, along):
        return "a force or resistance acts along it"
    others = [f for k, f in enumerate(dynamics.forces) if k != i]
    parts = {
        "the kinetic energy": [dynamics.kinetic],
        "the potential": [dynamics.potential],
        "the dissipation": [dynamics.dissipation],
        "a force": others,
        "the program": [*whole.deviations.y, *whole.deviations.w, *whole.solution.demand],
        "the rate of a state": list(inputs.state_rates),
    }
    for name, nodes in parts.items():
        for node in nodes:
            if not _vanishes(whole, gradient(node, (q,)).get(q, inputs.graph.zero)):
                return f"{name} depends on it"
    return ""


def _vanishes(whole: Equations, node: Node) -> bool:
    """Whether a node is zero wherever one looks, in balls."""
    return node.is_zero or whole.display.same(node, whole.inputs.graph.zero)
