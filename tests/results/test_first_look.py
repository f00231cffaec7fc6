"""The first look at many runs: which of them must be looked at by themselves, and which need not be."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.values import parameter_vector
from holdfast.results.judgement import first_look
from holdfast.results.judgement.first_look import _doubtful_energies, _doubtful_masses, _weak, near_singular
from holdfast.results.judgement.passages import Strength, _smaller, weak_or_flipped
from tests.results.test_passages import parallelogram
from tests.results.test_singular_states import states

x, y = hf.coordinates("x y")


@pytest.mark.parametrize(
    ("sizes", "doubtful"),
    [
        ([1, 1, 1, 1, 1, 1], False),
        ([1, 1, 1, 0.11, 1, 1], True),  # as about a zero beside it
        ([1, 0.8, 0.6, 0.4, 0.2, 0.11], False),  # falls, and has not come to its end
        ([1, 1, 1, 1, 1, 0.09], True),  # a tenth of the usual
        ([1, 0.7, 0.4, 0.35, 0.65, 0.95], False),  # as a minimum that stays away from 0
        ([1, 0.6, 0.2, 0.2, 0.6, 1], True),  # as |t − t₀| about a zero between
        ([1, 0.9, 0.5, 0.12, 0.2, 0.25], True),  # steep before it alone
        ([0.25, 0.2, 0.12, 0.5, 0.9, 1], True),  # steep behind it alone
        ([1, 1, np.nan, 1, 1, 1], True),
    ],
)
def test_a_strength_that_comes_near_zero_is_doubtful(sizes, doubtful):
    assert _weak(np.array([sizes, [1.0] * 6])).tolist() == [doubtful, False]


def test_runs_through_singular_states_are_looked_at_by_themselves():
    equations = hf.derive(parallelogram())
    times = np.linspace(0, 1, 20)
    cases = np.array([states(np.linspace(0.5, 1, 20)), states(np.linspace(-0.5, 0.52, 20))])
    constants = np.array([parameter_vector(equations, {})] * 2)
    assert near_singular(equations, times, cases, constants).tolist() == [False, True]
    assert near_singular(equations, times[:3], cases[:, 8:11], constants).tolist() == [False, False]  # too few rows


def dead_centre():
    """A crank as long as its rod, which folds where the slider passes the crank's pivot."""
    a, b, c = hf.coordinates("a b c")
    system = hf.System(coordinates=(a, b, c), kinetic=(a.rate**2 + 3 * b.rate**2 + 3 * c.rate**2) / 2)
    held = {"across": sp.cos(a) + sp.cos(b) - c, "up": sp.sin(a) + sp.sin(b)}
    start = {a: 0.8, b: -0.8, c: 2 * sp.cos(0.8)}
    return hf.derive(hf.Problem(system, hf.Program(holonomic=held, law=hf.critically_damped(5)), start=start))


@pytest.mark.parametrize("every", [20, 10, 1])
def test_runs_whose_rows_lie_far_apart_are_told_as_by_themselves(every):
    """At 7.34 a row is 84° behind the next, and none is weak."""
    spins = np.array([7.34, 6.9, 7.6])
    cases = {"a_dot": spins, "b_dot": -spins, "c_dot": -2 * np.sin(0.8) * spins}
    how = {"scheme": hf.RK4, "step": 0.01, "duration": 1, "every": every, "start_policy": "project"}
    runs = hf.ensemble(dead_centre(), cases=cases, **how)
    for number, outcome in enumerate(runs.outcomes):
        start = {name: values[number] for name, values in cases.items()}
        assert outcome is hf.simulate(dead_centre(), start=start, **how).outcome


def observed(equations, cases, **columns):
    seen = np.zeros((cases, 5, len(equations.observables)))
    for name, values in columns.items():
        seen[:, :, list(equations.observables).index(name)] = values
    return seen


def test_a_change_of_energy_is_doubtful_where_nothing_does_work():
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)))
    times = np.arange(5.0)
    energy = np.array([[9, 9, 9, 9, 9], [9, 9, 9.05, 9, 9], [9, 9, 8, 9, 9]])
    seen = observed(equations, 3, kinetic=np.full((3, 5), 4.0), energy=energy)
    assert _doubtful_energies(equations, times, seen).tolist() == [False, False, True]
    lossy = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={"s": x})))
    seen = observed(lossy, 3, kinetic=np.full((3, 5), 4.0), energy=energy)
    assert not _doubtful_energies(lossy, times, seen).any()


def test_work_of_corrections_is_doubtful_where_reactions_hold():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    law = hf.critically_damped(3)
    held = hf.derive(hf.Problem(system, hf.Program(holonomic={"line": x}, law=law)))
    pushed = hf.derive(hf.Problem(system, hf.Program(holonomic={"line": x}, controls={"F": {x: 1}}, law=law)))
    power = np.array([[0.0, 0, 0, 0, 0], [0.01, -0.01, 0.01, -0.01, 0], [0, 1, 0, -1, 0]])
    for equations, told in ((held, [False, False, True]), (pushed, [False] * 3)):
        seen = observed(equations, 3, kinetic=np.full((3, 5), 4.0), power_correction=power)
        assert _doubtful_energies(equations, np.arange(5.0), seen).tolist() == told


