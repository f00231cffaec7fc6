"""``[family]``: the member of all systems that keep the program.

c0, vectors             the cross-product form
tangential, metric      the projected form: u by coordinate, M as rows
order                   2, or 1: the names that [system] lists as coordinates are states of first-order systems
criterion               the best member: { kind = "nearest", wanted = {...} } or { kind = "least-effort", ... }
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.problem.file.entries import Entries, kind_of
from holdfast.problem.file.places import Path
from holdfast.problem.quantities import Coordinate
from holdfast.problem.vocabulary import MOTION, POSITION

FAMILY_KEYS = "order c0 vectors tangential metric criterion".split()
CRITERIA = {"nearest": ("wanted", "weights"), "least-effort": ("free", "mass", "weights")}
FIELDS, MATRICES = ("tangential", "wanted", "free"), ("metric", "mass", "weights")


def read_family(table: Mapping[str, Any], entries: Entries) -> dict[str, Any]:
    """What the table chooses; wrong entries are noted, each at its place."""
    entries.check_keys(table, ("family",), FAMILY_KEYS)
    found: dict[str, Any] = {}
    for key in table:
        path: Path = ("family", key)
        if key == "order":
            found[key] = _order(table[key], path, entries)
        elif key == "criterion":
            found[key] = _criterion(entries.table(table, path), path, entries)
        elif key in FAMILY_KEYS:
            found[key] = _value(key, table, path, entries)
    return found


def _order(value: Any, path: Path, entries: Entries) -> int:
    if value not in (1, 2) or isinstance(value, (bool, float)):
        entries.findings.add(path, "systems of order 1 or 2 keep a program", "order = 1, or leave it out")
        return 2
    return int(value)


def _criterion(table: Mapping[str, Any], path: Path, entries: Entries) -> dict[str, Any]:
    kind = table.get("kind")
    if kind not in CRITERIA:
        listed = " or ".join(f'"{name}"' for name in CRITERIA)
        entries.findings.add((*path, "kind"), f"a criterion is of the kind {listed}", f"e.g. kind = {listed}")
        return {}
    entries.check_keys(table, path, ("kind", *CRITERIA[kind]))
    needed = CRITERIA[kind][0]
    if needed not in table:
        entries.findings.add(path, f"the criterion says nothing of {needed!r}", f"{needed} = {{ x = ... }}")
    found: dict[str, Any] = {"kind": kind}
    return found | {key: _value(key, table, (*path, key), entries) for key in table if key in CRITERIA[kind]}


def _value(key: str, table: Mapping[str, Any], path: Path, entries: Entries) -> Any:
    if key == "c0":
        return entries.expression(table[key], path, MOTION)
    if key in FIELDS:
        return _field(entries.table(table, path), path, entries)
    allowed = POSITION if key in MATRICES else MOTION
    rows = table[key]
    if not isinstance(rows, list):
        entries.findings.add(path, f"a list of rows belongs here, not {kind_of(rows)}", "e.g. [[1, 0], [0, 2]]")
        return ()
    return tuple(_row(row, (*path, i), entries, allowed) for i, row in enumerate(rows))


def _row(row: Any, path: Path, entries: Entries, allowed: Any) -> Any:
    if isinstance(row, list):
        return tuple(entries.expression(entry, (*path, j), allowed) for j, entry in enumerate(row))
    return entries.expression(row, path, allowed)


def _field(table: Mapping[str, Any], path: Path, entries: Entries) -> dict[str, Any]:
    """u by coordinate."""
    for name in table:
        if name not in entries.names or not isinstance(entries.names[name], Coordinate):
            what = f"{name[:40]!r} is not a coordinate"
            entries.findings.add((*path, name), what, "give it by coordinate", on_key=True)
    return {name: entries.expression(value, (*path, name), MOTION) for name, value in table.items()}
