"""Tubes in a certificate: cells once, beside the blocks that are proved in them.

tubes: [{"width": w, "scales": {state: range}, "cells": [[t0, t1, [[p0, p1, p2, p3] per state], [half per state]]]}]
       and "speeds": e where the rates of positions may be multiplied by factors from 1 - e to 1 + e, at whatever time
proof: {"kind": "tube", "tube": place in tubes, "factor", "gamma", "coefficient", "rounding", "radius"}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array
from holdfast.stability.verifier.refusal import require

Check = Callable[[Any, str], Any]
MOST_CELLS = 100_000
LARGEST = 1e150


@dataclass(frozen=True)
class TubeClaim:
    """The proof of one block in a tube, as stated."""

    factor: list[list[float]]
    gamma: float
    coefficient: float
    rounding: float
    radius: float
    tube: int


@dataclass(frozen=True, eq=False)
class StatedTube:
    """Cells that follow each other in time."""

    width: float
    scales: dict[str, float]
    spans: Array  # (cells, 2)
    curves: Array  # (cells, states, 4)
    halves: Array  # (cells, states)
    speeds: float = 0.0


def proof_in_tube(value: Any, where: str, fields: Mapping[str, Check], table: Any) -> TubeClaim:
    """A proof of this kind; `fields` and `table` are those of the file's own reader."""
    own = {"kind": _kind, "tube": _place, **fields}
    found = table(value, where, own)
    return TubeClaim(**{name: found[name] for name in own if name != "kind"})


def _kind(value: Any, where: str) -> str:
    require(value == "tube", f"{where} is of an unknown kind")
    return "tube"


def _place(value: Any, where: str) -> int:
    require(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 100, f"{where} names no tube")
    return int(value)


def tubes(value: Any, where: str) -> list[StatedTube]:
    """All tubes of a certificate."""
    require(isinstance(value, list) and len(value) <= 100, f"{where} is no list of tubes")
    return [_tube(entry) for entry in value]


def _tube(value: Any) -> StatedTube:
    known = {"width", "scales", "cells"}
    require(isinstance(value, dict) and known <= set(value) <= known | {"speeds"}, "a tube lacks a field or has more")
    scales, cells = value["scales"], value["cells"]
    require(isinstance(scales, dict) and 0 < len(scales) <= 1000, "a tube has no ranges of the states")
    require(isinstance(cells, list) and 0 < len(cells) <= MOST_CELLS, "a tube has no cells, or too many")
    ranges = {str(name): _number(x, 0.0) for name, x in scales.items()}
    count = len(ranges)
    spans, curves, halves = [], [], []
    for cell in cells:
        require(isinstance(cell, list) and len(cell) == 4, "a cell of a tube is not as it should be")
        first, last, curve, half = cell
        shaped = isinstance(curve, list) and isinstance(half, list) and len(curve) == len(half) == count
        require(shaped and all(isinstance(row, list) and len(row) == 4 for row in curve), "a cell has no shape")
        spans.append([_number(first), _number(last)])
        curves.append([[_number(x) for x in row] for row in curve])
        halves.append([_number(x, 0.0) for x in half])
    width, speeds = _number(value["width"], 0.0), _number(value.get("speeds", 0.0), 0.0)
    require(speeds < 1, "a tube has speeds that turn round")
    made = StatedTube(width, ranges, np.array(spans), np.array(curves), np.array(halves), speeds)
    require(bool((made.spans[:, 0] < made.spans[:, 1]).all()), "a cell of a tube ends before it begins")
    require(bool((made.spans[1:, 0] == made.spans[:-1, 1]).all()), "the cells of a tube do not meet")
    return made


def _number(value: Any, least: float = -LARGEST) -> float:
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    require(whole and least <= value < LARGEST, "a tube holds what is no number, or too large")  # nor what is NaN
    return float(value) + 0.0  # never -0.0
