"""What the moving picture draws beside points and links: bodies, springs, the ground, forces as arrows.

Each is stated in ``[animation]`` by names of points, numbers or parameters, and columns of the run:

    circle = [{ at = "O", radius = "R" }]                  box = [{ at = "cart", width = 0.4, height = 0.2 }]
    wheel = [{ at = "hub", radius = 0.1, angle = "phi" }]  ground = [{ y = 0 }]
    spring = [["wall", "cart"]]                            damper = [["wall", "cart"]]
    arrow = [{ at = "cart", x = "F" }]                     follow = "cart"

Arrows share one scale: the longest of all, over the whole run, is `LONGEST` of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from holdfast.results.shapes import corners_in_picture
from holdfast.results.trajectory import Trajectory

KEYS = ("links", "traces", "circle", "box", "wheel", "ground", "spring", "damper", "arrow", "follow")
FIELDS = {
    "circle": ("at", "radius"), "box": ("at", "width", "height"), "wheel": ("at", "radius", "angle"),
    "ground": ("y",), "arrow": ("at", "x", "y"),
}  # fmt: skip
LONGEST = 0.25  # of the picture's larger side: the largest force of the run
MOST = 60  # bodies
DIGITS = 5  # of what is told to a page for each frame


class Bodies:
    """The bodies of a table, as plain data for a page or a drawing; what cannot be drawn is said in `complaints`."""

    def __init__(self, table: Mapping[str, Any], names: tuple[str, ...], run: Trajectory, rows: np.ndarray) -> None:
        self._place = {name: k for k, name in enumerate(names)}
        self._run, self._rows = run, rows
        self.complaints: list[str] = []
        self.found: list[dict[str, Any]] = []
        for key in table:
            if key not in KEYS:
                self._complain(f"{key!r} is nothing that can be drawn; {', '.join(KEYS)} are")
        for kind in ("ground", "circle", "box", "wheel", "spring", "damper", "arrow"):
            for entry in self._entries(table, kind):
                made = self._joint(kind, entry) if kind in ("spring", "damper") else self._body(kind, entry)
                if made is not None and len(self.found) < MOST:
                    self.found.append({"kind": kind, **made})
        self.follow = self._point(table["follow"]) if "follow" in table else None
        self._scale_arrows()

    def _complain(self, what: str) -> None:
        self.complaints.append(f"[animation]: {what}.")

    def _entries(self, table: Mapping[str, Any], kind: str) -> tuple[Any, ...]:
        given = table.get(kind, ())
        return given if isinstance(given, tuple) else (given,)

    def _point(self, name: Any) -> int | None:
        if isinstance(name, str) and name in self._place:
            return self._place[name]
        self._complain(f"{str(name)[:60]!r} is not among the points {', '.join(self._place)}")
        return None

    def _number(self, value: Any, kind: str) -> float | None:
        """A number, or the value of a parameter."""
        known = self._run.parameters
        if isinstance(value, str) and value in known:
            value = known[value]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(float(value)):
            return float(value)
        self._complain(f"{kind}: {str(value)[:60]!r} is neither a number nor a parameter")
        return None

    def _column(self, name: Any, kind: str) -> np.ndarray | None:
        """A column of the run at the rows that are drawn, or a number that stays."""
        if isinstance(name, str) and name in self._run:
            return np.nan_to_num(np.asarray(self._run[name], float)[self._rows])
        fixed = self._number(name, kind)
        return None if fixed is None else np.full(len(self._rows), fixed)

    def _joint(self, kind: str, entry: Any) -> dict[str, Any] | None:
        if not isinstance(entry, tuple) or len(entry) != 2:
            self._complain(f'a {kind} joins two points, e.g. {kind} = [["A", "B"]]')
            return None
        ends = [self._point(name) for name in entry]
        return None if None in ends else {"ends": ends}

    def _body(self, kind: str, entry: Any) -> dict[str, Any] | None:
        if not isinstance(entry, Mapping):
            self._complain(f"{kind} is stated by a table of {', '.join(FIELDS[kind])}")
            return None
        for key in entry:
            if key not in FIELDS[kind]:
                self._complain(f"{kind} has no {str(key)[:60]!r}; it has {', '.join(FIELDS[kind])}")
        made: dict[str, Any] = {}
        if kind == "ground":
            made["y"] = self._number(entry.get("y", 0), kind)
        else:
            made["at"] = self._point(entry.get("at"))
        for key in ("radius", "width", "height"):
            if key in FIELDS[kind]:
                size = self._number(entry.get(key), kind)
                made[key] = None if size is None else abs(size)
        if any(value is None for value in made.values()):
            return None
        return self._moved(kind, entry, made)

    def _moved(self, kind: str, entry: Mapping[str, Any], made: dict[str, Any]) -> dict[str, Any] | None:
        """What changes from frame to frame: the turn of a wheel, the force of an arrow."""
        wanted = {"wheel": ("angle",), "arrow": ("x", "y")}.get(kind, ())
        if kind == "arrow" and not {"x", "y"} & set(entry):
            self._complain("an arrow has x, y or both: columns of the run, such as a control")
            return None
        for key in wanted:
            column = self._column(entry.get(key, 0), kind)
            if column is None:
                return None
            made[key] = column
        if wanted:
            made["columns"] = {key: self._named(entry.get(key, 0), made[key]) for key in wanted}
        return made

    def _named(self, name: Any, values: np.ndarray) -> str | float:
        """What a page that runs again takes its place from: the name of a column, or the number that stays."""
        return name if isinstance(name, str) and name in self._run else float(values[0])

    def _scale_arrows(self) -> None:
        """All arrows as parts of the longest; the number that this is stands beside them."""
        arrows = [body for body in self.found if body["kind"] == "arrow"]
        longest = max((float(np.hypot(body["x"], body["y"]).max(initial=0.0)) for body in arrows), default=0.0)
        for body in arrows:
            body["longest"] = longest
            for key in ("x", "y"):
                body[key] = body[key] / longest if longest > 0 else body[key]


def plain_bodies(bodies: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Bodies as plain numbers and lists."""
    return [{key: _plain(value) for key, value in body.items()} for body in bodies]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [float(f"{each:.{DIGITS}g}") for each in value]
    return value


def reach(bodies: list[dict[str, Any]], frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and highest places that bodies take up beside the points: rows (x, y), perhaps none."""
    low, high = [], []
    for body in bodies:
        if body["kind"] == "ground":
            low.append([np.inf, body["y"]])
            high.append([-np.inf, body["y"]])
        elif body["kind"] == "mesh":
            corners = corners_in_picture(body, frames)
            low.append(corners.min(axis=(0, 1)))
            high.append(corners.max(axis=(0, 1)))
        elif "at" in body and body["kind"] != "arrow":
            at = frames[:, body["at"]]
            radius = body.get("radius", 0.0)
            half = np.array([body.get("width", 2 * radius) / 2, body.get("height", 2 * radius) / 2])
            low.append(at.min(axis=0) - half)
            high.append(at.max(axis=0) + half)
    empty = np.zeros((0, 2))
    return (np.array(low).reshape(-1, 2), np.array(high).reshape(-1, 2)) if low else (empty, empty)
