"""`gains_from`: from a Lyapunov function to the gains that make it fall exactly, and from roots or a rate to both.

    V = A y² + B y y' + C y'²,     y'' = −k y − b y'

    V̇ = −pV identically   ⇔   p = b = B/C,   k = A/C

(compare the coefficients of y², yy', y'²). V is positive definite for A > 0, 4AC > B², and falls for B > 0; so
b² < 4k: exact decay belongs to complex roots −p/2 ± iω, and V = y'² + b y y' + k y² is the function they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import SpringDamper
from holdfast.problem.quantities import Deviation
from holdfast.problem.vocabulary import exact
from holdfast.stability.linear.shape import deviation_matrix
from holdfast.stability.theory.lyapunov import LyapunovFunction


@dataclass(frozen=True, slots=True)
class GainDesign:
    """Gains b and k of one constraint and V = A y² + B y y' + C y'² with V̇ = −pV; exact where the data are."""

    damping: sp.Expr
    stiffness: sp.Expr
    rate: sp.Expr
    coefficients: tuple[sp.Expr, sp.Expr, sp.Expr]
    conditions: tuple[sp.Basic, ...] = ()  # what letters must satisfy for V to be definite and to fall

    @property
    def function(self) -> LyapunovFunction:
        """V as numbers, G = [[2A, B], [B, 2C]]."""
        letters = sorted(str(s) for x in self.coefficients for s in x.free_symbols)
        if letters:
            raise BadRequest(f"V contains {', '.join(dict.fromkeys(letters))}", where="V", fix="put numbers in first")
        a, b, c = (float(x) for x in self.coefficients)
        H = deviation_matrix(float(self.stiffness), float(self.damping))
        return LyapunovFunction(np.array([[2 * a, b], [b, 2 * c]]), H)

    def law(self, *constraints: str) -> SpringDamper:
        """The law with these gains for some constraints."""
        return SpringDamper(
            stiffness=dict.fromkeys(constraints, self.stiffness), damping=dict.fromkeys(constraints, self.damping)
        )


@clear_arguments
def gains_from(V: Any = None, *, roots: Any = None, rate: Any = None, frequency: Any = None) -> GainDesign:
    """The gains of one constraint under which V falls exactly as V̇ = −pV, and that V; with letters, as formulas.

    V is an expression in y and y.rate (`hf.deviations`), or (A, B, C) of A y² + B y y' + C y'². In its place: `roots`,
    a conjugate pair, or `rate` p with `frequency` ω, for the roots −p/2 ± iω (ω = p/2 unless given).
    """
    given = [value is not None for value in (V, roots, rate)]
    if sum(given) != 1:
        raise BadRequest("gains follow from one of V, roots and rate", where="gains_from", fix="give exactly one")
    if V is not None:
        return from_function(V)
    if roots is None:
        return from_rate(rate, frequency)
    pair = tuple(roots)
    if len(pair) != 2:
        raise BadRequest(f"{len(pair)} roots", where="gains_from", fix="a conjugate pair, e.g. (-1+2j, -1-2j)")
    return from_roots_exactly(*pair)


def from_function(function: Any, deviation: Deviation | None = None) -> GainDesign:
    """The gains under which V falls exactly: V as an expression in y and y.rate, or as (A, B, C)."""
    coefficients = _coefficients(function, deviation)
    a, b, c = coefficients
    definite = (sp.Gt(a, 0), sp.Gt(c, 0), sp.Gt(4 * a * c, b**2))
    if sp.false in definite:
        raise BadRequest("V is not positive definite", fix="A y² + B y y' + C y'² needs A > 0, C > 0 and 4AC > B²")
    falling = sp.Gt(b, 0)
    if falling is sp.false:
        raise BadRequest(
            "under this V no law decays: p = B/C is not positive", fix="give the product y y' a positive B"
        )
    open_ones = tuple(condition for condition in (*definite, falling) if condition is not sp.true)
    return GainDesign(b / c, a / c, b / c, coefficients, open_ones)


def from_roots_exactly(first: Any, second: Any) -> GainDesign:
    """Gains and V for a conjugate pair of roots −p/2 ± iω."""
    one, other = (_number(root) for root in (first, second))
    damping, stiffness = sp.expand(-one - other), sp.expand(one * other)
    if damping.free_symbols | stiffness.free_symbols:
        raise BadRequest("roots and rates are numbers here", fix="V may contain letters: hf.gains_from((k, b, 1))")
    if damping.has(sp.I) or stiffness.has(sp.I) or not damping > 0:
        raise BadRequest(f"the roots {first}, {second} are not a conjugate pair with Re < 0", fix="e.g. (-1+2j, -1-2j)")
    if not 4 * stiffness > damping**2:
        raise BadRequest(
            "with real roots no quadratic V falls exactly as exp(−pt)",
            fix="use a conjugate pair; or modal(H), for which V̇ ≤ −2 min|Re λ| V",
        )
    return GainDesign(damping, stiffness, damping, (stiffness, damping, sp.S.One))


def from_rate(rate: Any, frequency: Any = None) -> GainDesign:
    """Gains and V for V̇ = −pV: the roots −p/2 ± iω, with ω = p/2 unless given."""
    p = _number(rate)
    omega = p / 2 if frequency is None else _number(frequency)
    if p.free_symbols | omega.free_symbols:
        raise BadRequest("roots and rates are numbers here", fix="V may contain letters: hf.gains_from((k, b, 1))")
    if not (p > 0 and omega > 0):
        raise BadRequest(f"rate {rate}, frequency {frequency}", fix="both must be positive")
    return from_roots_exactly(-p / 2 + sp.I * omega, -p / 2 - sp.I * omega)


def _coefficients(function: Any, deviation: Deviation | None) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    if not isinstance(function, sp.Expr):
        if not isinstance(function, (tuple, list)) or len(function) != 3:
            raise BadRequest(
                f"{function!r} is not a quadratic form of one deviation",
                where="V",
                fix="(A, B, C) of A y² + B y y' + C y'², or an expression in y and y.rate",
            )
        a, b, c = (_number(x) for x in function)
        return a, b, c
    y = deviation or _only_deviation(function)
    form = sp.Poly(exact(function), y, y.rate)
    if any(sum(powers) != 2 for powers in form.monoms()):
        raise BadRequest("V is not a quadratic form of one deviation", fix="e.g. 3*y**2 + 4*y*y.rate + 3*y.rate**2")
    a, b, c = (form.coeff_monomial(product) for product in (y**2, y * y.rate, y.rate**2))
    return a, b, c


def _only_deviation(function: sp.Expr) -> Deviation:
    names = {symbol.name[2:] for symbol in function.free_symbols if symbol.name[:2] in ("y_", "w_")}
    if len(names) != 1:
        raise BadRequest("V must speak of one constraint", fix='y = hf.deviations("rod"): V in y and y.rate')
    return Deviation(names.pop())


def _number(value: Any) -> sp.Expr:
    if isinstance(value, complex):
        return exact(value.real) + sp.I * exact(value.imag)
    return value if isinstance(value, sp.Expr) and value.has(sp.I) else exact(value)
