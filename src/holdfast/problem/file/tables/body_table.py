"""Bodies and joints in a problem file.

[bodies.arm]
mass = 2
center = [0, 0, 0.25]                     # of mass, in the axes of the body
inertia = [0.05, 0.05, 0.004]             # about it: xx yy zz, perhaps xy xz yz; one number in the plane
points = { tip = [0, 0, 0.5] }

[joints.elbow]
kind = "revolute"
between = ["ground", "arm"]               # bodies, points on them, points of the ground, or "ground"
axis = [0, 1, 0]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import sympy as sp

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import CHANGING, Body
from holdfast.problem.bodies.joints import Joint
from holdfast.problem.bodies.kinds import KINDS
from holdfast.problem.bodies.rows import joint_rows
from holdfast.problem.bodies.statement import body_frames
from holdfast.problem.file.entries import Entries, kind_of, plain
from holdfast.problem.file.places import Path
from holdfast.problem.vocabulary import CONSTANT, Kinds

BODY_KEYS = [field.name for field in fields(Body)]
AS_TEXT = ("surface", "curve")  # functions of places, which the joint reads by itself


def read_bodies(raw: Mapping[str, Any], entries: Entries, gravity: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """Bodies, joints and gravity for `System`; all that they name is declared on the way."""
    reader = _BodyReader(entries)
    points, placing, definitions = known["points"], known["placing"], known["definitions"]
    parameters = {**known["parameters"]}
    found: dict[str, Any] = {"bodies": reader.bodies(raw), "joints": reader.joints(raw)}
    found["gravity"] = reader.vector(gravity, ("system", "gravity")) if gravity is not None else ()
    if not found["bodies"] and not reader.sound:
        return found
    try:
        if reader.sound:
            made = body_frames(found["bodies"], found["joints"], found["gravity"], points, entries.names, placing)
            for name, place in made.frames.points.items():
                entries.expressions.add_point(name, place)
            found["rows"] = joint_rows(made, points, {**definitions, **made.frames.definitions}, parameters)
    except BadStatement as error:
        entries.findings.blame_where(error)
    return found


class _BodyReader:
    """Single values, exact, each noted with its place where it is wrong."""

    def __init__(self, entries: Entries) -> None:
        self.entries, self.sound = entries, True

    def bodies(self, raw: Mapping[str, Any]) -> dict[str, Body]:
        table, found = self.entries.table(raw, ("bodies",)), {}
        if not table:
            self.note(("bodies",), "there are joints and no bodies", "write [bodies.NAME] with its mass")
        for name in table:
            path: Path = ("bodies", name)
            rows = self.entries.table(table, path, known=BODY_KEYS)
            if not isinstance(table[name], dict) or set(rows) - set(BODY_KEYS):
                self.sound = False
                continue
            if "mass" not in rows:
                self.note(path, f"the body {name!r} has no mass", "e.g. mass = 1", on_key=True)
                continue
            given = {key: self._of_body(value, key, (*path, key)) for key, value in rows.items()}
            found[name] = Body(**given)
        return found

    def _of_body(self, value: Any, key: str, path: Path) -> Any:
        if key == "points":
            table = value if isinstance(value, dict) else {}
            if not isinstance(value, dict):
                self.note(path, f"a table of points belongs here, not {kind_of(value)}", "e.g. { tip = [0, 0, 1] }")
            return {name: self.vector(place, (*path, name)) for name, place in table.items()}
        if key == "shape":
            return plain(value)
        if key == "orientation":
            return self.orientation(value, path)
        kinds = CHANGING if key in ("mass", "center", "inertia") else CONSTANT
        return self.vector(value, path, kinds) if isinstance(value, list) else self.scalar(value, path, kinds)

    def joints(self, raw: Mapping[str, Any]) -> dict[str, Joint]:
        table, found = self.entries.table(raw, ("joints",)), {}
        for name in table:
            path: Path = ("joints", name)
            rows = self.entries.table(table, path)
            kind = self._kind(rows, path)
            if kind is None:
                continue
            keys = ["kind", "between", *(f.name for f in fields(kind) if f.name not in ("a", "b"))]
            self.entries.check_keys(rows, path, keys)
            between = rows.get("between")
            if not isinstance(between, list) or len(between) != 2 or not all(isinstance(e, str) for e in between):
                self.note(
                    (*path, "between"), "a joint is between two bodies or points", 'e.g. between = ["ground", "arm"]'
                )
                continue
            given = {k: self._of_joint(v, k, (*path, k)) for k, v in rows.items() if k in keys[2:]}
            if set(rows) <= set(keys):
                found[name] = kind(between[0], between[1], **given)
            else:
                self.sound = False
        return found

    def _kind(self, rows: Mapping[str, Any], path: Path) -> type[Joint] | None:
        word = rows.get("kind")
        if isinstance(word, str) and word in KINDS:
            return KINDS[word]
        known = "kinds: " + ", ".join(KINDS)
        if not isinstance(word, str):
            self.note((*path, "kind"), "a joint says its kind", known)
        else:
            self.note(
                (*path, "kind"), f"the kind of joint {word[:40]!r} is not known", did_you_mean(word, KINDS, known)
            )
        return None

    def _of_joint(self, value: Any, key: str, path: Path) -> Any:
        if key == "orientation":
            return self.orientation(value, path)
        if key in AS_TEXT:
            return value
        if key in ("axis", "axis2", "normal"):
            return value if isinstance(value, str) else self.vector(value, path)
        return self.scalar(value, path)

    def scalar(self, value: Any, path: Path, kinds: Kinds = CONSTANT) -> sp.Expr:
        found = self.entries.expression(value, path, kinds)
        self.sound = self.sound and found is not None
        return sp.S.One if found is None else found

    def vector(self, value: Any, path: Path, kinds: Kinds = CONSTANT) -> tuple[Any, ...]:
        if not isinstance(value, list):
            self.note(path, f"a list of numbers belongs here, not {kind_of(value)}", "e.g. [0, 0, 1]")
            return ()
        return tuple(
            self.vector(part, (*path, k), kinds) if isinstance(part, list) else self.scalar(part, (*path, k), kinds)
            for k, part in enumerate(value)
        )

    def orientation(self, value: Any, path: Path) -> Any:
        """(w, x, y, z), an angle in the plane, or a table with axis and angle, or rpy."""
        if isinstance(value, dict):
            return {
                key: part if isinstance(part, str) and key == "axis" else self._part(part, (*path, key))
                for key, part in value.items()
            }
        return self._part(value, path)

    def _part(self, value: Any, path: Path) -> Any:
        return self.vector(value, path) if isinstance(value, list) else self.scalar(value, path)

    def note(self, path: Path, what: str, hint: str, *, on_key: bool = False) -> None:
        self.entries.findings.add(path, what, hint, on_key=on_key)
        self.sound = False


def read_together(value: Any, path: Path, entries: Entries) -> Any:
    """Start values that come several at a time: a quaternion, a spin, or a turn as a table."""
    return _BodyReader(entries).orientation(value, path)


def body_entries(body: Body) -> dict[str, Any]:
    """A body as its table has it."""
    found: dict[str, Any] = {}
    for key in BODY_KEYS:
        value = getattr(body, key)
        if value is None or (key == "points" and not value):
            continue
        if key == "inertia":
            if not any(value) and len(value) == 6:
                continue
            value = value[0] if len(value) == 1 else value[:3] if not any(value[3:]) else value
        if key == "spin" and len(value) == 1:
            value = value[0]
        found[key] = value
    return found


def joint_entries(joint: Joint) -> dict[str, Any]:
    """A joint as its table has it."""
    return {"kind": joint.kind, "between": (joint.a, joint.b), **joint.stated()}
