"""What an attack on programs, phases and controllers found false: each case, and that it is true now."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")

FADING = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[program.holonomic]
p = "x - t - 0.1*sin(3*t)"
[program.controls]
F = {{ x = "{direction}" }}
[program.law]
kind = "critically-damped"
rate = 3
[start]
x_dot = 1.3
[run]
scheme = "rk4"
step = 0.001
duration = 1
"""


@pytest.mark.parametrize("direction", ["(x - 0.5)**2", "abs(x - 0.5)", "(x - 0.5)**4"])
def test_a_control_that_fails_on_the_way_is_neither_proved_nor_praised(direction):
    equations = hf.derive(hf.loads(FADING.format(direction=direction)))
    certificate = hf.certify(equations, effort=0.5)
    assert not any(block.label.is_proof for block in certificate.blocks)
    assert "never fail is not shown over a region" in certificate.blocks[0].reason
    run = hf.simulate(equations)
    (doubt,) = [found for found in run.findings if found.name == "condition"]
    assert "'F' hardly moves 'p'" in doubt.text
    assert doubt.time == pytest.approx(0.41, abs=0.02)


@pytest.mark.parametrize("direction", ["x - 3", "cos(x/4)"])
def test_a_control_whose_direction_changes_and_never_fails_is_proved_in_a_tube(direction):
    certificate = hf.certify(hf.derive(hf.loads(FADING.format(direction=direction))), effort=0.5)
    (block,) = certificate.blocks
    assert block.label is hf.Label.tube
    assert "not shown over a region" in block.reason
    assert hf.verify(certificate).holds


def test_a_control_of_constant_direction_is_proved_as_before():
    equations = hf.derive(hf.loads(FADING.format(direction="2")))
    assert hf.certify(equations, effort=2).blocks[0].label is hf.Label.proved


def oscillator(program: hf.Program, **more) -> hf.Problem:
    system = hf.System(
        coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2, dissipation=x.rate**2 / 5, **more.pop("system", {})
    )
    return hf.Problem(
        system, program, start={x: 1, x.rate: 1}, run=hf.Run(scheme="rk4", step=0.001, duration=2), **more
    )


def test_an_integral_is_kept_at_what_it_is_where_its_phase_begins():
    keeping = hf.Program(nonholonomic={"e": hf.keep("energy")}, law=hf.critically_damped(5))
    phases = {"free": hf.Phase(program=hf.Program(), lasts=1), "kept": hf.Phase(program=keeping)}
    run = hf.simulate(hf.derive(oscillator(hf.Program(), phases=phases)))
    there = run.parts[0]["energy"][-1]
    assert run.parts[1]["keep_e"][0] == pytest.approx(there)
    assert np.abs(run.parts[1]["energy"] - there).max() < 1e-6
    short = hf.simulate(hf.derive(oscillator(hf.Program())), duration=1)
    carried = short.continued(1, equations=hf.derive(oscillator(keeping)))
    assert carried["energy"][-1] == pytest.approx(short["energy"][-1], abs=1e-6)


ROTOR = """
schema = 1
[system]
coordinates = ["X", "Z", "th"]
kinetic = "X_dot**2/2 + Z_dot**2/2 + th_dot**2/20"
potential = "9.81*Z"
[program.holonomic]
a = "X - 0.2*sin(t)"
b = "Z - 0.3*cos(t)"
[program.controls]
T = { X = "-sin(th)", Z = "cos(th)" }
tau = { th = "1" }
[program.law]
kind = "critically-damped"
rate = 6
[start]
X_dot = 0.2
Z = 0.3
[run]
scheme = "rk4"
step = 0.001
duration = 1
start_policy = "project"
"""


def test_no_formula_is_printed_for_a_control_with_rates_of_its_own():
    equations = hf.derive(hf.loads(ROTOR))
    assert equations.deviations.extensions
    assert not equations.inverse_dynamics


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_a_path_through_a_current_is_judged_by_the_current(scale):
    text = f"""
schema = 1
[system]
coordinates = ["th"]
kinetic = "th_dot**2/2"
[system.forces]
th = "i*{scale!r}"
[system.states]
i = "-i"
[program.holonomic]
path = "th - {scale!r}*sin(2*t)"
[program.controls]
u = {{ i = "1" }}
[program.law]
kind = "critically-damped"
rate = 8
[run]
scheme = "rk4"
step = 0.001
duration = 2
start_policy = "project"
"""
    run = hf.simulate(hf.derive(hf.loads(text)))
    assert run.success, run.message


