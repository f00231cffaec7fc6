"""Taylor forms in doubles, many cells at once.

    f(e, s) ∈ Σ_k s^k (Σ_j c_jk m_j(e) ± r_k),       e ∈ [−1, 1]ⁿ

A form holds polynomials in the cell's variables e, one for each power of the step s, in plain doubles, and one
remainder r_k ≥ 0 a power. What doubles round is added to the remainders: an operation that adds up n products is wrong
by at most n·2⁻⁵² of the sum of their sizes (u = 2⁻⁵³, twice), and remainders themselves, sums of positive doubles, are
enlarged by 2⁻⁴⁰ after each operation, far beyond their own rounding. No rounding modes are needed. What is not defined
over a cell gets an infinite or undefined remainder, which no bound survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property

import numpy as np

Array = np.ndarray
UNIT = 2.0**-52
GROWTH = 1 + 2.0**-40
LEAST = 1e-290  # stands for all that underflows
FEW = 8  # cells: operations along fewer of them are no gain
TOGETHER = 60_000  # doubles of an array that stays in a core's own memory (half a megabyte, of the usual one or two)


class Space:
    """The monomials of a form: weighted degree at most `order`, in variables of these weights; `terms` powers of s."""

    narrows = True  # whether plain numbers may take the place of a form where they say more

    def __init__(self, weights: tuple[int, ...], order: int, terms: int) -> None:
        self.weights, self.order, self.terms = weights, order, terms
        self.depth = order  # factors that vary, of which one more is beyond the order
        inside = _exponents(weights, order)
        self.exponents = sorted(inside, key=lambda e: (sum(a * w for a, w in zip(e, weights, strict=True)), e))
        self.place = {e: k for k, e in enumerate(self.exponents)}
        degrees = [sum(a * w for a, w in zip(e, weights, strict=True)) for e in self.exponents]
        self.by_degree = np.array([[float(d == level) for d in degrees] for level in range(order + 1)])
        self.linear = [self.place[tuple(int(i == k) for i in range(len(weights)))] for k in range(len(weights))]

    @property
    def size(self) -> int:
        return len(self.exponents)

    @cached_property
    def pairs(self) -> tuple[Array, Array, Array, int]:
        """Which monomials multiply to which: left, right, a matrix that adds them up, most terms in one sum."""
        left, right, target = [], [], []
        for i, a in enumerate(self.exponents):
            for j, b in enumerate(self.exponents):
                both = tuple(x + y for x, y in zip(a, b, strict=True))
                if both in self.place:
                    left.append(i)
                    right.append(j)
                    target.append(self.place[both])
        order = np.argsort(target, kind="stable")
        starts = np.searchsorted(np.array(target)[order], np.arange(self.size))
        most = int(np.bincount(target).max())
        return np.array(left)[order], np.array(right)[order], starts, most

    def product(self, a: Array, b: Array, top: int) -> tuple[Array, int]:
        """The polynomials of products (cells, monomials, powers), `top` the last power of a; most terms in one sum."""
        left, right, starts, most = self.pairs
        return multiplied(a, b, (left, right, starts), top), most


def _exponents(weights: tuple[int, ...], order: int) -> list[tuple[int, ...]]:
    """All exponents of weighted degree at most `order`."""
    found: list[tuple[tuple[int, ...], int]] = [((), order)]
    for weight in weights:
        found = [((*e, k), left - k * weight) for e, left in found for k in range(left // weight + 1)]
    return [e for e, _ in found]


@cache
def space(weights: tuple[int, ...], order: int, terms: int) -> Space:
    return Space(weights, order, terms)


def convolved(a: Array, b: Array, top: int | None = None) -> Array:
    """The product of two series along the last axis, cut off at its length; `top` is the last power that a has."""
    terms = a.shape[-1]
    out = a[..., :1] * b
    for k in range(1, terms if top is None else top + 1):
        out[..., k:] += a[..., k : k + 1] * b[..., : terms - k]
    return out


def multiplied(a: Array, b: Array, pairs: tuple[Array, Array, Array], top: int) -> Array:
    """The polynomials of products; of many cells, these are laid last, so that each operation runs along them."""
    left, right, starts = pairs
    if len(a) < FEW:
        return np.add.reduceat(convolved(a[:, left, :], b[:, right, :], top), starts, axis=1)
    out, terms = np.empty((len(a), len(starts), b.shape[2])), b.shape[2]
    several = max(FEW, TOGETHER // (len(left) * terms))
    for place in range(0, len(a), several):
        rows = slice(place, place + several)
        first = np.ascontiguousarray(a[rows, :, : top + 1].transpose(2, 1, 0))[:, left]
        second = np.ascontiguousarray(b[rows].transpose(2, 1, 0))[:, right]
        for k in range(terms):
            total = first[0] * second[k]
            for j in range(1, min(k, top) + 1):
                total += first[j] * second[k - j]
            out[rows, :, k] = np.add.reduceat(total, starts, axis=0).T
    return out


class Form:
    """Polynomials `c` (cells, monomials, powers of s) with remainders `r` (cells, powers of s)."""

    __slots__ = ("_top", "c", "r", "space")

    def __init__(self, space: Space, c: Array, r: Array) -> None:
        self.space, self.c, self.r = space, c, r
        self._top: int | None = None

    @property
    def top(self) -> int:
        """The last power of s whose polynomial is not zero."""
        if self._top is None:
            used = self.c.any(axis=0).any(axis=0)
            self._top = int(np.flatnonzero(used).max(initial=0))
        return self._top

    @staticmethod
    def constant(space: Space, value: Array, radius: Array | float = 0.0) -> Form:
        """Numbers (one a cell) that are known within a radius."""
        cells = len(value)
        c = np.zeros((cells, space.size, space.terms))
        r = np.zeros((cells, space.terms))
        c[:, 0, 0], r[:, 0] = value, radius
        return Form(space, c, r)

    def levels(self) -> Array:
        """Bounds of the parts of each degree, by power of s: (cells, degrees, powers)."""
        return np.matmul(self.space.by_degree, np.abs(self.c))

    def size(self) -> Array:
        """A bound of the polynomial part, by power of s."""
        return np.abs(self.c).sum(axis=1) * GROWTH

    def bound(self) -> Array:
        """A bound of |f|, by power of s."""
        return (self.size() + self.r) * GROWTH

    def range(self, power: int = 0) -> tuple[Array, Array]:
        """Lowest and highest value of one coefficient."""
        middle = self.c[:, 0, power]
        reach = (np.abs(self.c[:, 1:, power]).sum(axis=1) + self.r[:, power] + UNIT * np.abs(middle)) * GROWTH
        return middle - reach, middle + reach

    def __add__(self, other: Form) -> Form:
        c = self.c + other.c
        r = (self.r + other.r + UNIT * np.abs(c).sum(axis=1)) * GROWTH
        return Form(self.space, c, r)

    def __sub__(self, other: Form) -> Form:
        return self + (-other)

    def __neg__(self) -> Form:
        return Form(self.space, -self.c, self.r)

    def shifted(self, value: Array, radius: Array | float) -> Form:
        """f + a number a cell, known within a radius."""
        return self + Form.constant(self.space, value, radius)

    def scaled(self, value: Array | float, radius: Array | float = 0.0) -> Form:
        """f · a number a cell, known within a radius."""
        factor = np.asarray(value, float).reshape(-1, 1)
        c = self.c * factor[:, :, None]
        r = np.abs(factor) * self.r + UNIT * np.abs(c).sum(axis=1) + LEAST
        if isinstance(radius, np.ndarray) or radius:
            r = r + np.asarray(radius, float).reshape(-1, 1) * (self.size() + self.r)
        return Form(self.space, c, r * GROWTH)

    def __mul__(self, other: Form) -> Form:
        space = self.space
        if self.top > other.top:
            return other * self
        c, most = space.product(self.c, other.c, self.top)
        a, b = self.levels(), other.levels()
        whole_a, whole_b = a.sum(axis=1), b.sum(axis=1)
        few = (most + space.terms + 4) * UNIT
        first = [a[:, d] for d in range(1, space.order + 1)]  # of degree d, times anything too high for it
        second = [b[:, space.order + 1 - d :].sum(axis=1) for d in range(1, space.order + 1)]
        first += [whole_a + self.r, self.r, few * whole_a]
        second += [other.r, whole_b, whole_b]
        r = convolved(np.array(first), np.array(second)).sum(axis=0) + LEAST
        return Form(space, c, r * GROWTH)

    def raised(self, exponent: int) -> Form:
        """A whole power, by repeated squaring."""
        result: Form | None = None
        base = self
        while True:
            if exponent & 1:
                result = base if result is None else result * base
            exponent >>= 1
            if not exponent:
                assert result is not None
                return result
            base = base * base


def where(condition: Array, a: Form, b: Form) -> Form:
    """a in the cells of a condition, b in the others."""
    return Form(a.space, np.where(condition[:, None, None], a.c, b.c), np.where(condition[:, None], a.r, b.r))


def undefined(like: Form) -> Form:
    """Nothing is known of it."""
    return Form(like.space, np.zeros_like(like.c), np.full_like(like.r, np.inf))


def combination(rows: Array, forms: Sequence[Form]) -> list[Form]:
    """A matrix of doubles for each cell, (cells, n, m), times m forms."""
    space, count = forms[0].space, len(forms)
    parts = np.stack([form.c for form in forms])
    spread = (count + 2) * UNIT * np.abs(parts).sum(axis=2) + np.stack([form.r for form in forms])
    c = np.einsum("nij,jnks->inks", rows, parts)
    r = (np.einsum("nij,jns->ins", np.abs(rows), spread) + count * LEAST) * GROWTH
    return [Form(space, a, b) for a, b in zip(c, r, strict=True)]


def joined(forms: Sequence[Form]) -> Form:
    """Forms over the same cells one after the other, as one over more cells: what is done to it is done to each."""
    return Form(forms[0].space, np.concatenate([form.c for form in forms]), np.concatenate([form.r for form in forms]))


def parted(form: Form, count: int) -> list[Form]:
    """What was joined, again by itself."""
    cs, rs = np.split(form.c, count), np.split(form.r, count)
    return [Form(form.space, c, r) for c, r in zip(cs, rs, strict=True)]
