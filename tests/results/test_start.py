"""Where a run starts: what is stated stays, what is left out is solved for, what contradicts is refused by name."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.results.problems import pendulum, x, z

X, Y, psi, phi = hf.coordinates("X Y psi phi")


def disc(**run):
    """An upright disc that rolls: R = 0.5."""
    kinetic = X.rate**2 + Y.rate**2 + psi.rate**2 / 16 + phi.rate**2 / 8
    rolling = {
        "roll_x": X.rate - phi.rate * sp.cos(psi) / 2,
        "roll_y": Y.rate - phi.rate * sp.sin(psi) / 2,
    }
    system = hf.System(coordinates=(X, Y, psi, phi), kinetic=kinetic)
    program = hf.Program(nonholonomic=rolling, law=hf.critically_damped(10))
    start = {psi: 0.3, phi.rate: 6, psi.rate: 0.4}
    return hf.derive(hf.Problem(system, program, start=start, run=hf.Run(**run)))


def short(equations, **asked):
    return hf.simulate(equations, hf.RK4, step=0.001, duration=0.01, **asked)


def test_what_is_stated_stays_and_what_is_left_out_is_solved_for():
    run = short(disc())
    assert run["phi_dot"][0] == 6
    assert run["X_dot"][0] == pytest.approx(3 * np.cos(0.3), rel=1e-15)
    assert run["Y_dot"][0] == pytest.approx(3 * np.sin(0.3), rel=1e-15)
    assert not run.start.moved
    assert run.start.found.keys() == {"X_dot", "Y_dot"}
    assert "X_dot" in run.message


def test_stated_values_that_contradict_the_program_are_refused_by_name():
    with pytest.raises(hf.BadRequest) as caught:
        short(disc(), start={X.rate: 1.0})
    assert "X_dot = 1" in caught.value.what
    assert "phi_dot = 6" in caught.value.what
    assert "contradict 'roll_x'" in caught.value.what
    assert "project" in caught.value.fix
    moved = short(disc(), start={X.rate: 1.0}, start_policy="project")
    assert "X_dot" in moved.start.moved
    assert moved.start.on_program
    kept = short(disc(), start={X.rate: 1.0}, start_policy="keep")
    assert kept["X_dot"][0] == 1.0
    assert "w_roll_x" in kept.start.off


def test_a_start_given_as_an_array_is_stated_as_a_whole():
    with pytest.raises(hf.BadRequest, match="contradict"):
        short(disc(), start=[0, 0, 0.3, 0, 0, 0, 0.4, 6])


def test_values_stated_to_ten_digits_are_meant():
    start = {x: 0.6, z: -0.8000000001}
    run = short(pendulum(), start=start)
    assert run.start.on_program
    assert run.start.deviation["y_rod"] == pytest.approx(0, abs=1e-15)


def test_what_is_left_out_must_be_able_to_help():
    with pytest.raises(hf.BadRequest) as caught:
        short(pendulum(), start={x: 0.6})  # from z = 0 both ways are equally near
    assert "'z'" in caught.value.what
    assert "does not change" in caught.value.what


def test_a_start_without_a_slope_is_refused_in_words():
    r = sp.sqrt(x**2 + z**2)
    system = hf.System(coordinates=(x, z), kinetic=(x.rate**2 + z.rate**2) / 2)
    program = hf.Program(holonomic={"rod": r - 1}, law=hf.SpringDamper(stiffness=25, damping=10))
    for start in ({x: 0}, {}):
        equations = hf.derive(hf.Problem(system, program, start=start))
        with pytest.raises(hf.BadRequest, match="'rod' is not defined at the start"):
            short(equations)
        with pytest.raises(hf.BadRequest, match="'rod' is not defined at the start"):
            hf.checked_start(equations)


@pytest.mark.parametrize("masses", [(1e9, 1e-9), (1e-9, 1e9), (1.0, 1.0)])
def test_a_start_is_found_for_masses_of_all_sizes(masses):
    """Two bobs on two rods; only the second place is left out, and only rates are free."""
    a, b, c, d = hf.coordinates("a b c d")
    m, n = masses
    kinetic = m * (a.rate**2 + b.rate**2) / 2 + n * (c.rate**2 + d.rate**2) / 2
    rods = {"one": (a**2 + b**2 - 1) / 2, "two": ((c - a) ** 2 + (d - b) ** 2 - 1) / 2}
    program = hf.Program(holonomic=rods, law=hf.critically_damped(5))
    for start in ({a: 1.1, b: 0.2, c: 1.9, d: -0.3, a.rate: 0.3, d.rate: 1.0},):
        equations = hf.derive(hf.Problem(hf.System(coordinates=(a, b, c, d), kinetic=kinetic), program, start=start))
        run = short(equations, start_policy="project")
        assert run.start.on_program
        assert max(abs(value) for value in run.start.deviation.values()) < 1e-14


def test_a_singular_start_is_refused_by_all_verbs():
    """A sphere in Euler angles at its pole: nothing tells psi from phi."""
    u, v, th = hf.coordinates("u v th")
    wx = th.rate * sp.cos(psi) + phi.rate * sp.sin(th) * sp.sin(psi)
    wy = th.rate * sp.sin(psi) - phi.rate * sp.sin(th) * sp.cos(psi)
    wz = psi.rate + phi.rate * sp.cos(th)
    kinetic = u.rate**2 + v.rate**2 + (wx**2 + wy**2 + wz**2) / 10
    rolling = {"roll_u": u.rate - wy / 2, "roll_v": v.rate + wx / 2}
    system = hf.System(coordinates=(u, v, psi, th, phi), kinetic=kinetic, forces={u: 1})
    program = hf.Program(nonholonomic=rolling, law=hf.critically_damped(10))
    equations = hf.derive(hf.Problem(system, program, start={psi.rate: 0.4, v.rate: 0.3}))
    for verb in (lambda: short(equations), lambda: hf.checked_start(equations)):
        with pytest.raises(hf.HoldfastError, match="nothing determines the acceleration of 'psi' and 'phi'"):
            verb()


def test_constraints_that_are_dependent_wherever_they_hold_are_named_or_borne():
    a, b, c = hf.coordinates("a b c")
    kinetic = (a.rate**2 + b.rate**2 * (1 + c**2) + c.rate**2 * (1 + c**2)) / 2
    both = {"h0": c * a - sp.Rational(1, 2), "h1": (c * a - sp.Rational(1, 2)) * (2 + sp.sin(b))}
    law, start = hf.SpringDamper(stiffness=25, damping=10), {a: 1, b: 0.765, c: 0.5}
    start |= {a.rate: 1, b.rate: 0.3, c.rate: -0.5}
    system = hf.System(coordinates=(a, b, c), kinetic=kinetic)
    with pytest.raises(hf.ConstraintsDependent, match="'h1' repeats what 'h0' already fixes"):
        hf.derive(hf.Problem(system, hf.Program(holonomic=both, law=law, redundant="refuse"), start=start))
    ends = []
    for held in (both, {"h0": both["h0"]}):
        equations = hf.derive(hf.Problem(system, hf.Program(holonomic=held, law=law), start=start))
        run = hf.simulate(equations, hf.RK4, step=0.001, duration=1)
        assert run.success
        ends.append(run.y[:, -1])
    assert_allclose(*ends, atol=1e-9)


def test_an_ensemble_states_what_its_columns_give():
    runs = hf.ensemble(disc(), hf.RK4, step=0.001, duration=0.01, cases={phi.rate: [6, 2], psi: [0.3, 0.1]})
    assert runs["phi_dot"][:, 0].tolist() == [6, 2]
    assert runs["X_dot"][1, 0] == pytest.approx(np.cos(0.1))
    refused = hf.ensemble(disc(), hf.RK4, step=0.001, duration=0.01, cases={X.rate: [1.0, 3 * np.cos(0.3)]})
    assert [outcome.name for outcome in refused.outcomes] == ["no_start", "completed"]


def test_a_start_is_saved_with_what_was_left_out(tmp_path):
    run = short(disc())
    run.save(tmp_path / "run.npz")
    assert hf.Trajectory.load(tmp_path / "run.npz").start == run.start


# ── check says the same ───────────────────────────────────────────────────────────────────────────


def test_check_finds_negative_masses_and_laws_that_drive_away():
    m, k = hf.parameters("m k")
    system = hf.System(coordinates=(x, z), kinetic=(m * x.rate**2 + z.rate**2) / 2, parameters={m: -1, k: -25})
    found = hf.checked_start(hf.derive(hf.Problem(system, start={x: 1})))
    assert [finding.name for finding in found.findings] == ["indefinite"]
    program = hf.Program(holonomic={"level": z}, law=hf.SpringDamper(stiffness=-25, damping=10))
    found = hf.checked_start(
        hf.derive(hf.Problem(hf.System(coordinates=(x, z), kinetic=x.rate**2 + z.rate**2), program))
    )
    assert [finding.name for finding in found.findings] == ["unstable_law"]
    assert not hf.checked_start(pendulum()).findings


def test_the_start_of_a_large_system_is_looked_at_without_an_engine(monkeypatch):
    """Its observables are made late, so that deviations are asked for by themselves."""
    system = hf.System(coordinates=(x, z), kinetic=3 * (x.rate**2 + z.rate**2) / 2, potential=29 * z)
    problem = hf.Problem(system, hf.Program(holonomic={"rod": x**2 + z**2 - 4}), start={x: 2})
    monkeypatch.setattr("holdfast.equations.equations.LARGE", 0)
    equations = hf.derive(problem)
    assert equations.field.late
    assert hf.checked_start(equations).start.state == (2, 0, 0, 0)
    assert hf.linearise(equations).A.shape == (4, 4)


def test_a_rate_that_rounding_leaves_in_a_bare_coordinate_is_none():
    """A slider-crank: solved for a', the slide's own b' is left at 1e-17 of it, and its terms are nothing else."""
    crank, a, b = hf.coordinates("crank a b")
    r, l = sp.Rational(3, 10), sp.Rational(4, 5)
    rod = ((a - r * sp.cos(crank)) ** 2 + (b - r * sp.sin(crank)) ** 2 - l**2) / 2
    system = hf.System(coordinates=(crank, a, b), kinetic=(crank.rate**2 / 5 + (a.rate**2 + b.rate**2) / 2))
    start = {crank: 1, a: r * sp.cos(1) + sp.sqrt(l**2 - (r * sp.sin(1)) ** 2), crank.rate: 8}
    problem = hf.Problem(system, hf.Program(holonomic={"rod": rod, "slide": b}), start=start)
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.001, duration=0.01)
    assert abs(run["w_rod"][0]) < 1e-14
    assert run["crank_dot"][0] == 8
