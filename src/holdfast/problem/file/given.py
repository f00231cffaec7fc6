"""Values given beside a problem file, as they would stand in it: a number or expression, or the name of a CSV file.

m = 2, path = "A*sin(w*t)", wind = "wind.csv"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadFile, BadRequest, HoldfastError

TABLES = ("parameters", "functions")


def with_given(raw: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a file with other values for some of its parameters and functions."""
    tables = {name: dict(table) for name in TABLES if isinstance(table := raw.get(name), Mapping)}
    for name, value in values.items():
        home = next((table for table in tables if name in tables[table]), None)
        if home is None:
            known = [key for table in tables.values() for key in table]
            listed = "known: " + ", ".join(known[:12]) if known else "the file has none"
            raise BadRequest(
                f"{name[:40]!r} is neither a parameter nor a function of this problem",
                where=f"value of {name[:40]}",
                fix=did_you_mean(name, known, listed),
            )
        tables[home][name] = value if home == "parameters" else _function(tables[home][name], value)
    return {**raw, **tables}


def _function(stated: Any, value: Any) -> dict[str, Any]:
    """The function as it is stated, of the same quantities, by another expression or by data."""
    kept = {key: stated[key] for key in ("of",) if isinstance(stated, Mapping) and key in stated}
    by_data = isinstance(value, str) and value.lower().endswith(".csv")
    return {**kept, "file" if by_data else "value": value}


def blamed_on_given(error: BadFile, values: Mapping[str, Any]) -> HoldfastError:
    """The error without the line of the file, where it is about a value that does not stand in the file."""
    for finding in error.findings:
        for name in values:
            if any(finding.key == f"{t}.{name}" or finding.key.startswith(f"{t}.{name}.") for t in TABLES):
                return BadRequest(finding.what, where=f"value of {name}", fix=finding.hint)
    return error
