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
TAIL = 1e-3  # of what a defect begins as: what is left of it after the last leap
UNIT, LEAST = 2.0**-53, 1e-280  # of one rounding; and more than what underflow may take
KNOWN = 1e-3  # a power that is known to less is used no further
ROOM = 2.0**-36  # relative: more than what a few thousand roundings of sums lose


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

        The powers are taken in leaps over which γ hardly falls, and the tail by γ. What is known of a power is less
        the further it is, so that beyond some power the tail is the better bound: the smallest sum counts.
        """
        gamma, widths = ball(self.gamma), np.array(self.widths())
        count = max(1, int(LEAP / (1 - self.gamma)))
        shrunk, within = upper(gamma**count), upper((1 - gamma**count) / (1 - gamma))
        leaps = min(most, math.ceil(math.log(TAIL) / math.log(shrunk)))
        sizes = self._leaps(count, leaps, widths)
        tails = upper(1 / (1 - gamma)) * shrunk ** np.arange(1, len(sizes) + 1)
        sums = within * np.cumsum(sizes, axis=0) + tails[:, None] * widths
        return [upper(ball(defect) * ball(float(x)) * ball(1 + ROOM)) for x in sums.min(axis=0)]

    def _leaps(self, count: int, leaps: int, widths: np.ndarray) -> np.ndarray:
        """‖eᵢᵀ Rʲ L⁻ᵀ‖ for j = 0, count, 2·count, ..., not below but for roundings of the sums: [leap, deviation].

            eᵢᵀ Rʲ L⁻ᵀ = eᵢᵀ L⁻ᵀ Tʲ,      T = Lᵀ R L⁻ᵀ,     ‖T‖₂ ≤ γ < 1

        Powers of T are made in doubles, M_j = T^(j·count) + E_j with ‖E_j‖ ≤ η_j, and so long as that is small

            η_{i+j} ≤ η_i + (1 + η_i) η_j + 2n²u

        (theory 3.4): errors add up and are never magnified. Twice as many at a time; fewer where η has grown.
        """
        size, inverse = len(self.factor), _middle(self.inverse)
        turned = ball_matrix(self.factor.T) * self.step_matrix**count * self.inverse
        power, off = _middle(turned), _missed(turned)
        lost = 2 * size**2 * UNIT + LEAST
        powers, errors = np.eye(size)[None], np.zeros(1)
        while len(powers) < leaps and off < KNOWN:
            powers = np.concatenate([powers, power @ powers])
            errors = np.concatenate([errors, off + (1 + off) * errors + lost])
            power, off = power @ power, 2 * off + off**2 + lost
        known, lacking = errors[:leaps, None] + 2 * lost, _missed_rows(self.inverse)
        return np.asarray(np.linalg.norm(inverse @ powers[:leaps], axis=2) + widths * known + lacking)

    @staticmethod
    def _rows(table: Any) -> list[list[Ball]]:
        return [[table[i, j] for j in range(table.ncols())] for i in range(table.nrows())]


def _middle(table: Any) -> np.ndarray:
    """The midpoints of a ball matrix, as doubles."""
    return np.array([[float(x.mid()) for x in row] for row in Contraction._rows(table)])


def _missed_rows(table: Any) -> np.ndarray:
    """How far each row of a ball matrix may be from its midpoints in doubles."""
    return np.array([norm([x - ball(float(x.mid())) for x in row]) for row in Contraction._rows(table)])


def _missed(table: Any) -> float:
    """The same of the whole, in the norm of all its entries."""
    return norm([ball(float(x)) for x in _missed_rows(table)])