def test_masses_that_are_not_positive_are_doubtful():
    m = hf.parameters("m")
    system = hf.System(
        coordinates=(x, y), kinetic=(m * x.rate**2 + y.rate**2) / 2 + x.rate * y.rate / 2, parameters={m: 1}
    )
    equations = hf.derive(hf.Problem(system))
    given = np.array([[2.0], [0.2], [-1.0]])
    assert _doubtful_masses(equations, 0.0, np.zeros((3, 4)), given).tolist() == [False, True, True]
    assert _doubtful_masses(equations, 0.0, np.zeros((1, 4)), given[:1]).tolist() == [False]
    assert _doubtful_masses(equations, 0.0, np.zeros((2, 4)), np.array([[1.0], [np.nan]])).tolist() == [False, True]
    together = np.array([[np.nan], [-1.0], [2.0], [0.2]])  # one that is no number hides no other
    assert _doubtful_masses(equations, 0.0, np.zeros((4, 4)), together).tolist() == [True, True, False, True]
    apart = hf.derive(
        hf.Problem(hf.System(coordinates=(x, y), kinetic=(m * x.rate**2 + y.rate**2) / 2, parameters={m: 1}))
    )
    assert _doubtful_masses(apart, 0.0, np.zeros((4, 4)), together).tolist() == [True, True, False, False]


def test_masses_of_many_cases_are_looked_at_some_at_a_time(monkeypatch):
    """4 entries each, two cases at a time: the same as all at once."""
    m = hf.parameters("m")
    kinetic = (m * x.rate**2 + y.rate**2) / 2 + x.rate * y.rate / 2
    equations = hf.derive(hf.Problem(hf.System(coordinates=(x, y), kinetic=kinetic, parameters={m: 1})))
    given = np.array([[2.0], [0.2], [-1.0], [3.0], [0.1]])
    at_once = _doubtful_masses(equations, 0.0, np.zeros((5, 4)), given)
    monkeypatch.setattr(first_look, "ENTRIES", 8)
    looked, look = [], first_look._not_positive
    monkeypatch.setattr(first_look, "_not_positive", lambda tables: looked.append(len(tables)) or look(tables))
    assert _doubtful_masses(equations, 0.0, np.zeros((5, 4)), given).tolist() == at_once.tolist()
    assert looked == [2, 2, 1]


def test_masses_are_looked_at_in_units_in_which_their_diagonal_is_one():
    """Beside a mass of 1e6 an eigenvalue of -1e-12 is rounding, unless each rate is measured by its own."""
    m, z = hf.parameters("m"), hf.coordinates("z")
    u, v, w = x.rate / 10**6, y.rate / 10**6, 1000 * z.rate
    system = hf.System(
        coordinates=(x, y, z), kinetic=(u**2 + v**2 + w**2) / 2 + m * (u * v + u * w + v * w), parameters={m: 0}
    )
    cases = {m: [*np.linspace(-0.99, -0.51, 49), -0.49, 0.5, 0.99]}
    runs = hf.ensemble(hf.derive(hf.Problem(system)), hf.RK4, step=0.1, duration=1, cases=cases)
    assert [outcome.name for outcome in runs.outcomes] == ["indefinite"] * 49 + ["completed"] * 3


def sliding(repeated):
    """A point on a circle, held once more by another statement of it, or in a plane beside it."""
    z = hf.coordinates("z")
    system = hf.System(coordinates=(x, y, z), kinetic=(2 * x.rate**2 + 3 * y.rate**2 + z.rate**2) / 2)
    held = {"circle": x**2 + y**2 - 1, "other": 5 * (x**2 + y**2 - 1) if repeated else z + x / 2}
    program = hf.Program(holonomic=held, law=hf.critically_damped(3))
    return hf.derive(hf.Problem(system, program, start={x: 1, y: 0, z: -0.5}))


@pytest.mark.parametrize("repeated", [False, True])
def test_strengths_of_many_runs_are_those_of_each(repeated):
    equations = sliding(repeated)
    turns = np.linspace(0.1, 1.2, 9) + np.array([[0.0], [0.4]])
    cases = np.zeros((2, 9, 6))
    cases[..., 0], cases[..., 1], cases[..., 2] = np.cos(turns), np.sin(turns), -np.cos(turns) / 2
    times, constants = np.linspace(0, 1, 9), np.array([parameter_vector(equations, {})] * 2)
    found = next(weak_or_flipped(equations, times, cases, constants))[0]
    for k in range(2):
        strength = Strength(equations, constants[k])
        slopes = strength.jacobians(times, cases[k])
        usual = np.median(np.linalg.norm(slopes, axis=2), axis=0)
        assert_allclose(found[k], strength.of(slopes, usual), rtol=1e-9)
    cases[0, 3, 0] = np.nan
    assert np.isnan(next(weak_or_flipped(equations, times, cases, constants))[0]).sum() == 1


def test_the_smaller_root_of_two_rows_does_not_cancel():
    tilted = np.array([[1.0, 1 - 1e-12], [1 - 1e-12, 1.0]])
    assert _smaller(tilted) == pytest.approx(1e-12, rel=1e-3)
    assert _smaller(np.zeros((2, 2))) == 0
    plain = np.array([[3.0, 1.0], [1.0, 2.0]])
    assert _smaller(plain) == pytest.approx(np.linalg.eigvalsh(plain)[0])
