"""Added and additional forces of points of variable mass, as formulas.

f^a     what Lagrange's equations of T = Σ m|r'|²/2 need beside the active forces
f^d     f^p + m' r'/2, with the work f0·dq + f1·dv + ft dt, so that dT = f·dr + f^d·dr
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from holdfast.equations.dynamics.masses import added_forces as nodes_of_added
from holdfast.equations.dynamics.masses import work_of
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.display import Display
from holdfast.graph.nodes import Node
from holdfast.problem.quantities import Control


@dataclass(frozen=True, eq=False)
class AddedForces:
    """Formulas in q, v, t, by coordinate; `lagrange` may contain accelerations where masses depend on rates."""

    lagrange: sp.Matrix  # f^a
    by_position: sp.Matrix  # f0
    by_rate: sp.Matrix  # f1
    by_time: sp.Expr  # ft


def added_forces(equations: Equations) -> AddedForces:
    """The added forces f^a on the coordinates, and the work of the additional forces f^d split by what moves."""
    if not isinstance(equations, Equations) or not equations.dynamics.points:
        raise BadRequest("there is no point of variable mass here", fix="System(masses={name: hf.MovingMass(...)})")
    inputs, points = equations.inputs, equations.dynamics.points
    symbols = dict(equations.display.symbols)
    symbols |= {c.acceleration.name: c.acceleration for c in equations.problem.system.coordinates}
    symbols |= {name: Control(name) for name in inputs.controls}
    tidy = Display(inputs.graph, symbols).tidy
    work = work_of(points, inputs)

    def column(nodes: Sequence[Node]) -> sp.Matrix:
        return sp.Matrix([tidy(node) for node in nodes])

    return AddedForces(
        lagrange=column(nodes_of_added(points, inputs)),
        by_position=column(work.by_position),
        by_rate=column(work.by_rate),
        by_time=tidy(work.by_time),
    )
