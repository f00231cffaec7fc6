"""Events: moments at which a function of the state passes through zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, BadStatement
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Node
from holdfast.problem.phases import DIRECTIONS, Event, checked_events
from holdfast.results.quantities import quantity_node

After = Callable[[float, np.ndarray], np.ndarray]  # what is done to a state after each step
AT_ONCE = 20_000  # steps that are looked at together


@dataclass(frozen=True, eq=False)
class EventWatch:
    """The events of one run on the graph: those that end it, and those that are only noted."""

    terminal: dict[str, Node]
    noted: dict[str, Node]
    directions: dict[str, int]

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.terminal, *self.noted)


def watch_of(equations: Equations, events: Mapping[str, Any] | None) -> EventWatch:
    """The events that are given, or else the problem's own, on the graph."""
    terminal: dict[str, Node] = {}
    noted: dict[str, Node] = {}
    directions: dict[str, int] = {}
    for name, event in _checked(equations.problem.events if events is None else events).items():
        node = quantity_node(equations, event.expression, where=f"events.{name}")
        (terminal if event.terminal else noted)[name] = node
        directions[name] = DIRECTIONS[event.direction]
    return EventWatch(terminal, noted, directions)


def _checked(events: Mapping[str, Any]) -> Mapping[str, Event]:
    try:
        return checked_events(events)
    except BadStatement as error:
        raise BadRequest(error.what, where=error.where, fix=error.fix) from None


def noted_times(
    watch: EventWatch,
    kernel: Kernel,
    rows: Rows,
    parameters: list[float],
    step: float | None,
    every: int,
    after: After | None = None,
) -> dict[str, np.ndarray]:
    """When each noted event happened: changes of sign from step to step, located by the scheme itself."""
    if not watch.noted:
        return {}
    plain = compiled(kernel.field, kernel.scheme, target=kernel.target, back=kernel.back) if kernel.events else kernel
    nodes = tuple(watch.noted.values())
    tape, found = Tape(kernel.field.inputs, nodes), {name: [np.zeros(0)] for name in watch.noted}
    for part in _steps(plain, rows, parameters, step, every, after):
        values = plain.values_at(nodes, part.times, part.states, parameters)
        for column, name in enumerate(watch.noted):
            locate = _Locator(tape, column, plain, part, parameters)
            places = _crossings(values[:, column], watch.directions[name])
            found[name].append(np.array([locate(i, values[i, column]) for i in places]))
    return {name: np.concatenate(times) for name, times in found.items()}


def _steps(
    kernel: Kernel, rows: Rows, parameters: list[float], step: float | None, every: int, after: After | None
) -> Iterator[Rows]:
    """The rows of a run; where not every step was kept, all steps once more, a part of the run at a time."""
    if step is None or every == 1:
        yield rows
        return
    together = max(1, AT_ONCE // every)
    for first in range(0, len(rows.times) - 1, together):
        last = min(first + together, len(rows.times) - 1)
        begin, end = float(rows.times[first]), float(rows.times[last])
        coarse = replace(rows, times=rows.times[first : last + 1], states=rows.states[first : last + 1])
        count = int((end - begin) / step + 1e-6)
        fine = (
            kernel.run(rows.states[first], parameters, t0=begin, step=step, steps=count, after=after) if count else None
        )
        if fine is None or fine.status != Status.completed:
            yield coarse
        elif end - fine.times[-1] > 1e-6 * step:  # the shorter step to an event that ended the run
            times, states = np.append(fine.times, end), np.vstack([fine.states, rows.states[last]])
            yield replace(fine, times=times, states=states)
        else:
            yield fine


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
        """The state at a time: a shorter step from the row."""
        if self.rows.dense is not None:
            return self.rows.dense(time).tolist()
        begin, state = float(self.rows.times[row]), self.rows.states[row]
        return self.kernel.run(state, self.parameters, t0=begin, step=time - begin, steps=1).states[-1].tolist()
