"""Rows of joints that hold two places together, by the geometry of the tree: how they move, without differentiation.

    y = r_a − r_b,      J = ∂w/∂v by columns:   z × (r − o) of a turn,   z of a slide,   R (e × d) of a ball
    w = J v,            γ = R_a (a_a + (ω' × + ω × ω ×) d_a) − the same of b,   while no coordinate accelerates

where z and o are axis and origin of a step in the axes of the ground, and a, ω', ω of a frame, in its own axes, come
from the recursion for the bias (`composite`) without weight, and share its nodes. By differentiation of y, w and J of a
Stewart platform of 13 bodies took 1810 operations, by this 460.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from holdfast.equations.dynamics.bodies.composite import resting_motion
from holdfast.equations.dynamics.bodies.tree import GROUND_FRAME, FrameTree
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.nodes import Node
from holdfast.graph.space import Mat, Vec, cross, minus, plus, transpose, turned_by, unit_vectors
from holdfast.problem.bodies.joints import TreeJoint
from holdfast.problem.bodies.rows import SHARED
from holdfast.problem.bodies.topology import end_of
from holdfast.problem.problem import Problem
from holdfast.problem.system import System


@dataclass(frozen=True, eq=False)
class ClosingRow:
    """How the difference of two places moves along one direction of the ground."""

    rate: Node  # w
    slopes: dict[int, Node]  # J, by coordinate
    drift: Node  # γ


def closing_rows(problem: Problem, inputs: Inputs, tree: FrameTree | None) -> dict[str, ClosingRow]:
    """Of all cut joints whose places coincide, the rows of places by name, as far as the program has them."""
    system, stated = problem.system, problem.program.holonomic
    if tree is None or system.frames is None or system.rows is None:
        return {}
    found: dict[str, ClosingRow] = {}
    wanted, geometry = [name for name, row in system.rows.holonomic.items() if stated.get(name) == row], None
    for name in system.frames.layout.cut:
        if _coincide(system, name) and any(f"{name}_p{k + 1}" in wanted for k in range(3)):
            geometry = geometry or _Geometry(system, inputs, tree)
            rows = geometry.rows(name)
            found |= {f"{name}_p{k + 1}": row for k, row in enumerate(rows) if f"{name}_p{k + 1}" in wanted}
    return found


def _coincide(system: System, name: str) -> bool:
    """Whether a cut joint holds its two places together in all directions."""
    joint, made = system.joints[name], system.frames
    assert made is not None
    if made.layout.plane:
        return joint.kind not in ("prismatic", "planar")
    return SHARED[joint.kind][0] == "all"


@dataclass(frozen=True, eq=False)
class _Spot:
    """A point of a body: its frame, and where it is in that frame."""

    frame: int
    offset: Vec


class _Geometry:
    """Axes and origins of all frames, as the ground sees them."""

    def __init__(self, system: System, inputs: Inputs, tree: FrameTree) -> None:
        self.system, self.inputs, self.tree = system, inputs, tree
        q = list(inputs.q)
        still = replace(tree, gravity=[tree.graph.zero] * 3)
        self.motion = resting_motion(still, q, list(inputs.v))
        self.axes: dict[int, Mat] = {GROUND_FRAME: unit_vectors(tree.graph)}
        self.steps: list[Vec] = []  # from the origin before to the own one
        for i, frame in enumerate(tree.frames):
            before = self.axes[frame.before]
            self.steps.append(turned_by(before, frame.place(q)))
            self.axes[i] = [frame.into(row) for row in before]

    def rows(self, name: str) -> list[ClosingRow]:
        joint = self.system.joints[name]
        assert isinstance(joint, TreeJoint)
        a, b = (self._spot(end, f"joints.{name}.between") for end in (joint.a, joint.b))
        columns = self._columns(a, b)
        drift = minus(self._drift(a), self._drift(b))
        return [self._row({j: column[k] for j, column in columns.items()}, drift[k]) for k in range(3)]

    def _row(self, slopes: Mapping[int, Node], drift: Node) -> ClosingRow:
        found = {j: slopes[j] for j in sorted(slopes) if not slopes[j].is_zero}
        rate = self.tree.graph.sum(slope * self.inputs.v[j] for j, slope in found.items())
        return ClosingRow(rate, found, drift)

    def _spot(self, end: str, where: str) -> _Spot:
        made, system = self.system.frames, self.system
        assert made is not None
        found = end_of(end, made.bodies, system.points, where)
        placed = self.tree.bodies[found.body]
        offset = [self.inputs.walk(part) for part in made.frames.offset(found.body, found.point)]
        return _Spot(placed.frame, plus(placed.offset, turned_by(placed.turn, offset)))

    def _drift(self, spot: _Spot) -> Vec:
        """The acceleration of a point while no coordinate has any."""
        motion, i = self.motion, spot.frame
        if i == GROUND_FRAME:
            return motion.lift[i]
        return turned_by(self.axes[i], plus(motion.lift[i], turned_by(motion.around[i], spot.offset)))

    def _chain(self, spot: _Spot) -> dict[int, Vec]:
        """The frames from that of a point to the ground, each with the way from its origin to the point."""
        found: dict[int, Vec] = {}
        i, way = spot.frame, turned_by(self.axes[spot.frame], spot.offset)
        while i != GROUND_FRAME:
            found[i] = way
            way, i = plus(way, self.steps[i]), self.tree.frames[i].before
        return found

    def _columns(self, a: _Spot, b: _Spot) -> dict[int, Vec]:
        """J of r_a − r_b by coordinate: what carries both moves them by their difference only."""
        first, second, found = self._chain(a), self._chain(b), dict[int, Vec]()
        minus_one = self.tree.graph.minus_one
        for i in first.keys() | second.keys():
            if i in first and i in second:
                found |= self._moved(i, minus(first[i], second[i]))
            elif i in first:
                found |= self._moved(i, first[i], a)
            else:
                found |= {j: [minus_one * part for part in way] for j, way in self._moved(i, second[i], b)}
        return found

    def _moved(self, i: int, way: Vec, spot: _Spot | None = None) -> Iterator[tuple[int, Vec]]:
        """How far a point moves with each coordinate of a step, from the way to it."""
        frame, columns = self.tree.frames[i], transpose(self.axes[i])
        if frame.kind == "ball":
            own = spot is not None and spot.frame == i
            for place, unit, column in zip(frame.coordinates, unit_vectors(self.tree.graph), columns, strict=True):
                yield place, turned_by(self.axes[i], cross(unit, spot.offset)) if own and spot else cross(column, way)
        elif frame.kind == "turn":
            yield frame.coordinates[0], cross(columns[2], way)
        elif spot is not None:
            yield frame.coordinates[0], columns[2]
