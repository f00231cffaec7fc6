"""One P for many matrices: what a law whose gains vary needs, where frozen eigenvalues prove nothing.

    max_i μ_P(H_i) < 0      every motion d(y, w)/dt = H(t)(y, w) with H(t) in the convex hull of the H_i decays in ‖·‖_P
    max_i ‖A_i‖_P < 1       every product of the A_i decays

It is a search: what P is good for beside the matrices it was sought from is for others to show (`lyapunov` in balls,
`step_condition` along a run).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_continuous_lyapunov, solve_discrete_lyapunov
from scipy.optimize import minimize

from holdfast.common.rounded import rounded_up
from holdfast.errors import BadRequest
from holdfast.stability.linear.norms import Norm
from holdfast.stability.linear.shape import Array, square

ALIKE = 1e-12  # of the largest: sizes that differ by less differ by rounding
POLISHED = 6  # up to this size P is improved by a search over its Cholesky factor


@dataclass(frozen=True, eq=False)
class CommonNorm:
    """The best P found, and how it does on every matrix given.

    `worst` is max μ_P(H_i), negative if P serves; for propagators max ‖A_i‖_P, less than 1 if P serves.
    """

    norm: Norm
    worst: float
    discrete: bool
    count: int

    @property
    def found(self) -> bool:
        return self.worst < (1 if self.discrete else 0)

    def __str__(self) -> str:
        size = f"‖A‖_P ≤ {rounded_up(self.worst, 6)}" if self.discrete else f"μ_P(H) ≤ {rounded_up(self.worst, 6)}"
        if self.found:
            return f"One P serves {self.count} matrices: {size}."
        return f"No P was found for {self.count} matrices (the best has {size}); that does not prove there is none."


def common_norm(matrices: Sequence[Any], *, discrete: bool = False) -> CommonNorm:
    """Search a common P: a weighted mean of each matrix' own solution, the worst weighed up, then polished and checked.

    With `discrete` the matrices are propagators A, else deviation matrices H.
    """
    given = [square(matrix) for matrix in matrices]
    if not given:
        raise BadRequest("there is no matrix to find a norm for", fix="give at least one")
    own = [solution for solution in (_own_solution(matrix, discrete) for matrix in given) if solution is not None]
    if len(own) < len(given):  # one of them grows by itself
        flat = np.eye(len(given[0]))
        return CommonNorm(Norm(flat, "none"), _worst(flat, given, discrete), discrete, len(given))
    best, value = _averaged(own, given, discrete)
    if len(best) <= POLISHED:
        best, value = _polished(best, value, given, discrete)
    return CommonNorm(Norm(best, "common"), value, discrete, len(given))


def _own_solution(matrix: Array, discrete: bool) -> Array | None:
    """Lyapunov's or Stein's solution for one matrix, of trace 1; None where there is none."""
    roots = np.linalg.eigvals(matrix)
    one = np.eye(len(matrix))
    if discrete:
        radius = np.abs(roots).max()
        if radius >= 1:
            return None
        solution = solve_discrete_lyapunov((matrix / ((1 + radius) / 2)).T, one)
    else:
        abscissa = roots.real.max()
        if abscissa >= 0:
            return None
        solution = solve_continuous_lyapunov((matrix - abscissa / 2 * one).T, -one)
    return (solution + solution.T) / (2 * np.trace(solution))


def _sizes(candidate: Array, matrices: Sequence[Array], discrete: bool) -> Array:
    norm = Norm(candidate)
    return np.array([norm.of_matrix(matrix) if discrete else norm.log_norm(matrix) for matrix in matrices])


def _worst(candidate: Array, matrices: Sequence[Array], discrete: bool) -> float:
    return float(_sizes(candidate, matrices, discrete).max())


def _averaged(own: Sequence[Array], matrices: Sequence[Array], discrete: bool) -> tuple[Array, float]:
    weights = np.ones(len(own)) / len(own)
    best, value = own[0], np.inf
    for _ in range(40):
        candidate = np.einsum("i,ijk->jk", weights, np.array(own))
        sizes = _sizes(candidate, matrices, discrete)
        if sizes.max() < value:
            best, value = candidate, float(sizes.max())
        spread = float(np.ptp(sizes))
        if spread <= ALIKE * float(np.abs(sizes).max()):
            break  # no matrix is worse than another
        weights = weights * np.exp(0.3 * (sizes - sizes.mean()) / spread)
        weights /= weights.sum()
    return best, value


def _polished(start: Array, value: float, matrices: Sequence[Array], discrete: bool) -> tuple[Array, float]:
    """Nelder and Mead's search over the Cholesky factor, in units in which the start is 1."""
    size = len(start)
    places = np.tril_indices(size)
    base = np.linalg.cholesky(start)

    def candidate(entries: Array) -> Array:
        lower = np.zeros((size, size))
        lower[places] = entries
        inside = base @ (np.eye(size) + lower)
        return inside @ inside.T

    def target(entries: Array) -> float:
        matrix = candidate(entries)
        if not np.isfinite(matrix).all() or np.linalg.cond(matrix) > 1e12:
            return np.inf
        return _worst(matrix, matrices, discrete)

    found = minimize(target, np.zeros(len(places[0])), method="Nelder-Mead", options={"maxfev": 250, "fatol": 1e-10})
    return (candidate(found.x), float(found.fun)) if found.fun < value else (start, value)
