"""Cases divided among the workers of a cluster (`dask.distributed`), and put together again.

What travels is text and numbers: the problem, from which each worker derives and compiles once, and the columns of its
cases; no code. A worker judges its own cases and gathers their reductions, so that nothing is done twice. Parts are
small beside the work of a worker, and those of one that is lost are run again by others. Since a case does not depend
on its neighbours, neither does it on how the cases were divided.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.common.cluster import PARTS_EACH, cluster, gathered
from holdfast.common.frozen import Frozen
from holdfast.engine.kernel import compiled
from holdfast.equations.equations import Equations
from holdfast.results.ensembles.cases import Cases, cases_of
from holdfast.results.ensembles.ensemble import Counts, Ensemble
from holdfast.results.ensembles.means import Means
from holdfast.results.runs.job import check_size

if TYPE_CHECKING:
    from holdfast.results.ensembles.run import CaseRequest

FEWEST = 64  # cases of a part, below which telling costs more than running


def spread(asked: CaseRequest, means: Means, on: Any) -> Ensemble:
    """Run the cases on a cluster: a client, an address, or "local" for a process to each core."""
    cases = cases_of(asked.equations, asked.columns, asked.start, asked.parameters, asked.request.begin)
    check_size(asked.request, len(cases.states) * cases.states.shape[1])
    parts = [part for _, part in sorted(_parts(asked, means, on, cases, None), key=lambda found: found[0])]
    return _ensemble(asked, cases, parts)


def spread_parts(asked: CaseRequest, means: Means, on: Any, cases: Cases, size: int) -> Iterator[tuple[int, Ensemble]]:
    """The same in parts of so many cases, as they come: the number of the first case, and the part."""
    for first, part in _parts(asked, means, on, cases, size):
        yield first, _ensemble(asked, cases.some(slice(first, first + size)), [part])


def _parts(
    asked: CaseRequest, means: Means, on: Any, cases: Cases, size: int | None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """What the workers make of parts of the cases, each with the number of its first case; an error of one ends all."""
    columns = {name: np.asarray(values) for name, values in cases.columns.items()}
    packed = pickle.dumps(replace(asked, columns={}))
    with cluster(on, means.threads) as client:
        count = len(cases.states)
        bounds = _bounds(count, sum(client.nthreads().values())) if size is None else _cut(count, size)
        alone = replace(means, progress=None, threads=means.threads or 1)
        futures = [
            client.submit(
                _part,
                packed,
                alone,
                {name: values[a:b] for name, values in columns.items()},
                a,
                pure=False,
                priority=-k,
            )
            for k, (a, b) in enumerate(bounds)
        ]
        starts = {future.key: a for future, (a, _) in zip(futures, bounds, strict=True)}
        for key, part in gathered(client, futures, means.progress):
            yield starts[key], part


def _ensemble(asked: CaseRequest, cases: Cases, parts: Sequence[Mapping[str, Any]]) -> Ensemble:
    """Parts that follow each other as one ensemble."""
    equations = asked.equations
    return Ensemble(
        equations=equations,
        request=replace(asked.request, absolute=_together(parts, "absolute")),
        kernel=compiled(equations.field, asked.request.scheme),
        policy=parts[0]["policy"],
        made_of=cases,
        used=np.concatenate([part["states"][:, 0] if part["used"] is None else part["used"] for part in parts]),
        all_times=parts[0]["times"],
        states=_frozen(np.concatenate([part["states"] for part in parts])),
        counts=Counts.together([part["counts"] for part in parts]),
        outcomes=tuple(outcome for part in parts for outcome in part["outcomes"]),
        gathered=Frozen(
            {name: np.concatenate([part["gathered"][name] for part in parts]) for name in asked.reductions}
        ),
        own_steps=parts[0]["own_steps"],
    )


def _frozen(states: np.ndarray) -> np.ndarray:
    states.flags.writeable = False
    return states


def _together(parts: Sequence[Mapping[str, Any]], name: str) -> Any:
    """The tolerances of all cases: one number for all, or those of each."""
    first = parts[0][name]
    own = isinstance(first, np.ndarray) and first.ndim == 2
    return np.concatenate([part[name] for part in parts]) if own else first


def _bounds(cases: int, workers: int) -> list[tuple[int, int]]:
    """Where parts begin and end: as many for each worker, and none too small."""
    size = max(FEWEST, -(-cases // (PARTS_EACH * max(1, workers))))
    return _cut(cases, size)


def _cut(cases: int, size: int) -> list[tuple[int, int]]:
    return [(first, min(first + size, cases)) for first in range(0, cases, size)]


@lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> CaseRequest:
    """What is asked, derived once by each worker."""
    asked: CaseRequest = pickle.loads(packed)
    assert isinstance(asked.equations, Equations)
    return asked


def _part(packed: bytes, means: Means, columns: Mapping[str, np.ndarray], first: int) -> dict[str, Any]:
    """Run some cases, on a worker."""
    from holdfast.results.ensembles.run import run_request

    asked = replace(_unpacked(packed), columns=columns, first=first)
    runs = run_request(asked, means)
    begin = runs.states[:, 0] if len(runs.all_times) else None
    return {
        "policy": runs.policy,
        "absolute": runs.request.absolute,
        "used": None if begin is not None and np.array_equal(begin, runs.used) else runs.used,  # mostly the first row
        "times": runs.all_times,
        "states": runs.states,
        "counts": runs.counts,
        "outcomes": runs.outcomes,
        "gathered": dict(runs.gathered),
        "own_steps": runs.own_steps,
    }
