"""What a run gives: rows of numbers, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.run.dense import Dense
from holdfast.engine.run.status import Status


@dataclass(frozen=True, eq=False)
class Rows:
    """The kept rows of one run. `observed` are its observables, or what computes them once they are asked for.

    `pivots` holds each pivot as a part of its scale, at the last state that was good. `event` is the number of the
    event function that ended the run; the last row is then the state just after it. `dense` gives the states between
    the rows.
    """

    times: np.ndarray
    states: np.ndarray
    observed: np.ndarray | Callable[[], np.ndarray]
    pivots: np.ndarray
    status: Status
    steps: int
    evaluations: int
    rejected: int = 0
    event: int | None = None
    dense: Dense | None = None

    def __post_init__(self) -> None:
        for array in (self.times, self.states, self.pivots):
            array.flags.writeable = False

    @cached_property
    def observables(self) -> np.ndarray:
        """The observables at each row, (rows, observables)."""
        found = self.observed() if callable(self.observed) else self.observed
        found.flags.writeable = False
        return found

    def picked(self, chosen: Any, times: np.ndarray | None = None) -> Rows:
        """Some of the rows: a slice, or their numbers; `times` in place of their own, which may differ by rounding."""
        kept = self.times[chosen] if times is None else times
        return replace(self, times=kept, states=self.states[chosen], observed=lambda: self.observables[chosen])

    @property
    def success(self) -> bool:
        return self.status in (Status.completed, Status.event)
