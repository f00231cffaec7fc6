"""Functions by pieces, as they are run: polynomials in doubles between ends, each double taken for what it is.

    f(x) = Σ_k c_ik (x − b_i)^k      for b_i ≤ x < b_i+1

Beyond the first and the last end the nearest piece is taken: a run has no value there, and nothing is said of it.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import comb, perm
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array
from holdfast.stability.verifier.refusal import Refused, Unconfirmed

ROUNDED = 2.0**-53  # of its result, at most, that an operation is wrong by (reading/code.py)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Ends and coefficients, lowest power first."""

    ends: tuple[float, ...]
    rows: tuple[tuple[float, ...], ...]

    @property
    def degree(self) -> int:
        return len(self.rows[0]) - 1

    def exact(self, place: int, order: int) -> list[Fraction]:
        """The coefficients of a derivative of one piece, in powers of x − its beginning."""
        return [perm(k, order) * Fraction(c) for k, c in enumerate(self.rows[place]) if k >= order] or [Fraction(0)]

    def place(self, x: float) -> int:
        """The piece that holds x, or the nearest."""
        return min(max(bisect_right(self.ends, x) - 1, 0), len(self.rows) - 1)

    def change(self, knot: float, order: int) -> list[Fraction]:
        """A derivative of the piece after a knot less that of the one before it, in powers of x − knot; exactly."""
        if knot not in self.ends[1:-1]:
            return []
        after = self.ends.index(knot)
        by = Fraction(knot) - Fraction(self.ends[after - 1])
        before, beyond = self.exact(after - 1, order), self.exact(after, order)
        moved = [
            sum(comb(j, k) * c * by ** (j - k) for j, c in enumerate(before) if j >= k) for k in range(len(before))
        ]
        return [b - a for a, b in zip(moved, beyond, strict=True)]

    # ── values ────────────────────────────────────────────────────────────────────────────────────

    def ball(self, order: int, x: Any, flint: Any) -> Any:
        """A derivative in balls; all pieces that a ball meets."""
        low, high = float(x.lower()), float(x.upper())
        if not (x.is_finite() and np.isfinite(low) and np.isfinite(high)):
            return flint.arb("nan")
        first, last = self.place(np.nextafter(low, -np.inf)), self.place(np.nextafter(high, np.inf))
        if x == flint.arb(float(x)):
            first = last = self.place(float(x))
        found = None
        for place in range(first, last + 1):
            moved, total = x - flint.arb(self.ends[place]), flint.arb(0)
            for c in reversed(self.exact(place, order)):
                total = total * moved + flint.arb(flint.fmpq(c.numerator, c.denominator))
            found = total if found is None else found.union(total)
        return found

    def doubles(self, order: int, x: Array) -> Array:
        """A derivative in doubles at many points: for looking, not for proving."""
        place = np.clip(np.searchsorted(self.ends, x, side="right") - 1, 0, len(self.rows) - 1)
        table = _table(self, order)
        moved, total = x - np.array(self.ends)[place], np.zeros(np.shape(x))
        for k in reversed(range(table.shape[1])):
            total = total * moved + table[place, k]
        return total

    def ranges(self, order: int, low: Array, high: Array) -> tuple[Array, Array]:
        """Between which numbers a derivative lies, for x in [low, high], cell by cell: over all pieces that are met."""
        least, most = np.full(len(low), np.inf), np.full(len(low), -np.inf)
        for rows, middle, reach, table in self._met(order, low, high):
            value, spread = _around(table, middle, reach)
            least[rows], most[rows] = np.fmin(least[rows], value - spread), np.fmax(most[rows], value + spread)
        sound = np.isfinite(low) & np.isfinite(high)
        return np.where(sound, least, -np.inf), np.where(sound, most, np.inf)

    def noise(self, order: int, low: Array, high: Array) -> Array:
        """What doubles add to a derivative by Horner's rule: of its coefficients one rounding each, of x − b one, and
        two for each product and sum; to terms of these sizes.
        """
        worst = np.zeros(len(low))
        for rows, middle, reach, table in self._met(order, low, high):
            far, total = np.abs(middle) + reach, np.zeros(len(middle))
            for k in reversed(range(table.shape[1])):
                total = total * far + np.abs(table[:, k])
            worst[rows] = np.fmax(worst[rows], total * (4 * table.shape[1] + 4) * ROUNDED * GROWTH)
        return np.where(np.isfinite(low) & np.isfinite(high), worst, np.inf)

    def jumps(self, order: int, low: Array, high: Array) -> Array:
        """What a derivative jumps by, at most, at a knot of [low, high]."""
        knots = np.array(self.ends[1:-1])
        if not len(knots):
            return np.zeros(len(low))
        inside = (knots >= low[:, None]) & (knots <= high[:, None])
        found: Array = np.where(inside, _jumps(self, order), 0.0).max(axis=1)
        return np.where(np.isfinite(low) & np.isfinite(high), found, np.inf)

    def _met(self, order: int, low: Array, high: Array) -> Any:
        """Piece by piece: which cells meet it, the middle and half-width of their part of it, from its beginning, and
        the coefficients there.
        """
        ends, whole = np.array(self.ends), _table(self, order)
        begins, beyond = ends[:-1].copy(), ends[1:].copy()
        begins[0], beyond[-1] = -np.inf, np.inf
        sound = np.isfinite(low) & np.isfinite(high)
        if not sound.any():
            return
        for place in range(max(self.place(low[sound].min()) - 1, 0), self.place(high[sound].max()) + 1):
            rows = np.flatnonzero(sound & (low <= beyond[place]) & (high >= begins[place]))
            if not len(rows):
                continue
            left, right = np.maximum(low[rows], begins[place]), np.minimum(high[rows], beyond[place])
            middle = (left + right) / 2 - ends[place]
            pad = 4 * UNIT * (np.abs(left) + np.abs(right) + abs(ends[place]))
            table = np.broadcast_to(whole[place], (len(rows), whole.shape[1]))
            yield rows, middle, (right - left) / 2 * GROWTH + pad, table


