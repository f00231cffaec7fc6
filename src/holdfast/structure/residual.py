"""The proof by substitution: f − E[L] − ∂D/∂v."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from holdfast.structure.algebra.quadrature import function_of
from holdfast.structure.algebra.zero import BY_POINTS, SYMBOLIC, decisions
from holdfast.structure.conditions.second_order import SecondOrder

BY_QUADRATURE = "quadrature at random points"


@dataclass(frozen=True)
class Residual:
    """What is left of f when L and D are substituted; `size` is 0 when that is zero exactly, or at all points tried."""

    size: float
    how: str  # "symbolic", "random points" (57 digits), or "quadrature at random points" (doubles)

    def __bool__(self) -> bool:
        """Whether anything is left."""
        return self.size > (1e-10 if self.how == BY_QUADRATURE else 0.0)

    def __float__(self) -> float:
        return self.size

    def __str__(self) -> str:
        return f"{self.size:.3g} ({self.how})"


def residual_of(system: SecondOrder, L: sp.Expr, D: sp.Expr) -> Residual:
    """f − E[L] − ∂D/∂v, by algebra and balls, or by quadrature where L or D contain integrals."""
    left = [f - e - sp.diff(D, u) for f, e, u in zip(system.f, system.euler(L), system.v, strict=True)]
    if any(e.has(sp.Integral) for e in left):
        return Residual(_by_quadrature(left, system), BY_QUADRATURE)
    answers = decisions(left, system.points)
    size = max(abs(a.value) if not a.zero else 0.0 for a in answers)
    return Residual(size, SYMBOLIC if all(a.how == SYMBOLIC for a in answers) else BY_POINTS)


def _by_quadrature(left: list[sp.Expr], system: SecondOrder) -> float:
    """The largest residual, relative to f, at a few points where everything is defined."""
    symbols = sorted(set().union(*(e.free_symbols for e in (*left, *system.f))), key=lambda s: s.name)
    functions = [function_of(e, symbols) for e in left]
    sizes = [function_of(f, symbols) for f in system.f]
    worst, seen = 0.0, 0
    for point in system.points.of(symbols):
        numbers = [float(x) for x in point.values()]
        try:
            values = [abs(function(*numbers)) for function in functions]
            scale = 1 + max(abs(size(*numbers)) for size in sizes)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            continue
        if np.isfinite(values).all():
            worst, seen = max(worst, *(value / scale for value in values)), seen + 1
        if seen >= 6:
            break
    return worst if seen else float("nan")
