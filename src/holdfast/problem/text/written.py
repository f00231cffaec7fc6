"""SymPy back to text, in the grammar of the problem file: reading the text again gives the same expression.

Numbers are exact: 981/100 is written 9.81, small fractions stay fractions (1/2, 2/3). What has no spelling in a problem
file (`Piecewise`, `Heaviside`, ...) is refused.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from holdfast.errors import BadExpression
from holdfast.problem.derivative import parts_first
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import RateOf
from holdfast.problem.text.scalars import NAMES

SUM, PRODUCT, POWER, ATOM = range(4)  # how tightly a text holds together
LONG_DENOMINATOR = 9  # a longer one that ends as a decimal is written as a decimal


def text_of(expression: sp.Expr, *, where: str = "") -> str:
    """The expression as a problem file writes it."""
    texts: dict[sp.Basic, tuple[str, int]] = {}
    for part in parts_first(expression, _within):
        texts[part] = _written(part, texts, where)
    return texts[expression][0]


def _within(part: sp.Basic) -> tuple[sp.Basic, ...]:
    return () if isinstance(part, FunctionValue) else part.args


def number_text(value: sp.Rational) -> str:
    """A number exactly: a decimal if it has one and its denominator is long, otherwise a fraction."""
    p, q = int(value.p), int(value.q)
    if q <= LONG_DENOMINATOR and abs(p) < 10**16:
        return str(p) if q == 1 else f"{p}/{q}"
    return decimal_text(p, q) or f"{p}/{q}"


def decimal_text(p: int, q: int) -> str:
    """The fraction p/q as a decimal that ends, or nothing."""
    places = max(_count(q, 2), _count(q, 5))
    if 2 ** _count(q, 2) * 5 ** _count(q, 5) != q:
        return ""
    digits = str(abs(p) * 10**places // q)
    zeros = len(digits) - len(digits.rstrip("0")) if q == 1 and p else 0
    zeros = zeros if zeros > 5 else 0
    digits, exponent = digits[: len(digits) - zeros], zeros - places
    sign = "-" if p < 0 else ""
    if 0 >= exponent > -len(digits) - 5:
        padded = digits.rjust(1 - exponent, "0")
        return sign + (padded if exponent == 0 else f"{padded[:exponent]}.{padded[exponent:]}")
    return f"{sign}{digits}e{exponent}"


def _count(number: int, prime: int) -> int:
    count = 0
    while number % prime == 0:
        number, count = number // prime, count + 1
    return count


def _written(part: Any, texts: dict[sp.Basic, tuple[str, int]], where: str) -> tuple[str, int]:
    def inside(inner: sp.Basic, at_least: int) -> str:
        text, strength = texts[inner] if inner in texts else _written(inner, texts, where)
        return text if strength >= at_least else f"({text})"

    if part.is_Rational:
        text = number_text(part)
        return text, SUM if text.startswith("-") else PRODUCT if "/" in text else ATOM
    if part.is_Symbol:
        return part.name, ATOM
    if part is sp.pi:
        return "pi", ATOM
    if part is sp.E:
        return "exp(1)", ATOM
    if part is sp.I:
        return "1i", ATOM
    if part.is_Add:
        return _sum(part, inside), SUM
    if part.is_Mul:
        return _product(part, inside)
    if part.is_Pow:
        return _power(part, inside)
    if isinstance(part, FunctionValue) and (part.of_time or not any(part.orders)):
        return str(part), ATOM
    if isinstance(part, RateOf):
        return f"ddt({inside(part.args[0], SUM)})", ATOM
    if part.func in NAMES:
        return f"{NAMES[part.func]}({', '.join(inside(inner, SUM) for inner in part.args)})", ATOM
    raise BadExpression(
        f"{type(part).__name__} has no form in a problem file: {str(part)[:60]}",
        where=where,
        fix="keep this problem in Python, or write it with sqrt exp log sin cos tan ... abs sign min max",
    )


def _sum(part: sp.Add, inside: Any) -> str:
    terms = sorted(part.args, key=lambda term: (_is_negative(term), term.is_number))  # SymPy's order otherwise
    text = inside(terms[0], SUM)
    for term in terms[1:]:
        written = inside(term, SUM if term.is_Mul or term.is_Number else PRODUCT)
        if written.startswith("-("):  # a sum in brackets would be subtracted term by term
            text += f" + -1*{written[1:]}"
        else:
            text += f" - {written[1:]}" if written.startswith("-") else f" + {written}"
    return text


def _is_negative(term: sp.Expr) -> bool:
    coefficient = term.as_coeff_Mul()[0]
    return bool(coefficient.is_Rational and coefficient < 0)


def _product(part: sp.Mul, inside: Any) -> tuple[str, int]:
    coefficient, *factors = part.args if part.args[0].is_Rational else (sp.S.One, *part.args)
    factors.sort(key=_place)
    above = [f for f in factors if not _divides(f)]
    below = [inside(_inverse(f), POWER) for f in factors if _divides(f)]
    sign = "-" if coefficient < 0 else ""
    decimal = number_text(abs(coefficient))
    top, _, bottom = decimal.partition("/")
    numerator = [] if top == "1" and above else [top]
    numerator += [inside(f, POWER) for f in above]
    if bottom:
        below.insert(0, bottom)
    text = "*".join(numerator)
    if below:
        text += "/" + (below[0] if len(below) == 1 else f"({'*'.join(below)})")
    return sign + text, SUM if sign else PRODUCT


def _place(factor: Any) -> int:
    """Numbers before parameters, these before coordinates, rates, functions and sums: m*g*l*cos(phi)."""
    base = factor.base if factor.is_Pow else factor
    if factor.is_number:
        return -1
    return int(getattr(base, "rank", 0)) if base.is_Symbol else 9 if base.is_Add else 8


def _divides(factor: Any) -> bool:
    return bool(factor.is_Pow and factor.exp.is_Rational and factor.exp < 0)


def _inverse(factor: sp.Pow) -> sp.Expr:
    return factor.base if factor.exp == -1 else sp.Pow(factor.base, -factor.exp, evaluate=False)


def _power(part: sp.Pow, inside: Any) -> tuple[str, int]:
    base, exponent = part.args
    if exponent.is_Rational and exponent < 0:
        return f"1/{inside(_inverse(part), POWER)}", PRODUCT
    if exponent == sp.Rational(1, 2):
        return f"sqrt({inside(base, SUM)})", ATOM
    return f"{inside(base, ATOM)}**{inside(exponent, ATOM)}", POWER
