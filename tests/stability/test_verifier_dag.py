"""The verifier's own expressions: equal ones are one node, constants are exact, and slopes are those of SymPy."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from holdfast.stability.verifier.numbers import dag as module
from holdfast.stability.verifier.numbers.dag import MOST_BITS, Dag, inputs_of, ordered
from holdfast.stability.verifier.numbers.evaluate import double_values
from holdfast.stability.verifier.refusal import Refused


@pytest.fixture
def dag():
    return Dag()


def test_every_way_to_write_it_is_one_node(dag):
    x, y = dag.input("x"), dag.input("y")
    two, third = dag.const(2), dag.const(Fraction(1, 3))
    assert dag.add(x, y) is dag.add(y, x)
    assert dag.mul(x, y) is dag.mul(y, x)
    assert dag.mul(x, x) is dag.power(x, 2)
    assert dag.sub(x, x) is dag.zero
    assert dag.add(x, dag.zero) is dag.add(dag.zero, x) is x
    assert dag.mul(x, dag.one) is dag.mul(dag.one, x) is x
    assert dag.mul(x, dag.zero) is dag.mul(dag.zero, x) is dag.zero
    assert dag.mul(two, dag.mul(third, x)) is dag.mul(dag.const(Fraction(2, 3)), x)
    assert dag.mul(dag.mul(third, x), two) is dag.mul(dag.const(Fraction(2, 3)), x)
    assert dag.mul(two, x) is dag.mul(x, two)
    assert dag.mul(two, dag.mul(x, y)).args == (two, dag.mul(x, y))
    assert dag.div(x, two) is dag.mul(dag.const(Fraction(1, 2)), x)
    assert dag.div(dag.zero, x) is dag.zero
    assert dag.add(two, third) is dag.const(Fraction(7, 3))
    assert dag.mul(two, third) is dag.const(Fraction(2, 3))
    assert dag.neg(dag.neg(x)) is x
    assert dag.power(x, 0) is dag.one
    assert dag.power(x, 1) is x
    assert dag.power(x, -2) is dag.div(dag.one, dag.power(x, 2))
    assert dag.power(third, 2) is dag.const(Fraction(1, 9))
    assert dag.raised(x, dag.const(3)) is dag.power(x, 3)
    assert dag.raised(x, dag.const(-1)) is dag.div(dag.one, x)
    assert dag.raised(x, dag.const(Fraction(1, 2))) is dag.call("sqrt", x)
    assert dag.raised(x, third).op == "pow"
    assert dag.raised(x, dag.const(9_999)).op == "power"
    assert dag.raised(x, dag.const(10_000)).op == "pow"
    assert dag.sum([x, y, x]) is dag.add(dag.add(x, y), x)
    for name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "sqrt", "abs", "sign"):
        assert dag.call(name, dag.zero) is dag.zero
    for name in ("exp", "cos", "cosh"):
        assert dag.call(name, dag.zero) is dag.one
    assert dag.call("acos", dag.zero).op == "acos"


def test_what_is_too_large_is_refused(dag, monkeypatch):
    assert dag.const(2 ** (MOST_BITS - 1)).data.numerator.bit_length() == MOST_BITS
    for value in (Fraction(2**MOST_BITS), Fraction(1, 2**MOST_BITS)):
        with pytest.raises(Refused, match="a number of the problem is too large"):
            dag.const(value)
    four = dag.const(4)  # three bits
    assert dag.power(four, MOST_BITS // 3).op == "const"
    with pytest.raises(Refused, match="a number of the problem is too large"):
        dag.power(four, MOST_BITS // 3 + 1)
    with pytest.raises(Refused, match="a number of the problem is too large"):
        dag.power(dag.const(Fraction(1, 4)), MOST_BITS // 3 + 1)
    with pytest.raises(Refused, match="the problem divides by zero"):
        dag.div(dag.input("x"), dag.zero)
    monkeypatch.setattr(module, "MOST_NODES", len(dag._known) + 1)
    dag.input("one more")
    with pytest.raises(Refused, match="the problem is too large to be re-checked"):
        dag.input("and another")


x, y = sp.symbols("x y", positive=True)
SLOPES = {
    "x*y + x": x * y + x, "x/y": x / y, "x**3": x**3, "x**y": x**y, "2**x": 2**x, "x**0.3": x ** sp.Rational(3, 10),
    "sqrt(x*y)": sp.sqrt(x * y), "exp(x*y)": sp.exp(x * y), "log(x + y)": sp.log(x + y), "sin(x*y)": sp.sin(x * y),
    "cos(x*y)": sp.cos(x * y), "tan(x*y)": sp.tan(x * y), "asin(x*y)": sp.asin(x * y), "acos(x*y)": sp.acos(x * y),
    "atan(x*y)": sp.atan(x * y), "sinh(x*y)": sp.sinh(x * y), "cosh(x*y)": sp.cosh(x * y), "tanh(x*y)": sp.tanh(x * y),
    "atan2(x, y)": sp.atan2(x, y), "abs(y - x)": x - y, "max(x, y)": x, "min(x, y)": y, "sign(x)*y": y,
}  # fmt: skip


@pytest.mark.parametrize("text", SLOPES)
def test_slopes_are_those_of_sympy(text, dag):
    """At x = 0.7, y = 0.4; along a motion both change."""
    from holdfast.stability.verifier.reading.text import Expression

    names = {"x": dag.input("x"), "y": dag.input("y")}
    node = Expression(text, dag, names, lambda n: n, "test").scalar()
    at = {x: 0.7, y: 0.4}
    values = {"x": np.array([0.7]), "y": np.array([0.4])}
    truth = [float(SLOPES[text].diff(symbol).subs(at)) for symbol in (x, y)]
    (row,) = dag.partials([node], names.values())
    found = [float(value[0]) for value in double_values(row, values, 1)]
    assert found == pytest.approx(truth, rel=1e-12, abs=1e-14)
    (along,) = dag.derivatives([node], {names["x"]: dag.const(3), names["y"]: names["x"]})
    (rate,) = double_values([along], values, 1)
    assert float(rate[0]) == pytest.approx(3 * truth[0] + 0.7 * truth[1], rel=1e-12, abs=1e-14)


def test_nothing_but_inputs_is_replaced(dag):
    a, b = dag.input("a"), dag.input("b")
    nodes = [
        dag.add(a, b), dag.mul(dag.const(3), a), dag.div(a, b), dag.power(a, 3), dag.node("pow", a, b), dag.node("pi"),
        dag.call("sin", a), dag.call("atan2", a, b),
    ]  # fmt: skip
    found = dag.substituted(nodes, {a: dag.mul(b, b)})
    square = dag.power(b, 2)
    assert found == [
        dag.add(square, b), dag.mul(dag.const(3), square), dag.div(square, b), dag.power(square, 3),
        dag.raised(square, b), nodes[5], dag.call("sin", square), dag.call("atan2", square, b),
    ]  # fmt: skip
    assert dag.substituted(nodes, {}) == nodes


def test_operands_come_before_what_needs_them(dag):
    a, b = dag.input("a"), dag.input("b")
    node = dag.call("sin", dag.mul(a, dag.add(a, b)))
    order = ordered([node])
    assert order[-1] is node
    assert len(order) == len(set(order)) == 5
    for place, one in enumerate(order):
        assert all(arg in order[:place] for arg in one.args)
    assert inputs_of([node]) == {"a", "b"}
    assert inputs_of([dag.call("cos", a), dag.node("pi")]) == {"a"}
