"""L and D on a leaf: where a program keeps a velocity function at a constant, that constant may take its place.

    g(q)·v = c  kept,   forces  ½ a_i(q) (g·v)² + F1_i·v + F0_i      →      ½ a_i c² + F1_i·v + F0_i

The two agree on every motion with g·v = c, and such motions stay so, for the law of a kept function vanishes with it;
elsewhere they differ. Bertrand's equations fail K2 by the square of the areal velocity, and have L and D with it for a
constant (docs/theory, 4.7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.writing.closed_form import causes_of
from holdfast.equations.writing.short import short
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node, ancestors, substitute

if TYPE_CHECKING:
    from holdfast.structure.lagrangian import LagrangeForm

MOST_COORDINATES = 4  # beyond, nobody reads the L


@dataclass(frozen=True, eq=False)
class Leaf:
    """Equations that have the motions of given ones on which `function` is the constant `value`, and their L and D."""

    constraint: str
    function: sp.Expr  # g·v
    value: sp.Expr  # c
    f: tuple[sp.Expr, ...]
    form: LagrangeForm


@dataclass(frozen=True)
class _Kept:
    """One kept function g·v − c on the graph."""

    name: str
    slopes: tuple[Node, ...]  # g
    level: Node  # −c
    inside: dict[Node, Node]  # the deviations of all constraints, with this one zero


def leaves(equations: Equations, *, solved: bool) -> Iterator[tuple[str, sp.Expr, sp.Expr, tuple[sp.Expr, ...]]]:
    """(constraint, g·v, c, f on the leaf) for each kept velocity function whose square stands in the forces."""
    n = len(equations.coordinates)
    if n > MOST_COORDINATES or not equations.dynamics.symmetric or equations.dynamics.points:
        return
    causes = causes_of(equations)
    accelerations, mu = equations.solver(causes.forces, causes.wanted)
    pushed = [
        h + equations.inputs.graph.sum(entry * mu[k] for k, entry in row.items())
        for h, row in zip(causes.forces, equations.holders, strict=True)
    ]
    for kept in _kept(equations):
        forces = substitute(accelerations if solved else pushed, kept.inside)
        left = _without_square(equations, kept, forces)
        if left is None:
            continue
        tidy, q = equations.display.tidy, equations.problem.system.coordinates
        function = sp.Add(*(tidy(g) * c.rate for g, c in zip(kept.slopes, q, strict=True)))
        mass = sp.eye(n) if solved else equations.mass_matrix
        a = sp.Matrix([c.acceleration for c in q])
        f = [inertia - short(tidy(force)) for inertia, force in zip(mass * a, left, strict=True)]
        yield kept.name, function, -tidy(kept.level), tuple(f)


def _kept(equations: Equations) -> Iterator[_Kept]:
    """Velocity functions g(q)·v − c with a constant c."""
    inputs, program = equations.inputs, equations.problem.program
    graph, moving = inputs.graph, {*inputs.q, *inputs.v, *inputs.s, inputs.time}
    actual = dict(
        zip(
            (*inputs.y.values(), *inputs.w.values()),
            (*equations.deviations.y, *equations.deviations.w),
            strict=True,
        )
    )
    for k, name in enumerate(program.constraints):
        if name in program.holonomic:
            continue
        slopes = tuple(equations.deviations.jacobian[k].get(j, graph.zero) for j in range(len(inputs.v)))
        (level,) = substitute([equations.deviations.w[k]], {v: graph.zero for v in inputs.v})
        if any(part in inputs.v for part in ancestors(slopes)) or any(part in moving for part in ancestors([level])):
            continue
        yield _Kept(name, slopes, level, actual | {inputs.w[name]: graph.zero})


def _without_square(equations: Equations, kept: _Kept, forces: Sequence[Node]) -> list[Node] | None:
    """The forces with c² in place of (g·v)²; nothing where their part of second degree is not such a square."""
    inputs, same = equations.inputs, equations.display.same
    graph, v, n = inputs.graph, inputs.v, range(len(inputs.v))
    at_rest = {rate: graph.zero for rate in v}
    slopes = [[row.get(j, graph.zero) for j in n] for row in jacobian(forces, v)]
    free = substitute(list(forces), at_rest)
    place = next((j for j in n if not kept.slopes[j].is_zero), None)
    if place is None:
        return None
    left, squares = [], False
    for force, slope, zero in zip(forces, slopes, free, strict=True):
        curves = [substitute([row.get(j, graph.zero) for j in n], at_rest) for row in jacobian(slope, v)]
        factor = curves[place][place] / kept.slopes[place] ** 2
        if not all(same(curves[j][k], factor * kept.slopes[j] * kept.slopes[k]) for j in n for k in n):
            return None
        linear = graph.dot(substitute(slope, at_rest), v)
        turning = graph.dot(list(kept.slopes), v)
        if not same(force, factor * turning**2 / 2 + linear + zero):
            return None
        squares = squares or not same(factor, graph.zero)
        left.append(factor * kept.level**2 / 2 + linear + zero)
    return left if squares else None
