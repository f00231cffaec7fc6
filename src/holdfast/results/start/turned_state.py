"""States moved along their coordinates, where some of these are spins: a quaternion turns, and stays of length 1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node


class TurnedStates:
    """How displacements along coordinates change a state (q, v, s)."""

    def __init__(self, inputs: Inputs) -> None:
        n = len(inputs.q)
        place = {node: 2 * n + k for k, node in enumerate(inputs.s)}
        self.n = n
        self.balls = [(list(ball.places), [place[part] for part in ball.quaternion]) for ball in inputs.balls]

    def free(self, free: np.ndarray) -> np.ndarray:
        """Of (q, v, s), which of q and v may move: along a spin, where the quaternion may."""
        found = free[: 2 * self.n].copy()
        for places, quaternion in self.balls:
            found[places] = free[quaternion].all()
        return found

    def moved(self, state: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The state after displacements along all coordinates: q + Δ, and p∘(1, Δ/2) made of length 1."""
        found = state.copy()
        found[: self.n] += step
        for places, quaternion in self.balls:
            found[places] = state[places]
            w, v = state[quaternion[0]], state[quaternion[1:]]
            half = step[places] / 2
            p = np.array([w - v @ half, *(v + w * half + np.cross(v, half))])
            length = np.linalg.norm(p)
            found[quaternion] = p / length if length > 0 and step[places].any() else state[quaternion]
        return found


def displacement_rows(nodes: Sequence[Node], inputs: Inputs) -> Rows:
    """How quantities change with displacements along the coordinates."""
    if not inputs.balls:
        return jacobian(nodes, inputs.q)
    slopes = [inputs.slopes(node) for node in nodes]
    return [{j: slope for j, slope in enumerate(row) if not slope.is_zero} for row in slopes]
