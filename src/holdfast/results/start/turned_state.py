"""States moved along their coordinates, where some of these are spins: a quaternion turns, and stays of length 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node

FIRST_DAMPING, MOST_DAMPING = 1e-3, 1e12  # of scaled slopes: nearly Newton's step, and nothing at all
MOST_STEPS = 200  # as SciPy's search beside it


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

    @property
    def places(self) -> set[int]:
        """The coordinates whose values nothing depends on: those along spins."""
        return {place for places, _ in self.balls for place in places}

    def thrown(self, state: np.ndarray, free: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The state with random quaternions where all of a spin may move."""
        found = state.copy()
        for places, quaternion in self.balls:
            if set(places) <= set(free.tolist()):
                p = random.normal(size=4)
                found[quaternion] = p / np.linalg.norm(p)
                found[places] = state[places]
        return found

    def apart(self, one: np.ndarray, other: np.ndarray) -> list[float]:
        """Between two states, the angle of each turn: p and −p are the same."""
        angles = []
        for _, quaternion in self.balls:
            p, q = one[quaternion], other[quaternion]
            angles.append(2 * float(min(np.linalg.norm(p - q), np.linalg.norm(p + q))))
        return angles


def downhill(
    values: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    state: np.ndarray,
    free: np.ndarray,
    turned: TurnedStates,
) -> np.ndarray:
    """The state of least |y|² that damped steps along the free coordinates find (Levenberg and Marquardt).

    `values` are scaled deviations and their slopes by coordinate. Each step is taken along the state reached, so that
    quaternions turn from where they are.
    """
    damping = FIRST_DAMPING
    y, slopes = values(state)
    for _ in range(MOST_STEPS):
        rows = slopes[:, free]
        if not (np.isfinite(rows).all() and np.isfinite(y).all()) or not y.any():
            break
        scale = np.sqrt((rows**2).sum(axis=0))
        scale = np.where(scale > 0, scale, 1.0)
        damped = np.vstack([rows / scale, np.sqrt(damping) * np.eye(len(free))])
        step = np.zeros(turned.n)
        step[free] = -np.linalg.lstsq(damped, np.append(y, np.zeros(len(free))), rcond=None)[0] / scale
        trial = turned.moved(state, step)
        lower, other = values(trial)
        if np.isfinite(lower).all() and lower @ lower < y @ y:
            state, y, slopes, damping = trial, lower, other, damping / 5
        else:
            damping *= 4
            if damping > MOST_DAMPING:
                break
    return state


def displacement_rows(nodes: Sequence[Node], inputs: Inputs) -> Rows:
    """How quantities change with displacements along the coordinates."""
    if not inputs.balls:
        return jacobian(nodes, inputs.q)
    slopes = [inputs.slopes(node) for node in nodes]
    return [{j: slope for j, slope in enumerate(row) if not slope.is_zero} for row in slopes]
