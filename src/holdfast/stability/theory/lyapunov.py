"""Lyapunov functions of the deviations: quadratic forms with constant coefficients, and what they promise.

    V = ½ zᵀ G z,   z = (y, w),     V̇ = zᵀ G' z,   G' = ½(G H + Hᵀ G)

    l₁ ‖z‖² ≤ V ≤ l₂ ‖z‖²       l₁ = λ_min(G)/2,  l₂ = λ_max(G)/2
    V̇ ≤ −p V                    p = −λ_max of the pencil (GH + HᵀG, G)
    V̇ ≤ −l' ‖z‖²                l' = −λ_max(G')
    ‖I + τH‖²_V ≤ 1 − pτ + κτ²   κ = λ_max(G⁻¹HᵀGH): a step contracts for τ < p/κ

Only the symmetric part of GH counts: eigenvalues of GH in the left half plane prove nothing. V̇ = −pV exactly is
possible only where all roots lie on one line Re λ = −p/2. Functions whose coefficients depend on the motion are in
`state_function`, the way back from V to gains in `inverse_design`, one P for many H in `common_norm`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.errors import BadRequest
from holdfast.results.trajectory import Trajectory
from holdfast.stability.linear.norms import (
    Norm,
    continuous,
    decay_rate,
    euclidean,
    leading_minors,
    modal,
    pencil_max,
    shifted,
    stein,
)
from holdfast.stability.linear.shape import Array, as_numbers, square

__all__ = [
    "LyapunovFunction",
    "LyapunovSeries",
    "Norm",
    "continuous",
    "decay_rate",
    "deviations_along",
    "euclidean",
    "leading_minors",
    "modal",
    "shifted",
    "stein",
]


@dataclass(frozen=True, eq=False)
class LyapunovFunction:
    """V = ½ zᵀGz under d(y, w)/dt = H (y, w), both constant."""

    matrix: Array  # G
    deviation_matrix: Array  # H

    def __post_init__(self) -> None:
        G, H = Norm(self.matrix).matrix, square(self.deviation_matrix)
        if G.shape != H.shape:
            raise BadRequest(f"G has {len(G)} rows and H {len(H)}", fix="one row per deviation (y, w) in both")
        object.__setattr__(self, "matrix", G)
        object.__setattr__(self, "deviation_matrix", H)

    @classmethod
    def of(cls, matrix: Any, weights: Any = None) -> LyapunovFunction:
        """G of GH + HᵀG = −2N; without weights N = ½ diag(ω², 1)."""
        norm = continuous(matrix, None if weights is None else 2 * as_numbers(weights, "the weights"))
        return cls(norm.matrix, square(matrix))

    @cached_property
    def norm(self) -> Norm:
        """‖z‖_V = √V = ‖z‖_P with P = G/2."""
        return Norm(self.matrix / 2, "V")

    @property
    def l1(self) -> float:
        return float(self.norm.eigenvalues[0])

    @property
    def l2(self) -> float:
        return float(self.norm.eigenvalues[-1])

    @cached_property
    def derivative_matrix(self) -> Array:
        """G' = ½(GH + HᵀG), symmetric, of V̇ = zᵀG'z."""
        product = self.matrix @ self.deviation_matrix
        return (product + product.T) / 2

    @property
    def rate(self) -> float:
        """p: the largest with GH + HᵀG ≤ −pG."""
        return -pencil_max(2 * self.derivative_matrix, self.matrix)

    @property
    def kappa(self) -> float:
        """κ = λ_max(G⁻¹HᵀGH)."""
        H = self.deviation_matrix
        return pencil_max(H.T @ self.matrix @ H, self.matrix)

    @property
    def l_prime(self) -> float:
        """l' = −λ_max(G')."""
        return -float(np.linalg.eigvalsh(self.derivative_matrix)[-1])

    @property
    def minors(self) -> tuple[Array, Array]:
        """Sylvester's minors of G and of −G': V > 0 and V̇ < 0 exactly when all are positive."""
        return leading_minors(self.matrix), leading_minors(-self.derivative_matrix)

    @property
    def proves_stability(self) -> bool:
        """Whether V̇ is negative definite."""
        return self.l_prime > 0

    @property
    def exact(self) -> bool:
        """Whether V̇ = −pV identically, not only V̇ ≤ −pV."""
        residual = 2 * self.derivative_matrix + self.rate * self.matrix
        return bool(np.abs(residual).max() <= 1e-12 * np.abs(self.matrix).max() * max(1.0, abs(self.rate)))

    def __call__(self, deviations: Any) -> Any:
        """V at z, or at each row."""
        z = as_numbers(deviations, "the deviation")
        return np.einsum("...i,ij,...j->...", z, self.matrix, z) / 2

    def derivative(self, deviations: Any) -> Any:
        """V̇ at z, or at each row."""
        z = as_numbers(deviations, "the deviation")
        return np.einsum("...i,ij,...j->...", z, self.derivative_matrix, z)

    def start_limit(self, tolerance: float) -> float:
        """‖z₀‖ ≤ ε√(l₁/l₂) makes V(0) ≤ l₁ε²."""
        return tolerance * float(np.sqrt(self.l1 / self.l2))

    def contraction(self, step: float) -> float:
        """ρ = ‖I + τH‖_V of one Euler step."""
        return self.norm.of_matrix(np.eye(len(self.matrix)) + step * self.deviation_matrix)

    def along(self, trajectory: Trajectory, constraints: tuple[str, ...] | None = None) -> LyapunovSeries:
        """V, V̇ and Ṽ along a run of fixed step, for some constraints (all, unless named) in their order."""
        z = deviations_along(trajectory, constraints)
        if z.shape[1] != len(self.matrix):
            raise BadRequest(
                f"the run gives {z.shape[1]} deviations, V takes {len(self.matrix)}",
                fix='name the constraints of this block: along(trajectory, ("rod",))',
            )
        return LyapunovSeries(
            times=trajectory.times,
            step=every_step(trajectory),
            deviations=z,
            values=self(z),
            derivatives=self.derivative(z),
        )


@dataclass(frozen=True, eq=False)
class LyapunovSeries:
    """V along a run.

        Ṽ(s) := V(s+1) − V(s) − τV̇(s),     W := 2Ṽ/τ²

    Ṽ is defined so, hence exact: it holds the terms of second order, the defect of the scheme and what it dropped.
    """

    times: Array
    step: float
    deviations: Array
    values: Array
    derivatives: Array

    @cached_property
    def remainders(self) -> Array:
        """Ṽ(s), s = 0 … S−1."""
        return self.values[1:] - self.values[:-1] - self.step * self.derivatives[:-1]

    @property
    def curvatures(self) -> Array:
        """W(s) = 2Ṽ(s)/τ²."""
        return 2 * self.remainders / self.step**2

    @cached_property
    def norms(self) -> Array:
        """‖z(s)‖₂."""
        return np.linalg.norm(self.deviations, axis=1)

    @property
    def rises(self) -> int:
        """In how many steps V(s+1) > V(s)."""
        return int((np.diff(self.values) > 0).sum())


def deviations_along(trajectory: Trajectory, constraints: tuple[str, ...] | None = None) -> Array:
    """The rows (y, w) of a run, for some constraints: the y of those that have one, then all w.

    With constraints above the usual degree, all their rates, in the order of the run's columns.
    """
    found = [(name, kind[1]) for name in trajectory.columns if (kind := re.fullmatch(r"(?:y|w\d*)_(\w+)", name))]
    if any(re.match(r"w\d", name) for name, _ in found):
        chosen = [name for name, owner in found if constraints is None or owner in constraints]
        return np.array([trajectory[name] for name in chosen]).T
    rates = [name for name in trajectory.columns if name.startswith("w_") and name not in trajectory.state_names]
    wanted = [name.removeprefix("w_") for name in rates] if constraints is None else list(constraints)
    names = [f"y_{name}" for name in wanted if f"y_{name}" in trajectory] + [f"w_{name}" for name in wanted]
    return np.array([trajectory[name] for name in names]).T.reshape(len(trajectory.times), len(names))


def every_step(trajectory: Trajectory) -> float:
    """The step of a run that keeps each of its steps; others are refused, for their increments are not one step's."""
    step = trajectory.step
    if step is None or len(trajectory.times) != trajectory.steps + 1:
        raise BadRequest(
            "this run does not keep every step of a fixed size",
            fix="simulate with a fixed-step scheme, every=1 and without at=",
        )
    return step
