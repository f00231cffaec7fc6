"""The mechanism in motion: where its points are along a run, and which of them are linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.tape import Tape
from holdfast.problem.problem import Problem
from holdfast.results.bodies import Bodies, reach
from holdfast.results.shapes import drawn_points, meshes_of
from holdfast.results.trajectory import Trajectory

FRAMES = 600  # at most
MOST_TRACES = 6  # points that leave one unless the file says which
STILL = 1e-9  # a point that moves less, as a part of the picture's size, is fixed

# Where a point (x, y, z) is drawn: seen from the front, the right and above, z upwards.
VIEW = np.array([[-0.5, 0.8660254037844386, 0.0], [-0.25, -0.14433756729740643, 0.9574271077563381]])

TOWARD = np.cross(VIEW[0], VIEW[1])  # the one who looks


@dataclass(frozen=True, eq=False)
class MechanismFrames:
    """Points along a run on a plane, frame by frame (frames, points, 2); links and traces by the points' numbers.

    After the points that have `names` come those that carry the shapes of bodies (`results.shapes`).
    """

    names: tuple[str, ...]
    times: np.ndarray
    frames: np.ndarray
    links: tuple[tuple[int, int], ...]
    traces: tuple[int, ...]
    spatial: bool
    complaints: tuple[str, ...] = ()
    bodies: tuple[Any, ...] = ()  # as `results.bodies` describes them
    follow: int | None = None  # the point that the picture keeps in its middle
    space: np.ndarray | None = None  # (frames, points, 3), where the points are not on a plane

    @cached_property
    def box(self) -> tuple[float, float, float, float]:
        """x and y from lowest to highest, never empty."""
        points = self.frames[:, : len(self.names)]
        low, high = points.min(axis=(0, 1)), points.max(axis=(0, 1))
        more = reach(list(self.bodies), self.frames)
        low, high = np.vstack([low, more[0]]).min(axis=0), np.vstack([high, more[1]]).max(axis=0)
        size = max(float((high - low).max()), 1e-9)
        middle = (low + high) / 2
        half = np.maximum((high - low) / 2, 0.12 * size)
        (left, bottom), (right, top) = middle - half, middle + half
        return float(left), float(bottom), float(right), float(top)

    @property
    def fixed(self) -> tuple[int, ...]:
        left, bottom, right, top = self.box
        moved = np.ptp(self.frames[:, : len(self.names)], axis=0).max(axis=1)
        return tuple(int(k) for k in np.nonzero(moved <= STILL * max(right - left, top - bottom))[0])


def motion_of(
    trajectory: Trajectory, equations: Equations | None = None, frames: int = FRAMES
) -> MechanismFrames | None:
    """The points of the problem along a run, evenly in time as far as rows are kept; None if it has no points."""
    problem = trajectory.problem
    if problem is None or not problem.system.points or len(trajectory.times) < 2:
        return None
    equations = equations or trajectory.equations or derive(problem)
    rows = _even_rows(trajectory.times, frames)
    positions = _positions(trajectory, equations, rows)
    finite = np.isfinite(positions).all(axis=(1, 2))
    positions, rows = positions[finite], rows[finite]
    if len(rows) < 2:
        return None
    names = tuple(problem.system.points)
    spatial = positions.shape[2] == 3
    flat = positions @ VIEW.T if spatial else positions
    links, traces, complaints = _drawn(problem.animation, names)
    links = links if "links" in problem.animation or not problem.system.bodies else _within_bodies(problem, names)
    bodies, meshes = Bodies(problem.animation, names, trajectory, rows), meshes_of(problem, trajectory.parameters)
    told = (*complaints, *bodies.complaints, *meshes.complaints)
    times, found, space = trajectory.times[rows], (*bodies.found, *meshes.bodies), positions if spatial else None
    motion = MechanismFrames(names, times, flat, links, (), spatial, told, found, bodies.follow, space)
    moving = tuple(k for k in range(len(names)) if k not in motion.fixed)
    moving = moving if len(moving) <= MOST_TRACES else moving[-1:]  # many would bury the mechanism
    return replace(motion, traces=moving if traces is None else traces)


def _within_bodies(problem: Problem, names: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """From the origin of each body that has no shape to its points."""
    place = {name: k for k, name in enumerate(names)}
    return tuple(
        (place[name], place[point])
        for name, body in problem.system.bodies.items()
        if name in place and not body.shape
        for point in body.points
    )


def _even_rows(times: np.ndarray, frames: int) -> np.ndarray:
    """Rows nearest to evenly spaced times, so that the picture moves at an even pace."""
    if len(times) <= frames:
        return np.arange(len(times))
    return np.unique(np.searchsorted(times, np.linspace(times[0], times[-1], frames)).clip(0, len(times) - 1))


def _positions(trajectory: Trajectory, equations: Equations, rows: np.ndarray) -> np.ndarray:
    """(rows, points, 2 or 3); a plane point among spatial ones lies at z = 0."""
    points = drawn_points(equations.problem)
    depth = max(len(position) for position in points.values())
    zero = equations.inputs.graph.zero
    nodes = [
        equations.inputs.walk(position[k]) if k < len(position) else zero
        for position in points.values()
        for k in range(depth)
    ]
    tape = Tape(equations.field.inputs, tuple(nodes))
    constants = [float(trajectory.parameters[name]) for name in equations.parameter_names]
    states, times = trajectory.y[:, rows].T.tolist(), trajectory.times[rows].tolist()
    values = [tape([time, *state, *constants]) for time, state in zip(times, states, strict=True)]
    return np.array(values, dtype=float).reshape(len(rows), len(points), depth)


def _drawn(
    table: Any, names: Sequence[str]
) -> tuple[tuple[tuple[int, int], ...], tuple[int, ...] | None, tuple[str, ...]]:
    """Links and traces as [animation] states them; by default the points are linked in order. Complaints in words."""
    place = {name: k for k, name in enumerate(names)}
    complaints: list[str] = []

    def number(name: Any) -> int | None:
        if isinstance(name, str) and name in place:
            return place[name]
        complaints.append(f"[animation] names {str(name)[:60]!r}, which is not among the points {', '.join(names)}.")
        return None

    if "links" in table:
        pairs = []
        for entry in table["links"] if isinstance(table["links"], tuple) else ():
            chain = [number(name) for name in (entry if isinstance(entry, tuple) else (entry,))]
            known = [k for k in chain if k is not None]
            pairs += list(pairwise(known)) if len(known) == len(chain) else []
        links = tuple(pairs)
    else:
        links = tuple((k, k + 1) for k in range(len(names) - 1))
    if "traces" not in table:
        return links, None, tuple(complaints)
    wanted = table["traces"] if isinstance(table["traces"], tuple) else (table["traces"],)
    found = [number(name) for name in wanted]
    return links, tuple(k for k in found if k is not None), tuple(complaints)
