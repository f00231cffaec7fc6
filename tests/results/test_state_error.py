"""The error of the states, by a halved step or a tighter tolerance; longest steps and tolerances for each state."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.results.runs.accuracy.state_error import finer, followed
from holdfast.results.runs.request import SMALLEST_TOLERANCE, request_of
from tests.results.problems import oscillator

x, y = hf.coordinates("x y")


@pytest.mark.parametrize("how", [{"scheme": hf.RK4, "step": 0.1}, {"scheme": hf.DOP853, "tolerance": 1e-5}], ids=str)
def test_the_estimate_is_about_the_true_error(how):
    run = hf.simulate(oscillator(), **how, duration=10)
    true = np.abs(run["x"] - np.cos(run.times)).max()
    assert run.state_error.by_name["x"] == pytest.approx(true, rel=0.3)
    assert not run.state_error.large
    assert "state error about" in str(run.state_error)


def test_the_estimate_survives_thinning_events_and_saving(tmp_path):
    whole = hf.simulate(oscillator(), hf.RK4, step=0.1, duration=10)
    thin = hf.simulate(oscillator(), hf.RK4, step=0.1, duration=10, every=10)
    assert thin.state_error.worst == pytest.approx(whole.state_error.worst, rel=0.2)
    ended = hf.simulate(oscillator(), hf.RK4, step=0.1, duration=10, events={"zero": x})
    assert 0 < ended.state_error.worst < 1e-5
    whole.save(tmp_path / "run.npz")
    assert hf.Trajectory.load(tmp_path / "run.npz").state_error.worst == pytest.approx(whole.state_error.worst)


def test_a_state_held_at_zero_has_no_error_worth_a_word():
    a, b = hf.coordinates("a b")
    system = hf.System(coordinates=(a, b), kinetic=(a.rate**2 + b.rate**2) / 2, potential=9.81 * b + sp.sin(a))
    program = hf.Program(holonomic={"level": b}, controls={"F": {b: 1}}, law=hf.SpringDamper(stiffness=25, damping=10))
    run = hf.simulate(hf.derive(hf.Problem(system, program, start={a: 0.3})), hf.RK4, step=0.01, duration=10)
    assert run.state_error.relative < 1e-6


DOUBLE = """
schema = 1
[system]
coordinates = ["x1", "y1", "x2", "y2"]
kinetic = "(x1_dot**2 + y1_dot**2)/2 + x2_dot**2 + y2_dot**2"
potential = "9.81*y1 + 19.62*y2"
[program.holonomic]
rod1 = "sqrt(x1**2 + y1**2) - 1"
rod2 = "sqrt((x2 - x1)**2 + (y2 - y1)**2) - 0.7"
[program.law]
kind = "critically-damped"
rate = 10
[start]
x1 = 1
y1 = 0
x2 = "1 + 0.7*sin(pi/3)"
y2 = "-0.7*cos(pi/3)"
[run]
scheme = "rk4"
step = 0.01
duration = 20
"""
FRICTION = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
potential = "5*x**2"
[system.forces]
x = "-2.943*tanh(x_dot/1e-5)"
[start]
x = 1
[run]
step = 0.01
duration = 10
"""


@pytest.mark.parametrize("text", [DOUBLE, FRICTION], ids=["chaos", "friction"])
def test_states_that_a_halved_step_changes_are_no_result(text):
    """A double pendulum wrong in its first digit at 20 s; a stiff friction whose error does not follow the step."""
    run = hf.simulate(hf.derive(hf.loads(text, "test")))
    assert run.success
    assert run.state_error.large
    page = hf.report(run)
    assert page.word == "no promise"
    assert "state error about" in page.verdict
    assert "Good" not in page.verdict


# ── longest steps and tolerances ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scheme", [hf.DOPRI5, hf.DOP853, hf.Radau], ids=lambda scheme: scheme.name)
def test_a_short_push_is_not_stepped_over(scheme):
    push = 100 * sp.exp(-((50 * (hf.time - 5)) ** 2))
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: push})))
    run = hf.simulate(equations, scheme, tolerance=1e-9, duration=10)
    assert run["x_dot"][-1] == pytest.approx(2 * np.sqrt(np.pi), rel=1e-6)
    runs = hf.ensemble(equations, scheme, tolerance=1e-9, duration=10, cases={x: [0.0, 1.0]})
    assert runs["x_dot"][:, -1] == pytest.approx(2 * np.sqrt(np.pi), rel=1e-6)


def test_a_longest_step_is_kept():
    run = hf.simulate(oscillator(), hf.DOP853, tolerance=1e-3, duration=10, longest_step=0.01)
    assert np.diff(run.times).max() <= 0.01 * (1 + 1e-9)
    stated = hf.Problem(oscillator().problem.system, start={x: 1}, run=hf.Run(scheme="dop853", tolerance=1e-3,
                        duration=10, longest_step=0.01))  # fmt: skip
    assert np.diff(hf.simulate(hf.derive(stated)).times).max() <= 0.01 * (1 + 1e-9)
    with pytest.raises(hf.BadRequest, match="takes no longest_step"):
        hf.simulate(oscillator(), hf.RK4, step=0.1, duration=1, longest_step=0.1)
    with pytest.raises(hf.BadRequest, match="longest_step = 0 is not positive"):
        hf.simulate(oscillator(), hf.DOP853, tolerance=1e-3, duration=1, longest_step=0)


@pytest.mark.parametrize("amplitude", [1e-9, 1.0, 1e9])
def test_a_tolerance_is_one_of_the_state_itself(amplitude):
    run = hf.simulate(oscillator(), hf.DOP853, tolerance=1e-8, duration=20, start={x: amplitude})
    assert np.abs(run["x"] - amplitude * np.cos(run.times)).max() < 1e-6 * amplitude
    assert run.steps == hf.simulate(oscillator(), hf.DOP853, tolerance=1e-8, duration=20).steps


