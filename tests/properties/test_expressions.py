"""One expression, many arithmetics: SymPy, floats, balls and series say the same."""

from fractions import Fraction

import flint
import mpmath
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, ball_series, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, gradient
from holdfast.graph.display import Display
from holdfast.graph.nodes import Graph
from holdfast.graph.walk import Walker
from tests.properties.strategies import SYMBOLS, expressions, points

BITS = 260


def walked(expression):
    graph = Graph()
    inputs = tuple(graph.input(s.name) for s in SYMBOLS)
    return graph, inputs, Walker(graph, {node.data: node for node in inputs})(expression)


def by_sympy(expression, point):
    """The value to some seventy digits by SymPy and mpmath; examples that have no real value are passed over."""
    with mpmath.workdps(70):
        try:
            numbers = [mpmath.mpf(p.numerator) / p.denominator for p in point]
            value = sp.lambdify(SYMBOLS, expression, "mpmath")(*numbers)
        except (ZeroDivisionError, ValueError):
            assume(False)
        assume(mpmath.isfinite(value) and mpmath.im(value) == 0 and abs(value) < 1e12)
        return flint.arb(mpmath.nstr(mpmath.re(value), 65))


def in_balls(inputs, nodes, values, bits=BITS):
    with precision(bits):
        return Tape(inputs, tuple(nodes)).compiled(balls())(
            [v if isinstance(v, flint.arb) else ball(v) for v in values]
        )


def same(ours, theirs, digits=55):
    slack = flint.arb(0, abs(theirs).upper() * flint.arb(10) ** -digits + flint.arb(10) ** -digits)
    return ours.overlaps(theirs + slack)


@given(expressions(), points)
def test_the_graph_has_the_value_that_sympy_has(expression, point):
    _, inputs, node = walked(expression)
    with precision(BITS):
        expected = by_sympy(expression, point)
        (value,) = in_balls(inputs, [node], point)
        assume(value.is_finite())
        assert same(value, expected), (value, expected)


@given(expressions(), points)
def test_floats_differ_from_the_exact_value_by_rounding_only(expression, point):
    """Balls of 53 bits widen by the rounding of each operation; floats stay within a few such widths."""
    _, inputs, node = walked(expression)
    numbers = [float(p) for p in point]
    (value,) = Tape(inputs, (node,))(numbers)
    (narrow,) = in_balls(inputs, [node], numbers)
    (wide,) = in_balls(inputs, [node], numbers, bits=53)
    assume(narrow.is_finite() and wide.is_finite())
    assert wide.overlaps(narrow)
    with precision(BITS):
        slack = 32 * wide.rad() + abs(narrow).upper() * flint.arb(2) ** -48 + flint.arb(2) ** -1000
        assert abs(flint.arb(value) - narrow) <= slack, (value, narrow, wide)


@given(expressions(), points, points, st.sampled_from([Fraction(1, 1000), Fraction(1, 10), Fraction(1)]))
def test_a_ball_contains_the_value_at_every_point_of_its_box(expression, centre, inside, radius):
    _, inputs, node = walked(expression)
    with precision(90):
        box = [flint.arb(ball(c), ball(radius)) for c in centre]
        (value,) = Tape(inputs, (node,)).compiled(balls())(box)
    assume(value.is_finite())
    for share in (Fraction(0), Fraction(1, 2), Fraction(-1, 2)):
        point = [c + radius * share * p for c, p in zip(centre, inside, strict=True)]
        (exact,) = in_balls(inputs, [node], point)
        if exact.is_finite():
            with precision(BITS):
                assert value.overlaps(exact), (value, exact, point)


@settings(max_examples=80)
@given(expressions(most=5), points, st.integers(0, 2))
def test_series_coefficients_are_derivatives_over_factorials(expression, point, which):
    graph, inputs, node = walked(expression)
    terms = 5
    with precision(BITS, terms):
        given_series = [flint.arb_series([ball(p), 1]) if k == which else ball(p) for k, p in enumerate(point)]
        try:
            (series,) = Tape(inputs, (node,)).compiled(ball_series())(given_series)
        except Undecided:
            assume(False)
        moves = isinstance(series, flint.arb_series)
        found = [series[k] for k in range(terms)] if moves else [series, *[flint.arb(0)] * (terms - 1)]
        nodes = [node]
        for _ in range(terms - 1):
            nodes += directional([nodes[-1]], {inputs[which]: graph.one})
        values = Tape(inputs, tuple(nodes)).compiled(balls())([ball(p) for p in point])
        assume(all(v.is_finite() for v in values))
        for k, (coefficient, derivative) in enumerate(zip(found, values, strict=True)):
            expected = derivative / flint.arb(int(sp.factorial(k)))
            assert coefficient.overlaps(expected), (k, coefficient, expected)


@settings(max_examples=60)
@given(expressions(corners=False, most=6), points)
def test_derivatives_on_the_graph_are_those_of_sympy(expression, point):
    graph, inputs, node = walked(expression)
    backward = gradient(node, inputs)
    forward = [directional([node], {x: graph.one})[0] for x in inputs]
    with precision(BITS):
        for symbol, x, along in zip(SYMBOLS, inputs, forward, strict=True):
            expected = by_sympy(sp.diff(expression, symbol), point)
            one, other = in_balls(inputs, [along, backward.get(x, graph.zero)], point)
            assume(one.is_finite() and other.is_finite())
            assert same(one, expected), (symbol, one, expected)
            assert same(other, expected), (symbol, other, expected)


@settings(max_examples=60)
@given(expressions(most=6))
def test_what_is_shown_is_walked_back_to_the_same_function(expression):
    graph, _, node = walked(expression)
    display = Display(graph, {s.name: s for s in SYMBOLS})
    inputs = tuple(graph.input(s.name) for s in SYMBOLS)
    again, tidied = (
        display.walk(shown) for shown in (display.raw(node), display.tidy(node))
    )  # letters are known to it
    for point in ([Fraction(3, 8), Fraction(5, 7), Fraction(2, 9)], [Fraction(-5, 8), Fraction(1, 3), Fraction(-7, 5)]):
        one, other, tidy = in_balls(inputs, [node, again, tidied], point)
        if one.is_finite() and other.is_finite() and tidy.is_finite():
            assert one.overlaps(other)
            assert one.overlaps(tidy)


@given(expressions(), expressions())
def test_equal_expressions_are_the_same_node(first, second):
    graph, inputs, node = walked(first)
    walk = Walker(graph, {s.data: s for s in inputs})
    assert walk(first) is node
    assert walk(first + second) is walk(second + first)
    assert (walk(first) - node).is_zero


@pytest.mark.parametrize("value", [0.1, -2.5, 1e-300, 3.0])
def test_a_ball_of_a_float_is_exactly_that_float(value):
    with precision(200):
        assert ball(value).rad() == 0
        assert float(ball(value)) == value
    with precision(200):
        assert ball(Fraction(1, 10)).contains(flint.arb(flint.fmpq(1, 10)))
        assert not ball(Fraction(1, 10)).contains(ball(0.1))
