"""What bodies and joints give to a system: coordinates, quaternions with their rates, definitions and points."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.parameters import distribute

from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.frames import Frames, ball_rates
from holdfast.problem.bodies.joints import GROUND, Joint
from holdfast.problem.bodies.orientation import Vector
from holdfast.problem.bodies.topology import BodyTree, layout_of
from holdfast.problem.quantities import Coordinate, State
from holdfast.problem.vocabulary import CONSTANT, Vocabulary, by_name

PLACINGS = ("relative", "absolute")
NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*\b(?!\s*\()")  # in a text: not the x of A.x, the e of 1e-3, the sin of sin(a)
NORM_RATE = sp.S.Zero  # of quaternions: turns do not depend on their length


@dataclass(frozen=True, eq=False)
class BodyFrames:
    """Bodies and joints in the words of a system, their tree, and the definitions that follow."""

    bodies: Frozen[Body]
    joints: Frozen[Joint]
    gravity: Vector
    layout: BodyTree
    frames: Frames


def named_bodies(bodies: Any, joints: Any) -> tuple[Frozen[Body], Frozen[Joint]]:
    """Both by name, each of its kind."""
    given, joined = by_name(bodies, where="bodies"), by_name(joints, where="joints")
    for name, body in given.items():
        if not isinstance(body, Body):
            raise BadStatement(f"{body!r} is not a Body", where=f"bodies.{name}", fix="hf.Body(mass=..., ...)")
    for name, joint in joined.items():
        if not isinstance(joint, Joint):
            fix = 'hf.Revolute("ground", "arm", axis=(0, 0, 1)), or another joint'
            raise BadStatement(f"{joint!r} is not a joint", where=f"joints.{name}", fix=fix)
    if joined and not given:
        raise BadStatement("there are joints and no bodies", where="joints", fix="state bodies too")
    return Frozen(given), Frozen(joined)


LONGEST_NAME = 41  # letters


def in_plane(bodies: Mapping[str, Body], gravity: Any) -> bool:
    """Whether the vectors have two components; a mixture is refused by name."""
    listed = isinstance(gravity, Iterable) and not isinstance(gravity, str)
    gravity_size = {len(tuple(gravity))} if listed and tuple(gravity) else set()
    said = {"gravity": gravity_size} | {f"bodies.{name}": body.sizes() for name, body in bodies.items()}
    for where, sizes in said.items():
        for size in sizes - {2, 3}:
            raise BadStatement(f"a vector has two or three components, not {size}", where=where, fix="e.g. (0, 0, 1)")
    plane = [where for where, sizes in said.items() if 2 in sizes]
    space = [where for where, sizes in said.items() if 3 in sizes]
    if plane and space:
        what = f"{plane[0]} is stated in the plane, {space[0]} in space"
        raise BadStatement(what, where=plane[0], fix="give all vectors two components, or all three")
    return bool(plane)


def body_frames(
    bodies: Mapping[str, Body],
    joints: Mapping[str, Joint],
    gravity: Any,
    points: Mapping[str, Vector],
    names: Vocabulary,
    placing: str = "relative",
) -> BodyFrames:
    """Bodies and joints in declared symbols, with all that they name declared beside them."""
    plane = in_plane(bodies, gravity)
    size = 2 if plane else 3
    admitted = {name: body.admitted(names, size, f"bodies.{name}") for name, body in bodies.items()}
    joined = {name: joint.admitted(names, plane, f"joints.{name}") for name, joint in joints.items()}
    layout = layout_of(admitted, joined, points, plane, absolute=placing == "absolute")
    if isinstance(gravity, str) or not isinstance(gravity, Iterable):
        raise BadStatement(f"{gravity!r} is no vector", where="system.gravity", fix="e.g. (0, 0, -9.81)")
    weight = tuple(names.admit(part, CONSTANT, where="system.gravity") for part in gravity)
    _check_points(admitted, points)
    for name in {link.outer for link in layout.links if link.parent == GROUND and link.outer}:
        if len(points[name]) != size:
            where = f"points.{name}"
            raise BadStatement(f"this point has {len(points[name])} components", where=where, fix=f"give {size}")
    with distribute(True):  # as SymPy makes them, also while a file is read
        made = BodyFrames(Frozen(admitted), Frozen(joined), weight, layout, Frames(layout, admitted, points))
    _refuse_long(made)
    _declare(made, names)
    return made


def _refuse_long(made: BodyFrames) -> None:
    """Each name that bodies, joints and points make is short enough to be one."""
    owners = {f"{kind}.{name}": name for kind in ("bodies", "joints") for name in getattr(made, kind)}
    owners |= {f"bodies.{b}.points.{name}": name for b, body in made.bodies.items() for name in body.points}
    states = (name for step in made.layout.balls for name in step.states)
    for name in (*made.layout.coordinates, *states, *made.frames.definitions):
        if len(name) > LONGEST_NAME:
            places = [where for where, owner in owners.items() if name != owner and name.startswith(owner)]
            if places:
                where = max(places, key=lambda place: len(owners[place]))
                require_short(name, owners[where], where)


def require_short(name: str, owner: str, where: str) -> None:
    """Refuse the name of a body, joint or point that makes another one too long."""
    room = LONGEST_NAME - (len(name) - len(owner))
    if len(owner) > room:
        raise BadStatement(
            f"the name {owner!r} is too long: it makes {name!r}", where=where, fix=f"at most {room} letters"
        )


def _check_points(bodies: Mapping[str, Body], points: Mapping[str, Vector]) -> None:
    """Each point has a name of its own."""
    known = {**dict.fromkeys(bodies, "body"), **dict.fromkeys(points, "point")}
    if GROUND in bodies:
        raise BadStatement("the ground is no body of its own", where=f"bodies.{GROUND}", fix="rename the body")
    for name, body in bodies.items():
        for point in body.points:
            if point in known:
                where, fix = f"bodies.{name}.points.{point}", "names are unique within a problem: rename one of them"
                raise BadStatement(f"the name {point!r} is given twice", where=where, fix=fix)
            known[point] = "point"


def _declare(made: BodyFrames, names: Vocabulary) -> None:
    """Take the names: bodies, joints, their coordinates and quaternions, then definitions and points."""
    layout, frames = made.layout, made.frames
    for link in layout.links:
        names.declare_name(link.body, "body", where=f"bodies.{link.body}")
    for link in layout.links:
        for step in link.steps:
            for name in step.coordinates:
                names.declare(Coordinate(name), where=f"joints.{link.joint}")
            for name in step.states:
                names.declare(State(name), where=f"joints.{link.joint}")
    for name in made.joints:
        if name not in layout.coordinates and not made.joints[name].one_row:
            names.declare_name(name, "joint", where=f"joints.{name}")
    for name, expression in frames.definitions.items():
        names.define(name, expression, where="bodies")
    for name, place in frames.points.items():
        if name not in made.bodies:
            names.declare_name(name, "point", where="bodies")
        names.add_point(name, place)


def quaternion_rates(layout: BodyTree, norm_rate: sp.Expr) -> dict[str, sp.Expr]:
    """The first-order states of all ball joints, with their rates."""
    with distribute(True):
        return {name: rate for step in layout.balls for name, rate in ball_rates(step, norm_rate).items()}


def produced_names(made: BodyFrames) -> frozenset[str]:
    """All names that come from bodies and joints."""
    states = (name for step in made.layout.balls for name in step.states)
    return frozenset((*made.layout.coordinates, *states, *made.frames.definitions, *made.frames.points))


def constant_names(stated: Mapping[str, Any], known: Collection[str]) -> set[str]:
    """Of stated expressions, vectors or texts, those that use nothing but known names and each other, in order."""
    found: set[str] = set()
    for name, value in stated.items():
        if all(word in known or word in found or word == "pi" for word in words_in(value)):
            found.add(name)
    return found


def words_in(value: Any) -> set[str]:
    """The names that an expression, a text or a vector of them uses: no functions, components and powers of ten."""
    if isinstance(value, str):
        return {*NAME.findall(value)}
    if isinstance(value, sp.Basic):
        return {symbol.name for symbol in value.free_symbols}
    if isinstance(value, (tuple, list)):
        return {word for part in value for word in words_in(part)}
    return set()
