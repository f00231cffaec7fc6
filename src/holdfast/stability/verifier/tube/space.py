"""The monomials of forms over a cell of a tube: time, the box around its curve, and symbols for what solving leaves.

    1, e₀, e₀², e₀³      along the cell                 e_j, e₀e_j     across it, and within the step
    η                    symbols: linear only

An e_j counts as of second order, a symbol as of third: products beyond the third order go to the remainder. A symbol
carries a remainder of one stage through the later ones as what it is, one unknown number, and not as many.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array, Space

ORDER = 3


class TubeSpace(Space):
    """The same interface as `Space`, without its tables of exponents: those grow too fast here."""

    def __init__(self, others: int, symbols: int, terms: int) -> None:
        self.order, self.terms, self.others, self.symbols = ORDER, terms, others, symbols
        self.count = 4 + 2 * others + symbols
        levels = [0, 1, 2, *[2] * others, 3, *[3] * others, *[3] * symbols]
        self.by_degree = np.array([[float(d == level) for d in levels] for level in range(ORDER + 1)])
        self.along, self.square, self.cube = 1, 2, 3 + others
        self.first_symbol = 4 + 2 * others

    def across(self, j: int) -> int:
        """The place of e_j."""
        return 3 + j

    @property
    def size(self) -> int:
        return self.count

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array, int]:
        found = [(0, k, k) for k in range(self.count)] + [(k, 0, k) for k in range(1, self.count)]
        found += [(1, 1, self.square), (1, self.square, self.cube), (self.square, 1, self.cube)]
        for j in range(self.others):
            both = self.cube + 1 + j
            found += [(1, self.across(j), both), (self.across(j), 1, both)]
        left, right, target = (np.array(column) for column in zip(*found, strict=True))
        order = np.argsort(target, kind="stable")
        starts = np.searchsorted(target[order], np.arange(self.count))
        return left[order], right[order], starts, int(np.bincount(target).max())
