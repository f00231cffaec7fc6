"""Maggi's and Appell's equations: the motion of the multiplier form, without its reactions."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import assume, given, settings
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.graph.nodes import operation_count
from tests.equations.mechanisms import example
from tests.properties.strategies import derived, mechanisms

NAMES = sorted(file.stem for file in (Path(hf.__file__).parent / "examples").glob("*.toml"))
x, y, z, th, psi, phi = hf.coordinates("x y z th psi phi")
m, I, a, g, R, A, C = hf.parameters("m I a g R A C")
SPEEDS = {"v": x.rate * sp.cos(th) + y.rate * sp.sin(th), "w": th.rate}


def sleigh(**start):
    """Chaplygin's sleigh: a blade at (x, y), the centre of mass ahead of it by a."""
    across = x.rate - a * th.rate * sp.sin(th), y.rate + a * th.rate * sp.cos(th)
    system = hf.System(
        coordinates=(x, y, th),
        kinetic=m * (across[0] ** 2 + across[1] ** 2) / 2 + I * th.rate**2 / 2,
        parameters={m: 2, I: sp.Rational(3, 10), a: sp.Rational(2, 5)},
    )
    blade = hf.Program(nonholonomic={"blade": y.rate * sp.cos(th) - x.rate * sp.sin(th)}, law=hf.critically_damped(2))
    turn, speed = sp.Rational(7, 10), sp.Rational(11, 10)
    begin = {th: turn, th.rate: -0.9, x.rate: speed * sp.cos(turn), y.rate: speed * sp.sin(turn)}
    return hf.derive(hf.Problem(system, blade, start=begin | start))


def coin():
    """A disc that rolls on a plane, leaning by th, heading psi, turned by phi; x and y are of its centre."""
    ahead = sp.Matrix([sp.cos(psi), sp.sin(psi), 0])
    up = sp.Matrix([sp.sin(psi) * sp.sin(th), -sp.cos(psi) * sp.sin(th), sp.cos(th)])
    normal = ahead.cross(up).applyfunc(sp.simplify)
    spin = psi.rate * sp.Matrix([0, 0, 1]) + th.rate * ahead + phi.rate * normal
    rolling = spin.cross(R * up)
    turning = [A * spin.dot(ahead) ** 2, A * spin.dot(up) ** 2, C * spin.dot(normal) ** 2]
    rise = -R * th.rate * sp.sin(th)
    system = hf.System(
        coordinates=(x, y, psi, th, phi),
        kinetic=m * (x.rate**2 + y.rate**2 + rise**2) / 2 + sum(turning) / 2,
        potential=m * g * R * sp.cos(th),
        parameters={m: 1, g: 9.81, R: 0.5, A: 0.0625, C: 0.125},
    )
    program = hf.Program(
        nonholonomic={"roll_x": x.rate - rolling[0], "roll_y": y.rate - rolling[1]}, law=hf.critically_damped(5)
    )
    start = {th: 0.2, psi.rate: 0.3, phi.rate: 6}
    return hf.derive(hf.Problem(system, program, start=start))


def unheld(name):
    """An example whose program Maggi's form takes."""
    program = example(name).problem.program
    return not program.controls and name not in ("kepler",)


def same_run(equations, form, duration, atol, tolerance=1e-12):
    times = np.linspace(0, duration, 5)
    theirs = hf.simulate(equations, hf.DOP853, tolerance=tolerance, duration=duration, at=times)
    ours = hf.simulate(form, hf.DOP853, tolerance=tolerance, duration=duration, at=times)
    assert ours.outcome is theirs.outcome
    for column in (*equations.state_names, *equations.holder_names, "energy"):
        scale = 1 + np.abs(theirs[column]).max()
        assert_allclose(ours[column], theirs[column], rtol=0, atol=atol * scale, err_msg=column)
    return ours


@pytest.mark.parametrize("velocities", [None, SPEEDS], ids=["found", "given"])
@pytest.mark.parametrize("form", [hf.maggi, hf.appell])
def test_the_sleigh_has_the_figures_of_the_theory(form, velocities):
    """ν' = (a w², −m a v w/(I + m a²)) = (0.324, 1.27741935)."""
    made = form(sleigh(), velocities)
    at = made.evaluate()
    assert_allclose(at.velocities, [1.1, -0.9], rtol=1e-14)
    assert_allclose(at.velocity_rates, [0.324, 1.27741935], rtol=0, atol=5e-9)
    v, w = (made.display.symbols[name] for name in made.velocity_names)
    assert made.mass_matrix == sp.diag(m, I + m * a**2)
    assert (made.bias - sp.Matrix([m * a * w**2, -m * a * v * w])).applyfunc(sp.expand) == sp.zeros(2, 1)
    theirs = sleigh().evaluate()
    assert_allclose(at.accelerations, theirs.accelerations, rtol=0, atol=1e-14)
    assert_allclose(at.mu, theirs.mu, rtol=0, atol=1e-14)


