"""Orientations: quaternions in the order w x y z, of any length but zero, exact.

    R(p) = [w² + x² − y² − z²   2(xy − wz)   2(xz + wy); ...] / |p|²

The rotation takes components in the turned frame to components in the frame it was turned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadStatement
from holdfast.problem.vocabulary import exact

Vector = tuple[sp.Expr, ...]
Matrix = tuple[Vector, Vector, Vector]

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
SNAP = 1e-8  # radians: a quarter turn whose decimals were cut at eight digits or later is meant as one
UNIT: Vector = (sp.S.One, sp.S.Zero, sp.S.Zero, sp.S.Zero)


@clear_arguments
def turned(axis: Any = None, angle: Any = 0, *, rpy: Any = None) -> Vector:
    """The quaternion (w, x, y, z) of a turn: about "x", "y", "z" or a vector by an angle, or by `rpy`.

    `rpy` are roll, pitch and yaw: turns about x, then y, then z of the frame that stays. Angles are in radians; a
    decimal within 1e-8 of a quarter turn is one.

    >>> import sympy as sp
    >>> turned("x", sp.pi / 3)
    (sqrt(3)/2, 1/2, 0, 0)
    """
    if (axis is None) == (rpy is None):
        raise BadStatement(
            "a turn is about an axis by an angle, or by rpy", where="turned", fix='hf.turned("x", sp.pi/6)'
        )
    if rpy is not None:
        roll, pitch, yaw = (
            turned(letter, part) for letter, part in zip("xyz", components(rpy, 3, "turned.rpy"), strict=True)
        )
        return product(yaw, product(pitch, roll))
    direction = unit_axis(axis, "turned.axis")
    half = snapped(angle) / 2
    return (sp.cos(half), *(sp.sin(half) * part for part in direction))


def snapped(angle: Any) -> sp.Expr:
    """The angle; a number within `SNAP` of a multiple of a quarter turn is that multiple."""
    value = exact(angle, where="turned.angle")
    if not value.is_Rational:
        return value
    quarters = round(float(value) / (float(sp.pi) / 2))
    return quarters * sp.pi / 2 if abs(float(value) - quarters * float(sp.pi) / 2) < SNAP else value


def components(value: Any, size: int, where: str) -> tuple[Any, ...]:
    """The components of a vector of that size."""
    parts = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else None
    if parts is None or len(parts) != size:
        count = f"not {len(parts)}" if parts is not None else f"not {value!r}"
        raise BadStatement(f"a vector of {size} components belongs here, {count}", where=where, fix="e.g. (0, 0, 1)")
    return parts


def unit_axis(axis: Any, where: str) -> Vector:
    """A direction of length 1, from "x", "y", "z" or any vector of numbers but zero."""
    if isinstance(axis, str):
        if axis.lstrip("-") not in AXES or axis.count("-") > 1:
            raise BadStatement(f"{axis!r} is no axis", where=where, fix='"x", "y", "z", or a vector such as (1, 1, 0)')
        sign = -1 if axis.startswith("-") else 1
        return tuple(sp.Integer(sign * part) for part in AXES[axis.lstrip("-")])
    parts = tuple(exact(part, where=where) for part in components(axis, 3, where))
    if any(part.free_symbols for part in parts):
        raise BadStatement("an axis is made of numbers", where=where, fix="e.g. (0, 0, 1)")
    length = sp.sqrt(sum(part**2 for part in parts))
    if length == 0:
        raise BadStatement("an axis of length 0 has no direction", where=where, fix="e.g. (0, 0, 1)")
    return tuple(part / length for part in parts)


def quaternion(value: Any, plane: bool, where: str) -> Vector:
    """An orientation as it is stated: four numbers, a table with `axis` and `angle` or `rpy`, an angle in the plane."""
    parts = _quaternion(value, plane, where)
    if plane and (parts[1] != 0 or parts[2] != 0):
        raise BadStatement("this turn leaves the plane", where=where, fix="give the angle about z, a number")
    return parts


def _quaternion(value: Any, plane: bool, where: str) -> Vector:
    if isinstance(value, Mapping):
        given = {str(key): part for key, part in value.items()}
        if not set(given) <= {"axis", "angle", "rpy"}:
            raise BadStatement(
                f"an orientation has no {sorted(set(given) - {'axis', 'angle', 'rpy'})[0]!r}",
                where=where,
                fix='(w, x, y, z), {"axis": ..., "angle": ...} or {"rpy": ...}',
            )
        return turned(**given)
    if plane and not isinstance(value, (tuple, list)):
        return turned("z", value)
    parts = tuple(exact(part, where=where) for part in components(value, 4, where))
    if all(part == 0 for part in parts):
        raise BadStatement("a quaternion of length 0 is no orientation", where=where, fix="(1, 0, 0, 0) turns nothing")
    return parts


def product(a: Vector, b: Vector) -> Vector:
    """The quaternion of turn b followed by turn a, both seen from the frame that stays."""
    w, x, y, z = a
    e, f, g, h = b
    return (
        w * e - x * f - y * g - z * h,
        w * f + x * e + y * h - z * g,
        w * g - x * h + y * e + z * f,
        w * h + x * g - y * f + z * e,
    )


def rotation(p: Vector) -> Matrix:
    """R(p) of a quaternion of any length."""
    w, x, y, z = p
    n = w**2 + x**2 + y**2 + z**2
    rows = (
        (w**2 + x**2 - y**2 - z**2, 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), w**2 - x**2 + y**2 - z**2, 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), w**2 - x**2 - y**2 + z**2),
    )
    first, second, third = (tuple(sp.expand(entry / n) for entry in row) for row in rows)
    return first, second, third


def unit_quaternion(p: Vector) -> Vector:
    """The quaternion of length 1 of the same turn."""
    length = sp.sqrt(sp.expand(sum(part**2 for part in p)))
    return tuple(part / length for part in p)
