"""Places of the five papers that no other test shows; docs/papers.md lists all of them."""

from importlib import resources

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.cli.main import main
from tests.reference.shipped import derived

t = hf.time
x, y, z = hf.coordinates("x y z")
e, p, c0, a0, a1 = hf.parameters("e p c0 a0 a1", positive=True)
EXAMPLES = resources.files("holdfast") / "examples"


def zero(expression):
    return sp.simplify(expression) == 0


# ---------------------------------------------------------------- Mukharlyamov 2024


def test_a_double_root_has_one_peak_and_dies_away():
    """Introduction and Figure 1: y = 0.01, y' = 1 and two roots at -2 peak once, with 0.19133361 at t = 1/2.04."""
    point = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    home = hf.Program(holonomic={"home": x}, law=hf.critically_damped(2))
    equations = hf.derive(hf.Problem(point, home, start={x: 0.01, x.rate: 1}, run=hf.Run(start_policy="keep")))
    times = [1 / 2.04, *np.linspace(0.5, 15, 300)]
    deviation = hf.simulate(equations, hf.DOP853, tolerance=1e-12, duration=15, at=times)["y_home"]
    assert deviation[0] == pytest.approx(0.19133361, abs=1e-8)
    assert (np.diff(deviation) < 0).all()
    assert 0 < deviation[-1] < 1e-11
    assert hf.spectrum(equations).block_of("home").verdict.value == "asymptotically stable"


def test_a_family_takes_a_law_of_any_form():
    """(2.14): Y is free as long as it vanishes with the deviations; c0 moves along the program only."""
    ring = hf.deviations("ring")
    law = hf.GeneralLaw({"ring": -2 * ring * (1 + ring**2) - (1 + x**2) * ring.rate - ring.rate**2})
    program = hf.Program(holonomic={"ring": x**2 + y**2 - 1}, law=law)
    state = {x: 0.7, y: 0.9, x.rate: 0.4, y.rate: -0.3}
    value, rate = 0.7**2 + 0.9**2 - 1, 2 * (0.7 * 0.4 - 0.9 * 0.3)
    wanted = -2 * value * (1 + value**2) - (1 + 0.7**2) * rate - rate**2
    members = [hf.family(program, (x, y), c0=c, start=state).evaluate() for c in (0, 3)]
    for at in members:
        assert_allclose(at.jacobian @ at.accelerations + at.drift_term, [wanted], rtol=1e-12)
    assert np.abs(members[0].accelerations - members[1].accelerations).max() > 1


def bertrands_force(areal_damping=0):
    """(X, Y) of section 5 in letters: r - e x - p and the areal velocity, held by a force on a free point."""
    r = sp.sqrt(x**2 + y**2)
    program = hf.Program(
        holonomic={"conic": r - e * x - p},
        nonholonomic={"areal": x * y.rate - y * x.rate - c0},
        controls={"X": {x: 1}, "Y": {y: 1}},
        law=hf.SpringDamper(stiffness={"conic": a0}, damping={"conic": a1, "areal": areal_damping}),
    )
    point = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    equations = hf.derive(hf.Problem(point, program))
    numbers = equations.form.gains
    gains = {symbol: numbers[symbol.name] for symbol in equations.demand.free_symbols if symbol.name in numbers}
    return [equations.inverse_dynamics[name].subs(gains) for name in ("X", "Y")], r


def test_on_the_program_bertrands_force_is_newtons():
    """After (5.10): c²/(p r²) towards the focus, whatever the gains."""
    forces, r = bertrands_force(areal_damping=7)
    conic, areal = hf.deviations("conic areal")
    kept = {conic: 0, conic.rate: 0, areal.rate: 0, y.rate: (c0 + y * x.rate) / x}
    for force, axis in zip(forces, (x, y), strict=True):
        assert zero(force.subs(kept).subs(e, (r - p) / x) + c0**2 * axis / (p * r**3))


