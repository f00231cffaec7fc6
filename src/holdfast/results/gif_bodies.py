"""Bodies of a moving picture drawn by a pen: discs, boxes, wheels, springs, dampers, the ground, arrows of forces."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.results.bodies import LONGEST
from holdfast.results.shapes import corners_in_picture

Place = tuple[float, float]
INK, QUIET, BODY, FORCE = "#1b1f24", "#9aa4ad", "#e4e6e8", "#b93a06"
THIN, LINE, BOLD = 3, 4, 5  # pixels of the large picture, which is then made smaller
WIDE = 12  # half the width of a spring or a damper
TURNS, SPOKES = 12, 3
HATCH = 24  # between the strokes below the ground
HEAD = 18  # of an arrow, at most


class BodyPen:
    """Draws the bodies of one frame: `now` are the places of the points, `unit` the pixels of a unit of length."""

    def __init__(self, pen: Any, now: Sequence[Place], frame: int, unit: float, size: tuple[int, int]) -> None:
        self._pen, self._now, self._frame, self._unit, self._size = pen, now, frame, unit, size

    def draw(self, body: Mapping[str, Any], level: Callable[[float], float]) -> None:
        """One body; `level` gives the height on the picture of a height of the ground."""
        kind = body["kind"]
        if kind == "ground":
            self._ground(level(body["y"]))
        elif kind in ("spring", "damper"):
            self._along(body["ends"], _zigzag if kind == "spring" else _dashpot)
        elif kind == "box":
            x, y = self._now[body["at"]]
            w, h = body["width"] * self._unit / 2, body["height"] * self._unit / 2
            self._pen.rectangle([x - w, y - h, x + w, y + h], fill=BODY, outline=INK, width=THIN)
        elif kind in ("circle", "wheel"):
            self._round(body)

    def solids(self, bodies: Sequence[Mapping[str, Any]], depths: np.ndarray) -> None:
        """The shapes of all bodies, the farthest face first; `depths` says how near the points are."""
        places, pieces = np.column_stack([np.array(self._now), depths]), list[tuple[float, np.ndarray, bool]]()
        for body in bodies:
            corners = corners_in_picture(body, places)
            if "ball" in body:
                ball = corners_in_picture({**body, "corners": [body["ball"][:3]]}, places)[0]
                pieces.append((float(ball[2]), np.array([*ball[:2], body["ball"][3] * self._unit]), True))
            for face in body["faces"]:
                if not depths.any() or _facing(corners[face]) > 0:
                    pieces.append((float(corners[face, 2].mean()), corners[face, :2], True))
            pieces += [(float(corners[stroke, 2].mean()), corners[stroke, :2], False) for stroke in body["strokes"]]
        for _, piece, closed in sorted(pieces, key=lambda found: found[0]):
            if piece.ndim == 1:
                x, y, r = piece
                self._pen.ellipse([x - r, y - r, x + r, y + r], fill=BODY, outline=INK, width=THIN)
            elif closed:
                self._pen.polygon([tuple(p) for p in piece], fill=BODY, outline=INK, width=1)
            else:
                self._pen.line([tuple(p) for p in piece], fill=INK, width=THIN)

    def arrow(self, body: Mapping[str, Any]) -> None:
        """A force, as a part of the largest."""
        longest = LONGEST * max(self._size)
        x, y = self._now[body["at"]]
        dx, dy = longest * float(body["x"][self._frame]), -longest * float(body["y"][self._frame])
        length = math.hypot(dx, dy)
        if length < THIN:
            return
        ux, uy, head = dx / length, dy / length, min(HEAD, length)
        self._pen.line([(x, y), (x + dx - head * ux / 2, y + dy - head * uy / 2)], fill=FORCE, width=BOLD)
        sides = [(x + dx - head * (ux + s * uy), y + dy - head * (uy - s * ux)) for s in (0.45, -0.45)]
        self._pen.polygon([(x + dx, y + dy), *sides], fill=FORCE)

    def _round(self, body: Mapping[str, Any]) -> None:
        x, y = self._now[body["at"]]
        r = body["radius"] * self._unit
        wheel = body["kind"] == "wheel"
        self._pen.ellipse([x - r, y - r, x + r, y + r], fill=BODY if wheel else None, outline=INK, width=THIN)
        for k in range(SPOKES if wheel else 0):
            at = float(body["angle"][self._frame]) + k * math.pi / SPOKES
            a, b = r * math.cos(at), r * math.sin(at)
            self._pen.line([(x - a, y + b), (x + a, y - b)], fill=INK, width=THIN)

    def _ground(self, y: float) -> None:
        wide = self._size[0]
        self._pen.line([(0, y), (wide, y)], fill=QUIET, width=THIN)
        for x in range(0, wide + HATCH, HATCH):
            self._pen.line([(x, y), (x - HATCH / 2, y + HATCH / 2)], fill=QUIET, width=THIN - 1)

    def _along(self, ends: Sequence[int], drawing: Callable[[float], list[list[Place]]]) -> None:
        """Lines drawn from (0, 0) to (length, 0), turned into their place."""
        (a, b), (c, d) = self._now[ends[0]], self._now[ends[1]]
        length = math.hypot(c - a, d - b)
        if length == 0:
            return
        cos, sin = (c - a) / length, (d - b) / length
        for line in drawing(length):
            self._pen.line(
                [(a + cos * x - sin * y, b + sin * x + cos * y) for x, y in line], fill=INK, width=LINE, joint="curve"
            )


def _zigzag(length: float) -> list[list[Place]]:
    turns = [(length * (0.1 + 0.8 * (k + 0.5) / TURNS), WIDE if k % 2 else -WIDE) for k in range(TURNS)]
    return [[(0, 0), (0.1 * length, 0), *turns, (0.9 * length, 0), (length, 0)]]


def _dashpot(length: float) -> list[list[Place]]:
    cup, end, piston = 0.35 * length, 0.7 * length, 0.55 * length
    return [
        [(0, 0), (cup, 0)],
        [(end, -WIDE), (cup, -WIDE), (cup, WIDE), (end, WIDE)],
        [(piston, 3 - WIDE), (piston, WIDE - 3)],
        [(piston, 0), (length, 0)],
    ]


def _facing(face: np.ndarray) -> float:
    """Twice the area of a face on the picture, whose y goes down; positive where its outside is seen."""
    x, y = face[:, 0], face[:, 1]
    return -float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
