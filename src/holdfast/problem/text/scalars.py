"""Guarded arithmetic on the parts of an expression while it is read.

A `Scalar` is a SymPy expression with its size and, for a constant, its magnitude. Every operation is judged on these
before SymPy builds anything, so that building is quick and always ends. Functions of symbols are built as written
(``sin(-x)`` stays), those of numbers are evaluated (``sin(pi/6)`` is 1/2). Whatever comes out real and finite is
allowed; ``sqrt(-1)`` or ``x/(x - x)`` are not.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from holdfast.errors import BadExpression
from holdfast.problem.derivative import parts_first, predicted_size
from holdfast.problem.quantities import RateOf, rate
from holdfast.problem.text import magnitude
from holdfast.problem.text.magnitude import Magnitude, Refusal

MAX_EXPONENT = 64  # of a written power
MAX_COMBINED_EXPONENT = 1024  # of powers that multiply up
MOST_ROOTS = 10**5  # numerator and denominator of an exponent: SymPy may make polynomials of that degree
LARGEST_DERIVATIVE = 2000  # parts; a larger one is left to the graph, which shares what is equal

SYMPY = {name: getattr(sp, name) for name in "exp log sin cos tan asin acos atan atan2 sinh cosh tanh sign".split()}
SYMPY |= {"abs": sp.Abs, "min": sp.Min, "max": sp.Max}
NAMES = {function: name for name, function in SYMPY.items()}
EVALUATED = frozenset({"exp", "log"})  # in products, SymPy would do so later, and otherwise
BROKEN = (sp.I, sp.zoo, sp.nan, sp.oo, -sp.oo)


@dataclass(frozen=True, slots=True)
class Scalar:
    """An expression, the number of its parts, its magnitude if it is a constant, and whether it contains i."""

    expression: sp.Expr
    size: int = 1
    magnitude: Magnitude | None = None
    complex: bool = False


def number(value: Fraction) -> Scalar:
    return Scalar(sp.Rational(value.numerator, value.denominator), 1, magnitude.of_fraction(value).checked())


def add(terms: Sequence[Scalar]) -> Scalar:
    shadow = magnitude.total([t.magnitude for t in terms if t.magnitude]) if _constant(terms) else None
    return _made(sp.Add(*(term.expression for term in terms)), terms, shadow)


def multiply(factors: Sequence[Scalar]) -> Scalar:
    _check_roots([part for factor in factors for part in sp.Mul.make_args(factor.expression)])
    shadow = magnitude.product([f.magnitude for f in factors if f.magnitude]) if _constant(factors) else None
    return _made(sp.Mul(*(factor.expression for factor in factors)), factors, shadow)


def negative(value: Scalar) -> Scalar:
    return multiply([number(Fraction(-1)), value])


def subtracted(value: Scalar) -> Scalar:
    """The term that subtracts a value: a sum is subtracted term by term, so that what is equal cancels."""
    if not value.expression.is_Add:
        return negative(value)
    terms = [sp.Mul(-1, term) for term in value.expression.args]
    shadow = value.magnitude and Magnitude(-value.magnitude.value, value.magnitude.bits)
    return Scalar(sp.Add(*terms), value.size, shadow, value.complex)


def inverse(value: Scalar) -> Scalar:
    if value.expression.is_zero or (value.magnitude and value.magnitude.value == 0):
        raise Refusal("division by zero", operand=1)
    return power(value, number(Fraction(-1)))


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """base**exponent, if neither the exponent nor the numbers in it grow too large."""
    e = exponent.expression
    if e != -1 and (base.complex or exponent.complex):
        raise Refusal("powers of complex numbers are not allowed here", "write the number as a+bi")
    if exponent.magnitude and (abs(exponent.magnitude.value) > MAX_EXPONENT or exponent.magnitude.bits > 128):
        raise Refusal(
            f"this exponent is beyond {MAX_EXPONENT}", "write large powers as products or with exp", operand=1
        )
    if e.is_Rational and not e.is_Integer:
        for part in sp.Mul.make_args(base.expression):
            _check_root(part, e)
        if not base.magnitude and max(abs(e.p), e.q) > MOST_ROOTS:
            hint = 'name it, [parameters] p = ..., and write "x**p"'
            raise Refusal("this exponent has too many digits", hint, operand=1)
    shadow = None
    if base.magnitude and exponent.magnitude:
        shadow = magnitude.power(base.magnitude, exponent.magnitude)
    elif exponent.magnitude and e.is_Rational:
        coefficient = _fraction(base.expression.as_coeff_Mul()[0])
        Magnitude(1.0, magnitude.of_fraction(coefficient).bits * abs(int(e))).checked()
    return _made(sp.Pow(base.expression, e), (base, exponent), shadow)


def call(name: str, arguments: Sequence[Scalar]) -> Scalar:
    """A function of the problem file, evaluated only where its arguments are numbers."""
    if any(argument.complex for argument in arguments):
        raise Refusal("functions of complex numbers are not allowed here", "write the number as a+bi")
    if name == "sqrt":
        return power(arguments[0], number(Fraction(1, 2)))
    if name in ("min", "max") and len(arguments) == 1:
        return arguments[0]
    shadow = magnitude.called(name, [a.magnitude for a in arguments if a.magnitude]) if _constant(arguments) else None
    if name in ("min", "max"):
        arguments = _one_constant(name, arguments)
        if len(arguments) == 1:
            return arguments[0]
    given = [argument.expression for argument in arguments]
    if name in EVALUATED or all(expression.is_number for expression in given):
        return _made(SYMPY[name](*given), arguments, shadow)
    return _made(SYMPY[name](*given, evaluate=False), arguments, shadow)


def _one_constant(name: str, arguments: Sequence[Scalar]) -> list[Scalar]:
    """The arguments of min or max with their constants compared here, as doubles: SymPy may search for ever.

    Two different constants that doubles cannot tell apart are refused.
    """
    constants = list({argument.expression: argument for argument in arguments if argument.magnitude}.values())
    others = [argument for argument in arguments if not argument.magnitude]
    if not constants:
        return others
    best = (min if name == "min" else max)(constants, key=_value)
    near = [other for other in constants if abs(_value(other) - _value(best)) <= 1e-12 * abs(_value(best))]
    if len(near) > 1 and not all(each.expression.is_Rational for each in near):
        raise Refusal(f"two numbers in this {name} cannot be told apart", "keep one of them")
    exact = [each for each in near if each.expression.is_Rational]
    chosen = best if len(exact) < 2 else (min if name == "min" else max)(exact, key=lambda c: _fraction(c.expression))
    return [chosen, *others]


def _value(constant: Scalar) -> float:
    assert constant.magnitude is not None
    return constant.magnitude.value


def _check_root(base: sp.Expr, exponent: sp.Rational) -> None:
    """Refuse a fractional power of a number that SymPy would write as the root of a giant one.

    It factors the base, b = Π pᵢ^vᵢ, and gathers Π pᵢ^(vᵢ·n mod d) under one root of degree d for the exponent n/d:
    ``189**1e-7`` is a root of a number of a hundred million bits.
    """
    if not base.is_Rational:
        return
    for whole in {abs(int(base.p)), int(base.q)} - {0, 1}:
        degree, most = int(exponent.q), whole.bit_length() - 1
        if degree * (most + 1) > magnitude.MAX_BITS and not _even_power(whole):
            raise Refusal("this power of a number has too long an exact form", "write its value as a number", operand=1)


def _check_roots(parts: Sequence[sp.Expr]) -> None:
    """The same for a product of roots of numbers, which SymPy gathers under roots of their common degree."""
    roots = [p for p in parts if p.is_Pow and p.base.is_Rational and p.exp.is_Rational and not p.exp.is_Integer]
    if len(roots) < 2:
        return
    degree = math.lcm(*(int(root.exp.q) for root in roots))
    bits = sum(magnitude.of_fraction(_fraction(root.base)).bits for root in roots)
    if degree * bits > magnitude.MAX_BITS and len({root.base for root in roots}) > 1:
        raise Refusal("this product of powers of numbers has too long an exact form", "write its value as a number")


@functools.lru_cache(maxsize=256)
def _even_power(whole: int) -> bool:
    """Whether all primes of a number occur equally often (10, 36): then its roots stay roots of small numbers."""
    return whole < 2**32 and len(set(sp.factorint(whole).values())) == 1


def ddt(value: Scalar) -> Scalar:
    """The total time derivative: worked out if it stays small, otherwise left to the graph."""
    try:
        expression = _rate(value.expression)
    except BadExpression as error:
        raise Refusal(error.what, error.fix) from None
    made = _made(expression, (), None)
    for part in parts_first(expression):
        if part.is_number and not part.is_Atom:
            shadow_of(part, {})  # differentiation may leave constants that nobody wrote
    return Scalar(expression, tree_size(expression), made.magnitude)


@functools.lru_cache(maxsize=256)
def _rate(expression: sp.Expr) -> sp.Expr:
    return RateOf(expression) if predicted_size(expression) > LARGEST_DERIVATIVE else rate(expression)


def tree_size(expression: sp.Basic) -> int:
    """The number of parts of an expression, shared ones counted each time."""
    sizes: dict[sp.Basic, int] = {}
    for part in parts_first(expression):
        sizes[part] = 1 + sum(sizes[inner] for inner in part.args)
    return sizes[expression]


def _constant(parts: Sequence[Scalar]) -> bool:
    return all(part.magnitude is not None for part in parts)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else Fraction(1)


def _made(expression: sp.Expr, parts: Sequence[Scalar], shadow: Magnitude | None) -> Scalar:
    """What SymPy made of the parts, checked: real, finite, and with no outgrown number."""
    is_complex = any(part.complex for part in parts)
    if not is_complex:
        _check_real(expression)
    for part in (expression, *expression.args):
        if part.is_Rational:
            magnitude.of_fraction(_fraction(part)).checked()
        elif part.is_Pow and part.exp.is_Rational and abs(part.exp) > MAX_COMBINED_EXPONENT:
            raise Refusal(f"powers multiply up beyond {MAX_COMBINED_EXPONENT}")
        elif part.is_Pow and part.exp.is_Rational and not part.base.is_number and part.exp.q > MOST_ROOTS:
            raise Refusal("powers multiply up to an exponent of too many digits", "name the exponent as a parameter")
    if not is_complex and expression.is_number and (shadow is None or expression.is_Add):
        shadow = shadow_of(expression, {})
    return Scalar(expression, 1 + sum(part.size for part in parts), shadow, is_complex)


def _check_real(expression: sp.Expr) -> None:
    for part in (expression, *expression.args):
        negative_root = part.is_Pow and part.base.is_Rational and part.base < 0 and part.exp.is_Rational
        if part in BROKEN or (negative_root and not part.exp.is_Integer):
            raise Refusal("this is not a finite real quantity", "no division by zero, no root of a negative number")


def shadow_of(expression: sp.Expr, known: Mapping[str, Magnitude]) -> Magnitude | None:
    """The magnitude of an expression of numbers and known constants; None if it depends on anything else.

    Every constant part is checked on the way. A sum of irrational numbers that cancels is refused: asked for its sign,
    SymPy may search for ever.
    """
    shadows: dict[sp.Basic, Magnitude | None] = {}
    for part in parts_first(expression):
        shadows[part] = _shadow(part, [shadows[inner] for inner in part.args], known)
    return shadows[expression]


def _shadow(part: Any, inner: list[Magnitude | None], known: Mapping[str, Magnitude]) -> Magnitude | None:
    if part.is_Rational:
        return magnitude.of_fraction(_fraction(part)).checked()
    if part.is_Symbol:
        return known.get(part.name)
    if part in (sp.pi, sp.E):
        return Magnitude(float(part))
    found = [shadow for shadow in inner if shadow is not None]
    if len(found) < len(inner) or not inner:
        return None
    if part.is_Add:
        total = magnitude.total(found)
        inexact = part.is_number or any(not shadow.bits for shadow in found)
        if inexact and abs(total.value) <= 1e-13 * sum(abs(shadow.value) for shadow in found):
            raise Refusal("these numbers cancel each other", "write the sum as one number, or as 0")
        return total
    if part.is_Mul:
        return magnitude.product(found)
    if part.is_Pow:
        return magnitude.power(*found)
    return magnitude.called(NAMES[part.func], found) if part.func in NAMES else None
