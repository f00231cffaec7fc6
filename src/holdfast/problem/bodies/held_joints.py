"""Joints that only hold: rows of the program between bodies, points or other joints.

Distance        |r_b − r_a|² = length²                           RackAndPinion   slide = radius · turn
Gear            first = ratio · second                           PointOnCurve, PointOnSurface   f(x, y, z) = 0
RollingOnPlane  the lowest point of a wheel or ball touches the plane, and does not slip
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadExpression, BadStatement, HoldfastError
from holdfast.problem.bodies.joints import Joint
from holdfast.problem.bodies.orientation import unit_axis
from holdfast.problem.quantities import Parameter, Result
from holdfast.problem.vocabulary import CONSTANT, Vocabulary

PLACE = tuple(Result(letter) for letter in "xyz")  # in a curve or surface: components in the axes of b


@clear_arguments
@dataclass(frozen=True, slots=True)
class Distance(Joint):
    """A rod without mass: the points a and b stay `length` apart."""

    kind: ClassVar[str] = "distance"
    one_row: ClassVar[bool] = True
    length: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        return replace(self, length=_constant(self, "length", names, where))


@clear_arguments
@dataclass(frozen=True, slots=True)
class Gear(Joint):
    """Two turning joints a and b geared together: a = ratio · b."""

    kind: ClassVar[str] = "gear"
    one_row: ClassVar[bool] = True
    ratio: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        return replace(self, ratio=_constant(self, "ratio", names, where))


@clear_arguments
@dataclass(frozen=True, slots=True)
class RackAndPinion(Joint):
    """A turning joint a drives a sliding joint b: b = radius · a."""

    kind: ClassVar[str] = "rack-and-pinion"
    one_row: ClassVar[bool] = True
    radius: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        return replace(self, radius=_constant(self, "radius", names, where))


@clear_arguments
@dataclass(frozen=True, slots=True)
class PointOnSurface(Joint):
    """The point a stays on a surface fixed to b: `surface` is a function of x, y, z in the axes of b, 0 on it."""

    kind: ClassVar[str] = "point-on-surface"
    one_row: ClassVar[bool] = True
    surface: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        if plane:
            raise BadStatement("a surface needs space", where=where, fix="use PointOnCurve in the plane")
        return replace(self, surface=_of_place(self.surface, names, 3, f"{where}.surface"))


@clear_arguments
@dataclass(frozen=True, slots=True)
class PointOnCurve(Joint):
    """The point a stays on a curve fixed to b: in space two functions of x, y, z that are 0 on it, one in the plane."""

    kind: ClassVar[str] = "point-on-curve"
    curve: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        wanted, given = 1 if plane else 2, self.curve
        parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if len(parts) != wanted:
            what = f"a curve {'in the plane is one function' if plane else 'in space is two functions'}"
            raise BadStatement(f"{what}, not {len(parts)}", where=f"{where}.curve", fix='e.g. ("y - x**2", "z")')
        size = 2 if plane else 3
        return replace(self, curve=tuple(_of_place(part, names, size, f"{where}.curve") for part in parts))


@clear_arguments
@dataclass(frozen=True, slots=True)
class RollingOnPlane(Joint):
    """A wheel or ball with its centre at a rolls on the plane through b across `normal` (in the axes of b).

    `axis` is that of the wheel in its own axes, of sharp rim; a ball, or a wheel in the plane, has none.
    """

    kind: ClassVar[str] = "rolling-on-plane"
    radius: Any = None
    axis: Any = None
    normal: Any = None

    def _admitted(self, names: Vocabulary, plane: bool, where: str) -> Joint:
        found = replace(self, radius=_constant(self, "radius", names, where))
        if plane and self.axis is not None:
            raise BadStatement("in the plane a wheel turns about z", where=f"{where}.axis", fix="leave it out")
        axis = None if self.axis is None else unit_axis(self.axis, f"{where}.axis")
        upward = ("y" if plane else "z") if self.normal is None else self.normal
        if plane and not isinstance(upward, str) and len(tuple(upward)) == 2:
            upward = (*upward, 0)
        return replace(found, axis=axis, normal=unit_axis(upward, f"{where}.normal"))


def _constant(joint: Any, key: str, names: Vocabulary, where: str) -> sp.Expr:
    value = getattr(joint, key)
    if value is None:
        raise BadStatement(f"a {joint.kind} joint needs its {key}", where=where, fix=f"e.g. {key} = 1")
    return names.admit(value, CONSTANT, where=f"{where}.{key}")


def _of_place(value: Any, names: Vocabulary, size: int, where: str) -> sp.Expr:
    """A function of x, y, z and parameters."""
    words = names.copy()
    for letter in PLACE[:size]:
        if letter.name in words:
            what = f"{letter.name!r} is a place on the curve or surface here, and a quantity of the problem"
            raise BadStatement(what, where=where, fix=f"call that quantity something else than {letter.name!r}")
        words.declare(letter, where=where)
    if value is None:
        raise BadStatement("nothing says what it stays on", where=where, fix='e.g. "x**2 + y**2 - 1"')
    try:
        return words.admit(value, (Parameter, Result), where=where)
    except HoldfastError as error:
        raise BadExpression(error.what, where=where, fix=error.fix) from None
