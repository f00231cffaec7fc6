"""One number for a quantity along a run: what each reduction is, and that rows never reached do not count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.results.ensembles.cases import check_count
from holdfast.results.reductions import reduced, taken_apart

TIMES = np.array([0.0, 1.0, 3.0, 4.0])
ROW = np.array([-1.0, 3.0, 1.0, 2.0])
EXACT = {"max": 3, "min": -1, "range": 4, "mean": (1 + 4 + 1.5) / 4, "start": -1, "final": 2, "first": 0.25}
EXACT |= {"rms": np.sqrt((5 + 10 + 2.5) / 4)}  # of squares 1, 9, 1, 4


@pytest.mark.parametrize("name", EXACT)
def test_each_reduction_is_what_it_says(name):
    assert reduced(f"{name}(x)", TIMES, lambda text: ROW) == pytest.approx(EXACT[name])


@pytest.mark.parametrize("name", EXACT)
def test_rows_that_were_not_reached_do_not_count(name):
    """A case that ended at its third row, beside one that went on and one that never began."""
    short = [-1.0, 3.0, 1.0, np.nan]
    cases = np.array([ROW, short, [np.nan] * 4])
    found = reduced(f"{name}(x)", TIMES, lambda text: cases)
    whole = {"mean": (1 + 4) / 3, "rms": np.sqrt((5 + 10) / 3), "final": 1}.get(name, EXACT[name])
    assert_allclose(found, [EXACT[name], whole, np.nan], rtol=1e-12)


@pytest.mark.parametrize(("name", "told"), [("max", 3), ("range", 4), ("min", -1)])
def test_extremes_are_of_the_rows_that_are_known(name, told):
    assert reduced(f"{name}(x)", TIMES, lambda text: np.array([-1.0, 3.0, np.nan, np.nan])) == told


def test_a_mean_of_one_row_is_that_row():
    assert reduced("mean(x)", TIMES[:1], lambda text: np.array([7.0])) == 7


@pytest.mark.parametrize(
    ("values", "told"), [([1, 2, 3, 4], np.nan), ([-1, -2, -3, -4], np.nan), ([0, 1, -1, 1], 3.5), ([-2, 0, 1, 2], 1)]
)
def test_the_first_passage_is_one_from_below(values, told):
    assert_allclose(reduced("first(x)", TIMES, lambda text: np.array(values, float)), told)


@pytest.mark.parametrize("text", ["max(x, y)", "max x", "biggest(x)", "max((x)", "max(x))", 7, ""])
def test_what_is_no_reduction_is_refused(text):
    with pytest.raises(hf.BadRequest, match="no reduction of one quantity"):
        taken_apart(text)


def test_commas_within_a_quantity_are_its_own():
    assert taken_apart(" max( atan2(y, x) ) ") == ("max", "atan2(y, x)")


def test_ten_million_cases_are_run_together_and_no_more():
    check_count(10_000_000, where="cases")
    with pytest.raises(hf.BadRequest, match=r"1e\+07 cases"):
        check_count(10_000_001, where="cases")
