"""The equations in quasi-velocities on the graph, in two ways that agree.

Boltzmann and Hamel, from T*(q, u, t) = T(q, S u + s₀, t), for as many quasi-velocities as coordinates:

    d/dt ∂T*/∂u − Sᵀ ∂T*/∂q + Σ_m (∂T*/∂u_m) Sᵀ ℰ(u_m) = Sᵀ (Q − ∂P/∂q − ∂D/∂v + held forces)

where ℰ(u_m) = d/dt ∂u_m/∂v − ∂u_m/∂q vanishes if u_m is the rate of something. Projected, for any number of them:

    Sᵀ M S u' = Sᵀ (h − M σ + held forces)
"""

from __future__ import annotations

from holdfast.equations.quasi.kinematics import Kinematics
from holdfast.equations.quasi.simplified import simplified, simplified_rows
from holdfast.equations.quasi.velocities import depends
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.display import Display
from holdfast.graph.linear_algebra import Rows, product, times, transposed
from holdfast.graph.nodes import Node, substitute

Terms = tuple[Rows, list[Node]]  # the matrix of u', and what it equals apart from held forces


def projected(kinematics: Kinematics) -> Terms:
    """Sᵀ M S and Sᵀ(h − M σ)."""
    equations, slopes = kinematics.equations, kinematics.slopes
    graph, display = equations.inputs.graph, equations.display
    mass = kinematics.rows_in_u(equations.dynamics.mass)
    inner = product(transposed(slopes, len(kinematics.u)), product(mass, slopes))
    carried = times(mass, kinematics.carried, graph)
    bias = kinematics.in_u(equations.dynamics.bias)
    if equations.dynamics.symmetric:
        inner = _symmetric([{j: node for j, node in row.items() if j <= i} for i, row in enumerate(inner)], display)
    return inner, kinematics.along([h - c for h, c in zip(bias, carried, strict=True)])


def _symmetric(lower: Rows, display: Display) -> Rows:
    """A symmetric matrix from its lower triangle, made short: zeros found in one half are zeros of the other."""
    short = simplified_rows(lower, display)
    mirrored = transposed(short, len(short))
    return [dict(sorted((mirrored[i] | row).items())) for i, row in enumerate(short)]


def reduced(kinematics: Kinematics) -> Terms:
    """The terms along a program: of Boltzmann and Hamel with w among the quasi-velocities, then kept; or projected.

    Where T is written in the quasi-velocities themselves, the former are far shorter.
    """
    if kinematics.wider is None or kinematics.equations.dynamics.points:
        return projected(kinematics)
    (wider, kept), k, graph = kinematics.wider, len(kinematics.u), kinematics.equations.inputs.graph
    mass, bias = boltzmann_hamel(wider)
    known = dict(zip(wider.u[k:], kept, strict=True))
    moved = directional(list(kept), kinematics.direction)
    flat = iter(substitute([node for row in mass[:k] for node in row.values()], known))
    rows: Rows = [{j: next(flat) for j in row} for row in mass[:k]]
    carried = [graph.sum(node * moved[j - k] for j, node in row.items() if j >= k) for row in rows]
    forces = [h - c for h, c in zip(substitute(bias[:k], known), carried, strict=True)]
    return [{j: node for j, node in row.items() if j < k and not node.is_zero} for row in rows], forces


def boltzmann_hamel(kinematics: Kinematics) -> Terms:
    """∂²T*/∂u² and the other terms of the Boltzmann–Hamel equations."""
    equations, u = kinematics.equations, kinematics.u
    inputs, dynamics, zero = equations.inputs, equations.dynamics, equations.inputs.graph.zero
    kinetic = kinetic_in_u(kinematics)
    slopes = gradient(kinetic, (*u, *inputs.q))
    momenta = [slopes.get(node, zero) for node in u]
    carried = directional(momenta, kinematics.direction)
    by_position = gradient(dynamics.potential, inputs.q)
    given = zip(dynamics.forces, dynamics.resistance, inputs.q, strict=True)
    forces = kinematics.in_u([force - resist - by_position.get(q, zero) for force, resist, q in given])
    pushed = kinematics.along([force + slopes.get(q, zero) for force, q in zip(forces, inputs.q, strict=True)])
    turned = times(transposed(turning(kinematics), len(u)), momenta, inputs.graph)
    bias = [push - carry - turn for push, carry, turn in zip(pushed, carried, turned, strict=True)]
    return jacobian(momenta, u), bias


def kinetic_in_u(kinematics: Kinematics) -> Node:
    """T*(q, u, t); where T is written in the quasi-velocities themselves, as it stands."""
    equations, u = kinematics.equations, kinematics.u
    inputs, graph, display = equations.inputs, equations.inputs.graph, equations.display
    known = dict(zip(inputs.v, kinematics.rates, strict=True)) | dict(zip(kinematics.definitions, u, strict=True))
    (kinetic,) = substitute([equations.dynamics.kinetic], known)
    slopes = gradient(kinetic, u)
    mass = jacobian([slopes.get(node, graph.zero) for node in u], u)
    if depends((node for row in mass for node in row.values()), u):
        return kinetic
    at_rest = {node: graph.zero for node in u}
    level, *linear = substitute([kinetic, *(slopes.get(node, graph.zero) for node in u)], at_rest)
    short = simplified(level, display) + graph.dot([simplified(b, display) for b in linear], u)
    for i, row in enumerate(mass):
        for j, node in row.items():
            if j <= i:
                half = simplified(node, display) * u[i] * u[j]
                short = short + (half / 2 if i == j else half)
    return short


def turning(kinematics: Kinematics) -> Rows:
    """Row m: Sᵀ ℰ(u_m), by quasi-velocity; how u_m fails to be the rate of something."""
    equations, u = kinematics.equations, kinematics.u
    inputs, display, zero = equations.inputs, equations.display, equations.inputs.graph.zero
    found: Rows = []
    for node in kinematics.definitions:
        slopes = gradient(node, (*inputs.v, *inputs.q))
        moved = inputs.rate([slopes.get(v, zero) for v in inputs.v])
        lagrange = [rate - slopes.get(q, zero) for rate, q in zip(moved, inputs.q, strict=True)]
        found.append({i: _linear(x, u, display) for i, x in enumerate(kinematics.along(kinematics.in_u(lagrange)))})
    return [{i: node for i, node in row.items() if not node.is_zero} for row in found]


def _linear(node: Node, u: tuple[Node, ...], display: Display) -> Node:
    """A node that is linear in u, written by its coefficients."""
    graph = node.graph
    (rest,) = substitute([node], {one: graph.zero for one in u})
    row = jacobian([node], u)[0]
    parts = [simplified(slope, display) * u[j] for j, slope in row.items()]
    return graph.sum([simplified(rest, display), *parts])