def test_what_is_written_is_readable():
    made = hf.maggi(sleigh(), SPEEDS)
    assert "m*v' = a*m*w^2" in made.summary()
    assert "x' = v*cos(th)" in made.summary()
    assert r"m \dot{v} = a m w^{2}" in made.latex()
    assert made.to_dict()["holder_matrix"] == [["0"], ["0"]]
    found = hf.maggi(example("pendulum"))
    assert "m*nu_z'*(x^2 + z^2) = -g*m*x" in found.summary()
    assert "y' = -K y" in found.summary()


def test_a_skate_turns_through_every_direction():
    """The basis is smooth where x' or y' alone would not do: the skate turns by 20 rad."""
    equations = example("skate")
    run = same_run(equations, hf.maggi(equations), 10, 1e-10, tolerance=1e-13)
    assert np.abs(run["w_edge"]).max() < 1e-15 * np.abs(run["nu_x"]).max() * 10  # rounding, not a step's error
    coarse = hf.simulate(hf.maggi(equations), hf.Euler, step=0.1, duration=10)
    assert np.abs(coarse["w_edge"]).max() < 1e-13


@pytest.mark.parametrize("form", [hf.maggi, hf.appell])
def test_a_rolling_coin_moves_as_with_multipliers(form):
    equations = coin()
    made = form(equations)
    assert made.velocity_names == ("nu_psi", "nu_th", "nu_phi")
    run = same_run(equations, made, 3, 1e-10, tolerance=1e-13)
    assert_allclose(run["energy"], run["energy"][0], rtol=1e-11)
    assert np.abs(run["th"]).max() > 0.19  # it does wobble


@pytest.mark.parametrize("name", [name for name in NAMES if unheld(name)])
def test_every_example_without_controls_moves_the_same(name):
    equations = example(name)
    if equations.problem.system.spun:
        with pytest.raises(hf.BadRequest, match="is a spin"):
            hf.maggi(equations)
        return
    at = equations.evaluate()
    deviation = max(np.abs(at.deviation_rate).max(initial=0), np.abs(at.deviation).max(initial=0))
    if deviation > 1e-12:
        pytest.skip("starts off its program, where Maggi's form has another law")
    ours = hf.maggi(equations).evaluate()
    scale = 1 + np.abs(at.accelerations).max() + np.abs(at.mu).max(initial=0)
    near = 1e-11 * scale + 3 * np.abs(at.mu_parts[1]).max(initial=0)  # what the law makes of the start's own rounding
    assert_allclose(ours.accelerations, at.accelerations, rtol=0, atol=near)
    assert_allclose(ours.mu, at.mu, rtol=0, atol=near)


def kept_motion(equations, form, state, time, K):
    """Accelerations by hand, J a = K² y − γ, at the state that the form makes of a given one; and those of the form."""
    first = form.evaluate(state, time)
    n = len(equations.coordinates)
    given_ = equations.evaluate(state, time)
    moved = np.array([*given_.state[:n], *first.rates, *given_.state[2 * n :]])
    at = equations.evaluate(moved, time)
    m_ = len(at.deviation)
    assert_allclose(at.deviation_rate[:m_], -K * at.deviation, rtol=0, atol=1e-9 * (1 + np.abs(moved).max()))
    assert_allclose(at.deviation_rate[m_:], 0, rtol=0, atol=1e-9 * (1 + np.abs(moved).max()))
    wanted = -at.drift_term + np.concatenate([K**2 * at.deviation, np.zeros(len(at.mu) - m_)])
    whole = np.block([[at.mass_matrix, -at.jacobian.T], [at.jacobian, np.zeros((len(wanted),) * 2)]])
    found = np.linalg.solve(whole, np.concatenate([at.bias, wanted]))
    ours = form.evaluate(moved, time)
    scale = 1 + np.abs(found).max()
    assert_allclose(np.concatenate([ours.accelerations, ours.mu]), found, rtol=0, atol=1e-8 * scale * at.condition)


@given(mechanisms())
@settings(max_examples=15, deadline=None)
def test_random_mechanisms_move_as_the_multipliers_say(mechanism):
    try:
        equations, _ = derived(mechanism)
    except hf.ConstraintsDependent:  # at this very state
        assume(False)
    try:
        form = hf.maggi(equations, attraction=2)
    except hf.BadStatement as refusal:
        assume(not re.search("works along|nothing free|not linear", str(refusal)))
        raise
    kept_motion(equations, form, mechanism.state, mechanism.time, 2)


