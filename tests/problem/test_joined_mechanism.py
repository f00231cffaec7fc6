"""Elements that join a mechanism, and sources that are controls."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

L, R, K, m, g, l, b, C = hf.parameters("L R K m g l b C")
u = hf.controls("u")
th = hf.coordinates("th")
ARM = hf.System(
    coordinates=(th,),
    kinetic=m * l**2 * th.rate**2 / 2,
    potential=-m * g * l * sp.cos(th),
    dissipation=b * th.rate**2 / 2,
    parameters={m: 1, g: 9.81, l: 0.5, b: 0.1},
)
RUN = hf.Run(scheme="rk4", step=0.001, duration=2, start_policy="project")


def motor(coil: bool = True, **more):
    """An arm on the shaft of a motor, whose voltage is the control."""
    elements = {
        "wire": hf.Resistance("electrical", R, ("b", "c")),
        "supply": hf.Source("electrical", u, ("ground", "a" if coil else "b")),
        "motor": hf.Gyrator(K, ("electrical", ("c", "ground")), ("rotation", "th")),
    }
    if coil:
        elements["coil"] = hf.Inertia("electrical", L, ("a", "b"))
    return hf.assemble(elements, parameters={L: 0.5, R: 1, K: 2}, **more)


def test_a_motor_joins_an_arm_in_one_statement():
    made = motor(system=ARM)
    path = 1 - sp.cos(hf.time)
    problem = made.problem(hf.critically_damped(5), holonomic={"path": th - path}, run=RUN)
    equations = hf.derive(problem)
    assert equations.degrees == {"path": 3}
    run = hf.simulate(equations)
    t = run.times
    torque = 0.25 * np.cos(t) + 0.1 * np.sin(t) + 9.81 * 0.5 * np.sin(1 - np.cos(t))
    rate = -0.25 * np.sin(t) + 0.1 * np.cos(t) + 9.81 * 0.5 * np.cos(1 - np.cos(t)) * np.sin(t)
    assert np.abs(run["q_coil_dot"] - torque / 2).max() < 1e-9
    assert np.abs(run["u"] - (0.5 * rate / 2 + torque / 2 + 2 * np.sin(t))).max() < 1e-8
    assert hf.loads(hf.dumps(problem)) == problem


def test_without_a_coil_the_voltage_is_a_torque_at_once():
    made = motor(coil=False, system=ARM)
    problem = made.problem(hf.critically_damped(5), holonomic={"path": th - (1 - sp.cos(hf.time))}, run=RUN)
    equations = hf.derive(problem)
    assert equations.degrees == {"path": 2}
    run = hf.simulate(equations)
    t = run.times
    torque = 0.25 * np.cos(t) + 0.1 * np.sin(t) + 9.81 * 0.5 * np.sin(1 - np.cos(t))
    assert np.abs(run["u"] - (torque / 2 + 2 * np.sin(t))).max() < 1e-9


def test_a_control_drives_a_network_through_its_states():
    elements = {
        "wire": hf.Resistance("electrical", R, ("a", "c")),
        "cap": hf.Compliance("electrical", C, ("c", "ground")),
        "supply": hf.Source("electrical", u, ("ground", "a")),
    }
    made = hf.assemble(elements, parameters={R: 1, C: 2}, system=ARM)
    assert made.controls == {"u": {}}
    charge = made.displacements["cap"]
    problem = made.problem(hf.critically_damped(5), nonholonomic={"charge": charge - sp.sin(hf.time)}, run=RUN)
    run = hf.simulate(hf.derive(problem))
    assert np.abs(run["u"] - (np.cos(run.times) + np.sin(run.times) / 2)).max() < 1e-9


def test_the_mechanism_keeps_what_it_says_of_itself():
    made = motor(system=ARM)
    assert made.system.potential == ARM.potential
    assert made.system.coordinates[0] == th
    assert dict(made.system.parameters) == {**dict(ARM.parameters), "L": sp.Rational(1, 2), "R": 1, "K": 2}


def test_a_parameter_given_twice_and_not_alike_is_refused():
    with pytest.raises(hf.HoldfastError, match="'K' is given twice"):
        motor(system=hf.System(coordinates=(th,), kinetic=K * th.rate**2, parameters={K: 3}))


def test_a_charge_and_a_coordinate_of_one_name_are_refused():
    q = hf.coordinates("q_coil")
    with pytest.raises(hf.HoldfastError, match="a charge of electrical elements"):
        motor(system=hf.System(coordinates=(q, th), kinetic=q.rate**2 + th.rate**2))


def test_what_is_no_system_is_refused():
    with pytest.raises(hf.HoldfastError, match="is not a System"):
        motor(system="arm")
