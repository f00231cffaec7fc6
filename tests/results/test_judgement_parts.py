"""The parts of a judgement by themselves: sizes along a run, what has grown, run away, or is not defined."""

from types import SimpleNamespace

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.run.status import Status
from holdfast.results.judgement import check
from holdfast.results.judgement.along import _peaks
from holdfast.results.judgement.check import _unstable
from holdfast.results.judgement.finding import Finding
from holdfast.results.judgement.judgement import (
    BLOWN,
    FEW,
    GROWTH,
    LOOKED_AT,
    NEARLY_SINGULAR,
    NOTICEABLE,
    Departure,
    _of_deviations,
    _ran_away,
    _rows_to_look_at,
    _undefined,
    doubtful,
    driven,
    ended,
    energy_found,
    grown,
    mass_gone,
    moving_sizes,
    sizes_at_rows,
)
from holdfast.results.judgement.masses import negative_mass
from tests.stability.held import pendulum


@pytest.fixture(autouse=True)
def quiet():
    """As in a judgement, where values beyond doubles are met and not warned of."""
    with np.errstate(all="ignore"):
        yield


TWO = SimpleNamespace(coordinates=("x", "y"), state_names=("x", "y", "x_dot", "y_dot"))


def test_the_end_of_a_run_has_its_word():
    assert ended(Status.completed, np.zeros(0)) is hf.Outcome.completed
    assert ended(Status.not_finite, np.zeros(0)) is hf.Outcome.not_finite
    assert ended(Status.not_finite, np.array([1.0, 0.9 * NEARLY_SINGULAR])) is hf.Outcome.rank_lost
    assert ended(Status.not_finite, np.array([1.0, NEARLY_SINGULAR])) is hf.Outcome.not_finite
    assert ended(Status.completed, np.array([0.0])) is hf.Outcome.completed


def test_a_trial_has_grown_if_it_ends_much_further_off():
    begin = np.array([[3e-4, 4e-4]])  # 5e-4
    for factor, expected in ((0.99, False), (1.01, True)):
        trial = np.stack([begin, begin * GROWTH * factor], axis=1)
        assert grown(trial).tolist() == [expected]
    still = np.zeros((1, 1, 2))
    assert grown(np.concatenate([still, still + 0.5 * NOTICEABLE], axis=1)).tolist() == [False]
    assert grown(np.concatenate([still, still + NOTICEABLE], axis=1)).tolist() == [True]
    assert grown(np.concatenate([still, still * np.nan], axis=1)).tolist() == [True]


def test_rows_are_looked_at_evenly_and_where_a_deviation_is_worst():
    deviation = np.zeros((3 * LOOKED_AT, 2))
    deviation[1001, 0], deviation[7, 1] = -5.0, np.nan
    rows = _rows_to_look_at(deviation)
    assert {1001, 7, 0, 3 * LOOKED_AT - 1} <= set(rows.tolist())
    assert LOOKED_AT <= len(rows) <= LOOKED_AT + 2
    assert _rows_to_look_at(np.zeros((5, 1))).tolist() == [0, 1, 2, 3, 4]


def test_usual_sizes_are_lower_quartiles():
    """Four times of five the coordinate is 3 away and its rate 2; the last row has run away."""
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    states = np.array([[1.0, 7.0, 2.0, 0.0], *[[4.0, 7.0, -2.0, 0.0]] * 3, [1e9, 7.0, 1e9, 0.0]])
    assert moving_sizes(TWO, times, states).tolist() == [4.0, 3.0, 0.0, 2.0, 0.0]
    slow = states.copy()
    slow[:, 2] = 0.0
    assert moving_sizes(TWO, times, slow).tolist() == [4.0, 3.0, 0.0, 0.75, 0.0]  # 3 in a duration of 4
    back = states.copy()
    back[:, 0] = 1.0
    assert moving_sizes(TWO, times, back)[1] == pytest.approx(1e-3 * 2 * 4)  # it returns to where it was
    assert moving_sizes(TWO, times[:1], states[:1]).tolist() == [1.0, 2e-3, 0.0, 2.0, 0.0]
    lost = states.copy()
    lost[1:, 1] = np.nan
    assert moving_sizes(TWO, times, lost)[2] == 0.0


