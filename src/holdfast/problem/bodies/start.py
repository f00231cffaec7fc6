"""Where bodies start: what they say of themselves, and start values that come several at a time.

    start={"foot": hf.turned("x", sp.pi/6), "foot_spin": (0.3, -0.2, 20)}

The quaternion of a ball joint is made of length 1; where nothing is said, it turns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.joints import Step
from holdfast.problem.bodies.orientation import components, quaternion, unit_quaternion
from holdfast.problem.bodies.topology import Link

if TYPE_CHECKING:
    from holdfast.problem.system import System

SPIN = "_spin"
ROUGH = 1e-3  # a stated quaternion whose length is further from 1 than this is not meant as one


def with_body_start(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """The start by single names: stated values first, then what bodies say."""
    if system.frames is None:
        return dict(given)
    found = by_component(system, given)
    for link in system.frames.layout.links:
        said = _said(link, system.bodies[link.body], system.frames.layout.plane)
        found = {**{name: value for name, value in said.items() if name not in found}, **found}
    for step in system.frames.layout.balls:
        _check_length(step, found)
    return found


def by_component(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values by single names, where some were given as the turn or the spin of a joint."""
    links = () if system.frames is None else system.frames.layout.links
    balls = {link.joint: step for link in links for step in link.steps if step.kind == "ball"}
    backward = {link.joint: link for link in links if link.backward and link.joint in balls}
    found: dict[str, Any] = {}
    for name, value in given.items():
        joint = name.removesuffix(SPIN)
        if joint in backward:
            _refuse_backward(backward[joint], f"start.{name}")
        if name in balls:
            found |= _turned(balls[name], value, f"start.{name}")
        elif joint in balls and name != joint:
            parts = components(value, 3, f"start.{name}")
            found |= {f"{c}_dot": part for c, part in zip(balls[joint].coordinates, parts, strict=True)}
        else:
            found[name] = value
    return found


def _refuse_backward(link: Link, where: str) -> None:
    """Of a ball joint that names first what it carries, a turn could be that of either body."""
    ball = next(step for step in link.steps if step.kind == "ball")
    raise BadStatement(
        f"{link.joint!r} leads to {link.body!r}, which it names first: whose turn this is can be read in two ways",
        where=where,
        fix=f"name {link.parent!r} first in the joint, or state {', '.join(ball.states)} of {link.body!r}",
    )


def quaternions_at_rest(system: System, stated: Mapping[str, Any]) -> dict[str, float]:
    """What turns nothing, for the quaternions that nothing is said of."""
    layout = system.frames.layout if system.frames is not None else None
    balls = layout.balls if layout is not None else ()
    return {step.states[0]: 1.0 for step in balls if not any(name in stated for name in step.states)}


def _turned(step: Step, value: Any, where: str) -> dict[str, Any]:
    return dict(zip(step.states, unit_quaternion(quaternion(value, False, where)), strict=True))


def _check_length(step: Step, found: Mapping[str, Any]) -> None:
    """Refuse a stated quaternion that is plainly not of length 1."""
    stated = [found[name] for name in step.states if name in found]
    if not stated:
        return
    numbers = [sp.sympify(value) for value in stated if not isinstance(value, str)]
    if len(numbers) == len(stated) and all(value.is_number for value in numbers):
        length = float(sp.sqrt(sum(value**2 for value in numbers)))
        if not abs(length - 1) <= ROUGH:
            joint = step.states[0].removesuffix("_e0")
            what = f"the quaternion of {joint!r} has length {length:.6g}, and 1 is asked for"
            raise BadStatement(
                what, where=f"start.{step.states[0]}", fix=f"start {joint} = (w, x, y, z), of any length"
            )


def _said(link: Link, body: Body, plane: bool) -> dict[str, Any]:
    """What a free body says of its start; one that is carried starts by its joint's coordinates."""
    stated = [key for key in ("position", "orientation", "velocity", "spin") if getattr(body, key) is not None]
    if not stated:
        return {}
    if link.joint != link.body:
        turns = (link.joint, f"{link.joint}{SPIN}")  # of a ball: its coordinates are values that nothing depends on
        names = [name for step in link.steps for name in (turns if step.kind == "ball" else step.coordinates)]
        raise BadStatement(
            f"{link.body!r} is carried by the joint {link.joint!r}, which says where it is",
            where=f"bodies.{link.body}.{stated[0]}",
            fix=f"state {', '.join(names)} in the start instead" if names else "leave it out",
        )
    places = [step.coordinates[0] for step in link.steps if step.kind == "slide"]
    found: dict[str, Any] = dict(zip(places, body.position or (), strict=False))
    found |= {f"{name}_dot": part for name, part in zip(places, body.velocity or (), strict=False)}
    last = link.steps[-1]
    if body.spin is not None:
        found |= {f"{name}_dot": part for name, part in zip(last.coordinates, body.spin, strict=True)}
    if body.orientation is not None:
        if plane:
            w, _, _, z = body.orientation
            found[last.coordinates[0]] = 2 * sp.atan2(z, w)
        else:
            found |= dict(zip(last.states, unit_quaternion(body.orientation), strict=True))
    return found
