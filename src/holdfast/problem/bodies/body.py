"""A rigid body: its mass and inertia, where it starts, and the points on it that joints and expressions speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.bodies.orientation import Vector, quaternion
from holdfast.problem.quantities import Parameter, State, Time
from holdfast.problem.vocabulary import CONSTANT, Kinds, Vocabulary, by_name

CHANGING: Kinds = (Parameter, Time, State)

VECTORS = ("center", "position", "velocity")


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A rigid body, in the plane where its vectors have two components, else in space.

    `center` is the centre of mass in the axes of the body, whose origin joints and points refer to. `inertia` is about
    the centre of mass, in those axes: (xx, yy, zz), (xx, yy, zz, xy, xz, yz) with the entries of the matrix, the matrix
    itself, or one number in the plane. `position` of the origin, `orientation` (w, x, y, z), `velocity` of the origin
    and `spin` (in the axes of the body) say where a free body starts. `points` are named places on the body, `shape` is
    what a picture draws. All are numbers or expressions in parameters; `mass`, `center` and `inertia` may also change
    with time or with first-order states, where what joins or leaves does so at rest on the body.

    >>> Body(mass=1, center=(0, 0, 0.5), inertia=(0.05, 0.05, 0.1)).mass
    1
    """

    mass: Any
    center: Any = None
    inertia: Any = None
    position: Any = None
    orientation: Any = None
    velocity: Any = None
    spin: Any = None
    points: Frozen[Any] = Frozen()
    shape: Any = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if hasattr(self.inertia, "tolist"):  # matrices of NumPy and SymPy
            put(self, "inertia", self.inertia.tolist())
        put(self, "points", Frozen(by_name(self.points, where="body.points")))
        put(self, "shape", None if self.shape is None else plain_table(self.shape, "body.shape"))

    def sizes(self) -> set[int]:
        """How many components its vectors have, as far as they say: 2 in the plane, 3 in space."""
        vectors = [getattr(self, key) for key in VECTORS] + list(self.points.values())
        found = {len(tuple(v)) for v in vectors if isinstance(v, Iterable) and not isinstance(v, str)}
        if self.inertia is not None:
            found.add(3 if isinstance(self.inertia, (tuple, list, sp.MatrixBase)) and _count(self.inertia) > 1 else 2)
        return found

    def admitted(self, names: Vocabulary, size: int, where: str) -> Body:
        """This body in the words of a system, checked; vectors that are not given stay so."""

        def vector(value: Any, key: str) -> Any:
            kinds = CHANGING if key == "center" else CONSTANT
            return None if value is None else _vector(value, names, size, f"{where}.{key}", kinds)

        orientation = self.orientation
        if orientation is not None:
            orientation = tuple(
                names.admit(part, CONSTANT, where=f"{where}.orientation")
                for part in quaternion(orientation, size == 2, f"{where}.orientation")
            )
        found = replace(
            self,
            mass=names.admit(self.mass, CHANGING, where=f"{where}.mass"),
            inertia=self._moments(names, size, where),
            orientation=orientation,
            spin=self._spin(names, size, where),
            points=Frozen({n: _vector(v, names, size, f"{where}.points.{n}") for n, v in self.points.items()}),
            **{key: vector(getattr(self, key), key) for key in VECTORS},
        )
        for key, values in (("mass", (found.mass,)), ("inertia", found.inertia[:3])):
            for value in values:
                if value.is_number and value < 0:
                    raise BadStatement(f"the {key} is {value}", where=f"{where}.{key}", fix="it cannot be negative")
        return found

    def _moments(self, names: Vocabulary, size: int, where: str) -> Vector:
        """Six numbers in space, one in the plane; what is left out is 0, as of a point."""
        where = f"{where}.inertia"
        given = self.inertia
        if given is None:
            return (sp.S.Zero,) * (1 if size == 2 else 6)
        if size == 2:
            parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
            if len(parts) != 1:
                raise BadStatement("in the plane an inertia is one number", where=where, fix="e.g. inertia = 0.1")
        else:
            parts = _listed_moments(given, where)
        admitted = tuple(names.admit(part, CHANGING, where=where) for part in parts)
        return (*admitted, *(sp.S.Zero,) * 3) if len(admitted) == 3 else admitted

    def _spin(self, names: Vocabulary, size: int, where: str) -> Any:
        if self.spin is None:
            return None
        if size == 2:
            parts = tuple(self.spin) if isinstance(self.spin, (tuple, list)) else (self.spin,)
            if len(parts) != 1:
                raise BadStatement("in the plane a spin is one number", where=f"{where}.spin", fix="e.g. spin = 0.1")
            return (names.admit(parts[0], CONSTANT, where=f"{where}.spin"),)
        return _vector(self.spin, names, 3, f"{where}.spin")


def _count(value: Any) -> int:
    return len(tuple(value))


def _listed_moments(given: Any, where: str) -> tuple[Any, ...]:
    """Three or six moments, from themselves or from a symmetric matrix."""
    rows = given.tolist() if isinstance(given, sp.MatrixBase) else given
    parts = tuple(rows) if isinstance(rows, Iterable) and not isinstance(rows, str) else (rows,)
    if len(parts) == 3 and all(isinstance(row, (tuple, list)) and len(row) == 3 for row in parts):
        if any(sp.sympify(parts[i][j]) != sp.sympify(parts[j][i]) for i in range(3) for j in range(i)):
            raise BadStatement("the matrix of an inertia is symmetric", where=where, fix="make xy equal to yx")
        return (*(parts[i][i] for i in range(3)), parts[0][1], parts[0][2], parts[1][2])
    if len(parts) not in (3, 6):
        fix = "(xx, yy, zz) or (xx, yy, zz, xy, xz, yz), about the centre of mass; one number in the plane"
        raise BadStatement(f"an inertia in space has three or six numbers, not {len(parts)}", where=where, fix=fix)
    return parts


def _vector(value: Any, names: Vocabulary, size: int, where: str, kinds: Kinds = CONSTANT) -> Vector:
    parts = tuple(value) if isinstance(value, Iterable) and not isinstance(value, (str, Mapping)) else None
    if parts is None:
        raise BadStatement(f"{value!r} is not a vector", where=where, fix="write its components, e.g. (0, 0, 1)")
    if len(parts) != size:
        plane = "this mechanism is in the plane" if size == 2 else "this mechanism is in space"
        raise BadStatement(f"{plane}, and this vector has {len(parts)} components", where=where, fix=f"give {size}")
    return tuple(names.admit(part, kinds, where=where) for part in parts)


def plain_table(value: Any, where: str) -> Any:
    """A table of plain values that cannot change; anything else is refused."""
    if isinstance(value, Mapping):
        return Frozen({str(key): plain_table(inner, f"{where}.{key}") for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(plain_table(inner, where) for inner in value)
    if isinstance(value, (str, bool, int, float)):
        return value
    raise BadStatement(f"{value!r} cannot stand here", where=where, fix="use numbers, texts, lists and tables")
