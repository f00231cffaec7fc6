"""The cases of an ensemble: columns of values, by name, and the starts and constants they make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.equations.dynamics.sample import constant_value, symbols_within
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, settled, state_vector
from holdfast.errors import BadRequest
from holdfast.problem.bodies.rows import require_closed
from holdfast.problem.vocabulary import CONSTANT, by_name, name_of
from holdfast.results.start.start import stated_names
from holdfast.results.start.turned_start import refuse_wrong_lengths

LARGEST = 10_000_000  # cases
LOOKED_AT = 32  # cases, for joints that their parameters may open
MOST_VALUES = 2**28  # start values and constants of all cases together: 2.1 GB


def grid(axes: Mapping[Any, Any]) -> dict[Any, np.ndarray]:
    """Every combination of the values, as columns for `hf.ensemble(cases=...)`; the last name runs fastest."""
    if not isinstance(axes, Mapping) or not axes:
        raise BadRequest("a grid is a mapping from names to values", where="grid", fix='e.g. hf.grid({"m": [1, 2]})')
    columns = {key: column(values, where=f"grid.{name_of(key)}") for key, values in axes.items()}
    check_count(math.prod(len(values) for values in columns.values()), where="grid")
    mesh = np.meshgrid(*columns.values(), indexing="ij")
    return {key: values.ravel() for key, values in zip(columns, mesh, strict=True)}


def check_count(count: int, *, where: str) -> None:
    """Refuse more cases than are ever run together, before anything is made of them."""
    if count > LARGEST:
        raise BadRequest(f"{count:.6g} cases", where=where, fix=f"at most {LARGEST:,} in one ensemble")


def column(values: Any, *, where: str) -> np.ndarray:
    """Numbers as an array of doubles."""
    if hasattr(values, "__len__"):
        check_count(len(values), where=where)
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError):
        raise BadRequest("a column of cases is a list of numbers", where=where, fix="e.g. [1, 2, 3]") from None
    if not len(numbers) or not np.isfinite(numbers).all():
        raise BadRequest("a column of cases needs finite numbers, at least one", where=where, fix="e.g. [1, 2, 3]")
    return numbers


@dataclass(frozen=True, eq=False)
class Cases:
    """Columns by name; the stated start and the constants of each case."""

    columns: Frozen[np.ndarray]
    states: np.ndarray  # (cases, states)
    constants: np.ndarray  # (cases, parameters and gains)
    stated: frozenset[str] = frozenset()  # names of the start values that somebody stated

    def some(self, which: slice) -> Cases:
        """Those of some cases."""
        columns = self.columns.mapped(lambda values: values[which])
        return Cases(columns, self.states[which], self.constants[which], self.stated)


def cases_of(
    equations: Equations,
    cases: Mapping[Any, Any],
    start: Mapping[Any, Any] | Sequence[float] | None,
    parameters: Mapping[Any, Any],
    begin: float | None = None,
) -> Cases:
    """Check the columns and spread them over the start and the constants that all cases share."""
    columns = _columns(equations, cases, start, parameters)
    count = len(next(iter(columns.values())))
    first = {name: float(columns[name][0]) for name in equations.letters if name in columns}  # letters by case
    base = parameter_vector(equations, {**by_name(parameters, where="parameters"), **first})
    width = len(base) + len(equations.state_names)
    if count * width > MOST_VALUES:
        what = f"{count:,} cases of {width} values each would need {8e-9 * count * width:.1f} GB before they run"
        raise BadRequest(what, where="cases", fix=f"at most {MOST_VALUES // width:,} cases in one ensemble")
    constants = np.tile(base, (count, 1))
    stated = dict(zip(equations.parameter_names, base, strict=True))
    states = np.tile(state_vector(equations, start, stated), (count, 1))
    for name, values in columns.items():
        if name in equations.state_names:
            states[:, equations.state_names.index(name)] = values
        else:
            constants[:, equations.parameter_names.index(name)] = values
    if start is None or isinstance(start, Mapping):
        _spread_start(equations, start or {}, columns, stated, states)
    names = stated_names(equations, start) | frozenset(columns)
    if equations.problem.program.keep:
        begin = equations.problem.run.begin if begin is None else begin
        pairs = zip(states.tolist(), constants.tolist(), strict=True)
        states = np.array([settled(equations, state, own, begin, names) for state, own in pairs])
    refuse_wrong_lengths(equations, states, names)
    _require_closed(equations, columns, constants)
    return Cases(Frozen(columns), states, constants, names)


def _require_closed(equations: Equations, columns: Mapping[str, np.ndarray], constants: np.ndarray) -> None:
    """Refuse cases whose parameters open a joint that was closed by itself; many of them are looked at here and there.

    What keeps a row at zero is an identity in the parameters, or it fails at nearly all of them.
    """
    system, names = equations.problem.system, equations.parameter_names
    if system.rows is not None and system.rows.idle and any(name in names for name in columns):
        for case in np.unique(np.linspace(0, len(constants) - 1, LOOKED_AT).astype(int)):
            require_closed(system, dict(zip(names, constants[case].tolist(), strict=True)))


def _columns(
    equations: Equations, cases: Mapping[Any, Any], start: Any, parameters: Mapping[Any, Any]
) -> dict[str, np.ndarray]:
    known = (*equations.state_names, *equations.parameter_names)
    columns = {}
    for name, values in equations.by_state_name(cases, where="cases").items():
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(known)
            raise BadRequest(f"no state, parameter or gain is called {name!r}", where=f"cases.{name}", fix=hint)
        columns[name] = column(values, where=f"cases.{name}")
    if not columns:
        raise BadRequest("an ensemble needs cases", where="cases", fix='e.g. cases={"m": [1, 2, 3]}')
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise BadRequest(
            "the columns differ in length: " + ", ".join(f"{name} has {count}" for name, count in lengths.items()),
            where="cases",
            fix="give equally long columns, or hf.grid(...) for all combinations",
        )
    fixed = set(by_name(parameters, where="parameters"))
    fixed |= set(by_name(start, where="start")) if isinstance(start, Mapping) else set()
    for name in fixed & set(columns):
        raise BadRequest(
            f"{name!r} is given for all cases and for each", where=f"cases.{name}", fix="keep one of the two"
        )
    return columns


def _spread_start(
    equations: Equations,
    given: Mapping[Any, Any],
    columns: Mapping[str, np.ndarray],
    stated: dict[str, float],
    states: np.ndarray,
) -> None:
    """Start values that are stated by parameters follow those that differ between cases."""
    names = equations.problem.names
    expressions = dict(equations.problem.start)
    for name, value in equations.by_state_name(given, where="start").items():
        expressions[name] = names.admit(value, CONSTANT, where=f"start.{name}")
    for name, expression in expressions.items():
        moving = sorted(symbols_within(expression, equations.problem.system.definitions) & set(columns))
        if name in columns or not moving:
            continue
        place = equations.state_names.index(name)
        if isinstance(expression, sp.Symbol) and expression.name in columns:
            states[:, place] = columns[moving[0]]
            continue
        rows, number = np.unique(np.array([columns[key] for key in moving]).T, axis=0, return_inverse=True)
        values = [
            constant_value(
                expression,
                stated | dict(zip(moving, row, strict=True)),
                where=f"start.{name}",
                definitions=equations.problem.system.definitions,
            )
            for row in rows.tolist()
        ]
        states[:, place] = np.array(values)[number.reshape(-1)]
