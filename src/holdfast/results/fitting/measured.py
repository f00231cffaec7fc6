"""Measured data as they come in: a mapping, a data frame or a CSV file, a column of times and columns of quantities.

    {"t": [0, 0.1, ...], "theta": [1.0, 0.98, ...]}        data.csv        pandas.DataFrame

A value that is missing (empty, nan) does not count. Times may be given in any order, and more than once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.common.files import read_bytes
from holdfast.common.limits import allowance
from holdfast.errors import BadRequest
from holdfast.problem.vocabulary import by_name, name_of

Array = np.ndarray
TIMES = ("t", "time")
MOST_BYTES = 200_000_000  # of a CSV file: some millions of rows


@dataclass(frozen=True, eq=False)
class MeasuredData:
    """Times in order, columns by name with nan where a value is missing, and the standard deviation of each value.

    `sigma` is nan throughout a column whose noise is not known.
    """

    times: Array
    columns: Mapping[str, Array]
    sigma: Mapping[str, Array]

    @property
    def known(self) -> bool:
        """Whether the noise of all columns is known."""
        return all(bool(np.isfinite(sigma).all()) for sigma in self.sigma.values())


def measured(data: Any, columns: Iterable[Any] | None, sigma: Any) -> MeasuredData:
    """The data, checked; `columns` picks some of them."""
    if isinstance(data, MeasuredData):
        return data
    table = _table(data)
    key = next((name for name in TIMES if name in table), None)
    if key is None:
        raise BadRequest("the data have no times", where="data", fix='name a column "t" or "time"')
    times = _numbers(table.pop(key), key)
    if not np.isfinite(times).all():
        raise BadRequest("a time is missing, or not finite", where=f"data.{key}", fix="leave such rows out")
    wanted = list(table) if columns is None else [name_of(name) for name in columns]
    missing = next((name for name in wanted if name not in table), None)
    if missing is not None:
        known = ", ".join(table) or "none"
        raise BadRequest(f"the data have no column {missing!r}", where="data", fix=f"their columns: {known[:200]}")
    found = {name: _numbers(table[name], name) for name in wanted}
    for name, values in found.items():
        if len(values) != len(times):
            raise BadRequest(
                f"{name!r} has {len(values)} values at {len(times)} times", where=f"data.{name}", fix="one for each"
            )
        found[name] = np.where(np.isfinite(values), values, np.nan)
    if not found or not any(np.isfinite(values).any() for values in found.values()):
        raise BadRequest("the data have no values", where="data", fix="a column for each quantity that was measured")
    order = np.argsort(times, kind="stable")
    noise = _sigma(sigma, found, len(times))
    return MeasuredData(
        times[order],
        {name: values[order] for name, values in found.items()},
        {name: values[order] for name, values in noise.items()},
    )


def _table(data: Any) -> dict[str, Any]:
    if isinstance(data, (str, Path)):
        return _from_csv(Path(data))
    if hasattr(data, "columns") and hasattr(data, "index") and hasattr(data, "to_dict"):  # a data frame
        own = {str(name): data[name].to_numpy() for name in data.columns}
        index = str(data.index.name) if data.index.name is not None else ""
        return {index: data.index.to_numpy(), **own} if index in TIMES and not set(TIMES) & set(own) else own
    if isinstance(data, Mapping):
        return by_name(data, where="data")
    raise BadRequest(
        f"data cannot be {type(data).__name__}", where="data", fix="a mapping by name, a data frame, or a CSV file"
    )


def _from_csv(path: Path) -> dict[str, Any]:
    content = read_bytes(path, allowance(MOST_BYTES), "a file of data")
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if any(x.strip() for x in row)]
    except (UnicodeDecodeError, csv.Error):
        raise BadRequest(
            f"{path.name!r} is not a CSV file", where="data", fix="save it as UTF-8, with commas"
        ) from None
    header = [cell.strip() for cell in rows[0]] if rows else []
    if len(header) < 2 or len(set(header)) != len(header):
        raise BadRequest(
            f"{path.name!r} has no columns with names of their own", where="data", fix="the first row: t,theta,..."
        )
    table: dict[str, list[float]] = {name: [] for name in header}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise BadRequest(f"row {number} of {path.name!r} has {len(row)} cells", where="data", fix=f"{len(header)}")
        for name, cell in zip(header, row, strict=True):
            try:
                table[name].append(float(cell) if cell.strip() else np.nan)
            except ValueError:
                what = f"{cell.strip()[:40]!r} in row {number} of {path.name!r} is not a number"
                raise BadRequest(what, where=f"data.{name}", fix="write numbers with a point") from None
    return table


def _numbers(given: Any, name: str) -> Array:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise BadRequest(f"{name!r} is not a column of numbers", where=f"data.{name}", fix="a list of them") from None
    if found.ndim != 1:
        raise BadRequest(f"{name!r} is not a column of numbers", where=f"data.{name}", fix="a list of them")
    return found


def _sigma(given: Any, columns: Mapping[str, Array], count: int) -> dict[str, Array]:
    """The standard deviations as columns: one number for all, or numbers or columns by name."""
    if given is None:
        return {name: np.full(count, np.nan) for name in columns}
    named = by_name(given, where="sigma") if isinstance(given, Mapping) else dict.fromkeys(columns, given)
    unknown = next((name for name in named if name not in columns), None)
    if unknown is not None:
        raise BadRequest(f"there is no column {unknown!r}", where="sigma", fix=f"columns: {', '.join(columns)}")
    lacking = next((name for name in columns if name not in named), None)
    if lacking is not None:
        raise BadRequest(f"sigma of {lacking!r} is missing", where="sigma", fix="give one for each column, or none")
    found = {}
    for name in columns:
        try:
            values = np.asarray(named[name], dtype=float)
        except (TypeError, ValueError):
            values = np.full((), np.nan)
        if values.shape not in ((), (count,)) or not (np.isfinite(values).all() and (values > 0).all()):
            raise BadRequest(f"sigma of {name!r} is not positive", where="sigma", fix="a number, or one for each row")
        found[name] = np.broadcast_to(values, count).copy()
    return found
