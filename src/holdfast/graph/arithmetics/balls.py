"""Arithmetics that enclose: balls, and power series of balls.

Balls (python-flint `arb`) contain every value for every point of the operands; where a branch is not decided, they take
both. Series (`arb_series`) enclose Taylor coefficients; where a branch is not decided they raise `Undecided`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from typing import Any

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.tables import ball_table, clipped_table, decided_table

SMALL = 2**53  # whole numbers that any precision in use holds exactly

_BALLS_IN_USE = threading.RLock()


def _forget_users() -> None:
    """In a child process: whoever used balls in its parent is not here, and every user sets the precision anew."""
    global _BALLS_IN_USE
    _BALLS_IN_USE = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_users)


@contextmanager
def precision(bits: int, terms: int = 10) -> Iterator[None]:
    """Balls with so many bits and series with so many terms. flint's settings are global, hence one user at a time."""
    import flint

    with _BALLS_IN_USE:
        before = flint.ctx.prec, flint.ctx.cap
        flint.ctx.prec, flint.ctx.cap = bits, terms
        try:
            yield
        finally:
            flint.ctx.prec, flint.ctx.cap = before


def ball(value: int | float | Fraction) -> Any:
    """The ball of an exact number: a float means exactly itself here."""
    import flint

    if isinstance(value, float) or (type(value) is int and -SMALL < value < SMALL):
        return flint.arb(value)
    fraction = value if type(value) is Fraction else Fraction(value)
    return flint.arb(flint.fmpq(fraction.numerator, fraction.denominator))


def ball_between(low: float, high: float) -> Any:
    """The ball of an interval with exact ends."""
    import flint

    return flint.arb(low) if low == high else flint.arb(low).union(flint.arb(high))


def symmetric(size: float) -> Any:
    """[-size, size]."""
    return ball_between(-size, size)


def _ball_select(c: Any, a: Any, b: Any) -> Any:
    return a if c > 0 else (b if c <= 0 else a.union(b))


def _ball_power(a: Any, exponent: int) -> Any:
    """A whole power by multiplication (flint's own goes through logarithms); an even one is not negative."""
    result = repeated(a, exponent)
    return result.nonnegative_part() if exponent % 2 == 0 and result.is_finite() and not result >= 0 else result


def repeated(a: Any, exponent: int) -> Any:
    """A whole power by repeated squaring, in whatever multiplies."""
    result = None
    while True:
        if exponent & 1:
            result = a if result is None else result * a
        exponent >>= 1
        if not exponent:
            return result
        a = a * a


def _method(name: str) -> Callable[..., Any]:
    return lambda a: getattr(a, name)()


@cache
def balls() -> Arithmetic:
    """Enclosing arithmetic on python-flint's `arb`."""
    import flint

    names = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh".split()
    functions: dict[str, Callable[..., Any]] = {name: _method(name) for name in names}
    functions |= {
        "div": lambda a, b: a / b,
        "power": _ball_power,
        "pow": lambda a, b: a**b,
        "atan2": lambda y, x: flint.arb.atan2(y, x),
        "abs": abs,
        "sign": lambda a: a.sgn(),
        "min": lambda a, b: a.min(b),
        "max": lambda a, b: a.max(b),
        "select": _ball_select,
        "table": ball_table(ball),
    }
    return Arithmetic("balls", functions, constant=ball, pi=lambda: flint.arb.pi())


def _only_decided(name: str) -> Callable[..., Any]:
    """The function of balls, where its first operand has a sign."""

    def answer(a: Any, *others: Any) -> Any:
        if not (a > 0 or a < 0):
            raise Undecided("a function jumps within this box", fix="bisect the box")
        return balls().functions[name](a, *others)

    return answer


def _continuous_angle(y: Any, x: Any) -> Any:
    if not x > 0 and y.contains(0):
        raise Undecided("the angle jumps within this box", fix="bisect the box")
    return balls().functions["atan2"](y, x)


JUMPING = frozenset({"sign", "select", "atan2", "table"})
BRANCHES = JUMPING | {"abs", "min", "max"}  # where slopes at one place say nothing of values at another


