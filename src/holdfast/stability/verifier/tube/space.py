"""The monomials of forms over a cell of a tube: time, the place within a step, the box around the curve, and symbols.

    e₀ᵃ e₁ᵇ, a + b ≤ 3       along the cell, and along the step           weight 2 each
    e_j, e₀e_j, e₁e_j        across the cell: a direction for each state  weight 3 (4 where there are many)
    e_i e_j                  where there are few states
    η                        symbols for what solving leaves              weight 6

Products beyond the weight 6 go to the remainder. A symbol carries a remainder of one stage through the later ones as
what it is, one unknown number, and not as many.
"""

from __future__ import annotations

from functools import cache, cached_property

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array, Space, convolved, multiplied

DEPTH = 3
ORDER = 2 * DEPTH
LONG = sorted(((a, b) for a in range(DEPTH + 1) for b in range(DEPTH + 1 - a)), key=lambda e: (sum(e), e))
FEW = 12  # states, up to which products of two of them are kept


class SymbolSpace(Space):
    """Monomials of which the last level holds symbols, one place after the other."""

    first_symbol: int


class BoxSpace(SymbolSpace):
    """Over a box at a row, of time and states alone: e_i, e_i e_j, and symbols of the weight of two directions."""

    def __init__(self, directions: int, symbols: int) -> None:
        super().__init__((1,) * directions + (2,) * symbols, 2, 1)
        self.first_symbol = 1 + directions  # of one level, exponents that begin with the most zeros come first


@cache
def box_space(directions: int, symbols: int) -> BoxSpace:
    return BoxSpace(directions, symbols)


class TubeSpace(SymbolSpace):
    """The same interface as `Space`, without its tables of exponents: those grow too fast here."""

    narrows = False

    def __init__(self, others: int, symbols: int, terms: int) -> None:
        self.order, self.depth, self.terms, self.others, self.symbols = ORDER, DEPTH, terms, others, symbols
        self.squares = [(i, j) for i in range(others) for j in range(i, others)] if others <= FEW else []
        self._first_square = len(LONG) + 3 * others
        self.first_symbol = self._first_square + len(self.squares)
        weight = 3 if others <= FEW else 4
        levels = [*(2 * (a + b) for a, b in LONG), *[weight] * others, *[weight + 2] * (2 * others)]
        levels += [2 * weight] * len(self.squares) + [ORDER] * symbols
        self._size = len(levels)
        self.by_degree = np.array([[float(d == level) for d in levels] for level in range(ORDER + 1)])

    def long(self, a: int, b: int = 0) -> int:
        """The place of e₀ᵃ e₁ᵇ."""
        return LONG.index((a, b))

    def across(self, j: int, times: int | None = None) -> int:
        """The place of e_j, or of it times e₀ (0) or e₁ (1)."""
        return len(LONG) + j + (0 if times is None else (1 + times) * self.others)

    def square(self, k: int) -> int:
        """The place of the k-th product of two directions across."""
        return self._first_square + k

    @property
    def size(self) -> int:
        return self._size

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array, int]:
        return _sorted([*self._products(), *((0, k, k) for k in self._symbols), *((k, 0, k) for k in self._symbols)])

    @cached_property
    def _without_symbols(self) -> tuple[Array, Array, Array, int]:
        return _sorted(self._products())

    @property
    def _symbols(self) -> range:
        return range(self.first_symbol, self._size)

    def product(self, a: Array, b: Array, top: int) -> tuple[Array, int]:
        """As everywhere; symbols, which are many and mostly 0, meet constants only."""
        left, right, starts, most = self._without_symbols
        out = np.zeros_like(a)
        out[:, : self.first_symbol] = multiplied(a, b, (left, right, starts), top)
        first = self.first_symbol
        in_a, in_b = first + _used(a[:, first:]), first + _used(b[:, first:])
        out[:, first:in_a] += convolved(a[:, first:in_a], b[:, :1], top)
        out[:, first:in_b] += convolved(a[:, :1], b[:, first:in_b], top)
        return out, most

    def _products(self) -> list[tuple[int, int, int]]:
        """Which monomials without symbols multiply to which."""
        found = [
            (i, k, self.long(a + c, b + d))
            for i, (a, b) in enumerate(LONG)
            for k, (c, d) in enumerate(LONG)
            if a + b + c + d <= DEPTH
        ]
        for k in range(len(LONG), self.first_symbol):
            found += [(0, k, k), (k, 0, k)]
        for times in (0, 1):
            along = self.long(1 - times, times)
            for j in range(self.others):
                both = self.across(j, times)
                found += [(along, self.across(j), both), (self.across(j), along, both)]
        for k, (i, j) in enumerate(self.squares):
            found.append((self.across(i), self.across(j), self.square(k)))
            if i != j:
                found.append((self.across(j), self.across(i), self.square(k)))
        return found


def _sorted(found: list[tuple[int, int, int]]) -> tuple[Array, Array, Array, int]:
    left, right, target = (np.array(column) for column in zip(*found, strict=True))
    order = np.argsort(target, kind="stable")
    starts = np.searchsorted(target[order], np.arange(int(target.max()) + 1))
    return left[order], right[order], starts, int(np.bincount(target).max())


def _used(symbols: Array) -> int:
    """How many symbols, from the first on, hold all that are not 0."""
    some = np.any(np.any(symbols, axis=0), axis=1)  # axis by axis: ten times quicker
    return int(np.flatnonzero(some).max(initial=-1)) + 1
