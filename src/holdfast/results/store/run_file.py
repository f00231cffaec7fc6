"""What a run file says beside its columns, schema 1: every field has its type and its range.

schema problem second_order scheme scheme_fingerprint step tolerance steps nfev rejected every outcome note projected
picked                 whether its rows are those at given times
state_names columns    names; the state first
parameters             by name
events                 times by name
start                  policy, state, changes, deviation, units, open
against                what the run was found to fail by
undefined              columns with values that are not finite: the first such row, by name

A file is data of somebody else. What it says of its outcome is believed only as far as its rows bear it out: they are
judged again, by the same judgement as those of a run just made, and the worse of the two stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.common import strict_json
from holdfast.common.frozen import Frozen
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.errors import HoldfastError
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.problem.file.load_dump import dumps, loads
from holdfast.problem.problem import Problem
from holdfast.results.constants import constants_along
from holdfast.results.judgement.finding import Finding, Judgement
from holdfast.results.judgement.judgement import Facts, judged
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.start.start import Start
from holdfast.results.start.term_sizes import size_nodes
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import ALL_SCHEMES

SCHEMA = 1
LONGEST_TEXT = 8_000_000  # characters of all that is not a column
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:]{0,199}")
POLICIES = ("default", "project", "keep", "raise")
EXTENDED = re.compile(r"set_w\d_\w+")  # the states of a control that has rates of its own
LARGEST = 1e300  # of a number beside the columns
Check = Callable[[Any], Any]


class Damaged(Exception):
    """Something that no run of ours says."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Damaged(what)


# ── to a file ─────────────────────────────────────────────────────────────────────────────────────


def about(trajectory: Trajectory, problem: str | None) -> str:
    """Everything of a run except its columns, as strict JSON."""
    start = trajectory.start
    data = {
        "schema": SCHEMA,
        "problem": problem,
        "second_order": trajectory.second_order,
        "state_names": trajectory.state_names,
        "columns": list(trajectory.columns),
        "outcome": trajectory.outcome.name,
        "note": trajectory.note,
        "projected": trajectory.projected,
        "picked": trajectory.picked,
        "scheme": trajectory.scheme,
        "scheme_fingerprint": trajectory.scheme_fingerprint,
        "step": trajectory.step,
        "tolerance": trajectory.tolerance,
        "parameters": dict(trajectory.parameters),
        "steps": trajectory.steps,
        "nfev": trajectory.nfev,
        "rejected": trajectory.rejected,
        "every": trajectory.every,
        "events": {name: list(map(float, times)) for name, times in trajectory.events.items()},
        "start": {
            "policy": start.policy,
            "state": start.state,
            "changes": dict(start.changes),
            "deviation": dict(start.deviation),
            "units": dict(start.units),
            "open": start.open,
        },
        "against": [
            [found.name, found.text, found.failing, found.time, found.quantity] for found in trajectory.against
        ],
        "undefined": undefined(trajectory.columns),
    }
    return strict_json.dumps(data)


def problem_text(trajectory: Trajectory) -> str | None:
    """The problem as its file states it; None where it has no form as a file."""
    try:
        problem = trajectory.problem
        if problem is not None and problem.source is not None and problem.source.says(problem):
            return problem.source.text  # what the user wrote
        return None if problem is None else dumps(problem)
    except HoldfastError:
        return None  # a problem with functions that the file's grammar does not have


def undefined(columns: Mapping[str, np.ndarray]) -> dict[str, int]:
    """The first row in which a column is not finite, by name."""
    found = {}
    for name, values in columns.items():
        with np.errstate(all="ignore"):
            total = values.sum()  # one pass over what is nearly always finite
        if not np.isfinite(total):
            bad = ~np.isfinite(values)
            if bad.any():
                found[name] = int(bad.argmax())
    return found


# ── from a file ───────────────────────────────────────────────────────────────────────────────────


def rebuilt(text: str, times: np.ndarray, columns: Mapping[str, np.ndarray]) -> Trajectory:
    """The run of a file; `Damaged` where something in it is no run's."""
    data = checked(text)
    require(list(columns) == data["columns"], "the columns are not those that are named")
    problem = None if data["problem"] is None else loads(data["problem"], "the saved problem")
    return judged_again(as_told(data, problem, times, columns))


def checked(text: str) -> dict[str, Any]:
    """The fields of a run file, each of its type and within its range."""
    require(len(text) <= LONGEST_TEXT, "there is too much beside the columns")
    data = strict_json.loads(text)
    require(isinstance(data, dict) and type(data.get("schema")) is int, "it does not say its schema")
    require(data["schema"] == SCHEMA, f"it is of schema {data['schema']}, which is not known here")
    found = _table(data, FIELDS, OPTIONAL)
    names, columns = found["state_names"], found["columns"]
    require(columns[: len(names)] == names, "the state is not its first columns")
    require(len(found["start"]["state"]) == len(names), "the start is not of its state")
    return found


