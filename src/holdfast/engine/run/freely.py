"""A step whose way back has failed in native code: taken freely, and brought back by the caller."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.engine.code.machine import Machine
from holdfast.engine.drivers.fixed import LEAST_PIVOT
from holdfast.engine.run.memory import Memory, reals
from holdfast.engine.run.status import Status

After = Callable[[float, np.ndarray], np.ndarray]


def step_and_return(machine: Machine, memory: Memory, t: float, step: float, after: After | None) -> None:
    """One step of the only case from t: its state, rates and events in their place, or the reason why there are none.

    `after` gives the state to go on with; without it, the state stays where the step led.
    """
    size, width, later = memory.size, memory.width, t + step
    new, rates = reals(size, 1), reals(width, 1)
    failed = machine.call("free_step", t, step, memory.x, memory.f, memory.p, new, memory.rest)
    machine.call("rates", later, new, memory.p, rates, memory.scratch)
    memory.status[0, 0] = failed or _judged(memory, new, rates)
    if memory.over:
        return
    if after is not None:
        new[:, 0] = after(later, new[:, 0].copy())
        machine.call("rates", later, new, memory.p, rates, memory.scratch)
    if memory.event_count and _event(machine, memory, later, new):
        memory.status[0, 0] = Status.event
        return
    memory.x[0], memory.f[0] = new, rates


def _judged(memory: Memory, new: np.ndarray, rates: np.ndarray) -> float:
    """As `drivers.fixed.judged`."""
    size, count = memory.size, memory.pivots
    pivots, scales = rates[size : size + count, 0], rates[size + count : size + 2 * count, 0]
    if not np.isfinite(new).all():
        return Status.not_finite
    if not (pivots * memory.watch[0, :, 0] > LEAST_PIVOT * np.abs(scales)).all():
        return Status.rank_lost
    return Status.completed if np.isfinite(rates[:size]).all() else Status.not_finite


def _event(machine: Machine, memory: Memory, later: float, new: np.ndarray) -> bool:
    """Whether an event function changed its sign in this step; if none did, their new values are taken over."""
    count, values = memory.event_count, reals(memory.event_count, 1)
    machine.call("event_values", later, new, memory.p, values, memory.scratch)
    before, directions, found = memory.events[0, :count, 0], memory.events[0, count:, 0], values[:, 0]
    rising = (before < 0) & (found >= 0) & (directions >= 0)
    falling = (before > 0) & (found <= 0) & (directions <= 0)
    if (rising | falling).any():
        return True
    memory.events[0, :count, 0] = found
    return False
