"""The rows of a case that was carried across, put in the place of those that ran on regardless."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from holdfast.engine.run.dense import hermite
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.results.ensembles.case_jobs import request_of_case
from holdfast.results.ensembles.crossing import _put, cross_cases
from holdfast.results.ensembles.ensemble import Counts
from holdfast.results.runs.request import Request


def counts(cases=2):
    return Counts.unknown(cases, np.zeros((cases, 1)), 1)


def request(**given):
    plain = {"scheme": None, "begin": 1.0, "duration": 1.0, "step": 0.1, "steps": 10, "tolerance": None, "every": 5}
    return Request(**plain | {"at": None} | given)


def rows(times, **more):
    """x = t² at these times."""
    times = np.array(times)
    more = {"pivots": np.array([0.7]), "status": Status.completed, "steps": 10, "evaluations": 44, "rejected": 3} | more
    return Rows(times=times, states=times[:, None] ** 2, observed=np.zeros((len(times), 0)), **more)


def test_rows_of_fixed_steps_go_to_their_numbers():
    """Every fifth of ten steps is kept; a row in between is not, and the last is the state it ended in."""
    states, found = np.zeros((3, 1)), counts()
    _put(rows([1.0, 1.3, 1.5, 2.0]), request(), np.array([1.0, 1.5, 2.0]), states, found, 1)
    assert_array_equal(states[:, 0], [1.0, 2.25, 4.0])
    assert (found.steps[1], found.final[1, 0], found.evaluations[1], found.rejected[1]) == (10, 4.0, 44, 3)
    assert found.pivots[1, 0] == 0.7
    assert found.steps[0] == found.evaluations[0] == 0
    assert np.isnan(found.pivots[0, 0])


def test_rows_that_a_case_did_not_reach_are_nan():
    states, found = np.zeros((3, 1)), counts()
    ended = rows([1.0, 1.5, 1.7], status=Status.rank_lost, pivots=np.zeros(0))
    _put(ended, request(), np.array([1.0, 1.5, 2.0]), states, found, 0)
    assert_array_equal(states[:, 0], [1.0, 2.25, np.nan])
    assert (found.steps[0], found.final[0, 0], found.status[0]) == (7, pytest.approx(2.89), Status.rank_lost)
    assert np.isnan(found.pivots[0, 0])  # none are known


def test_rows_beyond_the_end_are_left_out():
    states, found = np.zeros((3, 1)), counts()
    _put(rows([1.0, 1.5, 2.0, 2.5]), request(), np.array([1.0, 1.5, 2.0]), states, found, 0)
    assert_array_equal(states[:, 0], [1.0, 2.25, 4.0])
    assert (found.steps[0], found.final[0, 0]) == (10, 4.0)


def test_rows_of_an_adaptive_case_are_read_at_the_common_times():
    t = np.array([1.0, 1.4, 1.8])
    dense = hermite(t, t[:, None] ** 2, 2 * t[:, None])
    states, found = np.zeros((4, 1)), counts()
    _put(
        rows(t, dense=dense, steps=2),
        request(step=None, tolerance=1e-6),
        np.array([1.0, 1.2, 1.8, 2.0]),
        states,
        found,
        0,
    )
    assert states[:3, 0] == pytest.approx([1, 1.44, 3.24])
    assert np.isnan(states[3, 0])
    assert (found.steps[0], found.final[0, 0]) == (2, pytest.approx(3.24))


def test_tolerances_of_a_case_are_its_own():
    many = request(step=None, tolerance=1e-6, absolute=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert_array_equal(request_of_case(many, 1).absolute, [3, 4])
    one = request(step=None, tolerance=1e-6, absolute=np.array([1.0, 2.0]))
    assert request_of_case(one, 1) is one


def test_where_nothing_repeats_nothing_is_run_again():
    plain = SimpleNamespace(solver=SimpleNamespace(form="solved"))
    assert cross_cases(plain, None, None, None, None, None, None, None) is None
