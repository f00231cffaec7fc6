"""The means by which cases are run: threads and lanes of the processor, or a graphics card.

What comes out does not depend on them, but for `precision="float"` and the functions that a card's library has.
Reductions are gathered over all steps of a fixed step: on the card step by step, on the processor from all rows of a
few cases at a time, of which those that were asked for are then kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.engine.ensemble import Cancelled, EnsembleRows, Look, run_apart, run_ensemble
from holdfast.engine.kernel import Kernel
from holdfast.engine.run.fixed import Steps
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.ensembles.case_jobs import CaseJobs
from holdfast.results.ensembles.ensemble import Counts
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.quantities import along, quantity, quantity_node
from holdfast.results.reductions import reduced, taken_apart
from holdfast.results.runs.job import kept_rows
from holdfast.results.runs.request import Request

Array = np.ndarray
Progress = Callable[[float], None]
DEVICES = ("cpu", "gpu")
PRECISIONS = ("double", "float")


@dataclass(frozen=True, slots=True)
class Means:
    """What the cases are run by."""

    device: str | None = None
    precision: str = "double"
    lanes: int | None = None
    threads: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        for name, value in (("lanes", self.lanes), ("threads", self.threads)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise BadRequest(f"{name} = {value!r}", fix="a whole number, at least 1")
        _require_word("device", "cpu" if self.device is None else self.device, DEVICES)
        _require_word("precision", self.precision, PRECISIONS)
        if self.precision == "float" and not self.on_card:
            raise BadRequest("the processor runs in double", where="precision", fix='device="gpu", or no precision=')

    @property
    def on_card(self) -> bool:
        return self.device == "gpu"

    def require(self, request: Request) -> None:
        """Refuse what a card cannot do before anything is made."""
        if not self.on_card:
            return
        from holdfast.engine.cuda.device import card
        from holdfast.engine.cuda.source import require_runnable

        require_runnable(request.scheme, self.precision)
        card()

    def told(self) -> Callable[[int, int], None] | None:
        """Progress as the engine tells it."""
        progress = self.progress
        return None if progress is None else lambda done, cases: progress(done / cases)


def _require_word(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        hint = did_you_mean(str(value), known, "one of " + ", ".join(known))
        raise BadRequest(f"{name} = {value!r}", where=name, fix=hint)


@dataclass(frozen=True, eq=False)
class CaseRows:
    """What the engine made of all cases."""

    times: Array
    states: Array  # (cases, rows, states)
    counts: Counts
    gathered: Mapping[str, Array] = field(default_factory=dict)  # reductions over all steps, by name
    outcomes: tuple[Outcome, ...] | None = None  # of cases that were judged by their own steps


def checked_reductions(equations: Equations, reduce: Mapping[str, str] | None) -> dict[str, str]:
    """The reductions that are asked for, each of a quantity that runs have."""
    if reduce is None:
        return {}
    if not isinstance(reduce, Mapping):
        raise BadRequest("reduce is a mapping", where="reduce", fix='e.g. {"pull": "max(abs(lambda_rod))"}')
    for name, text in reduce.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise BadRequest(f"{name!r} is no name of a reduction", where="reduce", fix="letters, digits and _")
        quantity_node(equations, taken_apart(text)[1], where=f"reduce.{name}")
    return dict(reduce)


def run_cases(jobs: CaseJobs, means: Means, reductions: Mapping[str, str]) -> CaseRows:
    """Run every case from its start with its constants."""
    equations, kernel, request = jobs.equations, jobs.kernel, jobs.request
    used, constants = jobs.used, jobs.cases.constants
    if reductions and request.step is None:
        raise BadRequest(
            "reductions are gathered over the steps of a fixed step",
            where="reduce",
            fix='a scheme such as "rk4" with step=, or runs.reduce(...) of the rows of this one',
        )
    if means.on_card:
        return _on_card(equations, kernel, request, used, constants, means, reductions)
    if request.step is None:
        return _adaptive(jobs, means)
    if reductions:
        return _reduced(equations, kernel, request, used, constants, means, reductions)
    rows = _fixed(kernel, request, used, constants, means, every=kept_rows(request))
    return CaseRows(rows.times, rows.states, _counts(kernel, rows))


def _fixed(
    kernel: Kernel,
    request: Request,
    used: Array,
    constants: Array,
    means: Means,
    *,
    every: int,
    look: Look | None = None,
    keep: int = 1,
) -> EnsembleRows:
    assert request.step is not None
    return run_ensemble(
        kernel,
        used,
        constants,
        t0=request.begin,
        step=request.step,
        steps=request.steps,
        every=every,
        observe=False,
        look=look,
        keep=keep,
        lanes=means.lanes,
        threads=means.threads,
        progress=means.told(),
    )


def _counts(kernel: Kernel, rows: EnsembleRows) -> Counts:
    return Counts(
        rows.status, rows.steps, _evaluations(kernel, rows.steps), np.zeros_like(rows.steps), rows.pivots, rows.final
    )


def _evaluations(kernel: Kernel, steps: Array) -> Array:
    """Of F in each case, where the scheme says how many a step takes."""
    return 1 + steps * kernel.scheme.stage_count if kernel.scheme.explicit else np.zeros_like(steps)


def _reduced(
    equations: Equations,
    kernel: Kernel,
    request: Request,
    used: Array,
    constants: Array,
    means: Means,
    reductions: Mapping[str, str],
) -> CaseRows:
    """Each thread gathers what is asked for from all rows of its cases, and keeps few of them."""
    assert request.step is not None
    every, gathered = kept_rows(request), {name: np.full(len(used), np.nan) for name in reductions}
    times = Steps(request.begin, request.step, request.steps).times
    for text in reductions.values():
        quantity(equations, taken_apart(text)[1])  # made once, before there are threads

    def look(cases: slice, states: Array) -> None:
        components = np.moveaxis(states, -1, 0).copy()
        reached = np.isfinite(components).all(axis=0)
        along_cases = [np.broadcast_to(times, reached.shape), *components]
        columns = [column[:, None] for column in constants[cases].T]
        for name, text in reductions.items():
            gathered[name][cases] = _over_steps(equations, text, along_cases, columns, reached)

    rows = _fixed(kernel, request, used, constants, means, every=1, look=look, keep=every)
    return CaseRows(rows.times, rows.states, _counts(kernel, rows), gathered)


def _over_steps(
    equations: Equations, text: str, along_cases: Sequence[Array], columns: Sequence[Array], reached: Array
) -> Array:
    """A reduction of all rows of some cases: times and states, constants of each, and which rows were reached."""
    times, *states = along_cases

    def values(inner: str) -> Array:
        return np.where(reached, along(equations, inner, times, states, columns), np.nan)

    return reduced(text, times[0], values, reached)


@dataclass(frozen=True, eq=False)
class _JudgedCase:
    """A case that chose its steps: the rows at the common times, its last state, and how it ended."""

    rows: Rows
    final: Array
    outcome: Outcome


def _adaptive(jobs: CaseJobs, means: Means) -> CaseRows:
    """Each case by its own steps, and judged by them as a run by itself: common times may lie far apart."""
    request, used = jobs.request, jobs.used
    assert request.at is not None
    startable, judging = np.isfinite(used).all(axis=1), Lock()

    def judged(number: int, cancelled: Cancelled) -> _JudgedCase:
        with judging:  # what is worked out once for all cases is worked out by one thread
            job = jobs.of(number)
        rows, shown = jobs.rows_at_times(number, job, lambda time: cancelled())
        with judging:
            return _JudgedCase(shown, rows.states[-1].copy(), job.judged(rows).outcome)

    def case(number: int, cancelled: Cancelled) -> _JudgedCase | None:
        return judged(number, cancelled) if startable[number] else None

    found = run_apart(len(used), case, threads=means.threads, progress=means.told())
    states = np.full((len(used), len(request.at), used.shape[1]), np.nan)
    counts = Counts.unknown(len(used), used, len(jobs.kernel.field.pivots))
    counts.status[:] = np.where(startable, Status.interrupted, Status.not_finite)
    outcomes = [Outcome.interrupted if good else Outcome.no_start for good in startable]
    for k, one in enumerate(found):
        if one is not None:
            rows, outcomes[k] = one.rows, one.outcome
            states[k, : len(rows.times)], counts.final[k] = rows.states, one.final
            counts.status[k], counts.steps[k], counts.rejected[k] = rows.status, rows.steps, rows.rejected
            counts.evaluations[k] = rows.evaluations
            if rows.pivots.size == counts.pivots.shape[1]:
                counts.pivots[k] = rows.pivots
    return CaseRows(request.at, states, counts, outcomes=tuple(outcomes))


def _on_card(
    equations: Equations,
    kernel: Kernel,
    request: Request,
    used: Array,
    constants: Array,
    means: Means,
    reductions: Mapping[str, str],
) -> CaseRows:
    """The same on a graphics card."""
    from holdfast.engine.cuda.ensemble import AdaptivePlan, CardRun

    asked = [taken_apart(text) for text in reductions.values()]
    sums = [(kind, quantity_node(equations, inner)) for kind, inner in asked]
    run = CardRun(kernel.assembly, request.scheme, constants, means.precision, sums, kernel.field)
    plan: Steps | AdaptivePlan
    if request.step is not None:
        plan = Steps(request.begin, request.step, request.steps, kept_rows(request))
        times = plan.times
    else:
        assert request.at is not None
        assert request.tolerance is not None
        absolutes = np.broadcast_to(np.asarray(request.absolutes, float), used.shape)
        end = request.begin + request.duration
        plan = AdaptivePlan(request.begin, end, request.tolerance, absolutes, request.longest, request.at)
        times = request.at
    rows = run.run(used, constants, plan, means.told())
    evaluations = _evaluations(kernel, rows.steps + rows.rejected)
    counts = Counts(rows.status, rows.steps, evaluations, rows.rejected, rows.pivots, rows.final)
    gathered = {name: rows.sums[:, k] for k, name in enumerate(reductions)}
    return CaseRows(times, rows.states, counts, gathered)
