"""The graph: equal operations are one node, constants are exact, and what is rewritten never changes a value."""

from fractions import Fraction

import pytest

from holdfast.graph.nodes import MOST_BITS, MOST_EXPONENT, Graph, ancestors, fingerprint, operation_count, substitute


@pytest.fixture
def graph():
    return Graph()


def test_equal_operations_on_equal_nodes_are_one_node(graph):
    a, b = graph.input("a"), graph.input("b")
    assert a + b is b + a
    assert a * b is b * a
    assert a - b is a + (-b)
    assert -(a - b) is b - a
    assert graph.input("a") is a
    assert (a + b) * (a + b) is (a + b) ** 2


def test_zero_and_one_disappear(graph):
    a = graph.input("a")
    assert a + 0 is a
    assert a * 1 is a
    assert (a * 0).is_zero
    assert (a - a).is_zero
    assert a / 1 is a
    assert a / a is graph.one
    assert a**0 is graph.one
    assert a**1 is a


def test_constants_fold_exactly(graph):
    a = graph.input("a")
    third = graph.const(Fraction(1, 3))
    assert third + third + third is graph.one
    assert third * 3 * a is a
    assert (a * 2) * third is a * graph.const(Fraction(2, 3))
    assert a / 4 is graph.const(Fraction(1, 4)) * a
    assert graph.const(2) ** 10 is graph.const(1024)


def test_signs_move_outwards(graph):
    a, b = graph.input("a"), graph.input("b")
    assert graph.neg(-a) is a
    assert (-a) * b is -(a * b)
    assert (-a) * (-b) is a * b
    assert (-a) / b is -(a / b)
    assert (-a) ** 2 is a**2
    assert (-a) ** 3 is -(a**3)
    assert graph.call("sin", -a) is -graph.call("sin", a)
    assert graph.call("cos", -a) is graph.call("cos", a)


def test_powers_of_powers_are_one_power(graph):
    a = graph.input("a")
    assert (a**2) ** 3 is a**6
    assert graph.call("sqrt", a) ** 4 is a**2
    assert (a**-2).op == "div"


def test_branches_of_constants_are_decided(graph):
    a, b = graph.input("a"), graph.input("b")
    assert graph.select(graph.one, a, b) is a
    assert graph.select(graph.zero, a, b) is b  # only what is greater than 0 counts
    assert graph.select(a, b, b) is b
    assert graph.call("abs", graph.const(-3)) is graph.const(3)
    assert graph.call("sign", graph.const(-3)) is graph.minus_one
    assert graph.call("min", a, a) is a


def test_an_unknown_operation_is_an_error(graph):
    with pytest.raises(ValueError, match="gamma"):
        graph.call("gamma", graph.one)


def test_nodes_are_numbered_in_an_order_of_evaluation(graph):
    a, b = graph.input("a"), graph.input("b")
    out = graph.call("sin", a * b) + b
    order = ancestors([out])
    assert [node.index for node in order] == sorted(node.index for node in order)
    for node in order:
        assert all(arg.index < node.index for arg in node.args)
    assert operation_count([out]) == 3


def test_substitution_rebuilds_only_what_changes(graph):
    a, b = graph.input("a"), graph.input("b")
    still, moved = graph.call("sin", a), a * b
    assert substitute([still, moved, moved + still], {b: graph.const(2)}) == [still, a * 2, a * 2 + still]
    assert substitute([moved], {b: graph.zero})[0].is_zero


def test_a_fingerprint_knows_neither_names_nor_strangers():
    def built(first, second, strangers):
        graph = Graph()
        for k in range(strangers):
            graph.input(f"z{k}") * 7
        a, b = graph.input(first), graph.input(second)
        return [graph.call("sin", a * b) / 3 + b], [a, b]

    assert fingerprint(*built("a", "b", 0)) == fingerprint(*built("x", "y", 5))
    outputs, inputs = built("a", "b", 0)
    assert fingerprint(outputs, inputs[::-1]) != fingerprint(outputs, inputs)
    assert fingerprint([outputs[0] * 2], inputs) != fingerprint(outputs, inputs)


