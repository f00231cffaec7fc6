"""Balls with bounds of rounding: what doubles do to a value over a box.

Each operation of the graph is rounded to nearest: it is wrong by at most 2⁻⁵³ of its result, a quotient, which may be
made of a reciprocal and a product, by twice that, and an elementary function by what is proved of ours or taken of the
library's (theory 3.5, 8.5). Errors are carried through by the slopes of the operations over the box.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.balls import ball, ball_between, balls, symmetric
from holdfast.graph.arithmetics.tables import bounds, horner, read_within
from holdfast.graph.table import TablePart

Ball = Any  # flint.arb
UNIT = 2.0**-53
QUOTIENT = 2 * UNIT * (1 + UNIT)
FUNCTION = 2.0**-50  # sine, cosine, exponential and logarithm, which are our own: below 4.8 units
LIBRARY = 2.0**-49  # what the system computes
OWN: dict[str, Callable[[Any], bool]] = {  # where they are proved; beyond, a run asks the system
    "sin": lambda a: bool(abs(a) <= 2**30),
    "cos": lambda a: bool(abs(a) <= 2**30),
    "exp": lambda a: bool(abs(a) < 708),
    "log": lambda a: bool(a >= 2.0**-1022),
}
LARGEST = sys.float_info.max  # beyond it doubles overflow, and balls do not
UNDERFLOW = 2.0**-480  # for results that underflow, and whose squares do: what is 0 is no better known than this

Pair = tuple[Any, Any]  # the value over the box and a bound of its error, both balls


def size(value: Ball) -> Ball:
    return value.abs_upper()


def _made(value: Ball, carried: Ball, unit: float = UNIT) -> Pair:
    """A result with its carried error and its own rounding; without a bound where it may overflow."""
    most = size(value) + carried
    return value, carried + most * unit + UNDERFLOW if most < LARGEST else ball(math.inf)


def rounded_sum(a: Pair, b: Pair) -> Pair:
    return _made(a[0] + b[0], a[1] + b[1])


def _sub(a: Pair, b: Pair) -> Pair:
    return _made(a[0] - b[0], a[1] + b[1])


def rounded_product(a: Pair, b: Pair) -> Pair:
    return _made(a[0] * b[0], size(a[0]) * b[1] + size(b[0]) * a[1] + a[1] * b[1])


def _div(a: Pair, b: Pair) -> Pair:
    least = b[0].abs_lower() - b[1]
    if not least * LARGEST > 1:  # of less, a reciprocal overflows
        return a[0] / b[0], ball(1) / ball(0)
    value = a[0] / b[0]
    return _made(value, (a[1] + size(value) * b[1]) / least, QUOTIENT)


def _neg(a: Pair) -> Pair:
    return -a[0], a[1]


def _power(a: Pair, exponent: int) -> Pair:
    """As the kernels do it: repeated squaring, lowest bit first."""
    result: Pair | None = None
    while True:
        if exponent & 1:
            result = a if result is None else rounded_product(result, a)
        exponent >>= 1
        if not exponent:
            return result if result is not None else (ball(1), ball(0))
        a = rounded_product(a, a)


def _smooth(name: str, slope: Callable[[Ball], Ball]) -> Callable[[Pair], Pair]:
    """A function of one operand with the size of its slope over a widened box."""
    function = balls().functions[name]
    shown = OWN.get(name)

    def value(a: Pair) -> Pair:
        wide = a[0] + a[1] * symmetric(1.0)
        unit = UNIT if name == "sqrt" else FUNCTION if shown is not None and shown(wide) else LIBRARY
        return _made(function(a[0]), size(slope(wide)) * a[1], unit)

    return value


def _atan2(y: Pair, x: Pair) -> Pair:
    import flint

    up, right = (value + error * symmetric(1.0) for value, error in (y, x))
    if not right > 0 and up.contains(0):  # the angle jumps there
        return flint.arb.atan2(y[0], x[0]), ball(7)
    square = (right * right + up * up).abs_lower()
    carried = (size(x[0]) * y[1] + size(y[0]) * x[1]) / square
    return _made(flint.arb.atan2(y[0], x[0]), 2 * carried, LIBRARY)


def _pow(a: Pair, b: Pair) -> Pair:
    """By the slopes over all that both doubles may be: a base that may be 0 there has no bound."""
    base, exponent = (value + error * symmetric(1.0) for value, error in (a, b))
    carried = size(base**exponent) * (size(exponent) * a[1] / base.abs_lower() + size(base.log()) * b[1])
    return _made(a[0] ** b[0], carried, LIBRARY)


def _select(c: Pair, a: Pair, b: Pair) -> Pair:
    wide = c[0] + c[1] * symmetric(1.0)
    if wide > 0:
        return a
    if wide <= 0:
        return b
    both = a[0].union(b[0])
    return both, a[1].max(b[1]) + size(a[0] - b[0])


def _sign(a: Pair) -> Pair:
    wide = a[0] + a[1] * symmetric(1.0)
    return a[0].sgn(), ball(0) if wide > 0 or wide < 0 else ball(2)


def _table(a: Pair, part: TablePart) -> Pair:
    """Horner's rule on each piece that the box and its rounding meet; at a knot, doubles may take the other one."""
    low, high = read_within(part, *bounds(a[0] + a[1] * symmetric(1.0)))
    first, last, ends = part.place(low), part.place(high), part.table.ends
    off, found, error = float(size(a[1]).upper()), list[Pair](), ball(0)
    for place in range(first, last + 1):
        left, right = (low, high) if first == last else (max(low, ends[place] - off), min(high, ends[place + 1] + off))
        found.append(_piece((ball_between(left, right), a[1]), part, place))
        if place < last:
            knot = ball_between(math.nextafter(ends[place + 1] - off, -math.inf), ends[place + 1] + off)
            sides = [horner(_coefficients(part, k), knot - ball(ends[k])) for k in (place, place + 1)]
            error = error.max(size(sides[1] - sides[0]))
    value, carried = found[0]
    for other, more in found[1:]:
        value, carried = value.union(other), carried.max(more)
    return value, carried + error


