"""Measured data as they come in, and sizes that are free of units."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from holdfast.results.fitting.least_squares import LeastSquares, _largest, _rms
from holdfast.results.fitting.measured import measured
from holdfast.results.fitting.residuals import Prediction, whole_duration
from holdfast.results.sensitivity.natural_sizes import natural_sizes

T = [2.0, 0.0, 1.0, 1.0]


def test_rows_are_put_in_the_order_of_their_times():
    """Those of one time as they came, values and standard deviations alike."""
    found = measured({"t": T, "x": [3, 1, 2, 9]}, None, {"x": [0.3, 0.1, 0.2, 0.9]})
    assert_array_equal(found.times, [0, 1, 1, 2])
    assert_array_equal(found.columns["x"], [1, 2, 9, 3])
    assert_array_equal(found.sigma["x"], [0.1, 0.2, 0.9, 0.3])
    assert found.known
    assert measured(found, None, None) is found


def test_missing_values_are_nan_and_noise_may_be_unknown():
    found = measured({"time": T, "x": [1, np.inf, np.nan, 2], "y": [1, 2, 3, 4]}, ["x"], None)
    assert list(found.columns) == ["x"]
    assert_array_equal(np.isnan(found.columns["x"]), [True, True, False, False])
    assert not found.known
    assert_array_equal(measured({"t": T, "x": [1, 2, 3, 4]}, None, 0.5).sigma["x"], [0.5] * 4)


@pytest.mark.parametrize(
    ("data", "columns", "sigma", "told"),
    [
        ({"x": [1]}, None, None, "no times"),
        ({"t": [0, np.nan], "x": [1, 2]}, None, None, "a time is missing"),
        ({"t": [0, 1], "x": [1, 2]}, ["y"], None, "no column 'y'"),
        ({"t": [0, 1], "x": [1]}, None, None, "'x' has 1 values at 2 times"),
        ({"t": [0, 1], "x": [np.nan, np.nan]}, None, None, "no values"),
        ({"t": [0, 1]}, None, None, "no values"),
        ({"t": [0, 1], "x": ["a", "b"]}, None, None, "not a column of numbers"),
        ({"t": [0, 1], "x": [[1], [2]]}, None, None, "not a column of numbers"),
        (7, None, None, "data cannot be int"),
        ({"t": [0, 1], "x": [1, 2]}, None, 0.0, "sigma of 'x' is not positive"),
        ({"t": [0, 1], "x": [1, 2]}, None, [1.0, 2.0, 3.0], "sigma of 'x' is not positive"),
        ({"t": [0, 1], "x": [1, 2]}, None, {"y": 1}, "no column 'y'"),
        ({"t": [0, 1], "x": [1, 2], "y": [1, 2]}, None, {"x": 1}, "sigma of 'y' is missing"),
    ],
)
def test_data_that_mean_nothing_are_refused(data, columns, sigma, told):
    with pytest.raises(hf.BadRequest, match=told):
        measured(data, columns, sigma)


def written(path, text):
    (path / "data.csv").write_text(text, encoding="utf-8")
    return str(path / "data.csv")


def test_a_csv_file_is_read_with_its_gaps(tmp_path):
    found = measured(written(tmp_path, "\ufefft, x ,y\n0,1,\n\n1, ,2\n"), None, None)
    assert_array_equal(found.times, [0, 1])
    assert_array_equal(found.columns["x"], [1, np.nan])
    assert_array_equal(found.columns["y"], [np.nan, 2])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no columns with names"),
        ("t\n1\n", "no columns with names"),
        ("t,x,x\n1,2,3\n", "no columns with names"),
        ("t,x\n1,2\n3\n", "row 3 of 'data.csv' has 1 cells"),
        ("t,x\n1,2\n3,abc\n", "'abc' in row 3 of 'data.csv' is not a number"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, text, told):
    with pytest.raises(hf.BadRequest, match=told):
        measured(written(tmp_path, text), None, None)


# Sizes.


def test_the_root_mean_square_is_of_what_is_known():
    assert _rms(np.array([3.0, np.nan, -4.0])) == pytest.approx(np.sqrt(12.5))
    assert _rms(np.array([3e200, 4e200])) == pytest.approx(np.sqrt(12.5) * 1e200)
    assert _rms(np.array([np.nan])) == _rms(np.zeros(3)) == 0
    assert _largest(np.array([1.0, -7.0, np.nan, np.inf])) == 7


def test_a_residue_of_rounding_is_measured_by_the_others():
    """Coordinates by kinetic energy: beside a reach of 1 of a mass of 4, a mass of 1 has reach 2."""
    found = natural_sizes(np.array([1.0, 1e-15, 3.0, 0.5]), np.array([4.0, 1.0]))
    assert_allclose(found, [1, 1e-3 * 2, 3, 0.5], rtol=1e-9)
    kept = natural_sizes(np.array([1.0, 1e-9, 3.0, 0.5]), np.array([4.0, 1.0]))
    assert_allclose(kept, [1, 1e-9, 3, 0.5])
    rates = natural_sizes(np.array([1.0, 1.0, -3.0, 0.0, 8.0]), np.array([4.0, 1.0]))
    assert_allclose(rates, [1, 1, 3, 6e-3, 8])  # a further state by itself
    assert_allclose(natural_sizes(np.zeros(2), np.array([0.0])), 0)


def test_an_unknown_is_measured_by_its_first_value_or_by_what_explains_the_rest():
    data = SimpleNamespace(columns={"x": np.array([0.0, 0.0])})
    slopes = np.array([[[1.0, 2.0, 0.0]], [[1.0, 0.0, 0.0]]])
    search = LeastSquares(lambda values: (np.array([[3.0], [4.0]]), slopes), data, (np.zeros(0), np.zeros(0)), 1)
    assert_allclose(search._scale(np.array([-7.0, 0.0, 0.0]), {"x": 1.0}), [7, 2.5, 1])


@pytest.mark.parametrize(("value", "told"), [(2.0, True), (2.0 - 1e-6, True), (1.99, False), (1.0, True)])
def test_a_value_at_its_bound_is_told(value, told):
    prediction = SimpleNamespace(names=("a", "b"))
    bounds = np.array([1.0, -np.inf]), np.array([2.0, np.inf])
    found = LeastSquares(prediction, None, bounds, 1)._at_bounds(np.array([value, 5.0]))
    assert (len(found) == 1) is told
    assert not told or f"a is at its bound {round(value):g}," in found[0]


@pytest.mark.parametrize(("last", "lasts"), [(1.0, 0.5), (0.95, 0.5), (0.9 + 1e-12, 0.4), (0.91, 0.5)])
def test_a_run_reaches_the_last_of_the_data_in_whole_steps(last, lasts):
    assert whole_duration(SimpleNamespace(begin=0.5, step=0.1), last) == pytest.approx(lasts)
    assert whole_duration(SimpleNamespace(begin=0.5, step=None), last) == last - 0.5


@pytest.mark.parametrize(
    ("times", "every"), [([0.5, 0.9, 0.7], 2), ([0.5, 0.8], 1), ([0.5], 10), ([0.55, 0.9], 1), ([1.0, 1.5], 5)]
)
def test_as_few_rows_are_kept_as_hold_all_data(times, every):
    request = SimpleNamespace(begin=0.5, step=0.1, steps=10)
    found = Prediction(SimpleNamespace(request=request), SimpleNamespace(times=np.array(times)), {})
    assert found._every == every
    once, rows = found.times
    assert_array_equal(once[rows], times)
