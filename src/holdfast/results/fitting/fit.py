"""Parameters, gains and starts that fit measured data best: least squares with the Jacobian of the run itself.

    min Σ ((data − run(p)) / σ)²        by SciPy's trust-region method; ∂run/∂p from `sensitivity`

With σ given, the standard errors are those of (JᵀJ)⁻¹. Without, each column has a noise of its own size that is not
known: it is told by the residuals, and the fit repeated with it until it stays (feasible generalised least squares).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, Key, StateLike
from holdfast.problem.vocabulary import by_name
from holdfast.results.fitting.fitted import Fit
from holdfast.results.fitting.identifiability import determined, weak
from holdfast.results.fitting.measured import MeasuredData, measured
from holdfast.results.fitting.residuals import Prediction, check_columns, whole_duration
from holdfast.results.runs.request import Request, StepOptions, request_of
from holdfast.results.runs.simulate import under_law
from holdfast.results.sensitivity.directions import Directions, directions_of, spelling
from holdfast.results.sensitivity.run import DifferentiatedRun
from holdfast.schemes.kinds.scheme import Scheme

Array = np.ndarray
ROUNDS = 12  # of guessing the noise from the residuals
SETTLED = 1e-3  # relative: a noise that changes by less has been found
LEAST_NOISE = 1e-10  # of the size of a column: noise below this is rounding of the data
TOLERANCE = 1e-10  # of sum, step and gradient: what the search ends by
FARTHEST = 1e100  # times the noise: a run that is off by more is none; its square is still a number
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
    return LeastSquares(prediction, given, limits, attempts).fit(first)


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
    return dict(zip(equations.state_names, start, strict=True))


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
            least, most = pair
        except (TypeError, ValueError):
            raise BadRequest(
                f"the bounds of {key!r} are {pair!r}", where="bounds", fix="(low, high), None for none"
            ) from None
        low[place] = -np.inf if least is None else float(least)
        high[place] = np.inf if most is None else float(most)
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


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The least squares, and the noise of columns where it is not known."""

    prediction: Prediction
    data: MeasuredData
    bounds: tuple[Array, Array]
    attempts: int

    def fit(self, first: Array) -> Fit:
        names, data = self.prediction.names, self.data
        present = {name: np.isfinite(values) for name, values in data.columns.items()}
        count = sum(int(rows.sum()) for rows in present.values())
        noise = {name: self._first_noise(name) for name in data.columns}
        values, success, message = first, False, ""
        for _ in range(1 if data.known else ROUNDS):
            values, success, message = self._minimum(values, noise)
            found = {name: self._noise(name, values, count) for name in data.columns}
            settled = all(abs(found[name] - noise[name]) <= SETTLED * noise[name] for name in noise) if noise else True
            if data.known or not success or (settled and len(noise) > 1):
                break
            noise = found
            if len(noise) == 1:
                break  # one column: its weight changes nothing but the size of the sum
        if data.known:
            noise = {name: float(np.sqrt(np.mean(data.sigma[name] ** 2))) for name in data.columns}
        left, jacobian = self._weighted(values, None if data.known else noise)
        extent = float(np.linalg.norm(left + self._seen(None if data.known else noise)))
        told = determined(jacobian, names, values, extent)
        errors = np.sqrt(np.diag(told.covariance))
        warnings = [*told.open, *weak(jacobian, names, values, errors), *self._at_bounds(values)]
        if count <= len(names):
            warnings.append(f"{count} values for {len(names)} unknowns leave nothing to tell the noise by")
        if not success:
            warnings.insert(0, f"the search did not converge: {message}")
        rows, _ = self.prediction(values)
        predicted = {name: rows[:, k] for k, name in enumerate(data.columns)}
        return Fit(
            self.prediction.job.equations, names, values, told.covariance, data, predicted, noise, data.known, success,
            message, tuple(warnings), told.singular_values, self.prediction.runs, self.prediction.given(values),
        )  # fmt: skip

    def _first_noise(self, name: str) -> float:
        """A weight to begin with: the spread of the column, or its size where it has none."""
        values = self.data.columns[name][np.isfinite(self.data.columns[name])]
        spread = float(np.std(values)) if len(values) else 0.0
        return spread or float(np.abs(values).max(initial=0.0)) or 1.0

    def _noise(self, name: str, values: Array, count: int) -> float:
        """The noise of a column by its residuals, each with its share of the freedom that is left."""
        rows, _ = self.prediction(values)
        left = self.data.columns[name] - rows[:, list(self.data.columns).index(name)]
        left = left[np.isfinite(left)]
        share = max(1.0 - len(values) / count, 1.0 / count)
        return max(
            float(np.sqrt(np.mean(left**2) / share)) if len(left) else 0.0, LEAST_NOISE * self._first_noise(name)
        )

    def _weighted(self, values: Array, noise: Mapping[str, float] | None) -> tuple[Array, Array]:
        """Residuals (run less data) and their Jacobian, over the noise; missing values left out."""
        rows, slopes = self.prediction(values)
        left, changes = [], []
        for k, (name, seen) in enumerate(self.data.columns.items()):
            there = np.isfinite(seen)
            weight = 1 / (self.data.sigma[name][there] if noise is None else np.full(int(there.sum()), noise[name]))
            left.append((rows[there, k] - seen[there]) * weight)
            changes.append(slopes[there, k] * weight[:, None])
        return np.concatenate(left), np.concatenate(changes)

    def _seen(self, noise: Mapping[str, float] | None) -> Array:
        """The data over the noise, as the residuals are."""
        parts = []
        for name, seen in self.data.columns.items():
            there = np.isfinite(seen)
            parts.append(seen[there] / (self.data.sigma[name][there] if noise is None else noise[name]))
        return np.concatenate(parts)

    def _minimum(self, first: Array, noise: Mapping[str, float]) -> tuple[Array, bool, str]:
        from scipy.optimize import least_squares

        weights = None if self.data.known else noise
        count = int(sum(np.isfinite(x).sum() for x in self.data.columns.values()))

        def residuals(values: Array) -> Array:
            try:
                found = self._weighted(values, weights)[0]
            except HoldfastError:
                return np.full(count, np.nan)  # no such run: the search steps back
            return found if np.abs(found).max() < FARTHEST else np.full(count, np.nan)

        scale = self._scale(first, weights)
        low, high = self.bounds
        inside = np.clip(first, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
        found = least_squares(
            lambda x: residuals(x * scale),
            inside / scale,
            lambda x: self._weighted(x * scale, weights)[1] * scale,
            bounds=(low / scale, high / scale),
            ftol=TOLERANCE,
            xtol=TOLERANCE,
            gtol=TOLERANCE,
            max_nfev=self.attempts,
        )
        return found.x * scale, bool(found.success), str(found.message)

    def _scale(self, first: Array, weights: Mapping[str, float] | None) -> Array:
        """The size of each unknown: its first value, or, where that is 0, what explains all that is left over."""
        left, jacobian = self._weighted(first, weights)
        lengths = np.linalg.norm(jacobian, axis=0)
        reach = np.linalg.norm(left) / np.where(lengths > 0, lengths, np.inf)
        return np.where(first != 0, np.abs(first), np.where(reach > 0, reach, 1.0))

    def _at_bounds(self, values: Array) -> list[str]:
        found = []
        for name, value, low, high in zip(self.prediction.names, values, *self.bounds, strict=True):
            for limit in (low, high):
                if np.isfinite(limit) and abs(value - limit) <= 1e-6 * max(abs(limit), abs(value)):
                    found.append(f"{name} is at its bound {limit:g}, where standard errors mean little")
        return found
