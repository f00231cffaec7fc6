"""Functions by pieces: one value in every arithmetic and target, exact slopes, nothing beyond the data."""

import math

import flint
import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from holdfast.engine.kernel import compiled
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.every import ALL_ARITHMETICS
from holdfast.graph.arithmetics.tables import bounds, one_piece
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.arithmetics.taylor import range_of
from holdfast.graph.derivatives import directional
from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph
from holdfast.graph.table import Table
from holdfast.problem.data import data
from holdfast.schemes.tableaus.euler import EULER

TIMES = np.linspace(0, 3, 16)
VALUES = np.sin(2 * TIMES) + 0.1 * TIMES**3
SPLINE = make_interp_spline(TIMES, VALUES, k=5)


def graph_of_table():
    graph = Graph()
    x = graph.input("x")
    given = data(TIMES, VALUES)
    return graph, x, graph.table(Table("f", *given.pieces()), 0, x)


def test_it_is_scipys_spline_with_all_its_derivatives():
    graph, x, node = graph_of_table()
    rows = [node]
    for _ in range(6):
        rows += directional(rows[-1:], {x: graph.one})
    assert rows[6] is graph.zero
    tape = Tape((x,), tuple(rows[:5]))
    for place in np.linspace(0, 3, 41):
        wanted = [float(SPLINE(place, nu)) for nu in range(5)]
        assert tape([place]) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ALL_ARITHMETICS)
def test_every_arithmetic_encloses_it(name):
    _, x, node = graph_of_table()
    place = 1.2345678
    with precision(200):
        number = (ball(place), ball(0)) if name == "rounded balls" else place if name == "floats" else ball(place)
        number = np.float64(place) if name == "arrays" else number
        (value,) = Tape((x,), (node,)).compiled(ALL_ARITHMETICS[name]())([number])
        (true,) = Tape((x,), (node,)).compiled(balls())([ball(place)])
        if name in ("floats", "arrays"):
            assert float(value) == pytest.approx(float(true), rel=1e-15)
        else:
            whole = value[0] + value[1] * flint.arb(0, 1) if isinstance(value, tuple) else value
            whole = whole if isinstance(whole, flint.arb) else range_of(whole)
            assert whole.overlaps(true)
            assert float(whole.rad()) < 1e-13


def test_a_box_over_several_pieces_holds_all_their_values():
    _, x, node = graph_of_table()
    with precision(128):
        (box,) = Tape((x,), (node,)).compiled(balls())([flint.arb(1.0, 0.35)])
        for place in np.linspace(0.65, 1.35, 50):
            assert box.contains(ball(float(Tape((x,), (node,))([place])[0])))
        for name in ("continuous balls", "ball series", "taylor forms"):
            with pytest.raises(Undecided):
                Tape((x,), (node,)).compiled(ALL_ARITHMETICS[name]())([flint.arb(1.0, 0.35)])


def test_beyond_the_data_there_is_no_value_but_the_last_time_has_one():
    _, x, node = graph_of_table()
    tape = Tape((x,), (node,))
    assert all(math.isnan(tape([place])[0]) for place in (-0.01, 3.01, math.nan))
    assert tape([3 + 1e-12])[0] == pytest.approx(VALUES[-1], abs=1e-9)


def test_native_code_gives_the_same_bits():
    graph, x, node = graph_of_table()
    (slope,) = directional([node], {x: graph.one})
    field = Field(graph.input("t"), (x,), (), (node * 0 + 1,), observables=(node, slope))
    native = compiled(field, EULER, target="native").run([0.0], [], step=0.125, steps=24)
    python = compiled(field, EULER, target="python").run([0.0], [], step=0.125, steps=24)
    assert np.array_equal(native.observables, python.observables)
    assert np.isfinite(native.observables).all()


def test_a_thousand_values_run():
    graph = Graph()
    t = graph.input("t")
    x = graph.input("x")
    times = np.linspace(0, 10, 1001)
    node = graph.table(Table("f", *data(times, np.sin(times)).pieces()), 0, t)
    field = Field(t, (x,), (), (node,))
    rows = compiled(field, EULER, target="native").run([0.0], [], step=1e-3, steps=1000)
    assert rows.states[-1][0] == pytest.approx(1 - math.cos(1), abs=1e-3)


@pytest.mark.parametrize("place", [0, 1, 5, -1])
def test_a_box_strictly_within_a_piece_is_decided(place):
    """In the first and in the last piece as in the others; at an end it is not, for slopes jump there."""
    _, _, node = graph_of_table()
    part = node.data
    ends = part.table.ends
    place %= len(ends) - 1
    low, high = float(ends[place]), float(ends[place + 1])
    width = high - low
    assert one_piece(part, low + 0.1 * width, high - 0.1 * width) == place
    for box in ((low, low + 0.5 * width), (low + 0.5 * width, high), (low - 0.1 * width, low + 0.1 * width)):
        with pytest.raises(Undecided):
            one_piece(part, *box)
    with pytest.raises(Undecided):
        one_piece(part, math.nan, math.nan)


def test_a_ball_lies_between_its_bounds():
    for middle, radius in ((1.0, 0.25), (-3.0, 1e-9), (0.0, 2.0), (1e9, 0.0)):
        low, high = bounds(flint.arb(middle, radius))
        assert low <= middle - radius <= middle + radius <= high
        assert high - low <= 2 * radius + 1e-14 * (abs(middle) + radius) + 1e-8 * radius
    assert all(math.isnan(end) for end in bounds(flint.arb("nan")))
