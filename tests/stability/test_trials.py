"""What tuning measures: the three numbers of a law, each made again from plain runs by its own definition."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.results.runs.request import request_of
from holdfast.stability.tuning.penalty import measured_penalty, penalty_rates, strength
from holdfast.stability.tuning.trials import LOOKED_AT, ROWS, EnergyOnProgram, Trials
from tests.stability.held import AIM, adaptive_optics, pendulum

DURATION, STEP = 1.5, 0.01


def trials_of(equations, scheme=hf.RK4, *, step=STEP, tolerance=None, duration=DURATION, start=None):
    plain = equations.with_law(hf.SpringDamper(stiffness=0, damping=0))
    request = request_of(plain, scheme, step=step, tolerance=tolerance, duration=duration, every=None, at=None)
    return Trials(plain, request, start, {}, None)


def skate():
    """A disc that rolls and a height that follows a path: one velocity constraint beside a holonomic one."""
    x, y, phi = hf.coordinates("x y phi")
    system = hf.System(coordinates=(x, y, phi), kinetic=(x.rate**2 + y.rate**2 + 2 * phi.rate**2) / 2, potential=x)
    edge = {"edge": x.rate * sp.sin(phi) - y.rate * sp.cos(phi)}
    program = hf.Program(holonomic={"turn": phi - 2 * hf.time}, nonholonomic=edge, law=hf.Tuned())
    return hf.derive(hf.Problem(system, program, start={phi.rate: 2, x.rate: 1}))


@pytest.fixture(scope="module")
def model():
    return hf.derive(pendulum(1.0))


@pytest.fixture(scope="module")
def trials(model):
    return trials_of(model)


@pytest.fixture(scope="module")
def truth(model):
    times = STEP * np.arange(round(DURATION / STEP) + 1)
    return hf.simulate(model, hf.DOP853, tolerance=1e-13, duration=DURATION, at=times)


def test_the_reference_is_the_motion_itself(trials, truth):
    assert trials.reference.times == pytest.approx(truth.times)
    assert trials.reference.states == pytest.approx(truth.y.T, abs=1e-10)
    assert trials.reference.energy == pytest.approx(truth["energy"], abs=1e-9)
    assert 0 < trials.reference.doubt < 1e-8
    assert 0 <= trials.reference.energy_doubt < 1e-8
    assert trials.reference.sizes == pytest.approx(np.abs(truth.y).max(axis=1))


def test_sizes_have_a_floor_of_their_own_kind(trials):
    states = np.array([[2.0, 1e-6, 50.0, 1e-9], [-4.0, 0.0, 10.0, 0.0]])
    assert trials._sizes(states).tolist() == [4.0, 4e-3, 50.0, 0.05]
    assert trials._sizes(np.zeros((2, 4))).tolist() == [1.0] * 4


def test_a_scale_is_what_the_function_changes_by(trials, truth):
    """σ = max |J|·sizes: J = (x, y) of the rod."""
    places, rates = np.abs(truth.y[:2]).max(axis=1), np.abs(truth.y[2:]).max(axis=1)
    slopes = np.abs(truth.y[:2].T)
    assert trials.scales["rod"] == pytest.approx((slopes @ places).max(), rel=0.01)
    assert trials._rate_scales == pytest.approx([(slopes @ rates).max()], rel=0.01)


GAINS = [(0.0, 0.0), (4.0, 4.0), (400.0, 20.0)]


@pytest.mark.parametrize(("stiffness", "damping"), GAINS)
def test_the_numbers_of_a_law_are_those_of_its_run(model, trials, truth, stiffness, damping):
    measured = trials.measure_gains(np.array([[stiffness]]), np.array([[damping]]))
    law = hf.SpringDamper(stiffness=stiffness, damping=damping)
    run = hf.simulate(model, hf.RK4, step=STEP, duration=DURATION, law=law, every=1)
    assert measured.deviation[0] == pytest.approx(np.abs(run["y_rod"]).max() / trials.scales["rod"], rel=1e-9)
    off = np.abs(run.y - truth.y) / np.abs(truth.y).max(axis=1)[:, None]
    assert measured.state_error[0] == pytest.approx(off.max(), rel=1e-3)
    assert measured.evaluations[0] == 1 + 4 * round(DURATION / STEP)
    assert measured.steady[0]
    rows = np.unique(np.linspace(0, len(run.times) - 1, LOOKED_AT).astype(int))
    on_rod = np.array([moved_onto_the_rod(run.y[:, k], trials.reference.sizes) for k in rows]).T
    energy = (on_rod[2:] ** 2).sum(axis=0) / 2 + 9.81 * on_rod[1]
    worst = np.abs(energy - truth["energy"][rows]).max()
    assert measured.energy_error[0] == pytest.approx(worst, rel=1e-4, abs=1e-12)


def moved_onto_the_rod(state, sizes):
    """The state on the rod that is nearest in units of the sizes: Newton's iteration, to its end."""
    scale = np.diag(sizes**2)
    for _ in range(6):
        place, speed = state[:2], state[2:]
        slopes = np.array([[*place, 0, 0], [*speed, *place]])
        off = np.array([(place @ place - 1) / 2, place @ speed])
        state = state - scale @ slopes.T @ np.linalg.solve(slopes @ scale @ slopes.T, off)
    return state


