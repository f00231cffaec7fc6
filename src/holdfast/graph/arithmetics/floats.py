"""Python floats: nan and inf where Python would raise, as the compiled kernels answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from holdfast.graph.arithmetics.arithmetic import Arithmetic


def _quiet(function: Callable[..., float]) -> Callable[..., float]:
    """The function of `math`, with nan outside its domain and inf where it overflows."""

    def answer(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return answer


def float_div(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def float_power(a: float, exponent: int) -> float:
    """A whole power by repeated squaring, lowest bit first: every target multiplies in this order."""
    result: float | None = None
    while True:
        if exponent & 1:
            result = a if result is None else result * a
        exponent >>= 1
        if not exponent:
            return result if result is not None else 1.0
        a = a * a


def _float_pow(a: float, b: float) -> float:
    """C's pow: (-8)**(1/3) is nan, 0**-1 infinite, large results overflow with the sign of an odd power."""
    odd = math.isfinite(b) and b % 2.0 == 1.0
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        if a == 0.0:
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan


def _float_log(a: float) -> float:
    return -math.inf if a == 0 else math.log(a) if a > 0 else math.nan


def _float_sinh(a: float) -> float:
    return math.sinh(a) if abs(a) < 710.4 else math.copysign(math.inf, a) if a == a else a


def _float_min(a: float, b: float) -> float:
    return a if a != a or a < b else b


def _float_max(a: float, b: float) -> float:
    return a if a != a or a > b else b


def _float_sign(a: float) -> float:
    return 1.0 if a > 0 else -1.0 if a < 0 else a


def _float_angle(y: float, x: float) -> float:
    """atan2 of numbers, of which there is one 0: π on the cut, as balls have it, for −0 too."""
    return math.atan2(y + 0.0, x + 0.0)


def nearest_double(value: Fraction) -> float:
    """The double next to an exact number; infinite where it is beyond them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


FLOATS = Arithmetic(
    name="floats",
    functions={
        "div": float_div, "power": float_power, "pow": _float_pow, "log": _float_log, "sinh": _float_sinh,
        "sqrt": _quiet(math.sqrt), "exp": _quiet(math.exp), "sin": _quiet(math.sin), "cos": _quiet(math.cos),
        "tan": _quiet(math.tan), "asin": _quiet(math.asin), "acos": _quiet(math.acos), "atan": math.atan,
        "atan2": _float_angle,      "cosh": _quiet(math.cosh), "tanh": math.tanh, "abs": abs, "sign": _float_sign,
        "min": _float_min, "max": _float_max, "select": lambda c, a, b: a if c > 0 else b,
        "table": lambda a, part: part.at(a),
    },
    constant=nearest_double,
    pi=lambda: math.pi,
)  # fmt: skip
