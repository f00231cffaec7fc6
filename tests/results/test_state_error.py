"""The error of the states, by a halved step or a tighter tolerance; longest steps and tolerances for each state."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
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
