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
    if equations.deviations.degrees:
        with pytest.raises(hf.BadRequest, match="canonical forms are written up to degree 2"):
            hf.canonical(equations)
        return
    if equations.problem.system.spun:
        with pytest.raises(hf.BadRequest, match="is a spin"):
            hf.canonical(equations)
        return
    if name == "slide_with_friction" or equations.problem.program.shortfall:
        with pytest.raises(hf.BadRequest, match=r"forces use lambda_slide|the law holds only"):
            hf.canonical(equations)
        return
    state, time = beside(equations, size)
    theirs, ours = equations.evaluate(state, time), hf.canonical(equations).evaluate(state, time)
    if equations.solver.form == "redundant":  # rows that repeat each other, met in the least mean square
        assert_allclose(ours.accelerations, theirs.accelerations, rtol=1e-6)
        return
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
    odd = hf.System(
        coordinates=(x,), kinetic=sp.cos(x.rate)
    )  # p = −sin v, with v in another branch than the one from rest
    with pytest.raises(hf.BadStatement, match="cannot be solved for the rates"):
        hf.canonical(hf.derive(hf.Problem(odd, start={x.rate: 10})))
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


# ---------------------------------------------------------------- short formulas


def test_the_carts_hamiltonian_is_shorter_than_sympys():
    """286 operations by elimination, 58 after SymPy's simplify; by hand ½ pᵀ adj(M) p / det M + m₂ g l sin φ."""
    canonical = hf.canonical(example("cart_rod"))
    m1, m2, l, g = hf.parameters("m1 m2 l g")
    _, phi = hf.coordinates("x phi")
    p = sp.Matrix([symbol for name, symbol in canonical.display.symbols.items() if name.startswith("p_")])
    M = sp.Matrix([[m1 + m2, -m2 * l * sp.sin(phi)], [-m2 * l * sp.sin(phi), sp.Rational(4, 3) * m2 * l**2]])
    by_hand = (p.T * M.inv() * p)[0] / 2 + m2 * g * l * sp.sin(phi)
    assert sp.simplify(canonical.hamiltonian - by_hand) == 0
    assert sp.count_ops(canonical.hamiltonian) <= 58
    rates = canonical.momentum_rates
    assert rates["p_x"] == 0
    assert sp.simplify(rates["p_phi"] + sp.diff(by_hand, phi)) == 0
    assert all(sp.simplify(v - w) == 0 for v, w in zip(canonical.coordinate_rates.values(), M.inv() * p, strict=True))


@pytest.mark.parametrize("name", ["bead_on_hoop", "burning_rod", "skate", "transducer", "rope_pickup", "double"])
def test_shown_formulas_are_what_is_computed(name):
    from tests.equations.mechanisms import double_pendulum

    canonical = hf.canonical(double_pendulum() if name == "double" else example(name))
    agrees = canonical.display.agrees
    assert agrees(canonical.hamiltonian, canonical.energy)
    for shown, nodes in (
        (canonical.coordinate_rates, canonical.rates),
        (canonical.momentum_rates, canonical.free_rates),
    ):
        assert all(agrees(formula, node) for formula, node in zip(shown.values(), nodes, strict=True))


def test_the_relativistic_hamiltonian_is_the_textbooks():
    system = hf.System(coordinates=(x,), kinetic=1 - sp.sqrt(1 - x.rate**2))
    canonical = hf.canonical(hf.derive(hf.Problem(system, start={x.rate: 0.6})))
    (p,) = (symbol for name, symbol in canonical.display.symbols.items() if name == "p_x")
    assert canonical.hamiltonian == sp.sqrt(p**2 + 1) - 1


# ---------------------------------------------------------------- momenta that are not linear in the rates


def quartic(a=1, c=1, b=0):
    return hf.System(
        coordinates=(x,), kinetic=a * x.rate**2 / 2 + c * x.rate**4 / 4 + b * x * x.rate, potential=x**2 / 2
    )


