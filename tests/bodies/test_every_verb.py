"""Every verb on bodies: each number beside an independent one, or a refusal by name."""

import numpy as np
import pytest

import holdfast as hf
from tests.bodies.mechanisms import stewart, ur5

TOP = """schema = 1
[system]
gravity = [0, 0, -9.81]
dissipation = "0.02*(foot_turn_x_dot**2 + foot_turn_y_dot**2)"
[bodies.b]
mass = "m"
center = [0.05, 0, 0.5]
inertia = [0.05, 0.06, 0.1]
points = { tip = [0, 0, 1] }
[joints.foot]
kind = "spherical"
between = ["ground", "b"]
[parameters]
m = 1.5
[start]
foot = [0.95, 0.3, 0.1, 0]
foot_spin = [0.3, -0.2, 5]
[run]
scheme = "rk4"
step = 0.001
duration = 0.4
"""
HELD = """[program.holonomic]
high = "tip.z - 0.8"
[program.law]
kind = "critically-damped"
rate = 10
[phases.held]
lasts = 0.2
[phases.free]
without = ["high"]
until = { when = "tip.z - 0.5", direction = "falling" }
"""


@pytest.fixture(scope="module")
def top():
    equations = hf.derive(hf.loads(TOP))
    return equations, hf.simulate(equations)


def beside(run_of, value, names, by=1e-6):
    """The slope of the last row by a central difference."""
    more, less = run_of(value + by), run_of(value - by)
    return np.array([(more[name][-1] - less[name][-1]) / (2 * by) for name in names])


def test_slopes_of_a_top_are_those_of_its_differences(top):
    """Linearised rates, and sensitivities to a mass, a spin and a part of the quaternion at the start."""
    equations, run = top
    names, state = equations.state_names, run.y[:, 0]
    rates = hf.right_hand_side(equations)
    moved = [[rates(0.0, state + way * 1e-6 * unit) for way in (1, -1)] for unit in np.eye(len(state))]
    slopes = np.array([(np.array(up) - np.array(down)) / 2e-6 for up, down in moved]).T
    assert np.abs(np.array(hf.linearise(equations).A) - slopes).max() < 1e-7 * np.abs(slopes).max()
    found = hf.sensitivities(equations, to=["m", "foot_turn_x_dot(0)", "foot_e1(0)"])
    stated = dict(zip(names, state.tolist(), strict=True))
    started = lambda name: lambda x: hf.simulate(equations, start={**stated, name: x})  # noqa: E731
    ways = {
        "m": beside(lambda m: hf.simulate(equations, parameters={"m": m}), 1.5, names),
        "foot_turn_x_dot(0)": beside(started("foot_turn_x_dot"), stated["foot_turn_x_dot"], names),
        "foot_e1(0)": beside(started("foot_e1"), stated["foot_e1"], names),
    }
    for way, expected in ways.items():
        own = np.array([found[name, way][-1] for name in names])
        assert np.abs(own - expected).max() < 1e-6 * np.abs(expected).max(), way


def test_runs_of_a_top_agree_by_every_way(top):
    """Steps, cases, exported text, another scheme; and data give back the mass they were made with."""
    equations, run = top
    state = run.y[:, 0]
    stepped = hf.step_function(equations, hf.RK4, step=1e-3)(0.0, state)
    assert np.abs(np.ravel(stepped)[: len(state)] - run.y[:, 1]).max() == 0
    cases = hf.ensemble(equations, cases={"m": [1.5, 2.0]})
    other = hf.simulate(equations, parameters={"m": 2.0})
    assert np.abs(np.asarray(cases["foot_e2"])[1] - other["foot_e2"]).max() < 1e-12
    module = hf.export(equations, to="numpy").load()
    assert np.abs(module.rhs(0.0, state) - hf.right_hand_side(equations)(0.0, state)).max() < 1e-12
    fine = hf.simulate(equations, hf.DOP853, tolerance=1e-10, at=[0.4])
    assert np.abs(fine.y[:, -1] - run.y[:, -1]).max() < 1e-8
    found = hf.fit(equations, {"t": run.times, "tip_z": run["tip_z"]}, {"m": 2.0})
    assert found.values["m"] == pytest.approx(1.5, rel=1e-8)


