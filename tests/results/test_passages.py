"""States at which constraints depend on each other: crossed on the smooth branch, or told; never a silent jump."""

import itertools

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import holdfast as hf
from tests.equations.loops import LAW, three_cranks


def parallelogram(redundant=None, *, weights=(1, 3)):
    """A four-bar with equal opposite sides that turns through its flat positions, where it could fold."""
    a, b, c = hf.coordinates("a b c")
    length = sp.Integer(3)
    arm = sp.Matrix([sp.cos(a), sp.sin(a)])
    bar = sp.Matrix([sp.cos(b), sp.sin(b)]) * length
    centre = arm + bar / 2
    speed = [sum(sp.diff(part, q) * q.rate for q in (a, b)) for part in centre]
    kinetic = (weights[0] * a.rate**2 + weights[1] * c.rate**2) / 6 + sum(v**2 for v in speed) / 2
    kinetic += length**2 * b.rate**2 / 24
    potential = sp.Rational("9.81") * (arm[1] / 2 + 3 * centre[1])
    held = {"cx": (arm + bar)[0] - length - sp.cos(c), "cy": (arm + bar)[1] - sp.sin(c)}
    program = hf.Program(holonomic=held, law=LAW, redundant=redundant)
    system = hf.System(coordinates=(a, b, c), kinetic=kinetic, potential=potential)
    return hf.Problem(system, program, start={a: 1, b: 0, c: 1, a.rate: 4, b.rate: 0, c.rate: 4})


def turned(duration):
    """The angle by its one equation: (7/3) a'' = −3.5 g cos a."""

    def rates(_, state):
        return [state[1], -9.81 * 3.5 * np.cos(state[0]) / (7 / 3)]

    return solve_ivp(rates, (0, duration), [1, 4], method="DOP853", rtol=1e-13, atol=1e-13).y[0, -1]


def beside_a_wheel(pace):
    """The parallelogram, and a bob that goes round by itself at some pace, in radians."""
    flat = parallelogram()
    x, z = hf.coordinates("x z")
    kinetic = flat.system.kinetic + (x.rate**2 + z.rate**2) / 2
    held = {**flat.program.holonomic, "rod": (x**2 + z**2 - 1) / 2}
    coordinates = (*hf.coordinates("a b c"), x, z)
    system = hf.System(coordinates=coordinates, kinetic=kinetic, potential=flat.system.potential)
    start = {**flat.start, x: 1, z.rate: pace}
    return hf.derive(hf.Problem(system, hf.Program(holonomic=held, law=LAW), start=start))


@pytest.mark.parametrize("pace", [5, 60])
def test_a_jump_beside_a_mechanism_that_turns_quickly_is_told(pace):
    """Rows follow the jump of the one, and turn the free direction of the other by more than it."""
    equations = beside_a_wheel(pace)
    alone = hf.simulate(hf.derive(parallelogram()), hf.RK4, step=0.001, duration=10)
    for every in (1, 10):
        run = hf.simulate(equations, hf.RK4, step=0.001, duration=10, every=every)
        assert np.abs(run["a"] - run["c"]).max() > 1
        assert run.outcome is hf.Outcome.branch_changed
        assert run.findings[0].time == pytest.approx(alone.findings[0].time, abs=0.02)
    runs = hf.ensemble(equations, hf.RK4, step=0.001, duration=10, cases={"z_dot": [pace, pace + 1]})
    assert {*runs.outcomes} == {hf.Outcome.branch_changed}


def with_a_bob_on_its_crank(pace):
    """The parallelogram with a light bob that goes round half-way along a crank, and is pushed: energy says nothing."""
    flat = parallelogram()
    a, b, c, x, z = hf.coordinates("a b c x z")
    kinetic = flat.system.kinetic + (x.rate**2 + z.rate**2) / 2000
    held = {
        **flat.program.holonomic,
        "rod": ((x - sp.cos(a) / 2) ** 2 + (z - sp.sin(a) / 2) ** 2 - sp.Rational(1, 4)) / 2,
    }
    system = hf.System(
        coordinates=(a, b, c, x, z), kinetic=kinetic, potential=flat.system.potential, forces={x: hf.time / 10**6}
    )
    start = {x: sp.cos(1) / 2 + sp.Rational(1, 2), z: sp.sin(1) / 2}
    start |= {x.rate: -2 * sp.sin(1), z.rate: 2 * sp.cos(1) + sp.Rational(pace, 2)}
    program = hf.Program(holonomic=held, law=hf.critically_damped(10))
    return hf.derive(hf.Problem(system, program, start={**flat.start, **start}))


