"""Where in a step an event happened: bisection with steps of the scheme itself, taken from the start of that step.

No interpolant is asked, so the place is as accurate as the scheme. The end of the bracket just after the event is
given: a run that goes on from there does not meet the same event again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.engine.code.machine import Machine
from holdfast.engine.run.memory import Memory, reals

HALVINGS = 48


@dataclass(frozen=True, eq=False)
class LocatedEvent:
    """The first event function that changed its sign, when, and the state just after."""

    number: int
    time: float
    state: np.ndarray


def locate(machine: Machine, memory: Memory, t: float, step: float) -> LocatedEvent:
    """The event within the step from t, whose start the memory still holds."""
    size, count = memory.size, memory.event_count
    before, directions = memory.events[0, :count, 0], memory.events[0, count:, 0]
    new, after = reals(size, 1), reals(count, 1)

    def crossed(part: float) -> np.ndarray:
        machine.call("take_step", t, part * step, memory.x, memory.f, memory.p, new, memory.rest)
        machine.call("event_values", t + part * step, new, memory.p, after, memory.scratch)
        values = after[:, 0]
        rising = (before < 0) & (values >= 0) & (directions >= 0)
        falling = (before > 0) & (values <= 0) & (directions <= 0)
        return rising | falling

    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if crossed(middle).any():
            high = middle
        else:
            low = middle
    happened = crossed(high)
    return LocatedEvent(int(np.argmax(happened)), t + high * step, new[:, 0].copy())
