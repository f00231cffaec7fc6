"""Onto constraints of higher degree: all rates of their deviations at once.

    min |Δx|  with  y = y' = ... = 0,      x = (q, v, z)

where z are the states of extensions. The rates of a deviation mix coordinates and rates (the second one of an elastic
joint is a matter of positions), so that positions do not come first here. By Newton's iteration, coordinates and rates
measured by their masses, deviations in the size of their terms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import ancestors
from holdfast.results.start.term_sizes import OFF, ROUNDING_NOISE, deviation_sizes

ITERATIONS = 40


def _driven(inputs: Inputs, count: int) -> np.ndarray:
    """Which first-order states controls drive, at once or through others."""
    found, states = set(inputs.controls.values()), inputs.s[:count]
    for _ in states:
        found |= {s for s, rate in zip(states, inputs.stated_rates, strict=False) if found & set(ancestors((rate,)))}
    return np.array([s in found for s in states], dtype=bool)


class Chains:
    """Moves states onto some constraints with all their rates, over the components that are free to move."""

    def __init__(self, equations: Equations, constraints: Sequence[str], free: np.ndarray | None = None) -> None:
        deviations, inputs = equations.deviations, equations.inputs
        self._equations, self._names = equations, deviations.names_of(constraints)
        self._places = [deviations.names.index(name) for name in self._names]
        nodes = [(*deviations.y, *deviations.w)[k] for k in self._places]
        moving, zero = (*inputs.q, *inputs.v, *inputs.s), inputs.graph.zero
        slopes = [row.get(j, zero) for row in jacobian(nodes, moving) for j in range(len(moving))]
        masses = [row.get(i, zero) for i, row in enumerate(equations.dynamics.mass)]
        self._tape = Tape(equations.field.inputs, (*nodes, *slopes, *masses))
        self._free = np.ones(len(moving), dtype=bool) if free is None else free.copy()
        own = len(inputs.s) - len(deviations.states)
        n = len(inputs.q)
        self._free[2 * n : 2 * n + own] &= _driven(inputs, own)  # no constraint moves a state that no control drives,
        self._free[2 * n + own :] = False  # and those of extensions are deviations: 0 is their place
        self._extended = slice(2 * n + own, None)
        self._sizes = deviation_sizes(equations)

    @property
    def free(self) -> np.ndarray:
        """Which components of the state may move."""
        return self._free

    def of(self, state: np.ndarray, time: float, constants: Sequence[float]) -> np.ndarray:
        """The state moved onto the constraints."""
        used, best, smallest, moved = state.copy(), state, np.inf, 0.0
        used[self._extended] = 0.0
        for _ in range(ITERATIONS):
            deviation, slopes, masses = self._at(used, time, constants)
            terms = self._sizes.rounding(time, used.tolist(), constants)[self._places]
            reach = np.linalg.norm((slopes / masses)[:, self._free], axis=1)
            terms = np.maximum(terms, np.nan_to_num(reach) * moved)  # a move is rounded in the size of the whole
            with np.errstate(all="ignore"):
                size = float(np.where(deviation == 0, 0.0, np.abs(deviation) / terms).max(initial=0.0))
            if not np.isfinite(slopes).all():
                break
            halved = size < smallest / 2
            if size < smallest:
                best, smallest = used.copy(), size
            if smallest == 0 or (smallest < ROUNDING_NOISE and not halved):
                break
            step = self._step(deviation, slopes[:, self._free], masses[self._free])
            used[self._free] += step
            moved = max(moved, float(np.linalg.norm(step * masses[self._free])))
        if not smallest < OFF:
            raise self._no_state(best, time, constants)
        return best

    def _at(
        self, state: np.ndarray, time: float, constants: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Deviations, their slopes, and the weight of each component of the state."""
        count, n = len(self._names), len(self._equations.coordinates)
        numbers = np.array(self._tape([time, *state.tolist(), *constants]))
        deviation, slopes, masses = np.split(numbers, [count, count + count * len(state)])
        weights = np.sqrt(np.abs(masses))
        weights = np.where(weights > 0, weights, 1.0)
        more = np.ones(len(state) - 2 * n)
        return deviation, slopes.reshape(count, len(state)), np.concatenate([weights, weights, more])

    @staticmethod
    def _step(deviation: np.ndarray, slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The least change, rows scaled to one."""
        reach = slopes / weights
        size = np.linalg.norm(reach, axis=1)
        size = np.where(size > 0, size, 1.0)
        return -np.linalg.lstsq(reach / size[:, None], deviation / size, rcond=1e-12)[0] / weights

    def _no_state(self, best: np.ndarray, time: float, constants: Sequence[float]) -> BadRequest:
        deviation = np.abs(self._at(best, time, constants)[0])
        worst = int(np.nan_to_num(deviation, nan=np.inf).argmax())
        return BadRequest(
            f"no state near the start keeps the program with all its rates: {self._names[worst]} stays at "
            f"{deviation[worst]:.3g}",
            where="start",
            fix='state values near those you mean, or keep them with start_policy="keep"',
        )