def _around(table: Array, middle: Array, reach: Array) -> tuple[Array, Array]:
    """A polynomial at the middle of an interval, and how far from that it may be: by its own shifted coefficients."""
    count = table.shape[1]
    value, spread, rounding = np.zeros(len(middle)), np.zeros(len(middle)), np.zeros(len(middle))
    for k in range(count):
        terms = [comb(j, k) * table[:, j] * middle ** (j - k) for j in range(k, count)]
        total, size = sum(terms), sum(np.abs(term) for term in terms)
        spread = spread + (np.abs(total) * reach**k if k else 0.0)
        rounding = rounding + size * reach**k * 4 * (count + 4) * UNIT
        value = total if k == 0 else value
    return value, (spread + rounding) * GROWTH + LEAST


@cache
def _table(pieces: Pieces, order: int) -> Array:
    """The coefficients of a derivative in doubles, each rounded once, by pieces."""
    return np.array([[float(c) for c in pieces.exact(k, order)] for k in range(len(pieces.rows))])


@cache
def _jumps(pieces: Pieces, order: int) -> Array:
    """What a derivative jumps by at each knot."""
    return np.array([_up(abs(pieces.change(knot, order)[0])) for knot in pieces.ends[1:-1]])


def _up(value: Fraction) -> float:
    return float(np.nextafter(float(value), np.inf)) if value else 0.0


class Data:
    """A function that a problem text gives by data, and the pieces by which it is run, once these are known."""

    def __init__(self, name: str, times: list[float], values: list[float], degree: int) -> None:
        self.name, self.times, self.values, self.degree = name, times, values, degree
        self._pieces: Pieces | None = None

    @property
    def pieces(self) -> Pieces:
        if self._pieces is None:
            raise Unconfirmed(f"{self.name[:30]!r} is given by data, whose pieces are not in the certificate")
        return self._pieces

    def same(self, other: Data) -> bool:
        return (self.times, self.values, self.degree) == (other.times, other.values, other.degree)

    def take(self, pieces: Pieces) -> None:
        """Run by these; refused where they are not the spline of the data, but for rounding.

        A spline of this degree is the one function that has polynomials between its knots, joins them with all
        derivatives below the degree, and passes through the data; knots are the data's times (degrees that are odd)
        or the middles between them, without those near both ends.
        """
        half, x = (self.degree + 1) // 2, self.times
        inner = x if self.degree % 2 else [(a + b) / 2 for a, b in pairwise(x)]
        wanted = (x[0], *inner[half : len(inner) - half], x[-1])
        self._require(pieces.ends == wanted and pieces.degree == self.degree, "have other knots, or another degree")
        widths = [b - a for a, b in pairwise(wanted)]
        sizes = [
            [max(abs(c) * perm(k, j) * width ** (k - j) for k, c in enumerate(row) if k >= j) for j in range(len(row))]
            for row, width in zip(pieces.rows, widths, strict=True)
        ]
        top = max(map(abs, self.values))
        for time, value in zip(self.times, self.values, strict=True):
            place = pieces.place(time)
            moved = Fraction(time) - Fraction(wanted[place])
            there = sum(c * moved**k for k, c in enumerate(pieces.exact(place, 0)))
            self._require(abs(there - Fraction(value)) <= NEARLY * top, f"do not pass through the data at {time:g}")
        for k, knot in enumerate(wanted[1:-1]):
            for order in range(self.degree):
                off = abs(pieces.change(knot, order)[0])
                size = max(sizes[k][order], sizes[k + 1][order])
                self._require(off <= NEARLY * size, f"do not join at {knot:g}")
        self._pieces = pieces

    def _require(self, condition: bool, otherwise: str) -> None:
        if not condition:
            raise Refused(f"the pieces that are run for {self.name[:30]!r} {otherwise}")


NEARLY = Fraction(1, 2**20)  # of the largest term: what the doubles of a solved spline may miss its conditions by
