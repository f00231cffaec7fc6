"""Joints as data: which steps lead from the first body to the second, and which rows hold what is no step.

Every motion of a joint is a sequence of elementary steps, in the axes of the second body:

    turn     about an axis by an angle                     one coordinate
    slide    along an axis by a length                     one coordinate
    ball     any turn, by a quaternion whose rates follow from the spin in the axes of the second body:
             three coordinates, whose values nothing depends on, and four first-order states

so that a kind of joint is one entry here and nothing elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadStatement
from holdfast.problem.bodies.orientation import UNIT, Vector, components, quaternion, rotation, unit_axis
from holdfast.problem.vocabulary import CONSTANT, Vocabulary

GROUND = "ground"
X, Y, Z = ((sp.S.One, sp.S.Zero, sp.S.Zero), (sp.S.Zero, sp.S.One, sp.S.Zero), (sp.S.Zero, sp.S.Zero, sp.S.One))


@dataclass(frozen=True, slots=True)
class Step:
    """One elementary motion: "turn", "slide" or "ball", with the names that it gives."""

    kind: str
    axis: Vector
    coordinates: tuple[str, ...]
    states: tuple[str, ...] = ()


def turn(axis: Vector, name: str) -> Step:
    return Step("turn", axis, (name,))


def slide(axis: Vector, name: str) -> Step:
    return Step("slide", axis, (name,))


def ball(name: str) -> Step:
    return Step("ball", (), tuple(f"{name}_turn_{c}" for c in "xyz"), tuple(f"{name}_e{k}" for k in range(4)))


@dataclass(frozen=True, slots=True)
class Joint:
    """What joins `a` and `b`: bodies, points on them, points of the ground, or "ground" itself.

    `orientation` is that of b in the axes of a where the coordinates of the joint are 0.
    """

    kind: ClassVar[str] = ""
    one_row: ClassVar[bool] = False  # whether it gives one row, which has the joint's name
    freedoms: ClassVar[tuple[int, int]] = (0, 0)  # in space, in the plane
    a: str
    b: str

    def admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        """This joint in the words of a system, checked."""
        for end in (self.a, self.b):
            if not isinstance(end, str):
                raise BadStatement(f"{end!r} is no name", where=where, fix='name bodies or points: ("ground", "arm")')
        if self.a == self.b:
            raise BadStatement(f"{self.a!r} is joined to itself", where=where, fix="name two bodies or points")
        return self._admitted(names, plane, where)

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        return self

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        """The motion from a to b."""
        return ()

    def stated(self) -> dict[str, Any]:
        """What differs from the defaults, beside its ends."""
        known = [entry for entry in fields(self) if entry.name not in ("a", "b")]
        return {e.name: value for e in known if (value := getattr(self, e.name)) != e.default and value is not None}


@dataclass(frozen=True, slots=True)
class TreeJoint(Joint):
    """A joint that has an orientation at zero, and perhaps an axis in the axes of b."""

    orientation: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        found: Any = self
        if self.orientation is not None:
            parts = quaternion(self.orientation, plane, f"{where}.orientation")
            parts = tuple(names.admit(part, CONSTANT, where=f"{where}.orientation") for part in parts)
            found = replace(found, orientation=None if parts == UNIT else parts)
        for key in ("axis", "axis2"):
            if hasattr(self, key):
                found = replace(found, **{key: self._direction(getattr(self, key), plane, f"{where}.{key}")})
        return found

    def _direction(self, axis: Any, plane: bool, where: str) -> Vector:
        if plane and self.kind in ("revolute", "planar"):
            if axis not in (None, "z", Z):
                fix = "leave the axis out: it is across the plane"
                raise BadStatement("in the plane things turn about z", where=where, fix=fix)
            return Z
        if axis is None:
            raise BadStatement(f"a {self.kind} joint needs an axis", where=where, fix="e.g. axis=(0, 0, 1)")
        if plane and not isinstance(axis, str) and len(tuple(axis)) == 2:
            axis = (*components(axis, 2, where), 0)
        found = unit_axis(axis, where)
        if plane and found[2] != 0:
            raise BadStatement("this axis leaves the plane", where=where, fix="e.g. axis=(1, 0)")
        return found

    @property
    def turn_at_zero(self) -> Vector:
        return UNIT if self.orientation is None else self.orientation


@clear_arguments
@dataclass(frozen=True, slots=True)
class Revolute(TreeJoint):
    """A hinge: b turns about `axis` (in the axes of b) by the coordinate of the joint's name.

    >>> Revolute("ground", "arm", axis=(0, 0, 1)).kind
    'revolute'
    """

    kind: ClassVar[str] = "revolute"
    freedoms: ClassVar[tuple[int, int]] = (1, 1)
    axis: Any = None

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        return (turn(self.axis, name),)


@clear_arguments
@dataclass(frozen=True, slots=True)
class Prismatic(TreeJoint):
    """A slider: b moves along `axis` by the coordinate of the joint's name."""

    kind: ClassVar[str] = "prismatic"
    freedoms: ClassVar[tuple[int, int]] = (1, 1)
    axis: Any = None

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        return (slide(self.axis, name),)


