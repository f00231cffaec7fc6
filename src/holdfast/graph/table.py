"""Functions by pieces: polynomials between increasing ends, with exact derivatives.

    f(x) = Σ_k c_ik (x − b_i)^k      for b_i ≤ x < b_i+1

Below the first and beyond the last end there is no value (nan), up to a rounding of the range, so that a run may end
just where its data do.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256

BEYOND = 2.0**-30  # of the range: what times that are sums of steps may miss the ends by


@dataclass(frozen=True, eq=False)
class Table:
    """Ends and coefficients (lowest first) of all pieces, under the name of the function."""

    name: str
    ends: tuple[float, ...]
    pieces: tuple[tuple[float, ...], ...]

    @property
    def degree(self) -> int:
        return len(self.pieces[0]) - 1

    @cached_property
    def digest(self) -> str:
        """A hash of what is computed; the name does not enter."""
        return sha256(repr((self.ends, self.pieces)).encode()).hexdigest()

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The range, with the little beyond that rounding may ask for."""
        beyond = BEYOND * (self.ends[-1] - self.ends[0])
        return self.ends[0] - beyond, self.ends[-1] + beyond


@dataclass(frozen=True, eq=False)
class TablePart:
    """A derivative of a table, as a node's data."""

    table: Table
    order: int

    def __str__(self) -> str:
        return f"{self.table.digest}/{self.order}"

    def __repr__(self) -> str:
        return f"{self.table.name}/{self.order}"

    def exact(self, place: int) -> tuple[Fraction, ...]:
        """The coefficients of one piece without any rounding, for arithmetics that enclose."""
        row = self.table.pieces[place]
        return tuple(_falling(k, self.order) * Fraction(row[k]) for k in range(self.order, len(row)))

    @cached_property
    def pieces(self) -> tuple[tuple[float, ...], ...]:
        """Coefficients of the derivative, lowest first: c_k k (k − 1) ... (k − order + 1), each rounded once."""
        weights = [_falling(k, self.order) for k in range(self.order, self.table.degree + 1)]
        return tuple(tuple(w * c for w, c in zip(weights, row[self.order :], strict=True)) for row in self.table.pieces)

    def place(self, x: float) -> int:
        """The piece that holds x; -1 outside the range and for nan."""
        low, high = self.table.reach
        if not low <= x <= high:
            return -1
        return min(max(bisect_right(self.table.ends, x) - 1, 0), len(self.table.pieces) - 1)

    def at(self, x: float) -> float:
        """The value by Horner's rule, as every target computes it."""
        place = self.place(x)
        if place < 0:
            return float("nan")
        moved, row = x - self.table.ends[place], self.pieces[place]
        value = row[-1]
        for coefficient in reversed(row[:-1]):
            value = value * moved + coefficient
        return value


def _falling(k: int, order: int) -> int:
    product = 1
    for j in range(order):
        product *= k - j
    return product