def test_a_moving_program_is_kept_off_it_too():
    kept_motion(example("bead_on_hoop"), hf.maggi(example("bead_on_hoop"), attraction=2), {"x": 0.4, "z": -1.3}, 0.3, 2)


@pytest.mark.parametrize("name", ["pendulum", "four_bar", "bead_on_hoop", "piston_line"])
def test_a_holonomic_program_is_run_and_kept(name):
    equations = example(name)
    same_run(equations, hf.maggi(equations), 1, 1e-9)


def test_positions_come_back_by_the_attraction():
    """y' = −K y from a start that is off by 0.1: with K = 3, y(1) = y(0) e⁻³."""
    equations = example("pendulum")
    start = {"x": 1.05, "z": 0}
    for rate, stated in ((3, 3), (3, {"rod": 3}), (0, 0)):
        form = hf.maggi(equations, attraction=stated)
        run = hf.simulate(form, hf.DOP853, tolerance=1e-12, duration=1, start=start, start_policy="keep", at=[0, 1])
        assert run["y_rod"][1] == pytest.approx(run["y_rod"][0] * np.exp(-rate), rel=1e-9)
    assert hf.maggi(equations).on_program is not hf.maggi(equations)
    assert hf.maggi(equations, attraction=0).evaluate().velocity_rates == pytest.approx(
        hf.maggi(equations).evaluate().velocity_rates
    )


def quaternion_body(potential, inertia, start):
    """A body with a fixed point by four numbers, their norm a program; mass matrix of rank 3."""
    e = hf.coordinates("e0 e1 e2 e3")
    v = [c.rate for c in e]
    spins = {
        "w1": 2 * (e[0] * v[1] - e[1] * v[0] + e[3] * v[2] - e[2] * v[3]),
        "w2": 2 * (e[0] * v[2] - e[2] * v[0] + e[1] * v[3] - e[3] * v[1]),
        "w3": 2 * (e[0] * v[3] - e[3] * v[0] + e[2] * v[1] - e[1] * v[2]),
    }
    kinetic = sum(i * w**2 for i, w in zip(inertia, spins.values(), strict=True)) / 2
    system = hf.System(coordinates=e, kinetic=kinetic, potential=potential(*e))
    norm = hf.Program(holonomic={"norm": (sum(c**2 for c in e) - 1) / 2}, law=hf.critically_damped(5))
    return hf.maggi(hf.derive(hf.Problem(system, norm, start=start(e))), spins)


def test_a_free_body_in_quaternions_obeys_eulers_equations():
    """I = (1, 2, 3), w = (1, 0, 1): w(5) by elliptic functions."""
    form = quaternion_body(lambda *e: 0, (1, 2, 3), lambda e: {e[0]: 1, e[1].rate: 0.5, e[3].rate: 0.5})
    run = hf.simulate(form, hf.DOP853, tolerance=1e-13, duration=5, at=[0, 5])
    found = [run[name][-1] for name in ("w1", "w2", "w3")]
    assert_allclose(found, [-0.164350429765, -0.986402015527, 0.821991699829], rtol=0, atol=1e-9)
    assert abs(run["y_norm"][-1]) < 1e-12
    assert form.mass_matrix == sp.diag(1, 2, 3)  # as T is written in the spins
    assert operation_count(form.field.rates) < operation_count(form.equations.field.rates) / 2


def test_a_top_in_quaternions_has_the_figures_of_its_spin():
    """m = 1, l = 0.5, A = 0.05 + m l², C = 0.1, leaning by 30 degrees about x, w = (0.3, -0.2, 20)."""

    def height(e0, e1, e2, e3):
        return 9.81 * 0.5 * (e0**2 - e1**2 - e2**2 + e3**2)

    half = sp.pi / 12
    form = quaternion_body(height, (0.3, 0.3, 0.1), lambda e: {e[0]: sp.cos(half), e[1]: sp.sin(half)})
    start = {"w1": 0.3, "w2": -0.2, "w3": 20}
    assert_allclose(form.evaluate(start).velocity_rates, [5.5083333, -4, 0], rtol=0, atol=5e-8)
    run = hf.simulate(form, hf.DOP853, tolerance=1e-13, duration=2, start=start, at=[0, 2])
    found = [run[name][-1] for name in ("e0", "e1", "e2", "e3", "w1", "w2", "w3")]
    wanted = [-0.72347711, -0.47175484, 0.46452412, 0.19556479, 1.7756447, 4.6112086, 20]
    assert_allclose(found, wanted, rtol=0, atol=6e-8)


