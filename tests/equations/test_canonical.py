"""Hamilton's form: the same motion and the same multipliers as Lagrange's, from derivatives of its own."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from numpy.testing import assert_allclose

import holdfast as hf
from tests.equations.mechanisms import example
from tests.properties.strategies import derived, mechanisms

NAMES = sorted(file.stem for file in (Path(hf.__file__).parent / "examples").glob("*.toml"))
x, z = hf.coordinates("x z")


def beside(equations, size):
    """A state beside the start, and a time."""
    at = equations.evaluate()
    shake = np.random.default_rng(4)
    return at.state + size * (1 + np.abs(at.state)) * shake.uniform(-1, 1, len(at.state)), at.time + size


def agree(ours, theirs):
    """Equal to 1e-12 of the largest part that adds up in them."""
    scale = max(1.0, np.abs(theirs.accelerations).max(initial=0.0), np.abs(theirs.mu).max(initial=0.0))
    assert_allclose(ours.accelerations, theirs.accelerations, rtol=0, atol=1e-12 * scale)
    assert_allclose(ours.mu, theirs.mu, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("size", [0.0, 0.01])
@pytest.mark.parametrize("name", NAMES)
def test_every_example_has_the_same_multipliers_and_motion(name, size):
    equations = example(name)
    state, time = beside(equations, size)
    theirs, ours = equations.evaluate(state, time), hf.canonical(equations).evaluate(state, time)
    agree(ours, theirs)
    assert_allclose(ours.rates, theirs.state[len(equations.coordinates) :][: len(ours.rates)], rtol=1e-12, atol=1e-13)
    assert ours.hamiltonian == pytest.approx(theirs.energy, rel=1e-12, abs=1e-12)


@given(mechanisms())
@settings(max_examples=25, deadline=None)
def test_random_mechanisms_have_the_same_multipliers(mechanism):
    equations, theirs = derived(mechanism)
    ours = hf.canonical(equations).evaluate(mechanism.state, mechanism.time)
    scale = 1 + np.abs(theirs.mu).max() + np.abs(theirs.accelerations).max()
    assert_allclose(ours.mu, theirs.mu, rtol=0, atol=1e-10 * scale * theirs.condition)
    assert_allclose(ours.accelerations, theirs.accelerations, rtol=0, atol=1e-10 * scale * theirs.condition)


@pytest.mark.parametrize("name", ["pendulum", "cart_rod", "piston_line", "rocket_ascent", "leaking_pendulum"])
def test_a_run_in_momenta_is_the_run_in_rates(name):
    equations = example(name)
    times = [0, 0.5, 1]
    theirs = hf.simulate(equations, hf.DOP853, tolerance=1e-12, duration=1, at=times)
    ours = hf.simulate_canonical(hf.canonical(equations), hf.DOP853, tolerance=1e-12, duration=1, at=times)
    assert ours.outcome is theirs.outcome
    for column in (*equations.state_names, *equations.holder_names):
        scale = 1 + np.abs(theirs[column]).max()
        assert_allclose(ours[column], theirs[column], rtol=0, atol=1e-9 * scale, err_msg=column)


def test_a_fixed_step_run_shows_momenta_and_names():
    canonical = hf.canonical(example("pendulum"))
    assert len(hf.simulate_canonical(canonical, hf.RK4, step=0.01, duration=1, every=10).times) == 11
    run = hf.simulate_canonical(canonical, hf.RK4, step=0.01, duration=1)
    assert_allclose(run["p_x"], run["x_dot"], rtol=1e-14)  # m = 1
    assert abs(run.energy[-1] - run.energy[0]) < 1e-6
    theirs = hf.simulate(example("pendulum"), hf.RK4, step=0.01, duration=1)
    assert_allclose(run.energy_balance.residual, theirs.energy_balance.residual, rtol=0, atol=1e-10)


def test_the_formulas_are_those_of_the_textbook():
    canonical = hf.canonical(example("pendulum"))
    m, g = hf.parameters("m g")
    p = {name: symbol for name, symbol in canonical.display.symbols.items() if name.startswith("p_")}
    expected = (p["p_x"] ** 2 + p["p_z"] ** 2) / (2 * m) + m * g * z
    assert sp.simplify(canonical.hamiltonian - expected) == 0
    assert canonical.momenta == {"p_x": m * x.rate, "p_z": m * z.rate}
    assert canonical.momentum_rates == {"p_x": 0, "p_z": -g * m}
    assert "p_x' = (x)*lambda_rod" in canonical.summary()
    assert r"\dot{p_{x}}" in canonical.latex()


def test_the_resisting_force_is_that_of_the_flow_not_of_the_momentum():
    """dp/dt = −k v = −k p/m; ∂D/∂p would be k p/m²."""
    m, k = hf.parameters("m k")
    damped = hf.System(
        coordinates=(x,), kinetic=m * x.rate**2 / 2, dissipation=k * x.rate**2 / 2, parameters={m: 4, k: 3}
    )
    at = hf.canonical(hf.derive(hf.Problem(damped))).evaluate({x.rate: 2})
    assert at.momenta == pytest.approx([8])
    assert at.momentum_rates == pytest.approx([-6])


def test_a_relativistic_mass_has_its_own_energy():
    """T* = 0.2, T = 0.25, p = 0.75 at v = 0.6."""
    system = hf.System(coordinates=(x,), kinetic=1 - sp.sqrt(1 - x.rate**2), potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 0.5, x.rate: 0.6}))
    at = hf.canonical(equations).evaluate()
    assert at.momenta == pytest.approx([0.75])
    assert at.hamiltonian == pytest.approx(0.25 + 0.125)
    assert_allclose(at.accelerations, equations.evaluate().accelerations, rtol=1e-12)


def test_a_momentum_does_not_take_a_name_that_is_in_use():
    p_x = hf.parameters("p_x")
    system = hf.System(coordinates=(x,), kinetic=p_x * x.rate**2 / 2, parameters={p_x: 2})
    assert hf.canonical(hf.derive(hf.Problem(system))).momentum_names == ("momentum_x",)


def test_what_has_no_canonical_form_is_refused():
    massless = hf.System(coordinates=(x, z), kinetic=x.rate**2 / 2)
    held = hf.derive(hf.Problem(massless, hf.Program(holonomic={"join": x - z})))
    with pytest.raises(hf.BadStatement, match="'z' has no inertia"):
        hf.canonical(held)
    burning = hf.MovingMass(position=(x,), mass=5 - x.rate / 9, streams=hf.Stream(velocity=(1,)))
    with pytest.raises(hf.BadStatement, match="depends on rates"):
        hf.canonical(hf.derive(hf.Problem(hf.System(coordinates=(x,), masses={"p": burning}))))
    odd = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2 + x.rate**4 / 4 + sp.cosh(x.rate))
    with pytest.raises(hf.BadStatement, match="cannot be solved for the rates"):
        hf.canonical(hf.derive(hf.Problem(odd)))
    with pytest.raises(hf.BadRequest):
        hf.canonical(3)
    with pytest.raises(hf.BadRequest):
        hf.simulate_canonical(held)


def test_the_canonical_form_keeps_undetermined_functions():
    x, y = hf.coordinates("x y")
    m = hf.parameters("m")
    eta, U = hf.functions("eta"), hf.function("U", of=(x, y))
    system = hf.System(coordinates=(x, y), kinetic=m * (x.rate**2 + eta**2 * y.rate**2) / 2, potential=U)
    found = hf.canonical(hf.derive(hf.Problem(system)))
    text = found.summary()
    assert "U + p_x^2/(2*m) + p_y^2/(2*m*eta^2)" in text
    assert "p_y' = -diff(U, y)" in text


@pytest.mark.parametrize("speed", [0.5, 3e4])
def test_momenta_of_another_power_are_solved_at_any_speed(speed):
    """T = v⁴/4: of the roots of p = v³ the real one gives the rates back, slow or fast."""
    free = hf.derive(hf.Problem(hf.System(coordinates=x, kinetic=x.rate**4 / 4), start={x: 1.0, x.rate: speed}))
    form = hf.canonical(free)
    assert form.evaluate().rates == pytest.approx([speed], rel=1e-9)
    assert form.evaluate().hamiltonian == pytest.approx(3 * speed**4 / 4, rel=1e-9)
