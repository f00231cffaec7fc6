"""How large rounding alone makes a deviation: the unit in which deviations are judged.

A difference of large terms is known to a few roundings of the terms, not of itself. With s(a) the size of what a
number is made of,

    s(u) = |u|     s(a ± b) = s(a) + s(b)     s(a b) = s(a) |b| + |a| s(b)     s(f(a)) = |f(a)| + |f'(a)| s(a)

for inputs u and functions f, a computed number is right to about s · 2⁻⁵³: (x² + y² − l²)/2 of a rod of 7000 km is
never nearer to zero than a few thousandths of a square metre.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.graph.arithmetic import Arithmetic
from holdfast.graph.evaluate import Ledger
from holdfast.graph.nodes import Node

CLOSE = 1e-12  # in its unit, a deviation below this is one of rounding
OFF = 1e-9  # in its unit, a deviation above this counts as one
ROUNDINGS = 4 * float(np.finfo(float).eps)

Array = np.ndarray


def unit_of(size: Array) -> Array:
    """The unit of deviations made of terms of this size: 1, or more where rounding would else exceed `CLOSE`."""
    with np.errstate(all="ignore"):
        return np.fmax(1.0, size * (ROUNDINGS / CLOSE))  # a size that is not known counts for nothing


def deviation_units(equations: Equations, nodes: list[Node], states: Array, time: float, constants: Array) -> Array:
    """The unit of each deviation in each case, (cases, deviations)."""
    inputs = np.vstack([np.full(len(states), time), states.T, constants.T])
    known = {node: Sized(row, abs(row)) for node, row in zip(equations.field.inputs, inputs, strict=True)}
    with np.errstate(all="ignore"):
        sizes = [np.broadcast_to(number.size, len(states)) for number in Ledger(known, SIZES).of(nodes)]
    return unit_of(np.array(sizes).reshape(len(nodes), len(states)).T)


@dataclass(frozen=True, slots=True)
class Sized:
    """Values, and the sizes of what they are made of."""

    value: Array
    size: Array

    def __add__(self, other: Sized) -> Sized:
        return Sized(self.value + other.value, self.size + other.size)

    def __sub__(self, other: Sized) -> Sized:
        return Sized(self.value - other.value, self.size + other.size)

    def __mul__(self, other: Sized) -> Sized:
        return Sized(self.value * other.value, self.size * abs(other.value) + abs(self.value) * other.size)

    def __neg__(self) -> Sized:
        return Sized(-self.value, self.size)


Slope = Callable[[Array, Array], Array]  # f' from x and f(x)


def _smooth(function: Callable[[Array], Array], slope: Slope) -> Callable[[Sized], Sized]:
    def of(a: Sized) -> Sized:
        value = function(a.value)
        return Sized(value, abs(value) + abs(slope(a.value, value)) * a.size)

    return of


def _quotient(a: Sized, b: Sized) -> Sized:
    value = a.value / b.value
    return Sized(value, (a.size + abs(value) * b.size) / abs(b.value))


def _whole_power(a: Sized, exponent: int) -> Sized:
    return Sized(a.value**exponent, exponent * abs(a.value) ** (exponent - 1) * a.size)


def _power(a: Sized, b: Sized) -> Sized:
    value = np.power(a.value, b.value)
    by_base = abs(b.value * np.power(a.value, b.value - 1.0)) * a.size
    return Sized(value, abs(value) + by_base + abs(value * np.log(abs(a.value))) * b.size)


def _angle(a: Sized, b: Sized) -> Sized:
    value = np.arctan2(a.value, b.value)
    square = a.value**2 + b.value**2
    return Sized(value, abs(value) + (abs(b.value) * a.size + abs(a.value) * b.size) / square)


def _constant(number: float) -> Sized:
    return Sized(np.array(number), np.array(abs(number)))


def _either(first: Array, a: Sized, b: Sized) -> Sized:
    return Sized(np.where(first, a.value, b.value), np.where(first, a.size, b.size))


SIZES = Arithmetic(
    name="sizes",
    functions={
        "div": _quotient, "power": _whole_power, "pow": _power, "atan2": _angle,
        "sqrt": _smooth(np.sqrt, lambda x, f: 0.5 / f), "exp": _smooth(np.exp, lambda x, f: f),
        "log": _smooth(np.log, lambda x, f: 1.0 / x), "sin": _smooth(np.sin, lambda x, f: np.cos(x)),
        "cos": _smooth(np.cos, lambda x, f: np.sin(x)), "tan": _smooth(np.tan, lambda x, f: 1.0 + f * f),
        "asin": _smooth(np.arcsin, lambda x, f: 1.0 / np.sqrt(1.0 - x * x)),
        "acos": _smooth(np.arccos, lambda x, f: 1.0 / np.sqrt(1.0 - x * x)),
        "atan": _smooth(np.arctan, lambda x, f: 1.0 / (1.0 + x * x)),
        "sinh": _smooth(np.sinh, lambda x, f: np.cosh(x)), "cosh": _smooth(np.cosh, lambda x, f: np.sinh(x)),
        "tanh": _smooth(np.tanh, lambda x, f: 1.0 - f * f),
        "abs": lambda a: Sized(abs(a.value), a.size), "sign": lambda a: Sized(np.sign(a.value), np.ones(())),
        "min": lambda a, b: _either(a.value < b.value, a, b), "max": lambda a, b: _either(a.value > b.value, a, b),
        "select": lambda c, a, b: _either(c.value > 0, a, b),
    },
    constant=lambda number: _constant(float(number)),
    pi=lambda: _constant(np.pi),
)  # fmt: skip
