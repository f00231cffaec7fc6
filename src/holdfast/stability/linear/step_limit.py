"""How long a step may be, as far as the linear law can tell.

    spectral limit    sup {τ : ρ(R(τ'H)) < 1 for all τ' < τ}               for Euler min −2 Re λ/|λ|²
    norm limit        sup {τ : ‖R(τ'H)‖_P < 1 for all τ' < τ}              for Euler λ_min(Q, HᵀPH), Q = −(HᵀP + PH)

Both are necessary for a run to be good, neither is sufficient: the defect of the scheme on the true, curved
constraints adds to each step and may feed on the motion along the program (the pendulum's RK4 limit is 0.139 s, yet it
diverges at 0.13 s). Along a varying H not even that: frozen limits do not certify (see `common_norm`).

Conditions of the papers, in the right norm, for H(t) that varies along the motion:

    u⁽ˢ⁾ = H_s u,   H₁ = H,   H_{s+1} = dH_s/dt + H_s H                            the order of the product matters
    ‖I + Σ τˢ/s! H_s‖_P ≤ γ < 1   and   defect ≤ (1 − γ) ε          s ≤ 1 Euler, 2 two-stage, 4 Runge-Kutta
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import brentq

from holdfast.common.rounded import rounded_down, rounded_up
from holdfast.errors import BadRequest
from holdfast.problem.types import MatrixLike
from holdfast.schemes.algebra.stability_function import StabilityFunction
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.linear.hurwitz import place_of_roots, routh_stable
from holdfast.stability.linear.norms import Norm
from holdfast.stability.linear.shape import Array, positions_of, square

NECESSARY = "A linear limit is necessary, not sufficient: the scheme's defect on the true constraints comes on top."
FINE, FAR = 0.01, 80.0  # |λ|τ is looked at in steps of FINE up to FAR; explicit schemes end far below


@dataclass(frozen=True, slots=True)
class StepLimit:
    """The first step at which a linear criterion fails; inf where it never does, 0 where no step passes."""

    step: float
    criterion: str  # "spectral" or "norm"
    scheme: str
    note: str = NECESSARY

    def __float__(self) -> float:
        return self.step

    def __str__(self) -> str:
        if self.step == 0:
            return f"{self.scheme}: no step passes the {self.criterion} criterion. {self.note}"
        if np.isinf(self.step):
            return f"{self.scheme}: the {self.criterion} criterion does not limit the step. {self.note}"
        return f"{self.scheme}: {self.criterion} limit {rounded_down(self.step, 6)}. {self.note}"


def spectral_limit(scheme: Scheme | str, matrix: MatrixLike, *, positions: int | None = None) -> StepLimit:
    """The largest τ with ρ(R(τ'H)) < 1 for all τ' < τ. Necessary, not sufficient."""
    scheme, H = scheme_named(scheme), square(matrix)
    if not place_of_roots(H).hurwitz:
        return StepLimit(0.0, "spectral", scheme.name, "H has a root that is not in Re λ < 0. " + NECESSARY)
    if not scheme.treats_all_alike:
        m = positions_of(H) if positions is None else positions
        size = float(np.abs(np.linalg.eigvals(H)).max())

        def excess(step: float) -> float:
            return float(np.abs(np.linalg.eigvals(scheme.propagator(H, step, m))).max()) - 1

        return StepLimit(_first_crossing(excess, size), "spectral", scheme.name)
    limits = [_along_ray(scheme, root) for root in np.linalg.eigvals(H) if root.imag >= 0]
    return StepLimit(min(limits), "spectral", scheme.name)


def _along_ray(scheme: Scheme, root: complex) -> float:
    """The first τ > 0 with |R(τλ)| = 1, by |R|² − 1 = |E|² + 2 Re E, E = (N − D)/D, which loses no digits near 0."""
    function = scheme.stability
    if a_stable(function):
        return float("inf")
    length = max(len(function.numerator), len(function.denominator))
    above, below = (
        np.array([float(x) for x in (*row, *[0] * (length - len(row)))])
        for row in ([n - d for n, d in _paired(function)], function.denominator)
    )

    def excess(step: Any) -> Any:
        z = step * root
        gain = np.polyval(above[::-1], z) / np.polyval(below[::-1], z)
        return np.abs(gain) ** 2 + 2 * gain.real

    steps = np.concatenate([np.arange(FINE, FAR, FINE), np.geomspace(FAR, 1e6, 200)]) / abs(root)
    beyond = np.nonzero(excess(steps) >= 0)[0]
    if not len(beyond):
        return float("inf")
    k = int(beyond[0])
    return _bisected(excess, steps[k - 1] if k else 0.0, steps[k])


def _paired(function: StabilityFunction) -> list[tuple[Fraction, Fraction]]:
    return list(zip_longest(function.numerator, function.denominator, fillvalue=Fraction(0)))


def a_stable(function: StabilityFunction) -> bool:
    """Whether |R(z)| < 1 for all Re z < 0, where exact signs show it.

    The poles lie in Re z > 0 (Routh), and |D(iy)|² − |N(iy)|² has no negative coefficient; the maximum principle does
    the rest.
    """
    if len(function.denominator) < max(2, len(function.numerator)):
        return False
    mirrored = [c * (-1) ** k for k, c in enumerate(function.denominator)]
    if not routh_stable(mirrored):
        return False
    difference = [
        d - n for n, d in zip_longest(_square(function.numerator), _square(function.denominator), fillvalue=0)
    ]
    return all(coefficient >= 0 for coefficient in difference)


def _square(coefficients: Sequence[Fraction]) -> list[Fraction]:
    """|p(iy)|² as coefficients of y², y⁴, ... (constant first)."""
    size = len(coefficients)
    result = [Fraction(0)] * size
    for j, a in enumerate(coefficients):
        for k, b in enumerate(coefficients):
            if (j - k) % 2 == 0:
                result[(j + k) // 2] += a * b * (-1) ** (abs(j - k) // 2)
    return result


def _first_crossing(excess: Callable[[float], float], size: float) -> float:
    """The first τ > 0 where a function that is negative at first becomes positive."""
    steps = np.concatenate([np.arange(FINE, 8, FINE), np.geomspace(8, 1e4, 200)]) / size
    before = 0.0
    for step in steps:
        if excess(step) >= 0:
            return _bisected(excess, before, float(step))
        before = float(step)
    return float("inf")


def _bisected(excess: Callable[[float], float], low: float, high: float) -> float:
    if low == 0.0:  # negative just after 0, where the function itself is 0
        low = high
        while low > 1e-9 * high and excess(low) >= 0:
            high, low = low, low / 2
        if excess(low) >= 0:
            return 0.0
    if excess(high) <= 0:  # the crossing itself was hit, up to rounding
        return float(high)
    return float(brentq(excess, low, high, xtol=1e-15 * high, rtol=1e-14))


def norm_limit(scheme: Scheme | str, matrix: MatrixLike, norm: Norm) -> StepLimit:
    """The first τ with ‖R(τH)‖_P = 1; for Euler λ_min(Q, HᵀPH) with Q = −(HᵀP + PH). Necessary, not sufficient."""
    scheme, H = scheme_named(scheme), square(matrix)
    if norm.log_norm(H) >= 0:
        return StepLimit(0.0, "norm", scheme.name, "In this norm deviations grow at first. " + NECESSARY)
    if scheme.name == "euler":
        P = norm.matrix
        Q = -(H.T @ P + P @ H)
        curvature = H.T @ P @ H
        step = float(eigh((Q + Q.T) / 2, (curvature + curvature.T) / 2, eigvals_only=True)[0])
        return StepLimit(step, "norm", scheme.name)
    size = float(np.abs(np.linalg.eigvals(H)).max())
    step = _first_crossing(lambda tau: norm.of_matrix(scheme.propagator(H, tau)) - 1, size)
    return StepLimit(step, "norm", scheme.name)


# ── varying H ─────────────────────────────────────────────────────────────────────────────────────


def taylor_matrices(derivatives: Sequence[Any], order: int) -> list[Array]:
    """H_1 … H_order of u⁽ˢ⁾ = H_s u from [H, H', H'', ...] at one time; derivatives left out are zero.

    H_{s+1} = dH_s/dt + H_s H, carried with its own time derivatives by Leibniz' rule.
    """
    given = [square(matrix) for matrix in derivatives]
    if not given:
        raise BadRequest("taylor_matrices() needs H", fix="give [H, dH/dt, ...]")
    zero = np.zeros_like(given[0])
    jet = [given[k] if k < len(given) else zero for k in range(order)]
    found, current = [], jet
    for _ in range(order):
        found.append(current[0])
        product = [
            sum((comb(k, j) * current[j] @ jet[k - j] for j in range(k + 1)), zero) for k in range(len(current) - 1)
        ]
        current = [current[k + 1] + product[k] for k in range(len(current) - 1)]
    return found


def taylor_propagator(derivatives: Sequence[Any], step: float, order: int) -> Array:
    """I + Σ_{s ≤ order} τˢ/s! H_s: what a scheme of that order does to u' = H(t)u, up to its defect.

    `derivatives` are [H, dH/dt, d²H/dt², ...] at the beginning of the step.
    """
    matrices = taylor_matrices(derivatives, order)
    total, factor = np.eye(len(matrices[0])), 1.0
    for s, matrix in enumerate(matrices, 1):
        factor *= step / s
        total = total + factor * matrix
    return total


@dataclass(frozen=True, slots=True)
class StepCondition:
    """‖I + Σ τˢ/s! H_s‖_P ≤ γ < 1 and defect ≤ (1 − γ)ε for one step."""

    contraction: float
    allowance: float  # (1 − γ) ε
    defect: float | None
    reason: str

    @property
    def contracts(self) -> bool:
        return self.contraction < 1

    @property
    def holds(self) -> bool | None:
        """None while the defect is not known: contraction alone stabilises nothing."""
        if not self.contracts:
            return False
        return None if self.defect is None else self.defect <= self.allowance


def taylor_condition(
    derivatives: Any, step: float, order: int, norm: Norm, *, tolerance: float = 1.0, defect: float | None = None
) -> StepCondition:
    """The papers' condition for Euler (order 1), two-stage schemes (2) or RK4 (4), with H_s by the right recursion.

    `tolerance` ε and `defect` are measured in the same norm.
    """
    propagator = taylor_propagator(derivatives, step, order)
    size = norm.of_matrix(propagator)
    diagonal = np.count_nonzero(norm.matrix - np.diag(np.diag(norm.matrix))) == 0
    if size >= 1 and diagonal and order == 1 and positions_of((propagator - np.eye(len(propagator))) / step):
        reason = "cannot hold: the upper left block of I + τH is I, so ‖I + τH‖ ≥ 1 in every norm with a diagonal P"
    else:
        return judged_step(size, tolerance, defect)
    return StepCondition(size, 0.0, defect, reason)


def judged_step(size: float, tolerance: float, defect: float | None) -> StepCondition:
    """The condition for a step of which ‖·‖_P is known."""
    allowance = max(0.0, (1 - size) * tolerance)
    if size >= 1:
        reason = f"the step does not contract in this norm: {rounded_up(size, 8)}"
    elif defect is None:
        reason = f"the step contracts by {rounded_up(size, 8)}; whether deviations stay small depends on the defect"
    else:
        verb = "keeps within" if defect <= allowance else "exceeds"
        reason = f"the step contracts by {rounded_up(size, 8)} and the defect {verb} {rounded_down(allowance, 4)}"
    return StepCondition(size, allowance, defect, reason)
