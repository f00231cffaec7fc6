"""JSON as its standard has it: no NaN, no infinities, no field given twice.

What is not finite is written as null, and its name is listed in the field `not_finite` beside the others, so that a
null which means "not a number" is told from one which means "none".
"""

from __future__ import annotations

import json
import math
from typing import Any

from holdfast.errors import BadRequest

FLAG = "not_finite"


def dumps(data: dict[str, Any], indent: int | None = None) -> str:
    """The text of a table; names of what is not finite are listed in it."""
    names: list[str] = []
    plain = _finite(data, "", names)
    return json.dumps({**plain, FLAG: names} if names else plain, indent=indent, allow_nan=False)


def _finite(value: Any, where: str, names: list[str]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        names.append(where)
        return None
    if isinstance(value, dict):
        return {key: _finite(part, f"{where}.{key}" if where else str(key), names) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(part, f"{where}.{k}", names) for k, part in enumerate(value)]
    return value


def loads(text: str) -> Any:
    """The data of a text that is strict JSON and not nested too deeply; a `BadRequest` for any other."""
    try:
        return json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise BadRequest("the JSON is nested too deeply") from None
    except ValueError as error:
        raise BadRequest(f"this is not JSON: {str(error)[:80]}") from None


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field is given twice")
    return found
