"""A second order of elimination for loops of bodies, kept where it takes fewer operations: branch by branch.

It is no way to derive equations, for it loses its pivots where a branch is stretched out though nothing is lost
(decision 0013). So it serves long runs only: one that ends in it is run again by the equations themselves. And it is
taken only where quaternions turn bodies, and what takes it is never called proved: proofs bound the rounding of the
operations that run.
"""

from __future__ import annotations

from dataclasses import replace

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations
from holdfast.equations.solving.solver import Reduced
from holdfast.graph.branched import branched_solver, branches_of
from holdfast.graph.field import Field
from holdfast.graph.nodes import operation_count

UNBOUNDED = "it is run branch by branch, an order of elimination whose rounding is not bounded"
FEWER = 0.8  # of the operations: below that, another kernel and another order are worth their while
LEAST = 2  # branches: one alone saves nothing


@remembered
def quick_field(equations: Equations) -> Field | None:
    """dx/dt with accelerations found branch by branch, watched by pivots of its own; none where that does not serve."""
    if not _suits(equations):
        return None
    solution, field, inputs = equations.solution, equations.field, equations.inputs
    branches = branches_of(equations.dynamics.mass, equations.deviations.jacobian)
    if len(branches) < LEAST:
        return None
    solver = branched_solver(equations.dynamics.mass, equations.deviations.jacobian, branches, inputs.graph)
    forces = [h - m for h, m in zip(solution.bias, solution.excess_bias, strict=True)]
    a, _ = solver(forces, [y - d for y, d in zip(solution.demand, solution.drift, strict=True)])
    pivots, scales = [p.value for p in solver.pivots], [p.scale for p in solver.pivots]
    rates = (*inputs.v, *a, *inputs.state_rates)
    if operation_count((*rates, *scales)) > FEWER * operation_count((*field.rates, *field.scales)):
        return None
    return replace(field, rates=rates, pivots=tuple(pivots), scales=tuple(scales))


def _suits(equations: Equations) -> bool:
    """Whether bodies that turn freely are held by reactions alone, under definite masses."""
    plain = isinstance(equations.solver, Reduced) and not equations.solver.weights
    moved = equations.friction is not None or equations.effort is not None or equations.problem.program.controls
    through = equations.deviations.through or equations.deviations.extensions or equations.dynamics.points
    return bool(plain and equations.inputs.balls and not moved and not through and equations.dynamics.symmetric)
