"""A run carried on from its last row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.runs.joined import JoinedRun, joined
from holdfast.results.runs.phased import handed_over
from holdfast.results.runs.request import fitted_step
from holdfast.schemes.by_name import scheme_named

if TYPE_CHECKING:
    from holdfast.results.trajectory import Trajectory
    from holdfast.schemes.kinds.scheme import Scheme


def continued(run: Trajectory, duration: float | None, options: dict[str, Any]) -> JoinedRun:
    """The run and what follows it, as one."""
    from holdfast.results.runs.simulate import simulate

    if isinstance(run, JoinedRun) and run.phases and "equations" not in options:
        raise BadRequest(
            "a run in phases is not carried on",
            where="continued",
            fix="ask for a longer duration, or give equations= to go on without phases",
        )
    last = run.parts[-1] if isinstance(run, JoinedRun) else run
    own = last._own_equations
    equations = options.pop("equations", None) or own
    if not isinstance(equations, Equations):
        raise BadRequest("this run has no equations to go on with", where="continued", fix="give equations=")
    if not last.success:
        raise BadRequest(
            f"the run cannot be carried on: {last.outcome.value}", where="continued", fix="look at what ended it first"
        )
    for name in ("start", "start_policy", "begin"):
        if name in options:
            raise BadRequest(f"a continued run takes no {name}", where=f"continued({name}=...)", fix="use simulate")
    if equations.problem.program.sampling is not None:
        raise BadRequest(
            "a run under sampled controls is not carried on: what was measured before it would be forgotten",
            where="continued",
            fix="ask for a longer duration",
        )
    time = float(last.times[-1])
    named = {name: value for name, value in last.parameters.items() if name in equations.parameter_names}
    parameters = named | dict(options.pop("parameters", None) or {})
    impacts = run.impacts if isinstance(run, JoinedRun) else ()
    if equations is own:
        start, impact = [last.columns[name][-1] for name in equations.state_names], None
    else:
        start, impact = handed_over(last, equations, "continued", time, parameters)
    lasts = time - float(run.times[0]) if duration is None else duration
    asked: dict[str, Any] = {}
    if options.keys().isdisjoint(("scheme", "step", "tolerance")):
        own_steps = {"tolerance": last.tolerance} if last.step is None else {"step": fitted_step(lasts, last.step)}
        asked = {"scheme": _own_scheme(last), **own_steps}
    asked |= {"start": start, "start_policy": "keep", "begin": time, "duration": lasts, **options}
    part = simulate(equations, parameters=parameters, **asked)
    return joined([run, part], impacts=(*impacts, *((impact,) if impact is not None else ())))


def _own_scheme(run: Trajectory) -> Scheme:
    """The scheme that made a run, found by its name; not another one that is called so."""
    scheme = scheme_named(run.scheme)
    if run.scheme_fingerprint and run.scheme_fingerprint != scheme.fingerprint:
        raise BadRequest(
            f"the run was made by another scheme that is called {run.scheme}",
            where="continued",
            fix="give scheme= and its step= or tolerance=",
        )
    return scheme
