"""Who holds the program: the directions E of the held forces R = E μ."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.linear_algebra import Rows, transposed
from holdfast.problem.program import Program


def holders_of(program: Program, deviations: Deviations, inputs: Inputs, coordinates: Sequence[str]) -> Rows:
    """E as sparse rows: coordinates by holders, reactions first, then the controls."""
    place = {name: k for k, name in enumerate(coordinates)}
    row = {name: k for k, name in enumerate(program.constraints)}
    columns: Rows = [dict(deviations.jacobian[row[name]]) for name in program.held_by_reaction]
    for direction in program.controls.values():
        entries = {place[name]: inputs.walk(component) for name, component in direction.items() if name in place}
        columns.append({j: node for j, node in entries.items() if not node.is_zero})
    return transposed(columns, len(coordinates))
