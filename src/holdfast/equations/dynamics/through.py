"""Controls that act through first-order states: a voltage on a current, a valve on a pressure.

    s' = r(q, v, s, t) + B u,      dw/dt = J a + γ + D u,      D = (∂w/∂s) B

A constraint whose rate contains such a state is moved by the control at once, whatever the accelerations do. So D
stands beside J M⁻¹E in what is solved for the controls; everything else is as it is for forces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.program import Program


def split(
    rates: Sequence[Node], names: Sequence[str], inputs: Inputs, program: Program
) -> tuple[tuple[Node, ...], Rows]:
    """What the rates of some constraints are while controls through states rest, and D by columns of the holders.

    No rows at all where no rate contains a control. An error by name where one does and is not linear in it.
    """
    unknown = {node: name for name, node in inputs.controls.items()}
    if not unknown or not any(node in unknown for node in ancestors(rates)):
        return tuple(rates), []
    first = len(program.held_by_reaction)
    column = {name: first + k for k, name in enumerate(program.controls)}
    slopes = jacobian(rates, list(unknown))
    places = [column[name] for name in unknown.values()]
    refuse_bent(names, slopes, inputs)
    resting = substitute(rates, {node: inputs.graph.zero for node in unknown})
    return tuple(resting), [{places[j]: node for j, node in row.items()} for row in slopes]


def refuse_bent(names: Sequence[str], slopes: Rows, inputs: Inputs) -> None:
    """Refuse what is not linear in a control, by name."""
    unknown = {node: name for name, node in inputs.controls.items()}
    for name, row in zip(names, slopes, strict=True):
        bent = [unknown[node] for node in ancestors(row.values()) if node in unknown]
        if bent:
            raise BadStatement(
                f"what the control {bent[0]!r} does to {name!r} is not linear in it",
                where=f"program.controls.{bent[0]}",
                fix="let the rates of states be linear in controls, or let the control itself be such a state",
            )


def together(authority: Rows, through: Rows) -> Rows:
    """J M⁻¹E + D."""
    if not through:
        return authority
    found = [dict(row) for row in authority]
    for row, more in zip(found, through, strict=True):
        for j, node in more.items():
            row[j] = row[j] + node if j in row else node
    return found


def acting_through(inputs: Inputs, values: Mapping[str, Node]) -> dict[Node, Node]:
    """What takes the place of the controls in the rates of states."""
    return {node: values[name] for name, node in inputs.controls.items()}