@pytest.mark.parametrize("every", [1, 5, 40])
def test_a_jump_of_what_carries_something_that_turns_quickly_is_told(every):
    run = hf.simulate(with_a_bob_on_its_crank(5), hf.RK4, step=0.0002, duration=8, every=every)
    assert np.abs(run["a"] - run["c"]).max() > 1
    assert run.outcome is hf.Outcome.branch_changed


WAYS = [(hf.DOP853, {"tolerance": 1e-8}), (hf.DOP853, {"tolerance": 1e-10}), (hf.RK4, {"step": 0.001})]


@pytest.mark.parametrize(("scheme", "how"), WAYS, ids=["dop853-8", "dop853-10", "rk4"])
def test_a_parallelogram_ends_where_its_one_equation_ends(scheme, how):
    run = hf.simulate(hf.derive(parallelogram("allow")), scheme, duration=10, every=1, **how)
    assert run.success
    assert run.times[-1] == pytest.approx(10, abs=1e-9)
    assert abs(run["a"][-1] - turned(10)) < 5e-6
    assert abs(run["a"][-1] - run["c"][-1]) < 1e-9
    assert np.abs(run["a"] - run["c"]).max() < 1e-6
    assert np.ptp(run["energy"]) < 1e-5 * run["energy"][0]
    assert (np.diff(run.times) > 0).all()
    (found,) = run.findings
    assert found.name == "crossed"
    assert "17 later times" in found.text


@pytest.mark.parametrize(("scheme", "how"), WAYS, ids=["dop853-8", "dop853-10", "rk4"])
def test_a_run_that_jumped_to_another_branch_is_flagged_with_its_time(scheme, how):
    run = hf.simulate(hf.derive(parallelogram()), scheme, duration=10, every=1, **how)
    assert run.outcome.name == "branch_changed"
    assert not run.success
    assert abs(run["a"][-1] - run["c"][-1]) > 0.1
    (found,) = [finding for finding in run.against if finding.name == "branch_changed"]
    assert abs(np.sin(np.interp(found.time, run.times, run["a"]))) < 0.05
    assert "'cx'" in found.text
    assert 'redundant = "allow"' in found.text


def test_a_run_that_jumped_is_flagged_by_thinned_rows_too():
    for every in (20, 50, 100):
        run = hf.simulate(hf.derive(parallelogram()), hf.RK4, step=0.001, duration=10, every=every)
        assert run.outcome.name == "branch_changed"


def crank_and_rocker(speed):
    """A four-bar without a singular state: bars of 1, 3 and 2 on a base of 2.5, the shortest turning all the way."""
    a, b, c = hf.coordinates("a b c")
    system = hf.System(coordinates=(a, b, c), kinetic=a.rate**2 / 6 + 2 * b.rate**2 + c.rate**2)
    held = {
        "cx": sp.cos(a) + 3 * sp.cos(b) - sp.Rational(5, 2) - 2 * sp.cos(c),
        "cy": sp.sin(a) + 3 * sp.sin(b) - 2 * sp.sin(c),
    }
    program = hf.Program(holonomic=held, law=hf.critically_damped(20))
    start = {a: 1, b: 0.4101936172, c: 1.5, a.rate: speed}
    return hf.derive(hf.Problem(system, program, start=start))


