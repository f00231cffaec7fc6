"""Choosing the norm of a certificate: a search in floats; what it finds is checked elsewhere."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgWarning, solve_discrete_lyapunov

SHARES = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)  # of the way from 1 to the spectral radius
SMALLEST_SIZE = 1e-10  # beside the largest, below which a component's size is rounding
LEAST_NORM = 1e-100
LITTLE, MOST_POWERS = 1e-4, 2048  # of a sum: where it ends, or after so many terms


@dataclass(frozen=True, eq=False)
class ChosenNorm:
    """‖x‖_P = ‖Lᵀx‖₂ with ‖R‖_P ≤ gamma for all the matrices it was chosen for."""

    factor: np.ndarray
    gamma: float

    def widths(self) -> list[float]:
        """The largest value of each component in the unit ball."""
        return [float(x) for x in np.linalg.norm(np.linalg.inv(self.factor.T), axis=1)]


def contraction_factor(factor: np.ndarray, matrices: np.ndarray) -> float:
    """The largest ‖R‖_P over matrices."""
    inverse = np.linalg.inv(factor.T)
    return float(np.linalg.svd(factor.T @ matrices @ inverse, compute_uv=False).max())


def search_norm(matrices: np.ndarray, defects: np.ndarray) -> ChosenNorm | None:
    """The norm, among solutions of Stein's equation, that makes the settled deviation smallest for these defects.

    (R/γ)ᵀ P (R/γ) − P = −Q
    """
    mean = matrices.mean(axis=0)
    radius = np.abs(np.linalg.eigvals(mean)).max()
    if not radius < 1:
        return None
    best, least = None, np.inf
    steady = _steady(mean, defects)
    for scale in _scalings(mean, defects, steady):
        for share in SHARES:
            factor = _stein(mean, 1 - share * (1 - radius), scale)
            if factor is None:
                continue
            gamma = contraction_factor(factor, matrices)
            if not gamma < 1:
                continue
            worst = np.linalg.norm(defects @ factor, axis=1).max()
            settled = worst * _impulse(mean, factor, gamma)
            score = float((settled / steady).sum())
            if score < least:
                best, least = ChosenNorm(factor, min(gamma + 1e-7 * (1 - gamma), 1.0)), score
    return best


def _steady(mean: np.ndarray, defects: np.ndarray) -> np.ndarray:
    """The deviation that each defect, were it the same at every step, would settle at: the largest, by component."""
    response = np.abs(np.linalg.solve(np.eye(len(mean)) - mean, defects.T)).max(axis=1)
    return np.maximum(np.maximum(response, np.abs(defects).max(axis=0)), LEAST_NORM)


def _scalings(mean: np.ndarray, defects: np.ndarray, steady: np.ndarray) -> list[np.ndarray]:
    """Weights Q: by the sizes of the defects, by those of the deviations they lead to, and equal."""
    sizes = [np.abs(defects).max(axis=0), steady]
    floors = [np.maximum(size, max(SMALLEST_SIZE * size.max(), LEAST_NORM)) for size in sizes]
    return [*(np.diag((size.min() / size) ** 2) for size in floors), np.eye(len(mean))]


def _stein(mean: np.ndarray, gamma: float, weight: np.ndarray) -> np.ndarray | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LinAlgWarning)  # a poor solution is no norm, and is not chosen
            solution = solve_discrete_lyapunov((mean / gamma).T, weight)
        factor = np.linalg.cholesky((solution + solution.T) / 2)
    except (np.linalg.LinAlgError, ValueError):
        return None
    return factor / factor[0, 0] if np.isfinite(factor).all() and factor[0, 0] > 0 else None


def _impulse(mean: np.ndarray, factor: np.ndarray, gamma: float) -> np.ndarray:
    """Σ ‖eᵢᵀ Rʲ L⁻ᵀ‖: what a unit of defect at each step can add up to in each component."""
    count = max(1, int(0.02 / (1 - gamma)))  # powers over which the contraction hardly shows are taken in one leap
    step = np.linalg.matrix_power(mean, count)
    powers, inverse = np.eye(len(mean))[None], np.linalg.inv(factor.T)
    while True:  # twice as many powers at a time, until what is added is little
        sizes = count * np.sqrt(np.square(powers @ inverse).sum(axis=2))
        totals = np.cumsum(sizes, axis=0)
        little = sizes.max(axis=1) < LITTLE * totals.max(axis=1)
        if little.any() or len(powers) >= MOST_POWERS:
            return np.asarray(totals[int(np.argmax(little)) if little.any() else -1])
        powers, step = np.concatenate([powers, powers @ step]), step @ step
