"""What is told of singular states along given rows: met or bridged, on which branch, and where nothing can be told."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.results.judgement.passages import (
    Strength,
    branch_found,
    crossed_found,
    passages,
    singular_end,
    usual_size,
)
from tests.results.test_passages import LAW, parallelogram


@cache
def linkage(redundant=None):
    return hf.derive(parallelogram(redundant))


def folded(a):
    """The other branch, on which the bars cross: b and c at each a, by |C − D| = 3 with D = (3, 0)."""
    a = np.asarray(a, float)
    c = -a + 2 * np.arctan2(0, 1)  # the mirror image to begin with
    for _ in range(60):
        end = np.stack([3 + np.cos(c) - np.cos(a), np.sin(c) - np.sin(a)])
        off = (end**2).sum(axis=0) - 9
        slope = 2 * (end[0] * -np.sin(c) + end[1] * np.cos(c))
        c = c - np.where(np.abs(slope) > 1e-12, off / np.where(slope == 0, 1, slope), 0)
    end = np.stack([3 + np.cos(c) - np.cos(a), np.sin(c) - np.sin(a)])
    return np.arctan2(end[1], end[0]), c


def states(a, crossed=False):
    a = np.asarray(a, float)
    b, c = folded(a) if crossed else (0 * a, a)
    ahead, back = (folded(a + off) if crossed else (0 * a, a + off) for off in (1e-6, -1e-6))
    rates = [(later - former) / 2e-6 for later, former in zip(ahead, back, strict=True)]
    return np.stack([a, b, c, 1 + 0 * a, *rates], axis=1)


def seen(a, rows=None, equations=None):
    a = np.asarray(a, float)
    return passages(equations or linkage(), np.arange(len(a)) * 0.1, states(a) if rows is None else rows, [])


def test_four_rows_around_a_state_are_enough_to_see_it():
    (met,) = seen([-0.4, -0.2, 0.2, 0.4])
    assert met.time == pytest.approx(0.1)  # the row before it
    assert met.row == 1
    assert not met.changed
    assert "cx" in met.constraints
    assert met.place.replace("-0,", "0,") == "a = -0.2, b = 0, c = -0.2"


def test_three_rows_are_not():
    assert seen([-0.4, -0.2, 0.2]) == []


def test_a_state_at_the_first_or_last_row_is_not_passed():
    assert seen([0.2, 0.4, 0.6, 0.8, 1.0]) == []
    assert seen([-0.2, 0.2, 0.4, 0.6, 0.8]) == []  # no row before from which it would turn


def test_a_state_that_a_row_meets_is_told_at_that_row():
    met = seen([-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6])
    assert [one.row for one in met] == [3]
    assert met[0].turn < 0.2


def test_each_state_is_told_in_order():
    times = [one.time for one in seen(np.linspace(-0.5, 7, 200))]
    assert_allclose(
        times, [np.interp(k * np.pi, np.linspace(-0.5, 7, 200), np.arange(200) * 0.1) for k in range(3)], atol=0.11
    )


def test_of_many_rows_some_are_looked_at():
    (met,) = seen(np.linspace(-1, 1.2, 9001))
    assert met.row == pytest.approx(1 / 2.2 * 9000, abs=10)  # the number among all rows


def test_another_branch_is_told_by_the_jump_of_what_is_free():
    a = np.concatenate([np.linspace(-0.6, -0.05, 12), np.linspace(0.05, 0.6, 12)])
    rows = np.concatenate([states(a[:12]), states(a[12:], crossed=True)])
    equations = linkage()
    assert np.abs(equations.evaluate(rows[15]).deviation).max() < 1e-9
    (met,) = passages(equations, np.arange(24) * 0.1, rows, [])
    assert met.changed
    found = branch_found(equations, np.arange(24) * 0.1, rows, [])
    assert (found.name, found.failing, found.time) == ("branch_changed", True, met.time)
    assert f"jump by {np.degrees(met.turn):.0f}°" in found.text
    assert crossed_found(equations, np.arange(24) * 0.1, rows, []) is None


def test_what_is_crossed_is_told_and_is_no_failure():
    found = crossed_found(linkage("allow"), np.arange(8) * 0.1, states(np.linspace(-0.7, 0.7, 8)), [])
    assert (found.name, found.failing) == ("crossed", False)
    assert found.quantity == "cx"
    assert "later times" not in found.text
    assert branch_found(linkage("allow"), np.arange(8) * 0.1, states(np.linspace(-0.7, 0.7, 8)), []) is None
    twice = crossed_found(linkage("allow"), np.arange(60) * 0.1, states(np.linspace(-0.5, 3.7, 60)), [])
    assert "and at 1 later times," in twice.text


def test_where_nothing_is_met_nothing_is_told():
    rows = states(np.linspace(0.5, 1, 20))
    assert crossed_found(linkage(), np.arange(20) * 0.1, rows, []) is None
    assert branch_found(linkage(), np.arange(20) * 0.1, rows, []) is None


def test_a_motion_that_mostly_stands_in_a_singular_state_has_no_usual_strength():
    """On the cross xy = 0 that state is where the lines meet: what is told in parts of nothing is not told."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    cross = hf.derive(hf.Problem(system, hf.Program(holonomic={"lines": x * y, "flat": z}, law=LAW), start={y: 1}))
    along = np.array([-0.6, -0.4, -0.2, 0.2, 0.4, 0.6])
    for rest, told in ((0, 1), (40, 0)):
        rows = np.zeros((rest + 6, 6))
        rows[rest:, 1] = along
        assert len(passages(cross, np.arange(len(rows)) * 0.1, rows, [])) == told