def _coefficients(part: TablePart, place: int) -> tuple[Ball, ...]:
    return tuple(ball(c) for c in part.exact(place))


def _piece(a: Pair, part: TablePart, place: int) -> Pair:
    coefficients = [rounded_constant(c) for c in part.exact(place)]
    moved, total = _sub(a, (ball(part.table.ends[place]), ball(0))), coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = rounded_sum(rounded_product(total, moved), coefficient)
    return total


@cache
def rounded_balls() -> Arithmetic:
    """Values over a box together with bounds of their rounding."""
    one, power = ball(1), balls().functions["power"]
    slopes: dict[str, Callable[[Ball], Ball]] = {
        "sqrt": lambda a: one / (2 * a.sqrt()),
        "exp": lambda a: a.exp(),
        "log": lambda a: one / a,
        "sin": lambda a: one,
        "cos": lambda a: one,
        "tan": lambda a: 1 + power(a.tan(), 2),
        "asin": lambda a: one / (1 - power(a, 2)).sqrt(),
        "acos": lambda a: one / (1 - power(a, 2)).sqrt(),
        "atan": lambda a: one,
        "sinh": lambda a: a.cosh(),
        "cosh": lambda a: a.sinh(),
        "tanh": lambda a: one,
    }
    functions: dict[str, Callable[..., Any]] = {name: _smooth(name, slope) for name, slope in slopes.items()}
    functions |= {
        "add": rounded_sum, "sub": _sub, "mul": rounded_product, "div": _div, "neg": _neg, "power": _power, "pow": _pow,
        "atan2": _atan2, "abs": lambda a: (abs(a[0]), a[1]), "sign": _sign, "select": _select, "table": _table,
        "min": lambda a, b: (a[0].min(b[0]), a[1].max(b[1])), "max": lambda a, b: (a[0].max(b[0]), a[1].max(b[1])),
    }  # fmt: skip
    return Arithmetic("rounded balls", functions, constant=rounded_constant, pi=_pi, infix={})


def _pi() -> Pair:
    return _made(balls().pi(), ball(0))


def rounded_constant(value: Fraction) -> Pair:
    exact = Fraction(float(value)) == value if abs(value) < 10**300 else False
    return (ball(value), ball(0)) if exact else _made(ball(value), ball(0))
