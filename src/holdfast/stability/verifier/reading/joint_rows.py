"""Rows of joints: those that close a loop of the mechanism, and those that hold a distance or two coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.reading.turns import Vector, across, cross, dot, plus, product, times, transposed
from holdfast.stability.verifier.refusal import require

if TYPE_CHECKING:
    from holdfast.stability.verifier.reading.bodies import BodyReader

HELD = ("distance", "gear", "rack-and-pinion", "rolling-on-plane")
ROWS = {  # where places and turns are held when a joint is cut
    "revolute": ("all", "across"), "prismatic": ("across", "all"), "cylindrical": ("across", "across"),
    "universal": ("all", "two"), "spherical": ("all", ""), "planar": ("along", "across"), "weld": ("all", "all"),
}  # fmt: skip


class JointRows:
    """Rows by their names, of one mechanism whose bodies are placed."""

    def __init__(self, reader: BodyReader) -> None:
        self.reader, self.dag = reader, reader.dag
        self.found: dict[str, Node] = {}
        self.fast: dict[str, Node] = {}  # of velocities

    def _keep(self, name: str, row: Node) -> None:
        require(name not in self.found, f"the problem text cannot be read: {name!r} is kept twice")
        require(
            bool(inputs_of([row]) & {*self.reader.made.coordinates, *self.reader.made.quaternions}),
            f"the row {name!r} depends on nothing that moves",
        )
        self.found[name] = row

    def cut(self, name: str, joint: Mapping[str, Any]) -> None:
        """The rows of a joint that closes a loop: where its places and turns are held."""
        dag, kind = self.dag, str(joint.get("kind"))
        near, far = self.reader.ends(joint)
        here, there = self.reader.at(near), self.reader.at(far)
        a, b = self.reader.frames[near[0]], self.reader.frames[far[0]]
        apart = [dag.sub(p, q) for p, q in zip(here, there, strict=True)]

        def along(way: Vector) -> Node:
            return dot(dag, times(dag, b.axes, way), apart)

        if self.reader.plane:
            if kind == "prismatic":
                x, y, _ = self.reader.axis(joint)
                self._keep(f"{name}_p1", along([dag.neg(y), x, dag.zero]))
            elif kind != "planar":
                self._keep(f"{name}_p1", apart[0])
                self._keep(f"{name}_p2", apart[1])
            if kind in ("prismatic", "weld"):
                turn = self.reader.turn_at_zero(joint)
                at_zero = dag.call("atan2", turn[1][0], turn[0][0]) if turn is not self.reader.unit else dag.zero
                self._keep(f"{name}_r1", dag.call("sin", dag.sub(dag.sub(b.angle, a.angle), at_zero)))
            return
        places, turns = ROWS[kind]
        axis = self.reader.axis(joint) if kind not in ("spherical", "weld") else self.reader.unit[2]
        first, second, third = transposed(across(dag, axis))
        ways = {"all": [], "across": [first, second], "along": [third]}[places]
        for k, row in enumerate([along(way) for way in ways] or apart):
            self._keep(f"{name}_p{k + 1}", row)
        turned = product(dag, transposed(b.axes), product(dag, a.axes, self.reader.turn_at_zero(joint)))
        seen = times(dag, turned, axis)
        trace = dag.add(dag.one, dag.add(turned[0][0], dag.add(turned[1][1], turned[2][2])))
        share = dag.div(trace, dag.const(2))
        skew = [dag.div(dag.sub(turned[i][j], turned[j][i]), share) for i, j in ((2, 1), (0, 2), (1, 0))]
        found = {"all": skew, "": []}.get(turns)
        if turns == "across":
            found = [dot(dag, first, seen), dot(dag, second, seen)]
        if turns == "two":
            other = self.reader.axis(joint, "axis2")
            found = [dag.sub(dot(dag, other, seen), dot(dag, other, axis))]
        for k, row in enumerate(found or []):
            self._keep(f"{name}_r{k + 1}", row)

    def hold(self, name: str, joint: Mapping[str, Any]) -> None:
        """The row of a joint that only holds."""
        dag, kind = self.dag, joint.get("kind")
        require(kind in HELD, f"{name!r} is a joint that is not known here")
        if kind == "rolling-on-plane":
            return self._roll(name, joint)
        if kind == "distance":
            near, far = self.reader.ends(joint)
            away = [dag.sub(q, p) for p, q in zip(self.reader.at(near), self.reader.at(far), strict=True)]
            length = self.reader.constant(joint.get("length"), f"joints.{name}.length")
            square = dag.sub(dot(dag, away, away), dag.power(length, 2))
            return self._keep(name, dag.div(square, dag.mul(dag.const(2), length)))
        first, second = (str(end) for end in joint.get("between", ["", ""]))
        require({first, second} <= set(self.reader.made.coordinates), f"{name!r} is not between coordinates of joints")
        a, b = dag.input(first), dag.input(second)
        if kind == "gear":
            return self._keep(name, dag.sub(a, dag.mul(self.reader.constant(joint.get("ratio"), "ratio"), b)))
        return self._keep(name, dag.sub(b, dag.mul(self.reader.constant(joint.get("radius"), "radius"), a)))

    def _roll(self, name: str, joint: Mapping[str, Any]) -> None:
        """A sharp rim, or a ball, touches a plane of the ground with its lowest point, which is at rest there."""
        dag, reader = self.dag, self.reader
        near, far = reader.ends(joint)
        require(far[0] == "ground", f"{name!r} does not roll on the ground")
        upright = reader.plane and joint.get("normal") is None
        normal = reader.unit[1] if upright else reader.axis(joint, "normal")
        radius, wheel, centre = reader.constant(joint.get("radius"), "radius"), reader.frames[near[0]], reader.at(near)
        up = times(dag, transposed(wheel.axes), normal)  # in the axes of the wheel
        reach, outward = dag.one, up
        if joint.get("axis") is not None:
            axle = reader.axis(joint)
            tilt = dot(dag, axle, up)
            reach = dag.call("sqrt", dag.sub(dag.one, dag.power(tilt, 2)))
            outward = [dag.div(dag.sub(n, dag.mul(tilt, e)), reach) for n, e in zip(up, axle, strict=True)]
        apart = [dag.sub(p, q) for p, q in zip(centre, reader.at(far), strict=True)]
        self._keep(f"{name}_height", dag.sub(dot(dag, normal, apart), dag.mul(radius, reach)))
        rim = [dag.neg(dag.mul(radius, part)) for part in outward]
        speeds = plus(dag, [reader.made.rate(p) for p in centre], times(dag, wheel.axes, cross(dag, wheel.spin, rim)))
        first, second, _ = transposed(across(dag, normal))
        ways = (
            {"slip": [normal[1], dag.neg(normal[0]), dag.zero]} if reader.plane else {"slip1": first, "slip2": second}
        )
        for word, way in ways.items():
            self.fast[f"{name}_{word}"] = dot(dag, way, speeds)
