"""Which rows of a deviation matrix are y and which are w, and in which units they are compared.

        d(y, w)/dt = H (y, w),     H = [[0, S], [C, K]],     S = (I 0):  the first m rows of H read (0, I, 0)

A deviation y and its rate w have different units, so every norm of (y, w) needs a scale: ω_i = √|C_ii|, the frequency
of the spring that pulls y_i back, turns w_i/ω_i into the units of y_i. What is said without it is said of the units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.errors import BadRequest

Array = np.ndarray


def square(matrix: Any, name: str = "H") -> Array:
    """The matrix as doubles, if it is square and finite."""
    array = numbers_of(matrix, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise BadRequest(f"{name} is not a square matrix", fix="give as many rows as columns, at least one")
    if not np.isfinite(array).all():
        raise BadRequest(f"{name} contains a number that is not finite", fix="evaluate it where it is defined")
    return array


def numbers_of(matrix: Any, name: str) -> Array:
    """A matrix as doubles; one with letters or ragged rows is refused in words."""
    try:
        return np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        letters = sorted({str(s) for s in getattr(matrix, "free_symbols", ())})
        what = f"{name} contains {', '.join(letters[:6])}" if letters else f"{name} is not a matrix of numbers"
        raise BadRequest(what, fix="put numbers in, by matrix.subs({...}); hf.lyapunov keeps letters") from None


def positions_of(matrix: Array) -> int:
    """How many leading rows of H read (0, I, 0): the number m of deviations y."""
    size = len(matrix)
    for m in range(size // 2, 0, -1):
        if np.array_equal(matrix[:m], np.eye(size)[m : 2 * m]):
            return m
    return 0


def deviation_matrix(stiffness: Any, damping: Any, coupling: Any = None) -> Array:
    """H = [[0, S], [−K, −B]] of the law dw/dt = −K y − B w.

    Numbers, diagonals or matrices; `stiffness` has one entry per holonomic constraint, `damping` one per constraint.
    `coupling` may replace −K as a whole where nonholonomic rows contain y.
    """
    spring, damper = _gain_matrix(stiffness), _gain_matrix(damping)
    m, r = len(spring), len(damper)
    if m > r:
        raise BadRequest(f"{m} stiffnesses and only {r} dampings", fix="every constraint needs a damping, if only 0")
    lower = np.vstack([-spring, np.zeros((r - m, m))]) if coupling is None else np.array(coupling, dtype=float)
    return np.block([[np.zeros((m, m)), np.eye(m, r)], [lower, -damper]])


def _gain_matrix(value: Any) -> Array:
    array = np.array(value, dtype=float)
    if array.ndim < 2:
        return np.diag(np.atleast_1d(array)) if array.size else np.zeros((0, 0))
    return square(array, "a gain matrix")


def frequencies(matrix: Array, positions: int | None = None) -> Array:
    """ω_i = √|C_ii| for each y; where a spring is missing, the size of the damping, or else 1."""
    m = positions_of(matrix) if positions is None else positions
    own = np.arange(m)
    springs = np.sqrt(np.abs(matrix[m + own, own]))
    dampers = np.abs(matrix[m + own, m + own])
    return np.where(springs > 0, springs, np.where(dampers > 0, dampers, 1.0))


def natural_weights(matrix: Array, positions: int | None = None) -> Array:
    """Q = diag(ω², 1): the right side of Lyapunov's equation that does not depend on the unit of time."""
    m = positions_of(matrix) if positions is None else positions
    return np.diag(np.concatenate([frequencies(matrix, m) ** 2, np.ones(len(matrix) - m)]))


def common_units(matrix: Array, positions: int | None = None) -> Array:
    """The factors that bring (y, w) to common units: (1, 1/ω), or (1, 1/μ, 1/μ², ...) for a companion matrix."""
    size = len(matrix)
    if size > 2 and np.array_equal(matrix[:-1], np.eye(size)[1:]):
        typical = abs(matrix[-1, 0]) ** (1 / size) or 1.0  # the geometric mean of the roots
        return typical ** -np.arange(size, dtype=float)
    m = positions_of(matrix) if positions is None else positions
    scale = np.ones(size)
    scale[m : 2 * m] = 1 / frequencies(matrix, m)
    return scale


def default_names(size: int, positions: int) -> tuple[str, ...]:
    return (*(f"y_{i + 1}" for i in range(positions)), *(f"w_{i + 1}" for i in range(size - positions)))


def scaled(matrix: Array, scale: Sequence[float] | Array) -> Array:
    """D H D⁻¹ for D = diag(scale): the same motion in other units."""
    factors = np.asarray(scale, dtype=float)
    return factors[:, None] * matrix / factors[None, :]
