"""The deviations of a stated problem as plain functions of positions and rates, before anything is derived.

A mechanism that is badly placed may be singular where it stands, so that its equations cannot be solved there; its
constraints and their slopes are known all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.equations.dynamics.deviation import deviations_of
from holdfast.equations.dynamics.inputs import Ball, inputs_of
from holdfast.equations.dynamics.sample import start_values
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.problem.problem import Problem
from holdfast.results.start.term_sizes import OFF, own_sizes, size_nodes
from holdfast.results.start.turned_state import TurnedStates, displacement_rows

Array = np.ndarray
TURN = 2 * np.pi


class LoopRows:
    """Some deviations, their slopes by coordinates (or rates), and the sizes of their terms."""

    def __init__(
        self,
        names: Sequence[str],
        nodes: Sequence[Node],
        rows: Rows,
        inputs: Sequence[Node],
        n: int,
        balls: Sequence[Ball] = (),
    ) -> None:
        self.names, self._count, self._width = tuple(names), len(nodes), n
        zero = inputs[0].graph.zero
        dense = [row.get(j, zero) for row in rows for j in range(n)]
        sizes = size_nodes(nodes, own_sizes(inputs, balls))
        self._tape = Tape(tuple(inputs), (*nodes, *dense, *sizes))

    def at(self, values: Sequence[float]) -> tuple[Array, Array, Array]:
        """Deviations, slopes (rows, columns) and sizes; where a function is not defined, infinite."""
        with np.errstate(all="ignore"):
            found = np.array(self._tape(values))
        y, slopes, sizes = np.split(found, [self._count, self._count * (1 + self._width)])
        return y, slopes.reshape(self._count, self._width), sizes


class Loops:
    """What of a problem has to fit together at its start: positions, then rates."""

    def __init__(self, problem: Problem) -> None:
        stated = inputs_of(problem, problem.law_form)
        deviations, program = deviations_of(problem.program, stated), problem.program
        self.owners = {} if problem.system.rows is None else problem.system.rows.owners  # of rows, their joints
        parameters = {name: float(value) for name, value in problem.system.parameters.items()}
        self._time, self._parameters = problem.run.begin, list(parameters.values())
        inputs = (
            stated.time, *stated.q, *stated.v, *stated.s,
            *(stated.parameters[name] for name in parameters),
        )  # fmt: skip
        self.names = tuple(start_values(problem, parameters))
        self.start = np.array(list(start_values(problem, parameters).values()))
        self.coordinates = tuple(c.name for c in problem.system.coordinates)
        held = [k for k, name in enumerate(program.constraints) if name not in program.keep]
        y = list(zip(program.holonomic, deviations.y, strict=True))
        w = [(program.constraints[k], deviations.w[k]) for k in held]
        self.turned, n, balls = TurnedStates(stated), len(self.coordinates), stated.balls
        places, speeds = [node for _, node in y], [node for _, node in w]
        self.positions = LoopRows([name for name, _ in y], places, displacement_rows(places, stated), inputs, n, balls)
        self.rates = LoopRows([name for name, _ in w], speeds, jacobian(speeds, stated.v), inputs, n, balls)

    def values(self, rows: LoopRows, state: Array) -> tuple[Array, Array, Array]:
        """Deviations, slopes and sizes at a state."""
        return rows.at([self._time, *state.tolist(), *self._parameters])

    def kept(self, rows: LoopRows, state: Array) -> bool:
        """Whether all deviations are nothing beside their terms."""
        y, _, sizes = self.values(rows, state)
        return bool((np.abs(y) <= OFF * sizes).all())

    def angles(self) -> Array:
        """Which coordinates are angles: those that a full turn of leaves every position as it is."""
        random = np.random.default_rng(0)
        found = np.ones(len(self.coordinates), dtype=bool)
        for _ in range(2):
            state = self.start + random.uniform(-1, 1, len(self.start))
            before, slopes, sizes = self.values(self.positions, state)
            for k in np.nonzero(found)[0]:
                turned = state.copy()
                turned[k] += TURN
                after = self.values(self.positions, turned)[0]
                same = np.abs(after - before) <= 1e-9 * np.fmax(sizes, 1e-300)
                found[k] = bool(same.all()) and bool(slopes[:, k].any())
        return found
