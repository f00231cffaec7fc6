"""Who holds the program: the directions E of the held forces R = E μ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.linear_algebra import Rows, transposed
from holdfast.graph.nodes import Node
from holdfast.problem.program import Program


def pushed_along(name: str, place: Mapping[str, int], inputs: Inputs) -> dict[int, Node]:
    """What a unit force along a quantity is on the coordinates: 1 for one of them, ∂/∂q of a definition."""
    if name in place:
        return {place[name]: inputs.graph.one}
    if name not in inputs.walk.names or inputs.walk.names[name] in inputs.s:
        return {}  # a first-order state, whose rate it changes
    slopes = inputs.slopes(inputs.walk.names[name])
    return {j: slope for j, slope in enumerate(slopes) if not slope.is_zero}


def holders_of(program: Program, deviations: Deviations, inputs: Inputs, coordinates: Sequence[str]) -> Rows:
    """E as sparse rows: coordinates by holders, reactions first, then the controls."""
    place = {name: k for k, name in enumerate(coordinates)}
    row = {name: k for k, name in enumerate(program.constraints)}
    columns: Rows = [dict(deviations.jacobian[row[name]]) for name in program.held_by_reaction]
    for direction in program.controls.values():
        entries: dict[int, Node] = {}
        for name, component in direction.items():
            size = inputs.walk(component)
            for j, slope in pushed_along(name, place, inputs).items():
                entries[j] = entries[j] + size * slope if j in entries else size * slope
        columns.append({j: entries[j] for j in sorted(entries) if not entries[j].is_zero})
    return transposed(columns, len(coordinates))
