"""Parameters, gains and starts that fit measured data best: least squares with the Jacobian of the run itself.

    min Σ ((data − run(p)) / σ)²        by SciPy's trust-region method; ∂run/∂p from `sensitivity`

With σ given, the standard errors are those of (JᵀJ)⁻¹; without, the residuals tell it (`least_squares`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.equations.equations import Equations
from holdfast.equations.values import state_vector
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, Key, StateLike
from holdfast.problem.vocabulary import by_name
from holdfast.results.fitting.fitted import Fit
from holdfast.results.fitting.least_squares import LeastSquares
from holdfast.results.fitting.measured import MeasuredData, measured
from holdfast.results.fitting.residuals import Prediction, check_columns, whole_duration
from holdfast.results.runs.request import Request, StepOptions, request_of
from holdfast.results.runs.simulate import under_law
from holdfast.results.sensitivity.directions import Directions, directions_of, spelling
from holdfast.results.sensitivity.run import DifferentiatedRun
from holdfast.schemes.kinds.scheme import Scheme

Array = np.ndarray
USUAL = {"scheme": "dop853", "tolerance": 1e-9}  # where neither the problem nor the caller states a run


@with_options(StepOptions)
def fit(
    equations: Equations,
    data: Any,
    parameters: Mapping[Key, float] | Iterable[Key] | Key,
    scheme: Scheme | str | None = None,
    *,
    columns: Iterable[Key] | None = None,
    sigma: Any = None,
    bounds: Mapping[Key, tuple[float | None, float | None]] | None = None,
    fixed: ByName | None = None,
    start: StateLike | None = None,
    start_policy: str | None = None,
    law: Law | None = None,
    attempts: int = 200,
    **run: Unpack[StepOptions],
) -> Fit:
    """The values of some parameters, gains or start values for which a run fits the data best.

    `data` has times (``t`` or ``time``) and columns named by quantities of the run: a mapping, a data frame or a CSV
    file; `columns` picks some. `parameters` names what is sought, with first values in a mapping (``{"m": 1.2}``), else
    from the problem; ``"theta(0)"`` is a start value. `sigma` is the standard deviation of the noise, for all or by
    column; without it the residuals tell it. `bounds` are ``{"m": (0, None)}``, `fixed` other values that differ from
    the problem's. A search that found no minimum within `attempts` runs is told by `success` and the summary.
    """
    equations = under_law(equations, law, verb="fit")
    if isinstance(attempts, bool) or not isinstance(attempts, int) or attempts < 1:
        raise BadRequest(f"attempts = {attempts!r}", where="fit(attempts=...)", fix="a whole number, at least 1")
    given = measured(data, columns, sigma)
    columns_ = check_columns(equations, given)
    directions = directions_of(equations, _asked(parameters), where="fit(parameters=...)")
    request = _request(equations, scheme, given, run)
    job = DifferentiatedRun(equations, request, directions, columns_, _mapping(equations, start), start_policy)
    others = by_name(fixed or {}, where="fixed")
    for name in set(others) & set(directions.names):
        raise BadRequest(f"{name!r} is fixed and sought", where="fit(fixed=...)", fix="keep one of the two")
    prediction = Prediction(job, given, others)
    first = _first(equations, directions, parameters, job, others)
    limits = _bounds(equations, directions, bounds, first)
    prediction(first)  # an error here is one of the first values
    prediction.refuse_jumps(first)
    found = LeastSquares(prediction, given, limits, attempts).fit(first)
    prediction.refuse_jumps(found.vector)  # the Jacobian there, and so the standard errors, know of none
    return found


def _asked(parameters: Any) -> list[Any]:
    listed = [parameters] if isinstance(parameters, str) or not isinstance(parameters, Iterable) else list(parameters)
    if not listed:
        raise BadRequest("nothing is named to be fitted", where="fit(parameters=...)", fix='e.g. ["m", "theta(0)"]')
    return listed


def _request(equations: Equations, scheme: Any, data: MeasuredData, asked: Any) -> Request:
    """The run that reaches the last of the data."""
    run, options = equations.problem.run, {name: value for name, value in asked.items() if value is not None}
    if options.pop("duration", None) is not None:
        raise BadRequest("the data say how long the run lasts", where="duration", fix="leave out later data")
    last = float(data.times[-1])
    if data.times[0] < run.begin:
        raise BadRequest(
            f"the data begin at {data.times[0]:g}, before the run does at {run.begin:g}",
            where="data.t",
            fix="leave those rows out, or let the run begin earlier: Run(begin=...)",
        )
    if last <= run.begin:
        raise BadRequest("all data are those of the start", where="data.t", fix="give later ones")
    if not options and run.step is None and run.tolerance is None:
        scheme, options = scheme or USUAL["scheme"], {"tolerance": USUAL["tolerance"]}
    step = options.get("step") or (run.step if "tolerance" not in options else None)
    length = last - run.begin if step is None else step
    request = request_of(equations, scheme, **options, duration=float(length))
    duration = whole_duration(request, last)
    return request_of(equations, scheme, **options, duration=duration)


def _mapping(equations: Equations, start: Any) -> Any:
    """A start by name, so that start values can be put in."""
    if start is None or isinstance(start, Mapping):
        return start
    return dict(zip(equations.state_names, state_vector(equations, start, {}), strict=True))


def _first(
    equations: Equations, directions: Directions, parameters: Any, job: DifferentiatedRun, fixed: Mapping[str, Any]
) -> Array:
    """First values: given, or those of the problem."""
    stated = {spelling(key): value for key, value in parameters.items()} if isinstance(parameters, Mapping) else {}
    stated = {name: value for name, value in stated.items() if value is not None}
    named = {name: stated.get(name, stated.get(name.removesuffix("(0)"))) for name in directions.names}
    for name, value in named.items():
        if value is not None and not (isinstance(value, (int, float, np.number)) and np.isfinite(value)):
            raise BadRequest(f"the first value of {name!r} is {value!r}", where="fit(parameters=...)", fix="a number")
    known = {name: float(value) for name, value in named.items() if value is not None}
    own = {name: value for name, value in known.items() if not name.endswith("(0)")}
    lacking = [name for name in directions.names if name not in known and not name.endswith("(0)")]
    open_ = [name for name in lacking if name in equations.letters and name not in fixed]
    if open_:
        raise BadRequest(f"{open_[0]!r} has no first value", where="fit", fix=f'parameters={{"{open_[0]}": 1.0}}')
    begun, _, constants = job.start({**fixed, **own}, {})
    found = []
    for name, constant, state in zip(directions.names, directions.constants, directions.starts, strict=True):
        usual = constants[constant] if constant is not None else begun.state[state or 0]
        found.append(known.get(name, usual))
    return np.array(found)


def _bounds(equations: Equations, directions: Directions, given: Any, first: Array) -> tuple[Array, Array]:
    """Bounds by name; a letter that was said to be positive stays so."""
    low, high = np.full(len(first), -np.inf), np.full(len(first), np.inf)
    for letter in equations.problem.system.letters:
        if letter.name in directions.names and letter.is_positive:
            low[directions.names.index(letter.name)] = 0.0
    for key, pair in (given or {}).items():
        place = directions.place(key)
        try:
            least, most = (side if side is None else float(side) for side in pair)
        except (TypeError, ValueError):
            what, fix = f"the bounds of {key!r} are {pair!r}", "(low, high), None for none"
            raise BadRequest(what, where="bounds", fix=fix) from None
        low[place] = -np.inf if least is None else least
        high[place] = np.inf if most is None else most
        if not low[place] < high[place]:
            raise BadRequest(f"the bounds of {key!r} leave nothing between", where="bounds", fix="(low, high)")
    outside = next((k for k, x in enumerate(first) if not low[k] <= x <= high[k]), None)
    if outside is not None:
        name = directions.names[outside]
        raise BadRequest(
            f"the first value of {name!r}, {first[outside]:g}, is out of its bounds",
            where="bounds",
            fix=f'give another: parameters={{"{name}": ...}}',
        )
    return low, high
