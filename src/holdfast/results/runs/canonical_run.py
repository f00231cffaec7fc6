"""The canonical form, run: the same columns as Lagrange's form has, with the momenta beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.engine.kernel import compiled
from holdfast.engine.run.rows import Rows
from holdfast.equations.forms.canonical import Canonical
from holdfast.equations.values import parameter_vector
from holdfast.results.runs.event import EventWatch
from holdfast.results.runs.job import Job
from holdfast.results.runs.kernel_call import KernelCall, Told
from holdfast.results.runs.request import Request
from holdfast.results.start.start import consistent_start
from holdfast.results.trajectory import Trajectory


def canonical_motion(
    canonical: Canonical,
    request: Request,
    start: Mapping[Any, Any] | Sequence[float] | None,
    policy: str | None,
    parameters: Mapping[Any, Any],
    told: Told,
) -> Trajectory:
    """The motion in (q, p, s). It starts from coordinates and rates, as every run does."""
    equations = canonical.equations
    begun = consistent_start(equations, start, policy, parameters, request.begin)
    constants = parameter_vector(equations, parameters)
    kernel = compiled(canonical.field, request.scheme)
    state = canonical.state_of(begun.state, request.begin, constants)
    job = Job(equations, request, kernel, begun, constants, EventWatch({}, {}, {}))
    rows = KernelCall(request, job.every, constants, [], told=told).run(kernel, state)
    shown = job.picked(rows)
    momenta = shown.states[:, len(canonical.p) : 2 * len(canonical.p)]
    plain = replace(request, at=None, every=1 if request.step is None else request.every)
    found = replace(job, request=plain).named(_in_rates(canonical, shown))
    columns = {**found.columns, **dict(zip(canonical.momentum_names, momenta.T, strict=True))}
    return replace(found, columns=Frozen(columns), interpolant=None)


def _in_rates(canonical: Canonical, rows: Rows) -> Rows:
    """The rows with rates in the place of momenta, as Lagrange's form names them."""
    n = len(canonical.p)
    states = np.hstack([rows.states[:, :n], rows.observables[:, :n], rows.states[:, 2 * n :]])
    return replace(rows, states=states, observables=rows.observables[:, n:].copy(), dense=None)
