"""A computer that measures, waits and holds: samples, steps, delays and rows, and deviations that run away."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from holdfast.problem.controller import Sampling
from holdfast.results.judgement.tracking import loose, running_away, tracking_found
from holdfast.results.runs.sampled import sampled_request
from tests.results.test_controller import cart, zero_order_hold


@cache
def sampled(more="", step=0.01):
    return hf.derive(cart(f"[program.sampling]\nstep = {step}\n{more}"))


def asked(step=0.001, duration=2.0):
    return hf.simulate(sampled(), step=step, duration=duration)


@pytest.mark.parametrize(
    ("step", "used"), [(0.001, 0.001), (0.01, 0.01), (0.02, 0.01), (0.004, 0.01 / 3), (0.00625, 0.005)]
)
def test_a_sample_takes_whole_steps(step, used):
    run = asked(step)
    assert run.step == pytest.approx(used, rel=1e-12)
    assert run.steps == round(2 / used)
    assert run.times[-1] == pytest.approx(2)


@pytest.mark.parametrize("step", [0.01, 0.005, 0.001])
def test_the_motion_does_not_depend_on_the_steps_between_samples(step):
    run = asked(step)
    at = np.arange(0, len(run.times), round(0.01 / step))
    exact = [zero_order_hold(0.01, count=k) for k in (1, 17, 200)]
    assert_allclose([run["x"][at][k] for k in (1, 17, 200)], [one[0] for one in exact], rtol=1e-9)
    assert_array_equal(run["F"][at][:-1], run["F"][at[:-1] + round(0.01 / step) - 1])


def test_what_does_not_fit_is_refused():
    with pytest.raises(hf.BadRequest, match="whole number of samples") as caught:
        asked(step=0.004, duration=0.504)
    assert caught.value.where == "duration"
    asked(duration=0.505)  # half a sample, in whole steps
    with pytest.raises(hf.BadRequest, match=r"a delay of 0\.0003") as caught:
        hf.simulate(sampled("delay = 0.0003\n"), step=0.001)
    assert caught.value.where == "program.sampling.delay"
    with pytest.raises(hf.BadRequest, match="need a fixed step"):
        hf.simulate(sampled(), scheme="dop853", tolerance=1e-6)


def test_a_run_may_end_within_a_sample():
    run = asked(step=0.001, duration=0.125)
    assert run.steps == 125
    assert_allclose(run.times, np.arange(126) / 1000, atol=1e-12)
    assert run["F"][-1] == run["F"][121]


@pytest.mark.parametrize("every", [1, 3, 7])
def test_each_row_has_the_control_that_acts_from_there_on(every):
    run, whole = hf.simulate(sampled(), every=every, duration=0.1), asked(duration=0.1)
    rows = np.unique([*range(0, 101, every), 100])
    assert_array_equal(run.times, whole.times[rows])
    for name in ("x", "F", "x_ddot", "y_home"):
        assert_array_equal(run[name], whole[name][rows])


def test_what_is_computed_along_a_run_is_under_the_controls_that_acted(tmp_path):
    """Accelerations and expressions, of the run and of its file: once they were those of controls of 0."""
    for run in (asked(duration=0.1), hf.simulate(sampled("[program.limits]\nF = 5\n"), duration=0.1)):
        assert_allclose(run["x_ddot"], run["F"] / 2, rtol=1e-12)
        assert_array_equal(run["2*F"], 2 * run["F"])
        run.save(tmp_path / "run.npz")
        back = hf.Trajectory.load(tmp_path / "run.npz")
        assert_array_equal(back["x_ddot"], run["x_ddot"])
        assert back.outcome is run.outcome
    assert np.abs(run["F"]).max() == 5


def test_a_run_begins_when_it_is_told_to():
    equations = hf.derive(cart("[program.sampling]\nstep = 0.01\n", path="sin(t)", x=0))
    run = hf.simulate(equations, begin=3.0, duration=0.5)
    assert (run.times[0], run.times[-1]) == (3, pytest.approx(3.5))
    assert run["F"][0] == pytest.approx(2 * (-np.sin(3) + 25 * np.sin(3) + 10 * np.cos(3)))


def test_before_the_first_measurement_arrives_the_start_is_known():
    run = hf.simulate(sampled("delay = 0.02\n"))
    first = run["F"][:30].reshape(3, 10)
    assert_array_equal(first, -50.0)  # 2 (−25 x) at the start, three times
    assert run["F"][30] != -50


def test_noise_is_the_same_whatever_the_step_and_only_where_it_is_stated():
    noisy = sampled("noise = { x = 0.01 }\nseed = 5\n")
    coarse, fine = (hf.simulate(noisy, step=step, duration=0.3) for step in (0.01, 0.001))
    assert_allclose(coarse["F"], fine["F"][::10], rtol=1e-9)
    drawn = np.random.default_rng(5).standard_normal((30, 2))
    assert fine["F"][0] == pytest.approx(-50 * (1 + 0.01 * drawn[0, 0]))
    quiet = hf.simulate(sampled("noise = { x = 0 }\n"), duration=0.3)
    assert_array_equal(quiet["F"], asked(duration=0.3)["F"])


def test_a_finer_run_has_the_same_samples_and_half_the_step():
    run = hf.simulate(
        hf.derive(cart("[program.sampling]\nstep = 0.05\n").with_values({"c": 3})), step=0.05, scheme="euler"
    )
    finer = hf.simulate(run.equations, step=0.025, scheme="euler")
    half = np.abs(run["x"] - finer["x"][::2]).max()
    exact = np.abs(run["x"] - hf.simulate(run.equations, step=0.05 / 64, scheme="rk4")["x"][::64]).max()
    told = run.state_error.by_name["x"]
    assert exact / 2 < told < 2 * exact
    assert half < exact


def test_one_step_is_enough_for_an_error():
    run = hf.simulate(
        hf.derive(cart("[program.sampling]\nstep = 0.05\n").with_values({"c": 3})), step=0.05, duration=0.05
    )
    assert run.steps == 1
    assert np.isfinite(run.state_error.by_name["x"])


def test_a_computer_needs_a_fixed_step():
    with pytest.raises(hf.BadRequest, match="fixed step"):
        sampled_request(SimpleNamespace(step=None), Sampling(step=0.01))


# Deviations that run away.


def seen(*values, size=1.0, count=16):
    """y_home as told over so many rows, beside sizes of what it is made of."""
    equations = sampled()
    deviation = np.zeros((count, 2))
    deviation[:, 0] = np.interp(np.linspace(0, 1, count), np.linspace(0, 1, len(values)), values)
    return running_away(equations, np.arange(count) * 0.5, deviation, np.full((count, 2), size))


def test_what_grows_to_its_own_size_runs_away():
    found = seen(0.1, 0.1, 0.1, 0.1, 0.9)
    assert (found.name, found.failing, found.quantity) == ("deviation_grew", True, "y_home")
    assert "reaches 0.9" in found.text
    assert "sample more often" in found.text
    assert found.time == pytest.approx(6.5)


def test_what_is_small_or_was_as_large_before_does_not():
    assert seen(0.1, 0.1, 0.1, 0.1, 0.9, size=2.0) is None
    assert seen(0.1, 0.1, 0.1, 0.1, 0.9, size=1.7) is not None
    assert seen(0.4, 0.1, 0.1, 0.1, 0.9) is None
    assert seen(0.1, 0.1, 0.9, 0.1, 0.1) is None  # it came back
    assert seen(0, 0, 0, 0, 0) is None


def test_where_it_was_half_way_counts():
    """A deviation of 0.4 in the seventh of sixteen rows is in the first half."""
    deviation = np.full((16, 2), 0.1)
    deviation[7, 0], deviation[-1, 0] = 0.4, 0.9
    sizes = np.ones((16, 2))
    assert running_away(sampled(), np.arange(16.0), deviation, sizes) is None
    deviation[7, 0], deviation[8, 0] = 0.1, 0.4
    assert running_away(sampled(), np.arange(16.0), deviation, sizes).time == 8
    deviation[-1, 0], deviation[-5, 0] = 0.1, 0.9
    assert running_away(sampled(), np.arange(16.0), deviation, sizes) is None  # the last quarter, not before


def test_what_is_no_number_any_more_ran_away():
    assert seen(0.1, 0.1, 0.1, np.nan, np.nan) is not None


@pytest.mark.parametrize(("count", "told"), [(7, False), (8, True)])
def test_few_rows_say_nothing(count, told):
    assert (seen(0.1, 0.1, 0.1, 0.1, 0.9, count=count) is not None) is told


def test_the_rate_of_a_deviation_may_run_away_too():
    deviation = np.zeros((16, 2))
    deviation[:, 1] = np.geomspace(1e-3, 5, 16)
    assert running_away(sampled(), np.arange(16.0), deviation, np.ones((16, 2))).quantity == "w_home"


def test_only_what_controls_hold_is_loose():
    assert loose(sampled()) == [0, 1]
    assert loose(hf.derive(cart())) == []


def test_what_the_law_misses_is_told_with_its_reasons():
    both = hf.simulate(hf.derive(cart("[program.model]\nm = 2.2\n[program.sampling]\nstep = 0.01\n")))
    (found,) = tracking_found(both)
    largest, mean = np.abs(both["y_home"]).max(), np.sqrt(np.mean(both["y_home"] ** 2))
    assert f"|y_home| up to {largest:.3g}, {mean:.3g} in the mean square" in found.text
    assert "the model has its own m and controls are held for 0.01" in found.text
    assert "w_home" not in found.text
    assert (found.failing, found.name) == (False, "tracking")
    assert tracking_found(hf.simulate(hf.derive(cart()))) == []
    assert "the model" not in tracking_found(asked())[0].text
