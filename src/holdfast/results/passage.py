"""The way through a run, past states at which the order of elimination has to change.

Where controls hold a program, or masses are missing, equations are eliminated in an order of pivots chosen at the
start. A pivot of that order may vanish where the system itself is sound. The run then goes on in the order that suits
the state it came to; each order is derived and compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.engine.dense import Dense
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.rows import Rows
from holdfast.engine.status import Status
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.errors import HoldfastError
from holdfast.problem.frozen import Frozen
from holdfast.results.event import After, watch_of
from holdfast.results.request import Request

MOST_ORDERS = 1000  # changes of order in one run
SOUND = 1e10  # a condition number above this is a loss of rank, in whatever order
Told = Callable[[float], bool]  # is told the time reached; true ends the run


@dataclass(frozen=True, eq=False)
class Passage:
    """A run about to happen: from where, how, and what watches it."""

    equations: Equations
    request: Request
    every: int
    constants: list[float]
    directions: list[int]
    events: Mapping[str, Any] | None = None
    after: After | None = None
    told: Told = lambda time: False

    def run(self, kernel: Kernel, state: Any) -> Rows:
        """All rows, of as many orders of elimination as it takes."""
        rows = self._segment(kernel, np.asarray(state, float), 0, self.request.begin)
        return self.onward(rows)

    def onward(self, rows: Rows) -> Rows:
        """The same rows and those that follow, if it was only the order that failed."""
        for _ in range(MOST_ORDERS):
            if rows.status != Status.rank_lost or not rows.steps:
                break
            kernel = self._reordered(rows.states[-1], float(rows.times[-1]))
            if kernel is None:
                return rows
            more = self._segment(kernel, rows.states[-1], rows.steps, float(rows.times[-1]))
            if not more.steps:
                return rows
            rows = self._joined(rows, more)
        return rows

    def _segment(self, kernel: Kernel, state: np.ndarray, done: int, time: float) -> Rows:
        request = self.request
        if request.step is None:
            assert request.tolerance is not None
            return kernel.run_adaptive(
                state,
                self.constants,
                t0=time,
                duration=request.begin + request.duration - time,
                relative=request.tolerance,
                absolute=request.tolerance if request.absolute is None else request.absolute,
                longest=request.longest,
                directions=self.directions,
                stop=self.told,
            )
        step, left = request.step, request.steps - done
        begin = request.begin + done * step
        lead = min(-done % self.every, left)  # to the next row that is kept
        asked: dict[str, Any] = {"step": step, "directions": self.directions, "after": self.after}
        stop = lambda count: self.told(begin + count * step)  # noqa: E731
        if lead:
            first = kernel.run(state, self.constants, t0=begin, steps=lead, every=lead, stop=stop, **asked)
            if first.status != Status.completed or lead == left:
                return first
            return self._joined(first, self._segment(kernel, first.states[-1], done + lead, begin + lead * step), done)
        return kernel.run(state, self.constants, t0=begin, steps=left, every=self.every, stop=stop, **asked)

    def _joined(self, rows: Rows, more: Rows, before: int = 0) -> Rows:
        """One run of two; of the first, the row where it broke off goes unless it is one of those kept."""
        kept = len(rows.times)
        if self.request.step is not None and (before + rows.steps) % self.every and kept > 1:
            kept -= 1
        states = np.concatenate([rows.states[:kept], more.states[1:]])
        times = np.concatenate([rows.times[:kept], more.times[1:]])
        return replace(
            more,
            times=times,
            states=states,
            observables=self._observed(rows, more, kept),
            steps=rows.steps + more.steps,
            evaluations=rows.evaluations + more.evaluations,
            rejected=rows.rejected + more.rejected,
            dense=None if rows.dense is None or more.dense is None else _joined_dense(rows.dense, more.dense),
        )

    @staticmethod
    def _observed(rows: Rows, more: Rows, kept: int) -> np.ndarray:
        """A row that both have is taken from the second, whose order of elimination is sound there."""
        if rows.times[kept - 1] == more.times[0]:
            return np.concatenate([rows.observables[: kept - 1], more.observables])
        return np.concatenate([rows.observables[:kept], more.observables[1:]])

    def _reordered(self, state: np.ndarray, time: float) -> Kernel | None:
        """A kernel with the pivots chosen at this state, or none if that would not help."""
        equations = self.equations
        if not equations.reorderable:
            return None
        problem, names = equations.problem, equations.state_names
        values = dict(zip(equations.parameter_names, self.constants, strict=True))
        if not equations.evaluate(state.tolist(), time, parameters=values).condition < SOUND:
            return None
        here = replace(
            problem, start=Frozen(dict(zip(names, state.tolist(), strict=True))), run=replace(problem.run, begin=time)
        )
        try:
            other = derive(here, second_order=equations.second_order)
        except HoldfastError:
            return None
        if other.parameter_names != equations.parameter_names:
            return None
        terminal = tuple(watch_of(other, self.events).terminal.values())
        return compiled(other.field, self.request.scheme, events=terminal)


def _joined_dense(first: Dense, second: Dense) -> Dense:
    return Dense(
        np.concatenate([first.times, second.times[1:]]),
        np.concatenate([first.states, second.states[1:]]),
        np.concatenate([first.coefficients, second.coefficients]),
    )
