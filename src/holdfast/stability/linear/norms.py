"""Norms in which a step of the deviations contracts.

    ‖x‖_P = √(xᵀ P x),     ‖A‖_P = √λ_max(Aᵀ P A, P) = ‖Lᵀ A L⁻ᵀ‖₂,     P = L Lᵀ

The Euclidean norm never serves with a holonomic constraint: the upper left block of I + τH is I, so ‖I + τH‖ ≥ 1 in
every absolute norm, for all gains and all steps. P takes its place:

    continuous(H, Q)        Hᵀ P + P H = −Q
    shifted(H, δ, Q)        (H + δI)ᵀ P + P (H + δI) = −Q,    0 < δ < −max Re λ
    stein(A, γ)             (A/γ)ᵀ P (A/γ) − P = −I,          ρ(A) < γ < 1: tight for a given scheme and step
    modal(H)                P = Re (X X*)⁻¹ of the eigenvectors X: the best rate, where H has a basis of them
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_continuous_lyapunov, solve_discrete_lyapunov

from holdfast.errors import BadRequest
from holdfast.stability.linear.hurwitz import place_of_roots
from holdfast.stability.linear.shape import Array, as_numbers, natural_weights, square


@dataclass(frozen=True, eq=False)
class Norm:
    """‖x‖_P for a symmetric positive definite P; `origin` says how P was found."""

    matrix: Array
    origin: str = "given"

    def __post_init__(self) -> None:
        given = square(self.matrix, "P")
        matrix = (given + given.T) / 2
        if np.abs(given - matrix).max() > 1e-9 * np.abs(matrix).max():
            raise BadRequest("P is not symmetric", fix="only its symmetric part enters xᵀPx: give that")
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)
        if not self.minors_positive:
            raise BadRequest(
                f"P is not positive definite: its smallest eigenvalue is {self.eigenvalues[0]:.3g}",
                fix="solve Lyapunov's equation for a Hurwitz matrix: continuous(H)",
            )

    @cached_property
    def factor(self) -> Array:
        """L of P = L Lᵀ."""
        return np.linalg.cholesky(self.matrix)

    @property
    def minors_positive(self) -> bool:
        """Sylvester's criterion, as Cholesky's algorithm decides it."""
        try:
            np.linalg.cholesky(self.matrix)
        except np.linalg.LinAlgError:
            return False
        return True

    def __call__(self, vector: Any) -> Any:
        """‖x‖_P of a vector, or of each row of an array."""
        rows = as_numbers(vector, "the vector")
        lengths = np.linalg.norm(rows @ self.factor, axis=-1)
        return float(lengths) if rows.ndim == 1 else lengths

    def of_matrix(self, matrix: Any) -> float:
        """‖A‖_P = ‖Lᵀ A L⁻ᵀ‖₂."""
        return float(np.linalg.norm(self.in_own_basis(square(matrix, "A")), 2))

    def log_norm(self, matrix: Any) -> float:
        """μ_P(H) = lim (‖I + τH‖_P − 1)/τ, so that ‖exp(Ht)‖_P ≤ exp(μ_P t)."""
        inside = self.in_own_basis(square(matrix))
        return float(np.linalg.eigvalsh((inside + inside.T) / 2)[-1])

    def in_own_basis(self, matrix: Array) -> Array:
        """Lᵀ A L⁻ᵀ."""
        turned = self.factor.T @ matrix
        return np.linalg.solve(self.factor, turned.T).T  # SciPy's triangular one wakes threads: 400 times as long

    @cached_property
    def eigenvalues(self) -> Array:
        return np.linalg.eigvalsh(self.matrix)

    @property
    def condition(self) -> float:
        return float(self.eigenvalues[-1] / self.eigenvalues[0])

    @property
    def minors(self) -> Array:
        """The leading principal minors of P."""
        return leading_minors(self.matrix)

    @property
    def lower(self) -> float:
        """√λ_min: lower ‖x‖₂ ≤ ‖x‖_P."""
        return float(np.sqrt(self.eigenvalues[0]))

    @property
    def upper(self) -> float:
        """√λ_max: ‖x‖_P ≤ upper ‖x‖₂."""
        return float(np.sqrt(self.eigenvalues[-1]))

    @property
    def growth(self) -> float:
        """√cond P: by how much ‖x‖₂ may grow while ‖x‖_P does not."""
        return self.upper / self.lower


def euclidean(size: int) -> Norm:
    return Norm(np.eye(size), "Euclidean")


def leading_minors(matrix: Any) -> Array:
    """The leading principal minors: all positive exactly when a symmetric matrix is positive definite (Sylvester)."""
    array = as_numbers(matrix, "the matrix")
    return np.array([np.linalg.det(array[:k, :k]) for k in range(1, len(array) + 1)])


def continuous(matrix: Any, weights: Any = None, *, positions: int | None = None) -> Norm:
    """P of Hᵀ P + P H = −Q; without weights Q = diag(ω², 1), which does not depend on the unit of time."""
    H = square(matrix)
    Q = _weights(H, weights, positions)
    if not place_of_roots(H).hurwitz:
        raise BadRequest(
            "Lyapunov's equation has no positive solution: H has a root that is not in Re λ < 0",
            fix="give every constraint of this block positive stiffness and damping",
        )
    return Norm(_symmetric(solve_continuous_lyapunov(H.T, -Q)), "Lyapunov")


def shifted(matrix: Any, shift: float | None = None, weights: Any = None, *, positions: int | None = None) -> Norm:
    """P of (H + δI)ᵀ P + P (H + δI) = −Q, for which μ_P(H) < −δ; unless given, δ is 4/5 of the way to the axis."""
    H = square(matrix)
    room = -float(np.linalg.eigvals(H).real.max())
    delta = 0.8 * room if shift is None else float(shift)
    if not 0 < delta < room:
        raise BadRequest(f"the shift {delta:g} is not between 0 and {room:g}", fix="0 < δ < −max Re λ")
    Q = _weights(H, weights, positions)
    return Norm(
        _symmetric(solve_continuous_lyapunov((H + delta * np.eye(len(H))).T, -Q)), f"Lyapunov, shifted by {delta:g}"
    )


def stein(propagator: Any, contraction: float | None = None) -> Norm:
    """P with ‖A‖_P < γ for a propagator A, from (A/γ)ᵀ P (A/γ) − P = −I; γ = (1 + ρ(A))/2 unless given.

    It exists below the spectral limit of every scheme, for defective A too.
    """
    A = square(propagator, "the propagator")
    radius = float(np.abs(np.linalg.eigvals(A)).max())
    gamma = (1 + radius) / 2 if contraction is None else float(contraction)
    if not radius < gamma or not gamma <= 1:
        raise BadRequest(
            f"no norm makes this step contract by {gamma:g}: its spectral radius is {radius:g}",
            fix="use a smaller step, or a γ between the spectral radius and 1",
        )
    return Norm(_symmetric(solve_discrete_lyapunov((A / gamma).T, np.eye(len(A)))), f"Stein, γ = {gamma:.6g}")


def modal(matrix: Any) -> Norm:
    """P = Re (X X*)⁻¹, X the eigenvectors scaled to length 1: V = xᵀPx falls at the best rate, 2 min |Re λ|."""
    H = square(matrix)
    _, vectors = np.linalg.eig(H)
    if np.linalg.cond(vectors) > 1e7:
        raise BadRequest("H has no basis of eigenvectors (a double root)", fix="use shifted(H) instead")
    return Norm(np.linalg.inv(vectors @ vectors.conj().T).real, "modal")


def _weights(matrix: Array, weights: Any, positions: int | None) -> Array:
    if weights is None:
        return natural_weights(matrix, positions)
    Q = as_numbers(weights, "the weights")
    Q = Q * np.eye(len(matrix)) if Q.ndim == 0 else (np.diag(Q) if Q.ndim == 1 else square(Q, "Q"))
    if Q.shape != matrix.shape or np.linalg.eigvalsh((Q + Q.T) / 2)[0] <= 0:
        raise BadRequest(
            "Q is not a positive definite matrix of the size of H", fix="leave it out, or give its diagonal"
        )
    return Q


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2


def decay_rate(norm: Norm, matrix: Any) -> float:
    """The largest p with P H + Hᵀ P ≤ −p P: V = xᵀPx falls as exp(−pt), ‖x‖_P as exp(−pt/2)."""
    return -2 * norm.log_norm(matrix)


def pencil_max(left: Array, right: Array) -> float:
    """λ_max of the pencil (A, B), both symmetric, B positive definite."""
    return float(eigh(_symmetric(left), _symmetric(right), eigvals_only=True)[-1])


def worst(norm: Norm, matrices: Sequence[Any]) -> float:
    """max ‖A‖_P over some matrices."""
    return max(norm.of_matrix(matrix) for matrix in matrices)
