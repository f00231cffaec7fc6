"""A robot as its file describes it, in the file's own words and numbers, before it becomes bodies and joints."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy as sp

from holdfast.exchange.robots.xml_reading import Document, XmlElement
from holdfast.problem.bodies.orientation import UNIT, Vector, product, rotation
from holdfast.problem.quantities import FUNCTIONS, RESERVED_STARTS, RESERVED_WORDS
from holdfast.problem.vocabulary import COLUMNS

NOWHERE: Vector = (sp.S.Zero,) * 3
TAKEN = RESERVED_WORDS | set(FUNCTIONS) | COLUMNS | {"ground"}
DIGITS = 40  # of turns by angles that are no fractions of a circle: beyond all that doubles see


@dataclass(frozen=True, slots=True)
class Pose:
    """Where one frame is in another: an offset, then a turn (w, x, y, z)."""

    offset: Vector = NOWHERE
    turn: Vector = UNIT

    def __post_init__(self) -> None:
        object.__setattr__(self, "turn", tuple(_decimal(part) for part in self.turn))

    def of(self, point: Vector) -> Vector:
        """A point of the frame, in the other."""
        turned = point if self.turn == UNIT else _times(rotation(self.turn), point)
        return tuple(plain_number(a + b) for a, b in zip(self.offset, turned, strict=True))

    def then(self, inner: Pose) -> Pose:
        """A frame in this one, in the other."""
        return Pose(self.of(inner.offset), product(self.turn, inner.turn))

    @property
    def inverse(self) -> Pose:
        """Where the other frame is in this one."""
        w, x, y, z = self.turn
        back = Pose(NOWHERE, (w, -x, -y, -z))
        return Pose(tuple(-part for part in back.of(self.offset)), back.turn)


@dataclass(frozen=True, eq=False)
class RobotLink:
    """A body of the file; one without mass only carries others."""

    name: str
    element: XmlElement
    mass: sp.Expr = sp.S.Zero
    center: Vector = NOWHERE
    inertia: Vector = (sp.S.Zero,) * 6
    points: dict[str, Vector] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Hinge:
    """A joint of the file: `pose` is that of the child in the parent where it has not moved, `pin` the place on the
    child that it turns about, `kind` a word of ours.
    """

    name: str
    element: XmlElement
    kind: str
    parent: str
    child: str
    pose: Pose
    axis: Vector = (sp.S.Zero, sp.S.Zero, sp.S.One)
    pin: Vector = NOWHERE
    damping: sp.Expr = sp.S.Zero
    stiffness: sp.Expr = sp.S.Zero
    rest: sp.Expr = sp.S.Zero
    armature: sp.Expr = sp.S.Zero


@dataclass(frozen=True, eq=False)
class Tie:
    """What holds beside the tree: two points together ("spherical"), two bodies ("weld"), two joints ("gear")."""

    name: str
    element: XmlElement
    kind: str
    a: str
    b: str
    ratio: sp.Expr = sp.S.One
    at_a: Vector = NOWHERE
    at_b: Vector = NOWHERE
    turn: Vector = UNIT  # of b in the axes of a


@dataclass(frozen=True, eq=False)
class Robot:
    """Links, the joints of their tree in order, and what else holds; the root is the ground, or moves freely."""

    document: Document
    title: str
    root: str
    gravity: Vector
    links: dict[str, RobotLink] = field(default_factory=dict)
    hinges: list[Hinge] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)
    floating: bool = False


class RobotNames:
    """RobotNames of a file as names of a problem: letters, digits and _, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*TAKEN, *taken}
        self.changed: dict[str, str] = {}

    def take(self, stated: str, suffix: str) -> str:
        """A name like the stated one that is still free."""
        name = re.sub(r"\W+", "_", stated, flags=re.ASCII).strip("_")[:32] or suffix
        if not name[0].isalpha() or f"{name}_".startswith(RESERVED_STARTS):
            name = f"{suffix}_{name}"
        if name.endswith("dot"):
            name = f"{name}_{suffix}"
        found, number = name, 1
        while found in self._taken:
            found = f"{name}_{suffix}" if number == 1 else f"{name}_{suffix}{number}"
            number += 1
        self._taken.add(found)
        if found != stated:
            self.changed[stated] = found
        return found


def _decimal(value: sp.Expr) -> sp.Expr:
    """The number itself where that is short, else to `DIGITS`: products of sines would take seconds to expand."""
    short = value.q < 10**DIGITS if value.is_Rational else not value.has(sp.sin, sp.cos)
    return value if short else sp.Rational(str(sp.N(value, DIGITS)))


def _times(matrix: tuple[Vector, ...], vector: Vector) -> Vector:
    return tuple(sp.Add(*(a * b for a, b in zip(row, vector, strict=True))) for row in matrix)


def turned_inertia(turn: Vector, inertia: Vector) -> Vector:
    """R I Rᵀ of (xx, yy, zz, xy, xz, yz)."""
    if turn == UNIT or all(part == 0 for part in inertia):
        return inertia
    xx, yy, zz, xy, xz, yz = inertia
    r, i = sp.Matrix(rotation(turn)), sp.Matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    found = (r * i * r.T).applyfunc(plain_number)
    return (found[0, 0], found[1, 1], found[2, 2], found[0, 1], found[0, 2], found[1, 2])


def plain_number(value: sp.Expr) -> sp.Expr:
    """A number as a file writes it: exact where it is rational, else to the digits of a double."""
    value = sp.expand(value)
    return value if value.is_Rational else sp.Rational(repr(float(value)))


def plain_turn(turn: Vector) -> Vector:
    """The same turn by short numbers: quaternions need not have length 1, and (1, 0, 1, 0) is a quarter turn."""
    largest = max(turn, key=lambda part: abs(float(part)))
    shares = [sp.nsimplify(part / largest) if part else sp.S.Zero for part in turn]
    exact = [share if share.is_Rational and share.q <= 10 else None for share in shares]
    close = all(e is not None and abs(float(e) - float(p / largest)) < 1e-15 for e, p in zip(exact, turn, strict=True))
    if close:
        scale = sp.ilcm(*(share.q for share in exact if share is not None))
        return tuple(share * scale for share in exact if share is not None)
    return tuple(plain_number(part) for part in turn)
