"""URDF: links and the joints between them, a tree from its root link.

    child in parent = origin (xyz, rpy), then a motion about or along `axis`, in the axes of the child

Read are links with their inertia, joints of all six kinds, `mimic` and the damping of `dynamics`. Meshes, limits and
whatever else a file contains are not read, and listed.
"""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from holdfast.exchange.robots.robot import Hinge, Pose, Robot, RobotLink, Tie, turned_inertia
from holdfast.exchange.robots.xml_reading import Document, XmlElement
from holdfast.problem.bodies.orientation import UNIT, turned

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "planar": "planar",
    "floating": "free",
}
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
GRAVITY = (sp.S.Zero, sp.S.Zero, sp.Rational("-9.81"))


def urdf_robot(document: Document) -> Robot:
    """The robot of a URDF file."""
    root = document.root
    document.skip_all_but(root, ("link", "joint"))
    links = {}
    for element in root.all("link"):
        link = _link(element, document)
        if link.name in links:
            document.refuse(element, f"there are two links {link.name!r}", "give each its own name")
        links[link.name] = link
    if not links:
        document.refuse(root, "there is no link in it", 'e.g. <link name="base"/>')
    robot = Robot(document, root.get("name"), "", GRAVITY, links)
    for element in root.all("joint"):
        _read_joint(element, robot)
    return replace(robot, root=_root(robot))


def _link(element: XmlElement, document: Document) -> RobotLink:
    name = document.name(element)
    document.skip_all_but(element, ("inertial",))
    inertial = element.first("inertial")
    if inertial is None:
        return RobotLink(name, element)
    document.skip_all_but(inertial, ("origin", "mass", "inertia"))
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None:
        document.refuse(inertial, f"the link {name!r} has an inertia and no mass", '<mass value="1"/>')
    weight, pose, moments = document.number(mass, "value"), _pose(inertial, document), (sp.S.Zero,) * 6
    if inertia is not None:
        moments = turned_inertia(pose.turn, tuple(document.number(inertia, key, "0") for key in MOMENTS))
    if weight < 0 or any(moment < 0 for moment in moments[:3]):
        document.refuse(inertial, f"the link {name!r} has a negative mass or moment of inertia")
    if weight == 0 and any(moments):
        document.refuse(inertial, f"the link {name!r} has an inertia and no mass", "give it a mass, or neither")
    return RobotLink(name, element, weight, pose.offset, moments)


def _pose(element: XmlElement, document: Document) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return Pose()
    document.skip_attributes_but(origin, ("xyz", "rpy"))
    angles = document.numbers(origin, "rpy", 3, "0 0 0")
    return Pose(document.numbers(origin, "xyz", 3, "0 0 0"), turned(rpy=angles) if any(angles) else UNIT)


def _read_joint(element: XmlElement, robot: Robot) -> None:
    document = robot.document
    name, stated = document.name(element), element.get("type")
    if stated not in KINDS:
        known = ", ".join(KINDS)
        document.refuse(element, f"{stated[:40]!r} is no kind of joint", f"known: {known}")
    if any(hinge.name == name for hinge in robot.hinges):
        document.refuse(element, f"there are two joints {name!r}", "give each its own name")
    ends = [_end(element, tag, robot) for tag in ("parent", "child")]
    if any(hinge.child == ends[1] for hinge in robot.hinges):
        what = f"{ends[1]!r} has two parents, and a URDF is a tree"
        document.refuse(element, what, "leave one joint out, and state it as a loop in the problem file")
    document.skip_all_but(element, ("origin", "parent", "child", "axis", "dynamics", "mimic"))
    axis, kind = element.first("axis"), KINDS[stated]
    along = document.numbers(axis, "xyz", 3, "1 0 0") if axis is not None else (sp.S.One, sp.S.Zero, sp.S.Zero)
    if kind in ("revolute", "prismatic", "planar") and not any(along):
        document.refuse(axis or element, f"the axis of {name!r} is 0", "e.g. 0 0 1")
    dynamics, damping = element.first("dynamics"), sp.S.Zero
    if dynamics is not None:
        document.skip_attributes_but(dynamics, ("damping",))
        damping = document.number(dynamics, "damping", "0")
    pose = _pose(element, document)
    robot.hinges.append(Hinge(name, element, kind, ends[0], ends[1], pose, along, damping=damping))
    mimic = element.first("mimic")
    if mimic is not None:
        if document.number(mimic, "offset", "0") != 0:
            what = f"{name!r} follows another joint with an offset, which a gear cannot say"
            document.refuse(mimic, what, "measure its angle so that the offset is 0")
        ratio = document.number(mimic, "multiplier", "1")
        robot.ties.append(Tie(f"{name}_mimic", mimic, "gear", name, mimic.get("joint"), ratio))


def _end(element: XmlElement, tag: str, robot: Robot) -> str:
    end = element.first(tag)
    name = "" if end is None else end.get("link")
    if name not in robot.links:
        what = f"the joint {element.get('name')[:40]!r} has no {tag}" if not name else f"there is no link {name[:40]!r}"
        robot.document.refuse(end or element, what, f'<{tag} link="..."/> names a link of this file')
    return name


def _root(robot: Robot) -> str:
    """The link that no joint carries; there must be one, and every other must hang on it."""
    carried = {hinge.child for hinge in robot.hinges}
    roots = [name for name in robot.links if name not in carried]
    if len(roots) != 1:
        if not roots:
            robot.document.refuse(robot.document.root, "the joints go round in a circle", "a URDF is a tree")
        what = f"{roots[0]!r} and {roots[1]!r} are joined by nothing"
        robot.document.refuse(robot.links[roots[1]].element, what, "one link is the root, joints carry all others")
    return roots[0]