@cache
def continuous_balls() -> Arithmetic:
    """Balls that refuse to be evaluated across a jump, where slopes say nothing of values."""
    base = balls()
    steady: dict[str, Callable[..., Any]] = {name: _only_decided(name) for name in ("sign", "select")}
    steady |= {"atan2": _continuous_angle, "table": decided_table(ball, lambda a: a)}
    return Arithmetic("continuous balls", base.functions | steady, base.constant, base.pi)


@cache
def clipped_balls() -> Arithmetic:
    """Balls that read data only where these are: of what would read beyond, nothing is said."""
    base = balls()
    table = clipped_table(ball, ball_between)
    return Arithmetic("clipped balls", base.functions | {"table": table}, base.constant, base.pi)


# ── power series of balls ─────────────────────────────────────────────────────────────────────────


def constant_ball(a: Any) -> Any:
    """The constant coefficient, which decides branches over the whole box."""
    import flint

    return a[0] if isinstance(a, flint.arb_series) else a


def _decided(c: Any, positive: Any, otherwise: Any) -> Any:
    head = constant_ball(c)
    if head > 0:
        return positive
    if head < 0:
        return otherwise
    raise Undecided("a branch is not decided over this box", fix="bisect the box")


def _series_exp(a: Any) -> tuple[Any, Any]:
    grown = a.exp()
    return grown, 1 / grown


def _series_hyperbolic(name: str) -> Callable[[Any], Any]:
    def value(a: Any) -> Any:
        import flint

        if not isinstance(a, flint.arb_series):
            return getattr(a, name)()
        up, down = _series_exp(a)
        if name == "sinh":
            return (up - down) / 2
        return (up + down) / 2 if name == "cosh" else (up - down) / (up + down)

    return value


def angle(y: Any, x: Any, *, quotient: Callable[..., Any], arctangent: Callable[..., Any], values: Any) -> Any:
    """atan2 by a quotient that is defined over the whole box; `values` gives the ball that decides."""
    import flint

    up, right, half = values(y), values(x), flint.arb.pi() / 2
    steep = abs(up.mid()) > abs(right.mid())
    if (steep or right.contains(0)) and not up.contains(0):
        return (half if up > 0 else -half) - arctangent(quotient(x, y))
    if right > 0:
        return arctangent(quotient(y, x))
    if right < 0 and not up.contains(0):
        return arctangent(quotient(y, x)) + (2 * half if up > 0 else -2 * half)
    raise Undecided("the angle jumps within this box", fix="bisect the box")


def _series_atan2(y: Any, x: Any) -> Any:
    return angle(y, x, quotient=lambda a, b: a / b, arctangent=lambda a: a.atan(), values=constant_ball)


def _series_power(a: Any, exponent: int) -> Any:
    import flint

    return repeated(a, exponent) if isinstance(a, flint.arb_series) else _ball_power(a, exponent)


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """flint's refusals (a series at a pole, a root of a box around 0) become ours."""

    def answer(*args: Any) -> Any:
        try:
            return function(*args)
        except (ValueError, ZeroDivisionError) as error:
            raise Undecided(f"a series is not defined over this box: {error}", fix="bisect the box") from error

    return answer


def _series_pow(a: Any, b: Any) -> Any:
    return (b * a.log()).exp()


def _series_sign(a: Any) -> Any:
    return _decided(a, ball(1), ball(-1))


@cache
def ball_series() -> Arithmetic:
    """Enclosing arithmetic on Taylor coefficients, python-flint's `arb_series`."""
    base = balls()
    functions = {name: _guarded(function) for name, function in base.functions.items()}
    functions |= {name: _guarded(_series_hyperbolic(name)) for name in ("sinh", "cosh", "tanh")}
    functions |= {
        "div": _guarded(lambda a, b: a / b),
        "power": _series_power,
        "pow": _guarded(_series_pow),
        "atan2": _guarded(_series_atan2),
        "abs": lambda a: _decided(a, a, -a),
        "sign": _series_sign,
        "min": lambda a, b: _decided(a - b, b, a),
        "max": lambda a, b: _decided(a - b, a, b),
        "select": _decided,
        "table": decided_table(ball, constant_ball),
    }
    return Arithmetic("ball series", functions, constant=ball, pi=base.pi)
