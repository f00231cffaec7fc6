"""The parts of a run that is carried across singular states: where it is cut, continued and joined again."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import holdfast as hf
from holdfast.engine.run.dense import hermite
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.results.runs.crossing import Crossing, _best_pair, _Continued, _first_dip, _joined, _read_closely
from tests.results.test_passages import parallelogram


@cache
def linkage():
    return hf.derive(parallelogram("allow"))


@cache
def angle():
    """The angle by its one equation, at any time up to 10."""
    rates = lambda _, state: [state[1], -9.81 * 1.5 * np.cos(state[0])]  # noqa: E731
    return solve_ivp(rates, (0, 10), [1, 4], method="DOP853", rtol=1e-12, atol=1e-12, dense_output=True).sol


@cache
def adaptive_run():
    return hf.simulate(linkage(), hf.DOP853, tolerance=1e-10, duration=10, every=1)


def rows_of(times, *, dense=False, evaluations=1, pivots=(1.0,), **more):
    """Rows of the motion x = t², y = t³, with one observable."""
    times = np.array(times, float)
    states, rates = np.stack([times**2, times**3], axis=1), np.stack([2 * times, 3 * times**2], axis=1)
    between = hermite(times, states, rates) if dense else None
    return Rows(
        times, states, times[:, None] + 10, np.array(pivots), Status.completed, len(times), evaluations,
        dense=between, **more,
    )  # fmt: skip


def test_each_row_of_a_run_in_pieces_is_there_once():
    pieces = [
        rows_of([0, 1]),
        rows_of([1, 2, 3]),
        rows_of([3.5, 4], evaluations=0, pivots=()),
        rows_of([]),
        rows_of([4, 5]),
    ]
    whole = _joined(pieces)
    wanted = np.array([0, 1, 2, 3, 3.5, 4, 5])
    assert_array_equal(whole.times, wanted)
    assert_array_equal(whole.states[:, 0], wanted**2)
    assert_array_equal(whole.observables[:, 0], wanted + 10)
    assert whole.steps == 2 + 3 + 2 + 0 + 2
    assert whole.evaluations == 4
    assert whole.dense is None


def test_a_run_in_pieces_ends_as_its_last_piece_does():
    last = replace(rows_of([1, 2], rejected=3, pivots=()), status=Status.event, event=1)
    whole = _joined([rows_of([0, 1], rejected=2, pivots=(0.5,)), last])
    assert (whole.status, whole.event, whole.rejected) == (Status.event, 1, 5)
    assert_array_equal(whole.pivots, [0.5])  # the last that are known


def test_what_lies_between_rows_of_pieces_is_one_interpolant():
    pieces = [rows_of([0, 0.5, 1], dense=True), rows_of([1.2, 1.4], evaluations=0), rows_of([1.4, 2, 3], dense=True)]
    whole = _joined(pieces).dense
    assert_array_equal(whole.times, [0, 0.5, 1, 1.2, 1.4, 2, 3])
    assert len(whole.states) == len(whole.times) == len(whole.coefficients) + 1
    assert_allclose(whole.states[:, 1], whole.times**3, rtol=1e-14)
    outside = np.array([0.1, 0.9, 1.0, 1.4, 1.7, 2.9, 3.0])
    assert_allclose(whole(outside), np.stack([outside**2, outside**3], axis=1), rtol=1e-12)
    assert_allclose(whole(np.array([1.1, 1.3]))[:, 0], [1.21, 1.69], atol=0.03)  # the gap has its own slopes


def test_interpolants_of_fewer_terms_stand_beside_longer_ones():
    short = rows_of([0, 1], dense=True)
    long = rows_of([1, 2], dense=True)
    longer = replace(long.dense, coefficients=np.pad(long.dense.coefficients, ((0, 0), (0, 4), (0, 0))))
    whole = _joined([short, replace(long, dense=longer)]).dense
    assert whole.coefficients.shape == (2, 7, 2)
    assert_allclose(whole(np.array([0.3, 1.6]))[:, 1], [0.027, 4.096], rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "fresh", "cut"),
    [
        ([5, 4, 3, 2], False, None),
        ([5, 4, 3, 0.5, 0.1, 3], False, 2),  # the last row before it
        ([5, 1, 0.5], False, 1),  # the edge itself is not below
        ([0.5, 0.1, 3], False, 0),
        ([0.5, 0.1, 3, 4], True, None),  # what has just been crossed is left to rise
        ([0.5, 0.1, 3, 0.2], True, 2),
        ([0.5, 0.4, 0.1], True, None),  # it has not risen yet
    ],
)
def test_a_run_is_cut_before_the_first_dip(sizes, fresh, cut):
    assert _first_dip(np.array(sizes, float), 1.0, fresh) == cut


def test_an_adaptive_run_is_looked_at_between_its_rows():
    times, states = _read_closely(rows_of([0, 1, 3], dense=True))
    assert_allclose(times, [*np.arange(8) / 8, *(1 + np.arange(8) / 4), 3])
    assert_allclose(states[:, 1], times**3, atol=1e-12)
    plain = rows_of([0, 1, 3])
    assert _read_closely(plain)[0] is plain.times


def test_an_event_within_the_last_step_ends_what_is_looked_at():
    rows = rows_of([0, 1, 2], dense=True)
    times, _ = _read_closely(replace(rows, times=np.array([0, 1, 1.5])))
    assert times[-1] == 1.5


@pytest.mark.parametrize("shift", [0, 1e3])
@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_positions_are_continued_with_their_rates(unit, shift):
    """A motion that is a polynomial is continued as it is; a state beside the positions is too."""
    t = np.linspace(0, 1, 41)
    at = lambda t: np.stack([t**3 - t, 2 - t**2, 3 * t**2 - 1, -2 * t, 5 + t**2], axis=1)  # noqa: E731
    rates = np.array([1, 1, unit, unit, 1])
    for degree in (3, 7):
        path = _Continued.of(t / unit + shift / unit, at(t) * rates, 2, (1 + shift) / unit, 0.5 / unit, degree)
        later = np.array([1.0, 1.1, 1.2])
        assert_allclose(path(later / unit + shift / unit), at(later) * rates, rtol=1e-7, atol=1e-7 * unit)


def test_few_rows_are_continued_by_what_they_determine():
    t = np.array([0.0, 1.0, 2.0])
    at = lambda t: np.stack([t**2, 2 * t], axis=1)  # noqa: E731
    path = _Continued.of(t, at(t), 1, 2.0, 0.01, 9)  # a span within the last step
    assert_allclose(path(np.array([2.2])), at(np.array([2.2])), rtol=1e-9)


def test_the_pair_of_polynomials_that_agrees_best_is_taken():
    """Noise in the last digits favours a long span and a low degree; a curved path the opposite."""
    t = np.linspace(0, 1, 201)
    noise = 1e-4 * np.random.default_rng(0).normal(size=(201, 2))
    smooth = np.stack([np.sin(t), np.cos(t)], axis=1)
    one, _ = _best_pair(t, smooth + noise, 1, 1.0, 0.1)
    assert abs(one(np.array([1.1]))[0, 0] - np.sin(1.1)) < 1e-3
    curved = np.stack([np.sin(30 * t), 30 * np.cos(30 * t)], axis=1)
    one, other = _best_pair(t, curved, 1, 1.0, 0.05)
    assert abs(one(np.array([1.05]))[0, 0] - np.sin(31.5)) < 1e-3
    assert len(one.coefficients) > len(other.coefficients)


@pytest.mark.parametrize("sizes", [[3.0, 3.0, 3.0], [1.0, 2.0, 3.0]])
def test_where_the_strength_does_not_fall_there_is_no_gap(sizes):
    """And none where there are too few rows to say so."""
    strength = SimpleNamespace(jacobians=lambda times, states: None, of=lambda jacobians, scale: np.array(sizes))
    crossing = Crossing(None, None, None)
    assert crossing._gap([rows_of([0, 1, 2, 3])], strength, None, 1.0, 9.0) is None
    assert crossing._gap([rows_of([0, 1, 2])], strength, None, 1.0, 9.0) is None


def test_states_between_rows_are_the_motion_all_along():
    run = adaptive_run()
    times = np.linspace(0, 10, 2001)
    assert_allclose(np.asarray(run.interpolant(times))[0], angle()(times)[0], atol=1e-5)


def test_only_the_gaps_are_not_run():
    """Every step of the run is counted, and its rows are as many, but for those that bridge the gaps."""
    run = adaptive_run()
    assert run.against == ()
    assert run.steps < len(run.times) < 1.5 * run.steps
    assert (np.diff(run.times) < 0.1).all()


@pytest.mark.parametrize("whole", [64, 73, 85, 102, 128, 170])
def test_a_gap_may_begin_wherever_a_piece_ends(whole):
    """Pieces of these steps end at, just before and just behind the edge of the first gap, at t = 0.511."""
    run = hf.simulate(linkage(), hf.RK4, step=0.001, duration=whole * 16 / 1000, every=1)
    assert run.success
    assert run.steps == whole * 16
    assert_allclose(run.times, np.arange(whole * 16 + 1) / 1000, atol=1e-12)
    assert_allclose(run["a"], angle()(run.times)[0], atol=1e-6)


@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize("steps", [512, 516, 520])
def test_a_run_of_fixed_steps_may_end_within_a_gap(steps, every):
    run = hf.simulate(linkage(), hf.RK4, step=0.001, duration=steps / 1000, every=every)
    assert run.success
    assert run.steps == steps
    assert_allclose(run.times, np.arange(0, steps + 1, every) / 1000, atol=1e-12)
    assert_allclose(run["a"], angle()(run.times)[0], atol=1e-6)


@pytest.mark.parametrize("duration", [0.512, 0.516, 0.52])
def test_an_adaptive_run_may_end_within_a_gap(duration):
    run = hf.simulate(linkage(), hf.DOP853, tolerance=1e-10, duration=duration, every=1)
    assert run.success
    assert run.times[-1] == pytest.approx(duration, rel=1e-12)
    assert_allclose(run["a"], angle()(run.times)[0], atol=1e-6)
    assert_allclose(np.asarray(run.interpolant(np.array([duration])))[0], angle()(duration)[0], atol=1e-6)
