"""A robot as a system of bodies and joints.

Links without mass that are welded on become points and places of what carries them; one between two moving joints
stays, a body without mass; one at the end of a moving joint has no motion of its own and is refused by name. The root
is the ground, or a free body where that is asked for.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.errors import BadFile, BadStatement, Misstatement
from holdfast.exchange.robots.mjcf import mjcf_robot
from holdfast.exchange.robots.robot import Hinge, Pose, Robot, RobotNames, Tie, plain_turn
from holdfast.exchange.robots.urdf import urdf_robot
from holdfast.exchange.robots.xml_reading import Document
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.held_joints import Gear
from holdfast.problem.bodies.joints import GROUND, Free, Joint, Planar, Prismatic, Revolute, Spherical, Weld
from holdfast.problem.bodies.orientation import UNIT, Vector
from holdfast.problem.problem import Problem
from holdfast.problem.quantities import Coordinate
from holdfast.problem.system import System

READERS = {"robot": ("URDF", urdf_robot), "mujoco": ("MJCF", mjcf_robot)}
WITH_AXIS: dict[str, Any] = {"revolute": Revolute, "prismatic": Prismatic, "planar": Planar}
WITHOUT_AXIS: dict[str, Any] = {"spherical": Spherical, "free": Free, "weld": Weld}


class NotRead(UserWarning):
    """Part of a file that was not read."""


@dataclass(frozen=True, slots=True, eq=False)
class ImportedRobot:
    """A mechanism out of another tool's file: the system, what of the file was not read, and what was renamed."""

    title: str
    system: System
    unread: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """The system as a problem that starts at rest, where the file draws it."""
        return Problem(self.system, title=self.title)


@clear_arguments
def import_robot(path: str | os.PathLike[str], *, floating: bool = False) -> ImportedRobot:
    """A URDF or MJCF file as bodies and joints, with a list of what was not read.

    The root link of a URDF is the ground, unless it is `floating`; bodies of MJCF move as their joints say.
    """
    document = Document(path)
    kind, reader = READERS.get(document.root.tag, ("", None))
    if reader is None:
        what = f"<{document.root.tag[:40]}> is neither a URDF (<robot>) nor an MJCF (<mujoco>)"
        document.refuse(document.root, what, "give a file of one of these")
    robot = reader(document)
    return _RobotAssembly(replace(robot, floating=floating), kind).imported()


@clear_arguments
def read_urdf(path: str | os.PathLike[str], *, floating: bool = False) -> System:
    """The mechanism of a URDF file as a system of bodies and joints; what is not read is warned of.

    The root link is the ground, unless it is `floating`. RobotNames that cannot stand in a problem are changed.
    """
    return _of_kind(path, "robot", floating)


@clear_arguments
def read_mjcf(path: str | os.PathLike[str]) -> System:
    """The mechanism of an MJCF file as a system of bodies and joints; what is not read is warned of.

    Read are `compiler`, `default`, `option gravity`, `body`, `inertial`, `joint`, `freejoint`, `site` and `equality`.
    """
    return _of_kind(path, "mujoco", floating=False)


def _of_kind(path: str | os.PathLike[str], tag: str, floating: bool) -> System:
    document = Document(path)
    if document.root.tag != tag:
        other = READERS.get(document.root.tag)
        fix = f"it is {other[0]}: hf.read_{other[0].lower()}(...)" if other else f"its root is <{tag}>"
        document.refuse(document.root, f"<{document.root.tag[:40]}> is not a file of {READERS[tag][0]}", fix)
    found = import_robot(path, floating=floating)
    if found.unread:
        warnings.warn(f"{document.file}: not read: {'; '.join(found.unread)}", NotRead, stacklevel=4)
    return found.system


