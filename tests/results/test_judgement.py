"""One judgement of a run, for every verb: by the worst row, in units of what is judged, divergence before all else."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import cumulative_trapezoid
from scipy.linalg import expm

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector
from holdfast.results.judgement.attraction import predicted
from holdfast.results.judgement.energy import correction_work
from holdfast.results.judgement.judgement import moving_sizes
from holdfast.results.start.term_sizes import deviation_sizes
from tests.results.problems import pendulum

x, y, th = hf.coordinates("x y th")
L, g = hf.parameters("L g")


def skate(damping):
    """A skate that turns; Euler with a step of 0.01 multiplies its deviation by 1 − damping/100 in each step."""
    system = hf.System(coordinates=(x, y, th), kinetic=(x.rate**2 + y.rate**2 + th.rate**2) / 2)
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=damping))
    return hf.derive(hf.Problem(system, program, start={x.rate: 1, th.rate: 1}))


@pytest.mark.parametrize("duration", [1, 5, 15])
def test_a_skate_beyond_the_step_limit_diverges(duration):
    run = hf.simulate(skate(250), hf.Euler, step=0.01, duration=duration)
    assert abs(run["w_edge"][-1]) > 1e10
    assert run.outcome is hf.Outcome.diverged
    assert not run.success
    assert "w_edge" in run.message


@pytest.mark.parametrize(("damping", "step"), [(0, 0.5), (1, 0.5), (3, 1)])
def test_a_skate_that_skids_is_not_excused_by_how_often_it_has_turned(damping, step):
    """Its heading turns by some ten radians, and all of its speed is across the edge at last."""
    system = hf.System(
        coordinates=(x, y, th), kinetic=(x.rate**2 + y.rate**2 + th.rate**2) / 2, forces={th: sp.cos(hf.time) / 3}
    )
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=damping))
    equations = hf.derive(hf.Problem(system, program, start={x.rate: 1, th.rate: 1}))
    runs = [hf.simulate(equations, hf.Euler, step=each, duration=100) for each in (step, step / 100)]
    assert [run.success for run in runs] == [False, True]
    assert "w_edge" in runs[0].message


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_of_a_law_without_numbers_nothing_is_predicted(bad):
    """A start on the program stays there, and one off it is not followed by a matrix that is not finite."""
    broken, start = np.array([[0, 1], [bad, -1]]), np.array([0.5, -2.0])
    assert predicted(broken, start, 1.0).tolist() == [0.5, 2.0]
    assert predicted(broken, 0 * start, 1.0).tolist() == [0.0, 0.0]
    attracting = np.array([[0, 1.0], [-4, -4]])
    exact = np.abs([expm(attracting * t) @ start for t in np.linspace(0, 3, 50)]).max(axis=0)
    assert predicted(attracting, start, 3.0) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-10, 1.0, 2.0**10, 2.0**30])  # of time, in seconds
@pytest.mark.parametrize("law", [[-1.0, -2.0], [-1.0, -0.1], [-0.01, -100.0], [0.0, 0.0], [0.0, -3.0]])
def test_what_a_law_predicts_does_not_depend_on_the_unit_of_time(law, unit):
    matrix, start = np.array([[0.0, 1.0], law]), np.array([1e-3, 2.0])
    rates = np.array([1.0, unit])
    for duration in (1e-3, 1.0, 1e3):
        scaled = matrix * np.outer(rates, 1 / rates) * unit
        scaled[0, 1] = 1.0
        found = predicted(scaled, start * rates, duration / unit) / rates
        assert found == pytest.approx(predicted(matrix, start, duration), rel=1e-7)  # squared some 30 times


@pytest.mark.parametrize("pace", [2.0**-20, 2.0**-12, 1.0, 2.0**12, 2.0**20])  # seconds, in the unit of time
def test_a_start_that_is_brought_back_is_judged_alike_in_all_units_of_time(pace):
    """The rate of a cart that comes home from 0.1 peaks after an eighth of a second, in whatever that is told."""
    a, b = hf.coordinates("a b")
    kinetic = a.rate**2 + a.rate * b.rate * sp.cos(b) / 2 + b.rate**2 / 4
    system = hf.System(coordinates=(a, b), kinetic=kinetic, potential=-sp.cos(b) * sp.Rational(pace) ** 2)
    law = hf.critically_damped(8 * sp.Rational(pace))
    program = hf.Program(holonomic={"home": a}, controls={"F": {a: 1}}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={a: 0.1, b: 3, b.rate: 8 * pace}))
    run = hf.simulate(equations, hf.Heun, step=2.0**-4 / pace, duration=62.5 / pace)
    assert run.outcome is hf.Outcome.completed


def test_what_would_come_behind_the_end_of_a_run_is_no_excuse():
    """w stays as it is, and y goes on: within 0.01 to 0.02, not to the 128 of a minute later."""
    unheld = np.array([[0.0, 1.0], [0.0, 0.0]])
    assert predicted(unheld, np.array([0.0, 2.0]), 0.01) == pytest.approx([0.02, 2.0])


def test_a_stiff_constraint_does_not_excuse_one_that_its_law_drives_away():
    """Roots of 0.1 beside 1e6: what grows e-fold each ten seconds is no rounding of a multiple root."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    law = hf.SpringDamper(stiffness={"quick": 1e12, "slow": -0.01}, damping={"quick": 2e6, "slow": 0})
    program = hf.Program(holonomic={"quick": x, "slow": y - 1}, controls={"F": {x: 1}, "G": {y: 1}}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: 0, y: 1 + 2.0**-52}))
    run = hf.simulate(equations, hf.ImplicitMidpoint, step=0.25, duration=600)
    assert run["y_slow"].max() > 100
    assert not run.success
    assert "y_slow" in run.message


