"""Runs: rows, thinning, wanted times, projection, and what is refused."""

import signal
import threading
import time as clock
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose, assert_array_equal

import holdfast as hf
from tests.results.problems import burning, falling, oscillator, pendulum, steered, x, z

FIXED = [scheme for scheme in hf.ALL_SCHEMES if not scheme.adaptive]
ADAPTIVE = [scheme for scheme in hf.ALL_SCHEMES if scheme.adaptive]


def named(scheme):
    return scheme.name


@pytest.mark.parametrize("scheme", FIXED, ids=named)
def test_thinning_keeps_the_same_rows_and_counts_all_steps(scheme):
    whole = hf.simulate(pendulum(), scheme, step=0.01, duration=0.5)
    thin = hf.simulate(pendulum(), scheme, step=0.01, duration=0.5, every=7)
    kept = [*range(0, 50, 7), 50]  # and the end
    assert thin.steps == whole.steps == 50
    assert thin.nfev == whole.nfev
    assert_array_equal(thin.times, whole.times[kept])
    for name in whole.names:
        assert_array_equal(thin[name], whole[name][kept])


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=named)
def test_thinning_an_adaptive_run_keeps_every_nth_step_and_the_last(scheme):
    whole = hf.simulate(pendulum(), scheme, tolerance=1e-8, duration=2)
    thin = hf.simulate(pendulum(), scheme, tolerance=1e-8, duration=2, every=4)
    kept = sorted({*range(0, len(whole.times), 4), len(whole.times) - 1})
    assert_array_equal(thin.times, whole.times[kept])
    assert_array_equal(thin["lambda_rod"], whole["lambda_rod"][kept])
    assert thin.steps == whole.steps


def test_rows_at_wanted_times_are_those_of_the_whole_run():
    whole = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=1)
    some = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=1, at=[0.1, 0.25, 0.9])
    assert_array_equal(some["x"], whole["x"][[10, 25, 90]])
    assert some.steps == 100
    assert_array_equal(some.times, [0.1, 0.25, 0.9])


def test_the_last_wanted_time_is_the_duration_where_none_is_given():
    assert hf.simulate(pendulum(), hf.RK4, step=0.01, at=[0, 0.3]).steps == 30
    assert hf.simulate(pendulum(), hf.DOP853, tolerance=1e-9, at=[0, 0.3]).times[-1] == 0.3


def test_rows_at_wanted_times_of_an_adaptive_run_are_interpolated():
    run = hf.simulate(oscillator(), hf.DOP853, tolerance=1e-12, duration=10, at=np.linspace(0, 10, 57))
    assert_allclose(run["x"], np.cos(run.times), rtol=0, atol=1e-10)
    assert_allclose(run["energy"], 0.5, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scheme", ADAPTIVE, ids=named)
def test_the_interpolant_of_an_adaptive_run_meets_the_tolerance(scheme):
    run = hf.simulate(oscillator(), scheme, tolerance=1e-9, duration=10)
    t = np.linspace(0, 10, 1001)
    assert np.abs(run.sol(t)[0] - np.cos(t)).max() < 1e-7
    assert run.sol(3.0).shape == (2,)


def test_radau_with_a_tolerance_chooses_its_steps_and_with_a_step_keeps_it():
    steered = hf.simulate(pendulum(), hf.Radau5, tolerance=1e-8, duration=1)
    assert_array_equal(steered.y, hf.simulate(pendulum(), "radau", tolerance=1e-8, duration=1).y)
    assert (steered.scheme, steered.step, steered.tolerance) == ("radau", None, 1e-8)
    stated = replace(pendulum().problem, run=hf.Run(scheme="radau5", tolerance=1e-8, duration=1))
    assert_array_equal(hf.simulate(hf.derive(stated)).y, steered.y)
    fixed = hf.simulate(hf.derive(stated), step=0.1)
    assert (fixed.scheme, fixed.steps) == ("radau5", 10)


def test_stiff_gains_cost_the_stiff_scheme_little():
    """The same motion under gains of 10⁴ per second, whose explicit steps are a thousand times shorter."""
    law = hf.critically_damped(1e4)
    gentle = hf.simulate(pendulum(), hf.DOP853, tolerance=1e-12, duration=2)
    implicit = hf.simulate(pendulum(), hf.Radau, tolerance=1e-8, duration=2, law=law)
    explicit = hf.simulate(pendulum(), hf.DOP853, tolerance=1e-8, duration=2, law=law)
    assert implicit.outcome is hf.Outcome.completed
    assert_allclose(implicit.y[:, -1], gentle.y[:, -1], rtol=0, atol=1e-7)
    assert implicit.nfev < explicit.nfev / 10


def test_a_stiff_run_that_cannot_go_on_says_so():
    s = hf.states("s")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={s: s**2})
    run = hf.simulate(hf.derive(hf.Problem(system, start={s: 1})), hf.Radau, tolerance=1e-8, duration=2)
    assert run.outcome is hf.Outcome.step_collapsed
    assert not run.success
    assert "too small to go on" in run.message
    assert run.times[-1] == pytest.approx(1, abs=1e-6)
    assert np.isfinite(run.y).all()


