"""Irreducible factors of polynomials and quotients with rational coefficients, by FLINT.

SymPy's own `factor` chooses points at random, and now and then takes many minutes for a polynomial of a dozen terms;
FLINT takes less than a millisecond.
"""

from __future__ import annotations

import sympy as sp
from sympy.core.mul import _keep_coeff


def in_factors(expression: sp.Expr) -> sp.Expr:
    """The expression over one denominator, both parts as products of their factors, as `sympy.factor` gives them.

    `sympy.PolynomialError` where it is no quotient of polynomials; other coefficients than fractions are left to SymPy.
    """
    above, below = sp.fraction(sp.together(expression))
    polynomials = [sp.Poly(part) if part.free_symbols else None for part in (above, below)]
    if not all(p is None or p.domain.is_ZZ or p.domain.is_QQ for p in polynomials):
        return sp.factor(expression)
    parts = zip((above, below), polynomials, strict=True)
    (top, numerators), (bottom, denominators) = [(part, []) if p is None else _factors(p) for part, p in parts]
    product = sp.Mul(*(part**power for part, power in numerators), *(part**-power for part, power in denominators))
    return _keep_coeff(top / bottom, product)


def _factors(polynomial: sp.Poly) -> tuple[sp.Rational, list[tuple[sp.Expr, int]]]:
    """The number and the irreducible factors, with their powers, whose product is a polynomial."""
    import flint

    divisor, whole = polynomial.clear_denoms(convert=True)
    gens = whole.gens
    context = flint.fmpz_mpoly_ctx.get(tuple(f"x{k}" for k in range(len(gens))), "lex")
    number, found = context.from_dict({powers: int(c) for powers, c in whole.terms()}).factor()
    factors = [
        (sp.Poly.from_dict({powers: int(c) for powers, c in one.to_dict().items()}, *gens).as_expr(), int(power))
        for one, power in found
    ]
    return sp.Rational(int(number)) / divisor, factors
