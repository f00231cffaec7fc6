"""Numbers as they are written for readers: a bound is rounded up, for a bound rounded to the nearest may be false."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

DIGITS = 3


def rounded_up(value: float, digits: int = DIGITS) -> str:
    """A number in so many digits, not below it: 0.5236 reads 0.524, and 1.0061e-7 reads 1.01e-07."""
    return _written(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = DIGITS) -> str:
    """A number in so many digits, not above it."""
    return _written(value, digits, ROUND_FLOOR)


def _written(value: float, digits: int, rounding: str) -> str:
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(float(value))))
    return f"{float(rounded):.{digits}g}"


def written_range(low: float, high: float, digits: int = DIGITS + 1) -> str:
    """[low, high] with its ends rounded inward, to a hundredth of its length or better: no state is added to it."""
    length, size = high - low, max(abs(low), abs(high))
    if not (math.isfinite(length) and length > 0):
        return f"[{low:.17g}, {high:.17g}]" if low != high else f"[{low:g}, {high:g}]"
    needed = max(digits, math.ceil(math.log10(size / length)) + 2)
    if needed > 15:
        return f"[{low!r}, {high!r}]"
    return f"[{rounded_up(low, needed)}, {rounded_down(high, needed)}]"
