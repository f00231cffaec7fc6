"""How large a constant would be, judged before SymPy or the graph makes it.

``9**9**9**9``, ``exp(exp(exp(30)))`` and ``1e-999999999`` are short to write and cannot be computed: SymPy hangs while
it builds them. So every constant carries a shadow, its value as a double and the bits of its exact fraction, and each
operation is tried on the shadows first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

MAX_BITS = 4096  # of an exact fraction, numerator and denominator together
MAX_DIGITS = 320  # of a number as it is written
LARGEST, SMALLEST = 1e300, 1e-300

DECIMAL = re.compile(r"([0-9][0-9_]*)?(?:\.([0-9_]*))?(?:[eE]([+-]?[0-9_]+))?")


class Refusal(Exception):
    """An operation that cannot be allowed: what is wrong, and a hint. The caller knows the place."""

    def __init__(self, what: str, hint: str = "", *, operand: int | None = None) -> None:
        super().__init__(what)
        self.what, self.hint, self.operand = what, hint, operand


@dataclass(frozen=True, slots=True)
class Magnitude:
    """A constant in rough: its value as a double, and a bound on the bits of its exact fraction (0 if irrational)."""

    value: float
    bits: int = 0

    def checked(self) -> Magnitude:
        """This constant, if doubles can hold it and its exact form stays small."""
        size = abs(self.value)
        if not math.isfinite(size) or size > LARGEST or self.bits > MAX_BITS or 0 < size < SMALLEST:
            raise Refusal("this number is out of range", f"constants stay between {SMALLEST:g} and {LARGEST:g}")
        return self


def of_fraction(number: Fraction) -> Magnitude:
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    if bits > MAX_BITS:
        return Magnitude(math.inf, bits)
    try:
        return Magnitude(float(number), bits)
    except OverflowError:
        return Magnitude(math.inf, bits)


def total(parts: Sequence[Magnitude]) -> Magnitude:
    return Magnitude(math.fsum(part.value for part in parts), sum(part.bits for part in parts)).checked()


def product(parts: Sequence[Magnitude]) -> Magnitude:
    value, bits = 1.0, 0
    for part in parts:
        value, bits = value * part.value, bits + part.bits
    if value == 0 and all(part.value for part in parts):
        value = math.inf  # lost below the smallest double
    return Magnitude(value, bits).checked()


def power(base: Magnitude, exponent: Magnitude) -> Magnitude:
    if base.value == 0 and exponent.value < 0:
        raise Refusal("division by zero")
    if base.value < 0 and exponent.value != int(exponent.value):
        raise Refusal("a fractional power of a negative number is not real", "values must be real")
    try:
        value = math.pow(base.value, exponent.value)
    except (OverflowError, ValueError):
        value = math.inf
    if value == 0 and base.value:
        value = math.inf
    bits = base.bits * max(1, math.ceil(abs(exponent.value))) if abs(exponent.value) < 1e6 else MAX_BITS + 1
    return Magnitude(value, bits if base.bits > 2 else base.bits).checked()  # two bits are enough for 1, -1 and 0


SHADOWS: dict[str, Callable[..., float]] = {
    name: getattr(math, name) for name in "sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh".split()
} | {"abs": abs, "sign": lambda v: float((v > 0) - (v < 0)), "min": min, "max": max}


def called(name: str, parts: Sequence[Magnitude]) -> Magnitude:
    """The shadow of a function of constants."""
    values = [part.value for part in parts]
    shown = f"{name}({', '.join(f'{value:.4g}' for value in values)})"
    try:
        value = float(SHADOWS[name](*values))
    except OverflowError:
        raise Refusal(f"{shown} is out of range", f"constants stay below {LARGEST:g}") from None
    except ValueError:
        raise Refusal(f"{shown} is not a real number", "values must be finite and real") from None
    if name == "exp" and value < SMALLEST:
        raise Refusal(f"{shown} is out of range", f"constants stay above {SMALLEST:g}")
    bits = max(part.bits for part in parts) if name in ("abs", "min", "max") else 0
    return Magnitude(value if abs(value) >= SMALLEST else 0.0, bits).checked()


def decimal(text: str) -> Fraction:
    """The exact value of a written number (0.1 is 1/10), unless it is too long or out of range to be made."""
    match = DECIMAL.fullmatch(text)
    if not match or not (match[1] or match[2]):
        raise Refusal(f"{text[:40]!r} is not a decimal number", "write numbers like 12, 0.5 or 1e-3")
    whole, part, exponent = ((group or "").replace("_", "") for group in match.groups())
    digits = (whole + part).lstrip("0")
    if len(whole + part) > MAX_DIGITS or len(exponent) > 6:
        raise Refusal("this number is out of range" if exponent else f"this number has more than {MAX_DIGITS} digits")
    shift = int(exponent or 0) - len(part)
    if digits and not -MAX_DIGITS <= shift + len(digits) <= MAX_DIGITS:
        raise Refusal("this number is out of range", f"constants stay between {SMALLEST:g} and {LARGEST:g}")
    number = Fraction(int(digits or 0)) * Fraction(10) ** (shift if digits else 0)
    of_fraction(number).checked()
    return number
