"""Deviations under noise: how wide they spread, and when multiplicative noise undoes a law.

    dz = H z dt + E Σ dW       stationary covariance  H S + S Hᵀ + Q = 0,          Q = EΣΣᵀEᵀ
    Euler-Maruyama, step τ     S = (I + τH) S (I + τH)ᵀ + τQ
    dz = H z dt + Σ N_k z dW_k mean-square stable     ⇔  S ↦ HS + SHᵀ + Σ N_k S N_kᵀ has its spectrum in Re < 0

For y'' = −k y − b y' + σξ: Var y = σ²/(2bk), Var y' = σ²/(2b), no covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.tape import Tape
from holdfast.problem.types import ByName, MatrixLike, StateLike
from holdfast.results.runs.noise import noise_columns
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


def mean_square_abscissa(matrix: MatrixLike, noises: Sequence[Any]) -> float:
    """max Re of the spectrum of S ↦ HS + SHᵀ + Σ N_k S N_kᵀ: negative exactly for mean-square stability."""
    H = square(matrix)
    one = np.eye(len(H))
    operator = np.kron(H, one) + np.kron(one, H)
    for noise in noises:
        operator += np.kron(square(noise, "N"), square(noise, "N"))
    return float(np.linalg.eigvals(operator).real.max())


def deviation_covariance(
    equations: Equations,
    *,
    project: bool = False,
    deviation_noise: Mapping[str, ByName] | None = None,
    step: float | None = None,
    state: StateLike | None = None,
) -> Array:
    """The covariance that (y, w) settle to under the noise of a problem, with Σ_y = Gσ and H as they are at one state.

    Exact for a linear law with constant Gσ; an estimate otherwise. With a step, that of Euler-Maruyama.
    """
    columns = noise_columns(equations, project=project, deviation_noise=deviation_noise)
    at = equations.evaluate(state)
    numbers = [at.time, *at.state, *(equations.parameter_values[name] for name in equations.parameter_names)]
    sigma = np.array(Tape(equations.field.inputs, tuple(node for column in columns for node in column))(numbers))
    pushed = at.jacobian @ sigma.reshape(len(columns), -1).T  # Gσ: constraints by channels
    m = len(at.deviation)
    intensity = np.zeros((m + len(pushed), m + len(pushed)))
    intensity[m:, m:] = pushed @ pushed.T
    return stationary_covariance(at.deviation_matrix, intensity, step)
