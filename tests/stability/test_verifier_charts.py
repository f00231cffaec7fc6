"""Charts of the verifier: no state near the program is lost, a bent program costs nothing, and boxes are cut where it
helps."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from holdfast.stability.verifier.numbers.dag import Dag
from holdfast.stability.verifier.numbers.forms import space
from holdfast.stability.verifier.steps.cells import Cutter, Limit
from holdfast.stability.verifier.steps.charts import ChartCells, ChartCutter
from holdfast.stability.verifier.steps.probe import middle_one, probed


def circle(dag, radius=1.0):
    """x² + y² − r², and its rate: a program that bends, of four variables."""
    x, y, u, v = (dag.input(name) for name in "xyuv")
    first = dag.sub(dag.add(dag.power(x, 2), dag.power(y, 2)), dag.const(Fraction(radius) ** 2))
    return [first, dag.add(dag.mul(x, u), dag.mul(y, v))]


def drawn(size, thin, *, turn=0.7, speed=1.3, radius=1.0, cutter=ChartCutter):
    """The cell of a box about a state of the circle, whose deviations are at most so large."""
    dag = Dag()
    limits = [Limit(node, -thin * radius**2, thin * radius**2, across=True) for node in circle(dag, radius)]
    centre = np.array([np.cos(turn), np.sin(turn), -speed * np.sin(turn), speed * np.cos(turn)]) * radius
    ends = centre - size * radius, centre + size * radius
    made = ChartCutter(dag, list("xyuv"), limits) if cutter is ChartCutter else Cutter(list("xyuv"), limits)
    alive, cells = made.cells(ends[0][None], ends[1][None])
    assert alive.tolist() == [0]
    return cells, limits, ends


def states(rng, ends, limits, count, radius=1.0):
    """States of the box near the circle."""
    scale, found = radius**2, []
    while len(found) < count:
        x, u = rng.uniform(ends[0][0], ends[1][0]), rng.uniform(ends[0][2], ends[1][2])
        a, b = rng.uniform(limits[0].low, limits[0].high), rng.uniform(limits[1].low, limits[1].high)
        y = np.sqrt(max(0.0, a + scale - x * x))
        state = np.array([x, y, u, (b - x * u) / y if y else np.inf])
        if (ends[0] <= state).all() and (state <= ends[1]).all():
            found.append((state, (a, b)))
    return found


def misses(cells, values, state, deviations):
    """By how much of its remainder each variable that follows misses its polynomial, where the free ones are met."""
    held = cells.rest.shape[1]
    e = [(d - m) / r for d, (m, r) in zip(deviations, cells.targets[0], strict=True)]
    for k, own in enumerate(cells.free[0]):
        e.append((state[own] - cells.centre[0, own]) / cells.basis[0, own, held + k])
    assert np.abs(e).max() <= 1 + 1e-9
    found = []
    for j in cells.rest[0]:
        form = values[cells.variables[j]]
        powers = np.array([np.prod([a**k for a, k in zip(e, term, strict=True)]) for term in form.space.exponents])
        found.append(abs(state[j] - form.c[0, :, 0] @ powers) / form.r[0, 0])
    return found


@pytest.mark.parametrize("radius", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("order", [1, 2, 4])
@pytest.mark.parametrize(("size", "thin"), [(0.2, 1e-3), (0.05, 1e-8), (0.1, 0.02)])
def test_every_state_of_the_box_near_the_program_is_in_the_chart(size, thin, order, radius):
    cells, limits, ends = drawn(size, thin, radius=radius)
    assert isinstance(cells, ChartCells)
    values = cells.values(space((1,) * 4, order, 1))
    assert all(np.isfinite(form.r).all() for form in values.values())
    rng = np.random.default_rng(3)
    for state, deviations in states(rng, ends, limits, 200, radius):
        assert max(misses(cells, values, state, deviations)) <= 1


def test_a_chart_is_as_thin_as_its_program_where_a_straight_cell_holds_the_bend():
    size, thin = 0.1, 1e-6
    chart, *_ = drawn(size, thin)
    straight, *_ = drawn(size, thin, cutter=Cutter)
    assert np.abs(straight.basis[:, :, : straight.across]).max() > 0.01 * size  # across it
    assert np.abs(chart.basis[:, :, : chart.across]).max() < 1e-3 * size
    left = max(form.r.max() for form in chart.values(space(chart.weights(), 4, 1)).values())
    assert left < 1e-3 * size


def test_a_higher_degree_leaves_less():
    cells, *_ = drawn(0.2, 1e-6)
    left = [max(f.r.max() for f in cells.values(space((1,) * 4, order, 1)).values()) for order in (1, 2, 3, 4)]
    assert all(b < a / 2 for a, b in pairwise(left))


def test_where_the_program_turns_back_within_the_box_nothing_is_known():
    """At the top of the circle with y free to be above and below, x says nothing of y: no chart, so no bound."""
    dag = Dag()
    x, y = dag.input("x"), dag.input("y")
    fold = dag.sub(x, dag.power(y, 2))
    cutter = ChartCutter(dag, ["x", "y"], [Limit(fold, -1e-4, 1e-4, across=True)])
    _, cells = cutter.cells(np.array([[-0.1, -0.3]]), np.array([[1e-3, 0.3]]))
    values = cells.values(space(cells.weights(), 3, 1))
    for y_at in np.linspace(-0.03, 0.03, 7):  # x = y²: held by the box, by the chart, or by nothing at all
        reach = np.abs(values["y"].c[0, 1:, 0]).sum() + values["y"].r[0, 0]
        assert not abs(y_at - values["y"].c[0, 0, 0]) > reach


def test_a_variable_that_hardly_changes_has_no_direction_and_is_not_lost():
    dag = Dag()
    x, y, n = dag.input("x"), dag.input("y"), dag.input("n")
    bent = dag.sub(y, dag.mul(n, dag.power(x, 2)))
    cutter = ChartCutter(dag, ["x", "y", "n"], [Limit(bent, -1e-9, 1e-9, across=True)])
    low, high = np.array([[0.9, 1.5, 2 - 1e-9]]), np.array([[1.1, 2.5, 2 + 1e-9]])
    _, cells = cutter.cells(low, high)
    assert cells.basis.shape[2] == 2
    values = cells.values(space(cells.weights(), 3, 1))
    assert values["n"].c[0, 1:, 0].any() == np.False_
    assert 1e-9 <= values["n"].r[0, 0] < 1.1e-9
    form = values["y"]
    for at in np.linspace(0.9, 1.1, 9):
        for number in (2 - 1e-9, 2 + 1e-9):
            u = (at - cells.centre[0, 0]) / cells.basis[0, 0, 1]
            powers = np.array([0.0**a * u**b for a, b in form.space.exponents])
            assert abs(number * at**2 - form.c[0, :, 0] @ powers) <= form.r[0, 0]


def test_the_probe_names_the_variable_that_matters():
    def bounds(low, high):
        wide = high - low
        return np.where(wide[:, 1] > 0.05, np.inf, wide[:, 1] ** 2 + 1e-3 * wide[:, 0])

    low, high = np.zeros(3), np.ones(3)
    gained = probed(bounds, low, high, np.inf)
    assert gained.argmax() == 1
    assert (gained[[0, 2]] == 0).all()
    high = np.array([1.0, 0.04, 1.0])
    gained = probed(bounds, low, high, float(bounds(low[None], high[None])[0]))
    assert gained[0] > 0 < gained[1]
    assert gained[2] == 0


def test_the_probe_says_nothing_where_nothing_helps():
    assert not probed(lambda low, high: np.full(len(low), np.inf), np.zeros(2), np.ones(2), np.inf).any()


def test_the_cell_that_is_looked_at_is_the_middle_one():
    assert middle_one(np.array([0, 2, 3]), np.array([9.0, 0.0, 5.0, np.inf])) == 0
