"""Masses and bias of a tree of bodies, by composite inertias and by Newton and Euler's equations without accelerations.

    M_ij    the moment (or force) along step j of the momentum that a unit rate of step i beyond it gives
    −h      what the steps must push while none of them accelerates; weight is a ground that accelerates upward

Both grow with the square of the number of steps along a chain, and with its length otherwise. Featherstone, Rigid Body
Dynamics Algorithms (2008), sections 5 and 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.equations.dynamics.bodies.tree import GROUND_FRAME, ElementaryFrame, FrameTree
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.graph.space import Mat, Vec, congruent, cross, dot, full, plus, scaled, shift_inertia, turned_by


@dataclass(frozen=True, eq=False)
class Velocities:
    """Of each frame, in its own axes: the spin, and the velocity of its origin."""

    spin: dict[int, Vec]
    origin: dict[int, Vec]


def velocities(tree: FrameTree, q: list[Node], v: list[Node]) -> Velocities:
    """From the ground outward."""
    nothing = [tree.graph.zero] * 3
    spin, origin = {GROUND_FRAME: nothing}, {GROUND_FRAME: nothing}
    for i, frame in enumerate(tree.frames):
        w = frame.into(spin[frame.before])
        u = frame.into(plus(origin[frame.before], cross(spin[frame.before], frame.place(q))))
        rates = [v[place] for place in frame.coordinates]
        if frame.kind == "turn":
            w = [w[0], w[1], w[2] + rates[0]]
        elif frame.kind == "slide":
            u = [u[0], u[1], u[2] + rates[0]]
        else:
            w = plus(w, rates)
        spin[i], origin[i] = w, u
    return Velocities(spin, origin)


def kinetic_energy(tree: FrameTree, q: list[Node], v: list[Node]) -> Node:
    """T = Σ m u²/2 + u·(ω × h) + ω·Jω/2."""
    motion, half = velocities(tree, q, v), tree.graph.one / 2
    terms = []
    for i, frame in enumerate(tree.frames):
        w, u = motion.spin[i], motion.origin[i]
        turning = dot(w, turned_by(full(frame.second), w))
        terms.append(half * (frame.mass * dot(u, u) + turning) + dot(u, cross(w, frame.first)))
    return tree.graph.sum(terms)


def bias(tree: FrameTree, q: list[Node], v: list[Node]) -> dict[int, Node]:
    """h by the place of each coordinate: what drives it while nothing accelerates."""
    found: dict[int, Node] = {}
    for frame, (force, moment) in zip(tree.frames, wrenches(tree, q, v), strict=True):
        felt = _felt(frame.kind, force, moment)
        found |= {place: -push for place, push in zip(frame.coordinates, felt, strict=True)}
    return found


@dataclass(frozen=True, eq=False)
class FrameMotion:
    """Of each frame, in its own axes: ω, ω', the acceleration of its origin, and ω' × + ω × ω ×."""

    spin: dict[int, Vec]
    turning: dict[int, Vec]
    lift: dict[int, Vec]
    around: dict[int, Mat]


def resting_motion(tree: FrameTree, q: list[Node], v: list[Node], a: Sequence[Node] | None = None) -> FrameMotion:
    """The motion while coordinates accelerate by `a`, not at all if left out, on a ground that accelerates upward."""
    nothing = [tree.graph.zero] * 3
    lift = {GROUND_FRAME: scaled(tree.graph.minus_one, tree.gravity)}
    motion = FrameMotion({GROUND_FRAME: nothing}, {GROUND_FRAME: nothing}, lift, {})
    for i, frame in enumerate(tree.frames):
        _accelerate(i, frame, q, v, a, motion.spin, motion.turning, motion.lift, motion.around)
    return motion


def wrenches(tree: FrameTree, q: list[Node], v: list[Node], a: Sequence[Node] | None = None) -> list[tuple[Vec, Vec]]:
    """Of each frame, the force and moment that it passes on to all that it carries, about its origin, in its axes.

    Weight is in it, as a ground that accelerates upward; `a` are the accelerations of coordinates, none if left out.
    """
    motion, n = resting_motion(tree, q, v, a), len(tree.frames)
    forces: list[Vec] = []
    moments: list[Vec] = []
    for i, frame in enumerate(tree.frames):
        h, w, lift = frame.first, motion.spin[i], motion.lift[i]
        forces.append(plus(scaled(frame.mass, lift), turned_by(motion.around[i], h)))
        inertia = full(frame.second)
        moments.append(plus(turned_by(inertia, motion.turning[i]), cross(w, turned_by(inertia, w)), cross(h, lift)))
    for i in reversed(range(n)):
        frame = tree.frames[i]
        if frame.before >= 0:
            force, moment = frame.out(forces[i]), frame.out(moments[i])
            forces[frame.before] = plus(forces[frame.before], force)
            moments[frame.before] = plus(moments[frame.before], moment, cross(frame.place(q), force))
    return list(zip(forces, moments, strict=True))


def _accelerate(
    i: int,
    frame: ElementaryFrame,
    q: list[Node],
    v: list[Node],
    pushed: Sequence[Node] | None,
    spin: dict[int, Vec],
    turning: dict[int, Vec],
    lift: dict[int, Vec],
    around: dict[int, Mat],
) -> None:
    """Spin, its rate and the acceleration of the origin of one frame."""
    before, zero = frame.before, frame.mass.graph.zero
    w, dw = frame.into(spin[before]), frame.into(turning[before])
    up = lift[before] if before < 0 else plus(lift[before], turned_by(around[before], frame.place(q)))
    a = frame.into(up)
    rates = [v[place] for place in frame.coordinates]
    if frame.kind == "turn":
        dw = [dw[0] + w[1] * rates[0], dw[1] - w[0] * rates[0], dw[2]]
        w = [w[0], w[1], w[2] + rates[0]]
    elif frame.kind == "slide":
        a = plus(a, scaled(2 * rates[0], [w[1], -w[0], zero]))
    else:
        dw, w = plus(dw, cross(w, rates)), plus(w, rates)
    if pushed is not None:
        own = [pushed[place] for place in frame.coordinates]
        if frame.kind == "slide":
            a = [a[0], a[1], a[2] + own[0]]
        else:
            dw = plus(dw, own if frame.kind == "ball" else [zero, zero, own[0]])
    spin[i], turning[i], lift[i] = w, dw, a
    xx, yy, zz, xy, xz, yz = w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]
    around[i] = [
        [-(yy + zz), xy - dw[2], xz + dw[1]],
        [xy + dw[2], -(xx + zz), yz - dw[0]],
        [xz - dw[1], yz + dw[0], -(xx + yy)],
    ]  # ω' × and ω × (ω ×


def mass_matrix(tree: FrameTree, q: list[Node], size: int) -> Rows:
    """M as sparse rows, for all coordinates of the system."""
    frames = tree.frames
    mass = [frame.mass for frame in frames]
    first, second = [frame.first for frame in frames], [frame.second for frame in frames]
    rows: Rows = [{} for _ in range(size)]
    for i in reversed(range(len(frames))):
        frame = frames[i]
        for column, (force, moment) in enumerate(_momenta(frame.kind, mass[i], first[i], second[i])):
            _along(tree, q, i, column, force, moment, rows)
        if frame.before >= 0:
            p, r = frame.before, frame.place(q)
            h = frame.out(first[i])
            inertia = congruent(frame.turn, frame.motion.out_symmetric(second[i]))
            h, inertia = shift_inertia(r, mass[i], h, inertia)
            mass[p], first[p] = mass[p] + mass[i], plus(first[p], h)
            second[p] = plus(second[p], inertia)
    return [{j: row[j] for j in sorted(row) if not row[j].is_zero} for row in rows]


def _momenta(kind: str, mass: Node, h: Vec, second: Vec) -> list[tuple[Vec, Vec]]:
    """Momentum and its moment that a unit rate of each coordinate of a step gives to all that it carries."""
    zero = mass.graph.zero
    xx, yy, zz, xy, xz, yz = second
    if kind == "slide":
        return [([zero, zero, mass], [h[1], -h[0], zero])]
    about = [
        ([zero, -h[2], h[1]], [xx, xy, xz]),
        ([h[2], zero, -h[0]], [xy, yy, yz]),
        ([-h[1], h[0], zero], [xz, yz, zz]),
    ]
    return about[2:] if kind == "turn" else about


def _along(tree: FrameTree, q: list[Node], i: int, column: int, force: Vec, moment: Vec, rows: Rows) -> None:
    """Enter what one momentum is along every step from its own back to the ground."""
    frame = tree.frames[i]
    own = frame.coordinates[column]
    at = i
    while True:
        felt = _felt(tree.frames[at].kind, force, moment)
        for place, value in zip(tree.frames[at].coordinates, felt, strict=True):
            if at != i or place >= own:
                rows[own][place] = rows[place][own] = value
        before = tree.frames[at].before
        if before < 0:
            return
        step = tree.frames[at]
        force = step.out(force)
        moment = plus(step.out(moment), cross(step.place(q), force))
        at = before


def _felt(kind: str, force: Vec, moment: Vec) -> list[Node]:
    return [force[2]] if kind == "slide" else [moment[2]] if kind == "turn" else moment
