"""Points of variable mass in a problem file.

[system.masses.rocket]
position = ["x", "y", "z"]              # or a vector in quotes, such as the name of a point
mass = "m0 - burn*t"
force = ["0", "0", "-(m0 - burn*t)*g"]
streams = [{ velocity = ["0", "0", "-c"], relative = true }]      # rate = "..." where there are several
thrust = [0, "P2", "P3"]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import sympy as sp

from holdfast.errors import BadExpression, BadStatement
from holdfast.problem.file.entries import Entries, kind_of
from holdfast.problem.file.places import Path
from holdfast.problem.masses.moving_mass import REACTIVE, Inner, Jump, MovingMass, Stream
from holdfast.problem.vocabulary import MOTION, POSITION, Kinds

MASS_KEYS = [field.name for field in fields(MovingMass)]
LISTS: dict[str, tuple[type[Any], dict[str, Kinds | None]]] = {
    "streams": (Stream, {"velocity": MOTION, "rate": MOTION, "relative": None}),
    "inner": (Inner, {"mass": MOTION, "velocity": MOTION, "acceleration": REACTIVE}),
    "jumps": (Jump, {"flow": MOTION, "change": MOTION}),
}
SCALARS = {"mass", "rate", "flow"}
VECTORS: dict[str, Kinds] = {"position": POSITION, "force": MOTION, "reactive": REACTIVE}


def read_masses(table: Mapping[str, Any], entries: Entries) -> dict[str, MovingMass]:
    """The masses of a file; what is wrong with one is noted, and the others are read on."""
    found = {}
    for name in table:
        path: Path = ("system", "masses", name)
        rows = entries.table(table, path, known=MASS_KEYS)
        if not isinstance(table[name], dict):
            continue
        for key in ("position", "mass"):
            if key not in rows:
                entries.findings.add(path, f"the mass {name!r} has no {key}", f'e.g. {key} = "..."', on_key=True)
        reader = _Reader(entries, path)
        made = reader.mass(rows)
        if made is not None:
            try:
                made.admitted(entries.names, "")
                found[name] = made
            except BadStatement as error:
                where = tuple(part for part in error.where.strip(".").replace("[", ".").split(".") if part)[:1]
                entries.findings.blame(error, (*path, *where))
    return found


class _Reader:
    """One mass of a file."""

    def __init__(self, entries: Entries, path: Path) -> None:
        self.entries, self.path, self.sound = entries, path, True

    def mass(self, rows: Mapping[str, Any]) -> MovingMass | None:
        if "position" not in rows or "mass" not in rows:
            return None
        given: dict[str, Any] = {"mass": self._scalar(rows["mass"], (*self.path, "mass"), MOTION)}
        for key, allowed in VECTORS.items():
            if key in rows:
                given[key] = self._vector(rows[key], (*self.path, key), allowed)
        for key in LISTS:
            if key in rows:
                given[key] = self._list(rows[key], key)
        if "turning" in rows:
            value, path = rows["turning"], (*self.path, "turning")
            given["turning"] = (
                self._vector(value, path, MOTION) if isinstance(value, list) else (self._scalar(value, path, MOTION),)
            )
        if "thrust" in rows:
            given["thrust"] = self._thrust(rows["thrust"])
        return MovingMass(**given) if self.sound else None

    def _scalar(self, value: Any, path: Path, allowed: Kinds) -> sp.Expr | None:
        found = self.entries.expression(value, path, allowed)
        self.sound = self.sound and found is not None
        return found

    def _vector(self, value: Any, path: Path, allowed: Kinds) -> tuple[Any, ...]:
        if isinstance(value, list):
            return tuple(self._scalar(part, (*path, k), allowed) for k, part in enumerate(value))
        if isinstance(value, str) and not self.entries.expressions.work.spent:
            try:
                vector = self.entries.expressions.read(value)
                if not isinstance(vector, tuple):
                    raise BadExpression("a vector belongs here, and this is a scalar", fix='e.g. ["x", "y"]')
                return tuple(self.entries.names.admit(part, allowed, where="") for part in vector)
            except BadStatement as error:
                self.entries.blame(error, path, value)
        else:
            self.entries.findings.add(path, f"a vector belongs here, not {kind_of(value)}", 'e.g. ["x", "y"]')
        self.sound = False
        return ()

    def _list(self, value: Any, key: str) -> tuple[Any, ...]:
        kind, keys = LISTS[key]
        path = (*self.path, key)
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            self.entries.findings.add(
                path, "a list of tables belongs here", "e.g. [{ " + " = ..., ".join(keys) + " = ... }]"
            )
            self.sound = False
            return ()
        return tuple(
            made for k, row in enumerate(value) if (made := self._row(row, kind, keys, (*path, k))) is not None
        )

    def _row(self, row: Mapping[str, Any], kind: type[Any], keys: dict[str, Kinds | None], path: Path) -> Any:
        self.entries.check_keys(row, path, keys)
        given: dict[str, Any] = {}
        for key, allowed in keys.items():
            if key not in row:
                continue
            if allowed is None:
                given[key] = row[key]
                if not isinstance(row[key], bool):
                    self.entries.findings.add((*path, key), "true or false belongs here")
                    self.sound = False
            elif key in SCALARS:
                given[key] = self._scalar(row[key], (*path, key), allowed)
            else:
                given[key] = self._vector(row[key], (*path, key), allowed)
        missing = [part.name for part in fields(kind) if part.default is MISSING and part.name not in row]
        if missing:
            verb = "is" if len(missing) == 1 else "are"
            self.entries.findings.add(path, f"{' and '.join(missing)} {verb} missing here", "state it")
            self.sound = False
            return None
        return kind(**given)

    def _thrust(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, list) and all(isinstance(part, str) or part == 0 for part in value):
            return tuple(value)
        self.entries.findings.add(
            (*self.path, "thrust"), "names of controls by component belong here", 'e.g. [0, "P2", "P3"]'
        )
        self.sound = False
        return ()


def mass_entries(mass: MovingMass) -> dict[str, Any]:
    """One mass as the entries of its table."""
    entries: dict[str, Any] = {"position": mass.position, "mass": mass.mass}
    entries |= {key: getattr(mass, key) for key in ("force", "reactive", "turning") if getattr(mass, key)}
    for key, (_, names) in LISTS.items():
        rows = [
            {name: value for name in names if (value := getattr(row, name)) is not None and value is not False}
            for row in getattr(mass, key)
        ]
        if rows:
            entries[key] = rows
    if mass.thrust:
        entries["thrust"] = [name or 0 for name in mass.thrust]
    return entries