@pytest.mark.parametrize("speed", [1.0, 4.0, 6.0])
def test_rows_too_far_apart_to_follow_a_turn_say_nothing_of_branches(speed):
    """Between two rows the bars may have turned right round, and J with them."""
    equations, words = crank_and_rocker(speed), {"step": 0.001, "duration": 20, "start_policy": "project"}
    for every in (1, *range(100, 1500, 60)):
        run = hf.simulate(equations, hf.RK4, every=every, **words)
        assert run.outcome is hf.Outcome.completed, (every, run.message)
    for count in (11, 21, 81, 161):
        run = hf.simulate(equations, hf.RK4, at=np.linspace(0, 20, count).tolist(), **words)
        assert run.outcome is hf.Outcome.completed, (count, run.message)


def test_a_run_that_crosses_nothing_is_the_same_in_pieces():
    problem = parallelogram("allow")
    whole = hf.simulate(hf.derive(parallelogram()), hf.RK4, step=0.001, duration=0.4)
    pieces = hf.simulate(hf.derive(problem), hf.RK4, step=0.001, duration=0.4)
    assert whole.success
    assert pieces.success
    assert np.abs(whole.y[:, -1] - pieces.y[:, -1]).max() < 1e-10
    assert len(pieces.times) == len(whole.times)


def test_states_between_rows_are_known_in_a_gap_too():
    run = hf.simulate(hf.derive(parallelogram("allow")), hf.DOP853, tolerance=1e-10, duration=1.2, every=1)
    times = np.linspace(0.49, 0.54, 41)
    at = hf.simulate(hf.derive(parallelogram("allow")), hf.DOP853, tolerance=1e-10, duration=1.2, at=times)
    assert run.success
    assert at.success
    assert np.abs(at["a"] - at["c"]).max() < 1e-6
    assert max(abs(a - turned(t)) for a, t in zip(at["a"][::10], times[::10], strict=True)) < 1e-6


def chain(n):
    """n four-bars in a row, points in the plane (IFToMM benchmark A02): n ranks are lost whenever it lies flat."""
    points = [hf.coordinates(f"X{i} Y{i}") for i in range(n + 1)]
    kinetic, potential, held, start = sp.S.Zero, sp.S.Zero, {}, {}
    for i, (x, y) in enumerate(points):
        kinetic += (x.rate**2 + y.rate**2) / 6
        potential += sp.Rational("9.81") * y / 2
        held[f"a{i}"] = (x - i) ** 2 + y**2 - 1
        start |= {x: i, y: 1, x.rate: 1, y.rate: 0}
    for i, ((x, y), (u, v)) in enumerate(itertools.pairwise(points)):
        kinetic += (x.rate**2 + y.rate**2 + u.rate**2 + v.rate**2 + x.rate * u.rate + y.rate * v.rate) / 6
        potential += sp.Rational("9.81") * (y + v) / 2
        held[f"b{i}"] = (u - x) ** 2 + (v - y) ** 2 - 1
    system = hf.System(coordinates=[c for point in points for c in point], kinetic=kinetic, potential=potential)
    program = hf.Program(holonomic=held, law=hf.critically_damped(10), redundant="allow")
    return hf.derive(hf.Problem(system, program, start=start))


def test_a_chain_of_four_bars_falls_through_its_flat_positions():
    """Ten passages in ten seconds; the reference is the closed form, 1e-3 is the benchmark's high precision."""
    run = hf.simulate(chain(2), hf.RK4, step=0.001, duration=10)
    assert run.success
    assert abs(run["X0"][-1] - 0.32845811154081538) < 5e-5
    assert abs(run["Y0"][-1] - 0.94451853817860096) < 5e-5


