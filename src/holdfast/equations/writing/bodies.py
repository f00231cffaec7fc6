"""Bodies in words: what carries each, and where loops were cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.graph.nodes import operation_count
from holdfast.problem.bodies.joints import GROUND
from holdfast.problem.system import System

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations


READABLE = 150  # operations of M, h and J of bodies that are written out as formulas


def unread_operations(equations: Equations) -> int:
    """How many operations M, h and J of bodies take, where these are more than anybody reads; else 0."""
    if equations.dynamics.bodies is None:
        return 0
    entries = [
        n for rows in (equations.dynamics.mass, equations.deviations.jacobian) for row in rows for n in row.values()
    ]
    count = operation_count([*entries, *equations.dynamics.bias])
    return count if count > READABLE else 0


def body_lines(system: System) -> Iterator[str]:
    """One line a body, then one for the joints that are cut, and one for those that only hold."""
    made = system.frames
    if made is None:
        return
    for link in made.layout.links:
        names = [name for step in link.steps for name in step.coordinates]
        names += [name for step in link.steps for name in step.states]
        joint = made.joints.get(link.joint)
        how = f"by {link.joint}, {joint.kind}" if joint is not None else "free"
        moves = f": {', '.join(names)}" if names else ""
        where = "the ground" if link.parent == GROUND else link.parent
        yield f"{link.body} on {where} {how}{moves}"
    rows = system.rows
    for verb, listed in (("cut to open a loop", made.layout.cut), ("holds", made.layout.held)):
        for name in listed:
            whole = [row for row, owner in rows.owners.items() if owner == name] if rows is not None else []
            own = [row for row in whole if rows is not None and row not in rows.idle]
            idle = f"{'; ' if own else ''}kept by the rest already: {', '.join(r for r in whole if r not in own)}"
            yield f"{name}, {made.joints[name].kind}, {verb}: {', '.join(own)}{idle if len(own) < len(whole) else ''}"
