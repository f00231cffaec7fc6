"""What a run gives: rows of numbers, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.engine.run.dense import Dense
from holdfast.engine.run.status import Status


@dataclass(frozen=True, eq=False)
class Rows:
    """The kept rows of one run.

    `pivots` holds each pivot as a part of its scale, at the last state that was good. `event` is the number of the
    event function that ended the run; the last row is then the state just after it. `dense` gives the states between
    the rows.
    """

    times: np.ndarray
    states: np.ndarray
    observables: np.ndarray
    pivots: np.ndarray
    status: Status
    steps: int
    evaluations: int
    rejected: int = 0
    event: int | None = None
    dense: Dense | None = None

    def __post_init__(self) -> None:
        for array in (self.times, self.states, self.observables, self.pivots):
            array.flags.writeable = False

    @property
    def success(self) -> bool:
        return self.status in (Status.completed, Status.event)
