"""A run with a fixed step: chunks of the native loop, rows gathered as they come.

t_s = t0 + s·step,   rows at every k-th step, at the start and at the end
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast.engine.code.machine import Machine, Pace
from holdfast.engine.drivers.way_back import NOT_RETURNED
from holdfast.engine.run.freely import After, step_and_return
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest

LARGEST_ROWS = 2**32  # doubles
Stop = Callable[[int], bool | None]


@dataclass(frozen=True, slots=True)
class Steps:
    """How many steps from when, and which of them are kept."""

    t0: float
    step: float
    count: int  # the number of the last step
    every: int = 1
    first: int = 0  # steps taken already, a whole number of rows

    @property
    def kept(self) -> int:
        """Rows kept, the start included, the end only if it is one of them."""
        return self.row(self.count) + 1

    def row(self, done: int) -> int:
        """The row that a step is kept in, or the last one before it."""
        return (done - self.first) // self.every

    @property
    def times(self) -> np.ndarray:
        """The times of the kept rows."""
        return self.t0 + (self.first // self.every + np.arange(self.kept)) * self.every * self.step

    def of_cases(self, some: slice) -> Steps:
        """The steps of some of the cases, which are those of all."""
        return self


def run_fixed(
    machine: Machine, memory: Memory, steps: Steps, *, pace: Pace, stop: Stop, after: After | None = None
) -> np.ndarray:
    """Run all lanes to the end, to their own bad ends, or to an interruption.

    Gives the kept rows, (blocks, rows, states, lanes), of which all up to `memory.done` are good. `pace` says how
    many steps make a chunk; `after` changes the state of the only case after each step.
    """
    rows = _rows(steps.kept, memory)
    rows[:, 0] = memory.x
    done, each = steps.first, memory.size * memory.lanes
    x, p, f, watch, events, status, ended, work, _ = memory.pointers(machine)
    into = machine.pointer(rows)
    returns = "NOT_RETURNED" in machine.layout.constants  # steps that end on the program by themselves
    while done < steps.count and not memory.over:
        count = min(pace.count, steps.count - done) if after is None or returns else 1
        pace.start()
        machine.functions["fixed_blocks"](
            memory.blocks, done, count, steps.every, steps.kept, steps.t0, steps.step,
            x, f, p, watch, events, status, ended, machine.further(into, (1 + steps.row(done)) * each), work,
        )  # fmt: skip
        pace.stop(count)
        done += count
        if returns and memory.status.item(0) == NOT_RETURNED:
            done = int(memory.done[0, 0]) + 1
            step_and_return(machine, memory, steps.t0 + (done - 1) * steps.step, steps.step, after)
            if not memory.over:
                memory.done[0, 0] = done
                _keep(memory, steps, rows, done)
        elif after is not None and not returns and not memory.over:
            _amend(machine, memory, steps, rows, done, after)
        if stop(done):
            break
    return rows


def _amend(machine: Machine, memory: Memory, steps: Steps, rows: np.ndarray, done: int, after: After) -> None:
    """Put what `after` makes of the state in its place, with the rates and event functions that belong to it."""
    t = steps.t0 + done * steps.step
    memory.state[:] = after(t, memory.state.copy())
    machine.call("rates", t, memory.x, memory.p, memory.f, memory.scratch)
    if memory.event_count:
        machine.call("event_values", t, memory.x, memory.p, memory.events, memory.scratch)
    _keep(memory, steps, rows, done)


def _keep(memory: Memory, steps: Steps, rows: np.ndarray, done: int) -> None:
    if done % steps.every == 0:
        rows[0, steps.row(done)] = memory.x[0]


def _rows(count: int, memory: Memory) -> np.ndarray:
    try:
        if count * memory.x.size > LARGEST_ROWS:
            raise MemoryError
        return np.empty((memory.blocks, count, *memory.x.shape[1:]))
    except MemoryError:
        raise BadRequest(
            f"{count} rows of {memory.x.size} numbers would not fit in memory",
            where="run(steps=, every=)",
            fix="keep fewer rows: every=100 keeps each hundredth step",
        ) from None


def case_times(steps: Steps) -> np.ndarray:
    """The times of a run that reaches its end: of its kept rows, and of its last step where that is not among them."""
    times = steps.times
    return np.append(times, steps.t0 + steps.count * steps.step) if steps.count % steps.every else times


def case_rows(rows: np.ndarray, memory: Memory, steps: Steps) -> tuple[np.ndarray, np.ndarray]:
    """Times and states of the only case: its kept rows, and its last good state where that is not among them."""
    done = int(memory.done[0, 0])
    reached = steps.row(done) + 1
    times, states = steps.times[:reached], rows[0, :reached, :, 0]
    if done % steps.every:
        times = np.append(times, steps.t0 + done * steps.step)
        states = np.vstack([states, memory.state])
    return times, np.ascontiguousarray(states)


def outcome(memory: Memory, steps: Steps) -> Status:
    """How the only case ended."""
    if memory.status[0, 0]:
        return Status(int(memory.status[0, 0]))
    return Status.completed if memory.done[0, 0] == steps.count else Status.interrupted


def outcomes(memory: Memory, steps: Steps) -> np.ndarray:
    """How each lane ended, (blocks, lanes) of Status."""
    unfinished = np.where(memory.done == steps.count, Status.completed, Status.interrupted)
    found: np.ndarray = np.where(memory.status != 0, memory.status, unfinished).astype(np.int64)
    return found