def test_a_stiff_block_changes_nothing_in_what_is_predicted_of_another():
    slow, stiff = np.array([[0, 1.0], [0, 0]]), np.array([[0, 1.0], [-1e22, 0]])
    both = np.block([[stiff, np.zeros((2, 2))], [np.zeros((2, 2)), slow]])
    found = predicted(both, np.array([1e-3, 0, 0.5, -2.0]), 1e5)
    assert found[2:] == pytest.approx([2e5, 2.0], rel=1e-4)
    assert np.isfinite(found).all()


def test_a_case_of_negative_mass_is_judged_as_its_run_is():
    x, m = hf.coordinates("x"), hf.parameters("m")
    system = hf.System(coordinates=(x,), kinetic=m * x.rate**2 / 2, parameters={m: 1})
    equations = hf.derive(hf.Problem(system, start={x.rate: 1}))
    runs = hf.ensemble(equations, hf.RK4, step=0.1, duration=1, cases={m: [1, -2, 3]})
    alone = [hf.simulate(equations, hf.RK4, step=0.1, duration=1, parameters={m: mass}).outcome for mass in (1, -2, 3)]
    assert list(runs.outcomes) == alone
    assert [outcome.success for outcome in alone] == [True, False, True]


@pytest.mark.parametrize("steps", [100, 101, 400])
def test_the_work_of_corrections_is_the_integral_of_their_power(steps):
    """From a start off the rod; as a part of the energy in motion, up to what the quadrature is unsure of."""
    equations = pendulum().with_law(hf.critically_damped(5))
    constants = parameter_vector(equations, {})
    kernel = compiled(equations.field, hf.RK4)
    rows = kernel.run(np.array([1.05, 0.0, 0.0, 0.0]), constants, step=2.0 / steps, steps=steps)
    values = dict(zip(equations.observables, rows.observables.T, strict=True))
    work = np.abs(cumulative_trapezoid(values["power_correction"], rows.times)).max()
    moving = max(values["kinetic"].max(), np.ptp(values["energy"]))
    share, _ = correction_work(equations, rows, constants)
    assert 0 < share <= work / moving
    assert share == pytest.approx(work / moving, rel=10 / steps)


def test_sizes_along_a_run_are_the_duration_the_reach_and_the_rate():
    """x = 2t over two seconds, seen at five rows: the lower quartile of its reach is that of the second row."""
    x = hf.coordinates("x")
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)))
    times = np.linspace(0.0, 2.0, 5)
    found = moving_sizes(equations, times, np.column_stack([2 * times, np.full(5, 2.0)]))
    assert found.tolist() == [2.0, 1.0, 2.0]
    still = moving_sizes(equations, times, np.column_stack([np.full(5, 7.0), np.full(5, 3.0)]))
    assert still == pytest.approx([2.0, 6e-3, 3.0])  # a thousandth of what its rate would give