def test_a_rate_counts_for_no_less_than_it_is_there():
    usual = np.array([4.0, 3.0, 1.0, 2.0, 0.5])
    states = np.array([[9.0, 9.0, -5.0, 0.1], [9.0, 9.0, 1.0, np.nan]])
    assert sizes_at_rows(TWO, usual, states).tolist() == [[4.0, 3.0, 1.0, 5.0, 0.5], [4.0, 3.0, 1.0, 2.0, 0.5]]


def test_a_deviation_is_doubtful_beside_a_hundredth_of_its_terms():
    equations = hf.derive(pendulum(1.0))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=1.0)
    states = run.y.T
    size = np.array([1.0, 3.0])  # of y, and of w at most
    constants = [run.parameters[name] for name in equations.parameter_names]
    small, large = np.zeros((len(states), 2)), np.zeros((len(states), 2))
    small[30] = 1e-4 * size
    large[30, 0] = -0.5
    assert not doubtful(equations, run.times, states, np.zeros_like(small), constants)
    assert not doubtful(equations, run.times, states, small, constants)
    assert doubtful(equations, run.times, states, large, constants)
    assert doubtful(equations, run.times, states, -large, constants)
    lost = small.copy()
    lost[3, 1] = np.nan
    assert doubtful(equations, run.times, states, lost, constants)
    assert FEW < len(states)


@pytest.mark.parametrize(
    ("factor", "outcome", "found"),
    [
        (1.0, hf.Outcome.completed, hf.Outcome.deviation_grew),
        (1.0, hf.Outcome.event, hf.Outcome.deviation_grew),
        (BLOWN, hf.Outcome.completed, hf.Outcome.deviation_grew),
        (1.01 * BLOWN, hf.Outcome.completed, hf.Outcome.diverged),
        (1.0, hf.Outcome.rank_lost, hf.Outcome.diverged),
        (1.0, hf.Outcome.not_finite, hf.Outcome.diverged),
    ],
)
def test_a_run_that_left_its_program_is_never_called_singular(factor, outcome, found, monkeypatch):
    finding = Finding("deviation_grew", "It grew.", True, 1.0, "y_rod")
    target = "holdfast.results.judgement.judgement._departure"
    monkeypatch.setattr(target, lambda facts: Departure(finding, factor))
    judgement = _of_deviations(None, outcome)
    assert (judgement.outcome, judgement.findings) == (found, (finding,))
    monkeypatch.setattr(target, lambda facts: None)
    assert _of_deviations(None, outcome) is None


def facts(states, observables=None, names=("x", "y", "x_dot", "y_dot")):
    states = np.asarray(states, float)
    rows = SimpleNamespace(states=states, times=np.arange(len(states)) / 2, observables=observables)
    return SimpleNamespace(
        rows=rows, equations=SimpleNamespace(state_names=names, observables={n: None for n in "abcdefgh"})
    )


def test_a_state_that_has_run_away_is_named():
    states = np.ones((6, 4))
    assert _ran_away(facts(states)) is None
    states[-1, 2] = -2 * BLOWN
    found = _ran_away(facts(states))
    assert (found.name, found.quantity, found.time, found.failing) == ("diverged", "x_dot", 2.5, True)
    assert found.text == "x_dot grew to 2e+06."
    states[-1, 2] = BLOWN
    assert _ran_away(facts(states)) is None
    assert _ran_away(facts([[1.0] * 4, [1.0] * 4, [9 * BLOWN] * 4])) is None  # too few rows to tell
    early = np.ones((6, 4))
    early[1] = 5 * BLOWN
    early[-1] = 9 * BLOWN
    assert _ran_away(facts(early)) is None  # it was as large before
    still = np.zeros((6, 4))
    still[-1] = 9 * BLOWN
    assert _ran_away(facts(still)) is None  # beside nothing, nothing is large


