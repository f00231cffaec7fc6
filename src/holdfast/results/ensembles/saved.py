"""Ensembles that are written while they are made: every row of every case on disk, the first and last in memory.

    hf.ensemble(equations, "rk4", cases=hf.grid(m=np.linspace(1, 2, 10**6)), every=1, save="runs.zarr.zip")

Cases are run a part at a time, here or on a cluster, and each part is a chunk of the file. What is held at once is one
part, 0.13 GB and a few times that while it is judged, however many cases there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from holdfast.common.files import write_stream
from holdfast.common.frozen import Frozen
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.ensembles.cases import Cases, cases_of
from holdfast.results.ensembles.cluster import spread_parts
from holdfast.results.ensembles.ensemble import Counts, Ensemble
from holdfast.results.ensembles.means import Means
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.job import kept_rows
from holdfast.results.runs.request import Request
from holdfast.results.store.zarr_zip import SUFFIX, ZarrZip

if TYPE_CHECKING:
    from holdfast.results.ensembles.run import CaseRequest

AT_ONCE = 2**24  # doubles of a part: 0.13 GB


def save_place(path: Any) -> Path:
    """Where an ensemble is to be written while it is made; refused before any work where that cannot be done."""
    if not isinstance(path, str | PathLike) or not str(path).endswith(SUFFIX):
        raise BadRequest(
            f"save = {str(path)[:200]!r} is no file that grows case by case", where="save",
            fix=f'end the name in {SUFFIX}, or keep the runs and save them: runs.save("runs.npz")',
        )  # fmt: skip
    target = Path(path)
    if not target.parent.is_dir():
        raise BadRequest(f"there is no folder {str(target.parent)!r}", where="save", fix="make it first")
    return target


def saved_cases(asked: CaseRequest, means: Means, on: Any, path: Any) -> Ensemble:
    """Run all cases, write every row, and give the ensemble with the first and the last row of each case."""
    target, made = save_place(path), list[Ensemble]()
    write_stream(target, lambda file: made.append(_streamed(asked, means, on, file)))
    return made[0]


def _streamed(asked: CaseRequest, means: Means, on: Any, file: IO[bytes]) -> Ensemble:
    equations, request = asked.equations, asked.request
    cases = cases_of(equations, asked.columns, asked.start, asked.parameters, request.begin)
    size = part_size(equations, request)
    parts = _here(asked, means, cases, size) if on is None else spread_parts(asked, means, on, cases, size)
    thinned: dict[int, Ensemble] = {}
    with ExitStack() as stack:
        store: ZarrZip | None = None
        for first, part in parts:
            if Outcome.interrupted in part.outcomes:
                raise KeyboardInterrupt
            store = store or stack.enter_context(_begun(file, part, len(cases.states), size))
            for name in _shown(part):
                store.chunk(name, [first // size, 0], np.array(part[name], float), size)
            thinned[first] = _ends(part)
        assert store is not None
        runs = _together([thinned[first] for first in sorted(thinned)], cases)
        _tell(store, runs)
    return runs


def save_whole(runs: Ensemble, path: Path) -> None:
    """Write an ensemble that is there already, in one part."""

    def put(file: IO[bytes]) -> None:
        with _begun(file, runs, len(runs), len(runs)) as store:
            for name in _shown(runs):
                store.chunk(name, [0, 0], np.array(runs[name], float), len(runs))
            _tell(store, runs)

    write_stream(path, put)


def part_size(equations: Equations, request: Request) -> int:
    """Cases of one part: as many as fit the memory of one."""
    rows = len(request.at) if request.at is not None else request.steps // kept_rows(request) + 1
    width = len(equations.state_names) + len(equations.observables)
    return max(1, AT_ONCE // (rows * width))


def _here(asked: CaseRequest, means: Means, cases: Cases, size: int) -> Iterator[tuple[int, Ensemble]]:
    """The parts, one after the other."""
    from holdfast.results.ensembles.run import run_request

    count, progress = len(cases.states), means.progress
    for first in range(0, count, size):
        some = {name: np.asarray(values)[first : first + size] for name, values in cases.columns.items()}
        yield first, run_request(replace(asked, columns=some, first=first), replace(means, progress=None))
        if progress is not None:
            progress(min(1.0, (first + size) / count))


def _shown(part: Ensemble) -> tuple[str, ...]:
    """The quantities that are written: all columns of a run, and what the problem's `output` asks for."""
    return (*part.names, *(name for name in part.equations.problem.output if name not in part.names))


def _case_names(runs: Ensemble) -> dict[str, str]:
    """What the cases were made of, as it is called beside the quantities: start values apart from states."""
    states = runs.equations.state_names
    return {name: f"start.{name}" if name in states else name for name in runs.cases}


def _begun(file: IO[bytes], part: Ensemble, cases: int, size: int) -> ZarrZip:
    """The file with its arrays announced, as the first part knows them."""
    request = part.request
    about = {
        "holdfast": "ensemble",
        "title": part.equations.problem.title,
        "scheme": request.scheme.name,
        "step": request.step,
        "tolerance": request.tolerance,
        "start_policy": part.policy,
        "coordinates": " ".join([*_case_names(part).values(), "outcome"]),  # as xarray reads it
    }
    store = ZarrZip(file, about)
    rows = len(part.times)
    store.whole("time", np.array(part.times), "time")
    for name in _shown(part):
        store.array(name, (cases, rows), (size, rows), "<f8", ("run", "time"))
    return store


def _tell(store: ZarrZip, runs: Ensemble) -> None:
    """What is known of all cases in the end: what they were made of, how they went, and what was asked of them."""
    for name, key in _case_names(runs).items():
        store.whole(key, np.asarray(runs.cases[name], float), "run")
    store.whole("outcome", np.array([outcome.name for outcome in runs.outcomes]), "run")
    store.whole("steps", runs.counts.steps.astype(np.int64), "run")
    for name, values in runs.gathered.items():
        store.whole(f"reduced.{name}", values, "run")


def _ends(part: Ensemble) -> Ensemble:
    """The same with the first and the last row of each case."""
    request, ends = part.request, part.states[:, [0, -1]].copy()
    begin, end = request.begin, request.begin + request.duration
    if request.step is None:
        ends[:, 0], kept = part.used, replace(request, at=np.array([begin, end]))
    else:
        ends[:, 0], kept = part.used, replace(request, at=None, every=request.steps)
    done = part.counts.status == Status.completed
    ends[:, 1] = np.where(done[:, None], part.counts.final, np.nan)
    ends.flags.writeable = False
    return replace(part, request=kept, all_times=np.array([begin, end]), states=ends, _observed={})


def _together(parts: list[Ensemble], cases: Cases) -> Ensemble:
    first = parts[0]
    states = np.concatenate([part.states for part in parts])
    states.flags.writeable = False
    absolute = first.request.absolute
    if isinstance(absolute, np.ndarray) and absolute.ndim == 2:
        absolute = np.concatenate([np.asarray(part.request.absolute) for part in parts])
    return replace(
        first,
        request=replace(first.request, absolute=absolute),
        made_of=cases,
        used=np.concatenate([part.used for part in parts]),
        states=states,
        counts=Counts.together([part.counts for part in parts]),
        outcomes=tuple(outcome for part in parts for outcome in part.outcomes),
        gathered=Frozen({name: np.concatenate([part.gathered[name] for part in parts]) for name in first.gathered}),
        _observed={},
    )
