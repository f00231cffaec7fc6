"""Where the origin lies, how a start is rounded and whether anything moves change no judgement."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

x, z, u, v = hf.coordinates("x z u v")


def pendulum(origin, *, losses=0.5):
    system = hf.System(
        coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=sp.Rational(981, 100) * z,
        dissipation=losses * (x.rate**2 + z.rate**2) / 2,
    )  # fmt: skip
    program = hf.Program(
        holonomic={"rod": ((x - origin) ** 2 + z**2 - 1) / 2}, law=hf.SpringDamper(stiffness=25, damping=10)
    )
    return hf.derive(hf.Problem(system, program, start={x: origin + 1, z: 0}))


@pytest.mark.parametrize("origin", [0, 1000, 6371000])
def test_a_rod_that_grows_is_told_wherever_the_origin_lies(origin):
    run = hf.simulate(pendulum(origin), hf.Euler, step=0.05, duration=10)
    assert np.abs(run["y_rod"]).max() > 1
    assert not run.success
    cases = hf.ensemble(pendulum(origin), hf.Euler, step=0.05, duration=10, cases={"z_dot": [0.0, 0.0]})
    assert not cases.success.any()


@pytest.mark.parametrize("origin", [0, 1000, 6371000])
def test_a_rod_that_is_kept_is_told_wherever_the_origin_lies(origin):
    equations = pendulum(origin).with_law(hf.critically_damped(5))
    assert hf.simulate(equations, hf.RK4, step=0.005, duration=5).success


@pytest.mark.parametrize("origin", [0, 6371000])
def test_a_stated_start_off_the_program_is_refused_wherever_the_origin_lies(origin):
    start = {x: origin + 1.25, z: 0}
    for policy in (None, "raise"):
        with pytest.raises(hf.BadRequest):
            hf.simulate(pendulum(origin), hf.RK4, step=0.01, duration=1, start=start, start_policy=policy)


@pytest.mark.parametrize("begin", [0.0, 1.7e9])
def test_a_servo_off_its_path_is_off_it_at_any_time_of_day(begin):
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2)
    path = {"path": x - (hf.time - sp.Integer(int(begin)))}
    program = hf.Program(holonomic=path, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program, start={x: 1, x.rate: 1}, run=hf.Run(begin=begin)))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1)
    assert not run.start.on_program
    assert run.success


@pytest.mark.parametrize("digits", [4, 6, 8, 10])
def test_a_start_in_rounded_decimals_is_meant_to_be_on_the_program(digits):
    value = round(float(np.sqrt(0.5)), digits)
    run = hf.simulate(pendulum(0), hf.RK4, step=0.005, duration=1, start={x: value, z: -value})
    assert run.start.on_program
    assert abs(run["x"][0] - value) < 10.0**-digits
    assert set(run.start.moved) <= {"x", "z"}


def test_what_is_meant_is_not_moved():
    with pytest.raises(hf.BadRequest, match="contradict"):
        hf.simulate(pendulum(0), hf.RK4, step=0.005, duration=1, start={x: 0.7, z: -0.7})


def test_a_chain_at_rest_is_no_failure():
    length = sp.Rational(7, 10)
    rods = {"one": (x**2 + z**2 - length**2) / 2, "two": ((u - x) ** 2 + (v - z) ** 2 - length**2) / 2}
    kinetic = (x.rate**2 + z.rate**2 + u.rate**2 + v.rate**2) / 2
    system = hf.System(coordinates=(x, z, u, v), kinetic=kinetic, potential=sp.Rational(981, 100) * (z + v))
    program = hf.Program(holonomic=rods, law=hf.critically_damped(5))
    start = {x: 0, z: -length, u: 0, v: -2 * length}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, step=0.01, duration=5)
    assert run.success
    assert hf.report(run).word != "failed"


def test_a_mass_at_rest_on_its_spring_has_no_state_error_worth_a_word():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=37 * x**2 / 2 + sp.Rational(981, 100) * x)
    start = {x: -sp.Rational(981, 3700)}
    run = hf.simulate(hf.derive(hf.Problem(system, start=start)), hf.RK4, step=0.01, duration=5)
    assert not run.state_error.large


def test_a_speed_that_stays_is_measured_by_itself():
    """A free wheel turns at 6 for ever; an error of 1e-9 of it is no doubt."""
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2, potential=sp.cos(x) / 10**6)
    run = hf.simulate(hf.derive(hf.Problem(system, start={x.rate: 6, z.rate: 1})), hf.RK4, step=0.05, duration=10)
    assert not run.state_error.large


def test_a_damped_oscillator_beyond_its_limit_is_told():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=2500 * x**2 / 2, dissipation=x.rate**2 / 20)
    run = hf.simulate(hf.derive(hf.Problem(system, start={x: 1})), hf.RK4, step=0.1, duration=5)
    assert np.abs(run["x"]).max() > 1e6
    assert not run.success


@pytest.mark.parametrize("speed", [0, 5300])
def test_a_rod_that_grows_is_told_however_the_whole_moves(speed):
    kinetic = (x.rate**2 + z.rate**2 + u.rate**2 + v.rate**2) / 2
    system = hf.System(coordinates=(x, z, u, v), kinetic=kinetic)
    rod = {"rod": ((u - x) ** 2 + (v - z) ** 2 - 1) / 2}
    program = hf.Program(holonomic=rod, law=hf.Unstabilised())
    start = {u: 1, v: 0, x: 0, z: 0, x.rate: speed, u.rate: speed, z.rate: speed - 2, v.rate: speed + 2}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.Euler, step=0.05, duration=10)
    assert np.abs(run["y_rod"]).max() > 1
    assert not run.success


def test_a_light_oscillator_beside_a_heavy_mass_is_judged_by_itself():
    m = sp.Rational(1, 1000)
    kinetic = 500 * x.rate**2 + m * z.rate**2 / 2
    system = hf.System(coordinates=(x, z), kinetic=kinetic, potential=m * 900 * z**2 / 2)
    run = hf.simulate(hf.derive(hf.Problem(system, start={x.rate: 30, z: 0.0045})), hf.RK4, step=0.05, duration=10)
    assert run.state_error.large


def test_a_mechanism_at_rest_without_weight_is_no_failure():
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2)
    program = hf.Program(holonomic={"slope": z - 0.3 * x - 0.1}, law=hf.critically_damped(5))
    run = hf.simulate(hf.derive(hf.Problem(system, program, start={x: 0.7})), hf.RK4, step=0.01, duration=5)
    assert run.success


def test_a_servo_that_starts_off_its_path_by_its_decimals_is_off():
    path = {"path": x - 1234.46 - sp.sin(hf.time) / 20}
    program = hf.Program(holonomic=path, controls={"F": {x: 1}}, law=hf.critically_damped(5))
    problem = hf.Problem(hf.System(coordinates=x, kinetic=x.rate**2 / 2), program, start={x: 1234.5, x.rate: 0.05})
    assert not hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=1).start.on_program


def test_a_start_kept_off_on_purpose_is_brought_back_without_blame():
    program = hf.Program(holonomic={"path": x - sp.sin(hf.time)}, law=hf.critically_damped(5))
    problem = hf.Problem(hf.System(coordinates=x, kinetic=x.rate**2 / 2), program, start={x: 0.3, x.rate: 1})
    assert hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=5, start_policy="keep").success


def test_damping_stated_as_a_force_does_not_hide_a_blow_up():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=2500 * x**2 / 2, forces={x: -x.rate / 10})
    run = hf.simulate(hf.derive(hf.Problem(system, start={x: 1})), hf.RK4, step=0.1, duration=5)
    assert not run.success


def test_rows_that_come_to_share_a_plane_are_no_first_integrals():
    """A force that acts later makes two kept sums no integrals of the motion: they are held to the letter."""
    weight = sp.Rational(981, 100) * (x + z + u)
    system = hf.System(
        coordinates=(x, z, u), kinetic=(x.rate**2 + z.rate**2 + u.rate**2) / 2, potential=weight,
        forces={x: 30 * sp.Max(-1 - x, 0)},
    )  # fmt: skip
    rows = {"one": x.rate - z.rate, "two": x.rate - sp.Rational(7, 5) * z.rate + sp.Rational(2, 5) * u.rate}
    program = hf.Program(nonholonomic=rows, law=hf.critically_damped(5))
    equations = hf.derive(hf.Problem(system, program))
    assert equations.solver.form != "eased"
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=1)
    assert run["x"][-1] == pytest.approx(run["u"][-1], abs=1e-6)