def test_the_interpolant_of_a_fixed_step_run_is_a_cubic():
    run = hf.simulate(oscillator(), hf.RK4, step=0.05, duration=10)
    t = np.linspace(0, 10, 1001)
    assert np.abs(run.sol(t)[0] - np.cos(t)).max() < 0.05**4 / 10  # of the fourth order, as the scheme


def test_a_thinned_run_is_not_interpolated_between_its_rows():
    run = hf.simulate(oscillator(), hf.RK4, step=0.05, duration=1, every=5)
    assert_array_equal(run.sol(run.times[2]), run.y[:, 2])
    with pytest.raises(hf.BadRequest, match="only every 5th step was kept"):
        run.sol(0.3)
    with pytest.raises(hf.BadRequest, match="the run covers 0 to 1"):
        run.sol(1.5)


def test_nothing_to_hold_is_a_run_like_any_other():
    run = hf.simulate(falling(), hf.RK4, step=0.01, duration=1, project=True)
    assert_allclose(run["x"], 1 + 2 * run.times - 5 * run.times**2, rtol=0, atol=1e-13)
    assert run.deviation.shape == (101, 0)
    assert run.success


def test_first_order_states_are_part_of_the_state():
    run = hf.simulate(burning(), hf.DOP853, tolerance=1e-12, duration=2)
    assert run.state_names == ("x", "x_dot", "s")
    assert_allclose(run["s"], 2 * np.exp(-run.times / 2), rtol=1e-11)


def test_a_problem_that_begins_later_counts_its_steps_from_there():
    s = hf.coordinates("s")
    problem = hf.Problem(
        hf.System(coordinates=(s,), kinetic=s.rate**2 / 2, forces={s: hf.time}), run=hf.Run(begin=-2.0)
    )
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.1, duration=1, at=[-2, -1.5, -1])
    t = np.array([-2, -1.5, -1])
    assert_allclose(run["s"], (t**3 + 8) / 6 - 2 * (t + 2), rtol=0, atol=1e-14)


# ── projection ────────────────────────────────────────────────────────────────────────────────────


def test_a_long_run_that_does_not_say_keeps_at_most_a_hundred_thousand_rows():
    long = hf.simulate(oscillator(), hf.Euler, step=1e-5, duration=2.5)
    assert long.every == 3
    assert len(long.times) == 83335
    whole = hf.simulate(oscillator(), hf.Euler, step=1e-5, duration=2.5, every=1)
    assert len(whole.times) == 250_001
    for name in whole.names:
        assert_array_equal(long[name], whole[name][[*range(0, 250_000, 3), 250_000]])
    assert hf.simulate(oscillator(), hf.Euler, step=1e-4, duration=10).every == 1


@pytest.mark.parametrize("every", [1, 7])
def test_a_projected_run_keeps_the_program_to_rounding(every):
    free = hf.simulate(pendulum(), hf.RK4, step=0.02, duration=2, law=hf.Unstabilised(), every=every)
    back = hf.simulate(pendulum(), hf.RK4, step=0.02, duration=2, law=hf.Unstabilised(), every=every, project=True)
    assert np.abs(free.deviation).max() > 1e-7
    assert np.abs(back.deviation).max() < 1e-14
    assert np.abs(back.deviation_rate).max() < 1e-14
    assert back.steps == free.steps == 100
    assert_array_equal(back.times, free.times)


def test_projected_rows_do_not_depend_on_thinning():
    whole = hf.simulate(pendulum(), hf.Heun, step=0.02, duration=1, project=True)
    thin = hf.simulate(pendulum(), hf.Heun, step=0.02, duration=1, project=True, every=10)
    assert_array_equal(thin["x"], whole["x"][::10])


def test_projection_moves_by_the_least_kinetic_energy():
    """A heavy and a light mass that must share a place: the light one moves."""
    a, b = hf.coordinates("a b")
    system = hf.System(coordinates=(a, b), kinetic=100 * a.rate**2 / 2 + b.rate**2 / 2)
    program = hf.Program(holonomic={"same": a - b}, law=hf.SpringDamper(stiffness=1, damping=2))
    off = {"start": {a: 0, b: 1.01, b.rate: 1.01}, "start_policy": "project"}
    run = hf.simulate(hf.derive(hf.Problem(system, program)), hf.RK4, step=0.1, duration=0.1, **off)
    assert run.start.changes["a"] == pytest.approx((0, 0.01))
    assert run.start.changes["b"] == pytest.approx((1.01, 0.01))
    assert run.start.changes["a_dot"] == pytest.approx((0, 0.01))


