"""Controls on first-order states: voltages on currents, valves on pressures."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import holdfast as hf

MOTOR = """
schema = 1
[system]
coordinates = ["th"]
kinetic = "J*th_dot**2/2"
dissipation = "b*th_dot**2/2"
[system.forces]
th = "K*i"
[system.states]
i = "{rate}"
[parameters]
J = 0.01
b = 0.1
K = 0.01
L = 0.5
R = 1
[program.{kind}]
turn = "{turn}"
[program.controls]
u = {control}
[program.law]
kind = "critically-damped"
rate = 5
[run]
scheme = "rk4"
step = 0.001
duration = 3
start_policy = "project"
"""
J, B, K, L, R = 0.01, 0.1, 0.01, 0.5, 1.0
FREE = "(-R*i - K*th_dot)/L"


def motor(
    turn: str = "th - (1 - cos(t))", kind: str = "holonomic", rate: str = FREE, control: str = '{ i = "1/L" }'
) -> hf.Problem:
    return hf.loads(MOTOR.format(turn=turn, kind=kind, rate=rate, control=control))


def wanted(t: np.ndarray, speed, acceleration, jerk) -> tuple[np.ndarray, np.ndarray]:
    """Current and voltage of a shaft that turns as told."""
    current, rate = (J * acceleration(t) + B * speed(t)) / K, (J * jerk(t) + B * acceleration(t)) / K
    return current, L * rate + R * current + K * speed(t)


@pytest.mark.parametrize(
    ("rate", "control"), [(FREE, '{ i = "1/L" }'), ("(u - R*i - K*th_dot)/L", "{}")], ids=["direction", "in the rate"]
)
def test_a_voltage_turns_the_shaft_along_its_path(rate, control):
    equations = hf.derive(motor(rate=rate, control=control))
    assert equations.degrees == {"turn": 3}
    run = hf.simulate(equations)
    current, voltage = wanted(run.times, np.sin, np.cos, lambda t: -np.sin(t))
    assert np.abs(run["th"] - (1 - np.cos(run.times))).max() < 1e-12
    assert np.abs(run["i"] - current).max() < 1e-9
    assert np.abs(run["u"] - voltage).max() < 1e-9
    assert run["i"][0] == pytest.approx(1.0)  # J th''/K: found with the start


def test_the_statement_with_a_direction_survives_its_file():
    problem = motor()
    assert hf.loads(hf.dumps(problem)) == problem
    assert "i' = u/L + (-K*th' - R*i)/L" in hf.derive(problem).summary()


def test_a_speed_is_of_degree_two_and_leaves_the_angle_free():
    equations = hf.derive(motor("th_dot - sin(t)", "nonholonomic"))
    assert equations.degrees == {"turn": 2}
    run = hf.simulate(equations)
    _, voltage = wanted(run.times, np.sin, np.cos, lambda t: -np.sin(t))
    assert np.abs(run["u"] - voltage).max() < 1e-9
    assert hf.internal(equations).sentence.startswith("1 direction stays free")


def test_the_current_itself_is_of_degree_one():
    equations = hf.derive(motor("i - sin(t)", "nonholonomic"))
    assert equations.degrees == {"turn": 1}
    run = hf.simulate(equations, start={"i": 0.5}, start_policy="keep")
    t = run.times
    assert np.abs(run["i"] - np.sin(t) - 0.5 * np.exp(-5 * t)).max() < 1e-9  # its law: w' = −5 w
    certificate = hf.certify(equations)
    assert certificate["turn"].label is hf.Label.proved
    assert not hf.verify(certificate)  # which the verifier does not derive
    moved = hf.simulate(equations, start={"i": 0.5})
    assert moved["i"][0] == pytest.approx(0.0, abs=1e-15)


def test_what_a_control_moves_at_once_is_not_holonomic():
    with pytest.raises(hf.HoldfastError) as error:
        hf.derive(motor("i - sin(t)"))
    assert "degree 1" in error.value.what
    assert "nonholonomic" in error.value.fix


def test_a_control_that_is_squared_is_refused_by_name():
    with pytest.raises(hf.HoldfastError) as error:
        hf.derive(motor("i - sin(t)", "nonholonomic", "(u**2 - R*i)/L", "{}"))
    assert "'u'" in error.value.what
    assert "not linear" in error.value.what


def test_a_control_that_acts_on_nothing_is_refused():
    with pytest.raises(hf.HoldfastError) as error:
        motor(control="{}")
    assert "acts on no coordinate, and on no state" in str(error.value)


def test_limits_cut_the_voltage_and_the_current_follows():
    text = hf.dumps(motor()).replace('start_policy = "project"', 'start_policy = "keep"')
    limited = hf.loads(text + "\n[program.limits]\nu = 1.5\n")
    run = hf.simulate(hf.derive(limited), scheme="dop853", tolerance=1e-10, duration=2)
    assert np.abs(run["u"]).max() <= 1.5 + 1e-12
    assert (np.abs(run["u"]) > 1.5 - 1e-9).any()

    def rates(t, x):
        th, v, i = x
        a = (K * i - B * v) / J
        y, w, w2 = th - 1 + np.cos(t), v - np.sin(t), a - np.cos(t)
        demand = -125 * y - 75 * w - 15 * w2 - np.sin(t)
        u = np.clip(L * ((demand + B * a / J) * J / K) + R * i + K * v, -1.5, 1.5)
        return [v, a, (u - R * i - K * v) / L]

    oracle = solve_ivp(rates, (0, 2), [0, 0, 0], method="DOP853", rtol=1e-11, atol=1e-12, max_step=0.01).y[:, -1]
    assert np.abs(np.array([run[name][-1] for name in ("th", "th_dot", "i")]) - oracle).max() < 1e-6


def test_a_force_and_a_voltage_hold_two_programs_together():
    """A cart with a force, and on it a motor by voltage: both of degree 3."""
    text = """
