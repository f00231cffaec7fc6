"""Run the equations once, and put the names back on the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.rows import Rows
from holdfast.engine.status import Status
from holdfast.equations.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.problem.frozen import Frozen
from holdfast.problem.laws import Law
from holdfast.results.event import Watch, noted_times, watch_of
from holdfast.results.outcome import Outcome
from holdfast.results.request import Request, request_of, rows_of_steps
from holdfast.results.start import Projection, Start, consistent_start
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import Scheme

OUTCOMES = {
    Status.completed: Outcome.completed,
    Status.not_finite: Outcome.not_finite,
    Status.rank_lost: Outcome.rank_lost,
    Status.event: Outcome.event,
    Status.not_converged: Outcome.newton_failed,
    Status.step_collapsed: Outcome.step_collapsed,
    Status.interrupted: Outcome.interrupted,
}

NEARLY_SINGULAR = 1e-4  # a pivot this small, as a part of its largest, explains why values became infinite

Progress = Callable[[float], None]


def simulate(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    step: float | None = None,
    tolerance: float | None = None,
    duration: float | None = None,
    at: Sequence[float] | None = None,
    start: Mapping[Any, Any] | Sequence[float] | None = None,
    start_policy: str | None = None,
    parameters: Mapping[Any, Any] | None = None,
    law: Law | None = None,
    events: Mapping[str, Any] | None = None,
    project: bool = False,
    every: int | None = None,
    progress: Progress | None = None,
) -> Trajectory:
    """The motion, with multipliers, controls, held forces, deviations and energies along it.

    What is not given is taken from the problem's own `run`. A fixed-step scheme takes `step`, an adaptive one `tolerance`. `at` keeps
    the rows at given times only, `every` each n-th step. `events` are expressions, or `hf.Event`s, by name. `project` moves the state
    back onto the program after each step. `progress` is called with the fraction done. Ctrl-C ends the run and keeps its rows.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"simulate() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    equations = equations if law is None else equations.with_law(law)
    request = request_of(
        equations, scheme, step=step, tolerance=tolerance, duration=duration, every=every, at=at
    )
    given = parameters or {}
    begun = consistent_start(equations, start, start_policy, given, request.begin)
    constants = parameter_vector(equations, given)
    watch = watch_of(equations, events)
    kernel = compiled(equations.field, request.scheme, events=tuple(watch.terminal.values()))
    job = _Job(equations, request, kernel, begun, constants, watch, progress)
    rows = job.projected(given) if project else job.run()
    return _named(job, rows)


@dataclass(frozen=True, eq=False)
class _Job:
    """One run about to happen."""

    equations: Equations
    request: Request
    kernel: Kernel
    start: Start
    constants: list[float]
    watch: Watch
    progress: Progress | None

    @property
    def every(self) -> int:
        """With times asked for, all steps are looked at and the wanted ones are picked."""
        request = self.request
        if request.at is None or request.step is None:
            return request.every
        numbers = rows_of_steps(request.at, request.begin, request.step, request.steps)
        return max(1, int(np.gcd.reduce(numbers))) if len(numbers) and numbers.any() else 1

    def run(self) -> Rows:
        request = self.request
        directions = [self.watch.directions[name] for name in self.watch.terminal]
        if request.scheme.adaptive:
            return self.kernel.run_adaptive(
                self.start.state,
                self.constants,
                t0=request.begin,
                duration=request.duration,
                relative=request.tolerance,
                absolute=request.tolerance,
                directions=directions,
            )
        assert request.step is not None
        return self.kernel.run(
            self.start.state,
            self.constants,
            t0=request.begin,
            step=request.step,
            steps=request.steps,
            every=self.every,
            directions=directions,
            stop=self._report if self.progress else None,
        )

    def _report(self, done: int) -> bool:
        assert self.progress is not None
        self.progress(done / self.request.steps)
        return False

    def projected(self, parameters: Mapping[Any, Any]) -> Rows:
        """Each step followed by a projection onto the program, positions first, then rates."""
        request = self.request
        if request.step is None:
            raise BadRequest("projection after each step needs a fixed step", fix="choose a fixed-step scheme")
        if self.watch.terminal:
            raise BadRequest("projection after each step does not go with events that end the run", fix="make them noted")
        constraints = self.equations.constraints
        state, times, states = np.array(self.start.state), [request.begin], [np.array(self.start.state)]
        status, every = Status.completed, self.every
        try:
            for number in range(1, request.steps + 1):
                before = request.begin + (number - 1) * request.step
                taken = self.kernel.run(state, self.constants, t0=before, step=request.step, steps=1)
                if taken.status != Status.completed:
                    status = taken.status
                    break
                time = request.begin + number * request.step
                state = Projection(self.equations, time, parameters, constraints).of(taken.states[-1])
                if number % every == 0 or number == request.steps:
                    times.append(time)
                    states.append(state)
                if self.progress and number % 64 == 0:
                    self._report(number)
        except KeyboardInterrupt:
            status = Status.interrupted
        table, moments = np.array(states), np.array(times)
        return Rows(
            times=moments,
            states=table,
            observables=self.kernel.observe(moments, table, self.constants),
            pivots=np.zeros(0),
            status=status,
            steps=(len(times) - 1) * every,
            evaluations=(len(times) - 1) * every * request.scheme.stage_count,
        )