def test_rows_that_are_not_numbers_say_nothing():
    rows = states(np.linspace(-0.7, 0.7, 8))
    rows[3, 0] = np.nan
    assert seen(np.zeros(8), rows) == []


def test_a_median_over_time_does_not_count_rows():
    times = np.array([0.0, 1, 2, 2.001, 2.002, 2.003, 2.004, 2.005, 3, 4])
    sizes = np.array([5.0, 5, 5, 0.1, 0.1, 0.1, 0.1, 0.1, 5, 5])
    assert usual_size(times, sizes) > 4


@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_strength_is_measured_in_usual_units(unit):
    """Two lines at an angle of 30°: the least singular value of their directions, whatever their units and masses."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=unit * (x.rate**2 + y.rate**2 + z.rate**2) / 2)
    held = {"one": unit * x, "other": (np.sqrt(3) / 2 * x + y / 2) / unit}
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic=held, law=LAW)))
    strength, times = Strength(equations, []), np.arange(3.0)
    slopes = strength.jacobians(times, np.zeros((3, 6)))
    scale = strength.scale(times, slopes)
    assert strength.rank == 2
    assert_allclose(scale, np.array([unit, 1 / unit]) / np.sqrt(unit), rtol=1e-12)
    assert_allclose(strength.of(slopes, scale), np.sqrt(1 - np.cos(np.pi / 6)), rtol=1e-12)


def broken_off(a):
    rows = states(a)
    return Rows(np.arange(len(a)) * 0.1, rows, rows[:, :0], np.ones(1), Status.rank_lost, len(a), 1)


def test_a_run_that_breaks_off_beside_a_singular_state_is_told_why():
    found = singular_end(linkage(), broken_off([1, 0.5, 0.2, 0.01]), [])
    assert (found.name, found.failing, found.quantity) == ("singular", True, "cx")
    assert found.time == pytest.approx(0.3)
    assert 'redundant = "allow"' in found.text
    assert "redundant" not in singular_end(linkage("allow"), broken_off([1, 0.5, 0.2, 0.01]), []).text


def test_a_run_that_breaks_off_elsewhere_is_not():
    assert singular_end(linkage(), broken_off([1, 0.5, 0.2, 0.1]), []) is None
    assert singular_end(linkage(), broken_off([0.01]), []) is None