def test_a_top_that_is_let_go_moves_on_freely():
    joined = hf.simulate(hf.derive(hf.loads(TOP.replace("[0.95, 0.3, 0.1, 0]", "[0.9, 0.3, 0.1, 0]") + HELD)),
                         duration=1, start_policy="project")  # fmt: skip
    at = int(np.searchsorted(joined.times, 0.2 - 1e-9))
    assert np.abs(joined["tip_z"][:at] - 0.8).max() < 1e-10
    assert joined["tip_z"][-1] == pytest.approx(0.5, abs=1e-12)
    start = {name: joined[name][at] for name in joined.state_names}
    free, later = (
        hf.simulate(hf.derive(hf.loads(TOP)), duration=0.05, start=start),
        int(np.searchsorted(joined.times, 0.25 - 1e-9)),
    )
    assert max(abs(free[name][-1] - joined[name][later]) for name in free.state_names) < 1e-10


def test_kicks_on_a_spin_give_its_variance():
    """ω' = −c ω + s ξ of a round body: s²/2c, and nothing about axes that are not kicked."""
    loss = " + ".join(f"0.4*foot_turn_{c}_dot**2" for c in "xyz")
    system = hf.System(
        bodies={"b": hf.Body(mass=1, inertia=(1, 1, 1))}, joints={"foot": hf.Spherical("ground", "b")},
        dissipation=loss, noise={"kick": {"foot_turn_x": 0.3}},
    )  # fmt: skip
    paths = hf.sample_paths(hf.derive(hf.Problem(system)), step=0.02, duration=8, paths=2000, seed=1, every=400)
    last = {c: np.asarray(paths[f"foot_turn_{c}_dot"])[:, -1] for c in "xz"}
    assert last["x"].var() == pytest.approx(0.09 / 1.6, rel=0.12)  # four standard errors
    assert np.abs(last["z"]).max() == 0


@pytest.mark.prove
def test_an_arm_moves_alike_in_every_form():
    """Hamilton's and Maggi's equations of six hinges, against their own; spins are refused by name."""
    equations = hf.derive(ur5())
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.2)
    for form in (hf.canonical(equations), hf.maggi(equations)):
        other = hf.simulate(form, hf.RK4, step=1e-3, duration=0.2)
        assert max(np.abs(other[name] - run[name]).max() for name in equations.coordinates) < 1e-8
    spun = hf.derive(hf.loads(TOP))
    for verb in (hf.canonical, hf.maggi, hf.lagrangian):
        with pytest.raises(hf.HoldfastError, match="is a spin, which is the rate of none"):
            verb(spun)


@pytest.mark.prove
def test_a_platform_of_13_bodies_is_alike_in_both_orders(tmp_path):
    """Runs go leg by leg; steps, cases, saved runs and exports by S: the same, to rounding; promises are checked."""
    equations = hf.derive(stewart())
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.1)
    stepped = hf.step_function(equations, hf.RK4, step=1e-3)(0.0, run.y[:, 0])
    assert np.abs(np.ravel(stepped)[: len(run.y)] - run.y[:, 1]).max() < 1e-13
    cases = hf.ensemble(equations, hf.RK4, step=1e-3, duration=0.1, cases={"leg0": [run.y[2, 0]]})
    assert np.abs(np.asarray(cases["leg3"])[0] - run["leg3"]).max() < 1e-12
    saved = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.1, save=tmp_path / "run.npz")
    assert np.abs(saved["leg3"][-1] - run["leg3"][-1]) < 1e-12
    certificate = hf.certify(equations, hf.RK4, step=1e-3, duration=0.1)
    assert "checked" in str(certificate)
    assert "proved" not in str(certificate).replace("not proved", "")
