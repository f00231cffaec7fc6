"""How a start changes that was projected onto programs above the usual degree: all their rates at once.

The iteration of `start.chains`, with its derivative beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.nodes import Node
from holdfast.results.sensitivity.least_change import least_change
from holdfast.results.sensitivity.natural_sizes import natural_sizes
from holdfast.results.start.chains import Chains

Array = np.ndarray
ITERATIONS = 50
STILL = 1e-14  # of the size of a component: a step below this is one of rounding
SAME = 1e-6  # of the size of a component: what the repeated iteration may miss the start by


class ChainSlopes:
    """Differentiates such starts; `letters` stand for the changes of states and parameters."""

    def __init__(self, equations: Equations, constraints: Sequence[str], letters: Mapping[Node, Node]) -> None:
        inputs, deviations = equations.inputs, equations.deviations
        places = [deviations.names.index(name) for name in deviations.names_of(constraints)]
        rows = [(*deviations.y, *deviations.w)[k] for k in places]
        moving, zero = (*inputs.q, *inputs.v, *inputs.s), inputs.graph.zero
        slopes = [row.get(j, zero) for row in jacobian(rows, moving) for j in range(len(moving))]
        masses = [row.get(i, zero) for i, row in enumerate(equations.dynamics.mass)]
        nodes = (*rows, *slopes, *masses)
        self._code = Tape(
            (*equations.field.inputs, *letters.values()), (*nodes, *directional(nodes, letters))
        ).compiled(ARRAYS)
        self._free = Chains(equations, constraints).free
        self._rows, self._n, self._width = len(rows), len(inputs.q), len(moving)
        self._extended = slice(len(moving) - len(deviations.states), None)

    def of(
        self, used: Array, stated: Array, own: Array, time: float, constants: Sequence[float], units: Sequence[Array]
    ) -> Array:
        """∂x(0)/∂p, (directions, states), of the iteration from what is stated to what is used."""
        state, slopes, still = stated.copy(), own.copy(), 0
        state[self._extended], slopes[:, self._extended] = 0.0, 0.0
        inertia = np.zeros(self._n)
        for _ in range(ITERATIONS):
            y, rows, inertia, changes, row_changes, inertia_changes = self._at(state, slopes, time, constants, units)
            weights = self._weights(inertia)
            weight_changes = np.sign(inertia) * inertia_changes * (inertia != 0)
            more = np.zeros((len(slopes), self._width - 2 * self._n))
            metric = np.hstack([weight_changes, weight_changes, more])[:, self._free]
            step, change = least_change(
                y, rows[:, self._free], np.diag(weights[self._free]), changes, row_changes[:, :, self._free],
                np.array([np.diag(row) for row in metric]), True,
            )  # fmt: skip
            if not (np.isfinite(step).all() and np.isfinite(change).all()):
                break
            state[self._free] += step
            slopes[:, self._free] += change
            still += bool((np.abs(step) <= STILL * natural_sizes(state, inertia)[self._free]).all()) or not step.any()
            if still > 1:
                break
        size = natural_sizes(np.fmax(np.abs(used), np.abs(stated)), inertia)
        if still < 2 or not (np.abs(state - used) <= SAME * size).all():
            raise BadRequest(
                "how the start changes is not known: it was not found by a plain iteration",
                where="start",
                fix='state a start on the program, and use start_policy="keep"',
            )
        return slopes

    def _weights(self, inertia: Array) -> Array:
        """The metric of a change: masses for coordinates and rates, 1 for the rest."""
        masses = np.where(np.abs(inertia) > 0, np.abs(inertia), 1.0)
        return np.concatenate([masses, masses, np.ones(self._width - 2 * self._n)])

    def _at(
        self, state: Array, slopes: Array, time: float, constants: Sequence[float], units: Sequence[Array]
    ) -> tuple[Array, ...]:
        """Deviations, their slopes and masses; and the changes of all three by direction."""
        count = len(slopes)
        numbers: list[Any] = [np.float64(time), *map(np.float64, state), *map(np.float64, constants)]
        with np.errstate(all="ignore"):
            found = self._code([*numbers, *slopes.T, *units])
        half, ends = len(found) // 2, [self._rows, self._rows * (1 + self._width)]
        y, rows, masses = np.split(np.array(found[:half], dtype=float), ends)
        moved = np.array([np.broadcast_to(x, count) for x in found[half:]], dtype=float).reshape(half, count)
        changes, row_changes, mass_changes = np.split(moved, ends)
        return (
            y, rows.reshape(self._rows, self._width), masses, changes.T,
            row_changes.reshape(self._rows, self._width, count).transpose(2, 0, 1), mass_changes.T,
        )  # fmt: skip
