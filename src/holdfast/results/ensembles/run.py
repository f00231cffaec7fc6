"""Many runs of the same equations: other parameters, gains and starts, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.engine.kernel import Kernel, compiled
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, Columns, StateLike
from holdfast.results.ensembles.case_jobs import CaseJobs
from holdfast.results.ensembles.cases import Cases, cases_of
from holdfast.results.ensembles.cluster import spread
from holdfast.results.ensembles.crossing import cross_cases
from holdfast.results.ensembles.ensemble import Ensemble
from holdfast.results.ensembles.means import Means, Progress, checked_reductions, run_cases
from holdfast.results.ensembles.saved import saved_cases
from holdfast.results.ensembles.table import stated_cases
from holdfast.results.judgement.judgement import deviation_places
from holdfast.results.judgement.masses import mass_at
from holdfast.results.runs.job import check_size
from holdfast.results.runs.request import Request, RunOptions, request_of, resolved, with_stated_times
from holdfast.results.runs.simulate import under_law
from holdfast.results.start.negligible import off_program
from holdfast.results.start.start import chosen_policy, refuse_deviation, solved_start
from holdfast.results.start.term_sizes import ROUNDING_NOISE, deviation_sizes
from holdfast.schemes.kinds.scheme import Scheme

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
    reduce: Mapping[str, str] | None = None,
    device: str | None = None,
    precision: str = "double",
    threads: int | None = None,
    lanes: int | None = None,
    on: Any = None,
    save: Any = None,
    progress: Progress | None = None,
    **run: Unpack[RunOptions],
) -> Ensemble:
    """Run many cases: `cases` maps states, parameters and gains (``"law.stiffness.home"``) to equally long columns.

    The columns are taken together, case by case; `hf.grid` makes columns of all combinations. Without `cases`, those
    of the problem's own ``[ensemble]`` table are run (`results.table` describes it). The rest is as in
    `hf.simulate`, and each case is, to the last bit, what `simulate` gives; neither `threads` nor `lanes` change that.
    (To rounding under `redundant="allow"`, where `simulate` runs in pieces, and for closed loops of bodies that turn by
    quaternions, which it may solve branch by branch. Singular states are crossed as there.)
    Cases of an adaptive scheme have rows at common times, those of `at` or 201 equidistant ones, and are judged by the
    steps that they took, as in `simulate` (on a card by these rows).

    `reduce` asks for numbers of each case, such as ``{"pull": "max(abs(lambda_rod))"}``, gathered over every step
    whatever rows are kept (`Ensemble.reductions`). ``device="gpu"`` runs the cases on a graphics card (explicit
    schemes; holdfast[cuda]), in double as the processor does, or in ``precision="float"``; they are streamed through
    its memory. `on` is a `dask.distributed` client, its address, or ``"local"`` for a process to each core: cases are
    divided among its workers, and each is what it is here, to the last bit (holdfast[dask]).

    ``save="runs.zarr.zip"`` writes every kept row of every case while they are made, to one file that xarray opens
    (`xarray.open_zarr`), and keeps the first and the last row of each: what is held in memory does not grow with the
    number of cases.
    """
    equations = under_law(equations, law, verb="ensemble")
    means = Means(device, precision, lanes, threads, progress)
    ends = next((name for name, event in equations.problem.events.items() if event.terminal), None)
    if ends is not None:
        raise BadRequest(
            f"the event {ends!r} ends a run, and the cases of an ensemble end together",
            where=f"events.{ends}",
            fix='let it not be terminal, and ask for runs.event_times() or reduce("first(...)")',
        )
    wanted = checked_reductions(equations, reduce)
    request = request_of(equations, scheme, **with_stated_times(equations, run))
    means.require(request)
    if request.step is None and request.at is None:
        times = request.begin + np.linspace(0.0, request.duration, ROWS + 1)
        request = replace(request, at=times)
    columns = stated_cases(equations.problem) if cases is None else cases
    asked = CaseRequest(equations, request, columns, start, start_policy, parameters or {}, wanted)
    if save is not None:
        return saved_cases(asked, means, on, save)
    return run_request(asked, means) if on is None else spread(asked, means, on)


@dataclass(frozen=True, eq=False)
class CaseRequest:
    """All that is asked of an ensemble, whoever runs it."""

    equations: Equations
    request: Request
    columns: Columns
    start: StateLike | None
    start_policy: str | None
    parameters: ByName
    reductions: Mapping[str, str]
    first: int = 0  # the number of the first case, where they are part of more


def run_request(asked: CaseRequest, means: Means) -> Ensemble:
    """Run the cases here."""
    equations, request = asked.equations, asked.request
    chosen = cases_of(equations, asked.columns, asked.start, asked.parameters, request.begin)
    policy, projected = chosen_policy(equations, asked.start_policy)
    check_size(request, len(chosen.states) * chosen.states.shape[1])
    kernel = compiled(equations.field, request.scheme)
    observed = kernel.observe_cases(np.array([request.begin]), chosen.states[:, None], chosen.constants)
    deviation = observed[:, 0, deviation_places(equations)]
    if policy == "raise":
        _refuse_deviations(equations, deviation, chosen, request.begin, asked.first)
    used, startable = _started(equations, policy, deviation, projected, chosen, request.begin)
    if request.step is None:
        tolerances = _tolerances(equations, kernel, request, np.nan_to_num(used), chosen.constants)
        request = replace(request, absolute=tolerances)
    rows = run_cases(CaseJobs(equations, request, kernel, policy, chosen, used), means, asked.reductions)
    if rows.outcomes is None:
        cross_cases(equations, kernel, request, used, chosen.constants, rows.times, rows.states, rows.counts)
    return Ensemble.judged(
        equations=equations,
        request=request,
        kernel=kernel,
        policy=policy,
        cases=chosen,
        used=used,
        startable=startable,
        times=rows.times,
        states=rows.states,
        counts=rows.counts,
        gathered=rows.gathered,
        outcomes=rows.outcomes,
    )


def _tolerances(
    equations: Equations, kernel: Kernel, request: Request, states: np.ndarray, constants: np.ndarray
) -> np.ndarray | float:
    """The absolute tolerances of each case, as `simulate` would take them."""
    each = list(zip(states.tolist(), constants.tolist(), strict=True))
    rates = np.array([kernel.rates(request.begin, state, values) for state, values in each])
    inertia = np.array([np.diag(mass_at(equations, request.begin, state, values)) for state, values in each])
    return resolved(equations, request, states, rates, inertia)


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


def _refuse_deviations(equations: Equations, deviation: np.ndarray, cases: Cases, begin: float, first: int) -> None:
    """What the policy "raise" does: name the first case that violates the program."""
    names, off = equations.deviation_names, off_program(equations, deviation, cases.states, begin, cases.constants)
    for number in np.nonzero(off.any(axis=1))[0]:
        violated = {names[k]: float(deviation[number, k]) for k in np.nonzero(off[number])[0]}
        refuse_deviation(violated, where=f"start of case {first + number}")
