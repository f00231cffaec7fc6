"""Scalars and vectors together, while an expression is read: what may be added, multiplied and differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from holdfast.problem.text import scalars
from holdfast.problem.text.magnitude import Refusal
from holdfast.problem.text.scalars import Scalar

Parts = tuple[Scalar, ...]  # a vector of two or three components
Value = Scalar | Parts

AXES = "xyz"


def total(terms: Sequence[Value]) -> Value:
    """The sum of scalars, or of vectors of equal length."""
    for index, term in enumerate(terms):
        if _length(term) != _length(terms[0]):
            what = f"{_words(term)} cannot be added to {_words(terms[0])}"
            raise Refusal(what, "add scalars to scalars, and vectors of equal length", operand=index)
    columns = zip(*(term for term in terms if isinstance(term, tuple)), strict=True)
    vector = tuple(scalars.add(column) for column in columns)
    return vector or scalars.add([term for term in terms if isinstance(term, Scalar)])


def product(factors: Sequence[Value]) -> Value:
    """The product of scalars, and of at most one vector."""
    plain = [factor for factor in factors if isinstance(factor, Scalar)]
    vectors = [index for index, factor in enumerate(factors) if isinstance(factor, tuple)]
    if len(vectors) > 1:
        raise Refusal("two vectors cannot be multiplied by *", "use dot(a, b) or cross(a, b)", operand=vectors[1])
    if not vectors:
        return scalars.multiply(plain)
    return each(factors[vectors[0]], lambda part: scalars.multiply([*plain, part]))


def inverse(value: Value) -> Scalar:
    if isinstance(value, tuple):
        raise Refusal("a vector cannot divide", "divide by a component or by sqrt(dot(a, a))")
    return scalars.inverse(value)


def each(value: Value, operation: Callable[[Scalar], Scalar]) -> Value:
    """The operation on a scalar, or on every component of a vector."""
    return tuple(operation(part) for part in value) if isinstance(value, tuple) else operation(value)


def dot(a: Parts, b: Parts) -> Scalar:
    return scalars.add([scalars.multiply([p, q]) for p, q in zip(a, b, strict=True)])


def cross(a: Parts, b: Parts) -> Value:
    """The vector product; of two vectors in a plane, its component across the plane."""

    def minor(i: int, j: int) -> Scalar:
        return scalars.add([scalars.multiply([a[i], b[j]]), scalars.subtracted(scalars.multiply([a[j], b[i]]))])

    return minor(0, 1) if len(a) == 2 else (minor(1, 2), minor(2, 0), minor(0, 1))


def distance(a: Parts, b: Parts) -> Scalar:
    """|b − a|."""
    away = [scalars.add([q, scalars.subtracted(p)]) for p, q in zip(a, b, strict=True)]
    squares = [scalars.power(part, scalars.number(Fraction(2))) for part in away]
    return scalars.call("sqrt", [scalars.add(squares)])


def angle(a: Parts, b: Parts) -> Scalar:
    """The angle from a to b: with its sign in the plane, from 0 to π in space."""
    across = cross(a, b)
    if isinstance(across, tuple):
        across = scalars.call("sqrt", [dot(across, across)])
    return scalars.call("atan2", [across, dot(a, b)])


OF_TWO: dict[str, Callable[[Parts, Parts], Value]] = {"dot": dot, "cross": cross, "distance": distance, "angle": angle}


def component(value: Value, name: str) -> Scalar:
    if isinstance(value, Scalar):
        raise Refusal(f"a scalar has no component {name[:40]!r}", "only points and vectors have .x, .y and .z")
    if len(name) != 1 or name not in AXES[: len(value)]:
        known = ", ".join(f".{letter}" for letter in AXES[: len(value)])
        raise Refusal(f"this vector has no component {name[:40]!r}", f"its components are {known}")
    return value[AXES.index(name)]


def _length(value: Value) -> int:
    return len(value) if isinstance(value, tuple) else 0


def _words(value: Value) -> str:
    return f"a vector of {len(value)} components" if isinstance(value, tuple) else "a scalar"