def test_rows_of_laws_are_measured_each_by_itself(trials):
    rates, ratios = np.array([1.0, 5.0, 20.0]), np.array([0.5, 1.0, 2.0])
    together = trials.measure(rates, ratios)
    assert len(together) == 3
    for k in range(3):
        alone = trials.measure_gains(np.array([[rates[k] ** 2]]), np.array([[2 * ratios[k] * rates[k]]]))
        assert together.deviation[k] == alone.deviation[0]
        assert together.energy_error[k] == alone.energy_error[0]


def test_a_law_beyond_the_step_diverges(trials):
    measured = trials.measure([10.0, 1e4], [1.0, 1.0])
    assert np.isfinite(measured.deviation).tolist() == [True, False]
    assert measured.steady.tolist() == [True, False]
    assert np.isinf([measured.state_error[1], measured.energy_error[1]]).all()


def test_an_adaptive_scheme_is_judged_at_the_same_rows(model):
    found = trials_of(model, hf.DOPRI5, step=None, tolerance=1e-6)
    assert found.reference.times == pytest.approx(np.linspace(0, DURATION, 201))
    measured = found.measure([5.0], [1.0])
    assert 1e-8 < measured.deviation[0] < 1e-5
    assert 50 < measured.evaluations[0] < 2000
    tighter = trials_of(model, hf.DOPRI5, step=None, tolerance=1e-9).measure([5.0], [1.0])
    assert tighter.evaluations[0] > 1.5 * measured.evaluations[0]
    assert tighter.state_error[0] < 0.1 * measured.state_error[0]


def test_gains_of_a_mixed_program():
    found = trials_of(skate(), duration=0.5)
    assert (found.constraints, found.holonomic) == (("turn", "edge"), ("turn",))
    stiffness, damping = found.gains([3.0, 5.0], [0.5, 1.0])
    assert stiffness.tolist() == [[9.0, 0.0], [25.0, 0.0]]
    assert damping.tolist() == [[3.0, 3.0], [10.0, 5.0]]
    each = found.gains([[3.0, 7.0]], [[0.5, 9.0]])
    assert (each[0].tolist(), each[1].tolist()) == ([[9.0, 0.0]], [[3.0, 7.0]])


def test_deviations_of_a_mixed_program_are_scaled_each_by_its_own():
    equations = skate()
    found = trials_of(equations, hf.Euler, duration=0.5)
    law = hf.SpringDamper(stiffness={"turn": 9}, damping={"turn": 3, "edge": 3})
    run = hf.simulate(equations, hf.Euler, step=STEP, duration=0.5, law=law, every=1)
    worst = {name: np.abs(run[name]).max() for name in ("y_turn", "w_edge")}
    scaled = max(worst["y_turn"] / found.scales["turn"], worst["w_edge"] / found.scales["edge"])
    assert worst["w_edge"] > 0
    assert found.measure([3.0], [0.5]).deviation[0] == pytest.approx(scaled, rel=1e-9)
    sizes = found.reference.sizes
    assert found.scales["turn"] == pytest.approx(sizes[2])  # J = (0, 0, 1)
    turned = np.abs(np.array([np.sin(run["phi"]), np.cos(run["phi"])])).T @ sizes[3:5]
    assert found.scales["edge"] == pytest.approx(turned.max(), rel=0.02)


def test_of_a_long_run_a_thousand_rows_are_kept(model):
    for steps, every in ((ROWS, 1), (ROWS + 1, 2), (2 * ROWS, 2)):
        found = trials_of(model, step=1e-3, duration=1e-3 * steps)
        assert found.every == every
        assert len(found.reference.times) == steps // every + 1
        assert np.diff(found.reference.times) == pytest.approx(1e-3 * every)


def test_whether_a_start_is_off_the_program_is_told(model):
    assert not trials_of(model, duration=0.1).deviates
    optics = hf.derive(adaptive_optics())  # which keep the start that is stated
    assert not trials_of(optics, duration=0.1).deviates
    off = trials_of(optics, duration=0.1, start={"phi": 0.45})
    assert off.deviates
    assert off.state[1] == pytest.approx(AIM, abs=1e-3)  # but measured on the program