def test_quantities_that_are_not_defined_are_listed():
    table = np.zeros((4, 8))
    assert _undefined(facts(np.zeros((4, 4)), table)) is None
    table[2, 3], table[1, 5] = np.inf, np.nan
    found = _undefined(facts(np.zeros((4, 4)), table))
    assert found.text == "d, f: infinite or undefined from t = 0.5 on."
    assert (found.quantity, found.time, found.failing) == ("d", 0.5, True)
    large = np.full((4, 8), 1e308)
    assert _undefined(facts(np.zeros((4, 4)), large)) is None  # a sum beyond doubles is no value beyond them
    every = _undefined(facts(np.zeros((4, 4)), table * np.nan))
    assert every.text == "a, b, c, d, e, f and 2 more: infinite or undefined from t = 0 on."


def test_masses_of_the_wrong_sign_are_found_in_any_units():
    assert negative_mass(np.diag([1.0, 2.0]), 0.0) is None
    assert negative_mass(np.diag([1e12, 1e-12]), 0.0) is None
    assert negative_mass(np.array([[1.0, 1.0], [1.0, 1.0]]), 0.0) is None  # singular is not negative
    assert negative_mass(np.zeros((0, 0)), 0.0) is None
    assert negative_mass(np.array([[np.nan]]), 0.0) is None
    for mass, value in ((np.diag([1e12, -1e-12]), "-1e-12"), (np.array([[1.0, 2.0], [2.0, 1.0]]), "-1")):
        found = negative_mass(mass, 3.0)
        assert found.text.startswith(
            f"The kinetic energy is not positive: the mass matrix has the eigenvalue {value} at"
        )
        assert (found.name, found.time, found.failing) == ("indefinite", 3.0, True)


@pytest.mark.parametrize(
    ("last", "gone"),
    [((0.5, 0.4), False), ((0.5, 0.3), True), ((0.5, 0.31), False), ((1e-5, 1e-5), True), ((0.5, 0.5), False)],
)
def test_a_mass_is_gone_where_its_pace_takes_it_below_zero(last, gone):
    """The last two values, and one and a half times their change beyond; or next to nothing beside the first."""
    x = hf.coordinates("x")
    m = hf.states("m")
    ball = hf.MovingMass(mass=m, position=(x,), streams=(hf.Stream(velocity=(0,), relative=True),))
    equations = hf.derive(hf.Problem(hf.System(coordinates=x, masses={"ball": ball}, states={m: -1}), start={m: 1}))
    states = np.array([[0.0, 0.0, value] for value in (1.0, 0.8, *last)])
    rows = SimpleNamespace(times=np.arange(4.0), states=states)
    assert mass_gone(equations, rows, []) == gone


def test_the_highest_local_maxima_are_found():
    seen = np.array([1.0, 3.0, 2.0, 5.0, 5.0, 0.0, 4.0])
    assert _peaks(seen)[:2] == [3, 4]
    assert set(_peaks(seen)) == {1, 3, 4, 6}
    assert _peaks(np.array([2.0])) == [0]
    assert _peaks(np.array([1.0, 2.0, 3.0])) == [2]


