"""Operations on values that are affine in the state, exactly, with a bound of what doubles add to each.

    value = c₀ + Σ cᵢ xᵢ   (fractions),      |computed − value| ≤ e₀ + Σ eᵢ |xᵢ|

What is not affine, or not rational, is `Undecided`: nothing is proved of it by this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.errors import Undecided
from holdfast.graph.nodes import Node, ancestors

UNIT = 2.0**-51  # of one operation, beside its result: two roundings, twice over
LEAST = 2.0**-1000  # far above what underflow takes from a result, and carried on like any other error
UP = 1 + 2.0**-40  # covers the roundings of a bound itself, a few dozen at each operation
Array = np.ndarray


def above(value: Fraction | float) -> float:
    """A double that is not below |value|."""
    return abs(float(value)) * UP


@dataclass(frozen=True, eq=False)
class AffineValue:
    """c and e for (1, x₁ … x_n)."""

    exact: tuple[Fraction, ...]
    error: Array

    @property
    def sizes(self) -> Array:
        """|c|, not below."""
        return np.array([above(c) for c in self.exact])

    @property
    def reach(self) -> Array:
        """|c| + e: what the computed value may be, at most; rounding alone where the exact one is 0."""
        return np.asarray((self.sizes + self.error) * UP)

    @property
    def constant(self) -> bool:
        return not any(self.exact[1:]) and not self.error[1:].any()

    def rounded(self, error: Array) -> AffineValue:
        """The same value out of operands with this error in all, by one more operation."""
        found = (error + UNIT * (self.sizes + error)) * UP
        found[0] += LEAST
        return AffineValue(self.exact, found)


def input_value(place: int, size: int) -> AffineValue:
    """x_place itself, with no error."""
    return AffineValue(tuple(Fraction(int(k == place)) for k in range(size)), np.zeros(size))


def constant_value(value: Fraction | float, size: int, *, exact: bool) -> AffineValue:
    """A number; exact where it is a double that is only read."""
    found = AffineValue((Fraction(value), *[Fraction(0)] * (size - 1)), np.zeros(size))
    return found if exact else found.rounded(found.error)


def _scaled(a: AffineValue, b: AffineValue) -> AffineValue:
    """a·b for a constant a: |âb̂ − ab| ≤ |a| e_b + e_a |b| + e_a e_b."""
    factor, off = above(a.exact[0]), a.error[0]
    exact = AffineValue(tuple(a.exact[0] * c for c in b.exact), b.error)
    return exact.rounded((factor * b.error + off * (b.sizes + b.error)) * UP)


def _divided(a: AffineValue, b: AffineValue) -> AffineValue:
    """a/b for a constant b: with r = e_b/|b| < 1, |â/b̂ − a/b| ≤ (|a| r + e_a)/(|b| (1 − r))."""
    divisor = b.exact[0]
    if not divisor:
        raise Undecided("a divisor vanishes")
    share = b.error[0] / (float(abs(divisor)) / UP) * UP
    if not share < 0.5:
        raise Undecided("a divisor is lost in rounding")
    exact = AffineValue(tuple(c / divisor for c in a.exact), a.error)
    room = float(abs(divisor)) / UP * (1 - share) / UP
    return exact.rounded((a.sizes * share + a.error) / room * UP)


def _product(a: AffineValue, b: AffineValue) -> AffineValue:
    if a.constant:
        return _scaled(a, b)
    if b.constant:
        return _scaled(b, a)
    raise Undecided("a product is not affine in the state")


def _power(a: AffineValue, exponent: int) -> AffineValue:
    found = a
    for _ in range(exponent - 1):
        found = _product(found, a)
    return found


def _applied(node: Node, operands: Sequence[AffineValue], size: int) -> AffineValue:
    if node.op == "const":
        return constant_value(node.data, size, exact=False)
    if node.op in ("add", "sub"):
        a, b = operands
        sign = 1 if node.op == "add" else -1
        exact = AffineValue(tuple(x + sign * y for x, y in zip(a.exact, b.exact, strict=True)), a.error)
        return exact.rounded(a.error + b.error)
    if node.op == "neg":
        return AffineValue(tuple(-c for c in operands[0].exact), operands[0].error)
    if node.op == "mul":
        return _product(*operands)
    if node.op == "div" and operands[1].constant:
        return _divided(*operands)
    if node.op == "power":
        return _power(operands[0], int(node.data))
    raise Undecided(f"{node.op!r} is not affine in the state, or not rational")


def affine_values(
    nodes: Sequence[Node], known: Mapping[Node, AffineValue], size: int, reach: Array
) -> list[AffineValue]:
    """Nodes as affine values; `Undecided` where one is none, as where it depends on what is not known.

    `reach` is raised to what any number on the way may be, by (1, |x|).
    """
    found = {node.index: value for node, value in known.items()}
    for node in ancestors(nodes):
        if node.index in found:
            continue
        if node.op == "input":
            raise Undecided("it depends on time, or on states that no deviation determines")
        found[node.index] = _applied(node, [found[arg.index] for arg in node.args], size)
        np.maximum(reach, found[node.index].reach, out=reach)
    return [found[node.index] for node in nodes]
