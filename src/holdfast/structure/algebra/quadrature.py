"""Expressions with integrals over [0, 1] as functions of numbers, by Gauss and Legendre's rule.

The rule is refined until two of them agree, so a smooth integrand costs 20 points and a nearly singular one more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from holdfast.errors import BadRequest
from holdfast.problem.functions import FunctionValue

RULES = (20, 40, 80, 160)
QUADRATURE_ERROR = 1e-13


def function_of(e: sp.Expr, symbols: Sequence[sp.Symbol]) -> Callable[..., float]:
    """The expression as a function of numbers in the order of `symbols`; integrals are evaluated by quadrature."""
    swaps: dict[sp.Expr, sp.Symbol] = {}
    inner: list[Callable[..., float]] = []
    for integral in _outermost(e):
        ((along, low, high),) = integral.limits
        if (low, high) != (0, 1):
            raise BadRequest(f"{integral} is not an integral over [0, 1]", where="quadrature")
        swaps[integral] = sp.Dummy("i")
        inner.append(_integrated(function_of(integral.function, (*symbols, along))))
    missing = e.xreplace(swaps).free_symbols - {*symbols, *swaps.values()}
    missing |= e.xreplace(swaps).atoms(FunctionValue)
    if missing:
        names = ", ".join(sorted({s.name for s in missing}))
        raise BadRequest(f"no value is known for {names}", fix="state it: parameters={...}")
    plain = sp.lambdify([*symbols, *swaps.values()], e.xreplace(swaps), "math")
    return lambda *numbers: plain(*numbers, *(part(*numbers) for part in inner))


def _outermost(e: sp.Expr) -> list[sp.Integral]:
    """The integrals of an expression that are not inside another."""
    found, waiting = [], [e]
    while waiting:
        part = waiting.pop()
        if isinstance(part, sp.Integral):
            found.append(part)
        else:
            waiting.extend(part.args)
    return list(dict.fromkeys(found))


def _integrated(integrand: Callable[..., float]) -> Callable[..., float]:
    def value(*numbers: float) -> float:
        before = float("nan")
        for order in RULES:
            nodes, weights = np.polynomial.legendre.leggauss(order)
            rule = zip((weights / 2).tolist(), ((nodes + 1) / 2).tolist(), strict=True)
            found = sum(w * integrand(*numbers, x) for w, x in rule)
            if isinstance(found, complex):  # a root of a negative number: outside the domain
                return float("nan")
            if abs(found - before) <= QUADRATURE_ERROR * (1 + abs(found)):
                break
            before = found
        return found

    return value