def test_tolerances_may_be_stated_for_each_state():
    asked = {"scheme": hf.DOPRI5, "tolerance": 1e-6, "duration": 10, "longest_step": 10}
    loose = hf.simulate(oscillator(), **asked, absolute=1.0)
    tight = hf.simulate(oscillator(), **asked, absolute={x: 1e-12, x.rate: 1e-12})
    assert loose.steps < hf.simulate(oscillator(), **asked).steps < tight.steps
    with pytest.raises(hf.BadRequest, match="there is no state 'q'"):
        hf.simulate(oscillator(), **asked, absolute={"q": 1})


# ── the energy balance ────────────────────────────────────────────────────────────────────────────


def test_rows_a_rounding_apart_do_not_invent_work():
    from holdfast.results.trajectory import cumulative

    times = np.array([0.0, 0.1, 0.2, 0.2 + 1e-14, 0.3, 0.4, 0.5])
    values = np.cos(times) + 1e-9 * np.array([0, 0, 0, 1, 0, 0, 0])
    assert np.abs(cumulative(times, values) - np.sin(times)).max() < 1e-3


def pushed():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2, forces={x: sp.sin(3 * hf.time)})
    return hf.derive(hf.Problem(system, start={x: 1}))


def test_the_quadrature_says_how_far_it_can_be_trusted():
    run = hf.simulate(pushed(), hf.RK4, step=0.01, duration=10, every=20)
    balance = run.energy_balance
    exact = hf.simulate(pushed(), hf.RK4, step=0.01, duration=10).energy_balance
    true = np.abs(balance.residual).max()  # with all rows it is far smaller: what is left is quadrature
    assert np.abs(exact.residual).max() < 0.01 * true
    assert balance.quadrature[-1] > 0.5 * true


# ── finer runs ────────────────────────────────────────────────────────────────────────────────────


def asked(scheme, **how):
    return request_of(
        oscillator(), scheme, duration=1.0, every=None, at=None, **({"step": None, "tolerance": None} | how)
    )


@pytest.mark.parametrize(("times", "part"), [(1, 2), (2, 4)])
def test_a_finer_run_halves_its_step_as_often_as_it_is_told(times, part):
    request = asked(hf.RK4, step=0.1)
    found = finer(request, 0.7, 7, times)
    assert found.step == pytest.approx(0.1 / part)
    assert (found.steps, found.every, found.at) == (7 * part, 1, None)
    assert found.duration == pytest.approx(0.7)
    assert finer(request, 0.0, 0, times) is None
    assert finer(request, 0.7, 7).step == pytest.approx(0.05)


@pytest.mark.parametrize("times", [1, 2])
def test_a_finer_run_tightens_its_tolerance(times):
    request = asked(hf.DOP853, tolerance=1e-5)
    found = finer(request, 0.6, 12, times)
    assert found.tolerance == pytest.approx(1e-5 / 100**times)
    assert found.longest == request.longest / 2**times
    assert (found.duration, found.every) == (pytest.approx(0.6), 1)
    assert finer(request, 0.0, 0, times) is None
    least = finer(asked(hf.DOP853, tolerance=5e-14), 0.6, 12, times)
    assert least is None or least.tolerance == SMALLEST_TOLERANCE
    assert finer(asked(hf.DOP853, tolerance=SMALLEST_TOLERANCE), 0.6, 12, times) is None


def test_an_error_that_a_second_halving_does_not_lower_may_be_larger():
    run = hf.simulate(oscillator(), hf.RK4, step=0.1, duration=1)
    first = replace(run.state_error, name="x", worst=0.1, relative=0.2, by_name={"x": 0.1, "x_dot": 0.01})
    assert followed(run, first, replace(first, by_name={"x": 0.05, "x_dot": 9.0})) is first
    found = followed(run, first, replace(first, by_name={"x": 0.06, "x_dot": 0.0}))
    assert (found.worst, found.relative, found.converging) == (pytest.approx(0.16), pytest.approx(0.32), False)
    assert "a smaller step does not lower it as it should" in found.note
    assert followed(run, first, replace(first, by_name={})).worst == float("inf")


def test_an_error_is_told_in_parts_of_its_range():
    error = hf.simulate(oscillator(), hf.RK4, step=0.1, duration=1).state_error
    told = replace(error, worst=0.25, relative=0.125, time=0.5, name="x", note="")
    assert str(told) == "state error about 0.25 at t = 0.5 (x, 12 % of its range)"
    assert "beyond its range" in str(replace(told, relative=10.0))
    assert "beyond its range" not in str(replace(told, relative=9.99))
    assert str(replace(told, worst=float("nan"), note="it stopped")) == "state error not known: it stopped"


def test_forces_that_cancel_leave_no_error_worth_a_word():
    """A craft held at a place by two pushes that cancel across it: what is left of them is rounding."""
    x, z, th = hf.coordinates("x z th")
    system = hf.System(
        coordinates=(x, z, th), kinetic=(x.rate**2 + z.rate**2 + th.rate**2) / 2, potential=sp.Rational("9.81") * z
    )
    lift, turn = {x: -sp.sin(th), z: sp.cos(th)}, {x: sp.cos(th) / 2, z: sp.sin(th) / 2, th: 1}
    program = hf.Program(holonomic={"px": x, "pz": z}, controls={"u1": lift, "u2": turn}, law=hf.critically_damped(3))
    problem = hf.Problem(system, program, start={th: sp.Rational(1, 100)})
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=1)
    assert run.state_error.relative < 0.01
