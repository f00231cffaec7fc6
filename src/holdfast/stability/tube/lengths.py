"""How long the steps of a run are: one length for all, or for each the one that the run chose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.results.judgement.outcome import Outcome
from holdfast.results.trajectory import Trajectory
from holdfast.stability.tube.cells import Array

ROUNDED = 2.0**-50  # of the latest time: what a step may differ from the difference of its rows by
SHORTER = 1e-6  # of a step: a last one that lacks more was ended by an event


@dataclass(frozen=True, eq=False)
class StepLengths:
    """Of a run whose rows are its steps."""

    run: Trajectory
    step: float | None  # None: the run chose each

    @property
    def chosen(self) -> bool:
        return self.step is None

    @cached_property
    def whole(self) -> int:
        """How many steps are the scheme's own: that by which an event is met is shorter, and none of them."""
        times = self.run.times
        if self.step is None:
            short = self.run.outcome is Outcome.event
        else:
            short = len(times) > 1 and float(times[-1] - times[-2]) < (1 - SHORTER) * self.step
        return len(times) - 1 - short

    @cached_property
    def longest(self) -> float:
        return float(longest_lengths(self.run).max()) if self.step is None else self.step

    def longest_from(self, rows: Array) -> float | Array:
        """Of the steps from some rows, not below; or the one length that all have."""
        return longest_lengths(self.run)[rows] if self.step is None else self.step

    def ranges_from(self, rows: Array) -> Array | None:
        """Of the steps from some rows [row, middle and reach]; None where all have one length."""
        if self.step is not None:
            return None
        lengths = np.diff(self.run.times)
        return np.stack([lengths, longest_lengths(self.run) - lengths], axis=1)[rows]


def longest_lengths(run: Trajectory) -> Array:
    """Of the steps between the rows of a run, not below: the times of rows are rounded."""
    return np.asarray(np.diff(run.times) + ROUNDED * np.abs(run.times).max())
