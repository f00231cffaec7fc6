"""A tree of bodies as elementary frames, each of which turns about its z, slides along it, or turns freely.

Frames are turned beforehand so that the axis of each step is their z. What a hinge cannot tell apart goes to the frame
that carries it (`regrouped`), exactly: the mass, the first moment along the axis, and a round part of the inertia.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.nodes import Graph, Node
from holdfast.graph.space import (
    AboutZ,
    ByMatrix,
    Mat,
    Still,
    Vec,
    congruent,
    matrix_product,
    minus,
    of_quaternion,
    plus,
    shift_inertia,
    transpose,
    turned_by,
    unit_vectors,
)
from holdfast.problem.bodies.frames import in_space
from holdfast.problem.bodies.joints import GROUND, Step, across
from holdfast.problem.bodies.orientation import rotation
from holdfast.problem.bodies.topology import Link
from holdfast.problem.system import System

GROUND_FRAME = -1


@dataclass(frozen=True, eq=False)
class ElementaryFrame:
    """One step of a joint: how the frame lies in the one before it, how it moves in that place, and what it carries.

    x_before = r + R motion(x) (+ R z q for a slide). m, h, J are mass, first and second moments about its origin.
    """

    before: int
    turn: Mat  # R
    offset: Vec  # r
    kind: str
    motion: Still
    coordinates: tuple[int, ...]  # places among the coordinates of the system
    mass: Node
    first: Vec
    second: Vec

    def place(self, q: list[Node]) -> Vec:
        """The origin, in the frame before."""
        if self.kind != "slide":
            return self.offset
        return plus(self.offset, [row[2] * q[self.coordinates[0]] for row in self.turn])

    def out(self, vector: Vec) -> Vec:
        """A vector in the axes of the frame before."""
        return turned_by(self.turn, self.motion.out(vector))

    def into(self, vector: Vec) -> Vec:
        """A vector of the frame before in the axes of this one."""
        return self.motion.into([_dot_column(self.turn, k, vector) for k in range(3)])


def _dot_column(matrix: Mat, k: int, vector: Vec) -> Node:
    return vector[0].graph.dot([matrix[i][k] for i in range(3)], vector)


@dataclass(frozen=True, eq=False)
class PlacedBody:
    """Where a body is fixed: x_frame = d + A x_body."""

    frame: int
    turn: Mat
    offset: Vec


@dataclass(frozen=True, eq=False)
class FrameTree:
    """All elementary frames, those that carry before those carried, and the place of each body in them."""

    graph: Graph
    frames: tuple[ElementaryFrame, ...]
    bodies: dict[str, PlacedBody]
    gravity: Vec

    @property
    def longest(self) -> int:
        """The most coordinates from the ground to a tip."""
        depth: list[int] = []
        for frame in self.frames:
            depth.append(len(frame.coordinates) + (depth[frame.before] if frame.before >= 0 else 0))
        return max(depth, default=0)


def tree_of(system: System, inputs: Inputs, *, regroup: bool = True) -> FrameTree:
    """The elementary frames of a system's bodies, with inertias gathered, and regrouped unless each body matters."""
    assert system.frames is not None
    return _Growth(system, inputs).tree(regroup)


