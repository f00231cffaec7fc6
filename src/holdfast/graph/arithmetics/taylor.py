"""Taylor forms: a function over a cell as a polynomial in a few variables, with ball coefficients.

    f(e) = Σ c_α e^α,     |e_k| ≤ 1

where for every e the value is met by some c_α of their balls. Terms beyond the order of the form go into the constant
coefficient as balls, so a form encloses like a ball, but remembers how its value moves with each variable: x − x is 0,
and sin²e + cos²e is 1 up to the order. The coefficients are balls, or power series of balls of which each coefficient
is enclosed by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations_with_replacement
from math import factorial
from typing import Any

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.balls import angle, ball, ball_series, constant_ball, repeated
from holdfast.graph.arithmetics.tables import decided_table
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import directional
from holdfast.graph.nodes import UNARY, Graph, Node


class Monomials:
    """The powers e^α up to an order; a variable of small effect may weigh more than one and leaves the form sooner."""

    def __init__(self, weights: tuple[int, ...], order: int) -> None:
        self.weights, self.order = weights, order
        known: list[tuple[int, ...]] = [
            chosen
            for degree in range(order + 1)
            for chosen in combinations_with_replacement(range(len(weights)), degree)
            if sum(weights[k] for k in chosen) <= order
        ]
        self.factors = sorted(known, key=lambda chosen: sum(weights[k] for k in chosen))
        self.degrees = [sum(weights[k] for k in chosen) for chosen in self.factors]
        self.place = place = {chosen: i for i, chosen in enumerate(self.factors)}
        self.products = [
            [
                (j, place[tuple(sorted(a + b))])
                for j, b in enumerate(self.factors)
                if self.degrees[i] + self.degrees[j] <= order
            ]
            for i, a in enumerate(self.factors)
        ]
        self.ranges = [_range_of(chosen) for chosen in self.factors]

    def of_order(self, order: int) -> Monomials:
        """Monomials of the same variables up to another order, at least the variables themselves."""
        return monomials(tuple(min(weight, order) for weight in self.weights), order)

    def constant(self, value: Any) -> Form:
        """A form that does not move."""
        return Form(self, [value, *[None] * (len(self.factors) - 1)])

    def linear(self, value: Any, slopes: Sequence[Any]) -> Form:
        """value + Σ slope · e."""
        terms = [value, *[None] * (len(self.factors) - 1)]
        for k, slope in enumerate(slopes):
            terms[self.place[(k,)]] = slope
        return Form(self, terms)


@cache
def monomials(weights: tuple[int, ...], order: int) -> Monomials:
    """The monomials of these variables, made once."""
    return Monomials(weights, order)


def _range_of(factors: tuple[int, ...]) -> Any:
    """The values of a monomial: [0, 1] for a square, [-1, 1] otherwise."""
    import flint

    if not factors:
        return flint.arb(1)
    square = all(factors.count(k) % 2 == 0 for k in factors)
    return flint.arb(0.5, 0.5) if square else flint.arb(0, 1)


class Form:
    """A Taylor form; terms that are None are zero."""

    __slots__ = ("_parts", "monomials", "terms")

    def __init__(self, monomials: Monomials, terms: list[Any]) -> None:
        self.monomials, self.terms = monomials, terms
        self._parts: list[Any] | None = None

    def parts(self) -> list[Any]:
        """The range of the terms of each degree, the constant apart."""
        if self._parts is None:
            found: list[Any] = [None] * (self.monomials.order + 1)
            for term, degree, reach in zip(self.terms, self.monomials.degrees, self.monomials.ranges, strict=True):
                if term is not None and degree:
                    found[degree] = _sum(found[degree], term * reach)
            self._parts = found
        return self._parts

    def moving(self) -> Any:
        """The range of all but the constant; None if nothing moves."""
        total = None
        for part in self.parts():
            total = _sum(total, part)
        return total

    def whole(self) -> Any:
        """The range of the form: a ball, or a series of them."""
        total = _sum(self.terms[0], self.moving())
        return ball(0) if total is None else total

    def shares(self) -> list[Any]:
        """How much each variable moves the form, by all terms that have it."""
        found: list[Any] = [ball(0)] * len(self.monomials.weights)
        for term, factors, reach in zip(self.terms, self.monomials.factors, self.monomials.ranges, strict=True):
            for k in set(factors) if term is not None else ():
                found[k] = found[k] + term * reach
        return found

    def mapped(self, change: Callable[[Any], Any]) -> Form:
        """The form with each term changed by a linear map."""
        return Form(self.monomials, [None if term is None else change(term) for term in self.terms])

    def over(self, shape: Monomials) -> Form:
        """The same values with other monomials of the same variables; terms that are not among them become balls."""
        if shape is self.monomials:
            return self
        terms: list[Any] = [None] * len(shape.factors)
        for term, factors, reach in zip(self.terms, self.monomials.factors, self.monomials.ranges, strict=True):
            if term is not None:
                place = shape.place.get(factors, 0)
                terms[place] = _sum(terms[place], term if factors in shape.place else term * reach)
        return Form(shape, terms)

    def __add__(self, other: Any) -> Form:
        if isinstance(other, Form):
            return Form(self.monomials, [_sum(a, b) for a, b in zip(self.terms, other.terms, strict=True)])
        return Form(self.monomials, [_sum(self.terms[0], other), *self.terms[1:]])

    __radd__ = __add__

    def __neg__(self) -> Form:
        return self.mapped(lambda term: -term)

    def __sub__(self, other: Any) -> Form:
        return self + (-other)

    def __rsub__(self, other: Any) -> Form:
        return -self + other

    def __mul__(self, other: Any) -> Form:
        if not isinstance(other, Form):
            return self.mapped(lambda term: term * other)
        terms: list[Any] = [None] * len(self.terms)
        theirs = other.terms
        for a, row in zip(self.terms, self.monomials.products, strict=True):
            if a is None:
                continue
            for j, target in row:
                b = theirs[j]
                if b is not None:
                    before = terms[target]
                    terms[target] = a * b if before is None else before + a * b
        terms[0] = _sum(terms[0], self._beyond(other))
        return Form(self.monomials, terms)

    __rmul__ = __mul__

    def _beyond(self, other: Form) -> Any:
        """The range of the products whose degree exceeds the order."""
        own, others, order = self.parts(), other.parts(), self.monomials.order
        high = total = None
        for degree in range(1, order + 1):
            high = _sum(high, others[order + 1 - degree])
            if own[degree] is not None and high is not None:
                total = _sum(total, own[degree] * high)
        return total


def range_of(value: Any) -> Any:
    """All values of a form; what is no form is its own range."""
    return value.whole() if isinstance(value, Form) else value


def least_of(value: Any) -> Any:
    """What the absolute value surely reaches, at the centre of the cell."""
    centre = value.terms[0] if isinstance(value, Form) else value
    return ball(0) if centre is None else centre.abs_lower()


def _sum(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else a + b


# ── functions of forms ────────────────────────────────────────────────────────────────────────────

RECIPROCAL = "reciprocal"


@cache
def _derivatives(name: str, order: int) -> tuple[Evaluator, Evaluator]:
    """f⁽ᵏ⁾/k! for k up to the order, and the next one by itself, on balls or series of them."""
    graph = Graph()
    x = graph.input("x")
    rows: list[Node] = [graph.one / x if name == RECIPROCAL else graph.call(name, x)]
    for _ in range(order + 1):
        rows += directional(rows[-1:], {x: graph.one})
    scaled = [row / graph.const(factorial(k)) for k, row in enumerate(rows)]
    return (
        Tape((x,), tuple(scaled[:-1])).compiled(ball_series()),
        Tape((x,), (scaled[-1],)).compiled(ball_series()),
    )


def _expanded(name: str, a: Form) -> Form:
    """f(c + δ) = Σ f⁽ᵏ⁾(c)/k! δᵏ + f⁽ⁿ⁺¹⁾(ξ)/(n+1)! δⁿ⁺¹, with ξ in the range of the form.

    For series, that factor is a mean of f⁽ⁿ⁺¹⁾(c + θδ) over θ in [0, 1], whose coefficients lie in the same balls.
    """
    order, moving = a.monomials.order, a.moving()
    centre = ball(0) if a.terms[0] is None else a.terms[0]
    near, beyond = _derivatives(name, order)
    coefficients = near([centre])
    if moving is None:
        return a.monomials.constant(coefficients[0])
    change = Form(a.monomials, [None, *a.terms[1:]])
    total = a.monomials.constant(coefficients[order])
    for k in reversed(range(order)):
        total = total * change + coefficients[k]
    return total + beyond([centre + moving])[0] * repeated(moving, order + 1)


def _function(name: str) -> Callable[[Any], Any]:
    plain = ball_series().functions[name]
    return lambda a: _expanded(name, a) if isinstance(a, Form) else plain(a)


def _quotient(a: Any, b: Any) -> Any:
    if isinstance(b, Form):
        return a * _expanded(RECIPROCAL, b)
    return a.mapped(lambda term: term / b) if isinstance(a, Form) else ball_series().functions["div"](a, b)


def _power(a: Any, exponent: int) -> Any:
    return repeated(a, exponent) if isinstance(a, Form) else ball_series().functions["power"](a, exponent)


def _head(a: Any) -> Any:
    """The values at the beginning of the series, over the whole cell, which decide branches."""
    return constant_ball(range_of(a))


def _decided(c: Any, positive: Any, otherwise: Any) -> Any:
    return ball_series().functions["select"](_head(c), positive, otherwise)


def _angle(y: Any, x: Any) -> Any:
    return angle(y, x, quotient=_quotient, arctangent=_function("atan"), values=_head)


@cache
def taylor_forms() -> Arithmetic:
    """Enclosing arithmetic on Taylor forms; numbers that do not move stay balls or series."""
    base, exponential, logarithm = ball_series(), _function("exp"), _function("log")
    functions: dict[str, Callable[..., Any]] = {name: _function(name) for name in UNARY - {"neg", "abs", "sign"}}
    functions |= {
        "div": _quotient,
        "power": _power,
        "pow": lambda a, b: exponential(b * logarithm(a)),
        "atan2": _angle,
        "abs": lambda a: _decided(a, a, -a),
        "sign": lambda a: _decided(a, ball(1), ball(-1)),
        "min": lambda a, b: _decided(a - b, b, a),
        "max": lambda a, b: _decided(a - b, a, b),
        "select": _decided,
        "table": decided_table(ball, _head),
    }
    return Arithmetic("Taylor forms", functions, constant=ball, pi=base.pi)
