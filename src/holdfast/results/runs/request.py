"""What a run is asked to do, completed from the problem and judged before any work."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.table import BEYOND
from holdfast.problem.data import Data
from holdfast.problem.laws.linear import Tuned
from holdfast.problem.run import instead_of
from holdfast.problem.types import Key
from holdfast.problem.vocabulary import by_name
from holdfast.results.start.turned_state import TurnedStates
from holdfast.schemes.by_name import scheme_named, with_own_steps
from holdfast.schemes.kinds.scheme import Scheme

LEAST_STEPS = 100  # of an adaptive run, unless a longest step is stated: a push that lasts a hundredth of it is met
RESOLVED = 16  # units in the last place of the time that a step has to span
RESIDUE = 1e-10  # of what the others amount to: a size below this is one of rounding,
SMALL_PART = 1e-3  # and this part of theirs takes its place
SMALLEST_TOLERANCE = 1e-15  # below, double precision cannot tell
MOST_ROWS = 100_000  # of a run of fixed steps that does not say how many: more than any screen shows, 0.8 MB a column
BUDGET = 2**25  # doubles of such a run, 0.27 GB: systems of more than 335 columns keep fewer rows
LONGEST = 1e150  # a time whose square is still a double
MOST_STEPS = 10**15  # of a run: a century of computing, and still exact as a double


class StepOptions(TypedDict, total=False):
    """How long a run lasts and by which steps; what is left out is taken from the problem's own run."""

    step: float | None
    tolerance: float | None
    duration: float | None


class RunOptions(StepOptions, total=False):
    """All that a run may be asked: its steps, which rows are kept, and how an adaptive scheme is held back."""

    begin: float | None
    at: Sequence[float] | None
    every: int | None
    longest_step: float | None
    absolute: float | Mapping[Key, float] | None


@dataclass(frozen=True, eq=False)
class Request:
    """A run in numbers: scheme, step and step count or tolerance, begin and duration, and the times wanted."""

    scheme: Scheme
    begin: float
    duration: float
    step: float | None
    steps: int
    tolerance: float | None
    every: int
    at: np.ndarray | None
    longest: float = math.inf  # the longest step of an adaptive scheme
    absolute: float | np.ndarray | Mapping[str, float] | None = None  # tolerances; for each state once it is resolved

    @property
    def absolutes(self) -> float | np.ndarray:
        """The absolute tolerances as a kernel takes them."""
        if isinstance(self.absolute, (float, np.ndarray)):
            return self.absolute
        assert self.tolerance is not None
        return self.tolerance


def request_of(equations: Equations, scheme: Scheme | str | None = None, **options: Unpack[RunOptions]) -> Request:
    """Complete a request from the problem's own [run] and check that it can be met."""
    run = equations.problem.run
    step, tolerance, duration = options.get("step"), options.get("tolerance"), options.get("duration")
    every, at = options.get("every"), options.get("at")
    longest_step, absolute = options.get("longest_step"), options.get("absolute")
    if isinstance(equations.problem.program.law, Tuned):
        raise BadRequest(
            "the gains of this law are still to be chosen",
            where="program.law",
            fix="`holdfast run` and hf.tuned(problem) choose them; `holdfast tune FILE --write NEW.toml` writes them",
        )
    chosen = scheme_named(run.scheme if scheme is None else scheme)
    if step is None and (tolerance is not None or (run.step is None and run.tolerance is not None)):
        chosen = with_own_steps(chosen)
    begin = run.begin if options.get("begin") is None else _time(options["begin"])
    wanted = None if at is None else _times(at, begin)
    length = duration if duration is not None else _stated_duration(run.duration, wanted, begin)
    _positive(length, "duration")
    _refuse_beyond_data(equations, begin, float(length))
    kept = run.every if every is None else every
    if kept is not None and not (_is_whole(kept) and 1 <= kept <= MOST_STEPS):
        fix = f"keep every n-th row: a whole number, at least 1, at most {MOST_STEPS:.0e}"
        raise BadRequest(f"every = {kept!r}", where="every", fix=fix)
    if step is not None and tolerance is not None:
        raise _both_given(chosen)
    if chosen.adaptive:
        limit = _checked_tolerance(tolerance if tolerance is not None else run.tolerance, step, chosen.name)
        _refuse_standing_time(begin, float(length), float(length) / LEAST_STEPS)
        longest = longest_step if longest_step is not None else run.longest_step
        if longest is not None:
            _positive(longest, "longest_step")
        return Request(
            chosen, begin, float(length), None, 0, limit, int(kept or 1), wanted,
            float(longest) if longest is not None else float(length) / LEAST_STEPS, _tolerances(equations, absolute),
        )  # fmt: skip
    for name, value in (("longest_step", longest_step), ("absolute", absolute)):
        if value is not None:
            raise BadRequest(f"{chosen.name} has a fixed step and takes no {name}", where=name, fix="give step= alone")
    size = step if step is not None else run.step
    if tolerance is not None:
        raise BadRequest(f"{chosen.name} has a fixed step and takes no tolerance", where="tolerance", fix="give step=")
    if size is None:
        raise BadRequest(f"{chosen.name} needs a step", where="step", fix="give step=")
    _positive(size, "step")
    _refuse_standing_time(begin, float(length), float(size))
    steps = whole_steps(length, size)
    every = int(kept) if kept is not None else math.ceil(steps / row_budget(equations))
    return Request(chosen, begin, float(length), float(size), steps, None, every, wanted)