@pytest.mark.parametrize("sign", [1, -1])
def test_the_first_order_of_bertrands_force_is_5_11_corrected(sign):
    """B = 0: X = -(x/p) Q with Q = (c²/r³)(1 - α/p) + a0 α + a1 α' + O(2); with the printed signs it is not."""
    forces, r = bertrands_force()
    conic, areal = hf.deviations("conic areal")
    small, alpha, rate, turning = sp.symbols("small alpha rate turning", positive=True)
    near = {conic: small * alpha, conic.rate: small * rate, areal.rate: 0, y.rate: (turning + y * x.rate) / x}
    Q = turning**2 / r**3 * (1 - alpha * small / p) + sign * small * (a0 * alpha + a1 * rate)
    for force, axis in zip(forces, (x, y), strict=True):
        rest = force.subs(near).subs(e, (r - p - small * alpha) / x) + axis / p * Q
        assert zero(rest.subs(small, 0))
        assert zero(sp.diff(rest, small).subs(small, 0)) is (sign > 0)
        assert not zero(sp.diff(rest, small, 2).subs(small, 0))


# ---------------------------------------------------------------- Mukharlyamov and Gorshkov 2015


def test_an_economic_object_moves_as_a_point_of_variable_mass():
    """m v' = F + m' (u - v): capital that joins idle must be brought up to the output of the rest."""
    equations = derived("capital")
    for time, rate in ((0.0, 1.0), (4.0, 1.3)):
        at = equations.evaluate({"output_dot": rate}, time=time)
        mass, inflow, idle, cost = 10 + 0.5 * time, 0.5, 0.0, 0.2
        wanted = at["effort"] - cost * rate + inflow * (idle - rate)
        assert mass * at.accelerations[0] == pytest.approx(wanted, rel=1e-13)


def test_the_circuit_and_the_spring_of_the_file_move_alike():
    run = hf.simulate(derived("circuit_and_spring"), hf.DOP853, tolerance=1e-12, duration=1, at=[0.5, 1])
    assert_allclose(run["q"], [0.0985835951, 0.1139672085], rtol=0, atol=6e-11)
    assert_allclose(run["x"], run["q"], rtol=1e-14)


# ---------------------------------------------------------------- Mukharlyamov on variable masses


def test_a_mass_that_depends_on_the_speed_is_held_by_its_reaction():
    """(3) with m(v), relative stream c, and x + 2 y held: (m 1 - c m_v) a = f + G' λ, whose matrix is not symmetric."""
    stream = hf.Stream(velocity=(-50, 20), relative=True)
    point = hf.MovingMass(position=(x, y), mass=10 - x.rate / 50, force=(-1, -2), streams=stream)
    held = hf.Program(holonomic={"line": x + 2 * y}, law=hf.Unstabilised())
    system = hf.System(coordinates=(x, y), masses={"point": point})
    at = hf.derive(hf.Problem(system, held, start={x.rate: 2, y.rate: -1})).evaluate()
    mass, c, m_v, G = 10 - 2 / 50, np.array([-50.0, 20.0]), np.array([-1 / 50, 0]), np.array([1.0, 2.0])
    matrix = np.block([[mass * np.eye(2) - np.outer(c, m_v), -G[:, None]], [G[None, :], np.zeros((1, 1))]])
    *accelerations, multiplier = np.linalg.solve(matrix, [-1, -2, 0])
    assert_allclose(at.accelerations, accelerations, rtol=1e-13)
    assert_allclose(at.multipliers, [multiplier], rtol=1e-13)


