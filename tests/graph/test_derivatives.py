"""Derivatives on the graph: every operation by itself, in floats, balls and series."""

from fractions import Fraction

import flint
import pytest
import sympy as sp

from holdfast.graph.arithmetics.balls import ball, ball_series, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.nodes import Graph
from holdfast.graph.walk import Walker

a, b = sp.symbols("a b", real=True)
POINT = (sp.Rational(3, 10), sp.Rational(7, 10))
SMOOTH = [
    a + b, a - b, b - a, a * b, a / b, -a, a**2, a**7, a**-3, a**b, b**a, a ** sp.Rational(1, 3), sp.sqrt(a), sp.exp(a),
    sp.log(a),
    sp.sin(a), sp.cos(a), sp.tan(a), sp.asin(a), sp.acos(a), sp.atan(a), sp.sinh(a), sp.cosh(a), sp.tanh(a),
    sp.atan2(a, b), sp.atan2(b, a), sp.atan2(-a, -b), sp.sec(a), sp.cot(a),
]  # fmt: skip
CORNERS = [
    (sp.Abs(a), a), (sp.Abs(a - b), b - a), (sp.sign(a - b), -1), (sp.Min(a, b), a), (sp.Max(a, b), b),
    (sp.Min(b, a**2), a**2), (sp.Max(b**2, a), b**2), (sp.Heaviside(a), 1), (sp.Heaviside(a - b) * a, 0),
    (sp.Piecewise((a**2, a > b), (a**3, True)), a**3), (sp.Piecewise((a**2, a < b), (a**3, True)), a**2),
]  # fmt: skip
PIECES = [(e, e) for e in SMOOTH] + CORNERS  # an expression, and the smooth one that it is around the point


def walked(expression):
    graph = Graph()
    inputs = (graph.input("a"), graph.input("b"))
    return graph, inputs, Walker(graph, {"a": inputs[0], "b": inputs[1]})(expression)


def exact(expression):
    return float(sp.N(sp.sympify(expression).subs({a: POINT[0], b: POINT[1]}), 30))


@pytest.mark.parametrize(("expression", "smooth"), PIECES, ids=str)
def test_each_operation_has_its_derivative_forward_and_backward(expression, smooth):
    graph, inputs, node = walked(expression)
    smooth = sp.sympify(smooth)
    slopes = gradient(node, inputs)
    nodes = [slopes.get(x, graph.zero) for x in inputs]
    nodes += [directional([node], {x: graph.one})[0] for x in inputs]
    expected = [exact(sp.diff(smooth, x)) for x in (a, b)] * 2
    assert Tape(inputs, tuple(nodes))([float(p) for p in POINT]) == pytest.approx(expected, rel=1e-14, abs=1e-15)


@pytest.mark.parametrize(("expression", "smooth"), PIECES, ids=str)
@pytest.mark.parametrize("which", [0, 1])
def test_each_operation_has_its_taylor_coefficients(expression, smooth, which):
    _, inputs, node = walked(expression)
    terms = 5
    with precision(160, terms):
        heads = [ball(Fraction(int(p.p), int(p.q))) for p in POINT]
        given = [flint.arb_series([h, 1]) if k == which else h for k, h in enumerate(heads)]
        (series,) = Tape(inputs, (node,)).compiled(ball_series())(given)
        moves = isinstance(series, flint.arb_series)
        found = [series[k] for k in range(terms)] if moves else [series, *[0] * (terms - 1)]
    derivative = sp.sympify(smooth)
    for k in range(terms):
        assert float(found[k]) == pytest.approx(exact(derivative) / float(sp.factorial(k)), rel=1e-13, abs=1e-14)
        derivative = sp.diff(derivative, (a, b)[which])


@pytest.mark.parametrize(("expression", "smooth"), PIECES, ids=str)
def test_each_operation_has_its_ball(expression, smooth):
    _, inputs, node = walked(expression)
    with precision(160):
        (value,) = Tape(inputs, (node,)).compiled(balls())([ball(Fraction(int(p.p), int(p.q))) for p in POINT])
    assert float(value.rad()) < 1e-40
    assert float(value) == pytest.approx(exact(smooth), rel=1e-15)


def test_jacobians_list_only_what_is_not_zero():
    _, inputs, node = walked(a**2)
    assert jacobian([node], inputs) == [{0: inputs[0] * 2}]


def test_a_direction_that_reaches_nothing_costs_nothing():
    graph, inputs, node = walked(sp.sin(a) * sp.exp(a))
    before = len(graph)
    assert directional([node], {inputs[1]: graph.one}) == [graph.zero]
    assert len(graph) == before
    assert directional([], {}) == []


def test_a_gradient_shares_its_work_between_all_inputs():
    """The cost of a gradient is a small multiple of the function's, however many inputs there are."""
    graph = Graph()
    inputs = [graph.input(f"x{k}") for k in range(60)]
    product = graph.one
    for x in inputs:
        product = product * graph.call("sin", x)
    before = len(graph)
    slopes = gradient(product, inputs)
    assert len(slopes) == 60
    assert len(graph) - before < 4 * 60
