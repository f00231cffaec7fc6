"""Bodies and joints of a problem text, read anew: their coordinates, places, energies and rows, by Lagrange's way.

    T = Σ m |c'|²/2 + ω·Iω/2,      P = −Σ m g·c

with c the centre of mass in the axes of the ground and ω the spin in the axes of the body. Hinges, sliders, sleeves,
crosses, balls and welds are known, and free bodies. Quaternions are in reading/spins.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.reading.joint_rows import JointRows
from holdfast.stability.verifier.reading.spins import Moving, quaternion_rates
from holdfast.stability.verifier.reading.turns import (
    Vector,
    about,
    across,
    dot,
    plus,
    product,
    rotation,
    times,
    transposed,
)
from holdfast.stability.verifier.refusal import Refused, require

if TYPE_CHECKING:
    from holdfast.stability.verifier.reading.statement import Statement

FREEDOMS = {  # in space, in the plane
    "revolute": (1, 1), "prismatic": (1, 1), "cylindrical": (2, 2), "universal": (2, 2), "spherical": (3, 1),
    "planar": (3, 3), "weld": (0, 0), "free": (6, 3),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class PlacedFrame:
    """Origin and axes (columns by rows) in those of the ground, spin in its own axes, the angle in the plane."""

    place: Vector
    axes: list[Vector]
    spin: Vector
    angle: Node


class BodyReader:
    """The mechanism of one problem text."""

    def __init__(self, made: Statement, data: Mapping[str, Any]) -> None:
        self.made, self.dag = made, made.dag
        self.bodies, self.joints = dict(data.get("bodies", {})), dict(data.get("joints", {}))
        system = data.get("system", {})
        require(system.get("placing", "relative") in ("relative", "absolute"), "[system] has an unknown placing")
        self.absolute = system.get("placing") == "absolute"
        for table in (*self.bodies.values(), *self.joints.values()):
            require(isinstance(table, dict), "the problem text cannot be read: a body or joint is no table")
        self.plane = self._in_plane(system)
        self.gravity = self._vector(system.get("gravity", [0, 0] if self.plane else [0, 0, 0]), "gravity")
        self.norm_rate = self.constant(system.get("norm_rate", 0), "norm_rate")
        zero, one = self.dag.zero, self.dag.one
        self.none = [zero, zero, zero]
        self.unit = [[one, zero, zero], [zero, one, zero], [zero, zero, one]]
        self.frames = {"ground": PlacedFrame(self.none, self.unit, self.none, zero)}
        self.rows: dict[str, Node] = {}
        self.fast_rows: dict[str, Node] = {}

    def read(self) -> None:
        """Coordinates, names and points of the statement; energies and rows are then known here."""
        taken = self._taken()
        for body, joint, near, far in self._links(taken):
            self._place(body, joint, near, far)
        for body, table in self.bodies.items():
            self._name(body, tuple(self.frames[body].place[: self.size]))
            for point in table.get("points", {}):
                place = self.at((body, point))[: self.size]
                self._name(point, tuple(place))
                for letter, part in zip("xyz", place, strict=False):
                    self._name(f"{point}_{letter}", part)
        rows = JointRows(self)
        for name, joint in self.joints.items():
            kind = joint.get("kind")
            if kind in FREEDOMS and name not in taken and kind != "free":
                rows.cut(name, joint)
        for name, joint in self.joints.items():
            if joint.get("kind") not in FREEDOMS:
                rows.hold(name, joint)
        self.rows, self.fast_rows = rows.found, rows.fast

    def energies(self) -> tuple[Node, Node]:
        """T and P of all bodies."""
        dag, half = self.dag, self.dag.div(self.dag.one, self.dag.const(2))
        kinetic, potential = [], []
        for name, table in self.bodies.items():
            frame = self.frames[name]
            mass = self.constant(table.get("mass"), f"bodies.{name}.mass")
            center = plus(dag, frame.place, times(dag, frame.axes, self._vector(table.get("center"), "center")))
            speed = [self.made.rate(part) for part in center]
            kinetic.append(dag.mul(half, dag.mul(mass, dot(dag, speed, speed))))
            inertia = self._inertia(table.get("inertia"), name)
            self.made.moving.append(Moving(mass, speed, inertia, frame.spin))
            turning = times(dag, inertia, frame.spin)
            kinetic.append(dag.mul(half, dot(dag, frame.spin, turning)))
            potential.append(dag.neg(dag.mul(mass, dot(dag, self.gravity, center))))
        return dag.sum(kinetic), dag.sum(potential)

    # ── single values ─────────────────────────────────────────────────────────────────────────────

    @property
    def size(self) -> int:
        return 2 if self.plane else 3

    def _in_plane(self, system: Mapping[str, Any]) -> bool:
        vectors = [system.get("gravity")]
        for table in self.bodies.values():
            points = table.get("points", {})
            require(isinstance(points, dict), "the problem text cannot be read: points are no table")
            vectors += [table.get("center"), table.get("position"), table.get("velocity"), *points.values()]
            if "inertia" in table and not isinstance(table["inertia"], list):
                return True
        return any(isinstance(vector, list) and len(vector) == 2 for vector in vectors)

    def constant(self, value: Any, where: str) -> Node:
        node = self.made.scalar(value, where)
        moving = {"t", *self.made.coordinates, *self.made.states, *(f"{q}_dot" for q in self.made.coordinates)}
        require(not inputs_of([node]) & moving, f"{where} changes, which is not known here")
        return node

    def _vector(self, value: Any, where: str) -> Vector:
        if value is None:
            return [self.dag.zero] * 3
        parts = value if isinstance(value, list) else None
        require(parts is not None and len(parts) in (2, 3), f"the problem text cannot be read: {where} is no vector")
        assert parts is not None
        found = [self.constant(part, where) for part in parts]
        return [*found, self.dag.zero] if len(found) == 2 else found

    def _inertia(self, value: Any, name: str) -> list[Vector]:
        zero = self.dag.zero
        if value is None:
            value = 0 if self.plane else [0, 0, 0]
        if self.plane:
            return [self.none, self.none, [zero, zero, self.constant(value, f"bodies.{name}.inertia")]]
        require(isinstance(value, list) and len(value) in (3, 6), f"bodies.{name}.inertia is not known here")
        m = [self.constant(part, f"bodies.{name}.inertia") for part in value] + [zero] * (6 - len(value))
        return [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]]

    def axis(self, joint: Mapping[str, Any], key: str = "axis") -> Vector:
        value = joint.get(key)
        if value is None:
            value = {"axis2": "y"}.get(key, "x" if joint.get("kind") == "universal" else "z")
        if isinstance(value, str):
            sign = -1 if value.startswith("-") else 1
            require(value.lstrip("-") in ("x", "y", "z"), "an axis is not known here")
            return [self.dag.const(sign * int(value.lstrip("-") == letter)) for letter in "xyz"]
        parts = self._vector(value, key)
        square = dot(self.dag, parts, parts)
        return parts if square is self.dag.one else [self.dag.div(p, self.dag.call("sqrt", square)) for p in parts]

    def turn_at_zero(self, joint: Mapping[str, Any]) -> list[Vector]:
        value = joint.get("orientation")
        if value is None:
            return self.unit
        if self.plane and not isinstance(value, (list, dict)):
            return about(self.dag, self.unit[2], self.constant(value, "orientation"))
        if isinstance(value, dict):
            require(set(value) == {"axis", "angle"}, "an orientation by rpy is not known here")
            return about(self.dag, self.axis(value), self.constant(value["angle"], "orientation"))
        require(len(value) == 4, "an orientation is not known here")
        return rotation(self.dag, [self.constant(part, "orientation") for part in value])

    # ── the tree ──────────────────────────────────────────────────────────────────────────────────

    def ends(self, joint: Mapping[str, Any]) -> list[tuple[str, str]]:
        between = joint.get("between")
        require(isinstance(between, list) and len(between) == 2, "a joint is not between two things")
        assert isinstance(between, list)
        return [self._end(str(end)) for end in between]

    def _end(self, name: str) -> tuple[str, str]:
        if name == "ground" or name in self.bodies:
            return name, ""
        for body, table in self.bodies.items():
            if name in table.get("points", {}):
                return body, name
        require(isinstance(self.made.names.get(name), tuple), f"a joint ends at {name!r}, which is not known here")
        return "ground", name

    def _taken(self) -> list[str]:
        """The joints of the tree: fewest freedoms first, in their order."""
        if self.absolute:
            return []
        known = [name for name, joint in self.joints.items() if joint.get("kind") in FREEDOMS]
        group = {name: {name} for name in ("ground", *self.bodies)}
        found = []
        for name in sorted(known, key=lambda n: FREEDOMS[self.joints[n]["kind"]][self.plane]):
            (a, _), (b, _) = self.ends(self.joints[name])
            if b not in group[a]:
                joined = group[a] | group[b]
                group |= dict.fromkeys(joined, joined)
                found.append(name)
        return found

    def _links(self, taken: Sequence[str]) -> list[tuple[str, str, tuple[str, str], tuple[str, str]]]:
        """(body, joint, near end, far end) from the ground outward, along each branch first."""
        around: dict[str, list[tuple[str, tuple[str, str], tuple[str, str]]]] = {
            n: [] for n in ("ground", *self.bodies)
        }
        for name in self.joints:
            if name in taken:
                a, b = self.ends(self.joints[name])
                around[a[0]].append((name, a, b))
                around[b[0]].append((name, b, a))
        found, seen = [], {"ground"}
        for root in ("ground", *self.bodies):
            if root != "ground" and root not in seen:
                seen.add(root)
                found.append((root, root, ("ground", ""), (root, "")))
            elif root != "ground":
                continue
            waiting = list(reversed(around[root]))
            while waiting:
                name, near, far = waiting.pop()
                if far[0] not in seen:
                    seen.add(far[0])
                    found.append((far[0], name, near, far))
                    waiting.extend(reversed(around[far[0]]))
        return found

    def _place(self, body: str, name: str, near: tuple[str, str], far: tuple[str, str]) -> None:
        """One body, on the one that carries it."""
        dag, carrier = self.dag, self.frames[near[0]]
        joint = self.joints.get(name, {"kind": "free"})
        forward = name not in self.joints or self.ends(joint)[0] == near
        turn = self.turn_at_zero(joint)
        steps = self._steps(joint, name)
        if not forward:
            require(all(kind != "ball" for kind, _, _ in steps), f"{name!r} is led backwards, which is not known here")
            steps = [(kind, [dag.neg(p) for p in times(dag, turn, axis)], q) for kind, axis, q in reversed(steps)]
            turn = transposed(turn)
        place, spin, angle = self.at(near), carrier.spin, carrier.angle
        axes, spin = product(dag, carrier.axes, turn), times(dag, transposed(turn), spin)
        angle = (
            dag.add(angle, dag.call("atan2", turn[1][0], turn[0][0])) if self.plane and turn is not self.unit else angle
        )
        for kind, axis, coordinate in steps:
            if kind == "ball":
                matrix, own = self._ball(coordinate)
                axes, spin = product(dag, axes, matrix), plus(dag, times(dag, transposed(matrix), spin), own)
                continue
            self._coordinate(coordinate)
            q, v = dag.input(coordinate), dag.input(f"{coordinate}_dot")
            if kind == "slide":
                place = plus(dag, place, [dag.mul(q, part) for part in times(dag, axes, axis)])
                continue
            matrix = about(dag, axis, q)
            axes, spin = (
                product(dag, axes, matrix),
                plus(dag, times(dag, transposed(matrix), spin), [dag.mul(v, part) for part in axis]),
            )
            angle = dag.add(angle, dag.mul(axis[2], q))
        if self.plane:
            axes = about(dag, self.unit[2], angle)
        inner = self._offset(far)
        place = [dag.sub(a, b) for a, b in zip(place, times(dag, axes, inner), strict=True)]
        self.frames[body] = PlacedFrame(place, axes, spin, angle)
        self._name_frame(body)

    def _ball(self, name: str) -> tuple[list[Vector], Vector]:
        """A turn by a quaternion, and the spin that it adds, in the axes after it."""
        spins, quaternion = [f"{name}_turn_{c}" for c in "xyz"], [f"{name}_e{k}" for k in range(4)]
        for word in spins:
            self._coordinate(word)
        for word in quaternion:
            self._name(word, self.dag.input(word))
        rates = quaternion_rates(self.made, quaternion, spins, self.norm_rate)
        self.made.states |= rates
        self.made.quaternions |= rates
        matrix = rotation(self.dag, [self.dag.input(word) for word in quaternion])
        return matrix, [self.dag.input(f"{word}_dot") for word in spins]

    def _steps(self, joint: Mapping[str, Any], name: str) -> list[tuple[str, Vector, str]]:
        kind, x, y, z = joint.get("kind"), *self.unit
        if kind == "free" and self.plane:
            return [("slide", x, f"{name}_x"), ("slide", y, f"{name}_y"), ("turn", z, f"{name}_angle")]
        if kind == "spherical" and self.plane:
            return [("turn", z, name)]
        if kind == "revolute":
            return [("turn", self.axis(joint), name)]
        if kind == "prismatic":
            return [("slide", self.axis(joint), name)]
        if kind == "cylindrical":
            return [("slide", self.axis(joint), f"{name}_slide"), ("turn", self.axis(joint), name)]
        if kind == "universal":
            return [("turn", self.axis(joint), f"{name}_1"), ("turn", self.axis(joint, "axis2"), f"{name}_2")]
        if kind == "planar":
            first, second, normal = transposed(across(self.dag, self.axis(joint)))
            return [("slide", first, f"{name}_x"), ("slide", second, f"{name}_y"), ("turn", normal, name)]
        if kind == "weld":
            return []
        if kind == "spherical":
            return [("ball", z, name)]
        if kind == "free":
            return [
                *(("slide", way, f"{name}_{c}") for way, c in zip((x, y, z), "xyz", strict=True)),
                ("ball", z, name),
            ]
        raise Refused(f"{name!r} is a joint that is not known here")

    def _offset(self, end: tuple[str, str]) -> Vector:
        body, point = end
        if not point:
            return self.none
        if body == "ground":
            value = self.made.names[point]
            assert isinstance(value, tuple)
            require(not inputs_of(value) & {"t", *self.made.coordinates}, f"the point {point!r} moves")
            return [*value, self.dag.zero] if len(value) == 2 else list(value)
        return self._vector(self.bodies[body]["points"][point], f"points.{point}")

    def at(self, end: tuple[str, str]) -> Vector:
        frame = self.frames[end[0]]
        return plus(self.dag, frame.place, times(self.dag, frame.axes, self._offset(end)))

    def _coordinate(self, name: str) -> None:
        require(name not in self.made.names, f"the problem text cannot be read: {name!r} is named twice")
        self.made.coordinates.append(name)
        self.made.names |= {name: self.dag.input(name), f"{name}_dot": self.dag.input(f"{name}_dot")}

    def _name(self, name: str, value: Any) -> None:
        require(name not in self.made.names, f"the problem text cannot be read: {name!r} is named twice")
        self.made.names[name] = value

    def _name_frame(self, body: str) -> None:
        frame = self.frames[body]
        named = {f"{body}_{c}": part for c, part in zip("xyz", frame.place[: self.size], strict=False)}
        if self.plane:
            named |= {f"{body}_angle": frame.angle, f"{body}_w": frame.spin[2]}
        else:
            named |= {f"{body}_w{c}": part for c, part in zip("xyz", frame.spin, strict=True)}
            named |= {f"{body}_r{i + 1}{j + 1}": frame.axes[i][j] for i in range(3) for j in range(3)}
        for name, value in named.items():
            if name not in self.made.coordinates:
                self._name(name, value)
