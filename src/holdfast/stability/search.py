"""Best-first bisection: covering a region with cells until the bound of the defect over it is good enough."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from holdfast.errors import Undecided
from holdfast.stability.cells import Cell
from holdfast.stability.defect import DefectModel
from holdfast.stability.enclosure import Ball, Box, halves, hull, magnitude, norm

EMPTY, LEAF = "e", "c"
COARSE = {1: 1 / 100, 2: 1 / 60, 3: 1 / 12}  # the length of thin cells, as a part of the region, when first evaluated
THICK = 0.3  # the same of thick cells, which cost less


@dataclass(eq=False)
class Piece:
    """A node of the cover: cut in two, empty of the region, or a leaf with its bound."""

    box: Box
    bound: float = 0.0
    variable: int = 0
    kind: str = LEAF
    parts: tuple[Piece, ...] = field(default=())

    def text(self) -> str:
        """The tree in one line: a number cuts that variable in the middle, ``e`` is empty, ``c`` a cell."""
        out, waiting = [], [self]
        while waiting:
            piece = waiting.pop()
            if piece.parts:
                out.append(str(piece.variable))
                waiting.extend(reversed(piece.parts))
            else:
                out.append(piece.kind)
        return " ".join(out)


@dataclass(frozen=True, eq=False)
class Cover:
    """A region covered by cells, with the largest bound of ‖Lᵀc‖ over them."""

    root: Piece
    bound: float
    cells: int
    finished: bool  # the wanted bound was reached


@dataclass(frozen=True, eq=False)
class Judgement:
    """A bound of ‖Lᵀc‖ over the part of a box that lies in the region, and which variable to cut to better it."""

    bound: float
    variable: int
    box: Box  # the given one, cut down to the region


def judge(model: DefectModel, box: Box, region: Box, limits: Sequence[Ball]) -> Judgement | None:
    """A bound by the centred form; None where the box misses the region.

    A cell that is still long along the program is not evaluated: it is cut first.
    """
    cell = model.cell(box, limits)
    if cell is None:
        return None
    length, variable = _length_along(cell, region)
    tight = hull(cell.box)
    if length > (THICK if cell.thick or model.motion.affine else COARSE.get(cell.along, THICK)):
        return Judgement(float("inf"), variable, tight)
    try:
        best, slopes = model.enclosed(cell)
    except Undecided:
        return Judgement(float("inf"), variable, tight)
    return Judgement(norm(best), _most_moving(cell, slopes, variable), tight)


def _length_along(cell: Cell, region: Box) -> tuple[float, int]:
    """How long the cell is, as a part of the region, and which variable to cut to shorten it.

    Along the program, mostly; across it only where the cell could not be cut down to the tube.
    """
    longest, variable = 0.0, 0
    sizes = [float(u.rad()) for u in cell.offset]
    for k, size in enumerate(sizes):
        if k >= cell.along and size < 0.3 * max(sizes):
            continue
        shares = [magnitude(cell.inverse[k, j]) for j in range(len(region))]
        extent = sum(share * (high - low) for share, (low, high) in zip(shares, region, strict=True))
        length = 2 * size / extent if extent > 0 else 0.0
        if length > longest:
            longest, variable = length, _spreading(cell, k)
    return longest, variable


def _spreading(cell: Cell, direction: int) -> int:
    """The variable that spreads the cell most in one direction."""
    reach = [magnitude(cell.inverse[direction, j]) * float(x.rad()) for j, x in enumerate(cell.box)]
    return max(range(len(reach)), key=reach.__getitem__)


def _most_moving(cell: Cell, slopes: dict[int, list[Ball]], otherwise: int) -> int:
    """The variable to cut: the one that spreads the direction along which the coefficient moves most."""
    shares = {k: sum(map(magnitude, slope)) * magnitude(cell.offset[k]) for k, slope in slopes.items()}
    if not shares or not max(shares.values()) < float("inf"):
        return otherwise
    return _spreading(cell, max(shares, key=shares.__getitem__))


def cover(
    model: DefectModel, region: Box, limits: Sequence[Ball], *, wanted: float, seconds: float, most: int = 200_000
) -> Cover:
    """Bisect the worst cell again and again, until the bound is as wanted or the time is up."""
    started, number = time.monotonic(), count()
    root = Piece(region)
    waiting: list[tuple[float, int, Piece]] = []

    def add(piece: Piece) -> int:
        judgement = judge(model, piece.box, region, limits)
        if judgement is None:
            piece.kind = EMPTY
            return 0
        piece.bound, piece.variable, piece.box = judgement.bound, judgement.variable, judgement.box
        heappush(waiting, (-judgement.bound, next(number), piece))
        return 1

    cells = add(root)
    while waiting and region:
        worst = -waiting[0][0]
        if worst <= wanted or cells >= most or time.monotonic() - started > seconds:
            break
        piece = heappop(waiting)[2]
        piece.parts = tuple(Piece(half) for half in halves(piece.box, piece.variable))
        cells += sum(add(part) for part in piece.parts) - 1
    bound = -waiting[0][0] if waiting else 0.0
    return Cover(root, bound, cells, bound <= wanted)
