"""What operations and arithmetics owe each other: whoever adds one of either is told here what is still missing."""

import math

import flint
import numpy as np
import pytest
import sympy as sp

from holdfast.engine.kernel import compiled
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.every import ALL_ARITHMETICS
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.arithmetics.taylor import range_of
from holdfast.graph.derivatives import jacobian
from holdfast.graph.display import Display
from holdfast.graph.field import Field
from holdfast.graph.nodes import BINARY, UNARY, Graph, ancestors
from holdfast.graph.walk import Walker
from holdfast.schemes.tableaus.euler import EULER

OPERATIONS = sorted({*UNARY, *BINARY, "power", "select"})
POINT = (0.625, 0.375)  # both exact, within every domain, and on no jump


def operation(name):
    """The graph of one operation of x and y."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    nodes = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "div": lambda: x / y, "neg": lambda: -x}
    nodes |= {"power": lambda: x**3, "select": lambda: graph.call("select", x - y, x, y)}
    node = nodes.get(name, lambda: graph.call(name, *((x,) if name in UNARY else (x, y))))()
    assert any(made.op == name for made in ancestors([node])) or name in ("sub", "neg"), "the graph folded it away"
    return graph, (x, y), node


def exact(name):
    """A ball round the value of the operation, 200 bits sharp, by flint alone."""
    x, y = (flint.arb(value) for value in POINT)
    ways = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "neg": -x, "power": x**3, "pow": x**y}
    ways |= {"atan2": flint.arb.atan2(x, y), "min": y, "max": x, "select": x, "abs": x, "sign": flint.arb(1)}
    return ways[name] if name in ways else getattr(x, name)()


@pytest.mark.parametrize("name", ALL_ARITHMETICS)
def test_every_arithmetic_knows_every_operation(name):
    assert not ALL_ARITHMETICS[name]().missing()


def test_what_an_arithmetic_lacks_is_named():
    poor = type(FLOATS)("poor", {"sin": math.sin}, float, lambda: 3.0)
    assert {"cos", "power", "select"} <= poor.missing()
    assert not {"sin", "add", "neg"} & poor.missing()


def embraced(value):
    """The ball that a number of any enclosing arithmetic stands for, its rounding included."""
    if isinstance(value, tuple):
        return value[0] + value[1] * flint.arb(0, 1)
    return value if isinstance(value, flint.arb) else range_of(value)


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("name", ALL_ARITHMETICS)
def test_every_arithmetic_agrees_with_flint(name, op):
    _, inputs, node = operation(op)
    with precision(200):
        arithmetic, true = ALL_ARITHMETICS[name](), exact(op)
        numbers = [(ball(x), ball(0)) if name == "rounded balls" else ball(x) for x in POINT]
        if name in ("floats", "arrays"):
            numbers = [np.float64(x) if name == "arrays" else x for x in POINT]
        (value,) = Tape(inputs, (node,)).compiled(arithmetic)(numbers)
        if name in ("floats", "arrays"):
            assert float(value) == pytest.approx(float(true), rel=4e-16)
        else:
            assert embraced(value).overlaps(true)
            assert float(embraced(value).rad()) < 1e-13


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_has_a_slope(op):
    _, inputs, node = operation(op)
    width = flint.arb(2) ** -60
    with precision(300):
        value = Tape(inputs, (node,)).compiled(balls())
        (row,) = jacobian([node], inputs)
        for k in range(2):
            slope = Tape(inputs, (row[k],)).compiled(balls())([ball(x) for x in POINT])[0] if k in row else ball(0)
            ahead, behind = ([ball(x) + sign * width * (j == k) for j, x in enumerate(POINT)] for sign in (1, -1))
            (high,), (low,) = value(ahead), value(behind)
            assert float(abs((high - low) / (2 * width) - slope)) < 1e-25


@pytest.mark.parametrize("op", OPERATIONS)
def test_every_operation_is_shown_and_read_back(op):
    graph, inputs, node = operation(op)
    display = Display(graph, {name: sp.Symbol(name, real=True) for name in ("x", "y")})
    again = Walker(graph, dict(zip(("x", "y"), inputs, strict=True)))(display.raw(node))
    assert Tape(inputs, (again,))(POINT)[0] == pytest.approx(Tape(inputs, (node,))(POINT)[0], rel=1e-15)


@pytest.mark.parametrize("op", OPERATIONS)
@pytest.mark.parametrize("target", ["native", "python"])
def test_every_operation_is_emitted(op, target):
    graph, inputs, node = operation(op)
    field = Field(graph.input("t"), inputs, (), (node, graph.zero))
    rows = compiled(field, EULER, target=target).run(POINT, [], step=0.25, steps=1)  # a step that stays in every domain
    moved = 4 * (rows.states[-1][0] - POINT[0])
    assert moved == pytest.approx(float(exact(op)), rel=4e-16, abs=1e-15)