@pytest.mark.parametrize(("part", "told"), [(0.2, True), (0.1, False)])
def test_energy_that_changes_by_itself_speaks_against_a_run(part, told, monkeypatch):
    equations = hf.derive(pendulum(0.5))
    monkeypatch.setattr("holdfast.results.judgement.judgement.energy_lost", lambda *given: (part, 1.5))
    given = SimpleNamespace(
        equations=equations,
        rows=SimpleNamespace(times=np.arange(3.0)),
        constants=[],
        start=SimpleNamespace(on_program=True),
    )
    found = energy_found(given)
    if not told:
        assert found is None
        return
    assert (found.name, found.failing, found.time, found.quantity) == ("energy_changed", True, 1.5, "energy")
    assert found.text == "The energy changed by 20 % of what is in motion, though nothing does work."
    given.rows.times = np.arange(1.0)
    assert energy_found(given) is None
    given.rows.times, given.start.on_program = np.arange(3.0), False
    assert energy_found(given) is None


@pytest.mark.parametrize(("part", "told"), [(0.2, True), (0.1, False)])
def test_corrections_that_drive_the_motion_speak_against_a_run(part, told, monkeypatch):
    equations = hf.derive(pendulum(0.5))
    monkeypatch.setattr("holdfast.results.judgement.judgement.correction_work", lambda *given: (part, 1.5))
    given = SimpleNamespace(
        equations=equations,
        rows=SimpleNamespace(times=np.arange(3.0)),
        constants=[],
        start=SimpleNamespace(on_program=True),
    )
    found = driven(given)
    if not told:
        assert found is None
        return
    assert (found.name, found.failing, found.time) == ("driven", True, 1.5)
    assert found.text == "Correcting deviations did work of 20 % of the energy in motion."
    given.rows.times = np.arange(2.0)
    assert driven(given) is None
    given.rows.times, given.start.on_program = np.arange(3.0), False
    assert driven(given) is None


@pytest.mark.parametrize("entry", [0.0, np.nan, np.inf])
def test_a_law_is_called_unstable_only_where_all_of_it_is_known(entry, monkeypatch):
    """Roots with a positive real part, beside an entry that is not defined: then nothing is said."""
    equations = hf.derive(pendulum(0.5))
    matrix = np.array([[entry, 1.0], [-25.0, 10.0]])
    monkeypatch.setattr("holdfast.results.judgement.check.law_matrices", lambda *given: matrix[None])
    found = _unstable(equations, SimpleNamespace(state=[0.0, 0.0, 0.0, 0.0]))
    assert (found is not None) == (entry == 0.0)
    if found is not None:
        assert found.text == "The law drives rod away: a root has the real part 5. Look at the signs of its gains."
        assert found.failing


def hanging(links):
    pairs = [hf.coordinates(f"x{i} y{i}") for i in range(links)]
    rods = {
        f"rod{i}": ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - 1) / 2
        for i, (a, b) in enumerate(zip([(0, 0), *pairs[:-1]], pairs, strict=True))
    }
    system = hf.System(
        coordinates=[c for pair in pairs for c in pair],
        kinetic=sum((i + 1) * (x.rate**2 + y.rate**2) / 2 for i, (x, y) in enumerate(pairs)),
    )
    program = hf.Program(holonomic=rods, law=hf.critically_damped(5.0))
    return hf.derive(hf.Problem(system, program, start={x: i + 1 for i, (x, _) in enumerate(pairs)}))


def test_a_large_start_is_checked_without_dense_matrices(monkeypatch):
    """And its condition number is the one that NumPy gives for J M⁻¹Jᵀ."""
    equations = hanging(20)
    usual = hf.checked_start(equations)
    values = equations.evaluate()
    dense = values.jacobian @ np.linalg.inv(values.mass_matrix) @ values.jacobian.T
    monkeypatch.setattr(check, "LARGE", 10)
    monkeypatch.setattr(check, "values_at", lambda *a: pytest.fail("a dense matrix"))
    monkeypatch.setattr(check, "mass_at", lambda *a: pytest.fail("a dense matrix"))
    found = hf.checked_start(equations)
    assert found.condition == pytest.approx(np.linalg.cond(dense), rel=1e-4)
    assert found.condition == pytest.approx(usual.condition, rel=1e-4)
    assert found.start.state == usual.start.state
    assert not found.findings
