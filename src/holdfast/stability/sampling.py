"""The equations at many states at once, and states with a wanted deviation: what sampled statements are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node
from holdfast.problem.vocabulary import by_name
from holdfast.stability.linear.shape import Array


@dataclass(frozen=True, eq=False)
class Batch:
    """Nodes of the equations as functions of many rows (time, state)."""

    equations: Equations
    nodes: tuple[Node, ...]
    constants: tuple[float, ...]

    @classmethod
    def of(cls, equations: Equations, nodes: Sequence[Node], parameters: Mapping[Any, Any] | None = None) -> Batch:
        return cls(equations, tuple(nodes), tuple(parameter_vector(equations, parameters or {})))

    @cached_property
    def _evaluator(self) -> Evaluator:
        return Tape(self.equations.field.inputs, self.nodes).compiled(ARRAYS)

    def __call__(self, times: Array, states: Array) -> Array:
        """One row of node values for each row of the states."""
        with np.errstate(all="ignore"):
            columns = self._evaluator([np.asarray(times), *np.asarray(states).T, *self.constants])
        rows = len(np.atleast_1d(times))
        return np.array([np.broadcast_to(column, rows) for column in columns]).T.reshape(rows, len(self.nodes))


def box_samples(
    equations: Equations,
    domain: Mapping[Any, Any],
    count: int,
    seed: int = 0,
    parameters: Mapping[Any, Any] | None = None,
) -> tuple[Array, Array]:
    """Random times and states in a box: ``{x: (low, high), "t": (0, 10)}``; what is not named stays at the start."""
    constants = dict(zip(equations.parameter_names, parameter_vector(equations, parameters or {}), strict=True))
    base = np.array(state_vector(equations, None, constants))
    random = np.random.default_rng(seed)
    states = np.tile(base, (count, 1))
    times = np.full(count, float(equations.problem.run.begin))
    for name, limits in by_name(domain, where="domain").items():
        low, high = (float(x) for x in limits)
        if not low <= high:
            raise BadRequest(f"the range of {name!r} is empty", where="domain", fix="give (low, high)")
        draw = random.uniform(low, high, count)
        if name == "t":
            times = draw
        elif name in equations.state_names:
            states[:, equations.state_names.index(name)] = draw
        else:
            raise BadRequest(
                f"{name!r} is not a state", where="domain", fix="states: t, " + ", ".join(equations.state_names)
            )
    return times, states


class Deviator:
    """Moves states to wanted deviations z = (y, w), by Newton's iteration with the least change of (q, v)."""

    def __init__(self, equations: Equations, parameters: Mapping[Any, Any] | None = None) -> None:
        inputs, deviations = equations.inputs, equations.deviations
        z = [*deviations.y, *deviations.w]
        moving = (*inputs.q, *inputs.v, *deviations.states.values())
        others = len(inputs.s) - len(deviations.states)  # states that no constraint moves
        self._columns = [
            *range(2 * len(inputs.q)),
            *range(2 * len(inputs.q) + others, 2 * len(inputs.q) + len(inputs.s)),
        ]
        zero = inputs.graph.zero
        slopes = [row.get(j, zero) for row in jacobian(z, moving) for j in range(len(moving))]
        self._shape = (len(z), len(moving))
        self._deviations = Batch.of(equations, z, parameters)
        self._slopes = Batch.of(equations, slopes, parameters)

    def deviations(self, times: Array, states: Array) -> Array:
        """z at each row."""
        return self._deviations(times, states)

    def moved(self, times: Array, states: Array, wanted: Array) -> tuple[Array, Array]:
        """The states with the wanted deviations, and which rows succeeded."""
        states = np.array(states, dtype=float)
        for _ in range(30):
            lacking = wanted - self.deviations(times, states)
            good = np.isfinite(lacking).all(axis=1)
            slopes = self._slopes(times[good], states[good]).reshape(-1, *self._shape)
            change = np.linalg.pinv(slopes) @ lacking[good][:, :, None]
            states[np.ix_(good, self._columns)] += change[:, :, 0]
            if not good.any() or np.abs(lacking[good]).max() < 1e-13:
                break
        lacking = np.abs(wanted - self.deviations(times, states)).max(axis=1)
        return states, lacking < 1e-9
