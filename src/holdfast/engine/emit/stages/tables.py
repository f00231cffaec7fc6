"""The elimination of a large system as one array of integers, as `drivers.fronts` reads it.

0  rows           1  fronts        2  entries         3  Reals of panels   4  Reals of updates
5  where fronts begin              6  where each entry goes in the panels
7  the row at each place of the order                 8  the fronts that hand on to each
9  the most rows of a front

a front    first, width, height, its panel, its update, rows below, their places in the parent, its children: from, to
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from holdfast.graph.fronts import Elimination, Front

HEAD, RECORD = 10, 9


@dataclass(frozen=True, eq=False)
class FrontTable:
    """The array, and the Reals that an elimination works on."""

    numbers: tuple[int, ...]
    work: int


@cache
def front_table(elimination: Elimination) -> FrontTable:
    """The tables of an elimination; made once."""
    fronts = elimination.fronts
    children: list[list[int]] = [[] for _ in fronts]
    for number, front in enumerate(fronts):
        if front.parent >= 0:
            children[front.parent].append(number)
    panels = _added(front.width * front.height for front in fronts)
    updates, most = _update_places(fronts, children)
    order = [0] * elimination.size
    for row, place in enumerate(elimination.place):
        order[place] = row
    scattered, inner = _scattered(elimination, panels), [number for few in children for number in few]
    at_fronts = HEAD
    at_entries = at_fronts + RECORD * len(fronts)
    at_order = at_entries + len(scattered)
    at_children = at_order + len(order)
    rest, begin = list[int](), at_children + len(inner)
    records, counted = list[int](), 0
    for number, front in enumerate(fronts):
        below = front.rows[front.width :]
        known = {} if front.parent < 0 else {row: k for k, row in enumerate(fronts[front.parent].rows)}
        at = begin + len(rest)
        rest += [*below, *(known[row] for row in below)]
        records += [front.first, front.width, front.height, panels[number], updates[number], at, at + len(below)]
        records += [counted, counted + len(children[number])]
        counted += len(children[number])
    size, highest = elimination.size, max(front.height for front in fronts)
    head = [size, len(fronts), len(scattered), panels[-1], most, at_fronts, at_entries, at_order, at_children, highest]
    work = panels[-1] + size + most + 2 * size + 2 * highest
    return FrontTable((*head, *records, *scattered, *order, *inner, *rest), work)


def _added(sizes: object) -> list[int]:
    """Where each of some parts begins, and where the last one ends."""
    found = [0]
    for size in sizes:  # type: ignore[attr-defined]
        found.append(found[-1] + size)
    return found


def _scattered(elimination: Elimination, panels: Sequence[int]) -> list[int]:
    """Where each entry goes: the front of its earlier row, the column there, and the later row in it."""
    front_of = [number for number, front in enumerate(elimination.fronts) for _ in range(front.width)]
    places = [{row: k for k, row in enumerate(front.rows)} for front in elimination.fronts]
    found = []
    for i, j in elimination.entries:
        low, high = sorted((elimination.place[i], elimination.place[j]))
        number = front_of[low]
        front = elimination.fronts[number]
        found.append(panels[number] + (low - front.first) * front.height + places[number][high])
    return found


def _update_places(fronts: Sequence[Front], children: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Where each update lies, and how many Reals they take: a place is free again once the parent has used it up."""
    places, most = [0] * len(fronts), 0
    taken: list[tuple[int, int]] = []  # begin and end of those that wait for their parents, in order
    for number, front in enumerate(fronts):
        size, begin = front.below**2, 0
        for low, high in taken:
            if begin + size <= low:
                break
            begin = max(begin, high)
        places[number] = begin
        most = max(most, begin + size)
        for child in children[number]:
            taken.remove((places[child], places[child] + fronts[child].below ** 2))
        if size:
            insort(taken, (begin, begin + size))
    return places, most
