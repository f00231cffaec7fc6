"""The table [lyapunov]: a function of the deviations, the region it is asked about, and numbers of the step theorems.

[lyapunov]
function = "3*y_rod**2 + 4*y_rod*w_rod + 3*w_rod**2"
region = { phi = [0.2, 0.6], y_rod = [-0.1, 0.1] }
epsilon = 0.09                        the size that |z| shall not exceed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from holdfast.problem.file.entries import Entries, kind_of, plain
from holdfast.problem.file.places import Path
from holdfast.problem.problem import LYAPUNOV_KEYS
from holdfast.problem.text.expression import Expressions
from holdfast.problem.vocabulary import LAW

NUMBERS = ("epsilon", "alpha", "curvature", "effort")
LARGEST = 1e300
PATH: Path = ("lyapunov",)


def read_lyapunov(raw: Mapping[str, Any], entries: Entries, reader: Expressions) -> dict[str, Any]:
    """The table with its function as an expression; empty where there is none."""
    table = entries.table(raw, PATH, known=LYAPUNOV_KEYS)
    if not table:
        return {}
    found: dict[str, Any] = {}
    if "function" in table:
        function = entries.expression(table["function"], (*PATH, "function"), LAW, reader)
        found["function"] = sp.S.Zero if function is None else function
    region = _region(plain(table.get("region", {})), entries)
    found |= {"region": region} if region else {}
    for key in NUMBERS:
        if key in table:
            found[key] = _positive(plain(table[key]), (*PATH, key), entries)
    return found


def _positive(value: Any, path: Path, entries: Entries) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < LARGEST:
        entries.findings.add(path, "a positive number belongs here", f"e.g. {path[-1]} = 0.1")
        return 1.0
    return value


def _region(region: Any, entries: Entries) -> dict[str, list[float]]:
    path = (*PATH, "region")
    if not isinstance(region, dict):
        entries.findings.add(path, f"a table belongs here, not {kind_of(region)}", "e.g. { x = [-1, 1] }")
        return {}
    for name, ends in region.items():
        if not _range(ends):
            entries.findings.add((*path, name), "a range of two numbers belongs here", "e.g. x = [-1, 1]")
    return region


def _range(ends: Any) -> bool:
    numbers = isinstance(ends, list) and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in ends)
    return numbers and len(ends) == 2 and -LARGEST < ends[0] <= ends[1] < LARGEST
