"""Taylor forms: what is evaluated at single points lies in what the form says there, and dependence is remembered."""

from itertools import pairwise

import flint
import numpy as np
import pytest

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, ball_series, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.arithmetics.taylor import Form, least_of, monomials, range_of, taylor_forms
from holdfast.graph.nodes import Graph

BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs sign neg".split()


def expression(op):
    """An expression in x, near 0.6, and y, near 0.4, that ends in an operation."""
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    mixed = x * y + x / 2
    if op in UNARY:
        node = graph.neg(mixed) if op == "neg" else graph.call(op, mixed)
    elif op in BINARY:
        node = {"+": mixed + y, "-": mixed - x, "*": mixed * mixed, "/": y / mixed}[BINARY[op]]
    elif op == "power":
        node = graph.power(mixed, 5)
    elif op == "select":
        node = graph.select(mixed, x, y)
    else:
        node = graph.call(op, mixed - 2 * y, -x)
    return Tape((x, y), (node,))


def at(form, point):
    """The polynomial at a point of its variables, with balls for coefficients."""
    total = ball(0)
    for term, factors in zip(form.terms, form.monomials.factors, strict=True):
        if term is not None:
            power = ball(1)
            for k in factors:
                power = power * point[k]
            total = total + term * power
    return total


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("op", [*UNARY, *BINARY, "power", "pow", "atan2", "min", "max", "select"])
def test_each_point_lies_in_its_form(op, order):
    random = np.random.default_rng(3)
    tape = expression(op) if op != "pow" else _power_of_power()
    with precision(80, 5):
        shape = monomials((1, 1) if order == 1 else (1, 2), order)
        exact, enclosing = tape.compiled(ball_series()), tape.compiled(taylor_forms())
        moving = flint.arb_series([0, 1, ball(0.5)])
        x = shape.linear(ball(0.6) + moving, [ball(0.05), ball(0.01)])
        y = shape.linear(ball(0.4) - moving, [ball(-0.02), ball(0.03)])
        (form,) = enclosing([x, y])
        for _ in range(20):
            point = [ball(float(e)) for e in random.uniform(-1, 1, 2)]
            (value,) = exact([at(x, point), at(y, point)])
            for degree in range(5):
                there = at(form, point) if isinstance(form, Form) else form
                assert _coefficient(there, degree).overlaps(_coefficient(value, degree))
                assert _coefficient(range_of(form), degree).overlaps(_coefficient(value, degree))


def _power_of_power():
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    return Tape((x, y), (graph.call("pow", x * y, x + y),))


def _coefficient(value, degree):
    if isinstance(value, flint.arb_series):
        return value[degree]
    return value if degree == 0 else ball(0)


def test_a_form_is_narrower_the_higher_its_order():
    with precision(80, 2):
        tape = expression("tan").compiled(taylor_forms())
        widths = []
        for order in (1, 2, 3, 4):
            shape = monomials((1,), order)
            (form,) = tape([shape.linear(ball(0.6), [ball(0.1)]), shape.linear(ball(0.4), [ball(0.1)])])
            widths.append(float(form.terms[0].rad()))
    assert all(finer < 0.5 * coarser for coarser, finer in pairwise(widths))


def test_dependence_is_remembered():
    """Balls lose that both operands are the same; forms do not, up to their order."""
    with precision(80, 2):
        angle = monomials((1,), 6).linear(ball(0.3), [ball(0.1)])
        functions = taylor_forms().functions
        one = functions["power"](functions["sin"](angle), 2) + functions["power"](functions["cos"](angle), 2)
        assert float(range_of(one).rad()) < 1e-8
        assert range_of(one).contains(1)
        assert range_of(angle - angle).is_zero()


def test_a_coarser_form_still_holds_every_point():
    with precision(80, 2):
        fine = taylor_forms().functions["exp"](monomials((1, 2), 4).linear(ball(0.3), [ball(0.2), ball(0.1)]))
        coarse = fine.over(fine.monomials.of_order(1))
        assert range_of(coarse).contains(range_of(fine).mid())
        for e in ([1, 1], [1, -1], [-1, -1], [0, 1]):
            point = [ball(k) for k in e]
            assert at(coarse, point).overlaps((ball(0.3) + ball(0.2) * point[0] + ball(0.1) * point[1]).exp())


@pytest.mark.parametrize(
    ("op", "operands"),
    [("sqrt", (0.0,)), ("log", (0.01,)), ("div", (1.0, 0.05)), ("abs", (0.0,)), ("min", (0.0, 0.0))],
)
def test_what_is_not_decided_over_the_cell_is_refused(op, operands):
    with precision(80, 3):
        shape = monomials((1,), 3)
        series = [shape.linear(ball(value) + flint.arb_series([0, 1]), [ball(0.1)]) for value in operands]
        if op == "min":
            series[1] = -series[1]
        with pytest.raises(Undecided):
            taylor_forms().functions[op](*series)


def test_the_angle_is_refused_only_where_it_jumps():
    with precision(80, 3):
        shape = monomials((1,), 3)
        small = shape.linear(ball(0), [ball(0.1)])
        angle = taylor_forms().functions["atan2"]
        assert range_of(angle(small, ball(2) + small)).contains(0)
        assert range_of(angle(ball(2) + small, small)).contains(flint.arb.pi() / 2)
        assert range_of(angle(small - 2, small)).contains(-flint.arb.pi() / 2)
        with pytest.raises(Undecided):
            angle(small, small - 2)


def test_what_a_form_surely_reaches_is_its_value_at_the_centre():
    with precision(80):
        shape = monomials((1,), 2)
        form = shape.linear(ball(-3), [ball(2)])
        assert float(least_of(form)) == 3
        assert float(least_of(Form(shape, [None, *form.terms[1:]]))) == 0
        assert float(least_of(ball(-4))) == 4
