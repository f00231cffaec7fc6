"""A run of few short steps is not spoken against by what any scheme leaves undone in them; one of long steps is."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.results.judgement.few_steps import (
    FEW_STEPS,
    SHORT,
    _evenly,
    _little,
    kept_deviations,
    made_by_few_steps,
)

UNITS = [(1, 1), (1e-3, 1), (1e3, 1), (1, 1e-3), (1, 1e3)]  # units of length and of time
SCHEMES = [hf.Euler, hf.Midpoint, hf.Heun, hf.RK4]
NUMBERS = (1, 2, 3, 5, 10, 29, 50)


def free(coordinates, weights, potential, start, **held):
    kinetic = sum(w * c.rate**2 for w, c in zip(weights, coordinates, strict=True)) / 2
    system = hf.System(coordinates=coordinates, kinetic=kinetic, potential=potential)
    return hf.derive(hf.Problem(system, hf.Program(**held), start=start))


def pendulum(length, time, gain=10):
    x, z = hf.coordinates("x z")
    rod, law = {"rod": (x**2 + z**2 - length**2) / 2}, hf.critically_damped(gain / time)
    return free((x, z), (1, 1), 9.81 * length / time**2 * z, {x: length}, holonomic=rod, law=law)


def links(length, time, gain=10):
    points = [hf.coordinates(f"x{k} z{k}") for k in range(4)]
    ends = [(0, 0), *points]
    rods = {
        f"rod{k}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2) / 2
        for k, (a, b) in enumerate(zip(ends, points, strict=False))
    }
    start = {x: (k + 1) * length for k, (x, _) in enumerate(points)}
    weight = 9.81 * length / time**2 * sum(z for _, z in points)
    coordinates = [c for point in points for c in point]
    law = hf.critically_damped(gain / time)
    return free(coordinates, [1] * 8, weight, start, holonomic=rods, law=law)


def bowl(length, time, gain=10):
    """Across its lowest point: height and curve are of second order there."""
    x, z = hf.coordinates("x z")
    law, start = hf.critically_damped(gain / time), {x.rate: length / time}
    return free((x, z), (1, 1), 0, start, holonomic={"bowl": z - x**2 / (2 * length)}, law=law)


def skate(length, time, gain=10):
    x, y, th = hf.coordinates("x y th")
    slope, law = -2.5 * length / time**2 * x, hf.SpringDamper(damping=gain / time)
    edge = {"edge": x.rate * sp.sin(th) - y.rate * sp.cos(th)}
    return free((x, y, th), (1, 1, length**2 / 10), slope, {th.rate: 1 / time}, nonholonomic=edge, law=law)


def crank(length, time, gain=10):
    x, a, b = hf.coordinates("x a b")
    closure = {
        "across": x - length * sp.cos(a) - 2 * length * sp.cos(b),
        "along": length * sp.sin(a) - 2 * length * sp.sin(b),
    }
    law, turning = hf.critically_damped(gain / time), 9.81 * length**2 / time**2 * sp.sin(a) / 2
    start = {a: 0, b: 0, x: 3 * length}
    return free((x, a, b), (1, length**2 / 3, length**2 / 3), turning, start, holonomic=closure, law=law)


def timetable(length, time, gain=10):
    """A target that leaves with neither speed nor acceleration."""
    x, share = hf.coordinates("x"), hf.time / time
    target = length * share**3 * (10 - 15 * share + 6 * share**2)
    law = hf.critically_damped(gain / time)
    return free((x,), (1,), 0, {}, holonomic={"there": x - target}, law=law)


MECHANISMS = [pendulum, links, bowl, skate, crank]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_short_run_of_short_steps_is_good_in_all_units(mechanism):
    for length, time in UNITS:
        equations = mechanism(length, time)
        for scheme in SCHEMES:
            for step in (1e-6, 1e-4, 1e-2):
                for steps in NUMBERS:
                    run = hf.simulate(equations, scheme, step=step * time, duration=steps * step * time)
                    assert run.success, (length, time, scheme.name, step, steps, run.message)


@pytest.mark.parametrize("steps", [3, 5, 10, 20, 50, 200])
def test_a_timetable_that_sets_out_gently_is_followed(steps):
    """Target and place both grow as the cube of the time: by Euler's method a part 3/k of it is left undone."""
    for scheme in SCHEMES:
        run = hf.simulate(timetable(1, 1), scheme, step=1e-4, duration=steps * 1e-4)
        assert run.success, (scheme.name, run.message)


@pytest.mark.parametrize("steps", [1, 2, 5, 10])
def test_the_formula_is_what_steps_of_first_order_make_from_rest(steps):
    """w of a pendulum that is let go level, before its speed along the rod counts: g² h³ k (k − 1) / 2."""
    equations = pendulum(1.0, 1.0).with_law(hf.Unstabilised())
    step = 1e-4
    rows = compiled(equations.field, hf.Euler).run(np.array([1.0, 0, 0, 0]), [0.0, 0.0], step=step, steps=steps)
    inputs = np.column_stack([rows.times, rows.states])
    _, w = kept_deviations(equations).turned(inputs, [0.0, 0.0])[-1] / steps
    assert w == pytest.approx(9.81**2 * step**3 * steps * (steps - 1) / 2, rel=1e-6)
    seen = rows.observables[-1, list(equations.observables).index("w_rod")]
    assert seen == pytest.approx(w, rel=1e-3, abs=1e-18)
    (made,) = made_by_few_steps(kept_deviations(equations), equations, rows, np.array([steps]), [0.0, 0.0])
    assert made[1] == pytest.approx(3 * w * (1 - steps / FEW_STEPS), rel=1e-6, abs=1e-18)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("steps", [3, 5, 10, 29])