def test_where_the_motion_does_not_say_how_it_goes_on_the_run_ends_and_says_why():
    """A point that slides into a cusp has no smooth way on, and none is invented."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"cusp": x**2 - y**3}, law=LAW, redundant="allow")
    start = {x: 1, y: 1, x.rate: -1.5, y.rate: -1}
    run = hf.simulate(hf.derive(hf.Problem(system, program, start=start)), hf.RK4, step=0.001, duration=3)
    assert run.outcome.name == "rank_lost"
    assert "'cusp' changes with no motion" in run.message
    assert abs(run["y"][-1]) < 0.2


def test_three_cranks_pass_their_flat_position_by_themselves():
    """One of their four equations is a repeat everywhere; where they lie flat, one more is lost."""
    equations = hf.derive(three_cranks())
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=2)
    assert run.success

    def rates(_, state):
        return [state[1], -9.81 * 2.5 / 2 * np.cos(state[0])]

    exact = solve_ivp(rates, (0, 2), [1, 0], method="DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    assert [run[name][-1] for name in "acd"] == pytest.approx([exact] * 3, abs=1e-6)
    assert run.steps == 2000
    assert "stopped" not in str(run.state_error)


def test_a_rough_start_is_moved_onto_constraints_that_repeat_each_other():
    equations = hf.derive(three_cranks(start={"a": 1.1, "b": 0, "c": 0.9, "d": 1}))
    run = hf.simulate(equations, hf.RK4, step=0.001, duration=0.1, start_policy="project")
    begun = {name: run[name][0] for name in "abcd"}
    assert 0.9 < begun["a"] < 1.1
    assert begun["a"] == pytest.approx(begun["c"], abs=1e-9)
    assert begun["a"] == pytest.approx(begun["d"], abs=1e-9)
    assert np.abs(run.deviation).max() < 1e-9


STARTS = {"a_dot": [4, 4.5, 1.0], "c_dot": [4, 4.5, 1.0]}


@pytest.mark.parametrize("redundant", ["allow", None])
@pytest.mark.parametrize(("scheme", "how"), [(hf.RK4, {"step": 0.002}), (hf.DOP853, {"tolerance": 1e-9})])
def test_cases_of_an_ensemble_pass_singular_states_as_their_runs_do(redundant, scheme, how):
    equations = hf.derive(parallelogram(redundant))
    runs = hf.ensemble(equations, scheme, duration=3, cases=STARTS, **how)
    for number, (a, c) in enumerate(zip(*STARTS.values(), strict=True)):
        alone = hf.simulate(equations, scheme, duration=3, start={"a_dot": a, "c_dot": c}, **how)
        assert runs.outcomes[number] is alone.outcome
        assert runs[number].outcome is alone.outcome
        assert runs[number].times[-1] == pytest.approx(alone.times[-1], abs=1e-12)
        assert abs(runs["a"][number, -1] - alone["a"][-1]) < 1e-9
        assert {f.name for f in runs[number].against} == {f.name for f in alone.against}
        if redundant:
            (one,), (other,) = runs[number].findings, alone.findings
            assert (one.name, other.name) == ("crossed", "crossed")
            assert one.time == pytest.approx(other.time, abs=0.015)  # rows of an adaptive ensemble lie this far apart


def test_a_thinned_ensemble_crosses_too():
    equations = hf.derive(parallelogram("allow"))
    runs = hf.ensemble(equations, hf.RK4, step=0.002, duration=1.5, cases=STARTS, every=7)
    whole = hf.ensemble(equations, hf.RK4, step=0.002, duration=1.5, cases=STARTS)
    assert runs.success.all()
    assert runs[0].steps == whole[0].steps == 750
    assert abs(runs[0]["a"][-1] - whole[0]["a"][-1]) < 1e-5


def test_cases_that_end_at_a_cusp_end_as_their_runs_do():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    program = hf.Program(holonomic={"cusp": y**2 - x**3}, law=LAW, redundant="allow")
    equations = hf.derive(hf.Problem(system, program, start={x: 1, y: 1, x.rate: -1, y.rate: -1.5}))
    cases = {"x_dot": [-1.0, 1.0], "y_dot": [-1.5, 1.5]}
    runs = hf.ensemble(equations, hf.RK4, step=0.001, duration=2, cases=cases)
    for number in range(2):
        begin = {"x": 1, "y": 1, **{name: values[number] for name, values in cases.items()}}
        alone = hf.simulate(equations, hf.RK4, step=0.001, duration=2, start=begin)
        assert runs.outcomes[number] is alone.outcome
        assert runs[number].times[-1] == pytest.approx(alone.times[-1], abs=1e-12)
