"""The monomials of the variables of a cell, up to an order; a variable of small effect may weigh more than one."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement

import numpy as np


class CellMonomials:
    """Each as the sorted tuple of its variables, by degree."""

    def __init__(self, weights: tuple[int, ...], order: int) -> None:
        self.weights, self.order = weights, order
        found = [
            chosen
            for count in range(order + 1)
            for chosen in combinations_with_replacement(range(len(weights)), count)
            if sum(weights[k] for k in chosen) <= order
        ]
        self.factors = sorted(found, key=lambda chosen: sum(weights[k] for k in chosen))
        self.degrees = [sum(weights[k] for k in chosen) for chosen in self.factors]
        self.place = {chosen: i for i, chosen in enumerate(self.factors)}
        self.even = np.array([bool(f) and all(f.count(k) % 2 == 0 for k in f) for f in self.factors])
        self._pairs: dict[tuple[frozenset[int], frozenset[int]], list[tuple[int, int, int]]] = {}

    def __len__(self) -> int:
        return len(self.factors)

    def pairs(self, a: frozenset[int], b: frozenset[int]) -> list[tuple[int, int, int]]:
        """Which monomials of some variables meet which of others in which, sorted by the last; found once."""
        if (a, b) not in self._pairs:
            self._pairs[a, b] = self._meeting(a, b)
        return self._pairs[a, b]

    def _meeting(self, a: frozenset[int], b: frozenset[int]) -> list[tuple[int, int, int]]:
        first = [i for i, chosen in enumerate(self.factors) if a.issuperset(chosen)]
        second = [j for j, chosen in enumerate(self.factors) if b.issuperset(chosen)]
        found = [
            (i, j, self.place[tuple(sorted(self.factors[i] + self.factors[j]))])
            for i in first
            for j in second
            if self.degrees[i] + self.degrees[j] <= self.order
        ]
        return sorted(found, key=lambda pair: pair[2])

    def values(self, point: np.ndarray) -> np.ndarray:
        """All monomials at a point."""
        return np.array([np.prod([point[k] for k in chosen]) if chosen else 1.0 for chosen in self.factors])


@cache
def monomials(weights: tuple[int, ...], order: int) -> CellMonomials:
    """Made once."""
    return CellMonomials(weights, order)
