"""From SymPy to the graph."""

import math

import pytest
import sympy as sp

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Graph, ancestors, operation_count
from holdfast.graph.walk import Walker

a, b = sp.symbols("a b", real=True)


def walked(expression):
    graph = Graph()
    inputs = (graph.input("a"), graph.input("b"))
    return inputs, Walker(graph, {"a": inputs[0], "b": inputs[1]})(expression)


def value(expression, *point):
    inputs, node = walked(expression)
    return Tape(inputs, (node,))(point)[0]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (a / b, 1.5),
        (a**-2, 1 / 9),
        (sp.sqrt(a + 1), 2),
        (a ** sp.Rational(-3, 2), 3**-1.5),
        (a ** sp.Rational(1, 3), 3 ** (1 / 3)),
        (a**b, 9),
        (sp.E**b, math.exp(2)),
        (sp.exp(b), math.exp(2)),
        (sp.exp(1) + 0 * a, math.e),
        (sp.pi * a, 3 * math.pi),
        (sp.atan2(a, b), math.atan2(3, 2)),
        (sp.Abs(b - a), 1),
        (sp.sign(b - a), -1),
        (sp.Min(a, b, a + b), 2),
        (sp.Max(a, b, 1), 3),
        (sp.Heaviside(a), 1),
        (sp.Heaviside(-a), 0),
        (sp.cot(b), 1 / math.tan(2)),
        (sp.csc(b), 1 / math.sin(2)),
        (sp.Piecewise((1, a < b), (2, a <= 3), (4, True)), 2),
        (sp.Piecewise((1, a > 3), (2, a >= 3), (4, True)), 2),
        (sp.Piecewise((1, a < 3), (4, True)), 4),
    ],
)
def test_each_form_has_its_value(expression, expected):
    assert value(expression, 3.0, 2.0) == pytest.approx(expected, rel=1e-15)


def test_a_product_divides_once():
    inputs, node = walked(a / (b * (1 + b) * sp.sqrt(2 + b)))
    assert [part.op for part in ancestors([node])].count("div") == 1
    assert node.args[0] is inputs[0]


def test_shared_parts_are_walked_once():
    deep = a
    for _ in range(60):
        deep = deep * deep + 1  # 2^60 nodes as a tree
    _, node = walked(deep)
    assert operation_count([node]) == 120


def test_depth_does_not_matter():
    deep = a
    for _ in range(3000):
        deep = sp.sin(deep, evaluate=False)
    _, node = walked(deep)
    assert operation_count([node]) == 3000


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        (sp.Symbol("q"), "declare"),
        (sp.gamma(a), "functions"),
        (sp.Piecewise((a, a > 0)), "True"),
        (sp.Piecewise((a, sp.Eq(a, 1)), (b, True)), "<"),
        (sp.Piecewise((a, sp.And(a > 0, b > 0)), (b, True)), "<"),
    ],
)
def test_what_has_no_numerical_meaning_is_refused(expression, hint):
    with pytest.raises(hf.BadExpression) as caught:
        walked(expression)
    assert hint in caught.value.fix


def test_an_unevaluated_rate_is_taken_on_the_graph():
    """d/dt |x| = sign(x) x', never SymPy's derivative of Abs."""
    x = hf.coordinates("x")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: hf.rate(sp.Abs(x) * hf.time)})
    equations = hf.derive(hf.Problem(system))
    assert equations.evaluate({x: -2, x.rate: 3}, 5).accelerations[0] == 2 - 3 * 5
