"""Whether the equations that are run obey the law they are said to obey.

    ψ(Φ_τ(x)) − R(τH)ψ(x) = c₁ τ + ... + c_p τᵖ + O(τᵖ⁺¹)

A proof takes c₁ … c_p for zero, which they are only if the rates that are run satisfy dψ/dt = Hψ. Here they are
enclosed from those very rates: at single states with so many bits that what does not vanish cannot hide, and over each
cell of a cover, where they must at least contain 0. Where one does not, derivation and run contradict each other: an
error of the product, and never a label.

Where every operation is meromorphic, so are the coefficients, and what is left of Cⁿ without poles is connected: one
that vanishes near a state vanishes everywhere. Roots, logarithms and branches have other sides, which are looked at.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from holdfast.errors import InternalError, Undecided
from holdfast.graph.arithmetics.balls import ball, ball_series, balls, precision
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.arithmetics.taylor import range_of
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import LEAVES, ancestors
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.enclosure import magnitude
from holdfast.stability.proof.step_series import Coefficients, StepSeries, coefficient

BITS = 256  # so that the cancellation in a badly scaled elimination leaves far more than the bits asked for
VANISHING = 2.0**-40  # of its largest term: a coefficient enclosed in less is shown to vanish
ROUNDING = 2.0**-120  # far below any term, far above what 256 bits leave of one
SEED = 11
MEROMORPHIC = LEAVES | set("add sub mul neg div power sin cos tan exp sinh cosh tanh".split())

Place = tuple[float, Sequence[float]]  # a time and a state


class Obedience:
    """Judges one motion, not reduced, under one scheme."""

    def __init__(self, motion: BlockFlow, scheme: RungeKutta) -> None:
        self.motion, self.scheme = motion, scheme
        with self._exactly():
            self._series = StepSeries(motion, scheme, ball_series())  # at single states nothing else is met

    def _exactly(self) -> Any:
        return precision(BITS, self.scheme.order + 1)  # no coefficient beyond p is looked at

    @cached_property
    def _slopes(self) -> tuple[Evaluator, list[list[int]]]:
        inputs = (self.motion.time, *self.motion.state)
        rows = jacobian(self.motion.psi, inputs)
        return Tape(inputs, tuple(node for row in rows for node in row.values())).compiled(balls()), [*map(list, rows)]

    @cached_property
    def meromorphic(self) -> bool:
        """Whether the coefficients vanish everywhere if they do at a random state."""
        motion = self.motion
        terms = [node for row in motion.law_terms for node in row]
        return all(node.op in MEROMORPHIC for node in ancestors((*motion.moving, *motion.psi, *terms)))

    def shown(self, place: Place) -> bool:
        """Whether coefficients 1 … p are shown to vanish at a state; False where something is not defined there."""
        with self._exactly():
            try:
                coefficients, point, end = self._coefficients(place)
                sizes = self._sizes(point, end)
            except Undecided:
                return False
            return all(
                self._contains_zero(degree, value, place) and magnitude(value) <= VANISHING * size
                for degree, (values, row) in enumerate(zip(coefficients, sizes, strict=True), 1)
                for value, size in zip(values, row, strict=True)
            )

    def require(self, place: Place) -> None:
        """`InternalError` where a coefficient 1 … p does not vanish at a state; nothing where it is not defined."""
        with self._exactly():
            try:
                coefficients, _, _ = self._coefficients(place)
            except Undecided:
                return
            for degree, values in enumerate(coefficients, 1):
                for value in values:
                    self._contains_zero(degree, value, place)

    def _coefficients(self, place: Place) -> tuple[list[list[Any]], list[Any], list[Any]]:
        """Coefficients 1 … p at a state, that state, and time and state after a step."""
        point = [ball(float(x)) for x in (place[0], *place[1])]
        start, end, tau = self._series.step(point, ball(0))
        found = self._series.between(start, end, tau)
        return [found(degree) for degree in range(1, self.scheme.order + 1)], point, end

    def reaches(self, place: Place, sides: Sequence[float]) -> list[float]:
        """How much each deviation changes, roughly, where time and state change by these sides."""
        slopes = self._slopes_at([ball(float(x)) for x in (place[0], *place[1])])
        return [max((size * sides[j] for j, size in row.items()), default=0.0) for row in slopes]

    def _slopes_at(self, point: list[Any]) -> list[dict[int, float]]:
        evaluate, columns = self._slopes
        flat = iter(evaluate(point))
        return [{j: magnitude(next(flat)) for j in row} for row in columns]

    def _sizes(self, point: list[Any], end: list[Any]) -> list[list[float]]:
        """The largest term of each coefficient, roughly: a slope of ψ times how a component of the state changes.

        Where those components stand still, terms that cancel within the rates are larger: then a rounding of the
        largest change of all counts.
        """
        slopes, sizes = self._slopes_at(point), []
        steepest = max((size for row in slopes for size in row.values()), default=0.0)
        for degree in range(1, self.scheme.order + 1):
            moved = [magnitude(coefficient(x, degree)) for x in end]
            least = ROUNDING * steepest * max(moved)
            sizes.append([max((size * moved[j] for j, size in row.items()), default=0.0) + least for row in slopes])
        return sizes

    @staticmethod
    def _contains_zero(degree: int, value: Any, place: Place) -> bool:
        """Whether a coefficient is known at all; it is an error where it is, and cannot be 0."""
        if not value.is_finite():
            return False
        if not value.contains(0):
            raise disobedience(degree, value, f"t = {place[0]:.6g}, state {[float(f'{x:.6g}') for x in place[1]]}")
        return True


def require_vanishing(order: int, near: Coefficients) -> None:
    """Coefficients 1 … p over a cell must contain 0."""
    for degree in range(1, order + 1):
        for form in near(degree):
            value = range_of(form)
            if value.is_finite() and not value.contains(0):
                raise disobedience(degree, value, "a whole cell of the region")


def disobedience(degree: int, value: Any, where: str) -> InternalError:
    return InternalError(
        "the equations that are run do not obey the law they are said to obey "
        f"(coefficient {degree} of the defect is {value.str(4)})",
        where=where,
    )


def places_in(region: Mapping[str, tuple[float, float]], names: Sequence[str], count: int) -> list[Place]:
    """Random times and states of a region, the same each time."""
    draw = random.Random(SEED)
    return [(draw.uniform(*region["t"]), [draw.uniform(*region[name]) for name in names]) for _ in range(count)]
