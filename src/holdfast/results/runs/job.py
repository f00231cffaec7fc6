"""One run: what is asked, what it starts from, and the rows it gives with the names put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.dense import Dense
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.equations.solving.redundant import repeats_note
from holdfast.errors import BadRequest
from holdfast.results.columns import Columns, column_names
from holdfast.results.judgement.finding import Judgement
from holdfast.results.judgement.judgement import Facts, ended, judged
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.accuracy.state_error import finer
from holdfast.results.runs.crossing import carried
from holdfast.results.runs.event import After, EventWatch, noted_times
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.runs.request import Request, rows_of_steps
from holdfast.results.start.start import Start
from holdfast.results.trajectory import Trajectory

NO_EVENTS: Frozen[np.ndarray] = Frozen()
NONE = np.zeros(0)  # in the place of rows that are still to come
LARGEST = 2**28  # doubles of rows: 2.1 GB, and about three times as much while they are put together


@dataclass(frozen=True, eq=False)
class Job:
    """A run about to happen, or just done."""

    equations: Equations
    request: Request
    kernel: Kernel
    start: Start
    constants: list[float]
    watch: EventWatch
    after: After | None = None

    @cached_property
    def every(self) -> int:
        """Which rows are kept: with times asked for, as few as contain them all."""
        return kept_rows(self.request)

    def named(self, rows: Rows, outcome: Outcome | None = None) -> Trajectory:
        """Names on the numbers, the outcome in words, and the rows that were asked for."""
        equations, request, watch = self.equations, self.request, self.watch
        noted = noted_times(watch, self.kernel, rows, self.constants, request.step, self.every, self.after)
        shown = self.picked(rows)
        judgement = (lambda: self.judged(rows)) if outcome is None else Judgement(outcome)
        ended = list(watch.terminal)[rows.event] if rows.event is not None else ""
        happened = {name: rows.times[-1:] if name == ended else np.zeros(0) for name in watch.terminal} | noted
        return replace(
            Trajectory.of_fields(self.fields),
            times=_fixed(shown.times),
            columns=Columns(column_names(equations), shown),
            judged=judgement,
            steps=rows.steps,
            nfev=rows.evaluations,
            rejected=rows.rejected,
            events=Frozen({name: _fixed(happened[name]) for name in watch.directions}),
            note=self._note(rows.status, float(rows.times[-1]), ended),
            interpolant=self._interpolant(rows),
            finer=lambda times: self.finer(shown, times),
        )

    def from_start(self, request: Request, start: Start, constants: list[float]) -> Job:
        """The same job with other numbers; what they do not change is not made again."""
        made = Job(self.equations, request, self.kernel, start, constants, self.watch, self.after)
        vars(made).update(every=self.every, _common=self._common)
        return made

    @cached_property
    def fields(self) -> dict[str, Any]:
        """Of the trajectory: what does not depend on the rows, and what it is where the run reaches its end."""
        return {
            **self._common,
            "start": self.start,
            "parameters": Frozen(zip(self.equations.parameter_names, self.constants, strict=True)),
            "note": self._note(Status.completed, 0.0, ""),
        }

    @cached_property
    def _common(self) -> dict[str, Any]:
        """The fields that do not depend on the start, nor on constants."""
        equations, request = self.equations, self.request
        return {
            "problem": equations.problem,
            "times": NONE,
            "columns": {},
            "state_names": equations.state_names,
            "judged": Judgement(Outcome.completed),
            "scheme": request.scheme.name,
            "scheme_fingerprint": request.scheme.fingerprint,
            "step": request.step,
            "tolerance": request.tolerance,
            "steps": 0,
            "nfev": 0,
            "rejected": 0,
            "every": self.every,
            "picked": request.at is not None,
            "events": NO_EVENTS,
            "projected": self.after is not None,
            "interpolant": None,
            "finer": None,
            "equations": equations,
            "second_order": equations.second_order,
        }

    def judged(self, rows: Rows) -> Judgement:
        return judged(Facts(self.equations, rows, self.constants, self.start, self.request.duration))

    def finer(self, shown: Rows, times: int) -> Trajectory | None:
        """The same run with its step halved so many times, or with a tighter tolerance at the same rows."""
        request = finer(self.request, float(shown.times[-1]), shown.steps, times)
        if request is None:
            return None
        if request.step is None:
            request = replace(request, at=shown.times)
        else:
            request = replace(request, every=2**times * self.every)
        check_size(request, self.equations.row_width)
        job = replace(self, request=request, watch=EventWatch({}, {}, {}), after=None)
        call = KernelCall(request, job.every, self.constants, [])
        rows = carried(self.equations, job.plain, call, self.start.state)
        return job.named(rows, ended(rows.status, rows.pivots))

    @property
    def plain(self) -> Kernel:
        """The kernel without events."""
        return compiled(self.equations.field, self.request.scheme)

    def _interpolant(self, rows: Rows) -> Callable[[np.ndarray], np.ndarray] | None:
        """Between the rows of a run that kept every step."""
        if self.every != 1 or len(rows.times) < 2 or (rows.dense is None and self.request.step is None):
            return None
        kernel, constants = self.kernel, self.constants
        made: list[Dense] = []

        def interpolated(times: np.ndarray) -> np.ndarray:
            if not made:
                made.append(kernel.dense(rows, constants))
            return made[0](times).T

        return interpolated

    def picked(self, rows: Rows) -> Rows:
        """The rows at the times asked for, up to where the run came; of an adaptive run, every n-th and the last."""
        request = self.request
        if request.at is None:
            if request.step is not None or self.every == 1:
                return rows
            chosen = np.unique([*range(0, len(rows.times), self.every), len(rows.times) - 1])
            return rows.picked(chosen)
        last = float(rows.times[-1])
        wanted = request.at[request.at <= last + 1e-12 * max(1.0, abs(last))]
        if request.step is not None:
            numbers = rows_of_steps(wanted, request.begin, request.step, request.steps) // self.every
            return rows.picked(numbers, wanted)
        if rows.dense is None:
            return rows
        states, constants = rows.dense(np.minimum(wanted, last)), list(self.constants)
        observed = lambda: self.kernel.observe(wanted, states, constants)  # noqa: E731
        return replace(rows, times=wanted, states=states, observed=observed)

    def _note(self, status: Status, last: float, ended: str) -> str:
        """What else must be said: where the run stopped, and how its start was treated."""
        parts = []
        if ended:
            parts.append(f"Event {ended!r} at t = {last:.10g}.")
        elif status != Status.completed:
            parts.append(f"It stopped at t = {last:.10g}.")
        if self.start.changes or not self.start.on_program:
            text = str(self.start)
            parts.append(text[0].upper() + text[1:] + ".")
        if said := repeats_note(self.equations.solver):
            parts.append(said)
        return " ".join(parts)


def kept_rows(request: Request) -> int:
    """Every how many steps a row is kept: as asked, or as few rows as contain all times asked for."""
    if request.at is None:
        return request.every
    if request.step is None:
        return 1
    numbers = rows_of_steps(request.at, request.begin, request.step, request.steps)
    common = int(np.gcd.reduce(numbers)) if len(numbers) else 0
    return common or request.steps


def check_size(request: Request, width: int) -> None:
    """Refuse rows that would not fit in memory; `width` is the number of doubles in each."""
    if request.step is None:
        return
    rows = request.steps // kept_rows(request) + 1
    if rows * width > LARGEST:
        raise BadRequest(
            f"{rows} rows would need {8e-9 * rows * width:.1f} GB, and at most {8e-9 * LARGEST:.1f} GB are kept",
            fix="keep fewer: every=100 keeps each hundredth step, at=[...] those at times with a common spacing; or "
            'let save="run.npz" write all of them while the run goes on, and keep some',
        )


def _fixed(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