def as_told(
    data: Mapping[str, Any], problem: Problem | None, times: np.ndarray, columns: Mapping[str, np.ndarray]
) -> Trajectory:
    """The run as the file tells it."""
    require(times.ndim == 1 and bool(np.isfinite(times).all()), "its times are no numbers")
    require(bool((np.diff(times) >= 0).all()), "its times run backwards")
    require(all(values.shape == times.shape for values in columns.values()), "a column is shorter than the times")
    if problem is not None:
        system = problem.system
        own = [c.name for c in system.coordinates]
        expected = [*own, *(f"{name}_dot" for name in own), *system.states]
        told, more = data["state_names"], data["state_names"][len(expected) :]
        given = not more or (bool(problem.program.controls) and all(EXTENDED.fullmatch(name) for name in more))
        require(told[: len(expected)] == expected and given, "the state is not that of its problem")
    for array in (times, *columns.values()):
        array.flags.writeable = False
    start = data["start"]
    return Trajectory(
        problem=problem,
        times=times,
        columns=Frozen(dict(columns)),
        state_names=tuple(data["state_names"]),
        judged=Judgement(Outcome[data["outcome"]], tuple(Finding(*entry) for entry in data.get("against", ()))),
        start=Start(
            start["policy"],
            tuple(start["state"]),
            Frozen({name: (pair[0], pair[1]) for name, pair in start["changes"].items()}),
            Frozen(start["deviation"]),
            Frozen(start.get("units", {})),
            tuple(start.get("open", ())),
        ),
        parameters=Frozen(data["parameters"]),
        events=Frozen({name: np.array(found, dtype=float) for name, found in data["events"].items()}),
        projected=data.get("projected", False),
        picked=data.get("picked", False),
        second_order=data.get("second_order", True),
        scheme_fingerprint=data.get("scheme_fingerprint", ""),
        **{name: data[name] for name in ("scheme", "step", "tolerance", "steps", "nfev", "rejected", "every", "note")},
    )


def unpickled(
    problem: Problem | None, text: str, times: np.ndarray, columns: dict[str, np.ndarray], parameters: Any
) -> Trajectory:
    """A run that was pickled by one of our own processes: as it was told there."""
    return replace(as_told(checked(text), problem, times, columns), parameters=parameters)


def judged_again(run: Trajectory) -> Trajectory:
    """The run with the outcome that its rows bear out: never a better one than its file says."""
    bad = undefined(run.columns)
    outcome, found = run.outcome, run.against
    if outcome.success and bad:
        outcome = Outcome.not_finite if set(bad) & set(run.state_names) else Outcome.undefined
        found = (*found, _undefined_found(run, bad))
    elif outcome.success and len(run.times) and run.problem is not None:
        facts = _facts(run, derive(run.problem, second_order=run.second_order))
        _require_own_rows(run, facts)
        judgement = judged(facts)
        if not judgement.outcome.success:
            outcome, found = judgement.outcome, judgement.findings
    return replace(run, judged=Judgement(outcome, found))


def _undefined_found(run: Trajectory, bad: Mapping[str, int]) -> Finding:
    name, row = min(bad.items(), key=lambda item: item[1])
    time, more = float(run.times[row]), f" and {len(bad) - 6} more" if len(bad) > 6 else ""
    text = f"{', '.join(list(bad)[:6])}{more}: infinite or undefined from t = {time:.6g} (row {row}) on."
    return Finding("undefined", text, True, time, name)


def _require_own_rows(run: Trajectory, facts: Facts) -> None:
    """Refuse a run whose times do not advance to its end, or whose columns are not what its states give."""
    times, equations = facts.rows.times, facts.equations
    require(bool((np.diff(times) > 0).all()), "its times do not increase")
    if run.step is not None and run.outcome is Outcome.completed:
        end = float(times[0]) + run.steps * run.step
        close = 1e-6 * run.step + 8 * float(np.spacing(abs(end)))
        last = float(times[-1])
        reached = abs(last - end) <= close or (run.picked and last < end)
        require(reached or run.events != {}, "its last row is not the end of its steps")
    with np.errstate(all="ignore"):
        found = Tape(equations.field.inputs, tuple(equations.observables.values())).compiled(ARRAYS)(
            [times, *facts.rows.states.T, *map(np.asarray, constants_along(equations, run.parameters, run.columns))]
        )
        terms = _largest_terms(equations, facts)
        for name, values, said, term in zip(equations.observables, found, facts.rows.observables.T, terms, strict=True):
            apart = float(np.abs(values - said).max(initial=0.0))
            allowed = SAME * float(np.abs(said).max(initial=0.0)) + ROUNDED * term
            require(apart <= allowed, f"the column {name!r} is not what its states give")


SAME = 1e-6  # of its largest value: two evaluations of a column, by the kernel and by NumPy
ROUNDED = 1e4 * float(np.finfo(float).eps)  # of the terms that it is made of


