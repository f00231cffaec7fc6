"""Inequalities brought down to what decides their sign.

    c Π fᵢ^eᵢ > 0      ⇔      the sign of c and of the factors of odd power decide; those of even power must not vanish

Factors whose sign is known (a letter declared positive, a factor that another condition makes positive) are left out,
and a condition that follows from the others term by term is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

MOST_TERMS = 400  # of a polynomial that is factored: beyond, it stays as it is


@dataclass(frozen=True, slots=True)
class _Product:
    """sign · Π odd > 0, with no factor of `even` zero."""

    sign: int
    odd: Sequence[sp.Expr]
    even: Sequence[sp.Expr]

    def reduced(self, signs: Mapping[sp.Expr, int]) -> _Product:
        """Without the factors that are known; a single one stays, for it is what its sign is known from."""
        even = [factor for factor in self.even if factor not in signs and not factor.is_nonzero]
        known = [factor for factor in self.odd if factor in signs] if len(self.odd) > 1 else []
        sign = self.sign * math.prod(signs[factor] for factor in known)
        return _Product(sign, [factor for factor in self.odd if factor not in known], even)

    def relations(self) -> list[sp.Basic]:
        vanish: list[sp.Basic] = [sp.Ne(factor, 0) for factor in self.even]
        if not self.odd:
            return [*vanish, sp.true if self.sign > 0 else sp.false]
        product = sp.Mul(*self.odd)
        return [*vanish, sp.Gt(product, 0) if self.sign > 0 else sp.Lt(product, 0)]


def positive_conditions(expressions: Iterable[sp.Expr]) -> tuple[sp.Basic, ...]:
    """Relations that hold exactly where all the expressions are positive; `false` if that is nowhere."""
    waiting = list(expressions)
    if any(is_zero(e) for e in waiting):
        return (sp.false,)
    products = [_Product(*_factors(e)) for e in waiting]
    signs: dict[sp.Expr, int] = {}
    while _learn(products, signs):
        products = [product.reduced(signs) for product in products]
    if any(len(p.odd) == 1 and signs[p.odd[0]] != p.sign for p in products):
        return (sp.false,)  # one factor would have to be positive and negative
    found = list(dict.fromkeys(r for p in products for r in p.relations() if r is not sp.true))
    if sp.false in found:
        return (sp.false,)
    found.sort(key=lambda relation: (sp.count_ops(relation), str(relation)))
    for relation in reversed(found.copy()):
        if _follows(relation, signs) or any(_implies(other, relation) for other in found if other is not relation):
            found.remove(relation)
    return (sp.false,) if _contradict(found) else tuple(found)


def _learn(products: Sequence[_Product], signs: dict[sp.Expr, int]) -> bool:
    """Take down the signs that conditions of one factor state; whether there was a new one."""
    before = len(signs)
    for product in products:
        if len(product.odd) == 1:
            signs.setdefault(product.odd[0], product.sign)
    return len(signs) > before


def is_zero(expression: sp.Expr) -> bool:
    """Whether an expression in letters vanishes identically."""
    if expression.is_zero or expression == 0:
        return True
    above = sp.expand(sp.fraction(sp.together(expression))[0])
    return bool(above == 0 or (above.atoms(sp.Function) and sp.simplify(above) == 0))


def _factors(expression: sp.Expr) -> tuple[int, list[sp.Expr], list[sp.Expr]]:
    """The known sign, the factors of odd power whose sign is open, and those of even power that may vanish."""
    above, below = sp.fraction(sp.together(expression))
    sign, odd, even = 1, list[sp.Expr](), list[sp.Expr]()
    for part in (above, below):
        coefficient, powers = _factored(part)
        if coefficient.is_negative:
            sign = -sign
        for factor, power in powers:
            if factor.is_positive or factor.is_negative:
                sign *= -1 if factor.is_negative and power % 2 else 1
            elif power % 2:
                sign *= _turned(factor)
                odd.append(factor * _turned(factor))
            else:
                even.append(factor * _turned(factor))
    twice = [factor for factor in odd if odd.count(factor) == 2]
    odd = [factor for factor in odd if factor not in twice]
    return sign, odd, [*even, *dict.fromkeys(twice)]


def _factored(part: sp.Expr) -> tuple[sp.Expr, list[tuple[sp.Expr, int]]]:
    if len(sp.Add.make_args(sp.expand(part))) > MOST_TERMS:
        return sp.S.One, [(part, 1)]
    try:
        coefficient, powers = sp.factor_list(part)
    except sp.PolynomialError:
        return sp.S.One, [(part, 1)]
    return coefficient, [(factor, int(power)) for factor, power in powers]


def _turned(factor: sp.Expr) -> int:
    """-1 for a factor that is better written with all signs turned: -k - b as k + b."""
    terms = sp.Add.make_args(factor)
    return -1 if 2 * sum(bool(term.could_extract_minus_sign()) for term in terms) > len(terms) else 1


def _follows(relation: sp.Basic, signs: dict[sp.Expr, int]) -> bool:
    """Whether a condition holds term by term where single letters have the signs that are asked of them."""
    if relation.lhs.is_Symbol:
        return False
    put = {f: s * sp.Dummy(positive=True) for f, s in signs.items() if f.is_Symbol}
    value = relation.lhs.xreplace(put)
    if isinstance(relation, sp.Unequality):
        return bool(value.is_nonzero)
    return bool(value.is_positive if isinstance(relation, sp.StrictGreaterThan) else value.is_negative)


def _bound(relation: sp.Basic) -> tuple[sp.Symbol, int, sp.Expr] | None:
    """s > c as (s, 1, c), s < c as (s, -1, c); nothing for what is not linear in one letter with known numbers."""
    if not isinstance(relation, (sp.StrictGreaterThan, sp.StrictLessThan)) or len(relation.free_symbols) != 1:
        return None
    (letter,) = relation.free_symbols
    slope = sp.diff(relation.lhs, letter)
    if relation.rhs != 0 or not slope.is_Rational or slope == 0:
        return None
    above = isinstance(relation, sp.StrictGreaterThan) == bool(slope > 0)
    return letter, 1 if above else -1, -relation.lhs.subs(letter, 0) / slope


def _implies(stronger: sp.Basic, weaker: sp.Basic) -> bool:
    """Whether one bound of a letter contains another on the same side: k > 1/4 and k > 0."""
    a, b = _bound(stronger), _bound(weaker)
    return a is not None and b is not None and a[:2] == b[:2] and bool(a[1] * (a[2] - b[2]) > 0)


def _contradict(relations: Sequence[sp.Basic]) -> bool:
    """Whether a letter would have to lie above one number and below a smaller one."""
    bounds = [bound for relation in relations if (bound := _bound(relation)) is not None]
    return any(a[0] == b[0] and a[1] > b[1] and bool(a[2] >= b[2]) for a in bounds for b in bounds)
