"""The monomials of forms over a cell of a tube: time, the place within a step, the box around the curve, and symbols.

    e₀ᵃ e₁ᵇ, a + b ≤ 3       along the cell, and along the step
    e_j, e₀e_j, e₁e_j        across the cell: one direction for each state
    η                        symbols for what solving leaves: linear only

An e_j counts as of second order, a symbol as of third: products beyond the third order go to the remainder. A symbol
carries a remainder of one stage through the later ones as what it is, one unknown number, and not as many.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array, Space

ORDER = 3
LONG = sorted(((a, b) for a in range(ORDER + 1) for b in range(ORDER + 1 - a)), key=lambda e: (sum(e), e))


class TubeSpace(Space):
    """The same interface as `Space`, without its tables of exponents: those grow too fast here."""

    def __init__(self, others: int, symbols: int, terms: int) -> None:
        self.order, self.terms, self.others, self.symbols = ORDER, terms, others, symbols
        self.first_symbol = len(LONG) + 3 * others
        levels = [*map(sum, LONG), *[2] * others, *[3] * (2 * others + symbols)]
        self._size = len(levels)
        self.by_degree = np.array([[float(d == level) for d in levels] for level in range(ORDER + 1)])

    def long(self, a: int, b: int = 0) -> int:
        """The place of e₀ᵃ e₁ᵇ."""
        return LONG.index((a, b))

    def across(self, j: int, times: int | None = None) -> int:
        """The place of e_j, or of it times e₀ (0) or e₁ (1)."""
        return len(LONG) + j + (0 if times is None else (1 + times) * self.others)

    @property
    def size(self) -> int:
        return self._size

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array, int]:
        found = [
            (i, k, self.long(a + c, b + d))
            for i, (a, b) in enumerate(LONG)
            for k, (c, d) in enumerate(LONG)
            if a + b + c + d <= ORDER
        ]
        for k in range(len(LONG), self._size):
            found += [(0, k, k), (k, 0, k)]
        for times in (0, 1):
            along = self.long(1 - times, times)
            for j in range(self.others):
                both = self.across(j, times)
                found += [(along, self.across(j), both), (self.across(j), along, both)]
        left, right, target = (np.array(column) for column in zip(*found, strict=True))
        order = np.argsort(target, kind="stable")
        starts = np.searchsorted(target[order], np.arange(self._size))
        return left[order], right[order], starts, int(np.bincount(target).max())