class _RobotAssembly:
    """Bodies and joints, made link by link."""

    def __init__(self, robot: Robot, kind: str) -> None:
        self.robot, self.kind = robot, kind
        self.names = RobotNames()
        self.notes: list[str] = []
        self.places: dict[str, tuple[str, Pose]] = {}  # of a link: the body that it is part of, and where
        self.bodies: dict[str, dict[str, Any]] = {}
        self.ground: dict[str, Vector] = {}
        self.joints: dict[str, Joint] = {}
        self.kinetic = self.potential = self.dissipation = sp.S.Zero

    def imported(self) -> ImportedRobot:
        self._place_root()
        called = {hinge.name: self.names.take(hinge.name, "joint") for hinge in self.robot.hinges if self._moves(hinge)}
        for hinge in self._outward():
            self._join(hinge, called.get(hinge.name, ""))
        self._refuse_massless_ends()
        for tie in self.robot.ties:
            self._tie(tie, called)
        return ImportedRobot(
            self.robot.title.strip() or f"from {self.kind}",
            self._system(),
            tuple(
                what if count == 1 else f"{what} ({count} times)" for what, count in self.robot.document.unread.items()
            ),
            tuple(self.names.changed.items()),
            tuple(self.notes),
        )

    def _system(self) -> System:
        bodies = {name: Body(**given) for name, given in self.bodies.items()}
        if not bodies:
            self.robot.document.refuse(self.robot.document.root, "nothing in it has a mass", "give links an <inertial>")
        try:
            return System(
                bodies=Frozen(bodies),
                joints=Frozen(self.joints),
                gravity=self.robot.gravity,
                points=Frozen(self.ground),
                kinetic=self.kinetic,
                potential=self.potential,
                dissipation=self.dissipation,
            )
        except BadStatement as error:
            raise BadFile(self.robot.document.file, (Misstatement(error.what, error.where, hint=error.fix),)) from None

    # ── links ─────────────────────────────────────────────────────────────────────────────────────

    def _place_root(self) -> None:
        root = self.robot.links[self.robot.root]
        if self.robot.floating:
            self._new_body(root.name)
            return
        self.places[root.name] = (GROUND, Pose())
        if root.mass:
            self.notes.append(f"{root.name!r} is the root and stands on the ground; its mass does not matter")
        self._put_points(root.name)

    def _outward(self) -> list[Hinge]:
        """The joints from the root on."""
        by_parent: dict[str, list[Hinge]] = {}
        for hinge in self.robot.hinges:
            by_parent.setdefault(hinge.parent, []).append(hinge)
        found, waiting = list[Hinge](), [self.robot.root]
        while waiting:
            inner = by_parent.get(waiting.pop(), [])
            found += inner
            waiting += [hinge.child for hinge in inner]
        if len(found) < len(self.robot.hinges):
            lost = next(hinge for hinge in self.robot.hinges if hinge not in found)
            self.robot.document.refuse(lost.element, f"{lost.name!r} is not carried by the root", "joints form a tree")
        return found

    def _moves(self, hinge: Hinge) -> bool:
        return hinge.kind != "weld" or bool(self.robot.links[hinge.child].mass)

    def _join(self, hinge: Hinge, name: str) -> None:
        body, pose = self.places[hinge.parent]
        link, here = self.robot.links[hinge.child], pose.then(hinge.pose)
        if not self._moves(hinge):
            self.places[link.name] = (body, here)
            self._put_points(link.name)
            return
        child = self._new_body(link.name)
        offset = here.of(hinge.pin)
        a = body if not any(offset) else self._point(body, f"{name}_at", offset)
        b = child if not any(hinge.pin) else self._point(child, f"{name}_pin", hinge.pin)
        turn = None if here.turn == UNIT else plain_turn(here.turn)
        kind: Any = WITH_AXIS.get(hinge.kind)
        self.joints[name] = (
            kind(a, b, orientation=turn, axis=hinge.axis)
            if kind is not None
            else WITHOUT_AXIS[hinge.kind](a, b, orientation=turn)
        )
        self._put_energies(hinge, name)

    def _put_energies(self, hinge: Hinge, name: str) -> None:
        if not (hinge.damping or hinge.stiffness or hinge.armature):
            return
        if hinge.kind not in ("revolute", "prismatic"):
            self.robot.document.skip(f"damping, stiffness or armature of a {hinge.kind} joint")
            return
        q = Coordinate(name)
        self.dissipation += hinge.damping * q.rate**2 / 2
        self.potential += hinge.stiffness * (q - hinge.rest) ** 2 / 2
        self.kinetic += hinge.armature * q.rate**2 / 2

    def _new_body(self, link: str) -> str:
        stated = self.robot.links[link]
        name = self.names.take(link, "body")
        self.places[link] = (name, Pose())
        self.bodies[name] = {
            "mass": stated.mass,
            "center": stated.center if any(stated.center) else None,
            "inertia": stated.inertia if any(stated.inertia[3:]) else stated.inertia[:3],
            "points": {},
        }
        self._put_points(link)
        return name

    def _put_points(self, link: str) -> None:
        body, pose = self.places[link]
        for name, place in self.robot.links[link].points.items():
            self._point(body, name, pose.of(place))

    def _point(self, body: str, name: str, place: Vector) -> str:
        found = self.names.take(name, "point")
        if body == GROUND:
            self.ground[found] = place
        else:
            self.bodies[body]["points"][found] = place
        return found

    def _refuse_massless_ends(self) -> None:
        """A body without mass must carry one that has some."""
        heavy = {name for name, given in self.bodies.items() if given["mass"]}
        owners = {point: name for name, given in self.bodies.items() for point in given["points"]}
        parents = {owners.get(joint.b, joint.b): owners.get(joint.a, joint.a) for joint in self.joints.values()}
        for name in list(heavy):
            while (name := parents.get(name, GROUND)) in self.bodies and name not in heavy:
                heavy.add(name)
        for link, (body, _) in self.places.items():
            if body in self.bodies and body not in heavy:
                what = f"{link!r} has no mass, moves, and carries nothing that has one"
                self.robot.document.refuse(self.robot.links[link].element, what, "give it an <inertial>, or weld it on")

    # ── what holds beside the tree ────────────────────────────────────────────────────────────────

    def _tie(self, tie: Tie, called: dict[str, str]) -> None:
        document, name = self.robot.document, self.names.take(tie.name, "tie")
        if tie.kind == "gear":
            for joint in (tie.a, tie.b):
                if joint not in called:
                    document.refuse(tie.element, f"there is no moving joint {joint[:40]!r}")
            self.joints[name] = Gear(called[tie.a], called[tie.b], ratio=tie.ratio)
            return
        (a, near), (b, far) = self.places[tie.a], self.places[tie.b]
        ends = self._point(a, f"{name}_a", near.of(tie.at_a)), self._point(b, f"{name}_b", far.of(tie.at_b))
        if tie.kind == "weld":
            turn = near.then(Pose(turn=tie.turn)).then(far.inverse).turn
            self.joints[name] = Weld(*ends, orientation=plain_turn(turn))
        else:
            self.joints[name] = Spherical(*ends)
