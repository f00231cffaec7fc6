"""What a run with given values makes of the data, and how that changes: residuals and their Jacobian.

Steps of a fixed size are taken as they are; data between them are met by the cubics through rows and rates, values and
derivatives alike, so that the Jacobian is that of the residuals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.vocabulary import name_of
from holdfast.results.fitting.measured import MeasuredData
from holdfast.results.runs.request import Request
from holdfast.results.sensitivity.run import DifferentiatedRun

Array = np.ndarray
ON_STEP = 1e-9  # of the step: a time nearer to a step than this is on it


class Prediction:
    """The data by a run with given values of what is fitted; the last one is remembered.

    `fixed` are values of parameters that are given and not fitted.
    """

    def __init__(self, job: DifferentiatedRun, data: MeasuredData, fixed: Mapping[str, Any]) -> None:
        self.job, self.data, self.fixed, self.runs = job, data, fixed, 0
        self._last: tuple[Array, Array, Array] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return self.job.directions.names

    @cached_property
    def times(self) -> tuple[Array, Array]:
        """The times of the data, each once, and the row of each value among them."""
        once, rows = np.unique(self.data.times, return_inverse=True)
        return once, rows.reshape(-1)

    def __call__(self, values: Array) -> tuple[Array, Array]:
        """(times, columns) and (times, columns, unknowns); an error where there is no such run."""
        if self._last is None or not np.array_equal(self._last[0], values):
            self._last = (values.copy(), *self._run(values))
        return self._last[1], self._last[2]

    def _run(self, values: Array) -> tuple[Array, Array]:
        self.runs += 1
        start, slopes, constants = self.job.start(*self.given(values))
        self.job.refuse_events(start, constants)
        rows = self.job.rows(start, slopes, constants, self._every)
        if rows.status is Status.interrupted:
            raise KeyboardInterrupt  # a search that goes on would not be left
        if rows.status is not Status.completed:
            reached = f"the run ends at t = {rows.times[-1]:.6g}: {rows.status.sentence}"
            raise BadRequest(reached, where="fit", fix="other first values, bounds, or a smaller step")
        states, observed = self._at(rows, constants)
        form, (_, places) = self.job.augmented, self.times
        return form.values(states, observed)[places], form.changes(states, observed)[places]

    def given(self, values: Sequence[float] | Array) -> tuple[dict[str, Any], dict[str, float]]:
        """Parameters and gains, and start values, with the unknowns put in."""
        parameters, starts = dict(self.fixed), {}
        directions, names = self.job.directions, self.job.equations.state_names
        for name, place, value in zip(directions.names, directions.starts, np.asarray(values).tolist(), strict=True):
            if place is None:
                parameters[name] = value
            else:
                starts[names[place]] = value
        return parameters, starts

    def refuse_jumps(self, values: Array) -> None:
        start, _, constants = self.job.start(*self.given(values))
        self.job.refuse_jumps(start, constants)

    @cached_property
    def _steps(self) -> Array | None:
        """The step numbers of the times, where all lie on steps."""
        request, (times, _) = self.job.request, self.times
        if request.step is None:
            return None
        numbers = np.rint((times - request.begin) / request.step)
        off = np.abs(times - request.begin - numbers * request.step) > ON_STEP * request.step
        return None if off.any() else numbers.astype(int)

    @cached_property
    def _every(self) -> int:
        """Each how many steps a row is kept: as few rows as hold all times, where they lie on steps."""
        if self._steps is None:
            return 1
        return int(np.gcd.reduce([*self._steps.tolist(), self.job.request.steps])) or 1

    def _at(self, rows: Rows, constants: Sequence[float]) -> tuple[Array, Array]:
        """States and observables of the augmented field at the times of the data."""
        if self._steps is not None:
            places = self._steps // self._every
            return rows.states[places], rows.observables[places]
        times, kernel = self.times[0], self.job.kernel
        states = kernel.dense(rows, constants)(np.clip(times, rows.times[0], rows.times[-1]))
        return states, kernel.observe(times, states, constants)


def whole_duration(request: Request, last: float) -> float:
    """How long a run has to last to reach the last of the data: a whole number of steps."""
    if request.step is None:
        return last - request.begin
    return math.ceil((last - request.begin) / request.step - ON_STEP) * request.step


def check_columns(equations: Equations, data: MeasuredData) -> tuple[str, ...]:
    """The names of the columns as quantities of a run; an error names one that is none."""
    from holdfast.results.quantities import quantity_node

    for name in data.columns:
        if name in equations.state_names:
            continue
        try:
            quantity_node(equations, name_of(name))
        except HoldfastError as error:
            raise BadRequest(
                f"the column {name!r} is no quantity of a run: {error.what}",
                where=f"data.{name}"[:80],
                fix="rename it, or pick the others with columns=[...]",
            ) from None
    return tuple(data.columns)