def test_controls_that_hold_everything_make_gains_a_feedback():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    for controls, feedback in (({"F": {x: 1}}, True), ({}, False)):
        program = hf.Program(holonomic={"home": x}, controls=controls, law=hf.Tuned())
        equations = hf.derive(hf.Problem(system, program, start={y.rate: 1}))
        assert trials_of(equations, duration=0.1).held_by_controls == feedback


def test_a_reference_that_cannot_be_made_is_said():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, forces={y: sp.sqrt(1 - y)})
    program = hf.Program(holonomic={"line": x}, law=hf.Tuned())
    equations = hf.derive(hf.Problem(system, program, start={y.rate: 2}))
    with pytest.raises(hf.BadRequest, match="no tight reference run reaches the end"):
        trials_of(equations, duration=5.0)


# ── the energy on the program ─────────────────────────────────────────────────────────────────────


def test_energy_is_that_of_the_state_moved_onto_the_program(model):
    """A bob off its rod by a millionth: on the rod its energy is known."""
    energies = EnergyOnProgram(model, {}, np.ones(4))
    angle, speed, off = 0.7, 1.3, 1e-5
    place, along = np.array([np.sin(angle), -np.cos(angle)]), np.array([np.cos(angle), np.sin(angle)])
    states = np.array([[*(place * (1 + a)), *(speed * along + b * place)] for a, b in ((0, 0), (off, 0), (-off, off))])
    found = energies(np.zeros(1), states[:, None, :])
    assert found.shape == (3, 1)
    on_rod = speed**2 / 2 - 9.81 * np.cos(angle)
    assert found[0, 0] == pytest.approx(on_rod, abs=1e-13)
    assert found[1:, 0] == pytest.approx([on_rod, on_rod], abs=2 * off * speed**2)  # its speed turns with the sizes
    assert abs(found[1, 0] - on_rod) < abs(9.81 * off * np.cos(angle))


def test_energy_of_a_state_that_is_none_is_infinite(model):
    energies = EnergyOnProgram(model, {}, np.ones(4))
    states = np.array([[[0.0, -1.0, 1.0, 0.0], [np.nan, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]]])
    with np.errstate(all="ignore"):
        found = energies(np.zeros(2), states)
    assert found[0, 0] == pytest.approx(0.5 - 9.81)
    assert np.isinf(found[0, 1])
    assert found[1, 1] == pytest.approx(-9.81)


# ── the penalty ───────────────────────────────────────────────────────────────────────────────────


def test_rates_of_the_penalty_end_where_the_step_ends(trials, model):
    rates = penalty_rates(trials)
    assert rates[[0, -1]] == pytest.approx([0.1, 100.0])
    assert len(rates) == 10
    assert np.diff(np.log10(rates)) == pytest.approx(3 / 9)
    adaptive = trials_of(model, hf.DOPRI5, step=None, tolerance=1e-6)
    assert penalty_rates(adaptive)[-1] == pytest.approx(1000 * adaptive.motion_rate)


def test_the_penalty_is_the_motion_of_springs_and_dampers(trials):
    """The same motion as that of a free mass with the forces −(k y + c w) J by hand, k = ω²/σ, c = 2ω/σ; here σ = 1."""
    rate = 30.0
    assert strength(trials, rate) == {"rod": pytest.approx(rate**2)}
    measured = measured_penalty(trials, np.array([rate]))
    state, worst = np.array([np.sin(1.0), -np.cos(1.0), 0.0, 0.0]), 0.0

    def rates(s):
        x, v = s[:2], s[2:]
        push = rate**2 * (x @ x - 1) / 2 + 2 * rate * (x @ v)
        return np.concatenate([v, -push * x - [0, 9.81]])

    for _ in range(round(DURATION / STEP)):
        a = rates(state)
        b = rates(state + STEP / 2 * a)
        c = rates(state + STEP / 2 * b)
        d = rates(state + STEP * c)
        state = state + STEP / 6 * (a + 2 * b + 2 * c + d)
        worst = max(worst, abs(state[:2] @ state[:2] - 1) / 2)
    assert measured.deviation[0] == pytest.approx(worst / trials.scales["rod"], rel=1e-6)


def test_the_strength_of_a_velocity_constraint_goes_with_its_rate():
    found = trials_of(skate(), duration=0.1)
    assert strength(found, 6.0) == {"turn": pytest.approx(36.0 * 2), "edge": pytest.approx(6.0)}  # M = 2 for the turn