def _largest_terms(equations: Equations, facts: Facts) -> list[float]:
    """The sizes of what the observables are made of, at the largest of three rows."""
    inputs, rows = equations.field.inputs, facts.rows
    sizes = size_nodes(list(equations.observables.values()), {node: node.graph.call("abs", node) for node in inputs})
    tape, chosen = Tape(inputs, tuple(sizes)), (0, len(rows.times) // 2, len(rows.times) - 1)
    table = [tape([float(rows.times[k]), *rows.states[k].tolist(), *facts.constants]) for k in chosen]
    return [float(x) for x in np.nan_to_num(np.array(table), nan=0.0, posinf=0.0).max(axis=0)]


def _facts(run: Trajectory, equations: Equations) -> Facts:
    """A loaded run as it is judged."""
    names = equations.parameter_names
    require(set(names) == set(run.parameters), "the parameters are not those of its problem")
    missing = [name for name in equations.observables if name not in run.columns]
    require(not missing, f"it lacks the quantity {missing[0] if missing else ''!r}")
    rows = Rows(
        times=run.times,
        states=np.ascontiguousarray(run.y.T),
        observed=np.array([run.columns[name] for name in equations.observables]).T,
        pivots=np.zeros(0),
        status=Status.event if run.outcome is Outcome.event else Status.completed,
        steps=run.steps,
        evaluations=run.nfev,
    )
    duration = float(run.times[-1] - run.times[0]) or run.step or 1.0
    return Facts(equations, rows, [run.parameters[name] for name in names], run.start, duration)


# ── fields ────────────────────────────────────────────────────────────────────────────────────────


def _table(value: Any, fields: Mapping[str, Check], optional: Mapping[str, Check]) -> dict[str, Any]:
    require(isinstance(value, dict), "a table is missing")
    for name in fields:
        require(name in value, f"it lacks the field {name!r}")
    known = {**fields, **optional}
    for name in value:
        require(name in known, f"it has the unknown field {name[:40]!r}")
    found = {}
    for name, part in value.items():
        try:
            found[name] = known[name](part)
        except Damaged as damage:
            raise Damaged(f"{name}: {damage}") from None
    return found


def _text(longest: int) -> Check:
    def check(value: Any) -> str:
        require(isinstance(value, str) and len(value) <= longest, "no text")
        return str(value)

    return check


def _name(value: Any) -> str:
    require(isinstance(value, str) and NAME.fullmatch(value) is not None, "no name")
    return str(value)


def _names(value: Any) -> list[str]:
    require(isinstance(value, list) and len(value) <= 100_000, "no list")
    found = [_name(name) for name in value]
    require(len(set(found)) == len(found), "a name twice")
    return found


def _number(value: Any) -> float:
    require(isinstance(value, int | float) and not isinstance(value, bool), "no number")
    require(abs(value) <= LARGEST, "no finite number")
    return float(value)


def _perhaps(value: Any) -> float:
    """A number, or null for one that is not finite."""
    return math.nan if value is None else _number(value)


def _positive(value: Any) -> float | None:
    require(value is None or _number(value) > 0, "not positive")
    return None if value is None else float(value)


def _count(least: int) -> Check:
    def check(value: Any) -> int:
        require(type(value) is int and least <= value < 2**63, "no count")
        return int(value)

    return check


def _flag(value: Any) -> bool:
    require(isinstance(value, bool), "neither true nor false")
    return bool(value)


def _of(check: Check) -> Check:
    """A table from names to what the check accepts."""

    def found(value: Any) -> dict[str, Any]:
        require(isinstance(value, dict), "no table")
        return {_name(name): check(part) for name, part in value.items()}

    return found


def _list(check: Check, length: int | None = None) -> Check:
    def found(value: Any) -> list[Any]:
        require(isinstance(value, list) and (length is None or len(value) == length), "no list, or of another length")
        return [check(part) for part in value]

    return found


def _one_of(*words: str) -> Check:
    def found(value: Any) -> str:
        require(isinstance(value, str) and value in words, "an unknown word")
        return str(value)

    return found


def _finding(value: Any) -> tuple[str, str, bool, float | None, str]:
    require(isinstance(value, list) and len(value) == 5, "no finding")
    name, text, failing, time, quantity = value
    return (
        _name(name),
        _text(10_000)(text),
        _flag(failing),
        None if time is None else _number(time),
        _text(200)(quantity),
    )


START = {
    "policy": _one_of(*POLICIES), "state": _list(_perhaps), "changes": _of(_list(_perhaps, 2)),
    "deviation": _of(_perhaps),
}  # fmt: skip
FIELDS: dict[str, Check] = {
    "schema": _count(1), "problem": lambda value: None if value is None else _text(1_000_000)(value),
    "state_names": _names, "columns": _names, "outcome": _one_of(*(outcome.name for outcome in Outcome)),
    "note": _text(100_000), "scheme": _one_of(*(scheme.name for scheme in ALL_SCHEMES)),
    "step": _positive, "tolerance": _positive, "parameters": _of(_number), "steps": _count(0), "nfev": _count(0),
    "rejected": _count(0), "every": _count(1), "events": _of(_list(_number)),
    "start": lambda value: _table(value, START, {"units": _of(_perhaps), "open": _names}),
}  # fmt: skip
OPTIONAL: dict[str, Check] = {  # since they came later
    "projected": _flag, "picked": _flag, "second_order": _flag, "against": _list(_finding), "undefined": _of(_count(0)),
    "scheme_fingerprint": _text(64),
    strict_json.FLAG: _list(_text(300)),
}  # fmt: skip
