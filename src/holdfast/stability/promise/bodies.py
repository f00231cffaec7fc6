"""Which mechanisms of bodies somebody else derives too: proofs of the others say that nobody has re-checked them."""

from __future__ import annotations

from holdfast.problem.quantities import Parameter
from holdfast.problem.system import System

HELD = ("distance", "gear", "rack-and-pinion")  # of the joints that only hold


def turned_freely(system: System) -> str:
    """Why no region is tried of bodies that turn by quaternions: four states each, which no box of Omega holds."""
    made = system.frames
    return "bodies turn by quaternions" if made is not None and made.layout.balls else ""


def unverified_bodies(system: System) -> str:
    """Why the equations of bodies are not derived by the verifier; nothing where they are, or where there are none."""
    made, rows = system.frames, system.rows
    if made is None or rows is None:
        return ""
    for link in made.layout.links:
        joint = made.joints.get(link.joint)
        forward = joint is None or joint.a in (link.parent, link.outer)
        if not forward and any(step.kind == "ball" for step in link.steps):
            return f"the joint {link.joint!r} is led backwards, which nobody else derives"
    if rows.idle:
        return f"the row {rows.idle[0]!r} is left out, which nobody else verifies"
    other = next((name for name in made.layout.held if made.joints[name].kind not in HELD), None)
    if other is not None:
        return f"the rows of {other!r} are written by nobody else"
    for name, body in made.bodies.items():
        parts = (body.mass, *(body.center or ()), *body.inertia)
        if any(not isinstance(s, Parameter) for part in parts for s in system.vocabulary.dependence(part)):
            return f"the inertia of {name!r} changes, which nobody else derives"
    return ""
