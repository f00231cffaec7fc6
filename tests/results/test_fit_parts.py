"""Parts of fits, slopes of starts and finer runs: what each is, in numbers."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.results.fitting.identifiability import WEAK, determined, weak
from holdfast.results.fitting.least_squares import LeastSquares
from holdfast.results.runs.accuracy.state_error import TIGHTER, finer
from holdfast.results.runs.request import SMALLEST_TOLERANCE, Request
from holdfast.results.sensitivity.least_change import least_change

# What data determine.


def test_the_covariance_is_the_inverse_of_the_normal_matrix():
    J = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
    found = determined(J, ("a", "b"), np.array([1.0, 2.0]), 10.0)
    assert_allclose(found.covariance, np.linalg.inv(J.T @ J), rtol=1e-12)
    assert (found.rank, found.open) == (2, ())


def test_a_combination_that_is_open_is_told_by_its_moves():
    J = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0]])
    found = determined(J, ("a", "b", "c"), np.array([4.0, 1.0, 1.0]), 1.0)
    assert found.rank == 2
    assert found.open == ("the data do not determine a, b apart: a -0.5 %, b +1 % together leave them as they are",)
    assert np.isinf(found.covariance[0, 0])
    assert np.isinf(found.covariance[1, 2])
    assert found.covariance[2, 2] == pytest.approx(5.0, rel=1e-6)


@pytest.mark.parametrize(("slope", "rank"), [(0.5e-11, 1), (2e-11, 2)])
def test_what_moves_the_data_by_a_rounding_of_them_is_idle(slope, rank):
    found = determined(np.array([[1.0, 0.0], [0.0, slope]]), ("a", "b"), np.array([1.0, 1.0]), 1.0)
    assert found.rank == rank
    assert (found.open == ("the data say nothing of b",)) is (rank == 1)


def test_fewer_data_than_unknowns_leave_some_open():
    found = determined(np.array([[1.0, 1.0]]), ("a", "b"), np.array([1.0, 1.0]), 1.0)
    assert found.rank == 1
    assert len(found.singular_values) == 2
    assert np.isinf(found.covariance).all()


@pytest.mark.parametrize(("share", "told"), [(1.0, False), (1.01, True)])
def test_half_of_its_value_is_known_badly(share, told):
    said = weak(np.eye(2), ("a", "b"), np.array([-4.0, 1.0]), np.array([share * WEAK * 4, 0.1]))
    assert (said != ()) is told
    if told:
        assert said == ("a is known to 50 % only",)


def test_what_is_known_worse_than_to_itself_is_not_told_from_0():
    assert weak(np.eye(1), ("a",), np.array([-4.0]), np.array([5.0])) == ("a is not told from 0: -4 ± 5",)
    assert weak(np.eye(1), ("a",), np.array([-4.0]), np.array([4.0])) == ("a is known to 1e+02 % only",)


def test_what_is_0_or_not_determined_is_not_called_weak():
    assert weak(np.eye(2), ("a", "b"), np.array([0.0, 1.0]), np.array([9.0, np.inf])) == ()


def test_unknowns_that_are_hardly_told_apart_are_named_together():
    J = np.array([[1.0, 1.0, 0.0], [0.0, 1e-3, 0.0], [0.0, 0.0, 1.0]])
    said = weak(J, ("a", "b", "c"), np.ones(3), np.array([1.0, 1.0, 0.1]))
    assert said[2] == "the data hardly tell a, b apart: a -1 %, b +1 % together change them least" or (
        said[2] == "the data hardly tell a, b apart: a +1 %, b -1 % together change them least"
    )


def search(columns, rows):
    """Least squares of columns that a run is said to meet with these rows, whatever the values."""
    data = SimpleNamespace(columns={name: np.array(column) for name, column in columns.items()})
    return LeastSquares(lambda values: (np.array(rows), None), data, (np.zeros(0), np.zeros(0)), 1)


@pytest.mark.parametrize(
    ("column", "run", "size"),
    [
        ([1.0, 3.0, np.nan], [1.0, 3.0, 9.0], 1.0),  # its spread
        ([1.0, 3.0], [5.0, 7.0], 4.0),  # what the run misses it by, if that is more
        ([5.0, 5.0], [5.0, 5.0], 5.0),  # without a spread, its size
        ([-5.0, -5.0], [-5.0, -5.0], 5.0),
        ([0.0, 0.0], [0.0, 0.0], 1.0),
    ],
)
def test_a_column_is_first_weighed_by_its_spread_or_its_size(column, run, size):
    found = search({"x": column}, np.array(run)[:, None])
    assert found._size("x", np.zeros(1)) == pytest.approx(size, rel=1e-12)


def test_a_column_of_too_few_values_is_weighed_by_its_size():
    found = search({"x": [4.0, 6.0]}, np.array([[4.0], [6.0]]))
    assert found._size("x", np.zeros(1)) == pytest.approx(1)
    assert found._size("x", np.zeros(2)) == 6


def test_the_noise_of_a_column_is_that_of_its_residuals():
    """Four residuals of 0.3 and two unknowns leave half of the freedom; two columns share it by all values."""
    alone = search({"x": [0.3, -0.3, 0.3, -0.3]}, np.zeros((4, 1)))
    assert alone._noise(np.zeros(2), {"x": 1.0})["x"] == pytest.approx(0.3 * np.sqrt(2))
    met = search({"x": [5.0, 6.0, 7.0, 8.0]}, np.array([[5.0], [6.0], [7.0], [8.0]]))
    assert met._noise(np.zeros(2), {"x": 1.0})["x"] == pytest.approx(8e-10)  # rounding of the data
    both = search({"x": [0.3, -0.3, 0.3, -0.3], "y": [50.0, np.nan, np.nan, np.nan]}, np.array([[0.0, 50.0]] * 4))
    noise = both._noise(np.zeros(2), {"x": 1.0, "y": 10.0})
    share = 1 - 2 / 5
    assert noise["x"] == pytest.approx(0.3 / np.sqrt(share))
    assert noise["y"] == pytest.approx(10 * 0.3 * np.sqrt(4 / 5) / np.sqrt(share))  # one value: that of all


# One step onto constraints, and its slopes.


def circle(at, radius):
    """y = (q·q − r²)/2 and its row at a position."""
    return np.array([(at @ at - radius**2) / 2]), at[None, :]


@pytest.mark.parametrize("by_mass", [True, False])
def test_the_least_change_is_that_of_the_masses(by_mass):
    at, mass = np.array([3.0, 4.0]), np.diag([1.0, 5.0])
    y, rows = circle(at, 4.8)
    step, _ = least_change(y, rows, mass, np.zeros((0, 1)), np.zeros((0, 1, 2)), np.zeros((0, 2, 2)), by_mass)
    weights = np.linalg.inv(mass) if by_mass else np.eye(2)
    assert_allclose(step, -weights @ rows[0] * y[0] / (rows[0] @ weights @ rows[0]), rtol=1e-12)


@pytest.mark.parametrize("by_mass", [True, False])
def test_its_slopes_are_those_of_differences(by_mass):
    """By a direction that changes y, J and M together, against central differences."""
    base, h = np.array([3.0, 4.0]), 1e-6

    def parts(s):
        y, rows = circle(base + s * np.array([0.3, -0.2]), 4.8 + 0.5 * s)
        mass = np.array([[1.0 + s, 0.2], [0.2, 5.0 - 2 * s]])
        return y, rows, mass

    def step(s):
        empty = np.zeros((0, 1)), np.zeros((0, 1, 2)), np.zeros((0, 2, 2))
        return least_change(*parts(s), *empty, by_mass)[0]

    changes = [(a - b)[None] / (2 * h) for a, b in zip(parts(h), parts(-h), strict=True)]
    _, found = least_change(*parts(0.0), *changes, by_mass)
    assert_allclose(found[0], (step(h) - step(-h)) / (2 * h), rtol=1e-6)


def test_rows_of_nothing_and_masses_of_nothing_take_no_part():
    y, rows = np.array([0.5, 0.0]), np.array([[1.0, 0.0], [0.0, 0.0]])
    none = np.zeros((1, 2)), np.zeros((1, 2, 2)), np.ones((1, 2, 2))
    step, slopes = least_change(y, rows, np.diag([1.0, 0.0]), *none, True)  # no Cholesky: by plain length
    assert_allclose(step, [-0.5, 0])
    assert_allclose(slopes, 0)


# Finer runs.


def request(**given):
    return Request(**{"scheme": hf.RK4, "begin": 2.0, "duration": 1.0, "step": 0.1, "steps": 10, "tolerance": None,
                      "every": 5, "at": None, **given})  # fmt: skip


def test_a_finer_run_halves_the_step():
    once, twice = finer(request(), 3.0, 10), finer(request(), 3.0, 10, 2)
    assert (once.step, once.steps, once.every) == (0.05, 20, 1)
    assert (twice.step, twice.steps) == (0.025, 40)
    assert once.duration == pytest.approx(1)
    short = finer(request(), 2.4, 4)
    assert (short.steps, short.duration) == (8, pytest.approx(0.4))
    assert finer(request(), 2.0, 0) is None


def test_a_finer_run_is_held_to_a_tighter_tolerance():
    loose = request(step=None, tolerance=1e-6, longest=0.5, absolute=np.array([1e-6, 1e-3]))
    once = finer(loose, 2.5, 7)
    assert once.tolerance == pytest.approx(1e-6 / TIGHTER)
    assert_allclose(once.absolute, np.array([1e-6, 1e-3]) / TIGHTER)
    assert (once.longest, once.duration) == (0.25, 0.5)
    assert finer(loose, 2.5, 7, 2).longest == 0.125
    assert finer(request(step=None, tolerance=SMALLEST_TOLERANCE), 2.5, 7) is None
    assert finer(loose, 2.0, 7) is None  # nothing was run
