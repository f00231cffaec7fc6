"""Bodies and joints as they are stated: what each weighs, and what carries it."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from holdfast.equations.writing.text import formula as latex
from holdfast.page.facts import PageFacts, spoken
from holdfast.page.markup.html import Child, Markup, details, element, joined, paragraph, table
from holdfast.page.markup.mathml import mathml
from holdfast.problem.bodies.topology import Link
from holdfast.problem.system import System

MOST_BODIES = 12  # in the table at once


def stated_bodies(subject: PageFacts) -> Markup:
    """A table of bodies; nothing where none are stated."""
    system = subject.problem.system
    if system.frames is None:
        return Markup("")
    layout = system.frames.layout
    rows = [_row(link, system) for link in layout.links]
    head: list[Child] = ["body", "mass", "centre of mass", "moments of inertia", "carried by", "coordinates"]
    said = [_weight(system.gravity)]
    if layout.cut:
        where = ", ".join(spoken(name) for name in layout.cut)
        said.append(f"Loops are cut open at {where}, and closed by rows of the program.")
    if layout.balls:
        said.append(
            "A ball joint turns by a quaternion (e0, e1, e2, e3); its rates are the spin in the axes of the body."
        )
    shown = table(head, rows[:MOST_BODIES])
    rest = rows[MOST_BODIES:]
    more = details(f"The further {len(rest)} bodies", table(head, rest)) if rest else None
    return joined(element("h3", "Bodies and joints"), shown, more, *(paragraph(s, class_="quiet") for s in said if s))


def _row(link: Link, system: System) -> list[Child]:
    body = system.bodies[link.body]
    moments = body.inertia if any(body.inertia[3:]) else body.inertia[:3]
    joint = system.joints.get(link.joint)
    by = f" by {spoken(link.joint)}, {joint.kind}" if joint is not None else ", free"
    names = [name for step in link.steps for name in step.coordinates if step.kind != "ball"]
    names += [name for step in link.steps for name in step.states]
    return [
        spoken(link.body),
        mathml(latex(body.mass)),
        _vector(body.center) if body.center is not None else "",
        _vector(moments),
        f"{spoken(link.parent)}{by}",
        ", ".join(names),
    ]


def _vector(parts: Sequence[sp.Expr]) -> Markup:
    if len(parts) == 1:
        return mathml(latex(parts[0]))
    return mathml(rf"\left({', '.join(latex(part) for part in parts)}\right)")


def _weight(gravity: Sequence[sp.Expr]) -> str:
    return "" if any(gravity) else "There is no gravity."