def test_the_size_of_a_rate_of_a_deviation_is_that_of_its_terms():
    """w = x x' + y y' of a rod: |x'| X + |y'| Y + |x| X' + |y| Y' for sizes X, Y, X', Y' of coordinates and rates."""
    equations = hf.derive(pendulum().problem)
    state, sizes = np.array([0.6, -0.8, 3.0, 2.0]), np.array([1.0, 10.0, 20.0, 30.0, 40.0])
    constants = parameter_vector(equations, {})
    _, w = deviation_sizes(equations).natural_at(0.0, state, constants, sizes)
    assert w == pytest.approx(3.0 * 10 + 2.0 * 20 + 0.6 * 30 + 0.8 * 40)


def test_a_target_written_as_a_product_is_as_large_as_it_is_written_out():
    """10 t³ stands still for nobody: neither written out nor as t³ times a sum that begins with 10."""
    x, t = hf.coordinates("x"), hf.time
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    for target in (t**3 * (10 - t), 10 * t**3 - t**4):
        equations = hf.derive(hf.Problem(system, hf.Program(holonomic={"there": x - target}, law=hf.Unstabilised())))
        gains = parameter_vector(equations, {})
        y, _ = deviation_sizes(equations).natural_at(0.1, [0.0, 0.0], gains, [0.1, 1e-6, 1e-3])
        assert 1e-2 <= y < 1.1e-2


def test_an_ensemble_judges_each_case_as_a_run():
    cases = {"law.damping.edge": [10.0, 250.0, 199.0]}
    runs = hf.ensemble(skate(250), hf.Euler, step=0.01, duration=10, cases=cases)
    assert [outcome.name for outcome in runs.outcomes] == ["completed", "diverged", "completed"]
    for number, damping in enumerate(cases["law.damping.edge"]):
        alone = hf.simulate(skate(damping), hf.Euler, step=0.01, duration=10)
        assert runs[number].outcome is runs.outcomes[number] is alone.outcome
        assert runs[number].message == alone.message


def rod(length, law=None, start=None):
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        potential=g * y,
        parameters={L: length, g: 9.81 * length},
    )
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - L**2) / 2}, law=law or hf.Unstabilised())
    return hf.derive(hf.Problem(system, program, start=start or {x: length}))


@pytest.mark.parametrize("length", [1.0, 1e-4, 1e-7, 1e7])
def test_a_rod_that_grows_is_judged_alike_in_all_units(length):
    grown = hf.simulate(rod(length), hf.Euler, step=0.05, duration=10)
    assert np.hypot(grown["x"], grown["y"])[-1] > 2 * length
    assert not grown.success
    assert grown.outcome is hf.simulate(rod(1.0), hf.Euler, step=0.05, duration=10).outcome
    kept = hf.simulate(rod(length), hf.RK4, step=0.01, duration=10, start={x: 2 * length}, start_policy="keep")
    assert not kept.start.on_program
    assert kept.outcome is hf.Outcome.off_program


@pytest.mark.parametrize(
    ("law", "step", "duration"),
    [
        (hf.critically_damped(400), 0.01, 1),
        (hf.critically_damped(278), 0.01, 1),
        (hf.SpringDamper(stiffness=25, damping=10), 0.5, 50),
    ],
    ids=["400", "278", "coarse"],
)
def test_divergence_is_not_called_singular(law, step, duration):
    run = hf.simulate(rod(1.0, law), hf.RK4, step=step, duration=duration)
    assert np.abs(run["y_rod"]).max() > 1e100
    assert run.outcome is hf.Outcome.diverged
    assert "singular" not in run.message