@clear_arguments
@dataclass(frozen=True, slots=True)
class Cylindrical(TreeJoint):
    """A sleeve: b turns about `axis` by NAME and slides along it by NAME_slide."""

    kind: ClassVar[str] = "cylindrical"
    freedoms: ClassVar[tuple[int, int]] = (2, 2)
    axis: Any = None

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        if plane:
            raise BadStatement("a sleeve needs space", where=f"joints.{name}", fix="use Prismatic in the plane")
        return (slide(self.axis, f"{name}_slide"), turn(self.axis, name))


@clear_arguments
@dataclass(frozen=True, slots=True)
class Universal(TreeJoint):
    """A cross: a turn about `axis` by NAME_1, then about `axis2` by NAME_2."""

    kind: ClassVar[str] = "universal"
    freedoms: ClassVar[tuple[int, int]] = (2, 2)
    axis: Any = "x"
    axis2: Any = "y"

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        found: Any = TreeJoint._admitted(self, names, plane, where)
        if abs(sp.Add(*(p * q for p, q in zip(found.axis, found.axis2, strict=True)))) == 1:
            what, fix = "both axes are the same: one turn would do", "give axes across each other, or use Revolute"
            raise BadStatement(what, where=f"{where}.axis2", fix=fix)
        return found

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        if plane:
            raise BadStatement("a universal joint needs space", where=f"joints.{name}", fix="use Revolute in the plane")
        return (turn(self.axis, f"{name}_1"), turn(self.axis2, f"{name}_2"))


@clear_arguments
@dataclass(frozen=True, slots=True)
class Spherical(TreeJoint):
    """A ball joint: b turns freely, by the quaternion NAME_e0 ... NAME_e3 and the spin NAME_turn_x_dot ... in b's axes.

    In the plane it is a hinge.
    """

    kind: ClassVar[str] = "spherical"
    freedoms: ClassVar[tuple[int, int]] = (3, 1)

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        return (turn(Z, name),) if plane else (ball(name),)


@clear_arguments
@dataclass(frozen=True, slots=True)
class Planar(TreeJoint):
    """b moves in the plane across `axis`: slides NAME_x and NAME_y, and a turn NAME about the axis."""

    kind: ClassVar[str] = "planar"
    freedoms: ClassVar[tuple[int, int]] = (3, 3)
    axis: Any = "z"

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        first, second, normal = (tuple(column) for column in zip(*across(self.axis), strict=True))
        return (slide(first, f"{name}_x"), slide(second, f"{name}_y"), turn(normal, name))


@clear_arguments
@dataclass(frozen=True, slots=True)
class Weld(TreeJoint):
    """b is fixed to a."""

    kind: ClassVar[str] = "weld"


@clear_arguments
@dataclass(frozen=True, slots=True)
class Free(TreeJoint):
    """b moves freely: NAME_x, NAME_y, NAME_z along the axes of a, and a ball; in the plane x, y and NAME_angle."""

    kind: ClassVar[str] = "free"
    freedoms: ClassVar[tuple[int, int]] = (6, 3)

    def steps(self, name: str, plane: bool) -> tuple[Step, ...]:
        if plane:
            return (slide(X, f"{name}_x"), slide(Y, f"{name}_y"), turn(Z, f"{name}_angle"))
        return (slide(X, f"{name}_x"), slide(Y, f"{name}_y"), slide(Z, f"{name}_z"), ball(name))


def across(axis: Vector) -> tuple[Vector, Vector, Vector]:
    """A rotation that takes z to the axis: rows of a matrix whose last column it is."""
    x, y, z = axis
    if z == -1:
        return rotation((sp.S.Zero, sp.S.One, sp.S.Zero, sp.S.Zero))
    return rotation((1 + z, -y, x, sp.S.Zero))


def reversed_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The motion from b to a: the steps from the last to the first, each the other way."""
    return tuple(
        step if step.kind == "ball" else replace(step, axis=tuple(-part for part in step.axis))
        for step in reversed(steps)
    )


def conjugate(p: Vector) -> Vector:
    """The turn back."""
    return (p[0], -p[1], -p[2], -p[3])
