"""MJCF, the part of it that says what moves: compiler, default, option gravity, body, inertial, joint, site, equality.

A body stands in its parent at `pos` and a turn; each of its joints, in order, turns or slides it about its own `pos`
and `axis`, in the axes of the body. Angles are in degrees unless the compiler says otherwise. Inertias are read from
`inertial`: what geoms would weigh is not computed. Whatever else a file contains is not read, and listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import sympy as sp

from holdfast.exchange.robots.robot import NOWHERE, Hinge, Pose, Robot, RobotLink, Tie, plain_number, turned_inertia
from holdfast.exchange.robots.xml_reading import Document, XmlElement
from holdfast.problem.bodies.orientation import UNIT, Vector, product, turned

WORLD = "world"
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "free"}
TURNS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
PLACE = ("pos", *TURNS)
JOINT = ("name", "class", "type", "pos", "axis", "damping", "stiffness", "springref", "armature", "ref")


@dataclass(frozen=True, eq=False)
class _Defaults:
    """Attributes by class and tag; a class has those of the one around it, unless it says otherwise."""

    classes: dict[str, dict[str, dict[str, str]]] = field(default_factory=lambda: {"main": {}})

    def read(self, element: XmlElement, around: dict[str, dict[str, str]], name: str, document: Document) -> None:
        own = {tag: dict(attributes) for tag, attributes in around.items()}
        for child in element.children:
            if child.tag != "default":
                own.setdefault(child.tag, {}).update(child.attributes)
        self.classes[name] = own
        for child in element.all("default"):
            inner = child.get("class")
            if not inner:
                document.refuse(child, "a default within another has no class", 'write class="..."')
            self.read(child, own, inner, document)

    def of(self, element: XmlElement, childclass: str, document: Document) -> XmlElement:
        """The element with the attributes that it leaves to its class."""
        name = element.get("class") or childclass or "main"
        if name not in self.classes:
            document.refuse(element, f"there is no default class {name[:40]!r}")
        attributes = self.classes[name].get(element.tag, {}) | element.attributes
        if any(turn in element.attributes for turn in TURNS):  # one way to state a turn replaces another
            attributes = {key: v for key, v in attributes.items() if key not in TURNS or key in element.attributes}
        return XmlElement(element.tag, attributes, element.line, element.column, element.children)


class _MjcfReading:
    """One pass over the bodies."""

    def __init__(self, document: Document) -> None:
        self.document, self.defaults = document, _Defaults()
        self.degrees, self.sequence = True, "xyz"
        root = document.root
        document.skip_all_but(root, ("compiler", "default", "option", "worldbody", "equality"))
        for compiler in root.all("compiler"):  # sections may be repeated: what comes later counts
            self._compile(compiler)
        for element in root.all("default"):
            name = element.get("class", "main")
            self.defaults.read(element, self.defaults.classes.get(name, {}), name, document)
        self.robot = Robot(document, root.get("model"), WORLD, self._gravity())
        self.poses: dict[str, Pose] = {WORLD: Pose()}  # where bodies are drawn
        self.sites: dict[str, tuple[str, Vector]] = {}

    def _compile(self, compiler: XmlElement) -> None:
        document = self.document
        self.degrees = compiler.get("angle", "degree" if self.degrees else "radian") != "radian"
        self.sequence = compiler.get("eulerseq", self.sequence)
        if compiler.get("coordinate", "local") != "local":
            document.refuse(compiler, "global coordinates are not read", "MuJoCo itself gave them up: use local ones")
        document.skip_attributes_but(compiler, ("angle", "eulerseq", "coordinate"))

    def _gravity(self) -> Vector:
        found: Vector = (sp.S.Zero, sp.S.Zero, sp.Rational("-9.81"))
        for option in self.document.root.all("option"):
            self.document.skip_attributes_but(option, ("gravity",))
            self.document.skip_all_but(option, ())
            if "gravity" in option.attributes:
                found = self.document.numbers(option, "gravity", 3)
        return found

    def all(self) -> Robot:
        root, document = self.document.root, self.document
        worlds = root.all("worldbody")
        if not worlds:
            document.refuse(root, "there is no <worldbody> in it")
        self.robot.links[WORLD] = RobotLink(WORLD, worlds[0])
        for world in worlds:
            self._content(world, WORLD, world.get("childclass"))
        for equality in root.all("equality"):
            for element in equality.children:
                self._equality(self.defaults.of(element, "", document))
        return self.robot

    def _content(self, element: XmlElement, link: str, childclass: str) -> None:
        document = self.document
        document.skip_all_but(element, ("body", "inertial", "joint", "freejoint", "site"))
        for site in element.all("site"):
            self._site(self.defaults.of(site, childclass, document), link)
        for body in element.all("body"):
            self._body(body, link, childclass)

    def _site(self, site: XmlElement, link: str) -> None:
        name = site.get("name")
        if name:
            place = self.document.numbers(site, "pos", 3, "0 0 0")
            self.sites[name] = (link, place)
            self.robot.links[link].points[name] = place

    def _body(self, element: XmlElement, parent: str, childclass: str) -> None:
        document = self.document
        name = element.get("name") or f"body_{len(self.robot.links)}"
        if name in self.robot.links:
            document.refuse(element, f"there are two bodies {name[:40]!r}", "give each its own name")
        document.skip_attributes_but(element, ("name", "childclass", *PLACE))
        childclass = element.get("childclass") or childclass
        self.robot.links[name] = self._link(element, name)
        pose = self._pose(element)
        self.poses[name] = self.poses[parent].then(pose)
        self._joints(element, name, parent, pose, childclass)
        self._content(element, name, childclass)

    def _link(self, element: XmlElement, name: str) -> RobotLink:
        inertial, document = element.first("inertial"), self.document
        if inertial is None:
            if element.first("geom") is not None:
                what = f"the body {name!r} has no <inertial>, and what geoms weigh is not computed"
                document.refuse(element, what, "let MuJoCo write them: mj_saveLastXML gives every body its inertial")
            return RobotLink(name, element)
        mass, pose = document.number(inertial, "mass"), self._pose(inertial)
        if "fullinertia" in inertial.attributes:
            moments = document.numbers(inertial, "fullinertia", 6)
        else:
            moments = (*document.numbers(inertial, "diaginertia", 3, "0 0 0"), *NOWHERE)
        moments = turned_inertia(pose.turn, moments)
        if mass < 0 or any(moment < 0 for moment in moments[:3]):
            document.refuse(inertial, f"the body {name!r} has a negative mass or moment of inertia")
        if mass == 0 and any(moments):
            document.refuse(inertial, f"the body {name!r} has an inertia and no mass", "give it a mass, or neither")
        return RobotLink(name, element, mass, pose.offset, moments)

    def _joints(self, element: XmlElement, body: str, parent: str, pose: Pose, childclass: str) -> None:
        """The joints of a body in order, bodies without mass between them; a weld where there are none."""
        joints = [child for child in element.children if child.tag in ("joint", "freejoint")]
        if not joints:
            self.robot.hinges.append(Hinge(f"{body}_weld", element, "weld", parent, body, pose))
        for place, stated in enumerate(joints):
            last = place == len(joints) - 1
            child = body if last else f"{body}_{place + 1}"
            if not last:
                self.robot.links[child] = RobotLink(child, element)
            self.robot.hinges.append(self._joint(stated, parent, child, pose, childclass, body, place))
            parent, pose = child, Pose()

    def _joint(
        self, stated: XmlElement, parent: str, child: str, pose: Pose, childclass: str, body: str, place: int
    ) -> Hinge:
        document = self.document
        element = self.defaults.of(stated, childclass, document) if stated.tag == "joint" else stated
        word = "free" if stated.tag == "freejoint" else element.get("type", "hinge")
        if word not in KINDS:
            document.refuse(stated, f"{word[:40]!r} is no kind of joint", f"known: {', '.join(KINDS)}")
        name = element.get("name") or (f"{body}_joint" if place == 0 else f"{body}_joint{place + 1}")
        if any(hinge.name == name for hinge in self.robot.hinges):
            document.refuse(stated, f"there are two joints {name[:40]!r}", "give each its own name")
        document.skip_attributes_but(element, JOINT)
        if document.number(element, "ref", "0") != 0:
            document.refuse(stated, f"{name!r} has a ref, and joints are 0 where the file draws them", "remove ref")
        kind = KINDS[word]
        if word == "free":
            return Hinge(name, stated, kind, parent, child, pose)
        axis = document.numbers(element, "axis", 3, "0 0 1")
        if word != "ball" and not any(axis):
            document.refuse(stated, f"the axis of {name!r} is 0", "e.g. 0 0 1")
        rest = document.number(element, "springref", "0")
        if word == "hinge" and self.degrees and rest:
            rest = plain_number(rest * sp.pi / 180)
        damping, stiffness, armature = (
            document.number(element, key, "0") for key in ("damping", "stiffness", "armature")
        )
        pin = document.numbers(element, "pos", 3, "0 0 0")
        return Hinge(name, stated, kind, parent, child, pose, axis, pin, damping, stiffness, rest, armature)

    def _pose(self, element: XmlElement) -> Pose:
        return Pose(self.document.numbers(element, "pos", 3, "0 0 0"), self._turn(element))

    def _turn(self, element: XmlElement) -> Vector:
        """A turn in any of the ways that MJCF knows."""
        document = self.document
        given = [key for key in TURNS if key in element.attributes]
        if len(given) > 1:
            document.refuse(element, f"a turn is stated twice, by {given[0]} and {given[1]}", "keep one of the two")
        if not given:
            return UNIT
        if given[0] == "quat":
            found = document.numbers(element, "quat", 4)
            if not any(found):
                document.refuse(element, "a quaternion of length 0 is no turn", "1 0 0 0 turns nothing")
            return found
        if given[0] == "axisangle":
            *axis, angle = document.numbers(element, "axisangle", 4)
            return turned(axis, self._angle(angle))
        if given[0] == "euler":
            return self._euler(element)
        return _facing(element, given[0], document)

    def _angle(self, stated: sp.Rational) -> sp.Expr:
        return stated * sp.pi / 180 if self.degrees else stated

    def _euler(self, element: XmlElement) -> Vector:
        angles = self.document.numbers(element, "euler", 3)
        if len(self.sequence) != 3 or any(letter.lower() not in "xyz" for letter in self.sequence):
            self.document.refuse(element, f"eulerseq={self.sequence[:10]!r} is no sequence of axes", 'e.g. "xyz"')
        found = UNIT
        for letter, angle in zip(self.sequence, angles, strict=True):
            turn = turned(letter.lower(), self._angle(angle))
            found = product(found, turn) if letter.islower() else product(turn, found)  # small: about turned axes
        return found

    # ── equality ──────────────────────────────────────────────────────────────────────────────────

    def _equality(self, element: XmlElement) -> None:
        document = self.document
        if element.get("active", "true") == "false":
            return
        name = element.get("name") or f"{element.tag}_{len(self.robot.ties) + 1}"
        if element.tag == "joint":
            self._gear(element, name)
        elif element.tag in ("connect", "weld"):
            document.skip_attributes_but(
                element, ("name", "class", "body1", "body2", "anchor", "site1", "site2", "active", "relpose")
            )
            if "relpose" in element.attributes:
                document.refuse(element, "a weld with a relpose is not read", "draw the bodies where they are welded")
            self.robot.ties.append(self._held(element, name))
        else:
            document.skip(f"<{element.tag}> in <equality>")

    def _gear(self, element: XmlElement, name: str) -> None:
        document = self.document
        words = element.get("polycoef", "0 1 0 0 0").split()
        factors = document.numbers(element, "polycoef", len(words), "0 1 0 0 0")
        other = element.get("joint2")
        if not other or any(factor for k, factor in enumerate(factors) if k != 1):
            what = f"{name!r} is more than a gear: a polynomial, or a joint that is held"
            document.refuse(element, what, "state it in the problem file, as a row of the program")
        self.robot.ties.append(Tie(name, element, "gear", element.get("joint1"), other, factors[1]))

    def _held(self, element: XmlElement, name: str) -> Tie:
        document = self.document
        if element.get("site1") or element.get("site2"):
            ends = []
            for key in ("site1", "site2"):
                if element.get(key) not in self.sites:
                    document.refuse(element, f"there is no site {element.get(key)[:40]!r}")
                ends.append(self.sites[element.get(key)])
            (a, at_a), (b, at_b) = ends
        else:
            a, b = element.get("body1"), element.get("body2") or WORLD
            for body in (a, b):
                if body not in self.poses:
                    document.refuse(element, f"there is no body {body[:40]!r}")
            at_a = document.numbers(element, "anchor", 3, "0 0 0")
            at_b = self.poses[b].inverse.of(self.poses[a].of(at_a))
        turn = self.poses[a].inverse.then(self.poses[b]).turn
        return Tie(name, element, "weld" if element.tag == "weld" else "spherical", a, b, sp.S.One, at_a, at_b, turn)


def mjcf_robot(document: Document) -> Robot:
    """The robot of an MJCF file."""
    return _MjcfReading(document).all()


def _facing(element: XmlElement, key: str, document: Document) -> Vector:
    """The turn that takes x and y to two directions, or z to one by the shortest way."""
    if key == "zaxis":
        z = sp.Matrix(document.numbers(element, "zaxis", 3))
        if z.norm() == 0:
            document.refuse(element, "zaxis is 0", "e.g. 0 0 1")
        z = z / z.norm()
        half = sp.Matrix([0, 0, 1]) + z
        if half.norm() == 0:
            return (sp.S.Zero, sp.S.One, sp.S.Zero, sp.S.Zero)
        axis = sp.Matrix([0, 0, 1]).cross(z)
        return tuple(plain_number(part) for part in (1 + z[2], *axis))
    numbers = document.numbers(element, "xyaxes", 6)
    x, y = sp.Matrix(numbers[:3]), sp.Matrix(numbers[3:])
    x = x / x.norm() if x.norm() else x
    y = y - x * x.dot(y)
    if x.norm() == 0 or y.norm() == 0:
        document.refuse(element, "xyaxes do not span a plane", "two directions that differ")
    y = y / y.norm()
    return _quaternion(sp.Matrix.hstack(x, y, x.cross(y)))


def _quaternion(r: sp.Matrix) -> Vector:
    """The quaternion of a rotation matrix, by its largest component."""
    squares = (
        1 + r[0, 0] + r[1, 1] + r[2, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2],
        1 - r[0, 0] + r[1, 1] - r[2, 2], 1 - r[0, 0] - r[1, 1] + r[2, 2],
    )  # fmt: skip
    place = max(range(4), key=lambda k: float(squares[k]))
    rows = (
        (squares[0], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]),
        (r[2, 1] - r[1, 2], squares[1], r[0, 1] + r[1, 0], r[0, 2] + r[2, 0]),
        (r[0, 2] - r[2, 0], r[0, 1] + r[1, 0], squares[2], r[1, 2] + r[2, 1]),
        (r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[1, 2] + r[2, 1], squares[3]),
    )
    return tuple(plain_number(part) for part in rows[place])