def kepler(law):
    """A Kepler orbit that keeps energy and area: at each apsis their gradients are parallel. Starts between apsides."""
    mu, e, angle = 1.0, 0.6, 1.0
    radius, momentum = (1 - e**2) / (1 + e * np.cos(angle)), np.sqrt(1 - e**2)
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=-mu / sp.sqrt(x**2 + y**2))
    energy = (x.rate**2 + y.rate**2) / 2 - mu / sp.sqrt(x**2 + y**2) + sp.Rational(1, 2)
    area = x * y.rate - y * x.rate - sp.Rational(4, 5)
    program = hf.Program(nonholonomic={"ene": energy, "areal": area}, law=law)
    start = {
        x: radius * np.cos(angle),
        y: radius * np.sin(angle),
        x.rate: -np.sin(angle) / momentum,
        y.rate: (e + np.cos(angle)) / momentum,
    }
    return hf.derive(hf.Problem(system, program, start=start))


def test_a_deviation_is_judged_by_its_peak():
    """A violent push in the middle of a run throws the bob off its rod; the law has long brought it back at the end."""
    push = 200 * sp.exp(-((4 * (hf.time - 2)) ** 2))
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        forces={x: -push * y, y: push * x},
        dissipation=x.rate**2 + y.rate**2,
    )
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(4))
    run = hf.simulate(hf.derive(hf.Problem(system, program, start={x: 1})), hf.RK4, step=0.05, duration=12)
    assert abs(run["y_rod"][-1]) < 1e-12 < 0.3 < np.abs(run["y_rod"]).max()
    assert run.outcome in (hf.Outcome.deviation_grew, hf.Outcome.diverged)


def test_constraints_that_become_dependent_on_the_way_are_found():
    run = hf.simulate(kepler(hf.critically_damped(1)), hf.RK4, step=0.01, duration=20)
    doubt = next(found for found in run.findings if found.name == "condition")
    assert not doubt.failing
    apsides = [k * np.pi - 0.33 for k in range(1, 7)]  # mean anomalies of the start: 0.33 after perihelion
    assert min(abs(doubt.time - apsis) for apsis in apsides) < 0.3
    assert f"t = {doubt.time:.4g}" in doubt.text
    assert not hf.simulate(pendulum(), hf.RK4, step=0.01, duration=2).findings


def test_a_parallelogram_through_its_flat_position_is_found():
    a, b, c = hf.coordinates("a b c")
    kinetic = a.rate**2 / 6 + c.rate**2 / 2 + 3 * b.rate**2 / 8
    kinetic += (a.rate**2 + 3 * a.rate * b.rate * sp.cos(a - b) + 9 * b.rate**2 / 4) / 2
    closure = {
        "cx": sp.cos(a) + 3 * sp.cos(b) - 3 - sp.cos(c),
        "cy": sp.sin(a) + 3 * sp.sin(b) - sp.sin(c),
    }
    system = hf.System(coordinates=(a, b, c), kinetic=kinetic)
    program = hf.Program(holonomic=closure, law=hf.critically_damped(10))
    start = {a: 1, b: 0, c: 1, a.rate: 4, c.rate: 4}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.DOP853, tolerance=1e-8, duration=3)
    (doubt,) = (found for found in run.findings if found.name == "condition")
    turns = (1 + 4 * doubt.time) / np.pi  # the crank turns evenly, and is flat at every half turn
    assert abs(turns - round(turns)) < 1e-3


# ── energy, masses, and what is not a number ──────────────────────────────────────────────────────


def test_energy_that_changes_though_nothing_does_work_is_no_success():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2)
    equations = hf.derive(hf.Problem(system, start={x: 1e-9}))
    pumped = hf.simulate(equations, hf.Euler, step=0.05, duration=20)
    assert pumped["energy"][-1] > 2 * pumped["energy"][0]
    assert pumped.outcome is hf.Outcome.energy_changed
    assert hf.simulate(equations, hf.RK4, step=0.05, duration=20).success


def test_a_skate_whose_edge_is_kept_while_its_energy_explodes_is_no_success():
    """Reactions of w = J v do no work on the program; w stays within 1 % of the speed that Euler's method adds."""
    system = hf.System(coordinates=(x, y, th), kinetic=(x.rate**2 + y.rate**2 + th.rate**2) / 2)
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=100))
    equations = hf.derive(hf.Problem(system, program, start={x.rate: 1, th.rate: 20}))
    pumped = hf.simulate(equations, hf.Euler, step=0.01, duration=5)
    assert pumped["energy"][-1] > 1e5 * pumped["energy"][0]
    assert pumped.outcome is hf.Outcome.energy_changed
    assert hf.simulate(equations, hf.RK4, step=0.01, duration=5).success


