"""A run just made, of which nothing is worked out before somebody asks: rows, verdict, observables, interpolant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.engine.run.dense import Dense
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.standing import Stood
from holdfast.engine.run.status import Status
from holdfast.results.columns import Columns, column_names
from holdfast.results.judgement.finding import Judgement
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.trajectory import Trajectory

if TYPE_CHECKING:
    from holdfast.results.runs.job import Job


class FoundRun:
    """The rows of a standing run that reached its end, with all that a job makes of them."""

    __slots__ = ("_dense", "_job", "_rows", "_stood")

    def __init__(self, job: Job, stood: Stood) -> None:
        self._job, self._stood = job, stood
        self._rows: Rows | None = None
        self._dense: Dense | None = None

    @property
    def states(self) -> np.ndarray:
        return self._stood.states

    @property
    def rows(self) -> Rows:
        """As `Kernel.run` gives them."""
        if self._rows is None:
            stood, kernel, constants = self._stood, self._job.kernel, self._job.constants
            self._rows = Rows(
                times=stood.times,
                states=stood.states,
                observed=lambda: kernel.observe(stood.times, stood.states, constants),
                pivots=stood.margins(len(kernel.field.pivots)),
                status=Status.completed,
                steps=stood.steps,
                evaluations=stood.evaluations,
                rejected=stood.rejected,
            )
        return self._rows

    @property
    def observables(self) -> np.ndarray:
        return self.rows.observables

    def judged(self) -> Judgement:
        return self._job.judged(self.rows)

    def finer(self, times: int) -> Trajectory | None:
        return self._job.finer(self.rows, times)

    def interpolated(self, times: np.ndarray) -> np.ndarray:
        """The states at some times, by columns."""
        if self._dense is None:
            job = self._job
            self._dense = job.kernel.dense(self.rows if job.request.step is not None else self._whole(), job.constants)
        return self._dense(times).T

    def _whole(self) -> Rows:
        """The rows of an adaptive run once more, with the interpolants that were left out."""
        job = self._job
        return KernelCall(job.request, 1, job.constants, []).run(job.kernel, job.start.state)


def found_run(job: Job, stood: Stood) -> Trajectory:
    """The names on the numbers of a standing run, as `Job.named` puts them there."""
    found = FoundRun(job, stood)
    return Trajectory.of_fields(
        {
            **job.fields,
            "times": stood.times,
            "columns": Columns(column_names(job.equations), found),
            "judged": found.judged,
            "steps": stood.steps,
            "nfev": stood.evaluations,
            "rejected": stood.rejected,
            "interpolant": found.interpolated if job.every == 1 else None,
            "finer": found.finer,
        }
    )
