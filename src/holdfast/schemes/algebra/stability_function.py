"""The factor by which one step multiplies the solution of x' = λx: a quotient of two exact polynomials.

    R(z) = N(z)/D(z),   z = λ·step,   N(z) = det(I - zA + z·1bᵀ),   D(z) = det(I - zA)

D = 1 for an explicit scheme. The same quotient with a matrix for z moves a linear system by one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

import numpy as np

ROUNDING = (
    10**12
)  # coefficients of irrational tableaus are rational again; their denominators are far smaller than this


@dataclass(frozen=True, slots=True)
class StabilityFunction:
    """R(z) = N(z)/D(z); coefficients from the constant one upwards."""

    numerator: tuple[Fraction, ...]
    denominator: tuple[Fraction, ...] = (Fraction(1),)

    def __call__(self, z: Any) -> Any:
        """R at a number or at each of an array of numbers, real or complex."""
        return _polynomial(self.numerator, z) / _polynomial(self.denominator, z)

    def of_matrix(self, matrix: np.ndarray) -> np.ndarray:
        """R(Z) = D(Z)⁻¹ N(Z) for a square matrix Z."""
        above = _matrix_polynomial(self.numerator, matrix)
        if len(self.denominator) == 1:
            return above / float(self.denominator[0])
        return np.linalg.solve(_matrix_polynomial(self.denominator, matrix), above)


def stability_function(
    rows: Sequence[Sequence[Fraction]], weights: Sequence[Fraction], *, order: int, exact: bool
) -> StabilityFunction:
    """R of a tableau of this order. Where the tableau holds rounded decimals, R is made of the rationals they mean."""
    size = len(weights)
    full = [[Fraction(row[j]) if j < len(row) else Fraction(0) for j in range(size)] for row in rows]
    denominator = _determinant_polynomial(full)
    shifted = [[full[i][j] - weights[j] for j in range(size)] for i in range(size)]
    numerator = _determinant_polynomial(shifted)
    if not exact and any(denominator[1:]):
        numerator = [value.limit_denominator(ROUNDING) for value in numerator]
        denominator = [value.limit_denominator(ROUNDING) for value in denominator]
    elif not exact:  # R(z) = e^z + O(z^(order + 1))
        numerator[: order + 1] = [Fraction(1, factorial(k)) for k in range(order + 1)]
    return StabilityFunction(_trimmed(numerator), _trimmed(denominator))


def _determinant_polynomial(matrix: list[list[Fraction]]) -> list[Fraction]:
    """det(I - zB) as coefficients of z: the characteristic polynomial read backwards (Faddeev-LeVerrier)."""
    size = len(matrix)
    coefficients = [Fraction(1)]
    power = [[Fraction(0)] * size for _ in range(size)]
    for k in range(1, size + 1):
        for i in range(size):
            power[i][i] += coefficients[-1]
        power = [
            [sum((a * power[i][j] for i, a in enumerate(row) if a), Fraction(0)) for j in range(size)] for row in matrix
        ]
        coefficients.append(-sum((power[i][i] for i in range(size)), Fraction(0)) / k)
    return coefficients


def _trimmed(coefficients: list[Fraction]) -> tuple[Fraction, ...]:
    while len(coefficients) > 1 and not coefficients[-1]:
        coefficients.pop()
    return tuple(coefficients)


def _polynomial(coefficients: tuple[Fraction, ...], z: Any) -> Any:
    value = 0 * z + float(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * z + float(coefficient)
    return value


def _matrix_polynomial(coefficients: tuple[Fraction, ...], matrix: np.ndarray) -> np.ndarray:
    one = np.eye(len(matrix))
    value = float(coefficients[-1]) * one
    for coefficient in reversed(coefficients[:-1]):
        value = value @ matrix + float(coefficient) * one
    return value
