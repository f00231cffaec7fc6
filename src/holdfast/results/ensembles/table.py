"""The ``[ensemble]`` table of a problem file.

    [ensemble]
    grid = { m2 = [1, 2, 3], l = { from = 0.5, to = 1.5, count = 11 } }
    zip = { x = [0.1, 0.2], law.stiffness.home = [1, 4] }
    reduce = { F = "max(abs(lambda_rod))" }

`grid` takes every combination of its values, the last name fastest. The columns of `zip` are equally long and go
together. With both, each line of `zip` is run with the whole grid. Names are states (their start values), parameters,
and gains. `reduce` asks for numbers of each run, which the tables show (`reductions`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.results.ensembles.cases import check_count, column, grid
from holdfast.results.reductions import taken_apart

RANGE = {"from", "to", "count"}
EXAMPLE = 'e.g. { F = "max(abs(lambda_rod))" }'


def stated_cases(problem: Problem) -> dict[str, np.ndarray]:
    """The columns that a problem's own ensemble table stands for."""
    table = problem.ensemble
    if not table:
        raise BadRequest(
            "the problem states no ensemble",
            where="ensemble",
            fix="state an [ensemble] table, or give cases=... in the call",
        )
    unknown = sorted(set(table) - {"grid", "zip", "reduce"})
    if unknown:
        fix = '"grid", "zip" or "reduce"'
        raise BadRequest(f"{unknown[0]!r} is not known here", where=f"ensemble.{unknown[0]}", fix=fix)
    crossed = _axes(table.get("grid", {}), "ensemble.grid")
    together = _axes(table.get("zip", {}), "ensemble.zip")
    for name in crossed.keys() & together.keys():
        raise BadRequest(f"{name!r} stands in grid and in zip", where="ensemble", fix="keep one of the two")
    lengths = {name: len(values) for name, values in together.items()}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        raise BadRequest(f"the columns differ in length: {counts}", where="ensemble.zip", fix="make them equally long")
    if not crossed:
        return together
    combined = grid(crossed)
    if not together:
        return combined
    lines, cases = next(iter(lengths.values())), len(next(iter(combined.values())))
    check_count(lines * cases, where="ensemble")
    repeated = {name: np.repeat(values, cases) for name, values in together.items()}
    return repeated | {name: np.tile(values, lines) for name, values in combined.items()}


def stated_reductions(problem: Problem) -> dict[str, str]:
    """What the table asks of each run, by name; each is a reduction of one quantity."""
    table = problem.ensemble.get("reduce", {})
    if not isinstance(table, Mapping):
        raise BadRequest("expected a table of names and reductions", where="ensemble.reduce", fix=EXAMPLE)
    for name, text in table.items():
        try:
            taken_apart(text)
        except BadRequest as error:
            raise BadRequest(error.what, where=f"ensemble.reduce.{name}", fix=error.fix) from None
    return dict(table)


def _axes(table: Any, where: str) -> dict[str, np.ndarray]:
    if not isinstance(table, Mapping):
        raise BadRequest("expected a table of names and values", where=where, fix="e.g. { m = [1, 2, 3] }")
    return dict(_flat(table, "", where))


def _flat(table: Mapping[str, Any], prefix: str, where: str) -> Iterator[tuple[str, np.ndarray]]:
    """Columns by dotted name: gains may be written as nested tables."""
    for key, values in table.items():
        name = f"{prefix}{key}"
        if not isinstance(values, Mapping):
            yield name, column(values if isinstance(values, tuple) else None, where=f"{where}.{name}")
        elif set(values) & RANGE and not any(isinstance(inner, Mapping) for inner in values.values()):
            yield name, _range(values, f"{where}.{name}")
        else:
            yield from _flat(values, f"{name}.", where)


def _range(values: Mapping[str, Any], where: str) -> np.ndarray:
    numbers = [values.get(key) for key in ("from", "to")]
    count = values.get("count")
    whole = isinstance(count, int) and not isinstance(count, bool) and count >= 1
    if set(values) != RANGE or not whole or not all(isinstance(n, (int, float)) for n in numbers):
        raise BadRequest("a range needs from, to and count", where=where, fix="e.g. { from = 1, to = 2, count = 11 }")
    check_count(int(values["count"]), where=where)
    return column(np.linspace(values["from"], values["to"], values["count"]), where=where)