def test_what_is_held_at_rest_at_the_origin_keeps_its_energy():
    bars = {
        "a": ((x - sp.Rational(3, 10)) ** 2 + (y - sp.Rational(7, 10)) ** 2 - sp.Rational(58, 100)) / 2,
        "b": ((x + sp.Rational(11, 10)) ** 2 + (y - sp.Rational(9, 10)) ** 2 - sp.Rational(202, 100)) / 2,
    }
    system = hf.System(coordinates=(x, y), kinetic=0.35 * (x.rate**2 + y.rate**2), potential=9.81 * 0.7 * y)
    problem = hf.Problem(system, hf.Program(holonomic=bars, law=hf.critically_damped(5)))
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.001, duration=2)
    assert run.success, run.message


def test_more_constraints_than_coordinates_are_borne_at_rest():
    system = hf.System(coordinates=(x, y), kinetic=0.35 * (x.rate**2 + y.rate**2), potential=9.81 * 0.7 * y)
    program = hf.Program(holonomic={"a": x, "b": y, "c": x + y}, law=hf.critically_damped(5))
    at = hf.derive(hf.Problem(system, program)).evaluate()
    assert np.abs(at.accelerations).max() < 1e-12
    assert at.held_forces == pytest.approx([0, 9.81 * 0.7])


def test_a_joined_run_says_whether_it_reached_its_final_time():
    phases = {"only": hf.Phase(until=hf.Event(x.rate, "falling"))}
    run = hf.simulate(hf.derive(oscillator(hf.Program(), phases=phases)))
    assert run.outcome is hf.Outcome.event
    assert run.times[-1] < 2


