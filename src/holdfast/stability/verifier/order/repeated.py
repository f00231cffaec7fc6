"""Constraints that may repeat each other, solved in passes (docs/theory/1-equations.md, 1.6):

    A z_p = b + (0, W⁻¹λ_{p−1}),      A = [M −Jᵀ; J W⁻¹],      z = (a, λ),   b = (h, Y − γ),   λ_0 = 0

A is regular whatever the rank of J. The weights W stand in no text: a certificate lists them, and where the code has
(a, λ) after each pass. That the code makes these passes, and no others, is compared at states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import ball_values
from holdfast.stability.verifier.reading.code import Code
from holdfast.stability.verifier.reading.equations import Equations
from holdfast.stability.verifier.reading.statement import reactions_in
from holdfast.stability.verifier.refusal import Refused, Unconfirmed, require
from holdfast.stability.verifier.steps.rounding import Agreement, _vanishes
from holdfast.stability.verifier.steps.unknowns import _saddle

Balls = list[Any]
OTHERWISE = "the code makes its passes in another way than is known here: not re-checked"


@dataclass(frozen=True, eq=False)
class RepeatedEquations(Equations):
    """Equations that are solved in so many passes, with these weights."""

    weights: tuple[Fraction, ...] = ()
    passes: int = 1

    @property
    def in_passes(self) -> bool:
        return True

    @property
    def rows(self) -> tuple[list[list[Node]], list[Node]]:
        """A and b."""
        matrix, right = _saddle(self)
        for k, weight in enumerate(self.weights, len(self.stated.coordinates)):
            matrix[k][k] = self.dag.const(1 / weight)
        return matrix, right


def repeated(made: Equations, code: Code, numbers: Mapping[str, float]) -> tuple[RepeatedEquations, RepeatedAgreement]:
    """Equations and agreement of a problem whose rows are solved in passes; `Unconfirmed` beside what is not known."""
    stated, passes = made.stated, code.passes
    assert passes is not None
    if stated.controls or stated.limits or made.mass is None or reactions_in(made.bias) or stated.data:
        also = "controls, data, variable masses or friction"
        raise Unconfirmed(f"constraints that repeat each other are not re-checked beside {also}")
    size = len(stated.coordinates) + len(stated.constraints)
    require(len(passes.weights) == len(stated.constraints), "there is not one weight for each constraint")
    require(len(passes.results) > 0, "there is no second pass")
    shaped = all(len(row) == size for row in (*passes.results, *passes.changes))
    require(shaped, "a pass does not end in accelerations and multipliers")
    given = {key: getattr(made, key) for key in made.__dataclass_fields__}
    found = RepeatedEquations(**given, weights=passes.weights, passes=len(passes.changes))
    return found, RepeatedAgreement(found, code, numbers)


class Spot(NamedTuple):
    """A value of the code: what stands at a place, or its negative."""

    place: int
    sign: int

    def of(self, computed: Any) -> Any:
        return computed[self.place] if self.sign > 0 else -computed[self.place]


class PassPlaces:
    """Where the code has r₂, δ, a and λ of each pass, and from which of them it computes which:

    r₂ = Y − γ − J a,     F δ = h + Jᵀ(λ + W r₂) − M a,     a ← a + δ,     λ ← λ + W (r₂ − J δ),     F = M + Jᵀ W J

    The first pass is from nothing: δ is its a, and λ = W r₂ with the r₂ of the second, which is never asked for by
    itself. A negative stands where it is made from; what is no more than a constant or an input begins nothing.
    """

    def __init__(self, code: Code, coordinates: int, constraints: int) -> None:
        assert code.passes is not None
        first, n = len(code.inputs), coordinates
        ops = dict(enumerate(code.operations, first))
        self._plain = {k for k, (op, *_) in ops.items() if op in ("const", "pi")} | set(range(first))

        def spots(places: Sequence[int]) -> list[Spot]:
            found = []
            for place in places:
                sign = 1
                while place >= first and ops[place][0] == "neg":
                    place, sign = ops[place][1], -sign
                found.append(Spot(place, sign))
            return found

        self.unmet = [spots(row[:constraints]) for row in code.passes.changes]
        self.change = [spots(row[constraints:]) for row in code.passes.changes]
        self.a = [*(spots(row[:n]) for row in code.passes.results), spots(code.rates[n : 2 * n])]
        self.multipliers = [spots(row[n:]) for row in code.passes.results]

    def _computed(self, rows: Iterable[list[Spot]]) -> list[Spot]:
        return [spot for row in rows for spot in row if spot.place not in self._plain]

    def before_unmet(self, p: int) -> list[Spot]:
        """From what the r₂ of a pass is computed, the second (1) or a later one."""
        return self._computed([self.a[p - 1]])

    def before_change(self, p: int) -> list[Spot]:
        """From what its δ is; of the first pass from nothing."""
        if p == 0:
            return []
        return self._computed([self.a[p - 1], self.unmet[p], *([self.multipliers[p - 1]] if p > 1 else [])])

    def before_results(self, p: int) -> list[Spot]:
        """From what its a and λ are."""
        return [*self.before_change(p), *self._computed([self.change[p]])]


class RepeatedAgreement(Agreement):
    """Whether the code makes the passes of the problem, each from what the one before gives it, and from anything."""

    bits = 600  # a pass divides what is left by 2²⁰ and more: one more or less must not hide in what balls lose
    equations: RepeatedEquations

    def __init__(self, equations: RepeatedEquations, code: Code, numbers: Mapping[str, float]) -> None:
        super().__init__(equations, code, numbers)
        self._places = PassPlaces(code, self.system.count, len(equations.weights))
        self._shake = np.random.default_rng(37)
        self._nodes = [node for row in self.system.matrix for node in row] + self.system.right

    def _checked(self, point: Balls, flint: Any) -> bool:
        equations, n, size, places = self.equations, self.system.count, len(self.system.right), self._places
        values = dict(zip(equations.inputs, point, strict=True))
        found = ball_values(self._nodes, values)
        known = values | {name: flint.arb(value) for name, value in self.numbers.items()}
        computed = self.code.known(known)
        if not all(x.is_finite() for x in (*found, *computed)):
            return False
        system = BallSystem(found, n, equations.weights, flint)
        rates = [computed[k] for k in self.code.rates]
        noise = 2.0**-60 * max(float(x.abs_upper()) for x in (*found, *rates, *point))
        for k, name in enumerate(equations.stated.coordinates):
            _vanishes([rates[k], -values[f"{name}_dot"]], noise, f"the code moves {name} not by its rate")
        for p, z in enumerate(system.passes(equations.passes)):
            wanted = [*places.a[p], *places.multipliers[p]] if p + 1 < equations.passes else places.a[p]
            for spot, value in zip(wanted, z, strict=False):
                _vanishes([spot.of(computed), -value], noise, f"the code does not make pass {p + 1} as it is stated")
        self._states(values, rates[2 * n :], noise)
        self._require_from_anything(system, known, computed, noise)
        return size > 0

    def _require_from_anything(
        self, system: BallSystem, known: Mapping[str, Any], computed: Balls, noise: float
    ) -> None:
        """Each part of a pass computes what it should from any values where it begins; of δ, one entry by another."""
        places, passes = self._places, range(1, self.equations.passes)
        if places.a[0] != places.change[0]:
            raise Unconfirmed(OTHERWISE)
        first = [spot.place for p in passes for spot in places.before_change(p)]
        last = [spot.place for p in passes for spot in places.before_results(p)]
        largest = max(float(computed[place].abs_upper()) for place in last)
        moved = {place: (computed[place] + largest * self._shake.uniform(-1, 1)).mid() for place in last}
        changes = self.code.known(known, {place: moved[place] for place in first})
        results = self.code.known(known, moved)
        instead = {**dict(enumerate(computed)), **moved}

        def given(row: list[Spot]) -> Balls:
            return [spot.of(instead) for spot in row]

        try:
            for p in passes:
                a, unmet, change = given(places.a[p - 1]), given(places.unmet[p]), given(places.change[p])
                multipliers = given(places.multipliers[p - 1]) if p > 1 else system.weighted(unmet)
                _all_vanish(changes, places.unmet[p], system.unmet(a), noise)
                _all_vanish(changes, places.change[p], system.change(a, multipliers, unmet), noise)
                _all_vanish(results, places.a[p], _plus(a, change), noise)
                if p + 1 < self.equations.passes:
                    _all_vanish(
                        results, places.multipliers[p], _plus(multipliers, system.further(unmet, change)), noise
                    )
        except Refused:
            raise Unconfirmed(OTHERWISE) from None


def _all_vanish(computed: Balls, spots: list[Spot], wanted: Balls, noise: float) -> None:
    for spot, value in zip(spots, wanted, strict=True):
        _vanishes([spot.of(computed), -value], noise, "they differ")


def _plus(left: Balls, right: Balls) -> Balls:
    return [x + y for x, y in zip(left, right, strict=True)]


class BallSystem:
    """The system at one state, in balls: its passes, and the parts of one."""

    def __init__(self, found: Balls, coordinates: int, weights: Sequence[Fraction], flint: Any) -> None:
        """`found`: A, row by row, and b."""
        n, size = coordinates, coordinates + len(weights)
        self._n, self._flint = n, flint
        rows = [found[i * size : (i + 1) * size] for i in range(size)]
        self.right = found[size * size :]
        self._weights = [flint.arb(flint.fmpq(w.numerator, w.denominator)) for w in weights]
        self._inverse = flint.arb_mat(rows).inv()
        self._mass = flint.arb_mat([row[:n] for row in rows[:n]])
        self._jacobian = flint.arb_mat([row[:n] for row in rows[n:]])

    def passes(self, count: int) -> list[Balls]:
        """(a, λ) after each of so many passes."""
        found: list[Balls] = []
        for p in range(count):
            wanted = list(self.right)
            if p:
                for k, (value, weight) in enumerate(zip(found[-1][self._n :], self._weights, strict=True), self._n):
                    wanted[k] = wanted[k] + value / weight
            found.append(self._times(self._inverse, wanted))
        return found

    def _times(self, matrix: Any, vector: Balls) -> Balls:
        product = matrix * self._flint.arb_mat([[x] for x in vector])
        return [product[k, 0] for k in range(product.nrows())]

    def weighted(self, vector: Balls) -> Balls:
        return [w * x for w, x in zip(self._weights, vector, strict=True)]

    def unmet(self, a: Balls) -> Balls:
        """Y − γ − J a."""
        return [d - x for d, x in zip(self.right[self._n :], self._times(self._jacobian, a), strict=True)]

    def change(self, a: Balls, multipliers: Balls, unmet: Balls) -> Balls:
        """δ with F δ = h + Jᵀ(λ + W r₂) − M a."""
        push = self._times(self._across, _plus(multipliers, self.weighted(unmet)))
        parts = zip(self.right, push, self._times(self._mass, a), strict=False)
        return self._times(self._factor, [h + x - y for h, x, y in parts])

    def further(self, unmet: Balls, change: Balls) -> Balls:
        """W (r₂ − J δ)."""
        return self.weighted([x - y for x, y in zip(unmet, self._times(self._jacobian, change), strict=True)])

    @cached_property
    def _across(self) -> Any:
        return self._jacobian.transpose()

    @cached_property
    def _factor(self) -> Any:
        """F⁻¹."""
        rows = [[w * self._jacobian[k, j] for j in range(self._n)] for k, w in enumerate(self._weights)]
        return (self._mass + self._across * self._flint.arb_mat(rows)).inv()