@pytest.mark.parametrize("v", [0.0, 1e-9, -0.6, 0.6, 40.0, -3e4])
@pytest.mark.parametrize(("a", "c", "b"), [(1, 1, 0), (2, 0.3, 1), (1, 1 + x**2, 0)])
def test_a_quartic_energy_has_its_real_branch_in_closed_form(a, c, b, v):
    """p = a v + c v³ + b x has one real root, at rest and on both sides."""
    equations = hf.derive(hf.Problem(quartic(a, c, b), start={x: 0.3, x.rate: 0.6}))
    canonical = hf.canonical(equations)
    assert canonical.closed
    assert not any(formula.has(sp.I) for formula in canonical.coordinate_rates.values())
    state = {x: 0.3, x.rate: v}
    theirs, ours = equations.evaluate(state), canonical.evaluate(state)
    assert ours.rates[0] == pytest.approx(v, rel=1e-13, abs=1e-16 * abs(0.3 * b))  # p − b x is rounded
    assert ours.accelerations == pytest.approx(theirs.accelerations, rel=1e-12)
    assert ours.hamiltonian == pytest.approx(theirs.energy, rel=1e-12)
    (shown,) = canonical.coordinate_rates.values()
    numbers = {"x": 0.3, "p_x": ours.momenta[0]}
    value = shown.subs({symbol: numbers[symbol.name] for symbol in shown.free_symbols})
    assert float(value) == pytest.approx(v, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("program", [None, hf.Program(holonomic={"line": x - 2 * z}, law=hf.critically_damped(3))])
def test_by_newtons_method_the_motion_is_lagranges(program):
    square = x.rate**2 + z.rate**2
    system = hf.System(
        coordinates=(x, z),
        kinetic=square / 2 + square**2 / 4 + x.rate * z.rate * sp.cos(x) / 5 + sp.cosh(z.rate),
        potential=x**2 + z,
        dissipation=square / 10,
    )
    start = {x: 0.4, z: 0.2, x.rate: 0.8, z.rate: 0.4}
    equations = hf.derive(hf.Problem(system, program or hf.Program(), start=start))
    canonical = hf.canonical(equations)
    assert not canonical.closed
    assert "solved for by Newton's method" in canonical.summary()
    state, time = beside(equations, 0.05)
    theirs, ours = equations.evaluate(state, time), canonical.evaluate(state, time)
    agree(ours, theirs)
    assert_allclose(ours.rates, theirs.state[2:4], rtol=1e-13)
    assert ours.hamiltonian == pytest.approx(theirs.energy, rel=1e-12)
    runs = [
        hf.simulate(which, hf.DOP853, tolerance=1e-12, duration=2, at=[0, 1, 2]) for which in (equations, canonical)
    ]
    for column in equations.state_names:
        assert_allclose(runs[1][column], runs[0][column], rtol=0, atol=1e-9)


def test_where_newtons_method_does_not_arrive_nothing_is_made_up():
    """sinh v = p from v = 0 takes p steps: far beyond the start there is no number rather than a wrong one."""
    system = hf.System(coordinates=(x,), kinetic=sp.cosh(x.rate) + x.rate**4 / 4)
    canonical = hf.canonical(hf.derive(hf.Problem(system, start={x.rate: 0.5})))
    found = [canonical.evaluate({x.rate: v}).rates[0] for v in (0.5, 3.0, 60.0)]
    assert found[:2] == pytest.approx([0.5, 3.0], rel=1e-13)
    assert np.isnan(found[2])


@pytest.mark.parametrize("speed", [0.5, 3e4])
def test_momenta_of_another_power_are_solved_at_any_speed(speed):
    """T = v⁴/4: of the roots of p = v³ the real one gives the rates back, slow or fast."""
    free = hf.derive(hf.Problem(hf.System(coordinates=x, kinetic=x.rate**4 / 4), start={x: 1.0, x.rate: speed}))
    form = hf.canonical(free)
    assert form.evaluate().rates == pytest.approx([speed], rel=1e-9)
    assert form.evaluate().hamiltonian == pytest.approx(3 * speed**4 / 4, rel=1e-9)
