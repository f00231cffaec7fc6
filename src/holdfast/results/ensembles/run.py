"""Many runs of the same equations: other parameters, gains and starts, side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.engine.ensemble import run_ensemble, run_ensemble_adaptive
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, Columns, StateLike
from holdfast.results.ensembles.cases import Cases, cases_of
from holdfast.results.ensembles.crossing import cross_cases
from holdfast.results.ensembles.ensemble import Counts, Ensemble
from holdfast.results.ensembles.table import stated_cases
from holdfast.results.judgement.judgement import deviation_places, mass_at
from holdfast.results.runs.job import check_size, kept_rows
from holdfast.results.runs.request import Request, RunOptions, request_of, resolved, with_stated_times
from holdfast.results.runs.simulate import under_law
from holdfast.results.start.start import chosen_policy, off_program, refuse_deviation, solved_start
from holdfast.results.start.term_sizes import ROUNDING_NOISE, deviation_sizes
from holdfast.schemes.kinds.scheme import Scheme

Progress = Callable[[float], None]
ROWS = 200  # intervals between the rows of an adaptive ensemble, where no times are asked for


@with_options(RunOptions)
def ensemble(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    cases: Columns | None = None,
    start: StateLike | None = None,
    start_policy: str | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
    threads: int | None = None,
    lanes: int | None = None,
    progress: Progress | None = None,
    **run: Unpack[RunOptions],
) -> Ensemble:
    """Run many cases: `cases` maps states, parameters and gains (``"law.stiffness.home"``) to equally long columns.

    The columns are taken together, case by case; `hf.grid` makes columns of all combinations. Without `cases`, those
    of the problem's own ``[ensemble]`` table are run (`results.table` describes it). The rest is as in
    `hf.simulate`, and each case is, to the last bit, what `simulate` gives; neither `threads` nor `lanes` change that.
    (Under `redundant="allow"`, where `simulate` runs in pieces, to rounding; singular states are crossed as there.)
    Cases of an adaptive scheme have rows at common times: those of `at`, or 201 equidistant ones.
    """
    equations = under_law(equations, law, verb="ensemble")
    _check_counts(threads=threads, lanes=lanes)
    ends = next((name for name, event in equations.problem.events.items() if event.terminal), None)
    if ends is not None:
        raise BadRequest(
            f"the event {ends!r} ends a run, and the cases of an ensemble end together",
            where=f"events.{ends}",
            fix='let it not be terminal, and ask for runs.event_times() or reduce("first(...)")',
        )
    request = request_of(equations, scheme, **with_stated_times(equations, run))
    if request.step is None and request.at is None:
        times = request.begin + np.linspace(0.0, request.duration, ROWS + 1)
        request = replace(request, at=times)
    columns = stated_cases(equations.problem) if cases is None else cases
    chosen = cases_of(equations, columns, start, parameters or {}, request.begin)
    policy, projected = chosen_policy(equations, start_policy)
    check_size(request, len(chosen.states) * chosen.states.shape[1])
    kernel = compiled(equations.field, request.scheme)
    observed = kernel.observe_cases(np.array([request.begin]), chosen.states[:, None], chosen.constants)
    deviation = observed[:, 0, deviation_places(equations)]
    if policy == "raise":
        _refuse_deviations(equations, deviation, chosen, request.begin)
    used, startable = _started(equations, policy, deviation, projected, chosen, request.begin)
    if request.step is None:
        tolerances = _tolerances(equations, kernel, request, np.nan_to_num(used), chosen.constants)
        request = replace(request, absolute=tolerances)
    runner = _fixed if request.step is not None else _adaptive
    times, states, counts = runner(kernel, request, used, chosen.constants, lanes, threads, progress)
    cross_cases(equations, kernel, request, used, chosen.constants, times, states, counts)
    return Ensemble.judged(
        equations=equations,
        request=request,
        kernel=kernel,
        policy=policy,
        cases=chosen,
        used=used,
        startable=startable,
        times=times,
        states=states,
        counts=counts,
    )


def _tolerances(
    equations: Equations, kernel: Kernel, request: Request, states: np.ndarray, constants: np.ndarray
) -> np.ndarray | float:
    """The absolute tolerances of each case, as `simulate` would take them."""
    each = list(zip(states.tolist(), constants.tolist(), strict=True))
    rates = np.array([kernel.rates(request.begin, state, values) for state, values in each])
    inertia = np.array([np.diag(mass_at(equations, request.begin, state, values)) for state, values in each])
    return resolved(equations, request, states, rates, inertia)


def _check_counts(**given: int | None) -> None:
    for name, value in given.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            raise BadRequest(f"{name} = {value!r}", fix="a whole number, at least 1")


def _started(
    equations: Equations,
    policy: str,
    deviation: np.ndarray,
    projected: tuple[str, ...],
    cases: Cases,
    begin: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The state each case starts from, and whether there is one; cases that differ in gains only share theirs."""
    names = equations.deviation_names
    chosen = [names.index(name) for name in equations.deviations.names_of(projected)]
    used, startable = cases.states.copy(), np.ones(len(cases.states), dtype=bool)
    if not chosen:
        return used, startable
    with np.errstate(all="ignore"):
        sizes = deviation_sizes(equations).roundings(begin, cases.states, cases.constants)[:, chosen]
        near = (np.abs(deviation[:, chosen]) <= ROUNDING_NOISE * sizes) | (deviation[:, chosen] == 0)
    off = np.nonzero(~near.all(axis=1))[0]
    if not len(off):
        return used, startable
    told_apart = cases.constants[off, : cases.constants.shape[1] - len(equations.inputs.gains)]
    _, first, number = np.unique(
        np.hstack([cases.states[off], told_apart]), axis=0, return_index=True, return_inverse=True
    )
    moved, good = cases.states[off[first]], np.ones(len(first), dtype=bool)
    for k, case in enumerate(off[first]):
        try:
            constants = cases.constants[case].tolist()
            moved[k] = solved_start(equations, policy, projected, cases.states[case], cases.stated, begin, constants)
        except BadRequest:
            moved[k], good[k] = np.nan, False
    used[off], startable[off] = moved[number.reshape(-1)], good[number.reshape(-1)]
    return used, startable


