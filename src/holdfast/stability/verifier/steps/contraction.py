"""The norm of a proof, how one step contracts in it, and what follows for each deviation: in balls.

‖x‖ = ‖Lᵀx‖₂,      ‖Lᵀ R(step·H) L⁻ᵀ‖₂ ≤ γ < 1,      |ψᵢ| ≤ δ Σⱼ ‖eᵢᵀ Rʲ L⁻ᵀ‖
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.refusal import require
from holdfast.stability.verifier.schemes import Tableau

LEAP = 0.01  # of the time that the contraction takes to show: over a leap γ is used in place of powers of R
MOST_LEAPS = 1900  # over the shortest leap γ falls to 0.995: so many make 10⁻⁴
BITS = 160  # what is left of a power after so many leaps


def _arb(value: float | Fraction | int) -> Any:
    import flint

    exact = Fraction(value)
    return flint.arb(flint.fmpq(exact.numerator, exact.denominator))


def _matrix(rows: Sequence[Sequence[Any]]) -> Any:
    import flint

    return flint.arb_mat([[_arb(x) if isinstance(x, int | float | Fraction) else x for x in row] for row in rows])


def bits_for(size: int) -> int:
    """Bits with which powers stay known: a product of balls with T, ‖T‖₂ < 1, widens them by √n at the most."""
    return BITS + math.ceil(MOST_LEAPS * math.log2(size) / 2)


def top(value: Any) -> float:
    """A double not below a ball."""
    return float(np.nextafter(float(value.upper()), np.inf)) if value.is_finite() else np.inf


class Norm:
    """‖x‖ = ‖Lᵀx‖ and what a ball of it means for each deviation; the precision is the caller's."""

    def __init__(self, factor: list[list[float]], gamma: float) -> None:
        size = len(factor)
        self.gamma, self.size = _arb(gamma), size
        self.turned = _matrix([[factor[j][i] for j in range(size)] for i in range(size)])  # Lᵀ
        try:
            self.back = self.turned.inv()
        except ZeroDivisionError:
            require(False, "the norm is singular")

    def norm(self, vector: Sequence[Any]) -> Any:
        """‖Lᵀx‖ of a vector of balls."""
        return _length([sum((self.turned[i, j] * x for j, x in enumerate(vector)), _arb(0)) for i in range(self.size)])

    def widths(self) -> list[Any]:
        """The largest value of each deviation in the unit ball of the norm."""
        return [_length([self.back[i, j] for j in range(self.size)]) for i in range(self.size)]

    def radius(self, defect: Any) -> Any:
        return defect / (1 - self.gamma)


class Contraction(Norm):
    """The claims of one block about its norm, re-checked when it is made."""

    def __init__(
        self, matrix: list[list[Fraction]], tableau: Tableau, step: float, factor: list[list[float]], gamma: float
    ) -> None:
        super().__init__(factor, gamma)
        size = self.size
        law = _matrix(matrix) * _arb(step)
        power = identity = _matrix([[int(i == j) for j in range(size)] for i in range(size)])
        total = identity * _arb(0)
        for coefficient in tableau.stability:
            total, power = total + power * _arb(coefficient), power * law
        self.step_matrix = total
        self._image = self.turned * total * self.back  # T
        slack = identity * (self.gamma * self.gamma) - self._image.transpose() * self._image
        require(_positive(slack, size), "one step does not contract as stated")

    def settled(self, defect: Any) -> list[Any]:
        """A bound of each deviation for a run that starts on the program: eᵢᵀ Rʲ L⁻ᵀ = eᵢᵀ L⁻ᵀ Tʲ, T = Lᵀ R L⁻ᵀ."""
        gap = 1 - self.gamma
        count = max(1, int(LEAP / float(gap.mid())))
        leap, within = self._image**count, (1 - self.gamma**count) / gap
        current, shrunk, widths = self.back, _arb(1), self.widths()
        total, best = [_arb(0)] * self.size, [w / gap for w in widths]
        for _ in range(MOST_LEAPS):
            rows = [_length([current[i, j] for j in range(self.size)]) for i in range(self.size)]
            total = [a + within * b for a, b in zip(total, rows, strict=True)]
            current, shrunk = current * leap, shrunk * self.gamma**count
            sums = [a + shrunk / gap * width for a, width in zip(total, widths, strict=True)]
            best = [a if a.upper() < b.upper() else b for a, b in zip(sums, best, strict=True)]
            if shrunk < 1e-4:
                break
        return [defect * b for b in best]


def _length(vector: Sequence[Any]) -> Any:
    return sum((x.abs_upper() * x.abs_upper() for x in vector), _arb(0)).sqrt()


def _positive(table: Any, size: int) -> bool:
    """Whether a symmetric matrix of balls is positive definite: its Cholesky factor exists."""
    rows: list[list[Any]] = []
    for i in range(size):
        row: list[Any] = []
        for j in range(i + 1):
            rest = table[i, j] - sum((row[k] * (rows[j] if j < i else row)[k] for k in range(j)), _arb(0))
            if j < i:
                row.append(rest / rows[j][j])
            elif rest > 0:
                row.append(rest.sqrt())
            else:
                return False
        rows.append(row)
    return True
