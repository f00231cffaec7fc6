"""The norm of a proof, and how one step contracts in it, enclosed.

‖x‖_P = ‖Lᵀx‖₂,    P = L Lᵀ,    ‖R(step·H)‖_P ≤ γ < 1
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.balls import ball
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.enclosure import Ball, ball_matrix, matrix, norm, upper

LEAP = 0.02  # of the time that the contraction takes to show


def propagator(scheme: RungeKutta, law: np.ndarray, step: float) -> Any:
    """R(step·H) of an explicit scheme up to its order, as a ball matrix from exact doubles.

    What stages beyond the order add to R is left to the defect.
    """
    import flint

    size = len(law)
    scaled = ball_matrix(law) * flint.arb(step)
    identity = ball_matrix(np.eye(size))
    total, power = identity * ball(scheme.stability.numerator[0]), identity
    for coefficient in scheme.stability.numerator[1 : scheme.order + 1]:
        power = power * scaled
        total = total + power * ball(coefficient)
    return total


def is_positive_definite(symmetric: Any) -> bool:
    """Whether every matrix in a symmetric ball matrix is positive definite: all pivots of its elimination are
    positive.
    """
    size = symmetric.nrows()
    rows = [[symmetric[i, j] for j in range(size)] for i in range(size)]
    for k in range(size):
        if not rows[k][k] > 0:
            return False
        for i in range(k + 1, size):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [rows[i][j] - factor * rows[k][j] for j in range(size)]
    return True


@dataclass(frozen=True, eq=False)
class Contraction:
    """‖R‖_P ≤ gamma, proved in balls; and what bounds in this norm mean for each deviation."""

    factor: np.ndarray  # L, lower triangular, exact doubles
    gamma: float
    step_matrix: Any  # R in balls

    @cached_property
    def inverse(self) -> Any:
        """L⁻ᵀ."""
        return ball_matrix(self.factor.T).inv()

    def holds(self) -> bool:
        """γ²I − (LᵀRL⁻ᵀ)ᵀ(LᵀRL⁻ᵀ) is positive definite."""
        if not 0 < self.gamma < 1:
            return False
        turned = ball_matrix(self.factor.T) * self.step_matrix * self.inverse
        gram = turned.transpose() * turned
        bound = ball(self.gamma) ** 2
        size = gram.nrows()
        slack = matrix([[(bound if i == j else ball(0)) - gram[i, j] for j in range(size)] for i in range(size)])
        return is_positive_definite(slack)

    def radius(self, defect: float) -> float:
        """δ/(1 − γ): the ball that the deviations never leave, and settle into."""
        return upper(ball(defect) / (1 - ball(self.gamma)))

    def widths(self) -> list[float]:
        """The largest value of each deviation in the unit ball of the norm: ‖eᵢᵀL⁻ᵀ‖."""
        return [norm(row) for row in self._rows(self.inverse)]

    def settled(self, defect: float, most: int = 2000) -> list[float]:
        """A bound of each deviation for a run that starts on the program.

        ψ_k = Σ Rʲ d,   |ψᵢ| ≤ δ Σⱼ ‖eᵢᵀ Rʲ L⁻ᵀ‖,     ‖eᵢᵀ Rʲ⁺ⁱ L⁻ᵀ‖ ≤ ‖eᵢᵀ Rʲ L⁻ᵀ‖ γⁱ

        The powers are taken in leaps over which γ hardly falls, and the tail by γ. Powers of balls grow wider, so that
        beyond some power the tail is the better bound: the smallest sum counts.
        """
        size, gamma = len(self.factor), ball(self.gamma)
        count = max(1, int(LEAP / (1 - self.gamma)))
        leap, within = self.step_matrix**count, (1 - gamma**count) / (1 - gamma)
        current, total, best = self.inverse, [ball(0)] * size, [math.inf] * size
        widths, shrunk = self.widths(), ball(1)
        for _ in range(most):
            total = [a + within * ball(norm(row)) for a, row in zip(total, self._rows(current), strict=True)]
            current, shrunk = leap * current, shrunk * gamma**count
            tail = shrunk / (1 - gamma)
            sums = [upper(ball(defect) * (a + tail * ball(width))) for a, width in zip(total, widths, strict=True)]
            best = [min(new, old) for new, old in zip(sums, best, strict=True)]
            if shrunk < 1e-3:
                break
        return best

    @staticmethod
    def _rows(table: Any) -> list[list[Ball]]:
        return [[table[i, j] for j in range(table.ncols())] for i in range(table.nrows())]
