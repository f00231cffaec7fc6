"""Deviations under noise: how wide they spread, and when multiplicative noise undoes a law.

    dz = H z dt + E Σ dW       stationary covariance  H S + S Hᵀ + Q = 0,          Q = EΣΣᵀEᵀ
    Euler-Maruyama, step τ     S = (I + τH) S (I + τH)ᵀ + τQ
    dz = H z dt + Σ N_k z dW_k mean-square stable     ⇔  S ↦ HS + SHᵀ + Σ N_k S N_kᵀ has its spectrum in Re < 0

For y'' = −k y − b y' + σξ: Var y = σ²/(2bk), Var y' = σ²/(2b), no covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

from holdfast.errors import BadRequest
from holdfast.stability.hurwitz import place_of_roots
from holdfast.stability.shape import Array, square


def stationary_covariance(matrix: Any, intensity: Any, step: float | None = None) -> Array:
    """The covariance of z in the long run; `intensity` is Q = EΣΣᵀEᵀ. With a step, that of Euler-Maruyama."""
    H, Q = square(matrix), square(intensity, "Q")
    if step is None:
        if not place_of_roots(H).hurwitz:
            raise BadRequest("deviations do not settle: H is not Hurwitz", fix="choose a law that attracts")
        S = solve_continuous_lyapunov(H, -Q)
    else:
        A = np.eye(len(H)) + step * H
        if np.abs(np.linalg.eigvals(A)).max() >= 1:
            raise BadRequest(f"Euler's step {step:g} is beyond its limit for this law", fix="use a smaller step")
        S = solve_discrete_lyapunov(A, step * Q)
    return (S + S.T) / 2


def mean_square_abscissa(matrix: Any, noises: Sequence[Any]) -> float:
    """max Re of the spectrum of S ↦ HS + SHᵀ + Σ N_k S N_kᵀ: negative exactly for mean-square stability."""
    H = square(matrix)
    one = np.eye(len(H))
    operator = np.kron(H, one) + np.kron(one, H)
    for noise in noises:
        operator += np.kron(square(noise, "N"), square(noise, "N"))
    return float(np.linalg.eigvals(operator).real.max())