def test_only_the_sum_of_the_two_identities_after_17_holds():
    """(16) to (18): ψ_x p + ψ_t = (α', 0) and ψ_x P ψ = (0, K α + K' α' + L β), neither of which vanishes."""
    ball, speed = x**2 + y**2 + z**2 - 1 - t / 5, x.rate * y - x * y.rate + z.rate * t / 3 - sp.Rational(1, 4)
    law = hf.SpringDamper(stiffness={"ball": 4}, damping={"ball": 3, "speed": 2})
    program = hf.Program(holonomic={"ball": ball}, nonholonomic={"speed": speed}, law=law)
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + 2 * y.rate**2 + z.rate**2) / 2, potential=3 * z)
    state = {x: 0.5, y: -0.6, z: 0.8, x.rate: 0.3, y.rate: 0.2, z.rate: -0.4}
    equations = hf.derive(hf.Problem(system, program, start=state))
    at, free = equations.evaluate(time=0.7), equations.with_law(hf.Unstabilised()).evaluate(time=0.7)
    q = (x, y, z)
    psi = sp.Matrix([ball, sum(sp.diff(ball, c) * c.rate for c in q) + sp.diff(ball, t), speed])
    numbers = {**state, t: 0.7}
    gradient = np.array(psi.jacobian([*q, *(c.rate for c in q)]).subs(numbers), float)
    explicit = np.array(sp.diff(psi, t).subs(numbers), float)[:, 0]
    y_ball, w_ball, w_speed = np.array(psi.subs(numbers), float)[:, 0]
    rates = [state[c.rate] for c in q]
    corrected = -4 * y_ball - 3 * w_ball, -2 * w_speed
    assert_allclose(gradient @ [*rates, *free.accelerations] + explicit, [w_ball, 0, 0], atol=1e-13)
    pushed = gradient @ [0, 0, 0, *(at.accelerations - free.accelerations)]
    assert_allclose(pushed, [0, *corrected], atol=1e-13)
    assert min(abs(w_ball), *map(abs, corrected)) > 0.05


# ---------------------------------------------------------------- Mukharlyamov 2006


def test_a_certificate_of_a_short_run_does_not_contradict_itself():
    """Adaptive optics over the first second: proved from its start on, far out as that is, and not left at once."""
    certificate = hf.certify(derived("adaptive_optics"), hf.Euler, step=1e-3, duration=1, effort=2)
    block = certificate["ray"]
    assert block.label is hf.Label.proved
    assert "LEFT" not in certificate.summary()
    steps = np.arange(1001)
    seen = np.abs(np.array([certificate.trajectory[name] for name in block.names]))
    assert (seen <= np.array(block.envelope(steps)).reshape(seen.shape)).all()


@pytest.mark.parametrize(("step", "size"), [(1e-3, 3.3905e-4), (2e-6, 6.1485e-7)])
def test_the_file_at_its_own_step_and_at_the_papers(step, size):
    run = hf.simulate(derived("adaptive_optics"), step=step)
    assert len(run.times) <= 100_001
    assert run["deviation_norm"][0] == pytest.approx(0.0248363, abs=5e-8)
    assert run["deviation_norm"][-1] == pytest.approx(size, rel=1e-4)


def test_the_command_line_takes_the_papers_step():
    file = str(EXAMPLES / "adaptive_optics.toml")
    done = CliRunner().invoke(main, ["simulate", file, "--step", "2e-6"])
    assert done.exit_code == 0
    assert "10000000 steps of 2e-06, 100001 rows" in done.output
    assert "norm = 0.0248363" in done.output


# ---------------------------------------------------------------- the worked examples


DATA = {
    "adaptive_optics": {"R": 3.4641, "c": 3, "m": 1},
    "cart_rod": {"m1": 10, "m2": 1, "l": 1},
}


@pytest.mark.parametrize("name", DATA)
def test_a_worked_example_has_the_papers_data(name):
    assert DATA[name].items() <= derived(name).parameter_values.items()


@pytest.mark.parametrize("name", ["adaptive_optics", "cart_rod", "rocket_ascent", "bertrand", "circuit_and_spring"])
def test_a_worked_example_names_its_paper_and_marks_its_choices(name):
    text = (EXAMPLES / f"{name}.toml").read_text("utf-8")
    first = text.splitlines()[0]
    assert first.startswith("# Mukharlyamov")
    assert text.count("choice") >= 1
    assert "docs/papers.md" in text or "letters only" in text