def test_projection_needs_a_fixed_step():
    with pytest.raises(hf.BadRequest, match="needs a fixed step"):
        hf.simulate(pendulum(), hf.DOP853, tolerance=1e-8, duration=1, project=True)


# ── the start ─────────────────────────────────────────────────────────────────────────────────────


def test_a_policy_moves_the_start_and_says_so():
    off = {x: 1.1, z.rate: 1, x.rate: 0.5}
    run = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1, start=off, start_policy="project")
    assert run.start.changes["x"] == pytest.approx((1.1, 1.0))
    assert run.start.changes["x_dot"] == pytest.approx((0.5, 0.0), abs=1e-15)
    assert "moved onto the program" in run.message
    assert run.start.on_program
    assert run.success


def test_controls_keep_the_deviation_and_it_is_reported():
    run = hf.simulate(steered(), hf.RK4, step=0.01, duration=3)
    assert run.start.deviation["y_rail"] == pytest.approx(0, abs=1e-12)
    assert abs(run.initial_deviation["y_timetable"]) > 0.01
    assert "what the start leaves out follows from the program: z = " in run.message.lower()
    assert "y_timetable" in run.message
    assert run.success


def test_policies_keep_project_and_raise():
    off = {x: 1.1}
    kept = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1, start=off, start_policy="keep")
    assert kept["x"][0] == 1.1
    assert kept.initial_deviation["y_rod"] == pytest.approx(0.105)
    assert not kept.start.changes
    moved = hf.simulate(steered(), hf.RK4, step=0.01, duration=0.1, start_policy="project")
    assert moved.start.on_program
    with pytest.raises(hf.BadRequest, match=r"y_rod = 0\.105"):
        hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1, start=off, start_policy="raise")
    with pytest.raises(hf.BadRequest, match="not known"):
        hf.simulate(pendulum(), hf.RK4, step=0.01, duration=0.1, start_policy="guess")


def test_a_start_off_the_program_under_a_law_that_does_not_attract_is_no_success():
    run = hf.simulate(
        pendulum(), hf.RK4, step=0.01, duration=0.2, start={x: 1.01}, start_policy="keep", law=hf.Unstabilised()
    )
    assert run.outcome is hf.Outcome.off_program
    assert not run.success
    assert "y_rod" in run.message


def test_a_start_that_no_state_near_can_mend_is_refused():
    a = hf.coordinates("a")
    system = hf.System(coordinates=(a,), kinetic=a.rate**2 / 2)
    program = hf.Program(holonomic={"impossible": a**2 + 1}, law=hf.SpringDamper(stiffness=1, damping=2))
    with pytest.raises(hf.BadRequest, match="a = 1 contradicts 'impossible' by y = 2"):
        hf.simulate(hf.derive(hf.Problem(system, program, start={a: 1})), hf.RK4, step=0.1, duration=1)


def test_a_start_outside_of_the_domain_is_refused():
    a, s = hf.coordinates("a"), hf.states("s")
    system = hf.System(coordinates=(a,), kinetic=a.rate**2 / 2, forces={a: 1 / a})
    with pytest.raises(hf.BadRequest, match="acceleration of 'a'"):
        hf.simulate(hf.derive(hf.Problem(system, start={a: 0})), hf.RK4, step=0.1, duration=1)
    system = hf.System(coordinates=(a,), kinetic=a.rate**2 / 2, states={s: sp.log(s)})
    with pytest.raises(hf.BadRequest, match="rate of 's'"):
        hf.simulate(hf.derive(hf.Problem(system, start={s: 0})), hf.RK4, step=0.1, duration=1)


