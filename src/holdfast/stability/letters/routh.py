"""When all roots of a polynomial with letters lie to the left: the conditions of Liénard and Chipart.

    p(λ) = λⁿ + a₁ λⁿ⁻¹ + ... + aₙ:      aᵢ > 0 for all i,  and  Δₙ₋₁, Δₙ₋₃, ... > 0

where Δₖ is the k-th leading minor of Hurwitz's matrix, whose entry (i, j) is a_{2j−i}: half of Routh's and Hurwitz's
conditions, with the same content.

Liénard and Chipart (1914), J. Math. Pures Appl. 10, 291–346; Gantmacher, *The Theory of Matrices*, XV, section 13.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

ROOT = sp.Symbol("lambda")


def characteristic_polynomial(matrix: sp.Matrix) -> sp.Expr:
    """det(λ I − H), collected by powers of λ; without the spurious zero roots of det(λ² − λB − K)."""
    polynomial = matrix.charpoly(ROOT).as_expr()
    return sp.collect(sp.expand(polynomial), ROOT, sp.factor_terms)


def coefficients(polynomial: sp.Expr) -> list[sp.Expr]:
    """a₀ = 1, a₁, ..., aₙ."""
    return [sp.together(c) for c in sp.Poly(polynomial, ROOT).all_coeffs()]


def hurwitz_minor(a: Sequence[sp.Expr], k: int) -> sp.Expr:
    """Δₖ."""
    n = len(a) - 1

    def entry(i: int, j: int) -> sp.Expr:
        place = 2 * (j + 1) - (i + 1)
        return a[place] if 0 <= place <= n else sp.S.Zero

    return sp.Matrix(k, k, entry).det(method="berkowitz")


def stable_where(polynomial: sp.Expr) -> list[sp.Expr]:
    """The expressions that must all be positive."""
    a = coefficients(polynomial)
    n = len(a) - 1
    return [*a[1:], *(hurwitz_minor(a, k) for k in range(n - 1, 1, -2))]
