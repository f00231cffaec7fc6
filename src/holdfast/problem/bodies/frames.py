"""Where bodies are and how they turn, as definitions of the problem: each body by the one that carries it.

    r_b = r_a + R_a (p_outer + R₀ slides) − R_b p_inner,    R_b = R_a R₀ S₁ S₂ ...,    ω_b = (R₀ S)ᵀ ω_a + axes · rates

where R_a takes components in the axes of a to those of the ground, and S are the turns of the joint. A body B gives the
names B_x, B_y, B_z (its origin), B_r11 ... B_r33 (its axes) and B_wx, B_wy, B_wz (its spin in its own axes); in the
plane B_x, B_y, B_angle and B_w. A point P of a body gives P_x, P_y, P_z.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sympy as sp

from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.joints import GROUND, Step
from holdfast.problem.bodies.orientation import Vector, rotation
from holdfast.problem.bodies.topology import BodyTree, Link
from holdfast.problem.quantities import Coordinate, Definition, State

Matrix = tuple[Vector, ...]
IDENTITY: Matrix = tuple(tuple(sp.Integer(i == j) for j in range(3)) for i in range(3))
NOWHERE: Vector = (sp.S.Zero,) * 3


@dataclass(frozen=True, slots=True)
class Frame:
    """A body's origin and axes, and its spin, in named quantities; in the plane the third components are trivial."""

    place: Vector
    axes: Matrix
    spin: Vector
    angle: sp.Expr = sp.S.Zero

    def at(self, offset: Vector) -> Vector:
        """Where a point of the body is."""
        return added(self.place, times(self.axes, offset))


class Frames:
    """All frames of a layout, and the definitions that they are made of, in order."""

    def __init__(self, layout: BodyTree, bodies: Mapping[str, Body], ground_points: Mapping[str, Vector]) -> None:
        self.layout, self.bodies, self.ground_points = layout, bodies, ground_points
        self.definitions: dict[str, sp.Expr] = {}
        self.found: dict[str, Frame] = {}
        self.points: dict[str, Vector] = {}
        self.found[GROUND] = Frame(NOWHERE, IDENTITY, NOWHERE)
        coordinates = set(self.layout.coordinates)
        for link in self.layout.links:
            self.found[link.body] = self._frame(link, coordinates)
        size = 2 if self.layout.plane else 3
        for body, stated in self.bodies.items():
            frame = self.found[body]
            self.points[body] = frame.place[:size]
            for name, offset in stated.points.items():
                place = frame.at(in_space(offset))
                self.points[name] = self._vector(name, place[:size])

    def offset(self, body: str, point: str) -> Vector:
        """A point in the axes of its body, or of the ground."""
        if not point:
            return NOWHERE
        return in_space(self.ground_points[point] if body == GROUND else self.bodies[body].points[point])

    def _frame(self, link: Link, coordinates: set[str]) -> Frame:
        parent, body = self.found[link.parent], link.body
        axes, spin, angle = parent.axes, parent.spin, parent.angle
        place = parent.at(self.offset(link.parent, link.outer))
        if link.turn_at_zero[1:] != (0, 0, 0):
            matrix: Matrix = rotation(link.turn_at_zero)
            axes, spin = multiplied(axes, matrix), times(transposed(matrix), spin)
            angle = angle + sp.atan2(matrix[1][0], matrix[0][0]) if self.layout.plane else angle
        for step in link.steps:
            value = Coordinate(step.coordinates[0])
            if step.kind == "slide":
                place = added(place, tuple(value * part for part in times(axes, step.axis)))
            elif self.layout.plane:
                sign = step.axis[2]
                angle, spin = angle + sign * value, added(spin, (sp.S.Zero, sp.S.Zero, sign * value.rate))
            else:
                matrix, own = self._turn(step)
                axes, spin = multiplied(axes, matrix), added(times(transposed(matrix), spin), own)
        if self.layout.plane:
            angle = self._named(f"{body}_angle", angle, coordinates)
            axes = _turned_in_plane(angle)
        else:
            axes = tuple(tuple(self._named(f"{body}_r{i + 1}{j + 1}", axes[i][j]) for j in range(3)) for i in range(3))
        place = added(place, tuple(-part for part in times(axes, self.offset(body, link.inner))))
        size = 2 if self.layout.plane else 3
        return Frame(in_space(self._vector(body, place[:size], coordinates)), axes, self._spin(body, spin), angle)

    def _vector(self, name: str, place: Vector, coordinates: set[str] | None = None) -> Vector:
        return tuple(self._named(f"{name}_{c}", part, coordinates) for c, part in zip("xyz", place, strict=False))

    def _spin(self, body: str, spin: Vector) -> Vector:
        if self.layout.plane:
            return (sp.S.Zero, sp.S.Zero, self._named(f"{body}_w", spin[2]))
        return tuple(self._named(f"{body}_w{c}", part) for c, part in zip("xyz", spin, strict=True))

    def _named(self, name: str, value: sp.Expr, coordinates: set[str] | None = None) -> sp.Expr:
        """The quantity of that name: a coordinate, or a definition made here."""
        if coordinates and name in coordinates:
            return Coordinate(name)
        self.definitions[name] = sp.sympify(value)
        return Definition(name)

    def _turn(self, step: Step) -> tuple[Matrix, Vector]:
        """The matrix of a turn or ball, and the spin it adds, in the axes after it."""
        if step.kind == "ball":
            w, x, y, z = p = tuple(State(name) for name in step.states)
            name = f"{step.states[0].removesuffix('_e0')}_scale"
            scale = self._named(name, 2 / (w**2 + x**2 + y**2 + z**2))
            return ball_matrix(p, scale), tuple(Coordinate(name).rate for name in step.coordinates)
        value = Coordinate(step.coordinates[0])
        return axis_matrix(step.axis, sp.cos(value), sp.sin(value)), tuple(part * value.rate for part in step.axis)


