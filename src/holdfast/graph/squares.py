"""sin² + cos² = 1, wherever it stands in an expression."""

from __future__ import annotations

import sympy as sp


def squares_joined(expression: sp.Expr) -> sp.Expr:
    """The expression with c sin²u + c cos²u as c in every sum of it.

    >>> a, m = sp.symbols("a m")
    >>> squares_joined(m / (m * sp.sin(a) ** 2 + m * sp.cos(a) ** 2))
    1
    """
    found: sp.Expr = expression.replace(lambda part: part.is_Add and part.has(sp.sin), _joined)
    return found


def _joined(total: sp.Expr) -> sp.Expr:
    terms: dict[sp.Expr, sp.Expr] = {}
    for term in total.args:
        terms[term] = terms.get(term, sp.S.Zero) + 1
    for term in total.args:
        for angle in sorted((part.args[0] for part in term.atoms(sp.sin)), key=sp.default_sort_key):
            rest = term / sp.sin(angle) ** 2
            twin = rest * sp.cos(angle) ** 2
            if not rest.has(sp.sin(angle)) and terms.get(term) and terms.get(twin):
                terms[term], terms[twin] = sp.S.Zero, sp.S.Zero
                terms[rest] = terms.get(rest, sp.S.Zero) + 1
    return sp.Add(*(count * term for term, count in terms.items()))
