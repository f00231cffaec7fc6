"""A Runge-Kutta scheme is its tableau: exact numbers, checked when it is made.

    X_i = x + step Σ_j a_ij F(X_j, t + c_j step)          c_i = Σ_j a_ij
    x⁺  = x + step Σ_i b_i F(X_i, t + c_i step)

`stages` holds the rows of a, `weights` the b. Rows shorter than their number mean an explicit scheme.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import final

import numpy as np

from holdfast.errors import BadStatement
from holdfast.schemes.algebra.order_conditions import Tree, residuals
from holdfast.schemes.algebra.stability_function import StabilityFunction, stability_function
from holdfast.schemes.kinds.scheme import Scheme

CHECKED_ORDER = 4  # higher claims are proved in the tests, where time is cheaper


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RungeKutta(Scheme):
    """One-step scheme given by its tableau; `digits` tells how many digits its coefficients have if not exact."""

    name: str
    order: int
    stages: tuple[tuple[Fraction, ...], ...]
    weights: tuple[Fraction, ...]
    digits: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(_exact(row) for row in self.stages))
        object.__setattr__(self, "weights", _exact(self.weights))
        self._check_shape()
        self._check_order()

    def __hash__(self) -> int:
        return hash((self.name, self.order))  # schemes that differ only in their tableaus are told apart by ==

    @property
    def stage_count(self) -> int:
        return len(self.stages)

    @property
    def explicit(self) -> bool:
        return all(not any(row[i:]) for i, row in enumerate(self.stages))

    @property
    def nodes(self) -> tuple[Fraction, ...]:
        """c_i = Σ_j a_ij: where in the step each stage stands."""
        return tuple(sum(row, Fraction(0)) for row in self.stages)

    @property
    def stability(self) -> StabilityFunction:
        """R(z), the factor of one step of x' = λx, with z = λ·step."""
        return _stability(self)

    @property
    def unproved(self) -> str:
        return "" if self.explicit else super(RungeKutta, self).unproved

    def propagator(self, matrix: np.ndarray, step: float, positions: int | None = None) -> np.ndarray:
        """R(step·H): one step of d(y,w)/dt = H (y,w)."""
        return self.stability.of_matrix(step * np.asarray(matrix, float))

    def _check_shape(self) -> None:
        count = len(self.weights)
        if not count or len(self.stages) != count:
            raise BadStatement(
                f"the scheme {self.name!r} has {len(self.stages)} rows and {count} weights",
                where="RungeKutta(stages=..., weights=...)",
                fix="give a row of coefficients and a weight for each stage; the first row of an explicit scheme is ()",
            )
        if any(len(row) > count for row in self.stages):
            raise BadStatement(
                f"a row of the scheme {self.name!r} is longer than its {count} stages",
                where="RungeKutta(stages=...)",
                fix="row i holds a_i1, a_i2, ...; zeros at its end may be left out",
            )
        if self.order < 1:
            raise BadStatement(f"the scheme {self.name!r} claims order {self.order}", fix="an order is 1 or more")

    def _check_order(self) -> None:
        tolerance = Fraction(0) if self.digits is None else Fraction(100, 10**self.digits)
        for tree, residual in residuals(self.stages, self.weights, min(self.order, CHECKED_ORDER)):
            if abs(residual) > tolerance:
                raise BadStatement(
                    f"the scheme {self.name!r} is not of order {self.order}: "
                    f"the condition of the tree {_drawn(tree)} is missed by {residual}",
                    where="RungeKutta(order=..., stages=..., weights=...)",
                    fix="correct a coefficient, or claim a lower order",
                )


def _exact(numbers: Iterable[Fraction | int | float | str]) -> tuple[Fraction, ...]:
    """Exact numbers; a float means its shortest decimal."""
    return tuple(Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value) for value in numbers)


def _drawn(tree: Tree) -> str:
    return "[" + "".join(_drawn(branch) for branch in tree) + "]"


@cache
def _stability(scheme: RungeKutta) -> StabilityFunction:
    return stability_function(scheme.stages, scheme.weights, order=scheme.order, exact=scheme.digits is None)
