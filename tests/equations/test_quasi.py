"""Quasi-velocities: the same motion and the same multipliers, from the energies in other velocities."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.quasi.hamel import boltzmann_hamel, projected
from holdfast.graph.arithmetics.tape import Tape
from tests.equations.mechanisms import example
from tests.properties.strategies import derived, mechanisms

NAMES = sorted(file.stem for file in (Path(hf.__file__).parent / "examples").glob("*.toml"))
psi, theta, phi, x, y = hf.coordinates("psi theta phi x y")
I1, I2, I3 = hf.parameters("I1 I2 I3")
SPINS = {
    "w1": psi.rate * sp.sin(theta) * sp.sin(phi) + theta.rate * sp.cos(phi),
    "w2": psi.rate * sp.sin(theta) * sp.cos(phi) - theta.rate * sp.sin(phi),
    "w3": psi.rate * sp.cos(theta) + phi.rate,
}


def body(kinetic=None, **more):
    """A free rigid body in Euler angles; its kinetic energy by its spins, or in another form."""
    spins = (I1 * SPINS["w1"] ** 2 + I2 * SPINS["w2"] ** 2 + I3 * SPINS["w3"] ** 2) / 2
    system = hf.System(
        coordinates=(psi, theta, phi),
        kinetic=spins if kinetic is None else kinetic(spins),
        parameters={I1: 1, I2: 2, I3: 3},
        **more,
    )
    # w = (1, 0, 1) at theta = 1, phi = 0
    start = {theta: 1, theta.rate: 1, psi.rate: 0, phi.rate: 1}
    return hf.derive(hf.Problem(system, start=start))


def mixed(equations):
    """Velocities that mix all rates, with factors of coordinates and time."""
    q = equations.problem.system.coordinates
    return {
        f"u{i}": (2 + sp.sin(c)) * c.rate
        + q[i - 1].rate * (q[i - 1] ** 2 / 9 + hf.time / 8) / (3 + i)
        + c * hf.time / 7
        for i, c in enumerate(q)
    }


def beside(equations, size):
    at = equations.evaluate()
    shake = np.random.default_rng(4)
    return at.state + size * (1 + np.abs(at.state)) * shake.uniform(-1, 1, len(at.state)), at.time + size


@pytest.mark.parametrize("kinetic", [None, sp.expand], ids=["in spins", "written out"])
def test_a_body_with_its_spins_obeys_eulers_equations(kinetic):
    form = hf.quasi(body(kinetic), SPINS)
    w1, w2, w3 = (form.display.symbols[name] for name in SPINS)
    assert form.mass_matrix == sp.diag(I1, I2, I3)
    euler = sp.Matrix([(I2 - I3) * w2 * w3, (I3 - I1) * w3 * w1, (I1 - I2) * w1 * w2])
    assert (form.bias - euler).applyfunc(sp.expand) == sp.zeros(3, 1)
    assert "I1*w1' = w2*w3*(I2 - I3)" in form.summary()
    assert r"I_{1} \dot{w}_{1} = " in form.latex()
    assert form.to_dict()["mass_matrix"][0] == ["I1", "0", "0"]
    assert sp.simplify(form.coordinate_rates["psi"] - (w1 * sp.sin(phi) + w2 * sp.cos(phi)) / sp.sin(theta)) == 0


def test_a_free_body_spins_as_the_elliptic_functions_say():
    """I = (1, 2, 3), w = (1, 0, 1): cn, sn, dn with k² = 1/3 give w(5)."""
    run = hf.simulate(hf.quasi(body(), SPINS), hf.DOP853, tolerance=1e-13, duration=5, at=[0, 5])
    found = [run[name][-1] for name in SPINS]
    assert_allclose(found, [-0.164350429765, -0.986402015527, 0.821991699829], rtol=0, atol=1e-10)


def test_a_body_moves_in_spins_as_in_angles():
    """With gravity, a spring and damping, and held by a program."""
    forces = {"potential": sp.cos(theta) / 2 + psi**2 / 3, "dissipation": phi.rate**2 / 9}
    free = body(**forces)
    program = hf.Program(holonomic={"tilt": theta - 1 - hf.time**2 / 40}, law=hf.critically_damped(3))
    held = hf.derive(hf.Problem(free.problem.system, program, start={theta: 1, psi.rate: 0.4, phi.rate: 2}))
    for equations in (free, held):
        times = [0, 0.5, 1, 1.5]
        theirs = hf.simulate(equations, hf.DOP853, tolerance=1e-13, duration=1.5, at=times)
        ours = hf.simulate(hf.quasi(equations, SPINS), hf.DOP853, tolerance=1e-13, duration=1.5, at=times)
        assert ours.outcome is theirs.outcome is hf.Outcome.completed
        for column in (*equations.state_names, *equations.holder_names, "energy", "power_held"):
            assert_allclose(ours[column], theirs[column], rtol=0, atol=1e-10, err_msg=column)


REFUSED = {
    "servo_arm": "through a first-order state",
    "slide_with_friction": "forces use lambda_slide",
    "weak_motor": "the law holds only within the limits",
    "wrong_payload": "the law holds only within the limits",
}


@pytest.mark.parametrize("size", [0.0, 0.01])
@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_the_same_multipliers_and_motion(name, size):
    equations = example(name)
    if name in REFUSED:
        with pytest.raises(hf.BadRequest, match=REFUSED[name]):
            hf.quasi(equations, mixed(equations))
        return
    if equations.problem.system.spun or equations.solver.form == "redundant":
        with pytest.raises((hf.BadRequest, hf.ConstraintsDependent), match=r"is a spin|repeats"):
            hf.quasi(equations, mixed(equations))
        return
    state, time = beside(equations, size)
    theirs, ours = equations.evaluate(state, time), hf.quasi(equations, mixed(equations)).evaluate(state, time)
    scale = max(1.0, np.abs(theirs.accelerations).max(initial=0.0), np.abs(theirs.mu).max(initial=0.0))
    assert_allclose(ours.accelerations, theirs.accelerations, rtol=0, atol=1e-11 * scale)
    assert_allclose(ours.mu, theirs.mu, rtol=0, atol=1e-11 * scale)
    assert_allclose(ours.rates, theirs.state[len(equations.coordinates) :][: len(ours.rates)], rtol=1e-12, atol=1e-13)


@given(mechanisms())
@settings(max_examples=8, deadline=None)
def test_random_mechanisms_have_the_same_motion(mechanism):
    try:
        equations, theirs = derived(mechanism)
    except hf.ConstraintsDependent:  # at this very state
        assume(False)
    ours = hf.quasi(equations, mixed(equations)).evaluate(mechanism.state, mechanism.time)
    scale = 1 + np.abs(theirs.mu).max() + np.abs(theirs.accelerations).max()
    assert_allclose(ours.accelerations, theirs.accelerations, rtol=0, atol=1e-9 * scale * theirs.condition)


def test_differentiation_and_projection_give_the_same_terms():
    kinematics = hf.quasi(body(potential=sp.sin(theta)), SPINS).kinematics
    inputs = (*kinematics.equations.inputs.q, *kinematics.u, *kinematics.equations.inputs.parameters.values())
    at = [0.3, 0.9, -0.4, 0.7, -1.1, 0.5, 1, 2, 3]
    zero = kinematics.u[0].graph.zero
    found = []
    for mass, bias in (boltzmann_hamel(kinematics), projected(kinematics)):
        nodes = [row.get(j, zero) for row in mass for j in range(3)] + bias
        found.append(Tape(inputs, tuple(nodes))(at))
    assert_allclose(found[0], found[1], rtol=0, atol=1e-13)


def test_what_is_missing_is_filled_with_rates():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + x**2 * y.rate**2) / 2)
    form = hf.quasi(hf.derive(hf.Problem(system, start={x: 1, y.rate: 2})), {"areal": x**2 * y.rate})
    assert form.velocity_names == ("areal", "u_x")
    areal = form.display.symbols["areal"]
    assert form.mass_matrix.inv() * form.bias == sp.Matrix([0, areal**2 / x**3])  # areal is constant


def test_a_start_may_be_given_in_quasi_velocities():
    form = hf.quasi(body(), SPINS)
    start = {theta: 0.8, phi: 0.4, "w1": 1, "w3": -2}
    at = form.evaluate(start)
    assert_allclose(at.velocities, [1, 0, -2], rtol=0, atol=1e-15)
    assert_allclose(at.velocity_rates, [0, (3 - 1) * -2 * 1 / 2, 0], rtol=0, atol=1e-14)  # I2 w2' = (I3 - I1) w3 w1
    run = hf.simulate(form, hf.RK4, step=0.01, duration=0.1, start=start)
    assert_allclose([run[name][0] for name in SPINS], [1, 0, -2], rtol=0, atol=1e-15)
    with pytest.raises(hf.BadRequest, match="both the rate 'psi_dot' and the quasi-velocity 'w1'"):
        form.evaluate({"w1": 1, psi.rate: 2})
    with pytest.raises(hf.BadRequest, match="do not give the rates"):
        form.evaluate({theta: 0, "w1": 1})


def test_letters_stay_letters():
    spins = (I1 * SPINS["w1"] ** 2 + I2 * SPINS["w2"] ** 2 + I3 * SPINS["w3"] ** 2) / 2
    form = hf.quasi(hf.derive(hf.Problem(hf.System(coordinates=(psi, theta, phi), kinetic=spins))), SPINS)
    assert form.mass_matrix == sp.diag(I1, I2, I3)
    with pytest.raises(hf.OpenLetters, match="I1"):
        form.evaluate()


def test_a_velocity_may_contain_a_state():
    """The momentum of a mass that burns away, as a velocity: what leaves is stopped in space."""
    s = hf.states("s")
    system = hf.System(coordinates=(x,), kinetic=s * x.rate**2 / 2, potential=3 * x, states={s: -s / 4 - x.rate / 9})
    equations = hf.derive(hf.Problem(system, start={s: 2, x.rate: 1}))
    form = hf.quasi(equations, {"p": s * x.rate})
    assert form.evaluate().velocity_rates == pytest.approx([-3])  # Lagrange: p' = -dP/dx
    theirs = hf.simulate(equations, hf.DOP853, tolerance=1e-12, duration=1, at=[0, 1])
    ours = hf.simulate(form, hf.DOP853, tolerance=1e-12, duration=1, at=[0, 1])
    for name in equations.state_names:
        assert_allclose(ours[name], theirs[name], rtol=0, atol=1e-10)


def test_velocities_that_say_nothing_are_refused():
    equations = body()
    for given_, words in (
        ({"w": psi.rate**2}, "not linear"),
        ({"w": psi}, "contains no rate"),
        ({"psi": phi.rate}, "is taken"),
        ({"energy": phi.rate}, "is taken"),
        ({"a": phi.rate, "b": 2 * phi.rate}, "depend on each other"),
        ({}, "no quasi-velocities"),
    ):
        with pytest.raises(hf.BadStatement, match=words):
            hf.quasi(equations, given_)
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.quasi(equations.problem, SPINS)
    with pytest.raises(hf.BadRequest, match="takes no law"):
        hf.simulate(hf.quasi(equations, SPINS), hf.RK4, step=0.1, duration=1, law=hf.Unstabilised())


def test_a_run_ends_where_the_spins_no_longer_give_the_rates():
    """Euler angles fail at theta = 0, and the run says so."""
    start = {theta: 0.5, theta.rate: -1, phi.rate: 0}
    run = hf.simulate(hf.quasi(body(), SPINS), hf.RK4, step=0.01, duration=1, start=start)
    assert not run.success
    assert run.times[-1] < 0.52