def _named(job: _Job, rows: Rows) -> Trajectory:
    """Names on the numbers, the outcome in words, and the rows that were asked for."""
    equations, request = job.equations, job.request
    noted = noted_times(job.watch, job.kernel, rows, job.constants, request.step, job.every)
    interpolant = _interpolant(job, rows)
    shown = _picked(job, rows)
    columns = dict(zip(equations.state_names, shown.states.T, strict=True))
    columns |= dict(zip(equations.observables, shown.observables.T, strict=True))
    names = list(job.watch.terminal)
    ended = names[rows.event] if rows.event is not None else ""
    happened = {name: np.array([rows.times[-1]]) if name == ended else np.zeros(0) for name in names} | noted
    return Trajectory(
        problem=equations.problem,
        times=_fixed(shown.times),
        columns=Frozen({name: _fixed(values) for name, values in columns.items()}),
        state_names=equations.state_names,
        outcome=_outcome(job, rows),
        start=job.start,
        scheme=request.scheme.name,
        step=request.step,
        tolerance=request.tolerance,
        parameters=Frozen(dict(zip(equations.parameter_names, job.constants, strict=True))),
        steps=rows.steps,
        nfev=rows.evaluations,
        rejected=rows.rejected,
        every=job.every,
        events=Frozen(happened),
        note=_note(job, rows, ended),
        interpolant=interpolant,
    )


def _interpolant(job: _Job, rows: Rows) -> Callable[[np.ndarray], np.ndarray] | None:
    if job.every != 1 or len(rows.times) < 2:
        return None
    kernel, constants = job.kernel, job.constants
    return lambda times: kernel.dense(rows, constants)(times).T


def _picked(job: _Job, rows: Rows) -> Rows:
    """The rows at the times asked for, up to where the run came."""
    request = job.request
    if request.at is None:
        return rows
    wanted = request.at[request.at <= rows.times[-1] * (1 + 1e-12) + 1e-300]
    if request.step is not None:
        numbers = rows_of_steps(wanted, request.begin, request.step, request.steps) // job.every
        states = rows.states[numbers]
    else:
        states = job.kernel.dense(rows, job.constants)(np.minimum(wanted, rows.times[-1]))
    return replace(rows, times=wanted, states=states, observables=job.kernel.observe(wanted, states, job.constants))


def _outcome(job: _Job, rows: Rows) -> Outcome:
    """How the run ended; a run that completed is called good only if its deviations behaved."""
    outcome = OUTCOMES[rows.status]
    if outcome is Outcome.not_finite and len(rows.pivots) and rows.pivots.min() < NEARLY_SINGULAR:
        return Outcome.rank_lost
    if outcome is not Outcome.completed or not job.equations.constraints:
        return outcome
    if _grew(job, rows):
        return Outcome.deviation_grew
    if not job.start.on_program and not _attracts(job):
        return Outcome.off_program
    return outcome


def _grew(job: _Job, rows: Rows) -> bool:
    """Whether the motion left the program for good: far off at the end, and much further than in the first half."""
    final = job.equations.evaluate(rows.states[-1].tolist(), float(rows.times[-1]), parameters=_values(job))
    size = 1 + float(np.linalg.norm(final.state))
    if not np.isfinite(final.geometric_distance):
        return True
    names = list(job.equations.observables)
    places = [k for k, name in enumerate(names) if name.startswith(("y_", "w_"))]
    norms = np.linalg.norm(rows.observables[:, places], axis=1)
    early = norms[: max(2, len(norms) // 2)].max()
    return bool(final.geometric_distance > 0.01 * size and norms[-1] > 10 * early)


def _attracts(job: _Job) -> bool:
    """Whether the law attracts every block of deviations that does not start at zero."""
    values = job.equations.evaluate(job.start.state, job.request.begin, parameters=_values(job))
    matrix = values.deviation_matrix
    size = np.abs(np.concatenate([values.deviation, values.deviation_rate]))
    for block in decoupled_blocks(matrix):
        if size[block].max() > 1e-9 and np.linalg.eigvals(matrix[np.ix_(block, block)]).real.max() >= 0:
            return False
    return True


def _values(job: _Job) -> dict[str, float]:
    return dict(zip(job.equations.parameter_names, job.constants, strict=True))


def _note(job: _Job, rows: Rows, ended: str) -> str:
    """What else must be said: where the run stopped, and how its start was treated."""
    parts = []
    if ended:
        parts.append(f"Event {ended!r} at t = {rows.times[-1]:.10g}.")
    elif rows.status != Status.completed:
        parts.append(f"It stopped at t = {rows.times[-1]:.10g}.")
    if job.start.changes or not job.start.on_program:
        text = str(job.start)
        parts.append(text[0].upper() + text[1:] + ".")
    return " ".join(parts)


def _fixed(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array
