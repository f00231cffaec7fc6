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


def as_numbers(value: Any, name: str = "H") -> Array:
    """An array of doubles; letters in it are asked for by name."""
    try:
        return np.array(value, dtype=float)
    except (TypeError, ValueError):
        letters = sorted({s.name for entry in np.ravel(np.array(value, dtype=object)) for s in _letters(entry)})
    if letters:
        raise BadRequest(
            f"{name} contains {', '.join(letters[:12])}, and numbers are needed here",
            fix="put numbers in their place; hf.conditions(equations) keeps letters",
        )
    raise BadRequest(f"{name} is not made of numbers", fix="give numbers, as rows of equal length")


def _letters(entry: Any) -> Any:
    return getattr(entry, "free_symbols", ())


def square(matrix: Any, name: str = "H") -> Array:
    """The matrix as doubles, if it is square and finite."""
    array = as_numbers(matrix, name)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not array.size:
        raise BadRequest(f"{name} is not a square matrix", fix="give as many rows as columns, at least one")
    if not np.isfinite(array).all():
        raise BadRequest(f"{name} contains a number that is not finite", fix="evaluate it where it is defined")
    return array


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
    lower = np.vstack([-spring, np.zeros((r - m, m))]) if coupling is None else as_numbers(coupling, "the coupling")
    return np.block([[np.zeros((m, m)), np.eye(m, r)], [lower, -damper]])


def _gain_matrix(value: Any) -> Array:
    array = as_numbers(value, "a gain matrix")
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
    factors = as_numbers(scale, "the scale")
    return factors[:, None] * matrix / factors[None, :]