def test_a_deep_expression_needs_no_deep_stack():
    graph = Graph()
    out = graph.input("a")
    for _ in range(20_000):
        out = graph.call("sin", out)
    assert operation_count([out]) == 20_000


def test_every_way_to_write_it_is_one_node(graph):
    a, b = graph.input("a"), graph.input("b")
    two, third = graph.const(2), graph.const(Fraction(1, 3))
    assert -a + b is b - a
    assert -a - b is -(a + b)
    assert a - (-b) is a + b
    assert graph.zero - a is -a
    assert -(a * 2) is a * -2
    assert (-a) * 2 is a * -2
    assert (a * -1) is -a
    assert (two * a) * b is two * (a * b)
    assert a * (two * b) is two * (a * b)
    assert (two * a) * (third * b) is graph.const(Fraction(2, 3)) * (a * b)
    assert third * (two * a) is graph.const(Fraction(2, 3)) * a
    assert graph.const(Fraction(1, 2)) * (two * a) is a
    assert two * -(a * b) is graph.const(-2) * (a * b)
    assert a / -b is -(a / b)
    assert a / third is a * 3
    assert graph.zero / a is graph.zero
    assert (graph.one / graph.zero).op == "div"
    assert a**-1 is graph.one / a
    assert (a * a) * a is not a**2
    assert graph.sum([a, b, graph.zero]) is a + b
    assert graph.dot([a, graph.zero, two], [b, a, two]) is a * b + 4
    assert (a**2) * 2 is (two * a) * a


def test_functions_of_nothing_and_one_are_known(graph):
    for op in ("sin", "tan", "asin", "atan", "sinh", "tanh", "abs", "sqrt", "sign"):
        assert graph.call(op, graph.zero) is graph.zero
    for op in ("exp", "cos", "cosh"):
        assert graph.call(op, graph.zero) is graph.one
    for op in ("sqrt", "abs", "sign"):
        assert graph.call(op, graph.one) is graph.one
    assert graph.call("log", graph.one) is graph.zero
    assert graph.call("acos", graph.zero).op == "acos"
    a, b = graph.input("a"), graph.input("b")
    for op in ("cosh", "abs"):
        assert graph.call(op, -a) is graph.call(op, a)
    assert graph.call("exp", -a) is not graph.call("exp", a)
    assert graph.call("max", a, a) is a
    assert graph.call("atan2", a, a).op == "atan2"
    for op in ("add", "sub", "mul", "div"):
        assert graph.call(op, a, b) is getattr(graph, op)(a, b)
    assert graph.call("neg", a) is -a
    assert graph.call("select", a, b, b) is b
    with pytest.raises(ValueError, match="no operation 'sin' with 2 operands"):
        graph.call("sin", a, b)
    with pytest.raises(ValueError, match="no operation 'atan2' with 1 operands"):
        graph.call("atan2", a)


@pytest.mark.parametrize("long", [False, True])
def test_fractions_are_folded_up_to_their_bits(graph, long):
    """2^k over 1 has k + 2 bits: numerator and denominator together."""
    half = 2 ** (MOST_BITS - 2 - 10 + long)
    a, big = graph.input("a"), graph.const(half)
    assert (graph.mul(big, graph.const(2**10)).op == "const") != long
    assert ((big * 2**9) + (big * 2**9)).op == ("add" if long else "const")
    assert ((graph.const(3 * half * 2**9) - graph.const(half * 2**9)).op == "const") != long
    product = graph.const(2**10) * (big * a)
    assert (product.args[1] is a) != long
    assert ((graph.const(2 ** (MOST_BITS // 8 - 2 + long)) ** 8).op == "const") != long


def test_powers_of_powers_stay_apart_beyond_their_exponent(graph):
    a = graph.input("a")
    assert (a ** (MOST_EXPONENT // 2)) ** 2 is a**MOST_EXPONENT
    assert ((a ** (MOST_EXPONENT // 2)) ** 3).args[0] is a ** (MOST_EXPONENT // 2)
    assert graph.call("sqrt", a) ** 3 is not a**3
    assert graph.call("sqrt", a) ** 2 is a