schema = 1
[system]
coordinates = ["x", "th"]
kinetic = "M*x_dot**2/2 + J*th_dot**2/2 + c*x_dot*th_dot*cos(th)"
[system.forces]
th = "K*i"
[system.states]
i = "-R*i - K*th_dot"
[parameters]
M = 2
J = 1
c = 0.5
K = 3
R = 1
[program.holonomic]
place = "x - sin(t)"
turn = "th - t**3/10"
[program.controls]
F = { x = "1" }
u = { i = "1" }
[program.law]
kind = "critically-damped"
rate = 4
[run]
scheme = "rk4"
step = 0.001
duration = 1
start_policy = "project"
"""
    equations = hf.derive(hf.loads(text))
    assert equations.degrees == {"place": 3, "turn": 3}  # F moves both at once
    run = hf.simulate(equations)
    t = run.times
    x2, x3 = -np.sin(t), -np.cos(t)
    th, w, w2, w3 = t**3 / 10, 3 * t**2 / 10, 6 * t / 10, 0.6
    current = (w2 + 0.5 * x2 * np.cos(th)) / 3
    rate = (w3 + 0.5 * (x3 * np.cos(th) - x2 * np.sin(th) * w)) / 3
    force = 2 * x2 + 0.5 * (w2 * np.cos(th) - w**2 * np.sin(th))
    assert np.abs(run["i"] - current).max() < 1e-9
    assert np.abs(run["u"] - (rate + current + 3 * w)).max() < 1e-8
    assert np.abs(run["F"] - force).max() < 1e-9


def test_what_speaks_of_forces_alone_refuses():
    equations = hf.derive(motor("i - sin(t)", "nonholonomic"))
    for verb in (hf.coefficients, hf.canonical):
        with pytest.raises(hf.HoldfastError) as error:
            verb(equations)
        assert "through a first-order state" in error.value.what


def test_a_check_tells_that_the_voltage_reaches():
    rows = hf.deep_check(motor()).rows
    assert "within reach" in rows["authority"][0]
    assert "nothing stays free" in rows["free"][0]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_units_of_the_current_do_not_matter(scale):
    """The same motor with its current in other units has the same voltage."""
    text = hf.dumps(motor()).replace("K*i", f"K*i*{scale!r}").replace("-R*i ", "-R*i ")
    text = text.replace('"1/L"', f'"1/L/{scale!r}"').replace("K*th_dot", f"K*th_dot/{scale!r}", 1)
    problem = hf.loads(text)
    assert hf.derive(problem).degrees == {"turn": 3}
