"""Best-first bisection: covering a region with cells until the bound of the defect over it is good enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.taylor import Form, least_of, range_of
from holdfast.stability.proof.cells import Cell
from holdfast.stability.proof.defect import DefectModel
from holdfast.stability.proof.enclosure import Ball, Box, halves, hull, magnitude, norm
from holdfast.stability.proof.work import EMPTY_CELL, LEAST_CELL, SearchWork

EMPTY, LEAF = "e", "c"
MOST_CELLS = 200_000  # cells
NEAR_ATTAINED = 1.2  # a bound within this factor of a value that is attained is not bettered any more


@dataclass(eq=False)
class Piece:
    """A node of the cover: cut in two, empty of the region, or a leaf with its bound."""

    box: Box
    bound: float = 0.0
    variable: int = 0
    kind: str = LEAF
    parts: tuple[Piece, ...] = field(default=())

    def leaves(self) -> list[Box]:
        """The boxes of all cells."""
        found, waiting = [], [self]
        while waiting:
            piece = waiting.pop()
            if not piece.parts and piece.kind == LEAF:
                found.append(piece.box)
            waiting.extend(reversed(piece.parts))
        return found


@dataclass(frozen=True, eq=False)
class Cover:
    """A region covered by cells, with the largest bound over them."""

    root: Piece
    bound: float
    cells: int
    attained: float = 0.0  # about the largest value that is, which no cutting betters

    def stated(self, room: float) -> float:
        """The bound with a little room for other enclosures."""
        return room * self.bound

    def near(self, wanted: float) -> bool:
        """Whether the bound is as wanted, or about as good as any."""
        return self.bound <= max(wanted, NEAR_ATTAINED * self.attained)

    def leaves(self) -> list[Box]:
        """The boxes of all cells."""
        return self.root.leaves()


@dataclass(frozen=True, eq=False)
class CellJudgement:
    """A bound over the part of a box that lies in the region, and which variable to cut to better it."""

    bound: float
    variable: int
    box: Box  # the given one, cut down to the region
    reached: float = 0.0  # about a value that is attained, which no cutting betters
    cost: float = LEAST_CELL  # units of work


def judge(model: DefectModel, limits: Sequence[Ball], region: Box, box: Box) -> CellJudgement | None:
    """A bound of ‖Lᵀc‖ by Taylor forms; None where the box misses the region.

    Where the forms are not defined over the whole cell, it is to be cut where the program bends most.
    """
    cell = model.cell(box, limits)
    if cell is None:
        return None
    tight = hull(cell.box)
    try:
        forms = model.enclosed(cell)
    except Undecided:
        bending = model.bending(cell)
        variable = longest(tight, region) if bending is None else bending
        return CellJudgement(float("inf"), variable, tight, cost=model.cost(cell, whole=False))
    bound = norm([range_of(form) for form in forms])
    reached = norm([least_of(form) for form in forms]) if bound < float("inf") else 0.0
    return CellJudgement(bound, _most_moving(cell, forms, longest(tight, region)), tight, reached, model.cost(cell))


def longest(box: Box, region: Box) -> int:
    """The variable in which a box is longest, as a part of the region."""
    sizes = [(high - low) / max(top - bottom, 1e-300) for (low, high), (bottom, top) in zip(box, region, strict=True)]
    return max(range(len(sizes)), key=sizes.__getitem__, default=0)


def _most_moving(cell: Cell, forms: Sequence[Any], otherwise: int) -> int:
    """The variable to cut: the one that spreads the direction along which the coefficient moves most."""
    shares = [0.0] * (cell.along + len(cell.wide))
    for form in forms:
        for k, share in enumerate(form.shares() if isinstance(form, Form) else ()):
            shares[k] += magnitude(share)
    if not 0 < max(shares, default=0.0) < float("inf"):
        return otherwise
    most = max(range(len(shares)), key=shares.__getitem__)
    return cell.spreading(cell.direction(most) if most < cell.along else cell.slopes[cell.wide[most - cell.along]])


def cover(judge: Callable[[Box], CellJudgement | None], region: Box, *, wanted: float, work: SearchWork) -> Cover:
    """Bisect the worst cell again and again, until the bound is as wanted, near the truth, or the work is done."""
    number = count()
    root, attained = Piece(region), 0.0
    waiting: list[tuple[float, int, Piece]] = []

    def add(piece: Piece) -> int:
        nonlocal attained
        judgement = judge(piece.box)
        work.charge(EMPTY_CELL if judgement is None else judgement.cost)
        if judgement is None:
            piece.kind = EMPTY
            return 0
        piece.bound, piece.variable, piece.box = judgement.bound, judgement.variable, judgement.box
        attained = max(attained, judgement.reached)
        heappush(waiting, (-judgement.bound, next(number), piece))
        return 1

    cells = add(root)
    while waiting and region:
        worst = -waiting[0][0]
        if worst <= max(wanted, NEAR_ATTAINED * attained) or cells >= MOST_CELLS or work.left <= 0:
            break
        piece = heappop(waiting)[2]
        piece.parts = tuple(Piece(half) for half in halves(piece.box, piece.variable))
        cells += sum(add(part) for part in piece.parts) - 1
    bound = -waiting[0][0] if waiting else 0.0
    return Cover(root, bound, cells, attained)