def _refuse_deviations(equations: Equations, deviation: np.ndarray, cases: Cases, begin: float) -> None:
    """What the policy "raise" does: name the first case that violates the program."""
    names, off = equations.deviation_names, off_program(equations, deviation, cases.states, begin, cases.constants)
    for number in np.nonzero(off.any(axis=1))[0]:
        violated = {names[k]: float(deviation[number, k]) for k in np.nonzero(off[number])[0]}
        refuse_deviation(violated, where=f"start of case {number}")


def _fixed(
    kernel: Kernel,
    request: Request,
    used: np.ndarray,
    constants: np.ndarray,
    lanes: int | None,
    threads: int | None,
    progress: Progress | None,
) -> tuple[np.ndarray, np.ndarray, Counts]:
    assert request.step is not None
    rows = run_ensemble(
        kernel,
        used,
        constants,
        t0=request.begin,
        step=request.step,
        steps=request.steps,
        every=kept_rows(request),
        observe=False,
        lanes=lanes,
        threads=threads,
        progress=_told(progress),
    )
    explicit = kernel.scheme.explicit
    evaluations = 1 + rows.steps * kernel.scheme.stage_count if explicit else np.zeros_like(rows.steps)
    counts = Counts(rows.status, rows.steps, evaluations, np.zeros_like(rows.steps), rows.pivots, rows.final)
    return rows.times, rows.states, counts


def _adaptive(
    kernel: Kernel,
    request: Request,
    used: np.ndarray,
    constants: np.ndarray,
    lanes: int | None,
    threads: int | None,
    progress: Progress | None,
) -> tuple[np.ndarray, np.ndarray, Counts]:
    assert request.at is not None
    assert request.tolerance is not None
    found = run_ensemble_adaptive(
        kernel,
        used,
        constants,
        t0=request.begin,
        duration=request.duration,
        relative=request.tolerance,
        absolute=request.absolutes,
        longest=request.longest,
        at=request.at,
        threads=threads,
        progress=_told(progress),
    )
    states = np.full((len(used), len(request.at), used.shape[1]), np.nan)
    counts = Counts.unknown(len(used), used, len(kernel.field.pivots))
    for k, rows in enumerate(found):
        if rows is not None:
            states[k, : len(rows.times)] = rows.states
            counts.status[k], counts.steps[k], counts.rejected[k] = rows.status, rows.steps, rows.rejected
            counts.evaluations[k], counts.pivots[k] = rows.evaluations, rows.pivots
            if len(rows.states):
                counts.final[k] = rows.states[-1]
        else:
            counts.status[k] = Status.interrupted
    return request.at, states, counts


def _told(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, cases: progress(done / cases)