def test_a_verdict_knows_what_a_later_phase_holds():
    rope = hf.Program(holonomic={"rope": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    phases = {"fly": hf.Phase(until=hf.Event(x**2 + y**2 - 1, "rising")), "swing": hf.Phase(program=rope)}
    problem = hf.Problem(system, start={x.rate: 1}, phases=phases, run=hf.Run(scheme="rk4", step=0.001, duration=1))
    assert "1 fly nothing to hold, 2 swing proved" in hf.study(problem).verdict.line


def test_rests_under_limits_are_refused_by_name():
    problem = hf.Problem(
        hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=-sp.cos(x)),
        hf.Program(holonomic={"p": x - 1}, controls={"F": {x: 1}}, limits={"F": 0.5}, law=hf.critically_damped(3)),
    )
    with pytest.raises(hf.HoldfastError, match="within the limits of F"):
        hf.equilibria(problem)


@pytest.mark.parametrize("rate", ["-i + u**2", "-i + sin(u)", "-i + abs(u)", "-i + 1/u"])
def test_controls_that_are_not_linear_in_a_rate_are_refused(rate):
    text = f"""
schema = 1
[system]
coordinates = ["a"]
kinetic = "a_dot**2/2"
[system.forces]
a = "i"
[system.states]
i = "{rate}"
[program.holonomic]
p = "a - sin(t)"
[program.controls]
u = {{}}
[program.law]
kind = "critically-damped"
rate = 3
"""
    with pytest.raises(hf.HoldfastError, match="not linear"):
        hf.derive(hf.loads(text))


def test_a_start_is_moved_through_states_in_series():
    text = """
schema = 1
[system]
coordinates = ["a"]
kinetic = "a_dot**2/2"
[system.forces]
a = "i1"
[system.states]
i1 = "i2"
i2 = "0"
[program.holonomic]
p = "a - cos(t)"
[program.controls]
u = { i2 = "1" }
[program.law]
kind = "critically-damped"
rate = 6
[run]
scheme = "rk4"
step = 0.001
duration = 1
start_policy = "project"
"""
    run = hf.simulate(hf.derive(hf.loads(text)))
    assert run.success, run.message
    assert np.abs(run["a"] - np.cos(run.times)).max() < 1e-10
    assert run["i1"][0] == pytest.approx(-1)


def test_a_program_on_states_alone_is_held_through_them():
    text = """
schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[system.states]
h1 = "-sqrt(h1)"
h2 = "sqrt(h1) - sqrt(h2)"
[program.nonholonomic]
level = "h2 - 1 - 0.1*sin(t)"
[program.controls]
u = { h1 = "1" }
[program.law]
kind = "critically-damped"
rate = 5
[start]
h1 = 1
h2 = 1
[run]
scheme = "rk4"
step = 0.001
duration = 2
start_policy = "project"
"""
    equations = hf.derive(hf.loads(text))
    assert equations.degrees == {"level": 2}
    run = hf.simulate(equations)
    assert np.abs(run["h2"] - 1 - 0.1 * np.sin(run.times)).max() < 1e-9


def test_a_constraint_that_goes_on_does_not_begin_anew():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    rail = hf.Program(holonomic={"rail": y}, law=hf.critically_damped(1))
    phases = {
        "a": hf.Phase(lasts=1),
        "b": hf.Phase(program=hf.Program(holonomic={"rail": y}, law=hf.critically_damped(9))),
    }
    problem = hf.Problem(
        system, rail, start={x.rate: 1, y: 0.5}, phases=phases,
        run=hf.Run(scheme="rk4", step=0.001, duration=2, start_policy="keep"),
    )  # fmt: skip
    run = hf.simulate(hf.derive(problem))
    assert run.success, run.message
    assert run.parts[1]["y"][0] == run.parts[0]["y"][-1]
    assert not run.impacts


def test_a_run_that_is_carried_on_watches_the_same_events():
    problem = oscillator(hf.Program(), events={"through": x})
    whole = hf.simulate(hf.derive(problem), duration=8)
    carried = hf.simulate(hf.derive(problem), duration=4).continued(4)
    assert carried.events["through"] == pytest.approx(whole.events["through"])


def test_events_of_an_adaptive_ensemble_are_found():
    equations = hf.derive(oscillator(hf.Program(), events={"through": x}))
    many = hf.ensemble(equations, hf.DOP853, tolerance=1e-9, duration=8, cases={"x": [1.0, 0.5]})
    alone = hf.simulate(equations, hf.DOP853, tolerance=1e-9, duration=8)
    assert many.event_times()["through"][0] == pytest.approx(alone.events["through"], abs=1e-8)


def test_an_event_that_one_phase_knows_is_watched_there():
    rope = hf.Program(holonomic={"rope": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    phases = {"swing": hf.Phase(lasts=0.3), "fly": hf.Phase(program=hf.Program())}
    problem = hf.Problem(
        system, rope, start={y: -1, x.rate: 3}, phases=phases, events={"slow": "lambda_rope + 12"},
        run=hf.Run(scheme="rk4", step=0.001, duration=1),
    )  # fmt: skip
    assert len(hf.simulate(hf.derive(problem)).events["slow"]) == 1
    with pytest.raises(hf.HoldfastError, match="lambda_rod"):
        hf.simulate(hf.derive(problem), events={"never": "lambda_rod"})


def test_gains_are_not_tuned_over_phases():
    problem = oscillator(hf.Program(holonomic={"home": x}, law=hf.Tuned()), phases={"a": hf.Phase(lasts=1)})
    with pytest.raises(hf.HoldfastError, match="not tuned over phases"):
        hf.simulate(hf.derive(problem))
    for verb in (hf.certify, hf.tune):
        with pytest.raises(hf.HoldfastError, match="phases"):
            verb(hf.derive(problem))


def test_a_rate_limit_does_not_wind_up_beside_a_limit():
    """Asked for far more than it can, a control at its limit leaves it as soon as less is asked for."""
    program = hf.Program(
        holonomic={"home": x}, controls={"F": {x: 1}}, limits={"F": 6}, law=hf.critically_damped(5),
        sampling=hf.Sampling(step=0.01, rates={"F": 100}),
    )  # fmt: skip
    problem = hf.Problem(
        hf.System(coordinates=(x,), kinetic=x.rate**2 / 2), program, start={x: 1},
        run=hf.Run(scheme="rk4", step=0.01, duration=1),
    )  # fmt: skip
    run = hf.simulate(hf.derive(problem))
    z, force = np.array([1.0, 0.0]), -6.0
    for k in range(100):
        wanted = float(np.clip(-25 * z[0] - 10 * z[1], -6, 6))
        force = wanted if k == 0 else float(np.clip(wanted, force - 1, force + 1))
        z = np.array([z[0] + 0.01 * z[1] + 5e-5 * force, z[1] + 0.01 * force])
    assert run["x"][-1] == pytest.approx(z[0], abs=1e-12)


def test_other_parameters_are_no_work_of_what_holds():
    system = hf.System(
        coordinates=(y,), kinetic=y.rate**2 / 2, potential=hf.parameters("g") * y, parameters={"g": 9.81}
    )
    problem = hf.Problem(system, start={y: 1}, run=hf.Run(scheme="rk4", step=0.001, duration=1))
    run = hf.simulate(hf.derive(problem)).continued(1, parameters={"g": 1.0})
    assert np.abs(run.energy_balance.held).max() == 0
    assert np.abs(run.energy_balance.residual).max() < 1e-9