def row_budget(equations: Equations) -> int:
    """The rows that a run of fixed steps keeps unless it says how many."""
    return max(2, min(MOST_ROWS, BUDGET // equations.row_width))


def _time(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, np.number)) or not _is_finite(given):
        raise BadRequest(f"begin = {str(given)[:40]} is not a time", where="begin", fix="give a finite number")
    return float(given) + 0.0  # -0 is 0


def _refuse_beyond_data(equations: Equations, begin: float, duration: float) -> None:
    """A function of time that is given by data has no values outside them."""
    for name, function in equations.problem.system.functions.items():
        if isinstance(function.value, Data) and function.at(name).of_time:
            first, last = function.value.range
            spare = BEYOND * (last - first)
            if begin < first - spare or begin + duration > last + spare:
                raise BadRequest(
                    f"the data of {name!r} reach from {first:g} to {last:g}, the run from {begin:g} to "
                    f"{begin + duration:g}",
                    where=f"functions.{name}",
                    fix="shorten the run, or give more data: nothing is extrapolated",
                )


def _refuse_standing_time(begin: float, duration: float, step: float) -> None:
    """A step that is lost beside the time itself does not advance it."""
    if not step > RESOLVED * math.ulp(max(abs(begin), abs(begin + duration))):
        raise BadRequest(
            f"the time does not advance: a step of {step:g} is lost beside t = {begin:g}",
            where="begin",
            fix="let the run begin nearer to 0, or take longer steps",
        )


def _tolerances(equations: Equations, given: float | Mapping[Key, float] | None) -> float | Mapping[str, float] | None:
    """Absolute tolerances as they were given: none, one for all states, or some by name."""
    stated = given if given is not None else equations.problem.run.absolute
    if stated is None:
        return None
    if not isinstance(stated, Mapping):
        _positive(stated, "absolute")
        return float(stated)
    named = by_name(stated, where="absolute")
    for name, value in named.items():
        if name not in equations.state_names:
            known = ", ".join(equations.state_names)
            raise BadRequest(f"there is no state {name!r}", where="absolute", fix=f"known: {known}")
        _positive(value, "absolute")
    return {name: float(value) for name, value in named.items()}


def resolved(
    equations: Equations, request: Request, states: np.ndarray, rates: np.ndarray, inertia: np.ndarray
) -> np.ndarray | float:
    """The absolute tolerances of each state, (states) or (cases, states), from where runs start and how they move.

    Those that were not stated are the relative tolerance times the size of the state: what it is at the start, or what
    its rate and acceleration make of it within a hundredth of the duration; of a rate, no less than its coordinate over
    the duration. A coordinate or rate that is no more than a residue of rounding beside the others, as the diagonal
    `inertia` of M weighs them, has a small part of their size; one of which nothing is known has 1. The parts of a
    quaternion share the size of the largest: they say one turn together.
    """
    assert request.tolerance is not None
    if isinstance(request.absolute, float):
        return request.absolute
    n, span = len(equations.coordinates), request.duration / LEAST_STEPS
    with np.errstate(all="ignore"):
        sizes = np.fmax(np.abs(states), np.abs(rates) * span)
        accelerations = np.abs(rates[..., n : 2 * n])
        sizes[..., :n] = np.fmax(sizes[..., :n], accelerations * (span**2 if span < LONGEST else math.inf))
        sizes[..., n : 2 * n] = np.fmax(sizes[..., n : 2 * n], np.abs(states[..., :n]) / request.duration)
        sizes = np.where(np.isfinite(sizes), sizes, 0.0)
        for part in (slice(0, n), slice(n, 2 * n)):
            own = sizes[..., part]
            beside = np.sqrt((np.abs(inertia) * own**2).sum(axis=-1, keepdims=True) / np.abs(inertia))
            beside = np.where(np.isfinite(beside), beside, 0.0)
            sizes[..., part] = np.where(own < RESIDUE * beside, SMALL_PART * beside, own)
    for _, turn in TurnedStates(equations.inputs).balls:
        sizes[..., turn] = sizes[..., turn].max(axis=-1, keepdims=True)
    found = request.tolerance * np.where(sizes > 0, sizes, 1.0)
    found = np.maximum(found, np.finfo(float).tiny)
    if isinstance(request.absolute, Mapping):
        for name, value in request.absolute.items():
            found[..., equations.state_names.index(name)] = value
    return found


def run_as_stated(equations: Equations) -> Request:
    """The problem's own run, completed and judged: an unknown scheme or a step that does not fit is an error."""
    return request_of(equations)


def _stated_duration(stated: float | None, wanted: np.ndarray | None, begin: float) -> float:
    if wanted is not None and len(wanted):
        return float(wanted[-1] - begin) or 1.0
    if stated is None:
        raise BadRequest("no duration given", where="duration", fix="give duration=")
    return stated


def _both_given(scheme: Scheme) -> BadRequest:
    """A step and a tolerance exclude each other; some schemes take either."""
    if scheme.adaptive:
        what, fix = f"{scheme.name} chooses its own steps and takes no step", "give tolerance= alone"
    elif with_own_steps(scheme).adaptive:
        what, fix = "a step and a tolerance are both given", "give one of the two: step= or tolerance="
    else:
        what, fix = f"{scheme.name} has a fixed step and takes no tolerance", "give step= alone"
    return BadRequest(what, where="step" if scheme.adaptive else "tolerance", fix=fix)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no double holds
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _positive(value: Any, name: str) -> None:
    if isinstance(value, str):
        raise BadRequest(f"{name} = {value!r} is a text, not a number", where=name, fix=instead_of(value))
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise BadRequest(f"{name} = {value!r} is not a number", where=name, fix=f"give a positive {name}")
    if isinstance(value, int) and not _is_finite(value):
        raise BadRequest(
            f"{name} = {str(value)[:12]}... is beyond any double", where=name, fix=f"give a smaller {name}"
        )
    if not math.isfinite(value) or value <= 0:
        raise BadRequest(f"{name} = {value!r} is not positive", where=name, fix=f"give a positive {name}")


def _checked_tolerance(tolerance: float | None, step: float | None, name: str) -> float:
    if step is not None:
        raise BadRequest(f"{name} chooses its own steps and takes no step", where="step", fix="give tolerance=")
    if tolerance is None:
        raise BadRequest(f"{name} needs a tolerance", where="tolerance", fix="e.g. tolerance=1e-9")
    _positive(tolerance, "tolerance")
    if tolerance < SMALLEST_TOLERANCE:
        raise BadRequest(
            f"a tolerance of {tolerance:g} is beyond double precision",
            where="tolerance",
            fix=f"at least {SMALLEST_TOLERANCE:g}",
        )
    return float(tolerance)


def with_stated_times(equations: Equations, options: RunOptions) -> RunOptions:
    """The options with the rows that the problem's own run keeps, unless others are asked for; it runs to its end."""
    run = equations.problem.run
    if run.at is None or "at" in options or "every" in options:
        return options
    length = options.get("duration") if options.get("duration") is not None else run.duration
    return {**options, "at": run.at, "duration": length}


def fitted_step(duration: float, step: float) -> float:
    """A step, or a little less than it, of which a duration is a whole number."""
    return duration / max(1, math.ceil(duration / step * (1 - 1e-9)))


def whole_steps(duration: float, step: float) -> int:
    """The number of steps in a duration, which must be whole."""
    ratio = duration / step
    if not ratio <= MOST_STEPS:
        raise BadRequest(
            f"a duration of {duration:g} has {ratio:.3g} steps of {step:g}", where="step", fix="take longer steps"
        )
    count = round(ratio)
    if count < 1 or abs(ratio - count) > 1e-9 * max(1.0, ratio):
        below, above = math.floor(ratio) * step, math.ceil(ratio) * step
        raise BadRequest(
            f"a duration of {duration:g} is not a whole number of steps of {step:g}",
            where="duration",
            fix=f"use {below:g} or {above:g}, or another step",
        )
    return count


def _times(at: Sequence[float], begin: float) -> np.ndarray:
    try:
        times = np.asarray(at, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise BadRequest(f"at = {str(at)[:40]} is no list of times", where="at", fix="give a list of times") from None
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise BadRequest("the times asked for do not increase", fix="give them in order, each once")
    if len(times) and times[0] < begin:
        raise BadRequest(f"the run begins at {begin:g}, after {times[0]:g}", fix="ask for later times")
    return times


def rows_of_steps(times: np.ndarray, begin: float, step: float, steps: int) -> np.ndarray:
    """The step numbers of wanted times, which must lie on steps."""
    numbers = np.rint((times - begin) / step).astype(int)
    off = np.abs(times - begin - numbers * step) > 1e-9 * np.maximum(1.0, np.abs(times))
    if off.any():
        raise BadRequest(
            f"t = {times[off][0]:g} does not fall on a step of {step:g}",
            fix="ask for multiples of the step, or use sol(t)",
        )
    if len(numbers) and numbers[-1] > steps:
        raise BadRequest(f"t = {times[-1]:g} lies beyond the run", fix="make duration longer")
    return numbers
