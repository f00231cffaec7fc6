"""Rows of the program that joints give: those that are cut, and those that only hold.

Of a cut joint the two places coincide, d = 0, and the turn C of a's axes as b sees them is held as far as it is none:

    d = r_a − r_b,      C = R_bᵀ R_a R₀

    revolute     d = 0, e₁·Cu = 0, e₂·Cu = 0             spherical    d = 0
    prismatic    e₁·d = 0, e₂·d = 0, 2 tan(θ/2) n = 0    weld         d = 0, 2 tan(θ/2) n = 0
    cylindrical  e₁·d = 0, e₂·d = 0, e₁·Cu = e₂·Cu = 0   planar       u·d = 0, e₁·Cu = e₂·Cu = 0
    universal    d = 0, u₂·Cu₁ = u₂·u₁

where u is the axis and e₁, e₂ are across it, all fixed to b, and C turns by θ about n: 2 tan(θ/2) n has the parts
2 (C_ij − C_ji)/(1 + tr C), and is 0 for no turn but none. A component of d is written as a difference of the two
places' components: what is large for it is then seen. Dot products do not tell a direction from its opposite: the
start does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.parameters import distribute

from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.bodies.frames import IDENTITY, Frame, Matrix, added, in_space, multiplied, times, transposed
from holdfast.problem.bodies.held_joints import (
    PLACE,
    Distance,
    Gear,
    PointOnCurve,
    PointOnSurface,
    RackAndPinion,
    RollingOnPlane,
)
from holdfast.problem.bodies.idle_rows import idle_rows
from holdfast.problem.bodies.joints import GROUND, TreeJoint, X, across
from holdfast.problem.bodies.orientation import Vector, rotation
from holdfast.problem.bodies.statement import BodyFrames, require_short
from holdfast.problem.bodies.topology import End, end_of
from holdfast.problem.quantities import Coordinate, rate

if TYPE_CHECKING:
    from holdfast.problem.program import Program
    from holdfast.problem.system import System

SHARED = {  # by kind: rows of places (all, across the axis, along it), rows of turns (none, across, all, of two axes)
    "revolute": ("all", "across"), "prismatic": ("across", "all"), "cylindrical": ("across", "across"),
    "universal": ("all", "two"), "spherical": ("all", ""), "planar": ("along", "across"), "weld": ("all", "all"),
}  # fmt: skip


@dataclass(slots=True, frozen=True)
class JointRows:
    """What joints ask the motion to keep, by name; and whose each row is."""

    holonomic: dict[str, sp.Expr] = field(default_factory=dict)
    nonholonomic: dict[str, sp.Expr] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    idle: tuple[str, ...] = ()  # kept at every state by what the tree itself allows
    left_out: dict[str, sp.Expr] = field(default_factory=dict)  # those rows

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.holonomic, *self.nonholonomic)


def joint_rows(
    made: BodyFrames,
    points: Mapping[str, Vector],
    definitions: Mapping[str, sp.Expr],
    parameters: Mapping[str, sp.Expr | None],
) -> JointRows:
    """The rows of all joints that are cut or only hold, without those that nothing can change."""
    found = JointRows()
    with distribute(True):  # as SymPy makes them, also while a file is read
        for name in (*made.layout.cut, *made.layout.held):
            _RowsOfJoint(made, points, name, found).add()
        cut = {name: row for name, row in found.holonomic.items() if found.owners[name] in made.layout.cut}
        idle = idle_rows(cut, found.owners, definitions, parameters) if cut else ()
    kept = {name: row for name, row in found.holonomic.items() if name not in idle}
    return replace(found, holonomic=kept, idle=idle, left_out={name: found.holonomic[name] for name in idle})


def require_closed(system: System, parameters: Mapping[str, float]) -> None:
    """Refuse values of parameters at which a row that was left out is not kept: its joint cannot close then."""
    rows = system.rows
    if rows is not None and rows.idle:
        values = {name: sp.sympify(parameters.get(name, value)) for name, value in system.parameters.items()}
        idle_rows(rows.left_out, rows.owners, system.definitions, values)


def with_joint_rows(system: System, program: Program) -> Program:
    """The program with the rows of joints, which their own reactions hold."""
    if system.rows is None or not system.rows.names:
        return program
    rows = system.rows
    for kind in ("holonomic", "nonholonomic"):
        stated, own = getattr(program, kind), getattr(rows, kind)
        for name in own:
            if name in stated and stated[name] != own[name]:
                where, fix = f"program.{kind}.{name}", f"the joint {rows.owners[name]!r} gives it: rename yours"
                raise BadStatement(f"the constraint {name!r} is given twice", where=where, fix=fix)
    holders = (*program.reactions, *(n for n in rows.names if n not in program.reactions))
    return replace(
        program,
        holonomic=Frozen({**program.holonomic, **rows.holonomic}),
        nonholonomic=Frozen({**program.nonholonomic, **rows.nonholonomic}),
        reactions=holders if program.controls or program.reactions else (),
    )


class _RowsOfJoint:
    """The rows of one joint."""

    def __init__(self, made: BodyFrames, points: Mapping[str, Vector], name: str, found: JointRows) -> None:
        self.made, self.points, self.name, self.found = made, points, name, found
        self.joint, self.plane = made.joints[name], made.layout.plane

    def add(self) -> None:
        joint = self.joint
        if isinstance(joint, TreeJoint):
            self._cut(joint)
        elif isinstance(joint, Distance):
            self._distance(joint)
        elif isinstance(joint, Gear):
            self._keep("", self._coordinate(joint.a) - joint.ratio * self._coordinate(joint.b))
        elif isinstance(joint, RackAndPinion):
            self._keep("", self._coordinate(joint.b) - joint.radius * self._coordinate(joint.a))
        elif isinstance(joint, PointOnSurface):
            self._keep("", self._seen(joint.surface))
        elif isinstance(joint, PointOnCurve):
            for k, part in enumerate(joint.curve):
                self._keep(f"_{k + 1}", self._seen(part))
        elif isinstance(joint, RollingOnPlane):
            self._rolling(joint)

    def _keep(self, suffix: str, row: sp.Expr, *, fast: bool = False) -> None:
        name = f"{self.name}{suffix}"
        require_short(name, self.name, f"joints.{self.name}")
        (self.found.nonholonomic if fast else self.found.holonomic)[name] = row
        self.found.owners[name] = self.name

    # ── places and axes ───────────────────────────────────────────────────────────────────────────

    def _end(self, name: str) -> tuple[Frame, Vector]:
        """The frame of an end, and where its point is."""
        end = end_of(name, self.made.bodies, self.points, f"joints.{self.name}.between")
        return self._frame(end), in_space(self._place(end))

    def _frame(self, end: End) -> Frame:
        return self.made.frames.found[end.body]

    def _place(self, end: End) -> Vector:
        if not end.point:
            return self._frame(end).place
        return self.points[end.point] if end.body == GROUND else self.made.frames.points[end.point]

    def _apart(self, way: Vector) -> sp.Expr:
        """How far apart the two places are along a direction fixed to b."""
        (_, here), (b, there) = self._end(self.joint.a), self._end(self.joint.b)
        turned = times(b.axes, way)
        return _dot(turned, here) - _dot(turned, there)

    def _coordinate(self, name: str) -> sp.Expr:
        known = self.made.layout.coordinates
        if name in known:
            return Coordinate(name)
        fix = did_you_mean(name, known, "coordinates of joints: " + ", ".join(known))
        cut = name in self.made.layout.cut
        what = f"{name!r} is {'cut to open a loop' if cut else 'no coordinate of a joint'}"
        raise BadStatement(what, where=f"joints.{self.name}.between", fix=fix)

    # ── joints that are cut ───────────────────────────────────────────────────────────────────────

    def _cut(self, joint: TreeJoint) -> None:
        (a, here), (b, there) = self._end(joint.a), self._end(joint.b)
        d = tuple(p - q for p, q in zip(here, there, strict=True))
        if self.plane:
            return self._cut_in_plane(joint, a, b, d)
        places, turns = SHARED[joint.kind]
        axis: Vector = getattr(joint, "axis", (sp.S.Zero, sp.S.Zero, sp.S.One))
        first, second, along = transposed(across(axis))
        ways = {"all": (), "across": (first, second), "along": (along,)}[places]
        for k, row in enumerate(tuple(self._apart(way) for way in ways) or d):
            self._keep(f"_p{k + 1}", row)
        matrix: Matrix = rotation(joint.turn_at_zero)
        turned = multiplied(transposed(b.axes), multiplied(a.axes, matrix))
        for k, row in enumerate(self._turns(turns, turned, axis, (first, second))):
            self._keep(f"_r{k + 1}", row)
        return None

    def _turns(self, turns: str, turned: Matrix, axis: Vector, sides: tuple[Vector, Vector]) -> tuple[sp.Expr, ...]:
        if turns == "all":
            share = (1 + turned[0][0] + turned[1][1] + turned[2][2]) / 2
            return tuple((turned[i][j] - turned[j][i]) / share for i, j in ((2, 1), (0, 2), (1, 0)))
        if turns == "across":
            seen = times(turned, axis)
            return tuple(_dot(side, seen) for side in sides)
        if turns == "two":
            other: Vector = getattr(self.joint, "axis2", ())
            return (_dot(other, times(turned, axis)) - _dot(other, axis),)
        return ()

    def _cut_in_plane(self, joint: TreeJoint, a: Frame, b: Frame, d: Vector) -> None:
        if joint.kind == "prismatic":
            x, y = getattr(joint, "axis", X)[:2]
            self._keep("_p1", self._apart((-y, x, sp.S.Zero)))
        elif joint.kind != "planar":
            for k in range(2):
                self._keep(f"_p{k + 1}", d[k])
        if joint.kind in ("prismatic", "weld"):
            w, _, _, z = joint.turn_at_zero
            self._keep("_r1", sp.sin(b.angle - a.angle - 2 * sp.atan2(z, w)))

    # ── joints that only hold ─────────────────────────────────────────────────────────────────────

    def _distance(self, joint: Distance) -> None:
        """(|d|² − l²)/(2 l): its multiplier is the force in the rod."""
        (_, here), (_, there) = self._end(joint.a), self._end(joint.b)
        away = added(there, tuple(-part for part in here))
        if joint.length == 0 or joint.length.is_negative:
            fix = "a length is positive; join the points by Spherical to keep them together"
            raise BadStatement(f"the length is {joint.length}", where=f"joints.{self.name}.length", fix=fix)
        self._keep("", (_dot(away, away) - joint.length**2) / (2 * joint.length))

    def _seen(self, function: sp.Expr) -> sp.Expr:
        """A function of places in the axes of b, at the place of a."""
        unit = transposed(IDENTITY)
        return function.xreplace({letter: self._apart(way) for letter, way in zip(PLACE, unit, strict=True)})

    def _rolling(self, joint: RollingOnPlane) -> None:
        """The rim touches the plane, and is at rest there."""
        b, there = self._end(joint.b)
        if b is not self.made.frames.found[GROUND]:
            what = "wheels roll on the ground only"
            raise BadStatement(what, where=f"joints.{self.name}.between", fix='between = [WHEEL, "ground"]')
        wheel, center = self._end(joint.a)
        normal, radius = joint.normal, joint.radius
        first, second, _ = transposed(across(normal))
        height = _dot(normal, added(center, tuple(-part for part in there)))
        upward = times(transposed(wheel.axes), normal)
        if joint.axis is None:
            reach, outward = sp.S.One, upward
        else:
            tilt = _dot(joint.axis, upward)
            reach = sp.sqrt(1 - tilt**2)
            outward = tuple((n - tilt * e) / reach for n, e in zip(upward, joint.axis, strict=True))
        self._keep("_height", height - radius * reach)
        rim = tuple(-radius * part for part in outward)
        slip = times(wheel.axes, _cross(wheel.spin, rim))
        ways = {"_slip": second} if self.plane else {"_slip1": first, "_slip2": second}
        if self.plane:
            x, y, _ = normal
            ways = {"_slip": (y, -x, sp.S.Zero)}
        for suffix, way in ways.items():
            moving = sp.Add(*(part * rate(place) for part, place in zip(way, center, strict=True)))
            self._keep(suffix, moving + _dot(way, slip), fast=True)


def _dot(a: Vector, b: Vector) -> sp.Expr:
    return sp.Add(*(p * q for p, q in zip(a, b, strict=True)))


def _cross(a: Vector, b: Vector) -> Vector:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