def test_rounding_of_a_large_energy_is_no_change_of_it():
    """A pendulum that hardly moves: its kinetic energy is 10⁻²⁰ of its weight's, far below the rounding of the sum."""
    run = hf.simulate(pendulum(), hf.RK4, step=0.01, duration=5, start={"x": 1e-10, "z": -1.0})
    assert run["kinetic"].max() < 1e-15
    assert run.success, run.message


@pytest.mark.parametrize("mass", [-2.0, -1e-9])
def test_a_negative_mass_is_no_success(mass):
    m = hf.parameters("m")
    system = hf.System(coordinates=(x, y), kinetic=(m * x.rate**2 + y.rate**2) / 2, forces={x: -x}, parameters={m: 1})
    equations = hf.derive(hf.Problem(system, start={x: 1}))
    assert hf.simulate(equations, hf.RK4, step=0.01, duration=0.1).success
    run = hf.simulate(equations, hf.RK4, step=1e-7, duration=1e-6, parameters={m: mass})
    assert run.outcome is hf.Outcome.indefinite
    runs = hf.ensemble(equations, hf.RK4, step=1e-7, duration=1e-6, cases={m: [1.0, mass]})
    assert [outcome.name for outcome in runs.outcomes] == ["completed", "indefinite"]


def test_a_quantity_that_is_not_finite_is_named():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=sp.log(x))
    run = hf.simulate(hf.derive(hf.Problem(system, start={x: -1})), hf.RK4, step=0.01, duration=1)
    assert np.isnan(run["energy"]).all()
    assert run.outcome is hf.Outcome.undefined
    assert "energy" in run.message
    runs = hf.ensemble(
        hf.derive(hf.Problem(system, start={x: 1})), hf.RK4, step=0.01, duration=0.1, cases={x: [1.0, -1.0]}
    )
    assert [outcome.name for outcome in runs.outcomes] == ["completed", "undefined"]


def test_a_time_that_does_not_advance_is_refused():
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)
    problem = hf.Problem(system, run=hf.Run(begin=1e17, step=0.01, duration=1))
    with pytest.raises(hf.BadRequest, match="the time does not advance"):
        hf.simulate(hf.derive(problem))


def test_no_warning_of_numpy_leaks_after_a_blow_up(recwarn):
    hf.simulate(skate(250), hf.Euler, step=0.01, duration=15)
    hf.simulate(rod(1.0, hf.critically_damped(400)), hf.RK4, step=0.01, duration=1)
    assert not [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]


