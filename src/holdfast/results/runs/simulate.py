"""Run the equations once, and put the names back on the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.engine.kernel import Kernel
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.equations.forms.canonical import Canonical
from holdfast.equations.quasi.form import QuasiForm
from holdfast.errors import BadRequest
from holdfast.problem.bodies.rows import require_closed
from holdfast.problem.laws.linear import Law
from holdfast.problem.phases import checked_events
from holdfast.problem.types import ByName, StateLike
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.again.known import known_runs
from holdfast.results.runs.crossing import carried
from holdfast.results.runs.event import EventWatch
from holdfast.results.runs.form_run import form_motion
from holdfast.results.runs.job import Job
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.runs.phased import PhasedRequest, phase_equations, phased
from holdfast.results.runs.prepared import prepared_runs
from holdfast.results.runs.request import Request, RunOptions, request_of, with_stated_times
from holdfast.results.runs.sampled import sampled_request
from holdfast.results.runs.sampled_job import SampledJob
from holdfast.results.runs.saved import all_rows, save_target, saved_run
from holdfast.results.start.chains import Chains
from holdfast.results.start.integrals import OntoIntegrals, keeps_integrals_only
from holdfast.results.start.projection import Projection
from holdfast.results.start.start import Start
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme

Progress = Callable[[float], None]


@with_options(RunOptions)
def simulate(
    equations: Equations | Canonical | QuasiForm,
    scheme: Scheme | str | None = None,
    *,
    start: StateLike | None = None,
    start_policy: str | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
    events: Mapping[str, Any] | None = None,
    project: bool = False,
    progress: Progress | None = None,
    save: str | Path | None = None,
    **run: Unpack[RunOptions],
) -> Trajectory:
    """The motion, with multipliers, controls, held forces, deviations and energies along it.

    What is not given is taken from the problem's own `run`. A fixed-step scheme takes `step`, an adaptive one
    `tolerance`. `begin` is the time of the start. `at` keeps the rows at given times only, `every` each n-th step.
    `events` are expressions, or `hf.Event`s, by name, in place of the problem's own. `project` moves the state back
    onto the program after each step. `progress` is called with the fraction done. Ctrl-C ends the run
    and keeps its rows.

    An adaptive scheme takes no step longer than `longest_step`, a hundredth of the duration if none is given, so that a
    push is not stepped over; `absolute` gives absolute tolerances, one number or some by name, in place of those that
    follow from the size of each state.

    ``save="run.npz"`` writes the rows of a long run of fixed steps while it goes on, to ``run-1.npz`` and so on, and
    keeps at most a hundred thousand of them in memory, under 1 GB whatever its length.

    A problem with `phases` runs through them, and gives a `hf.JoinedRun`.

    Of a canonical form (`hf.canonical`) the motion is run in (q, p, s), and shows the momenta ``p_x`` beside the rates;
    of one in quasi-velocities (`hf.quasi`, `hf.maggi`) in (q, u, s). Such a form takes no `law`, `events` or `project`.
    """
    if isinstance(equations, (Canonical, QuasiForm)):
        _refuse_for_form(law=law, events=events, project=project or None, save=save)
        request = request_of(equations.equations, scheme, **run)
        return form_motion(equations, request, start, start_policy, parameters or {}, _teller(request, progress, None))
    plain = law is None and events is None and progress is None and save is None and not project
    if plain and type(equations) is Equations:
        known = known_runs(equations).again(scheme, run, start_policy, start, parameters)
        if known is not None:
            return known
    words = run
    equations = under_law(equations, law, verb="simulate")
    prepared = prepared_runs(equations)
    run = with_stated_times(equations, run)
    if equations.problem.phases:
        _refuse_for_phases(law=law, at=run.get("at"), save=save)
        phase_equations(equations)
        request = request_of(equations, scheme, **run)
        asked = _phased_request(equations, request, scheme, events, parameters, project, progress, run)
        return phased(equations, asked, start, start_policy)
    target = None
    if save is None:
        request = prepared.request(scheme, run)
    else:
        request = request_of(equations, scheme, **all_rows(equations, run))
        target = save_target(save, equations, request, project=project)
    constants, watch = prepared.constants(parameters), prepared.watch(events)
    if parameters:
        require_closed(equations.problem.system, dict(zip(equations.parameter_names, constants, strict=True)))
    kernel = prepared.kernel(request.scheme, watch, project, quick=target is None)
    begun = prepared.start(start, start_policy, constants, request.begin, kernel)
    if request.step is None:
        request = prepared.with_tolerances(request, begun, constants, kernel)
    back = _ProjectAfterStep(_way_back(equations), constants) if project else None
    if project and request.step is None:
        raise BadRequest("projection after each step needs a fixed step", fix="choose a fixed-step scheme")
    if equations.problem.program.sampling is not None:
        return _under_a_computer(equations, request, kernel, begun, constants, watch, project, progress)
    job = Job(equations, request, kernel, begun, constants, watch, back)
    told = _teller(request, progress, back)
    directions = [watch.directions[name] for name in watch.terminal]
    call = KernelCall(request, job.every, constants, directions, back, told)
    if target is not None:
        return saved_run(job, call, target)
    rows = carried(equations, kernel, call, begun.state)
    if back is not None and back.failed:
        return job.named(_without_last(rows), Outcome.projection_failed)
    if plain:
        known_runs(equations).learn(scheme, words, start_policy, job, rows)
    return job.named(rows)


def _under_a_computer(
    equations: Equations, request: Request, kernel: Kernel, start: Start, constants: list[float], watch: EventWatch,
    project: bool, progress: Progress | None,
) -> Trajectory:  # fmt: skip
    """A run whose controls are computed from samples, and held."""
    sampling = equations.problem.program.sampling
    assert sampling is not None
    if watch.names or project:
        raise BadRequest(
            f"a run under sampled controls takes no {'events' if watch.names else 'projection'}",
            where="program.sampling",
            fix="look at its rows, or leave the sampling out",
        )
    request = sampled_request(request, sampling)
    job = SampledJob(equations, request, kernel, start, constants, watch)
    return job.named(job.rows(_teller(request, progress, None)))


def _phased_request(
    equations: Equations, request: Request, scheme: Scheme | str | None, events: Mapping[str, Any] | None,
    parameters: ByName | None, project: bool, progress: Progress | None, run: RunOptions,
) -> PhasedRequest:  # fmt: skip
    """What is asked of all phases together."""
    told = {key: value for key, value in run.items() if key not in ("begin", "duration", "step", "at")}
    end = request.begin + request.duration
    return PhasedRequest(
        simulate=partial(simulate, scheme=scheme, project=project),
        begin=request.begin,
        end=end,
        step=request.step,
        tolerance=request.tolerance,
        options=told,
        progress=progress,
        events=checked_events(equations.problem.events if events is None else events),
        parameters=parameters or {},
    )


def _refuse_for_phases(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise BadRequest(
                f"a run in phases takes no {name}",
                where=f"simulate({name}=...)",
                fix="state the law in each phase" if name == "law" else "keep all rows, or every n-th",
            )


def _way_back(equations: Equations) -> Projection | OntoIntegrals | Chains:
    if equations.deviations.mixed:
        return Chains(equations, equations.constraints)
    if keeps_integrals_only(equations):
        return OntoIntegrals(equations)
    return Projection(equations, equations.constraints)


def _refuse_for_form(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise BadRequest(
                f"this form of the equations takes no {name}",
                where=f"simulate({name}=...)",
                fix="run its equations, with rates",
            )


def under_law(equations: Equations, law: Law | None, *, verb: str) -> Equations:
    """The equations with another law if one is given."""
    if not isinstance(equations, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    if verb != "simulate":
        equations.require_unsampled(verb)
        equations.require_one_phase(verb)
    return equations if law is None else equations.with_law(law)


@dataclass(eq=False)
class _ProjectAfterStep:
    """Moves a state back onto the program after its step; a failure is noted, for the run to end there."""

    projection: Projection | OntoIntegrals | Chains
    constants: list[float]
    failed: bool = field(default=False)

    def __call__(self, time: float, state: np.ndarray) -> np.ndarray:
        try:
            return self.projection.of(state, time, self.constants)
        except BadRequest:
            self.failed = True
            return state


def _teller(request: Request, progress: Progress | None, back: _ProjectAfterStep | None) -> Callable[[float], bool]:
    """Tells the fraction done at a time; asks the run to stop where its state could not be moved back."""

    def told(time: float) -> bool:
        if progress is not None:
            progress(min(1.0, (time - request.begin) / request.duration))
        return back is not None and back.failed

    return told


def _without_last(rows: Rows) -> Rows:
    """Without the row that could not be moved back."""
    kept = max(1, len(rows.times) - 1)
    return rows.picked(slice(0, kept))


def simulate_canonical(canonical: Canonical, scheme: Scheme | str | None = None, **asked: Any) -> Trajectory:
    """`simulate`, by its earlier name for canonical forms."""
    if not isinstance(canonical, Canonical):
        raise BadRequest(f"a canonical form is needed, not {type(canonical).__name__}", fix="hf.canonical(equations)")
    return simulate(canonical, scheme, **asked)
