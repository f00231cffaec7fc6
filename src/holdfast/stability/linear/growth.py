"""Whether a scheme by itself makes a kept deviation grow, decided in balls: no tolerance hides a slow growth.

    |R(step·λ)| > 1     for a root λ of H

The roots are enclosed from the exact characteristic polynomial; λ = 0 is found exactly, and there R = 1. A factor whose
ball holds 1 is one of a scheme that keeps (as the implicit midpoint rule does), or grows by less than 2⁻¹⁵⁰ a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.balls import ball, precision
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.hurwitz import LARGEST
from holdfast.stability.linear.shape import positions_of

BITS = 256
COMPUTED = 1e-7  # beyond LARGEST rows eigenvalues are computed in doubles, where a double one is off by √2⁻⁵²


def growth(scheme: Scheme, matrix: np.ndarray, step: float) -> float:
    """By how much a step multiplies some deviation beyond 1; 0 where it is not shown to."""
    if len(matrix) > LARGEST:
        excess = float(np.abs(np.linalg.eigvals(scheme.propagator(matrix, step))).max()) - 1
        return excess if excess > COMPUTED else 0.0
    with precision(BITS):
        if not scheme.treats_all_alike:
            factors = _roots(_symplectic(matrix, step))
        else:
            stability = scheme.stability
            scaled = [ball(float(step)) * root for root in _roots(_exact(matrix))]
            factors = [_polynomial(stability.numerator, z) / _polynomial(stability.denominator, z) for z in scaled]
        excesses = [abs(factor) - 1 for factor in factors]
        return max((float(excess.mid()) for excess in excesses if excess > 0), default=0.0)


def _roots(matrix: Any) -> list[Any]:
    return [root for root, _ in matrix.charpoly().numer().complex_roots()]


def _exact(matrix: np.ndarray) -> Any:
    import flint

    entries = [flint.fmpq(*float(x).as_integer_ratio()) for x in np.asarray(matrix).ravel()]
    return flint.fmpq_mat(len(matrix), len(matrix), entries)


def _symplectic(matrix: np.ndarray, step: float) -> Any:
    """One step of symplectic Euler: w⁺ = w + step (H_wy y + H_ww w), then y⁺ = y + step w⁺."""
    size, positions = len(matrix), positions_of(np.asarray(matrix, dtype=float))
    kick, drift = np.array(matrix, dtype=float), np.array(matrix, dtype=float)
    kick[:positions], drift[positions:] = 0.0, 0.0
    identity, length = _exact(np.eye(size)), _exact(np.array([[step]]))[0, 0]
    return (identity + _exact(drift) * length) * (identity + _exact(kick) * length)


def _polynomial(coefficients: Sequence[Fraction], z: Any) -> Any:
    value = ball(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * z + ball(coefficient)
    return value
