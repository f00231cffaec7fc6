"""Numbers as they are written for readers: a bound is rounded up, for a bound rounded to the nearest may be false."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 3
EXACT = 15  # decimal digits that a double keeps: with more, a number is written out


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """A number in so many digits, not below it: 0.5236 reads 0.524, and 1.0061e-7 reads 1.01e-07."""
    return _written(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A number in so many digits, not above it."""
    return _written(value, digits, ROUND_FLOOR)


def _written(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if digits > EXACT:
        return repr(float(value))
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return f"{float(rounded):.{digits}g}"


def exactly(value: float) -> str:
    """A number that a promise is about, and no other: 0.01, and 1/81 in full."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def compared(larger: float, smaller: float, digits: int = DIGITS) -> tuple[str, str]:
    """A number and the bound that it exceeds, in so many digits that it is seen to: the bound is rounded up."""
    for more in range(digits, EXACT + 1):
        seen, most = f"{larger:.{more}g}", rounded_up(smaller, more)
        if float(seen) > float(most):
            return seen, most
    return repr(float(larger)), repr(float(smaller))


def over(larger: float, smaller: float, between: str = " ") -> str:
    """1.003 > 1.002: two numbers in so many digits that the sign between them is seen to be right."""
    seen, most = compared(larger, smaller, DIGITS + 1)
    return f"{seen} >{between}{most}"


def within(smaller: float, larger: float, between: str = " ") -> str:
    """1.002 ≤ 1.003: the first rounded up and the second down, in so many digits that the sign stays right."""
    for more in range(DIGITS + 1, EXACT + 1):
        seen, most = rounded_up(smaller, more), rounded_down(larger, more)
        if float(seen) <= float(most):
            return f"{seen} ≤{between}{most}"
    return f"{float(smaller)!r} ≤{between}{float(larger)!r}"


def written_range(low: float, high: float, digits: int = DIGITS + 1) -> str:
    """[low, high] with its ends rounded inward, to a hundredth of its length or better: no state is added to it."""
    length, size = high - low, max(abs(low), abs(high))
    if not (math.isfinite(length) and length > 0):
        return f"[{low:.17g}, {high:.17g}]" if low != high else f"[{exactly(low)}, {exactly(high)}]"
    needed = max(digits, math.ceil(math.log10(size / length)) + 2)
    if needed > EXACT:
        return f"[{low!r}, {high!r}]"
    return f"[{rounded_up(low, needed)}, {rounded_down(high, needed)}]"
