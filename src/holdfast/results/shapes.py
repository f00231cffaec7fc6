"""Bodies as pictures draw them: a few corners and faces, carried by the frame of the body.

    shape = { kind = "box", size = [0.4, 0.2, 0.1] }               shape = { kind = "plate", size = [1, 1] }
    shape = { kind = "rod", from = [0, 0, 0], to = [0, 0, 1], radius = 0.02 }
    shape = { kind = "cylinder", radius = 0.1, length = 0.5, axis = [0, 0, 1] }
    shape = { kind = "wheel", radius = 0.3, width = 0.05, axis = [0, 1, 0] }
    shape = { kind = "sphere", radius = 0.1 }

All but a rod may say `at`, their middle in the axes of the body; without it that is the centre of mass. A body may have
several shapes, in a list. Sizes are numbers or parameters.

A frame is drawn by points at its origin and at the tips of its axes. To draw in perspective from infinity is linear, so
a corner at v in the body is at O + v₁ (X − O) + v₂ (Y − O) + v₃ (Z − O) in the picture, from whichever side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from holdfast.problem.problem import Problem
from holdfast.problem.system import System

AROUND = 16  # corners of what is round
SLENDER = 0.02  # radius of a rod over its length, unless it says
FIELDS = {
    "box": ("size", "at"), "plate": ("size", "at"), "rod": ("from", "to", "radius"),
    "cylinder": ("radius", "length", "axis", "at"), "wheel": ("radius", "width", "axis", "at"),
    "sphere": ("radius", "at"),
}  # fmt: skip
FALLBACK_AXIS = (0.0, 0.0, 1.0)

Corners = np.ndarray
Faces = list[list[int]]
Expressions = tuple[sp.Expr, ...]


def shaped_bodies(system: System) -> tuple[str, ...]:
    """The bodies that have a shape, in order."""
    return tuple(name for name, body in system.bodies.items() if body.shape) if system.frames is not None else ()


def drawn_points(problem: Problem) -> dict[str, Expressions]:
    """The points of a problem, and after them the origin and the tips of the axes of each body that has a shape."""
    system = problem.system
    found = dict(system.points)
    for name in shaped_bodies(system):
        assert system.frames is not None
        frame, size = system.frames.frames.found[name], 2 if system.frames.layout.plane else 3
        found[f"{name} "] = frame.place[:size]
        for k in range(size):
            found[f"{name} {'xyz'[k]}"] = tuple(frame.place[i] + frame.axes[i][k] for i in range(size))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Meshes:
    """The shapes of a problem for a picture, and in words what cannot be drawn."""

    bodies: list[dict[str, Any]]
    complaints: list[str]


def meshes_of(problem: Problem, parameters: Mapping[str, float]) -> Meshes:
    """Each shape as corners and faces in the axes of its body, with the numbers of the points that carry it."""
    system, made = problem.system, Meshes([], [])
    place = len(system.points)
    for name in shaped_bodies(system):
        body, count = system.bodies[name], 3 if system.frames is not None and system.frames.layout.plane else 4
        carriers = list(range(place, place + count))
        place += count
        stated = body.shape if isinstance(body.shape, tuple) else (body.shape,)
        reader = _Shape(name, parameters, _center(system, body.center, parameters), count - 1, made.complaints)
        for shape in stated:
            mesh = reader.mesh(shape)
            if mesh is not None:
                made.bodies.append({"kind": "mesh", "frame": carriers, **mesh})
    return made


def _center(system: System, center: Any, parameters: Mapping[str, float]) -> np.ndarray:
    """The centre of mass in numbers; what parameters alone do not say is drawn at 0."""
    values = []
    for part in center or ():
        expression = sp.sympify(part)
        while named := {s: system.definitions[s.name] for s in expression.free_symbols if s.name in system.definitions}:
            expression = expression.xreplace(named)
        known = {s: sp.Float(parameters[s.name]) for s in expression.free_symbols if s.name in parameters}
        found = expression.xreplace(known)
        values.append(float(found) if found.is_number else 0.0)
    return np.array([*values, 0.0, 0.0, 0.0][:3])


class _Shape:
    """Reads the shapes of one body."""

    def __init__(
        self, body: str, parameters: Mapping[str, float], center: np.ndarray, size: int, complaints: list[str]
    ) -> None:
        self.body, self.parameters, self.center, self.size, self.complaints = body, parameters, center, size, complaints

    def mesh(self, shape: Any) -> dict[str, Any] | None:
        """Corners, faces and, of a sphere, its radius; None where something is missing, which is said."""
        kind = shape.get("kind") if isinstance(shape, Mapping) else None
        try:
            if kind not in FIELDS:
                raise ValueError(f"a shape has a kind: {', '.join(FIELDS)}")
            for key in shape:
                if key not in ("kind", *FIELDS[kind]):
                    raise ValueError(f"a {kind} has no {str(key)[:40]!r}; it has {', '.join(FIELDS[kind])}")
            return MAKERS[kind](self, shape)
        except ValueError as error:
            self.complaints.append(f"bodies.{self.body}.shape: {error}.")
            return None

    def number(self, shape: Mapping[str, Any], key: str) -> float:
        return self._value(shape.get(key), key)

    def _value(self, given: Any, key: str) -> float:
        value = self.parameters.get(given) if isinstance(given, str) else given
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(float(value)):
            raise ValueError(f"{key} = {str(given)[:40]!r} is neither a number nor a parameter")
        return float(value)

    def vector(self, shape: Mapping[str, Any], key: str, default: Sequence[float] | None = None) -> np.ndarray:
        """Three numbers; in the plane two, with a third that is 0."""
        given = shape.get(key, default)
        if not isinstance(given, (tuple, list, np.ndarray)) or len(given) not in (self.size, 3):
            raise ValueError(f"{key} has {self.size} components")
        return np.array([*(self._value(part, key) for part in given), 0.0][:3])

    def middle(self, shape: Mapping[str, Any]) -> np.ndarray:
        return self.vector(shape, "at", self.center.tolist())


def _box(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    half = abs(reader.vector(shape, "size")) / 2
    signs = np.array([[a, b, c] for c in (-1, 1) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
    faces = [[3, 2, 1, 0], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]]
    return _told(reader.middle(shape) + signs * half, faces[:1] if reader.size == 2 else faces)


def _plate(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    given = shape.get("size")
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError("size is a length along x and one along y")
    a, b = (abs(reader._value(part, "size")) / 2 for part in given)
    corners = np.array([[-a, -b, 0], [a, -b, 0], [a, b, 0], [-a, b, 0]])
    return _told(reader.middle(shape) + corners, [[0, 1, 2, 3]])


def _rod(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    begin, end = reader.vector(shape, "from", [0.0] * reader.size), reader.vector(shape, "to")
    length = float(np.linalg.norm(end - begin))
    if length == 0:
        raise ValueError("it ends where it begins")
    radius = abs(reader.number(shape, "radius")) if "radius" in shape else SLENDER * length
    if reader.size == 2:
        along = (end - begin) / length
        across = radius * np.array([-along[1], along[0], 0.0])
        return _told(np.array([begin - across, end - across, end + across, begin + across]), [[0, 1, 2, 3]])
    return _drum((begin + end) / 2, (end - begin) / length, radius, length, 8)


def _cylinder(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    return _round(reader, shape, "length")


def _wheel(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    """A disc with a stroke across it, so that its turn is seen."""
    return _round(reader, shape, "width")


def _round(reader: _Shape, shape: Mapping[str, Any], key: str) -> dict[str, Any]:
    radius, middle = abs(reader.number(shape, "radius")), reader.middle(shape)
    if reader.size == 2:
        turns = 2 * math.pi * np.arange(AROUND) / AROUND
        ring = radius * np.column_stack([np.cos(turns), np.sin(turns), 0 * turns])
        return _told(middle + ring, [list(range(AROUND))], [[0, AROUND // 2]])
    axis = reader.vector(shape, "axis", FALLBACK_AXIS)
    size = float(np.linalg.norm(axis))
    if size == 0:
        raise ValueError("its axis is 0")
    width = abs(reader.number(shape, key)) if key in shape else radius / 5
    made = _drum(middle, axis / size, radius, width, AROUND)
    return {**made, "strokes": [[0, AROUND // 2], [AROUND, AROUND + AROUND // 2]]} if key == "width" else made


def _sphere(reader: _Shape, shape: Mapping[str, Any]) -> dict[str, Any]:
    middle, radius = reader.middle(shape), abs(reader.number(shape, "radius"))
    first, second = np.array([radius, 0, 0]), np.array([0, 0, radius])
    turns = 2 * math.pi * np.arange(AROUND) / AROUND
    rings = [
        [a * math.cos(t) + b * math.sin(t) for t in turns]
        for a, b in ((first, second), (first, np.array([0, radius, 0])))
    ]
    strokes = [[*range(k * AROUND, (k + 1) * AROUND), k * AROUND] for k in (0, 1)]
    return {
        **_told(middle + np.array([p for ring in rings for p in ring]), [], strokes),
        "ball": [*middle.tolist(), radius],
    }


def _drum(middle: np.ndarray, axis: np.ndarray, radius: float, length: float, around: int) -> dict[str, Any]:
    """A cylinder by the corners of its two ends."""
    side = np.cross(axis, [1.0, 0, 0] if abs(axis[0]) < 0.9 else [0, 1.0, 0])
    side = radius * side / np.linalg.norm(side)
    other = np.cross(axis, side)
    turns = 2 * math.pi * np.arange(around) / around
    ring = np.outer(np.cos(turns), side) + np.outer(np.sin(turns), other)
    corners = np.vstack([middle - axis * length / 2 + ring, middle + axis * length / 2 + ring])
    faces = [list(range(around))[::-1], list(range(around, 2 * around))]
    faces += [[k, (k + 1) % around, around + (k + 1) % around, around + k] for k in range(around)]
    return {**_told(corners, faces), "smooth": around}


def _told(corners: Corners, faces: Faces, strokes: Faces | None = None) -> dict[str, Any]:
    """As plain lists, short enough to be written into a page."""
    plain = [[float(f"{part:.5g}") for part in corner] for corner in corners]
    return {"corners": plain, "faces": faces, "strokes": strokes or []}


MAKERS: dict[str, Callable[[_Shape, Mapping[str, Any]], dict[str, Any]]] = {
    "box": _box, "plate": _plate, "rod": _rod, "cylinder": _cylinder, "wheel": _wheel, "sphere": _sphere,
}  # fmt: skip


def corners_in_picture(mesh: Mapping[str, Any], places: np.ndarray) -> np.ndarray:
    """The corners of a mesh where its carriers are at these places, (..., points, 2 or 3)."""
    origin = places[..., mesh["frame"][0], :]
    tips = [places[..., k, :] - origin for k in mesh["frame"][1:]]
    corners = np.array(mesh["corners"])
    return origin[..., None, :] + sum(corners[:, k, None] * tip[..., None, :] for k, tip in enumerate(tips))
