"""Another form of the equations, run: the same columns as Lagrange's form has, with its own variables beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.rows import Rows
from holdfast.equations.forms.canonical import Canonical
from holdfast.equations.quasi.form import QuasiForm
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.results.runs.accuracy.state_error import finer
from holdfast.results.runs.event import EventWatch
from holdfast.results.runs.job import Job
from holdfast.results.runs.kernel_call import KernelCall, Told
from holdfast.results.runs.request import Request
from holdfast.results.start.start import consistent_start
from holdfast.results.trajectory import Trajectory

Form = Canonical | QuasiForm
SAME = 1e-6  # of the rates, and of 1: what a form may lose of them at the start


def form_motion(
    form: Form,
    request: Request,
    start: Mapping[Any, Any] | Sequence[float] | None,
    policy: str | None,
    parameters: Mapping[Any, Any],
    told: Told,
) -> Trajectory:
    """The motion in (q, p, s) or (q, u, s). It starts from coordinates and rates, as every run does, or from u."""
    equations, own = form.equations, own_names(form)
    constants = parameter_vector(equations, parameters)
    if isinstance(form, QuasiForm):
        start = form.with_rates(start, request.begin, constants)
    begun = consistent_start(equations, start, policy, parameters, request.begin)
    kernel = compiled(form.field, request.scheme)
    state = form.state_of(begun.state, request.begin, constants)
    _require_same_rates(form, kernel, begun.state, state, request.begin, constants)
    job = Job(equations, request, kernel, begun, constants, EventWatch({}, {}, {}))
    rows = KernelCall(request, job.every, constants, [], told=told).run(kernel, state)
    shown = job.picked(rows)
    n = len(equations.coordinates)
    variables = shown.states[:, n : n + len(own)]
    plain = replace(request, at=None, every=1 if request.step is None else request.every)
    found = replace(job, request=plain).named(_in_rates(n, len(own), shown))
    columns = {**found.columns, **dict(zip(own, variables.T, strict=True))}

    def again(times: int) -> Trajectory | None:
        asked = finer(request, float(shown.times[-1]), shown.steps, times)
        if asked is None:
            return None
        kept = {"at": shown.times} if asked.step is None else {"every": 2**times * job.every}
        return form_motion(form, replace(asked, **kept), start, policy, parameters, lambda _: False)

    return replace(found, columns=Frozen(columns), interpolant=None, finer=again)


def _require_same_rates(
    form: Form, kernel: Kernel, start: Sequence[float], state: Any, begin: float, constants: Sequence[float]
) -> None:
    """Momenta may belong to several rates: a form that gives others back than those of the start is not run."""
    if not isinstance(form, Canonical):
        return  # velocities are rates; where a form attracts positions it may change them
    n = len(form.equations.coordinates)
    wanted = np.array(start[n : 2 * n])
    found = kernel.rates(begin, state, constants)[:n]
    off, size = (float(np.abs(part).max(initial=0.0)) for part in (found - wanted, wanted))
    if np.isfinite(found).all() and off > SAME * (1 + size):
        raise BadRequest(
            "the momenta of this start belong to other rates as well, and the form gives those",
            where="start",
            fix="derive the form from a problem with this start, or run its equations",
        )


def own_names(form: Form) -> tuple[str, ...]:
    """The variables that a form has in the place of rates."""
    return form.momentum_names if isinstance(form, Canonical) else form.velocity_names


def _in_rates(n: int, own: int, rows: Rows) -> Rows:
    """The rows with rates in the place of a form's own variables, as Lagrange's form names them."""
    states = np.hstack([rows.states[:, :n], rows.observables[:, :n], rows.states[:, n + own :]])
    return replace(rows, states=states, observed=rows.observables[:, n:].copy(), dense=None)