def test_gibbs_function_gives_the_equations():
    made = hf.appell(sleigh(), SPEEDS)
    v, w = (made.display.symbols[name] for name in ("v", "w"))
    kinetic = m * v.rate**2 / 2 + (I + m * a**2) * w.rate**2 / 2
    assert sp.expand(made.gibbs - (kinetic - a * m * w**2 * v.rate + a * m * v * w * w.rate)) == 0
    assert made.along == {"v": 0, "w": 0}
    slopes = sp.Matrix([sp.diff(made.gibbs, rate) for rate in (v.rate, w.rate)])
    inertia = made.mass_matrix * sp.Matrix([v.rate, w.rate]) - made.bias
    assert (slopes - inertia).applyfunc(sp.expand) == sp.zeros(2, 1)
    assert "G = " in made.summary()
    assert hf.appell(example("skate")).along["nu_x"] != 0
    assert "gibbs" in made.to_dict()
    assert r"Q_{v} = 0" in made.latex()


def test_gibbs_function_is_the_energy_of_accelerations():
    """Of a point in polar coordinates: m(r'' − r φ'²)²/2 + m(r φ'' + 2 r' φ')²/2, but for what has no accelerations."""
    r = hf.coordinates("r")
    system = hf.System(coordinates=(r, phi), kinetic=m * (r.rate**2 + r**2 * phi.rate**2) / 2, parameters={m: 1})
    made = hf.appell(hf.derive(hf.Problem(system, start={r: 1})))
    u, w = (made.display.symbols[name] for name in ("nu_r", "nu_phi"))
    whole = m * (u.rate - r * w**2) ** 2 / 2 + m * (r * w.rate + 2 * u * w) ** 2 / 2
    rest = whole.subs({u.rate: 0, w.rate: 0})
    assert sp.expand(made.gibbs - whole + rest) == 0


def test_programs_that_are_not_for_it_are_refused():
    with pytest.raises(hf.BadStatement, match="'F' works along"):
        hf.maggi(example("cart_rod"))
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    fast = hf.Program(nonholonomic={"speed": x.rate**2 + y.rate**2 - 1})
    with pytest.raises(hf.BadStatement, match="'speed' is not linear"):
        hf.maggi(hf.derive(hf.Problem(system, fast, start={x.rate: 1})))
    both = hf.Program(holonomic={"one": x, "two": y})
    with pytest.raises(hf.BadStatement, match="nothing free"):
        hf.appell(hf.derive(hf.Problem(system, both)))
    with pytest.raises(hf.BadStatement, match="depend on each other, or on the program"):
        hf.maggi(sleigh(), {"v": y.rate * sp.cos(th) - x.rate * sp.sin(th), "w": th.rate})
    with pytest.raises(hf.BadStatement, match="not a holonomic"):
        hf.maggi(example("pendulum"), attraction={"road": 2})
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.maggi(system)


def test_a_large_block_takes_the_rates_themselves():
    """Five springs in a ring of four constraints: the determinants are not written out."""
    q = hf.coordinates("q1 q2 q3 q4 q5")
    system = hf.System(coordinates=q, kinetic=sum((2 + sp.sin(c)) * c.rate**2 for c in q) / 2, potential=q[4] ** 2)
    rows = {f"c{i}": q[i].rate + q[i - 1].rate * sp.cos(q[i]) / 3 + q[i - 2].rate / 4 - q[4].rate for i in range(4)}
    equations = hf.derive(hf.Problem(system, hf.Program(nonholonomic=rows), start={q[4]: 1, q[4].rate: 0.5}))
    made = hf.maggi(equations)
    assert len(made.velocity_names) == 1
    at = hf.simulate(equations, hf.RK4, step=0.01, duration=0.1)
    state = {name: at[name][-1] for name in equations.state_names}
    on = hf.simulate(equations, hf.RK4, step=0.01, duration=0.1, start=state, start_policy="project")
    begin = {name: on[name][0] for name in equations.state_names}
    assert_allclose(made.evaluate(begin).accelerations, equations.evaluate(begin).accelerations, rtol=0, atol=1e-9)


def test_a_basis_that_fails_ends_the_run():
    """A sphere has no smooth basis: where this one loses rank the run says so, or goes on rightly."""
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2)
    ball = hf.Program(holonomic={"ball": x**2 + y**2 + z**2 - 1}, law=hf.critically_damped(5))
    start = {x: 0, y: 0, z: 1, x.rate: 1, y.rate: 0, z.rate: 0}
    equations = hf.derive(hf.Problem(system, ball, start=start))
    run = hf.simulate(hf.maggi(equations), hf.RK4, step=0.01, duration=3)
    if run.success:
        assert_allclose(run["x"], np.sin(run.times), atol=1e-6)
    else:
        assert run.times[-1] == pytest.approx(np.pi / 2, abs=0.02)