# ── what is refused ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"step": 0.0}, "step = 0.0 is not positive"),
        ({"step": -0.1}, "not positive"),
        ({"step": float("nan")}, "not positive"),
        ({"step": [0.1]}, "is not a number"),
        ({"duration": 0}, "duration = 0 is not positive"),
        ({"duration": float("inf")}, "not positive"),
        ({"step": 0.03}, "a duration of 1 is not a whole number of steps of 0.03"),
        ({"every": 0}, "every = 0"),
        ({"every": 1.5}, "every = 1.5"),
        ({"at": [0.5, 0.2]}, "do not increase"),
        ({"at": [0.005]}, "does not fall on a step"),
        ({"at": [2.0]}, "beyond the run"),
        ({"at": [-1.0, 0.5]}, "the run begins at 0"),
        ({"step": 1e-8, "duration": 10, "every": 1}, "1000000001 rows would need"),
        ({"step": 1e-8, "at": [1e-8, 1.0], "duration": 1}, "at times with a common spacing"),
        ({"tolerance": 1e-8, "step": None}, "fixed step and takes no tolerance"),
        ({"scheme": "rk5"}, "there is no scheme 'rk5'"),
        ({"scheme": hf.DOP853}, "takes no step"),
        ({"scheme": hf.Radau}, "takes no step"),
        ({"scheme": hf.Radau5, "tolerance": 1e-8}, "a step and a tolerance are both given"),
        ({"scheme": hf.DOP853, "step": None}, "needs a tolerance"),
        ({"scheme": hf.DOP853, "step": None, "tolerance": 1e-17}, "beyond double precision"),
        ({"scheme": hf.DOP853, "step": None, "tolerance": -1.0}, "not positive"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(wrong, words):
    asked = {"scheme": hf.RK4, "step": 0.01, "duration": 1} | wrong
    with pytest.raises(hf.BadRequest, match=words):
        hf.simulate(pendulum(), asked.pop("scheme"), **asked)


@pytest.mark.parametrize(
    "wrong",
    [{"start": {"q": 1}}, {"parameters": {"mass": 1}}, {"start": [1.0, 2.0]}, {"events": {"e": hf.coordinates("q")}}],
)
def test_unknown_names_are_refused(wrong):
    with pytest.raises(hf.HoldfastError):
        hf.simulate(pendulum(), hf.RK4, step=0.01, duration=1, **wrong)


def test_a_law_still_to_be_tuned_and_a_problem_not_derived_are_refused_with_a_hint():
    with pytest.raises(hf.BadRequest, match="still to be chosen"):
        hf.simulate(pendulum(), hf.RK4, step=0.01, duration=1, law=hf.Tuned())
    with pytest.raises(hf.BadRequest, match="takes Equations, not Problem"):
        hf.simulate(pendulum().problem, hf.RK4, step=0.01, duration=1)


# ── while it runs ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "how",
    [{"scheme": hf.Euler, "step": 1e-5, "duration": 5}, {"scheme": hf.DOP853, "tolerance": 1e-14, "duration": 300}],
    ids=["fixed", "adaptive"],
)
def test_progress_rises_to_one(how):
    told = []
    hf.simulate(pendulum(), **how, every=1000, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 1


def test_ctrl_c_ends_a_run_and_keeps_its_rows():
    def press():
        clock.sleep(0.3)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=press).start()
    began = clock.perf_counter()
    run = hf.simulate(pendulum(), hf.Euler, step=1e-8, duration=1000, every=10**9)
    assert clock.perf_counter() - began < 5
    assert run.outcome is hf.Outcome.interrupted
    assert 0 < run.steps < 1e11
    assert run.times[-1] == pytest.approx(run.steps * 1e-8)


@pytest.mark.parametrize(
    ("scheme", "what", "fix"),
    [
        (hf.Radau5, "a step and a tolerance are both given", "give one of the two: step= or tolerance="),
        (hf.RK4, "rk4 has a fixed step and takes no tolerance", "give step= alone"),
        (hf.DOP853, "dop853 chooses its own steps and takes no step", "give tolerance= alone"),
    ],
    ids=str,
)
def test_a_step_and_a_tolerance_exclude_each_other(scheme, what, fix):
    with pytest.raises(hf.BadRequest) as caught:
        hf.simulate(pendulum(), scheme, step=0.01, tolerance=1e-6, duration=1)
    assert (caught.value.what, caught.value.fix) == (what, fix)


@pytest.mark.parametrize("word", ["step", "duration"])
def test_a_text_in_the_place_of_a_number_is_called_one(word):
    with pytest.raises(hf.BadRequest, match=f"{word} = '0.5' is a text") as caught:
        hf.simulate(pendulum(), hf.RK4, **{"step": 0.01, "duration": 1, word: "0.5"})
    assert caught.value.fix == "remove the quotes"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("equations", [pendulum, falling])
def test_a_start_value_that_is_no_number_is_named(equations, value):
    with pytest.raises(hf.BadRequest, match=f"the start value of 'x' is {value}"):
        hf.simulate(equations(), hf.RK4, step=0.01, duration=1, start={x: value})


def test_a_failed_adaptive_run_speaks_of_its_tolerance():
    run = hf.simulate(pendulum(), hf.DOP853, tolerance=10, duration=20, start={z.rate: 5}, longest_step=20)
    assert not run.success
    assert "tolerance" in run.message
