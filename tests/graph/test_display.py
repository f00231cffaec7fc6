"""How formulas are written: sizes that are predicted, factors that are taken out, and letters for what is too long."""

import pytest
import sympy as sp

from holdfast.graph import display
from holdfast.graph.display import (
    MOST_BITS,
    Display,
    common_factors_out,
    expanded_terms,
    harmonic_size,
    tree_size,
)
from holdfast.graph.nodes import Graph

a, b, c = sp.symbols("a b c", real=True)


@pytest.fixture
def graph():
    return Graph()


def inputs(graph):
    return (graph.input(name) for name in "abc")


def shown(graph):
    return Display(graph, {"a": a, "b": b, "c": c})


def test_a_tree_counts_what_is_shared_as_often_as_it_is_written(graph):
    x, y, _ = inputs(graph)
    assert tree_size(x) == 1
    assert tree_size(x + y) == 3
    once = x + y
    assert tree_size(once * once + x) in (9, 6)  # a square may be a power


def test_terms_are_counted_as_if_all_were_multiplied_out(graph):
    x, y, z = inputs(graph)
    assert expanded_terms(x) == 1
    assert expanded_terms(x + y - z) == 3
    assert expanded_terms((x + y) * (x - z)) == 4
    assert expanded_terms((x + y) / z) == 2
    assert expanded_terms((x + y) ** 5) == 32
    assert expanded_terms(-(x + y)) == 2
    assert expanded_terms(graph.call("sin", x + y)) == 2
    assert expanded_terms((x + y) ** 500) == 1e12


def test_a_harmonic_form_doubles_where_waves_meet(graph):
    x, y, z = inputs(graph)
    sine, cosine = graph.call("sin", x), graph.call("cos", y)
    assert harmonic_size(x) == 1
    assert harmonic_size(x + y) == 2
    assert harmonic_size(sine) == 2
    assert harmonic_size(sine * z) == 3
    assert harmonic_size(sine * cosine) == 8  # two terms of four parts
    assert harmonic_size(sine**3) == 4 * 6
    assert harmonic_size((x + y) * (x + z)) == 8
    assert harmonic_size((x + y) ** 3) == 24


@pytest.mark.parametrize(
    ("expanded", "written"),
    [
        (a * b + a * c, "a*(b + c)"),
        (a**2 * b + a**3 * c, "a**2*(a*c + b)"),
        (b / a**2 + c / a**3, "(b + c/a)/a**2"),
        (a * b + c / a, "a*b + c/a"),
        (-a - b, "-(a + b)"),
        (6 * a + 4 * b, "2*(3*a + 2*b)"),
        (a / 2 + b, "a/2 + b"),
        (a / 2 + 3 * b / 2, "(a + 3*b)/2"),
        (2 * a * b + 4 * a, "2*a*(b + 2)"),
        (sp.sqrt(a) * b + a * c, "sqrt(a)*(sqrt(a)*c + b)"),
        (a * b, "a*b"),
    ],
)
def test_what_all_terms_share_is_taken_out(expanded, written):
    assert str(common_factors_out(expanded)) == written
    assert sp.expand(common_factors_out(expanded) - expanded) == 0


def test_a_formula_beyond_the_room_that_is_left_is_a_letter(graph):
    """The room is for all formulas together; what is not written takes none of it."""
    x, y, z = inputs(graph)
    small, large = x * y + z, graph.call("sin", x * y + z) * x + y * z + x
    view = shown(graph)
    view._room = tree_size(small) + tree_size(x + y) + 0.5
    assert view.tidy(large) == sp.Symbol("formula_1", real=True)
    assert view.tidy(large) == sp.Symbol("formula_1", real=True)  # and stays the same one
    assert view.tidy(small) == a * b + c
    assert view.tidy(x + y) == a + b
    assert view.tidy(y + z) == sp.Symbol("formula_2", real=True)
    assert view.letters == {"formula_1": large, "formula_2": y + z}


def test_a_letter_gives_way_to_a_symbol_of_the_same_name():
    graph = Graph()
    x = graph.input("formula_1")
    view = Display(graph, {"formula_1": sp.Symbol("formula_1", real=True)})
    view._room = 0.0
    assert view.tidy(x + 1) == sp.Symbol("formula_1_", real=True)


def test_formulas_of_many_nodes_are_not_written(graph, monkeypatch):
    x, y, z = inputs(graph)
    node = x * y + z
    monkeypatch.setattr(display, "MOST_NODES", tree_size(node))
    assert shown(graph).readable(node)
    monkeypatch.setattr(display, "MOST_NODES", tree_size(node) - 1)
    assert not shown(graph).readable(node)


def test_numbers_that_nobody_would_read_are_letters(graph):
    x, _, _ = inputs(graph)
    assert shown(graph).tidy(x * graph.const(2**20)).has(2**20)
    tower = graph.call("pow", graph.const(3), graph.const(MOST_BITS))
    assert shown(graph).raw(tower).is_Symbol


def test_what_is_used_twice_gets_a_name_of_its_own(graph):
    x, y, _ = inputs(graph)
    twice = graph.call("sin", x * y)
    lines = shown(graph).statements({"first": twice + x, "second": twice * y})
    assert [(str(line.name), str(line.value)) for line in lines] == [
        ("s_1", "sin(a*b)"), ("first", "a + s_1"), ("second", "b*s_1"),
    ]  # fmt: skip


def test_two_nodes_are_the_same_only_if_their_values_are(graph):
    x, y, _ = inputs(graph)
    view = shown(graph)
    assert view.same((x + y) ** 2, x**2 + 2 * x * y + y**2)
    assert not view.same((x + y) ** 2, x**2 + 2 * x * y + y**2 + graph.const(1) / 10**30)
    assert view.agrees((a + b) ** 2, x**2 + 2 * x * y + y**2)
    nowhere = graph.call("log", -x - 1)
    assert not view.same(nowhere, nowhere + 1)
