"""A normal form for expressions with roots and sines: zero is recognised by polynomial algebra.

Every root of a base becomes a symbol s with s^k = base, every sine and cosine of one angle a pair with
sin² = 1 − cos². What is left is a quotient of polynomials, and its numerator, reduced by these rules, is 0 exactly
when the expression is 0 identically in the symbols that remain (a sufficient test: other functions are taken as
independent of each other).
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from math import lcm, prod

import sympy as sp

from holdfast.equations.writing.factors import in_factors
from holdfast.problem.derivative import parts_first

MOST_TIDIED = 250  # operations of an expression that is tidied at all
MOST_TERMS = 5000  # of an expression that is multiplied out in this process
MOST_SPREAD = 600  # ... only to see whether it reads better so
MOST_CANCELLED, MOST_FACTORED = 150, 60  # ... of its numerator and denominator: both grow fast with size
MOST_VARIABLES = 6  # of what is factored: Wang's method lifts from random points, and of 8 took 0.07 s, or many minutes


def normal_form(expression: sp.Expr) -> sp.Expr:
    """0 if the expression is proved to vanish; otherwise a numerator that could not be brought to 0."""
    quick = sp.expand(expression)
    if quick == 0:
        return sp.S.Zero
    if quick.has(sp.sin, sp.cos, sp.tan):
        quick = sp.expand_trig(quick.replace(sp.tan, lambda a: sp.sin(a) / sp.cos(a)))
    rules: list[tuple[sp.Symbol, int, sp.Expr]] = []  # s**k -> value, later rules do not use earlier symbols' bases
    plain = _roots_named(quick, rules)
    plain = plain.xreplace(_sines_named(plain, rules))
    numerator = sp.fraction(sp.together(plain))[0]
    numerator = sp.expand(numerator)
    for _ in range(4):  # a base may itself hold roots
        reduced = numerator
        for symbol, power, value in reversed(rules):
            reduced = _reduced(reduced, symbol, power, value)
        reduced = sp.expand(sp.fraction(sp.together(reduced))[0])
        if reduced == numerator or reduced == 0:
            return reduced
        numerator = reduced
    return numerator


def _roots_named(expression: sp.Expr, rules: list[tuple[sp.Symbol, int, sp.Expr]]) -> sp.Expr:
    """Each base with fractional exponents becomes a power of one new symbol; inner roots first."""
    while True:
        roots = [
            p for p in expression.atoms(sp.Pow)
            if p.exp.is_Rational and not p.exp.is_Integer and not _has_root(p.base)
        ]  # fmt: skip
        if not roots:
            return expression
        base = min((p.base for p in roots), key=sp.default_sort_key)
        alike = [p for p in roots if sp.expand(p.base - base) == 0]
        order = lcm(*(int(p.exp.q) for p in alike))
        symbol = sp.Dummy("s", positive=True)
        rules.append((symbol, order, base))
        expression = expression.xreplace({p: symbol ** int(p.exp * order) for p in alike})


def _has_root(expression: sp.Expr) -> bool:
    return any(p.exp.is_Rational and not p.exp.is_Integer for p in expression.atoms(sp.Pow))


def _sines_named(expression: sp.Expr, rules: list[tuple[sp.Symbol, int, sp.Expr]]) -> dict[sp.Expr, sp.Symbol]:
    """Symbols for sine and cosine of each angle, with the rule sin² = 1 − cos²; bases of roots are put in them too."""
    names: dict[sp.Expr, sp.Symbol] = {}
    holders = [expression, *(value for _, _, value in rules)]
    angles = {call.args[0] for e in holders for call in e.atoms(sp.sin, sp.cos)}
    for angle in sorted(angles, key=sp.default_sort_key):
        sine, cosine = sp.Dummy("S", real=True), sp.Dummy("C", real=True)
        names |= {sp.sin(angle): sine, sp.cos(angle): cosine}
        rules.append((sine, 2, 1 - cosine**2))
    for k, (symbol, power, value) in enumerate(rules):
        rules[k] = (symbol, power, value.xreplace(names))
    return names


def _reduced(expression: sp.Expr, symbol: sp.Symbol, power: int, value: sp.Expr) -> sp.Expr:
    """Powers of the symbol below `power`, by symbol**power = value."""
    if not expression.has(symbol):
        return expression
    poly = sp.Poly(expression, symbol)
    terms = [
        coefficient * value ** (degree // power) * symbol ** (degree % power) for (degree,), coefficient in poly.terms()
    ]
    return sp.expand(sp.Add(*terms))


def expandable(expression: sp.Expr, most: float = MOST_TERMS) -> bool:
    """Whether the expression has few enough terms when it is multiplied out: (x + y)**100 looks short, but is not."""
    terms: dict[sp.Basic, float] = {}
    for part in parts_first(expression):
        inner = [terms[argument] for argument in part.args]
        if isinstance(part, sp.Add):
            count = sum(inner)
        elif isinstance(part, sp.Mul):
            count = prod(inner)
        elif isinstance(part, sp.Pow) and part.exp.is_number:
            count = inner[0] ** min(abs(float(part.exp)), 64.0)
        else:
            count = max([1.0, *inner])
        terms[part] = min(count, 1e12)
    return terms[expression] <= most


@lru_cache(maxsize=4096)
def tidied(expression: sp.Expr) -> sp.Expr:
    """The shortest of a few cheap forms; for reading, so it never works long."""
    if not expression.args or sp.count_ops(expression) > MOST_TIDIED or expression.has(sp.Integral):
        return expression
    if not expandable(expression):
        return expression
    forms = [expression, sp.factor_terms(expression)]
    if expandable(expression, MOST_SPREAD):
        forms.append(sp.expand(expression))
    with suppress(sp.PolynomialError, NotImplementedError, ValueError, TypeError, ZeroDivisionError):
        forms += _combined(expression)
    sizes = [sp.count_ops(form) for form in forms]
    shortest = [form for form, size in zip(forms, sizes, strict=True) if size == min(sizes)]
    return shortest[0] if len(shortest) == 1 else min(shortest, key=lambda form: len(str(form)))


def _combined(expression: sp.Expr) -> list[sp.Expr]:
    """One fraction, cancelled and factored, with roots as symbols of their own meanwhile."""
    rules: list[tuple[sp.Symbol, int, sp.Expr]] = []
    plain = _roots_named(expression, rules)
    names = _sines_named(plain, rules)
    above, below = sp.fraction(sp.together(plain.xreplace(names)))
    for symbol, power, value in reversed(rules):
        above, below = (_reduced(sp.expand(part), symbol, power, value) for part in (above, below))
    if sp.count_ops(above) + sp.count_ops(below) > MOST_CANCELLED:
        return []
    forms = [sp.cancel(above / below)]
    small = sum(map(sp.count_ops, sp.fraction(forms[0]))) <= MOST_FACTORED
    if small and len(forms[0].free_symbols) <= MOST_VARIABLES:
        forms.append(in_factors(forms[0]))
    back = {symbol: call for call, symbol in names.items()}
    for symbol, power, value in reversed(rules):
        if symbol not in back:
            forms = [form.subs(symbol, sp.Pow(value, sp.Rational(1, power))) for form in forms]
    return [form.xreplace(back) for form in forms]
