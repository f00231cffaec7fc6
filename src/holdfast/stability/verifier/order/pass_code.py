"""The code of passes over rows that may repeat each other, in its parts, followed over boxes from one to the next.

With hats for what is computed, κ for what the operations of one part add, and z̄ the solution that the system has for λ̂
of the pass before and for Y + κ of r₂ (all of it exact, whatever the values are):

    â = z̄_a + κ_δ + κ_a,     λ̂ = z̄_λ − W J κ_δ + κ_λ,     r̂₂ ← W⁻¹(z̄_λ − λ̂ before) − κ_r − J (κ_δ + κ_a) + κ_r next

Each part begins with boxes from the system, which know that r₂ is small: J times a box of a would not, and W times it
would be nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from holdfast.stability.verifier.numbers.evaluate import times
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form, Space, joined
from holdfast.stability.verifier.order.repeated import PassPlaces, Spot
from holdfast.stability.verifier.reading.code import Code, Rounded
from holdfast.stability.verifier.steps.unknowns import _form, enclosed
from holdfast.stability.verifier.tube.slopes import CodeSlopes

Entry = Form | Fraction
Known = dict[int, Rounded]


class Part:
    """The operations that lead from where a part of a pass begins to what it gives."""

    def __init__(self, code: Code, begins: Sequence[Spot], gives: Sequence[Spot]) -> None:
        self.begins, self.gives = begins, gives
        self._slopes = CodeSlopes(code, [spot.place for spot in gives], [spot.place for spot in begins])

    def followed(self, common: Known, given: Mapping[Spot, Form]) -> Known:
        """All places of it over boxes, from values that are given, and what needs none of them."""
        nothing = np.zeros(common[0].cells)
        own = {spot.place: Rounded(_signed(given[spot], spot), nothing) for spot in self.begins}
        return self._slopes.followed({}, {**common, **own})

    def running(self, known: Known) -> Array:
        """What its own operations add to each of its results, added up without signs: (results, boxes)."""
        return np.array([known[spot.place].error for spot in self.gives])

    def moved(self, seeds: Sequence[Form], known: Known, over: int) -> Array:
        """How far they move `over` combinations of its results: slopes of first order are enough for that."""
        own = depending(len(seeds[0].space.weights), 1)
        rough = {k: Rounded(lowered(known[k].form, own), known[k].error) for k in self._slopes.places}
        chosen = [lowered(_signed(x, spot), own) for x, spot in zip(seeds, self.gives, strict=True)]
        return self._slopes.moved(chosen, rough, over)


class PassCode:
    """The code in its parts: r₂ of each pass but the first, δ, and a and λ of each but the first."""

    def __init__(self, code: Code, coordinates: int, constraints: int) -> None:
        places = self.places = PassPlaces(code, coordinates, constraints)
        later = range(1, len(places.a))
        self.unmet = {p: Part(code, places.before_unmet(p), places.unmet[p]) for p in later}
        self.change = {p: Part(code, places.before_change(p), places.change[p]) for p in (0, *later)}
        self.results = {
            p: Part(code, places.before_results(p), [*places.a[p], *(places.multipliers[p] if p < later[-1] else [])])
            for p in later
        }
        self.others = Part(code, [], [Spot(place, 1) for place in code.rates[2 * coordinates :]])
        self._code = code
        cut = {spot.place for p in later for spot in places.before_results(p)}
        whole = CodeSlopes(code, [*code.rates, *(spot.place for row in places.unmet for spot in row)])
        free = set(range(len(code.inputs)))
        for place in whole.needed:
            if place not in cut and set(whole.arguments(place)) <= free:
                free.add(place)
        self._common = [place for place in whole.needed if place in free]

    def common(self, values: Mapping[str, Rounded]) -> Known:
        """All that needs no pass."""
        return self._code.followed(values, self._common)


class PassesForwards:
    """All passes over the boxes of one stage: (a, λ) by the system, the places of the code, and κ of each part."""

    def __init__(
        self, code: PassCode, weights: Sequence[Fraction], matrix: list[list[Entry]], right: list[Form], common: Known
    ) -> None:
        self.matrix, self.passes = matrix, list[list[Form]]()
        self.unmet, self.change = dict[int, Known](), dict[int, Known]()
        self.of_unmet, self.of_change, self.of_results = (dict[int, Array]() for _ in range(3))
        self._code, self._weights, self._right, self._common = code, weights, right, common
        self._n = len(right) - len(weights)
        self._rows = [[_form(entry, right[0]) for entry in row[: self._n]] for row in matrix[self._n :]]

    def through(self) -> list[Form]:
        """a after the last pass, as it is computed."""
        places, n, last = self._code.places, self._n, len(self._code.places.a) - 1
        a, moved = self._first()
        z, before, multipliers = self.passes[0], list[Form](), list[Form]()
        for p in range(1, last + 1):
            given = dict(zip(places.a[p - 1], a, strict=True))
            self.unmet[p] = self._code.unmet[p].followed(self._common, given)
            self.of_unmet[p] = self._code.unmet[p].running(self.unmet[p])
            off = moved + self.of_unmet[p]
            if p == 1:
                multipliers = self._widened_rows(z, off)
            given |= dict(zip(places.unmet[p], self._unmet(z, before, off), strict=True))
            given |= dict(zip(places.multipliers[p - 1], multipliers, strict=True))
            self.change[p] = self._code.change[p].followed(self._common, given)
            added = self.of_change[p] = self._code.change[p].running(self.change[p])
            z = enclosed(self.matrix, self._wanted(multipliers, self.of_unmet[p]))
            self.passes.append(z)
            change = [widened(x - y, e) for x, y, e in zip(z[:n], a, added, strict=True)]
            given |= dict(zip(places.change[p], change, strict=True))
            results = self._code.results[p].running(self._code.results[p].followed(self._common, given))
            self.of_results[p] = results
            a = [widened(x, e) for x, e in zip(z[:n], added + results[:n], strict=True)]
            moved, before = self._by_rows(added + results[:n]) + self.of_unmet[p], multipliers
            if p < last:
                multipliers = self._widened_rows(z, self._by_rows(added), results[n:])
        return a

    def _first(self) -> tuple[list[Form], Array]:
        """a of the first pass, and what rounding adds to J a: with signs, for W times what is added to a is much."""
        code, n, count = self._code.change[0], self._n, len(self._right[0].c)
        z = enclosed(self.matrix, self._right)
        known = code.followed(self._common, {})
        one, none = (Form.constant(z[0].space, np.full(count, x)) for x in (1.0, 0.0))
        seeds = [[one if i == j else none for j in range(n)] for i in range(n)] + self._rows
        added = code.moved([joined([row[j] for row in seeds]) for j in range(n)], known, len(seeds))
        added = added.reshape(len(seeds), count)
        self.passes.append(z)
        self.change[0], self.of_change[0] = known, added[:n]
        return [widened(x, off) for x, off in zip(z[:n], added[:n], strict=True)], added[n:]

    def _unmet(self, z: Sequence[Form], before: Sequence[Form], off: Array) -> list[Form]:
        """r̂₂ by the multipliers: W⁻¹(z̄_λ − λ̂ before)."""
        gained = [x - y for x, y in zip(z[self._n :], before, strict=True)] if before else z[self._n :]
        return [widened(product(1 / w, x), e) for w, x, e in zip(self._weights, gained, off, strict=True)]

    def _widened_rows(self, z: Sequence[Form], off: Array, more: Array | float = 0.0) -> list[Form]:
        """λ̂, off by W times as much, and more."""
        weights = np.array([float(w) for w in self._weights])[:, None] * GROWTH
        return [widened(x, e) for x, e in zip(z[self._n :], weights * off + more, strict=True)]

    def _wanted(self, multipliers: Sequence[Form], off: Array) -> list[Form]:
        """b + (0, W⁻¹λ̂ ± κ of r₂)."""
        rows = zip(self._right[self._n :], self._weights, multipliers, off, strict=True)
        return [*self._right[: self._n], *(widened(b + product(1 / w, x), e) for b, w, x, e in rows)]

    def _by_rows(self, off: Array) -> Array:
        """|J| times what accelerations are off by."""
        sizes = np.array([[entry.bound()[:, 0] for entry in row] for row in self._rows])
        return np.asarray(np.einsum("ijn,jn->in", sizes, off) * GROWTH)


class DependingSpace(Space):
    """Monomials of forms that never forget what they depend on: elimination with large weights is not forgiving."""

    narrows = False


@cache
def depending(variables: int, order: int) -> DependingSpace:
    return DependingSpace((1,) * variables, order, 1)


def lowered(form: Form, own: Space) -> Form:
    """The form in a space of lower order; monomials are sorted by their degrees."""
    rest = np.abs(form.c[:, own.size :]).sum(axis=1)
    return Form(own, form.c[:, : own.size], (form.r + rest) * GROWTH)


def widened(form: Form, off: Array) -> Form:
    return Form(form.space, form.c, (form.r + off[:, None]) * GROWTH)


def product(a: Entry, b: Entry) -> Form:
    found = times(a, b)
    assert isinstance(found, Form)
    return found


def summed(parts: Sequence[Form]) -> Form:
    return sum(parts[1:], parts[0])


def _signed(form: Form, spot: Spot) -> Form:
    return form if spot.sign > 0 else -form