def test_a_run_beyond_the_limit_of_its_law_is_never_excused(mechanism, steps):
    """A law that multiplies deviations by some −20 in each step, from a start as far off as rounding, or not at all."""
    for step in (0.01, 0.03):
        run = hf.simulate(mechanism(1, 1, gain=2000), hf.Midpoint, step=step, duration=steps * step)
        assert not run.success, step


@pytest.mark.parametrize("mechanism", [links, crank])
@pytest.mark.parametrize("step", [0.5, 3.0])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_one_long_step_is_no_short_run(mechanism, step, steps):
    """It changes the accelerations by more than they are, so that nothing is known of what it leaves undone."""
    run = hf.simulate(mechanism(1, 1), hf.Euler, step=step, duration=step * steps)
    assert not run.success


def test_an_oscillator_that_is_pumped_in_few_steps_is_told():
    x = hf.coordinates("x")
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=x**2 / 2)))
    words = {"start": {x: 1.0}, "step": 0.5, "duration": 5.0}
    assert hf.simulate(equations, hf.Euler, **words).outcome is hf.Outcome.energy_changed
    short = hf.simulate(equations, hf.Euler, start={x: 1.0}, step=0.01, duration=0.05)
    assert short.outcome is hf.Outcome.completed
    assert np.ptp(short["energy"]) > 0.1 * short["kinetic"].max()


def steep(gain):
    """A bead on a wire of the fourth order, driven so that its energy says nothing."""
    x, z = hf.coordinates("x z")
    kinetic, push = (x.rate**2 + z.rate**2) / 2, {x: 3 + sp.sin(hf.time)}
    system = hf.System(coordinates=(x, z), kinetic=kinetic, potential=9.81 * z, forces=push)
    program = hf.Program(holonomic={"wire": z - x**4}, law=hf.critically_damped(gain))
    return hf.derive(hf.Problem(system, program, start={x: 0.1}))


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize(("scheme", "step", "gain"), [(hf.RK4, 0.5, 10), (hf.RK4, 0.1, 100), (hf.Midpoint, 0.1, 2000)])
def test_a_run_that_ran_away_between_its_kept_rows_is_not_excused(scheme, step, gain, every):
    run = hf.simulate(steep(gain), scheme, step=step, duration=5 * step, every=every)
    assert np.abs(run["y_wire"]).max() > 1e60
    assert not run.success


@pytest.mark.parametrize("thrust", [0, 50])
@pytest.mark.parametrize(("step", "steps"), [(0.3, 2), (0.3, 3), (1.0, 2)])
def test_what_is_heavy_and_carries_or_falls_beside_it_excuses_no_long_steps(thrust, step, steps):
    x, z, u = hf.coordinates("x z u")
    heavy, end = 1e6, (x - u if thrust else x)
    kinetic = (x.rate**2 + z.rate**2 + heavy * u.rate**2) / 2
    forces = {u: heavy * (thrust or -9.81)}
    system = hf.System(coordinates=(x, z, u), kinetic=kinetic, potential=9.81 * z, forces=forces)
    program = hf.Program(holonomic={"rod": (end**2 + z**2 - 1) / 2}, law=hf.critically_damped(10))
    equations = hf.derive(hf.Problem(system, program, start={x: 1}))
    run = hf.simulate(equations, hf.Euler, step=step, duration=step * steps)
    assert np.abs(run["y_rod"]).max() > 0.3
    assert not run.success


def test_thinned_rows_and_cases_of_an_ensemble_are_judged_as_the_run():
    equations, words = links(1, 1), {"step": 1e-3, "duration": 0.02}
    for every in (1, 2, 7, 20):
        assert hf.simulate(equations, hf.Euler, every=every, **words).success
    runs = hf.ensemble(equations, hf.Euler, cases={"law.stiffness.rod0": [100.0, 400.0]}, **words)
    assert runs.success.all()
    assert all(runs[number].success for number in range(2))


def test_what_is_not_finite_is_not_small():
    vectors = np.array([[1.0], [np.inf], [np.inf], [np.nan], [0.0], [0.0]])
    changes = np.array([[SHORT], [0.0], [0.0], [0.0], [0.0]])
    assert _little(changes, vectors).tolist() == [False, False, False, False, True]
    assert _little(np.array([[0.5 * SHORT], [2 * SHORT]]), np.ones((3, 1))).tolist() == [True, False]


def test_three_changes_that_are_alike_are_even():
    changes = np.array([1.0, 1.1, 1.2, 2.0, 4.0, 4.0, 4.0])[:, None]
    assert _evenly(changes).tolist() == [True, True, True, False, True, True, True]
    assert not _evenly(np.ones((2, 1))).any()  # two may be alike by chance
