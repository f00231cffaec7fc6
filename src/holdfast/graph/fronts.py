"""How a sparse symmetric matrix is eliminated, decided before any number is there.

    P A Pᵀ = L D Lᵀ

Columns of L that have nearly the same rows are eliminated together, as one dense *front*. A front has `width` columns
and, below them, rows that belong to later ones; what its elimination leaves for those is added to its parent.

    front      columns first, ..., first + width − 1, and `height` rows in all: its own columns come first
    panel      its columns, height × width, one after the other, kept: L D
    update     what is left of the rows below, (height − width) squared, used up by the parent

Duff & Reid (1983), ACM Trans. Math. Softw. 9, 302–325; the order is that of least degree (Liu 1985, ACM TOMS 11,
141–153), as SciPy finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

Pattern = Sequence[Sequence[int]]  # the columns of each row, going up

FEW = 8  # columns of a small branch that are eliminated as one front, zeros or not: a front of its own takes longer
ZEROS = 0.25  # of a panel: so many may be there for the sake of a wider one


@dataclass(frozen=True, eq=False)
class Front:
    """Some columns that are eliminated together."""

    first: int
    width: int
    rows: tuple[int, ...]  # places in the order, going up; the first `width` are its own columns
    parent: int  # -1: none

    @property
    def height(self) -> int:
        return len(self.rows)

    @property
    def below(self) -> int:
        """Rows that belong to later fronts."""
        return len(self.rows) - self.width


@dataclass(frozen=True, eq=False)
class Elimination:
    """An order of elimination of one pattern, and its fronts.

    `entries` are the places (row, column) of the lower triangle, diagonal included, in the order in which a node lists
    their values; `place` says where each row stands in the order of elimination.
    """

    size: int
    entries: tuple[tuple[int, int], ...]
    place: tuple[int, ...]
    fronts: tuple[Front, ...]

    def __str__(self) -> str:
        return self.digest

    __repr__ = __str__

    @cached_property
    def digest(self) -> str:
        """A hash of what is computed: the pattern, the order and the fronts."""
        told = (self.size, self.entries, self.place, [(front.first, front.width) for front in self.fronts])
        return sha256(repr(told).encode()).hexdigest()

    @cached_property
    def rows(self) -> np.ndarray:
        """The row of each entry."""
        return np.array([row for row, _ in self.entries])

    @cached_property
    def columns(self) -> np.ndarray:
        """The column of each entry."""
        return np.array([column for _, column in self.entries])

    @cached_property
    def products(self) -> int:
        """Products of one elimination."""
        return sum(
            (front.height - k) * (front.height - k - 1) // 2 for front in self.fronts for k in range(front.width)
        )


def elimination_in(pattern: Pattern, order: Sequence[int]) -> Elimination:
    """The elimination of a symmetric matrix whose rows have these columns, diagonal included; `order` gives the place
    of each row.
    """
    place, below, parents = _symbolic(pattern, order)
    entries = tuple((i, j) for i, row in enumerate(pattern) for j in row if j <= i)
    return Elimination(len(pattern), entries, tuple(place), tuple(_fronts(below, parents)))


def products_in(pattern: Pattern, order: Sequence[int]) -> int:
    """How many products eliminating a pattern takes, column by column."""
    return sum(len(rows) * (len(rows) + 1) // 2 for rows in _symbolic(pattern, order)[1])


def least_degree(pattern: Pattern) -> list[int]:
    """The place of each row in an order of least degree."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    counts = [len(row) for row in pattern]
    columns = np.array([column for row in pattern for column in row], dtype=np.int32)
    ends = np.concatenate([[0], np.cumsum(counts)])
    own = columns == np.repeat(np.arange(len(pattern)), counts)
    values = np.where(own, np.repeat(counts, counts).astype(float), -1.0)  # dominant: no other order is asked for
    matrix = csc_array((values, columns, ends), shape=(len(pattern),) * 2)
    found = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return [int(place) for place in found.perm_c]


def _symbolic(pattern: Pattern, place: Sequence[int]) -> tuple[list[int], list[list[int]], list[int]]:
    """The places in an order in which every branch stands together, the rows of each column of L below its diagonal,
    and the column to which each column hands on.
    """
    parents = _parents(pattern, place)
    moved = _branch_by_branch(parents)
    place = [moved[k] for k in place]
    parents = _parents(pattern, place)
    below: list[set[int]] = [set() for _ in pattern]
    for i, row in enumerate(pattern):
        here = place[i]
        below[here].update(place[j] for j in row if place[j] > here)
    for k, parent in enumerate(parents):
        if parent >= 0:
            below[parent] |= below[k]
            below[parent].discard(parent)
    return list(place), [sorted(rows) for rows in below], parents


def _parents(pattern: Pattern, place: Sequence[int]) -> list[int]:
    """Of each column the first row below the diagonal of L; -1 where there is none.

    Liu (1986), ACM Trans. Math. Softw. 12, 127–148.
    """
    parents, roots = [-1] * len(pattern), [-1] * len(pattern)
    row_at = [0] * len(pattern)
    for i, k in enumerate(place):
        row_at[k] = i
    for k, i in enumerate(row_at):
        for j in pattern[i]:
            at = place[j]
            while at != -1 and at < k:
                following = roots[at]
                roots[at] = k
                if following == -1:
                    parents[at] = k
                at = following
    return parents


def _branch_by_branch(parents: Sequence[int]) -> list[int]:
    """New places in which each column comes right after all that hand on to it."""
    inner: list[list[int]] = [[] for _ in parents]
    for k in reversed(range(len(parents))):
        if parents[k] >= 0:
            inner[parents[k]].append(k)
    places, count = [0] * len(parents), 0
    for root in (k for k, parent in enumerate(parents) if parent < 0):
        waiting = [root]
        while waiting:
            k = waiting[-1]
            if inner[k]:
                waiting.append(inner[k].pop())
            else:
                places[waiting.pop()] = count
                count += 1
    return places


def _fronts(below: Sequence[Sequence[int]], parents: Sequence[int]) -> Iterable[Front]:
    """The columns gathered: small branches whole, and columns above each other while few zeros come in."""
    ends = list(_gathered(below, parents))
    front_of, first = [0] * len(parents), 0
    for number, last in enumerate(ends):
        for k in range(first, last + 1):
            front_of[k] = number
        first = last + 1
    first = 0
    for last in ends:
        rows = (*range(first, last + 1), *below[last])
        yield Front(first, last + 1 - first, rows, front_of[below[last][0]] if below[last] else -1)
        first = last + 1


def _gathered(below: Sequence[Sequence[int]], parents: Sequence[int]) -> Iterable[int]:
    """The last column of each front."""
    size = len(parents)
    branch = [1] * size  # columns of the branch that ends in each
    for k, parent in enumerate(parents):
        if parent >= 0:
            branch[parent] += branch[k]
    whole = [branch[k] <= FEW and (parents[k] < 0 or branch[parents[k]] > FEW) for k in range(size)]
    first, entries = 0, 0  # of the front that is being gathered: its first column, and its entries that are not zero
    for k in range(size):
        entries += 1 + len(below[k])
        if branch[k] <= FEW:
            joined = not whole[k]
        else:
            joined = parents[k] == k + 1
            if joined:
                width, more = k + 2 - first, entries + 1 + len(below[k + 1])
                panel = width * (width + 1) // 2 + width * len(below[k + 1])
                joined = panel - more <= ZEROS * panel
        if not joined:
            yield k
            first, entries = k + 1, 0
