"""Data of a problem text, and the pieces by which they are run: part of the code of a certificate, read strictly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from holdfast.stability.verifier.numbers.pieces import Data, Pieces
from holdfast.stability.verifier.refusal import Unconfirmed, require

MOST_PIECES = 20_000
FIELDS = {"times", "values", "degree", "of"}


def stated_data(name: str, value: Mapping[str, Any]) -> Data:
    """The data of a function in a problem text."""
    require(set(value) <= FIELDS, f"the function {name!r} is given by a file, which is not in the text")
    times, values, degree = (
        _decimals(value.get("times"), name),
        _decimals(value.get("values"), name),
        value.get("degree", 5),
    )
    require(isinstance(degree, int) and not isinstance(degree, bool) and 1 <= degree <= 7, f"{name!r} has no degree")
    require(len(times) == len(values) > degree, f"the data of {name!r} are too few, or not one value for each time")
    require(all(a < b for a, b in pairwise(times)), f"the times of {name!r} do not increase")
    return Data(name, times, values, degree)


def _decimals(value: Any, name: str) -> list[float]:
    """Numbers of a text, whose decimals are read as they stand."""
    whole = isinstance(value, list) and all(isinstance(x, int | str) and not isinstance(x, bool) for x in value)
    require(whole, f"the data of {name!r} are no numbers")
    try:
        found = [float(x) for x in value]
    except (ValueError, OverflowError):
        found = [math.nan]
    require(all(map(math.isfinite, found)), f"the data of {name!r} are no finite numbers")
    return found


def stated_tables(value: Any, where: str) -> dict[str, Pieces]:
    """The pieces of each function, as the certificate lists them: ends, and coefficients with the lowest first."""
    require(isinstance(value, dict), f"{where} is no table")
    found = {}
    for name, table in value.items():
        require(
            isinstance(table, dict) and set(table) == {"ends", "pieces"}, f"{where}.{name[:30]} is not ends and pieces"
        )
        ends, rows = _numbers(table["ends"], where), table["pieces"]
        require(isinstance(rows, list) and 0 < len(rows) <= MOST_PIECES, f"{where} holds no pieces, or too many")
        pieces = [_numbers(row, where) for row in rows]
        require(len(ends) == len(pieces) + 1, f"{where} has not one piece between two ends")
        require(all(a < b for a, b in pairwise(ends)), f"the ends of {where} do not increase")
        require(len({len(row) for row in pieces}) == 1 and 2 <= len(pieces[0]) <= 8, f"{where} has pieces of no degree")
        found[name] = Pieces(tuple(ends), tuple(tuple(row) for row in pieces))
    return found


def _numbers(value: Any, where: str) -> list[float]:
    whole = isinstance(value, list) and all(isinstance(x, int | float) and not isinstance(x, bool) for x in value)
    require(whole and all(abs(x) < 1e150 for x in value), f"{where} holds what are no numbers")
    return [float(x) for x in value]


def table_operation(op: str, args: list[int], known: int, tables: Mapping[str, Pieces]) -> tuple[Any, ...]:
    """`table ORDER NAME` of an earlier place, as (table, place, order, pieces)."""
    words = op.split(" ", 2)
    name = words[-1][:200]
    if name not in tables:
        raise Unconfirmed(f"{name[:30]!r} is given by data, whose pieces are not in the certificate")
    require(len(words) == 3 and words[1] in set("01234567"), "the code is not readable")
    require(len(args) == 1 and args[0] < known, "the code uses what is not computed yet")
    return ("table", args[0], int(words[1]), tables[name])
