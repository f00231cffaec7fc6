"""Runs that are written while they are made: all rows on disk, a part of them in memory.

    hf.simulate(equations, "rk4", step=1e-6, duration=1000.0, every=1, save="run.npz")

writes ``run-1.npz``, ``run-2.npz``, ... , each a whole file as soon as it is there, and a run of its own that begins
with the last row of the one before. The run that is returned keeps every n-th of these rows, at most a budget of them
(`request.row_budget`). What is held in memory at once is that budget, 0.27 GB at most, and one file's rows, which take
0.13 GB and thrice that while they are written: under 1 GB in all, however long the run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.engine.run.fixed import Steps
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.judgement.finding import Judgement
from holdfast.results.runs.job import Job
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.runs.request import Request, RunOptions, row_budget
from holdfast.results.start.start import started
from holdfast.results.trajectory import Trajectory

AT_ONCE = 2**24  # doubles of one file: 0.13 GB
SUFFIXES = (".npz", ".nc", ".csv")


def all_rows(equations: Equations, options: RunOptions) -> RunOptions:
    """The same, with every row where it is not said how many: on disk there is room for them."""
    stated = options.get("every") is not None or equations.problem.run.every is not None
    return options if stated else {**options, "every": 1}


def save_target(path: Any, equations: Equations, request: Request, *, project: bool) -> Path:
    """Where a run is to be written while it is made; refused before any work where that cannot be done."""
    if not isinstance(path, str | PathLike):
        raise BadRequest(f"save = {path!r} is no name of a file", where="save", fix='save="run.npz"')
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise BadRequest(
            f"no form of file is known for {target.name!r}", where="save", fix="end the name in .npz, .nc or .csv"
        )
    if not target.parent.is_dir():
        raise BadRequest(f"there is no folder {str(target.parent)!r}", where="save", fix="make it first")
    unfit = {
        "an adaptive scheme chooses its own steps": request.step is None,
        "times are asked for": request.at is not None,
        "constraints repeat each other": equations.solver.form == "redundant",
        "controls are sampled": equations.problem.program.sampling is not None,
        "states are moved back after each step": project,
    }
    for why, holds in unfit.items():
        if holds:
            raise BadRequest(
                f"only runs of fixed steps are written while they are made, and {why}",
                where="save",
                fix="make the run, and save it: run.save(...)",
            )
    return target


def saved_run(job: Job, call: KernelCall, target: Path) -> Trajectory:
    """The run, all of its rows written to numbered files, some of them kept."""
    request, equations = job.request, job.equations
    assert request.step is not None
    width = len(equations.state_names) + len(equations.observables)
    thin = math.ceil((request.steps // job.every + 1) / row_budget(equations))
    rows = max(1, AT_ONCE // width // thin) * thin
    steps = Steps(request.begin, request.step, request.steps, job.every)
    kept, found, pieces = list[Rows](), list[Judgement](), 0
    for pieces, section in enumerate(_sections(job, call, steps, rows), start=1):
        piece = _piece(job, section, pieces)
        piece.save(target.with_name(f"{target.stem}-{pieces}{target.suffix}"))
        found.append(Judgement(piece.outcome, piece.against))
        kept.append(_thinned(section, thin, last=pieces * rows * job.every >= request.steps))
    whole = replace(job, request=replace(request, every=job.every * thin))
    run = whole.named(_together(job, kept))
    bad = next((each for each in found if not each.outcome.success), None)
    own = run.judged
    first = f"{target.stem}-1{target.suffix}"
    noted = f"All rows are in {first}." if pieces == 1 else f"All rows are in {pieces} files, {first} and so on."
    return replace(run, judged=lambda: own() if bad is None else bad, note=f"{run.note} {noted}".strip())


def _sections(job: Job, call: KernelCall, steps: Steps, rows: int) -> Iterator[Rows]:
    return job.kernel.sections(
        np.array(job.start.state), job.constants, steps, rows,
        directions=call.directions, after=call.after, stop=lambda done: call.told(steps.t0 + done * steps.step),
    )  # fmt: skip


def _piece(job: Job, rows: Rows, number: int) -> Trajectory:
    """A section as a run of its own."""
    if number == 1:
        return job.named(rows)
    begin, names = float(rows.times[0]), job.equations.state_names
    start = started(job.equations, job.kernel, rows.states[0].copy(), job.constants, "keep", begin, names)
    lasts = float(rows.times[-1]) - begin
    request = replace(job.request, begin=begin, duration=lasts or 1.0, steps=rows.steps)
    return replace(job, start=start, request=request).named(rows)


def _thinned(rows: Rows, thin: int, *, last: bool) -> Rows:
    """Every so many rows of a section, from its first on; at its end only where the run ends there."""
    chosen = list(range(0, len(rows.times), thin))
    end = len(rows.times) - 1
    if chosen[-1] != end and (last or not rows.success or rows.event is not None):
        chosen.append(end)
    if not last and rows.success and rows.event is None and chosen[-1] == end:
        chosen.pop()  # the next section begins with it
    return replace(rows, times=rows.times[chosen], states=rows.states[chosen], observed=np.zeros((0, 0)), dense=None)


def _together(job: Job, parts: list[Rows]) -> Rows:
    last = parts[-1]
    times, states = np.concatenate([part.times for part in parts]), np.concatenate([part.states for part in parts])
    constants = list(job.constants)
    totals: dict[str, Any] = {
        name: sum(getattr(part, name) for part in parts) for name in ("steps", "evaluations", "rejected")
    }
    return Rows(
        times=times,
        states=states,
        observed=lambda: job.kernel.observe(times, states, constants),
        pivots=last.pivots.copy(),
        status=last.status,
        event=last.event,
        **totals,
    )