def axis_matrix(axis: Vector, c: sp.Expr, s: sp.Expr) -> Matrix:
    """c E + (1 − c) a aᵀ + s [a]."""
    x, y, z = axis
    skew = ((sp.S.Zero, -z, y), (z, sp.S.Zero, -x), (-y, x, sp.S.Zero))
    return tuple(tuple(_entry(axis[i] * axis[j], i == j, skew[i][j], c, s) for j in range(3)) for i in range(3))


def _entry(along: sp.Expr, diagonal: bool, skew: sp.Expr, c: sp.Expr, s: sp.Expr) -> sp.Expr:
    if diagonal and along == 1:
        return sp.S.One
    return along * (1 - c) + c * int(diagonal) + s * skew if along != 0 else c * int(diagonal) + s * skew


def ball_matrix(p: Vector, s: sp.Expr) -> Matrix:
    """R(p), with s = 2/|p|²."""
    w, x, y, z = p
    return (
        (1 - s * (y**2 + z**2), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1 - s * (x**2 + z**2), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x**2 + y**2)),
    )


def ball_rates(step: Step, norm_rate: sp.Expr) -> dict[str, sp.Expr]:
    """p' = p∘ω/2 + κ(1 − |p|²)p/2, so that y = (|p|² − 1)/2 obeys y' = −κ y (1 + 2y)."""
    w, x, y, z = p = tuple(State(name) for name in step.states)
    a, b, c = (Coordinate(name).rate for name in step.coordinates)
    turning = (-x * a - y * b - z * c, w * a + y * c - z * b, w * b - x * c + z * a, w * c + x * b - y * a)
    pull = norm_rate * (1 - w**2 - x**2 - y**2 - z**2)
    return {part.name: rate / 2 + pull * part / 2 for part, rate in zip(p, turning, strict=True)}


def _turned_in_plane(angle: sp.Expr) -> Matrix:
    c, s = sp.cos(angle), sp.sin(angle)
    return ((c, -s, sp.S.Zero), (s, c, sp.S.Zero), (sp.S.Zero, sp.S.Zero, sp.S.One))


def in_space(vector: Vector) -> Vector:
    """A vector of the plane with a third component 0."""
    return (*vector, sp.S.Zero) if len(vector) == 2 else vector


def added(a: Vector, b: Vector) -> Vector:
    return tuple(p + q for p, q in zip(a, b, strict=True))


def times(matrix: Matrix, vector: Vector) -> Vector:
    return tuple(sp.Add(*(entry * part for entry, part in zip(row, vector, strict=True))) for row in matrix)


def transposed(matrix: Matrix) -> Matrix:
    return tuple(zip(*matrix, strict=True))


def multiplied(a: Matrix, b: Matrix) -> Matrix:
    columns = transposed(b)
    return transposed(tuple(times(a, column) for column in columns))
