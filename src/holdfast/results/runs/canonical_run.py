"""Run the canonical form, and give back the same columns as Lagrange's form, with the momenta beside them."""

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
from holdfast.errors import BadRequest
from holdfast.results.runs.event import watch_of
from holdfast.results.runs.job import Job
from holdfast.results.runs.request import request_of
from holdfast.results.start.start import consistent_start
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme


def simulate_canonical(
    canonical: Canonical,
    scheme: Scheme | str | None = None,
    *,
    step: float | None = None,
    tolerance: float | None = None,
    duration: float | None = None,
    at: Sequence[float] | None = None,
    start: Mapping[Any, Any] | Sequence[float] | None = None,
    start_policy: str | None = None,
    parameters: Mapping[Any, Any] | None = None,
    every: int | None = None,
) -> Trajectory:
    """The motion in (q, p, s). It starts from coordinates and rates, as every run does, and shows both rates and
    momenta (``p_x``).
    """
    if not isinstance(canonical, Canonical):
        raise BadRequest(f"a canonical form is needed, not {type(canonical).__name__}", fix="hf.canonical(equations)")
    equations = canonical.equations
    request = request_of(equations, scheme, step=step, tolerance=tolerance, duration=duration, every=every, at=at)
    begun = consistent_start(equations, start, start_policy, parameters or {}, request.begin)
    constants = parameter_vector(equations, parameters or {})
    kernel = compiled(canonical.field, request.scheme)
    state = canonical.state_of(begun.state, request.begin, constants)
    job = Job(equations, request, kernel, begun, constants, watch_of(equations, None))
    if request.step is None:
        assert request.tolerance is not None
        rows = kernel.run_adaptive(
            state,
            constants,
            t0=request.begin,
            duration=request.duration,
            relative=request.tolerance,
            absolute=request.tolerance,
        )
    else:
        rows = kernel.run(state, constants, t0=request.begin, step=request.step, steps=request.steps, every=job.every)
    shown = job._picked(rows)
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
