"""What operations and arithmetics owe each other: whoever adds one of either is told here what is still missing."""

import math

import flint
import numpy as np
import pytest
import sympy as sp

from holdfast.engine.kernel import compiled
from holdfast.graph.arithmetics.balls import BRANCHES, ball, ball_series, balls, precision
from holdfast.graph.arithmetics.every import ALL_ARITHMETICS
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.arithmetics.rounded_balls import rounded_balls
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.arithmetics.taylor import monomials, range_of, taylor_forms
from holdfast.graph.derivatives import jacobian
from holdfast.graph.display import Display
from holdfast.graph.field import Field
from holdfast.graph.nodes import BINARY, UNARY, Graph, ancestors
from holdfast.graph.walk import Walker
from holdfast.page.markup import mathml
from holdfast.problem import quantities
from holdfast.problem.derivative import OUTER
from holdfast.problem.text.magnitude import SHADOWS
from holdfast.problem.text.scalars import NAMES, SYMPY
from holdfast.problem.vocabulary import KNOWN_FUNCTIONS
from holdfast.schemes.tableaus.euler import EULER
from holdfast.stability.verifier.numbers import dag
from holdfast.stability.verifier.reading import code

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


WIDTH = 2.0**-20  # of a perturbation that is carried through


@pytest.mark.parametrize("op", OPERATIONS)
def test_rounding_is_carried_by_the_slope(op):
    """An operand that is wrong by some bound makes the result wrong by no more than is stated, and by about as much."""
    _, inputs, node = operation(op)
    with precision(200):
        value = Tape(inputs, (node,)).compiled(balls())
        numbers = [(ball(x), ball(WIDTH)) for x in POINT]
        ((_, stated),) = Tape(inputs, (node,)).compiled(rounded_balls())(numbers)
        (true,) = value([ball(x) for x in POINT])
        moved = [value([ball(POINT[0] + a * WIDTH), ball(POINT[1] + b * WIDTH)])[0] for a in (-1, 1) for b in (-1, 1)]
        largest = max(float(abs(one - true)) for one in moved)
        assert largest <= float(stated)
        assert float(stated) <= 4 * largest + 1e-12


@pytest.mark.parametrize("op", OPERATIONS)
def test_series_and_forms_move_as_the_slope_says(op):
    """Of x + s, as a power series in s; and of x over a cell, as a Taylor form."""
    _, inputs, node = operation(op)
    tape = Tape(inputs, (node,))
    with precision(200, terms=4):
        (row,) = jacobian([node], inputs)
        slope = Tape(inputs, (row[0],)).compiled(balls())([ball(x) for x in POINT])[0] if 0 in row else ball(0)
        moving = flint.arb_series([ball(POINT[0]), ball(1)])
        (series,) = tape.compiled(ball_series())([moving, ball(POINT[1])])
        found = series[1] if isinstance(series, flint.arb_series) else ball(0)
        assert found.overlaps(slope)
        assert float(found.rad()) < 1e-40
        near = monomials((1,), 2).linear(ball(POINT[0]), [ball(WIDTH)])
        (form,) = tape.compiled(taylor_forms())([near, ball(POINT[1])])
        places = [ball(POINT[0] + share * WIDTH) for share in (-1, -0.5, 0, 0.5, 1)]
        values = [tape.compiled(balls())([x, ball(POINT[1])])[0] for x in places]
        assert all(range_of(form).contains(value.mid()) for value in values)
        assert float(range_of(form).rad()) <= 3 * max(float(abs(value - values[2])) for value in values) + 1e-30


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


NAMED = {*UNARY, *BINARY} - {"neg", "add", "sub", "mul", "div", "pow"}  # written as functions; the others by signs


@pytest.mark.parametrize(
    ("where", "known"),
    [
        ("problem/quantities.py FUNCTIONS", set(quantities.FUNCTIONS)),
        ("problem/vocabulary.py KNOWN_FUNCTIONS", {NAMES.get(f, f.__name__) for f in KNOWN_FUNCTIONS} | {"sqrt"}),
        ("problem/text/scalars.py SYMPY", set(SYMPY) | {"sqrt"}),
        ("problem/text/magnitude.py SHADOWS", set(SHADOWS)),
        ("page/markup/mathml.py FUNCTIONS", set(mathml.FUNCTIONS) | {"sqrt", "abs"}),  # these have signs of their own
        ("stability/verifier/numbers/dag.py UNARY, BINARY", {*dag.UNARY, *dag.BINARY}),
        ("stability/verifier/reading/code.py ARITY", set(code.ARITY)),
    ],
)
def test_every_function_is_known_wherever_functions_are_listed(where, known):
    assert NAMED - known == set(), f"{where} does not know them"


def test_every_smooth_function_has_a_derivative_in_expressions():
    smooth = NAMED - BRANCHES - {"sqrt", "atan2"}  # a power, and one of two arguments
    assert smooth - {NAMES[function] for function in OUTER} == set(), "problem/derivative.py OUTER"


@pytest.mark.parametrize("op", sorted(NAMED))
def test_what_jumps_or_has_a_corner_is_listed_as_such(op):
    """Over a box round 0 a smooth function has a bounded slope; one that has none must be known to branch."""
    graph = Graph()
    x = graph.input("x")
    node = graph.call(op, *((x,) if op in UNARY else (x, graph.const(0)) if op != "atan2" else (x, graph.const(-1))))
    with precision(100):
        value = Tape((x,), (node,)).compiled(balls())
        left, right = (value([ball(sign * 2.0**-40)])[0] for sign in (-1, 1))
        middle = value([ball(0)])[0]
        bend = abs(left + right - 2 * middle)
        corner = bool(bend > 2.0**-60) if bend.is_finite() else False
    assert corner <= (op in BRANCHES)
