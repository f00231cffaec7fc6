"""Events: moments at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel
from holdfast.engine.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.evaluate import Tape
from holdfast.graph.nodes import Node
from holdfast.problem.quantities import check_name
from holdfast.problem.vocabulary import MOTION

After = Callable[[float, np.ndarray], np.ndarray]  # what is done to a state after each step
DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}


@dataclass(frozen=True, slots=True)
class Event:
    """`expression` passes through zero, in a `direction` ("rising", "falling" or "both"); a `terminal` one ends the
    run.
    """

    expression: Any
    direction: str = "both"
    terminal: bool = False


@dataclass(frozen=True, eq=False)
class Watch:
    """The events of one run on the graph: those that end it, and those that are only noted."""

    terminal: dict[str, Node]
    noted: dict[str, Node]
    directions: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.terminal, *self.noted)


def watch_of(equations: Equations, events: Mapping[str, Any] | None) -> Watch:
    """Check the events and walk them onto the graph."""
    terminal: dict[str, Node] = {}
    noted: dict[str, Node] = {}
    directions: dict[str, int] = {}
    for name, given in (events or {}).items():
        event = given if isinstance(given, Event) else Event(given)
        check_name(name, where=f"events.{name}")
        if event.direction not in DIRECTIONS:
            raise BadRequest(
                f"direction {event.direction!r} is not known", where=f"events.{name}", fix=", ".join(DIRECTIONS)
            )
        admitted = equations.problem.system.vocabulary.admit(event.expression, MOTION, where=f"events.{name}")
        (terminal if event.terminal else noted)[name] = equations.inputs.walk(admitted)
        directions[name] = DIRECTIONS[event.direction]
    return Watch(terminal, noted, directions)


def noted_times(
    watch: Watch,
    kernel: Kernel,
    rows: Rows,
    parameters: list[float],
    step: float | None,
    every: int,
    after: After | None = None,
) -> dict[str, np.ndarray]:
    """When each noted event happened: sign changes between rows, located with the scheme's own steps or interpolant."""
    if not watch.noted:
        return {}
    tape = Tape(kernel.field.inputs, tuple(watch.noted.values()))
    values = np.array([tape([t, *x, *parameters]) for t, x in zip(rows.times, rows.states.tolist(), strict=True)])
    found: dict[str, np.ndarray] = {}
    for column, name in enumerate(watch.noted):
        locate = _Locator(tape, column, kernel, rows, parameters, step, every, after)
        direction = watch.directions[name]
        places = _crossings(values[:, column], direction)
        found[name] = np.array([locate(i, values[i, column]) for i in places])
    return found


def _crossings(values: np.ndarray, direction: int) -> np.ndarray:
    before, after = values[:-1], values[1:]
    rising = (before < 0) & (after >= 0) & (direction >= 0)
    falling = (before > 0) & (after <= 0) & (direction <= 0)
    return np.nonzero(rising | falling)[0]


@dataclass(frozen=True, eq=False)
class _Locator:
    """Finds a zero between two rows by halving."""

    tape: Tape
    column: int
    kernel: Kernel
    rows: Rows
    parameters: list[float]
    step: float | None
    every: int
    after: After | None

    def __call__(self, row: int, before: float) -> float:
        low, high = float(self.rows.times[row]), float(self.rows.times[row + 1])
        for _ in range(60):
            middle = (low + high) / 2
            if not low < middle < high:
                break
            if self._value(row, middle) * before > 0:
                low = middle
            else:
                high = middle
        return high

    def _value(self, row: int, time: float) -> float:
        return self.tape([time, *self._state(row, time), *self.parameters])[self.column]

    def _state(self, row: int, time: float) -> list[float]:
        """The state at a time: whole steps from the row, then one shorter step."""
        if self.rows.dense is not None:
            return self.rows.dense(time).tolist()
        assert self.step is not None
        begin, state = float(self.rows.times[row]), self.rows.states[row]
        whole = min(int((time - begin) / self.step), self.every)
        if whole:
            run = self.kernel.run(
                state, self.parameters, t0=begin, step=self.step, steps=whole, every=whole, after=self.after
            )
            begin, state = float(run.times[-1]), run.states[-1]
        if time > begin:
            state = self.kernel.run(state, self.parameters, t0=begin, step=time - begin, steps=1).states[-1]
        return state.tolist()
