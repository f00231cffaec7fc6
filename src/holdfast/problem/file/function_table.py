"""The functions of a problem in its file: undetermined, by an expression, or by data.

[functions]
eta = "?"                                      # undetermined, of time
f_c = { of = ["z", "z_dot"] }                  # undetermined, of these
path = "A*sin(w*t)"                            # an expression in time and parameters
drag = { of = "v", value = "c*v**2" }          # an expression in other quantities
wind = { file = "wind.csv", columns = ["time", "speed"], degree = 3 }
pull = { of = "x", times = [0, 1, 2, 4], values = [0, 3, 4, 2], degree = 3 }
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any

from holdfast.common.files import read_bytes
from holdfast.common.limits import allowance
from holdfast.errors import BadRequest, BadStatement
from holdfast.problem.data import Data, data
from holdfast.problem.file.entries import Entries, kind_of, plain
from holdfast.problem.file.places import Path
from holdfast.problem.functions import StatedFunction
from holdfast.problem.quantities import NamedSymbol
from holdfast.problem.stated_functions import ARGUMENTS
from holdfast.problem.vocabulary import MOTION

OPEN = "?"  # in the place of a value: a letter
FUNCTION_KEYS = "of value file columns times values degree".split()
MOST_BYTES = 16_000_000  # of a file of data: some hundred thousand rows


def read_functions(
    table: Mapping[str, Any], entries: Entries, folder: FilePath | None
) -> tuple[dict[str, StatedFunction], dict[str, StatedFunction]]:
    """The functions of a file, without their values and with them; what is wrong with one is noted."""
    bare: dict[str, StatedFunction] = {}
    whole: dict[str, StatedFunction] = {}
    for name, given in table.items():
        path: Path = ("functions", name)
        rows = entries.table(table, path, known=FUNCTION_KEYS) if isinstance(given, dict) else {"value": given}
        of = _arguments(rows.get("of", "t"), (*path, "of"), entries)
        if of is None:
            entries.spoiled |= {name, f"{name}_dot", f"{name}_ddot"}
            continue
        bare[name] = StatedFunction(of)
        try:
            value = _value(rows, path if not isinstance(given, dict) else (*path, "value"), entries, folder)
            whole[name] = StatedFunction(of, value)
        except (BadStatement, BadRequest) as error:
            entries.findings.add(path, error.what, error.fix, on_key=True)
    return bare, whole


def _arguments(given: Any, path: Path, entries: Entries) -> tuple[NamedSymbol, ...] | None:
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        entries.findings.add(path, f"names of quantities belong here, not {kind_of(given)}", 'e.g. ["z", "z_dot"]')
        return None
    try:
        return tuple(entries.names.find(name, ARGUMENTS, where="") for name in listed)
    except BadStatement as error:
        entries.findings.blame(error, path, given)
        return None


def _value(rows: Mapping[str, Any], path: Path, entries: Entries, folder: FilePath | None) -> Any:
    ways = [key for key in ("value", "file", "times") if key in rows]
    if len(ways) > 1:
        raise BadStatement(f"{ways[0]!r} and {ways[1]!r} are both given", fix="a function has one of them")
    if "value" in rows:
        return None if rows["value"] == OPEN else entries.expression(rows["value"], path, MOTION)
    degree = rows.get("degree", 5)
    if "file" in rows:
        return _from_file(rows["file"], rows.get("columns"), degree, folder)
    if "times" in rows or "values" in rows:
        return data(_numbers(rows.get("times"), "times"), _numbers(rows.get("values"), "values"), degree)
    return None


def _numbers(given: Any, key: str) -> list[float]:
    listed = plain(given)
    if not isinstance(listed, list) or any(isinstance(x, bool) or not isinstance(x, (int, float)) for x in listed):
        raise BadStatement(f"a list of numbers belongs to {key!r}", fix=f"e.g. {key} = [0, 0.5, 1]")
    return [float(x) for x in listed]


def _from_file(name: Any, columns: Any, degree: Any, folder: FilePath | None) -> Data:
    """Two columns of a CSV file beside the problem file; the first row names the columns."""
    if not isinstance(name, str) or not name:
        raise BadStatement("the name of a file belongs here", fix='e.g. file = "wind.csv"')
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts or "\\" in name or ":" in name:
        raise BadStatement(
            f"{name[:60]!r} is not below the folder of the problem file", fix="put the data beside the problem file"
        )
    if folder is None:
        raise BadStatement(
            "a text has no folder in which its data could lie",
            fix="load the problem from its file, or state the values",
        )
    path = folder / inside
    if not path.resolve().is_relative_to(folder.resolve()):
        raise BadStatement(
            f"{name[:60]!r} is not below the folder of the problem file", fix="put the data beside the problem file"
        )
    content = read_bytes(path, allowance(MOST_BYTES), "a file of data")
    times, values = _columns(content, columns, name[:60])
    return data(times, values, degree)


def _columns(content: bytes, wanted: Any, name: str) -> tuple[list[float], list[float]]:
    try:
        rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error):
        raise BadStatement(f"{name!r} is not a CSV file", fix="save it as UTF-8, with commas") from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    header = [cell.strip() for cell in rows[0]] if rows else []
    if len(header) < 2:
        raise BadStatement(f"{name!r} has no two columns", fix="the first row names the columns: time,speed")
    names = header[:2] if wanted is None else wanted
    if not isinstance(names, list) or len(names) != 2 or any(column not in header for column in names):
        raise BadStatement(
            f"{name!r} does not have the columns asked for", fix=f"its columns: {', '.join(header)[:80]}; name two"
        )
    places = [header.index(column) for column in names]
    found: tuple[list[float], list[float]] = ([], [])
    for number, row in enumerate(rows[1:], start=2):
        try:
            for into, place in zip(found, places, strict=True):
                into.append(float(row[place]))
        except (ValueError, IndexError):
            raise BadStatement(
                f"row {number} of {name!r} has no number in a column asked for", fix="write numbers with a point"
            ) from None
    return found


def function_entries(functions: Mapping[str, StatedFunction]) -> dict[str, Any]:
    """The table as a file writes it; data are written out, so that the file is whole."""
    found: dict[str, Any] = {}
    for name, stated in functions.items():
        of = [symbol.name for symbol in stated.of]
        head: dict[str, Any] = {} if of == ["t"] else {"of": of}
        if isinstance(stated.value, Data):
            table = {"times": stated.value.times, "values": stated.value.values, "degree": stated.value.degree}
            found[name] = head | table
        elif stated.value is None:
            found[name] = head or OPEN
        else:
            found[name] = head | {"value": stated.value} if head else stated.value
    return found
