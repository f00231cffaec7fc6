"""Symplectic Euler: first the rates, then the coordinates with the new rates.

    v⁺ = v + step F_v(q, v, t)          q⁺ = q + step F_q(q, v⁺, t)

First-order states move with the rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from holdfast.errors import BadRequest
from holdfast.schemes.algebra.stability_function import StabilityFunction
from holdfast.schemes.kinds.scheme import Scheme


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SymplecticEuler(Scheme):
    """The semi-implicit scheme of order 1 that keeps the symplectic form of a Hamiltonian system."""

    name: str = "symplectic-euler"
    order: int = 1

    @property
    def stage_count(self) -> int:
        return 1

    @property
    def explicit(self) -> bool:
        return True

    @property
    def treats_all_alike(self) -> bool:
        return False

    @property
    def stability(self) -> StabilityFunction:
        """1 + z: what it does to a first-order state. Coordinates and rates need `propagator`."""
        return StabilityFunction((Fraction(1), Fraction(1)))

    def propagator(self, matrix: np.ndarray, step: float, positions: int | None = None) -> np.ndarray:
        """One step of y' = w_1, w' = Y(y, w) with d(y,w)/dt = H (y,w).

            w⁺ = w + step (H_wy y + H_ww w)          y⁺ = y + step w⁺_1

        The first `positions` rows are the y; left out, they are counted from H, whose rows of y read (0, I, 0).
        """
        H = np.asarray(matrix, float)
        m = _positions(H) if positions is None else positions
        size = len(H)
        if not 0 <= 2 * m <= size:
            raise BadRequest(f"{m} deviations do not fit a matrix of {size} rows", where="propagator(positions=...)")
        kick, drift = np.eye(size), np.eye(size)
        kick[m:] += step * H[m:]
        drift[:m] += step * H[:m]
        return drift @ kick

    def wiping_roots(self) -> np.ndarray:
        """Those of λ² + λ + 1: with b = k·step, k = 1/step² its propagator is nilpotent."""
        return np.roots([1.0, 1.0, 1.0])


def _positions(matrix: np.ndarray) -> int:
    """How many leading rows of H read (0, I, 0): the largest m that fits."""
    size = len(matrix)
    for m in range(size // 2, 0, -1):
        if np.array_equal(matrix[:m], np.eye(size)[m : 2 * m]):
            return m
    return 0


SYMPLECTIC_EULER = SymplecticEuler()
