"""The tree that joints make of bodies: who is carried by whom, and which joints close loops and are cut.

Of all trees the one with the fewest freedoms is taken, joints in the order stated where that does not decide: then
there are the fewest coordinates, and the fewest rows for the joints that are cut. Bodies that no joint leads to are
free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.joints import GROUND, Free, Joint, Step, TreeJoint, conjugate, reversed_steps
from holdfast.problem.bodies.orientation import Vector, rotation


@dataclass(frozen=True, slots=True)
class End:
    """One end of a joint: a body (or the ground) and a point on it, "" for its origin."""

    body: str
    point: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A body of the tree, the body that carries it, and the motion between a point of one and a point of the other."""

    body: str
    joint: str  # whose name the coordinates have; the body's own where no joint is stated
    parent: str
    outer: str  # the point of the parent
    inner: str  # the point of the body
    turn_at_zero: Vector
    steps: tuple[Step, ...]
    backward: bool = False  # whether the joint names the body that it carries first


@dataclass(frozen=True, slots=True)
class BodyTree:
    """Bodies as a tree, parents first, and what is no joint of it: joints that are cut, and those that only hold."""

    plane: bool
    links: tuple[Link, ...] = ()
    cut: tuple[str, ...] = ()
    held: tuple[str, ...] = ()

    @property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(name for link in self.links for step in link.steps for name in step.coordinates)

    @property
    def balls(self) -> tuple[Step, ...]:
        """The steps whose rates are spins."""
        return tuple(step for link in self.links for step in link.steps if step.kind == "ball")

    def __str__(self) -> str:
        cut = f"; cut open at {', '.join(self.cut)}" if self.cut else ""
        carried = [f"{link.body} on {link.parent}" + _by(link) for link in self.links]
        return ", ".join(carried) + cut


def _by(link: Link) -> str:
    return " (free)" if link.joint == link.body else f" by {link.joint}"


def end_of(name: str, bodies: Mapping[str, Body], ground_points: Collection[str], where: str) -> End:
    """The body and the point that one end of a joint names."""
    if name == GROUND:
        return End(GROUND)
    if name in bodies:
        return End(name)
    for body, stated in bodies.items():
        if name in stated.points:
            return End(body, name)
    if name in ground_points:
        return End(GROUND, name)
    known = [GROUND, *bodies, *(p for b in bodies.values() for p in b.points), *ground_points]
    fix = did_you_mean(name, known, "known: " + ", ".join(known[:24]))
    raise BadStatement(f"{name!r} is no body, no point of one, and no point that stands still", where=where, fix=fix)


def layout_of(
    bodies: Mapping[str, Body],
    joints: Mapping[str, Joint],
    ground_points: Collection[str],
    plane: bool,
    *,
    absolute: bool = False,
) -> BodyTree:
    """The tree of fewest freedoms; `absolute`, every body free and every joint cut."""
    ends = {
        name: tuple(end_of(end, bodies, ground_points, f"joints.{name}.between") for end in (joint.a, joint.b))
        for name, joint in joints.items()
        if isinstance(joint, TreeJoint)
    }
    for name, (a, b) in ends.items():
        if a.body == b.body:
            what = f"both ends of {name!r} are on {a.body!r}"
            raise BadStatement(what, where=f"joints.{name}", fix="a joint joins two bodies, or one to the ground")
    taken = set() if absolute else _spanning(bodies, joints, ends, plane)
    cut = tuple(name for name in ends if name not in taken and joints[name].freedoms[plane] < (3 if plane else 6))
    held = tuple(name for name in joints if name not in ends)
    return BodyTree(plane, _links(bodies, joints, ends, taken, plane), cut, held)


def _spanning(
    bodies: Mapping[str, Body], joints: Mapping[str, Joint], ends: Mapping[str, tuple[End, ...]], plane: bool
) -> set[str]:
    """The joints of the tree, by Kruskal's rule: fewest freedoms first."""
    group = {name: name for name in (GROUND, *bodies)}

    def root(name: str) -> str:
        while group[name] != name:
            group[name] = group[group[name]]
            name = group[name]
        return name

    taken = set()
    for name in sorted(ends, key=lambda joint: joints[joint].freedoms[plane]):
        a, b = (root(end.body) for end in ends[name])
        if a != b:
            group[b] = a
            taken.add(name)
    return taken


def _links(
    bodies: Mapping[str, Body],
    joints: Mapping[str, Joint],
    ends: Mapping[str, tuple[End, ...]],
    taken: Collection[str],
    plane: bool,
) -> tuple[Link, ...]:
    """Bodies from the ground outward, along each branch first; free ones where no joint leads."""
    around: dict[str, list[tuple[str, End, End]]] = {name: [] for name in (GROUND, *bodies)}
    for name, (a, b) in ends.items():
        if name in taken:
            around[a.body].append((name, a, b))
            around[b.body].append((name, b, a))
    links: list[Link] = []
    seen = {GROUND}

    def grow(start: str) -> None:
        waiting = list(reversed(around[start]))
        while waiting:
            name, near, far = waiting.pop()
            if far.body in seen:
                continue
            seen.add(far.body)
            links.append(_link(name, joints[name], near, far, joints[name].a in (near.body, near.point), plane))
            waiting.extend(reversed(around[far.body]))

    grow(GROUND)
    for body in bodies:
        if body not in seen:
            seen.add(body)
            free = Free(GROUND, body)
            links.append(Link(body, body, GROUND, "", "", free.turn_at_zero, free.steps(body, plane)))
            grow(body)
    return tuple(links)


def _link(name: str, joint: Joint, near: End, far: End, forward: bool, plane: bool) -> Link:
    assert isinstance(joint, TreeJoint)
    steps, turn = joint.steps(name, plane), joint.turn_at_zero
    if not forward:
        return _backward(name, steps, turn, near, far)
    return Link(far.body, name, near.body, near.point, far.point, turn, steps)


def _backward(name: str, steps: tuple[Step, ...], turn: Vector, near: End, far: End) -> Link:
    """The joint from its second body to its first: the steps come before the turn at zero, so axes are turned too."""
    matrix = rotation(turn)

    def seen(axis: Vector) -> Vector:
        return tuple(sum(entry * part for entry, part in zip(row, axis, strict=True)) for row in matrix)

    moved = tuple(
        step if step.kind == "ball" else replace(step, axis=seen(step.axis)) for step in reversed_steps(steps)
    )
    return Link(far.body, name, near.body, near.point, far.point, conjugate(turn), moved, backward=True)
