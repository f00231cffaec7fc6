"""The way back onto the program on the graph, for kernels whose every step ends there.

        Δq = M⁻¹Jᵀ (J M⁻¹Jᵀ)⁻¹ y,   J = ∂y/∂q          Δv = M⁻¹Jᵀ (J M⁻¹Jᵀ)⁻¹ w,   J = ∂w/∂v

the least change by kinetic energy, as `Projection` finds it, by LDLᵀ of M and of J M⁻¹Jᵀ. It serves where M is definite
and constraints are independent; where it fails on the way, or does not serve, `Projection` does the same, slowly.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations
from holdfast.equations.solving.redundant import not_unique
from holdfast.graph.derivatives import jacobian
from holdfast.graph.elimination.factor import factor_sparse
from holdfast.graph.linear_algebra import DefiniteFactor, Pivot, Rows, product, times
from holdfast.graph.nodes import Node
from holdfast.graph.way_back import Correction, WayBack
from holdfast.results.start.term_sizes import deviation_sizes


@remembered
def native_way_back(equations: Equations) -> WayBack | None:
    """The way back as nodes; none where only the long way serves."""
    deviations, program = equations.deviations, equations.problem.program
    usual = len(deviations.y) == len(program.holonomic) and len(deviations.w) == len(program.constraints)
    if (
        not usual
        or program.keep
        or deviations.mixed
        or deviations.degrees
        or deviations.states
        or not_unique(equations.solver)
        or equations.inputs.balls
    ):
        return None
    mass = equations.mass_factor
    if mass is None or not program.constraints or len(program.constraints) > len(equations.coordinates):
        return None
    m, sizes = len(deviations.y), deviation_sizes(equations).own_nodes
    slopes = jacobian(deviations.y, equations.inputs.q)
    moved, apart = _change(equations, mass, slopes, deviations.y)
    quickened, further = _change(equations, mass, deviations.jacobian, deviations.w)
    pivots = tuple({pivot.value: pivot for pivot in (*mass.pivots, *apart, *further)}.values())
    return WayBack(
        Correction(deviations.y, sizes[:m], moved),
        Correction(deviations.w, sizes[m:], quickened),
        equations.field.inputs,
        (*(pivot.value for pivot in pivots), *(pivot.scale for pivot in pivots)),
    )


def _change(
    equations: Equations, mass: DefiniteFactor, rows: Rows, deviation: Sequence[Node]
) -> tuple[tuple[Node, ...], tuple[Pivot, ...]]:
    """M⁻¹Jᵀ (J M⁻¹Jᵀ)⁻¹ z on the graph, and the pivots of what is inverted."""
    graph, n = equations.inputs.graph, len(equations.coordinates)
    if not rows:
        return (graph.zero,) * n, ()
    response: Rows = [{} for _ in range(n)]  # M⁻¹Jᵀ, by rows
    for i, row in enumerate(rows):
        for k, value in mass.solve_sparse(row).items():
            response[k][i] = value
    strength = product(rows, response)
    factor = factor_sparse(strength, graph)
    return tuple(times(response, factor.solve(list(deviation)), graph)), factor.pivots
