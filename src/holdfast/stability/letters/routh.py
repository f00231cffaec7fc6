"""When all roots of a polynomial with letters lie to the left: the conditions of Liénard and Chipart.

    p(λ) = λⁿ + a₁ λⁿ⁻¹ + ... + aₙ:      aᵢ > 0 for all i,  and  Δₙ₋₁, Δₙ₋₃, ... > 0

where Δₖ is the k-th leading minor of Hurwitz's matrix, whose entry (i, j) is a_{2j−i}: half of Routh's and Hurwitz's
conditions, with the same content.

Liénard and Chipart (1914), J. Math. Pures Appl. 10, 291–346; Gantmacher, *The Theory of Matrices*, XV, section 13.
"""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from holdfast.common.limits import allowance
from holdfast.errors import BadRequest

ROOT = sp.Symbol("lambda")
MOST_TERMS = 20_000  # of a minor multiplied out, by a bound: about a second of algebra


def characteristic_polynomial(matrix: sp.Matrix) -> sp.Expr:
    """det(λ I − H), collected by powers of λ; without the spurious zero roots of det(λ² − λB − K)."""
    polynomial = matrix.charpoly(ROOT).as_expr()
    return sp.collect(sp.expand(polynomial), ROOT, sp.factor_terms)


def coefficients(polynomial: sp.Expr) -> list[sp.Expr]:
    """a₀ = 1, a₁, ..., aₙ."""
    return [sp.together(c) for c in sp.Poly(polynomial, ROOT).all_coeffs()]


def hurwitz_matrix(a: Sequence[sp.Expr], k: int) -> sp.Matrix:
    """The first k rows and columns of Hurwitz's matrix."""
    n = len(a) - 1

    def entry(i: int, j: int) -> sp.Expr:
        place = 2 * (j + 1) - (i + 1)
        return a[place] if 0 <= place <= n else sp.S.Zero

    return sp.Matrix(k, k, entry)


def predicted_terms(matrix: sp.Matrix) -> int:
    """At most how many terms a determinant has when it is multiplied out: the product of the terms of its rows."""
    product = 1
    for i in range(matrix.rows):
        product *= max(1, sum(len(sp.Add.make_args(sp.expand(e))) for e in matrix.row(i) if e != 0))
    return product


def stable_where(polynomial: sp.Expr) -> list[sp.Expr]:
    """The expressions that must all be positive."""
    a = coefficients(polynomial)
    n = len(a) - 1
    minors = [hurwitz_matrix(a, k) for k in range(n - 1, 1, -2)]
    return [*a[1:], *(determinant(minor) for minor in minors)]


def determinant(matrix: sp.Matrix) -> sp.Expr:
    """A determinant in letters, if it is of a size that anyone would read."""
    terms = predicted_terms(matrix)
    if terms > allowance(MOST_TERMS):
        raise BadRequest(
            f"the conditions would have about {terms:.0e} terms in {len(matrix.free_symbols)} letters",
            where="conditions",
            fix="keep fewer letters: hf.conditions(equations, letters=(...)) takes the stated numbers for the others",
        )
    return sp.expand(matrix.det(method="berkowitz"))
