"""An order of elimination with little fill and a short critical path.

At each turn the vertex whose elimination adds the fewest entries goes next; among those, the one that waits for the
shortest chain of earlier eliminations. A chain is thus eaten from both ends at once.

Neighbours are sets as long as each vertex has few, so that the time grows with their number; once some vertex has many,
those of all that are left are the bits of one integer each: dense matrices ask for millions of intersections.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

REMEMBERED = 200  # rows from which on an order is worth remembering, and its integers are longer than sets of few
FEW = 12  # neighbours: up to here sets are intersected as fast as integers of some thousand bits (a strip has 8)


def symmetric_order(matrix: Sequence[Mapping[int, Any]]) -> list[int]:
    """The order for a symmetric matrix of sparse rows."""
    if all(i == j for i, row in enumerate(matrix) for j in row):
        return list(range(len(matrix)))
    if len(matrix) < REMEMBERED:
        return _order(matrix)
    return list(_remembered_order(tuple([tuple(sorted(row)) for row in matrix])))


@lru_cache(maxsize=2)
def _remembered_order(pattern: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """The same, by the columns of each row: those of a large system are asked for several times over."""
    return tuple(_order(pattern))


def _order(matrix: Sequence[Iterable[int]]) -> list[int]:
    joined = {i: {j for j in row if j != i} for i, row in enumerate(matrix)}
    left: _Sets | _Bits = _Sets(joined) if len(matrix) >= REMEMBERED else _Bits(joined)
    depth = dict.fromkeys(joined, 0)
    order: list[int] = []
    fill = {i: left.fill(i) for i in depth}  # kept up to date: what changes is counted anew
    newest = {i: (fill[i], 0, i) for i in depth}  # as each was last listed
    waiting = list(newest.values())
    heapify(waiting)

    def listed_anew(i: int) -> None:
        key = (fill[i], depth[i], i)
        if key != newest[i]:
            newest[i] = key
            heappush(waiting, key)

    while waiting:
        listed = heappop(waiting)
        best = listed[2]
        if best not in depth:
            continue
        if (fill[best], depth[best], best) > listed:  # its surroundings have changed since it was listed
            listed_anew(best)
            continue
        changed, near = left.without(best, filled=fill[best] > 0)
        later = depth.pop(best) + 1
        for i in changed:
            depth[i] = max(depth[i], later)
        if isinstance(left, _Sets) and left.crowded(changed):
            left = _Bits(left.neighbours)
        fill.update((i, left.fill(i)) for i in near)
        for i in changed:
            listed_anew(i)
        order.append(best)
    return order


class _Sets:
    """The neighbours of each vertex that is left, few of each."""

    def __init__(self, neighbours: dict[int, set[int]]) -> None:
        self.neighbours = neighbours

    def fill(self, i: int) -> int:
        """How many entries the elimination of a vertex adds: pairs of neighbours that are none of each other."""
        around = self.neighbours[i]
        pairs = len(around) * (len(around) - 1)
        return (pairs - sum([len(around & self.neighbours[j]) for j in around])) // 2

    def without(self, best: int, *, filled: bool) -> tuple[Collection[int], Collection[int]]:
        """Eliminate a vertex: its neighbours, and all whose fill may be another now."""
        around = self.neighbours.pop(best)
        for i in around:
            self.neighbours[i] |= around
            self.neighbours[i] -= {i, best}
        return around, around.union(*[self.neighbours[i] for i in around]) if filled else around

    def crowded(self, changed: Iterable[int]) -> bool:
        """Whether one of these has more than a few neighbours."""
        return any(len(self.neighbours[i]) > FEW for i in changed)


class _Bits:
    """The same as the bits of integers."""

    def __init__(self, neighbours: Mapping[int, Iterable[int]]) -> None:
        self.neighbours = {i: _bits(around) for i, around in neighbours.items()}
        self.joined = False  # whether each vertex is a neighbour of every other: nothing more can be filled

    def fill(self, i: int) -> int:
        around = self.neighbours[i]
        count = around.bit_count()
        if self.joined or count < 2:
            return 0
        return sum(count - 1 - (self.neighbours[j] & around).bit_count() for j in _members(around)) // 2

    def without(self, best: int, *, filled: bool) -> tuple[Collection[int], Collection[int]]:
        around, neighbours = self.neighbours.pop(best), self.neighbours
        changed = list(_members(around))
        for i in changed:
            neighbours[i] = (neighbours[i] | around) & ~(1 << i | 1 << best)
        if self.joined:
            return changed, ()
        self.joined = all(others.bit_count() == len(neighbours) - 1 for others in neighbours.values())
        if self.joined or not filled:
            return changed, list(neighbours) if self.joined else changed
        for i in changed:
            around |= neighbours[i]
        return changed, list(_members(around))


def _bits(members: Iterable[int]) -> int:
    """A set of small numbers."""
    bits = 0
    for member in members:
        bits |= 1 << member
    return bits


def _members(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
