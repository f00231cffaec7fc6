"""Deviations under noise: how wide they spread, and when multiplicative noise undoes a law.

    dz = H z dt + E Σ dW       stationary covariance  H S + S Hᵀ + Q = 0,          Q = EΣΣᵀEᵀ
    Euler-Maruyama, step τ     S = (I + τH) S (I + τH)ᵀ + τQ
    dz = H z dt + Σ N_k z dW_k mean-square stable     ⇔  S ↦ HS + SHᵀ + Σ N_k S N_kᵀ has its spectrum in Re < 0

These are for matrices; `mean_square` takes H, Σ and N_k from the equations of a problem.

For y'' = −k y − b y' + σξ: Var y = σ²/(2bk), Var y' = σ²/(2b), no covariance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

from holdfast.errors import BadRequest
from holdfast.problem.types import MatrixLike
from holdfast.stability.linear.hurwitz import place_of_roots
from holdfast.stability.linear.shape import Array, square


def stationary_covariance(matrix: MatrixLike, intensity: Any, step: float | None = None) -> Array:
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


def settled(H: Array, Q: Array, noises: Sequence[Array], step: float | None = None) -> Array:
    """S with HS + SHᵀ + Σ N_k S N_kᵀ + Q = 0, or S = ASAᵀ + τ(Σ N_k S N_kᵀ + Q) with A = 1 + τH: additive and
    multiplicative noise together.
    """
    if not noises:
        return stationary_covariance(H, Q, step)
    size, A = len(H), np.eye(len(H)) + (step or 0.0) * H
    spread = sum(np.kron(N, N) for N in noises)
    if step is None:
        operator = mean_square_operator(H, noises)
        if not place_of_roots(operator).hurwitz:
            raise BadRequest(
                "the noise undoes the law: deviations are not stable in the mean square",
                fix="choose higher gains, or less noise: mean_square gives the rate",
            )
        S = np.linalg.solve(operator, -Q.ravel())
    else:
        operator = np.kron(A, A) + step * spread
        if np.abs(np.linalg.eigvals(operator)).max() >= 1:
            raise BadRequest(f"Euler's step {step:g} is beyond its limit for this noise", fix="use a smaller step")
        S = np.linalg.solve(np.eye(size**2) - operator, step * Q.ravel())
    S = S.reshape(size, size)
    return (S + S.T) / 2


def mean_square_operator(H: Array, noises: Sequence[Array]) -> Array:
    """The matrix of S ↦ HS + SHᵀ + Σ N_k S N_kᵀ on S row by row."""
    one = np.eye(len(H))
    return sum((np.kron(N, N) for N in noises), np.kron(H, one) + np.kron(one, H))


def mean_square_abscissa(matrix: MatrixLike, noises: Sequence[Any]) -> float:
    """max Re of the spectrum of S ↦ HS + SHᵀ + Σ N_k S N_kᵀ: negative exactly for mean-square stability."""
    operator = mean_square_operator(square(matrix), [square(noise, "N") for noise in noises])
    return float(np.linalg.eigvals(operator).real.max())