# ── large systems ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("law", "outcome"),
    [
        (hf.SpringDamper(stiffness=25, damping=10), hf.Outcome.completed),
        (hf.SpringDamper(stiffness=25, damping=0), hf.Outcome.off_program),
        (hf.SpringDamper(stiffness={"rod": 25, "level": 0}, damping={"rod": 10, "level": 0}), hf.Outcome.completed),
        (hf.SpringDamper(stiffness={"rod": 0, "level": 25}, damping={"rod": 0, "level": 10}), hf.Outcome.off_program),
    ],
)
def test_a_large_system_off_its_program_is_judged_by_the_blocks_of_its_law(law, outcome, monkeypatch):
    """As a small one is, without a matrix of all deviations."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2, potential=9.81 * y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2, "level": z}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: 1.05}))
    words = {"scheme": hf.RK4, "step": 0.01, "duration": 1.0, "start_policy": "keep"}
    assert hf.simulate(equations, **words).outcome is outcome
    monkeypatch.setattr("holdfast.results.judgement.judgement.LARGE", 0)
    monkeypatch.setattr("holdfast.results.judgement.judgement.law_matrices", None)
    monkeypatch.setattr("holdfast.results.judgement.attraction.law_matrices", None)
    assert hf.simulate(equations, **words).outcome is outcome


def test_a_law_that_drives_a_large_system_away_is_found_by_its_blocks(monkeypatch):
    monkeypatch.setattr("holdfast.results.judgement.check.LARGE", 0)
    monkeypatch.setattr("holdfast.results.judgement.check.law_matrices", None)
    away = pendulum().with_law(hf.SpringDamper(stiffness=-25, damping=10))
    assert [finding.name for finding in hf.checked_start(away).findings] == ["unstable_law"]


# ── what rounding can do ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("large", [False, True])
def test_a_light_part_under_a_heavy_load_excuses_nothing_elsewhere(large, monkeypatch):
    """1000 N on a tenth of a microgram that cannot move, beside a pendulum whose law drives it off its rod."""
    if large:
        monkeypatch.setattr("holdfast.results.judgement.judgement.LARGE", 0)
    x, y, u, v = hf.coordinates("x y u v")
    system = hf.System(
        coordinates=(x, y, u, v),
        kinetic=(x.rate**2 + y.rate**2) / 2 + sp.Rational(1, 10**10) * (u.rate**2 + v.rate**2) / 2,
        potential=9.81 * y,
        forces={v: -1000},
    )
    held = {"rod": (x**2 + y**2 - 1) / 2, "left": (u**2 + v**2 - 1) / 2, "right": ((u - 1) ** 2 + v**2 - 1) / 2}
    gains = {"stiffness": {"rod": -60, "left": 400, "right": 400}, "damping": {"rod": -10, "left": 40, "right": 40}}
    program = hf.Program(holonomic=held, law=hf.SpringDamper(**gains))
    start = {x: 0.8, y: 0.6, u: 0.5, v: sp.sqrt(3) / 2}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, step=0.02, duration=1.0)
    assert 0.1 < abs(run["y_rod"]).max() < 1
    assert not run.success


def test_a_body_of_more_bars_than_it_needs_falls_freely():
    """Its bars bear nothing but rounding, and what moves along them is rounding of rounding."""
    points = [hf.coordinates(f"x{k} y{k}") for k in range(5)]
    places = ((0, 0), (1, 0), (1, 1), (0, 1), (2, 0))
    bars = {
        f"bar{i}{j}": ((points[i][0] - points[j][0]) ** 2 + (points[i][1] - points[j][1]) ** 2 - square) / 2
        for i, j, square in ((0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 1), (0, 2, 2), (1, 3, 2), (1, 4, 1))
    }
    system = hf.System(
        coordinates=[c for point in points for c in point],
        kinetic=sum(x.rate**2 + y.rate**2 for x, y in points) / 2,
        potential=9.81 * sum(y for _, y in points),
    )
    start = {c: at for point, place in zip(points, places, strict=True) for c, at in zip(point, place, strict=True)}
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic=bars, law=hf.critically_damped(20)), start=start))
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.2)
    assert abs(run["w_bar01"]).max() < 1e-12
    assert run.success, run.message


def dwelling(pause, rise, rest=0):
    """A mass that waits where it is, and is moved from there to rest again."""
    x, s = hf.coordinates("x"), hf.time - pause
    path = rest + sp.Piecewise((0, hf.time < pause), (rise(s), hf.time < pause + 1), (1, True))
    law = hf.SpringDamper(stiffness=25, damping=10)
    program = hf.Program(holonomic={"a": x - path}, controls={"F": {x: 1}}, law=law)
    return hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2), program, start={x: rest})


@pytest.mark.parametrize("rest", [0, 5])
@pytest.mark.parametrize("pause", [0.5, 1, 4])
def test_what_waits_before_it_moves_is_no_small_thing_when_it_has(pause, rest):
    problem = dwelling(pause, lambda s: 10 * s**3 - 15 * s**4 + 6 * s**5, rest)
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=pause + 1.5)
    assert run.outcome is hf.Outcome.completed
    assert np.abs(run["y_a"]).max() < 1e-6


def test_what_waits_and_is_not_moved_with_its_path_is_far_off_it():
    problem = dwelling(1, lambda s: 10 * s**3 - 15 * s**4 + 6 * s**5)
    free = hf.derive(problem).with_law(hf.Unstabilised())
    run = hf.simulate(free, hf.Euler, step=0.25, duration=2.5)
    assert np.abs(run["y_a"]).max() > 0.3
    assert not run.success


@pytest.mark.parametrize("unit", [1e-6, 1, 1e6])
def test_under_a_law_that_drives_away_a_small_part_of_the_terms_is_far_off(unit):
    """What is 2 to 8 % of them goes on to grow; under a law that attracts it is what coarse steps leave."""
    x, z = hf.coordinates("x z")
    kinetic, weight = (x.rate**2 + z.rate**2) / 2, 9.81 * unit * z
    rod = {"rod": (x**2 + z**2 - unit**2) / 2}
    program = hf.Program(holonomic=rod, law=hf.SpringDamper(stiffness=-25, damping=-10))
    system = hf.System(coordinates=(x, z), kinetic=kinetic, potential=weight)
    equations = hf.derive(hf.Problem(system, program, start={x: unit}))
    words = {"scheme": hf.RK4, "step": 0.01, "duration": 1.25}
    run = hf.simulate(equations, **words)
    assert 0.02 < np.abs(run["y_rod"]).max() / unit**2 < 0.08
    assert run.outcome is hf.Outcome.deviation_grew
    assert not hf.ensemble(equations, cases={"law.stiffness.rod": [-25, -25]}, **words).success.any()
    coarse = hf.simulate(equations, hf.RK4, step=0.1, duration=1.2, law=hf.critically_damped(10))
    assert np.abs(coarse["w_rod"]).max() > 0.05 * unit**2
    assert coarse.success, coarse.message


@pytest.mark.parametrize("unit", [1e-6, 1, 1e5])
@pytest.mark.parametrize(("pause", "moving"), [(8, 2), (9.7, 0.2), (8, 0.2)])
def test_a_late_motion_is_judged_beside_what_it_becomes(pause, moving, unit):
    """Where it sets out, a path of s³ is no larger than what a step leaves undone of it."""
    x, s = hf.coordinates("x"), sp.Min(sp.Max((hf.time - pause) / moving, 0), 1)
    law, path = hf.critically_damped(5), unit * s**3 * (10 - 15 * s + 6 * s**2)
    program = hf.Program(holonomic={"a": x - path}, controls={"F": {x: 1}}, law=law)
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2), program))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=10)
    assert np.abs(run["y_a"]).max() < 1e-5 * unit
    assert run.success, run.message
    assert hf.ensemble(equations, hf.RK4, step=0.01, duration=10, cases={"law.stiffness.a": [25, 25]}).success.all()
    away = hf.simulate(equations, hf.RK4, step=0.01, duration=10, law=hf.critically_damped(500))
    assert away.outcome is hf.Outcome.diverged


def test_a_row_that_holds_its_program_by_chance_does_not_excuse_a_run_that_ran_away():
    """A sleigh beyond the limit of its law, in steps after which its heading is any."""
    metre, second = 10**6, sp.Rational(1, 10**6)
    x, y, th = hf.coordinates("x y th")
    kinetic = (x.rate**2 + y.rate**2) / 2 + metre**2 * th.rate**2 / 5
    edge = {"edge": -x.rate * sp.sin(th) + y.rate * sp.cos(th) - metre * th.rate / 3}
    program = hf.Program(nonholonomic=edge, law=hf.SpringDamper(damping=100 / second))
    problem = hf.Problem(hf.System(coordinates=(x, y, th), kinetic=kinetic), program)
    start = {th.rate: 1 / second, y.rate: metre / second / 3}
    run = hf.simulate(hf.derive(problem), hf.Euler, start=start, step=1e-7, duration=6e-6)
    assert run.outcome is hf.Outcome.diverged


@pytest.mark.parametrize("expanded", [False, True])
def test_a_product_of_sums_is_judged_by_the_terms_of_either(expanded):
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    bowl = (y - x**2) * (y + 2)
    law = hf.SpringDamper(stiffness=100, damping=20)
    program = hf.Program(holonomic={"bowl": bowl.expand() if expanded else bowl}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: 0.5, y: 0.25}))
    run = hf.simulate(equations, hf.RK4, step=0.002, duration=0.5)
    assert run.outcome is hf.Outcome.completed
    assert not hf.simulate(equations.with_law(hf.Unstabilised()), hf.Euler, step=0.1, duration=2).success