class _Growth:
    """The tree while links are added to it."""

    def __init__(self, system: System, inputs: Inputs) -> None:
        made = system.frames
        assert made is not None
        self.made, self.inputs, self.graph = made, inputs, inputs.graph
        self.unit, self.nothing = unit_vectors(self.graph), [self.graph.zero] * 3
        self.place = {c.name: k for k, c in enumerate(system.coordinates)}
        self.states = dict(zip(system.states, inputs.s, strict=False))
        self.frames: list[ElementaryFrame] = []
        self.bodies = {GROUND: PlacedBody(GROUND_FRAME, self.unit, self.nothing)}

    def tree(self, regroup: bool) -> FrameTree:
        for link in self.made.layout.links:
            self._add(link)
        gravity = self._vector(in_space(self.made.gravity)) if self.made.gravity else self.nothing
        frames = regrouped(self.frames) if regroup else self.frames
        return FrameTree(self.graph, tuple(frames), self.bodies, gravity)

    def _vector(self, parts: tuple[sp.Expr, ...]) -> Vec:
        return [self.inputs.walk(part) for part in parts]

    def _matrix(self, rows: tuple[tuple[sp.Expr, ...], ...]) -> Mat:
        return [self._vector(row) for row in rows]

    def _add(self, link: Link) -> None:
        carrier, offset_of = self.bodies[link.parent], self.made.frames.offset
        before, turn = carrier.frame, matrix_product(carrier.turn, self._matrix(rotation(link.turn_at_zero)))
        offset = plus(carrier.offset, turned_by(carrier.turn, self._vector(offset_of(link.parent, link.outer))))
        for step in link.steps:
            aligned = self.unit if step.kind == "ball" else self._matrix(across(step.axis))
            zero, round_nothing = self.graph.zero, [self.graph.zero] * 6
            places = tuple(self.place[name] for name in step.coordinates)
            frame = ElementaryFrame(
                before, matrix_product(turn, aligned), offset, step.kind, self._motion(step), places, zero,
                self.nothing, round_nothing,
            )  # fmt: skip
            self.frames.append(frame)
            before, turn, offset = len(self.frames) - 1, transpose(aligned), self.nothing
        inner = self._vector(offset_of(link.body, link.inner))
        self.bodies[link.body] = PlacedBody(before, turn, minus(offset, turned_by(turn, inner)))
        self._load(link.body)

    def _motion(self, step: Step) -> Still:
        if step.kind == "slide":
            return Still()
        if step.kind == "ball":
            return ByMatrix(of_quaternion([self.states[name] for name in step.states]))
        angle = self.inputs.q[self.place[step.coordinates[0]]]
        return AboutZ(self.graph.call("cos", angle), self.graph.call("sin", angle))

    def _load(self, body: str) -> None:
        """Give the frame of a body the body's mass and moments; on the ground they move nothing."""
        placed, stated = self.bodies[body], self.made.bodies[body]
        if placed.frame == GROUND_FRAME:
            return
        mass = self.inputs.walk(stated.mass)
        center = self._vector(in_space(stated.center)) if stated.center is not None else self.nothing
        moments = self._vector(stated.inertia)
        if len(moments) == 1:
            moments = [self.graph.zero, self.graph.zero, *moments, *[self.graph.zero] * 3]
        away = plus(placed.offset, turned_by(placed.turn, center))
        first, second = shift_inertia(away, mass, self.nothing, congruent(placed.turn, moments))
        frame = self.frames[placed.frame]
        self.frames[placed.frame] = replace(
            frame, mass=frame.mass + mass, first=plus(frame.first, first), second=plus(frame.second, second)
        )


def regrouped(frames: list[ElementaryFrame]) -> list[ElementaryFrame]:
    """The same tree with what a step cannot tell apart moved to the frame that carries it.

    A turn about z feels Jzz, Jxx − Jyy, the products and the first moments across z; mass and Jyy ride on the axis. A
    ball feels all but the mass at its centre, a slide all but the second moments. Khalil and Gautier's base parameters,
    by exact sums.
    """
    found = list(frames)
    for i in reversed(range(len(found))):
        frame = found[i]
        zero = frame.mass.graph.zero
        none, round_none = [zero] * 3, [zero] * 6
        xx, yy, zz, xy, xz, yz = frame.second
        if frame.kind == "turn":
            kept = replace(frame, mass=zero, first=[*frame.first[:2], zero], second=[xx - yy, zero, zz, xy, xz, yz])
            mass, first, second = frame.mass, [zero, zero, frame.first[2]], [yy, yy, zero, zero, zero, zero]
        elif frame.kind == "ball":
            kept, mass, first, second = replace(frame, mass=zero), frame.mass, none, round_none
        else:
            kept, mass, first, second = replace(frame, second=round_none), zero, none, frame.second
        found[i] = kept
        if frame.before >= 0:
            carrier = found[frame.before]
            away = turned_by(frame.turn, first)
            first, second = shift_inertia(frame.offset, mass, away, congruent(frame.turn, second))
            found[frame.before] = replace(
                carrier,
                mass=carrier.mass + mass,
                first=plus(carrier.first, first),
                second=plus(carrier.second, second),
            )
    return found
