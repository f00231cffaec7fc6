"""The small part of Python in which drivers and elementary functions are written once, for every target.

A function in it is ordinary Python and runs as such: that is the Python target. The same source is translated to LLVM
IR and to C (`emit.translate`). In LLVM a `Real` may be several lanes, one case of an ensemble in each; everything else
is common to the lanes.

    values       Integer   Number (one double)   Real (a double per lane)   Word (64 bits of a Real)   conditions
    arrays       Integers  Numbers  Reals        part(array, k) is the array from its k-th element on
    statements   x = ...   x += ...   a[i] = ...   for i in range(a, b)   while   if   break   return   f(...)
    expressions  + - * /   // % (integers)   & << >> (words)   < <= > >= == !=   and or not (both sides are evaluated)
    functions    those below; other functions of the language; the bodies made from nodes
    constants    upper-case names, given when a driver is translated

Sums and products are never fused unless `fma` says so, or `fused`, which does it where the machine can.
"""

from __future__ import annotations

import math
import struct
from collections.abc import MutableSequence
from typing import Any, TypeVar

Element = TypeVar("Element")

Integer = int
Number = float
Real = float
Word = int
Integers = MutableSequence[int]
Numbers = MutableSequence[float]
Reals = MutableSequence[float]


def part(array: MutableSequence[Element], start: int) -> MutableSequence[Element]:
    """The array from its element `start` on, sharing its memory."""
    return array[start:]


def as_integers(array: Any) -> Integers:
    """The same memory, read as integers."""
    return array.cast("B").cast("q")


def number(integer: int) -> float:
    """An integer as a double."""
    return float(integer)


def real(value: float) -> float:
    """The same double in every lane."""
    return value


def select(condition: bool, yes: float, no: float) -> float:
    """`yes` in the lanes where the condition holds, `no` in the others."""
    return yes if condition else no


def any_lane(condition: bool) -> bool:
    """Whether the condition holds in some lane."""
    return condition


def rarely(condition: bool) -> bool:
    """The same of a condition that hardly ever holds: what then happens is kept out of the way of the rest."""
    return condition


def fma(a: float, b: float, c: float) -> float:
    """a b + c with one rounding on a machine; Python rounds twice."""
    return a * b + c


def fused(a: float, b: float, c: float) -> float:
    """a b + c with one rounding where that is one instruction, with two elsewhere: as the bodies have it."""
    return a * b + c


def absolute(a: float) -> float:
    return abs(a)


def square_root(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def smaller(a: float, b: float) -> float:
    """The smaller one; nan if either is."""
    return a if a < b or a != a else b


def larger(a: float, b: float) -> float:
    """The larger one; nan if either is."""
    return a if a > b or a != a else b


def copy_sign(a: float, b: float) -> float:
    """|a| with the sign of b, also for zeros."""
    return math.copysign(a, b)


def power(a: float, b: float) -> float:
    """a**b of two numbers by the system's library; a >= 0."""
    try:
        return math.pow(a, b)
    except (OverflowError, ValueError):
        return math.inf


def quotient(a: float, b: float) -> float:
    """a/b as a machine divides: 1/0 is infinite, 0/0 is nan."""
    try:
        return a / b
    except ZeroDivisionError:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)


def bits(a: float) -> int:
    """The 64 bits of a double."""
    return int(struct.unpack("<q", struct.pack("<d", a))[0])


def of_bits(word: int) -> float:
    """The double with these 64 bits."""
    return float(struct.unpack("<d", struct.pack("<q", word))[0])
