"""Small parts of the equations that larger tests pass over: limits, guards, shares and what rounding is measured by."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.dynamics.climb import Move
from holdfast.equations.dynamics.reach import _best, _independent, _sharing
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.internal import dynamics
from holdfast.equations.internal.rest import _scaled
from holdfast.equations.internal.roots import Fate, roots_at_rest
from holdfast.equations.internal.tangent import Slopes, tangent_of
from holdfast.equations.quasi import maggi, quasi
from holdfast.equations.quasi.velocities import samples
from holdfast.equations.solving.dependence import _WayOnto, dependence_of, weak_slope
from holdfast.equations.solving.solver import _Choice
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Graph, operation_count
from tests.equations.test_maggi import kept_motion

x, y, z = hf.coordinates("x y z")
LAW = hf.critically_damped(2)


def plane(kinetic, program, **start):
    return hf.derive(hf.Problem(hf.System(coordinates=(x, y), kinetic=kinetic), program, start=start))


# Constraints that repeat each other.


def twice_held(position, speed, drift, rows=((1.0, -1.0), (1.0, -1.0))):
    """Two constraints with given slopes and drift terms at one state: whether accelerations exist that keep both."""
    graph = Graph()
    q, v, gamma = ([graph.input(f"{letter}{k}") for k in range(2)] for letter in "qvg")
    values = dict(zip((*q, *v, *gamma), [position] * 2 + [speed] * 2 + list(drift), strict=True))
    way = _WayOnto(SimpleNamespace(q=q, v=v), SimpleNamespace(drift=gamma))
    return way.consistent(Sample(values), np.array(rows))


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1, 1e3, 1e9])
def test_a_contradiction_is_told_from_rounding_in_any_unit_of_length(unit):
    """What the rows of J may be off by is measured by v²/q, here 1 in that unit."""
    assert not twice_held(unit, unit, (0, 1e-7 * unit))
    assert twice_held(unit, unit, (0, 1e-9 * unit))
    assert twice_held(unit, unit, (5 * unit, 5 * unit))
    assert not twice_held(unit, unit, (5 * unit, 5.001 * unit))


@pytest.mark.parametrize("clock", [1e-6, 1, 1e6])
def test_a_contradiction_is_told_from_rounding_in_any_unit_of_time(clock):
    assert not twice_held(1, clock, (0, 1e-7 * clock**2))
    assert twice_held(1, clock, (0, 1e-9 * clock**2))


def test_rows_of_any_size_are_measured_alike():
    rows = ((1.0, -1.0), (1e8, -1e8))
    assert twice_held(1, 1, (0, 1e-1), rows)
    assert not twice_held(1, 1, (0, 10), rows)


def test_at_rest_and_at_zero_any_drift_counts():
    assert twice_held(0, 0, (0, 0))
    assert not twice_held(0, 0, (0, 1e-12))
    assert twice_held(0, 1, (0, 1e-9))  # where all coordinates are 0, they are measured by 1


def test_the_nearer_the_program_the_less_is_left_out():
    slopes = [weak_slope(step) for step in range(12)]
    assert all(after <= before for before, after in pairwise(slopes))
    assert (slopes[0], slopes[1], slopes[-1]) == (0.3, 0.15, 1e-3)


def test_what_is_moved_onto_the_program_is_on_it():
    """A sample beside a circle and its double: positions first, then rates, to rounding."""
    rows = {"circle": x**2 + y**2 - 4, "again": sp.sqrt(x**2 + y**2) - 2}
    equations = plane((x.rate**2 + y.rate**2) / 2, hf.Program(holonomic=rows, law=LAW, redundant="allow"), x=2)
    inputs, deviations = equations.inputs, equations.deviations
    given = dict(zip((*inputs.q, *inputs.v, inputs.time), (1.3, 1.9, 0.4, 0.3, 0.0), strict=True))
    found = _WayOnto(inputs, deviations).on_program(Sample(given))
    assert_allclose(found.of([*deviations.y, *deviations.w]), 0, atol=1e-13)
    assert_allclose(found.of(inputs.q), 2 * np.array([1.3, 1.9]) / np.hypot(1.3, 1.9), atol=0.1)
    far = _WayOnto(inputs, deviations).on_program(Sample(given | {inputs.q[0]: np.nan}))
    assert far is None
    close = [Sample(given | {inputs.q[0]: value}) for value in (1.2, 1.3, 1.4)]
    met = dependence_of(equations.constraints, inputs, deviations, close)
    assert (met.rank, met.names, len(met.samples)) == (1, ("circle", "again"), 3)
    assert met.words == "'again' repeats what 'circle' already fixes"
    assert dependence_of(equations.constraints, inputs, deviations, close[:1]) is None  # one look is none
    assert dependence_of(equations.constraints[:1], inputs, deviations, close) is None


# Maggi's form and quasi-velocities.


def rates_at(kinematics, state, u):
    equations = kinematics.equations
    entries = [equations.inputs.time, *equations.inputs.q, *kinematics.u]
    return np.array(Tape(tuple(entries), kinematics.rates)([*state, *u]))


@pytest.mark.parametrize("masses", [(1, 3), (5, 5), (4, 1)])
def test_what_a_moving_program_asks_for_is_shared_by_masses(masses):
    """n₀ is what has the least kinetic energy: with x + y = sin t, in parts of 1/m."""
    program = hf.Program(holonomic={"sum": x + y - sp.sin(hf.time)}, law=LAW)
    form = hf.maggi(plane((masses[0] * x.rate**2 + masses[1] * y.rate**2) / 2, program, x_dot=1))
    shares = 1 / np.array(masses)
    assert_allclose(
        rates_at(form.kinematics, [0.3, 0.1, np.sin(0.3) - 0.1], [0.0]), np.cos(0.3) * shares / shares.sum(), rtol=1e-12
    )


def test_a_mass_that_depends_on_speed_does_not_share():
    """A kinetic energy of fourth degree has no metric of its own: both coordinates take the same part."""
    kinetic = (x.rate**2 + 3 * y.rate**2) / 2 + x.rate**4 / 12
    program = hf.Program(nonholonomic={"sum": x.rate + y.rate - sp.cos(hf.time)}, law=LAW)
    form = hf.appell(plane(kinetic, program, x_dot=1))
    assert_allclose(rates_at(form.kinematics, [0.3, 0.1, 0.2], [0.0]), np.cos(0.3) / 2, rtol=1e-12)


def test_a_form_that_does_not_solve_the_equations_is_refused(monkeypatch):
    """Whatever is wrong within: each form is held against the equations it came from."""
    program = hf.Program(holonomic={"sum": x + y - sp.sin(hf.time)}, law=LAW)
    equations = plane((x.rate**2 + (2 + sp.sin(x)) * y.rate**2) / 2, program, x_dot=1)
    right = quasi.boltzmann_hamel
    monkeypatch.setattr(quasi, "boltzmann_hamel", lambda kinematics: _doubled(*right(kinematics)))
    with pytest.raises(hf.InternalError, match="do not solve"):
        hf.quasi(equations, {"u": x.rate + y.rate})
    form = hf.maggi(equations)
    seen = samples(equations)
    maggi.solved(form.kinematics, form.mass, form.forces, seen)
    with pytest.raises(hf.InternalError, match="do not solve"):
        maggi.solved(form.kinematics, form.mass, [2 * h + 1 for h in form.forces], seen)


def _doubled(mass, bias):
    return mass, tuple(2 * h + 1 for h in bias)


# Degrees and effort.


def integrators(count):
    """x is moved by a control through this many states, one after the other."""
    s = [sp.Symbol(f"s{k}") for k in range(count)]
    states = {f"s{k}": s[k + 1] if k + 1 < count else sp.Integer(0) for k in range(count)}
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, forces={x: s[0]}, states=states)
    controls = {"u": {f"s{count - 1}": 1}}
    return hf.Problem(system, hf.Program(holonomic={"place": x}, controls=controls, law=LAW))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_program_is_reached_through_up_to_eight_derivatives(count):
    assert hf.derive(integrators(count)).degrees == {"place": count + 2}


def test_a_program_behind_more_derivatives_is_refused():
    with pytest.raises(hf.NoAuthority, match="up to the 8th"):
        hf.derive(integrators(7))


def test_what_takes_too_long_is_not_looked_at_in_passing(monkeypatch):
    equations = plane((x.rate**2 + y.rate**2) / 2, hf.Program(holonomic={"line": x - y}, law=LAW))
    count = operation_count(equations.field.rates)
    monkeypatch.setattr(dynamics, "MOST_OPERATIONS", count)
    assert dynamics.internal_or_none(equations) is not None
    monkeypatch.setattr(dynamics, "MOST_OPERATIONS", count - 1)
    assert dynamics.internal_or_none(equations) is None


# What controls share.


@pytest.mark.parametrize(
    ("table", "shared"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], [0, 1]),  # none: all are looked at
        ([[1.0, 0.0], [1.0, 1e-13]], [0, 1]),
        ([[1.0, 0.0], [1.0, 1e-3]], [0, 1]),
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1e-13]], [1, 2]),
        ([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]], [0, 2]),
        ([[1.0, 0.0], [0.0, 0.0]], [1]),  # one that nothing moves
        ([[1.0], [0.7], [0.0]], [0, 1, 2]),
    ],
)
def test_programs_that_ask_for_the_same_controls_are_found(table, shared):
    cosines = np.array([np.zeros_like(table), table])  # the start itself is not looked at
    assert _sharing(cosines) == shared
    apart = len(table) == 2 == len(table[0]) and abs(table[0][0] * table[1][1]) > 1e-6
    assert _independent(cosines) is apart


def test_the_pair_that_belongs_together_most_is_held():
    cosines = np.array([[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.8, 0.2]]])
    assert _best(("a", "b"), ("F", "G"), cosines) == Move("hold", "a", "F")
    cosines[1, 0, 0] = 0.3  # at its worst state
    assert _best(("a", "b"), ("F", "G"), cosines) == Move("hold", "b", "F")


# How states are measured.


def test_coordinates_and_rates_are_measured_by_the_roots_of_their_masses():
    """Light, heavy and without any; a first-order state by itself."""
    heat = sp.Symbol("heat")
    system = hf.System(
        coordinates=(x, y, z), kinetic=(x.rate**2 / 100 + 4 * y.rate**2) / 2, states={"heat": -heat}, forces={z: -z}
    )
    program = hf.Program(holonomic={"flat": z}, law=LAW)
    equations = hf.derive(hf.Problem(system, program))
    tangent = tangent_of(equations)
    slopes = tangent.at(0.0, np.zeros(7), list(equations.parameter_values.values()))
    assert_allclose(slopes.weights, [0.1, 2, 1, 0.1, 2, 1, 1])


def test_a_state_at_which_all_is_defined_is_looked_at():
    """Masses alone, or constraints alone, are not enough."""
    graph = Graph()
    a, b = graph.input("a"), graph.input("b")
    choice = SimpleNamespace(
        inputs=SimpleNamespace(q=[a]),
        dynamics=SimpleNamespace(mass=[{0: a}]),
        deviations=SimpleNamespace(jacobian=[{0: b}]),
    )
    given = [Sample({a: one, b: other}) for one, other in ((1.0, np.nan), (np.inf, 1.0), (2.0, 3.0), (4.0, 5.0))]
    assert _Choice._defined(choice, given) is given[2]
    assert _Choice._defined(choice, given[:2]) is None


@pytest.mark.parametrize("attraction", [0.5, 2])
def test_a_velocity_that_shares_its_mass_with_the_program_is_carried_along(attraction):
    """x' is not square to what x + 2y = sin t asks for, and that changes with time."""
    program = hf.Program(holonomic={"sum": x + 2 * y - sp.sin(hf.time)}, law=LAW)
    equations = plane((3 * x.rate**2 + 2 * x.rate * y.rate + 5 * y.rate**2) / 2 - 2 * y**2, program, x_dot=1)
    for velocities in ({"u": x.rate}, {"u": x.rate + y.rate}):
        form = hf.maggi(equations, velocities, attraction=attraction)
        kept_motion(equations, form, {"x": 0.4, "y": -0.3, "x_dot": 0.7, "y_dot": 0.2}, 0.6, attraction)


@pytest.mark.parametrize("pace", [1e-6, 1.0, 1e6])
def test_roots_that_meet_swing_ever_wider_in_any_unit_of_time(pace):
    """Two oscillators of one rate, the first driving the second: t sin t."""
    block = np.array([[0.0, 1.0], [-1.0, 0.0]])
    matrix = pace * np.block([[block, np.zeros((2, 2))], [np.eye(2), block]])
    found = roots_at_rest(matrix, pace)
    assert found.fate is Fate.leaves
    assert abs(found.worst.imag) == pytest.approx(pace, rel=1e-3)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_equations_of_rest_are_measured_by_their_own_slopes(unit):
    slopes = Slopes(np.array([3.0, 0.0]) * unit, np.zeros(0), np.diag([2.0, 5.0]) * unit, np.zeros((0, 2)), np.ones(2))
    values, system, scale = _scaled(slopes, [0, 1], 10.0)
    assert_allclose(scale, np.array([20, 50]) * unit, rtol=1e-12)
    assert_allclose(values, [0.15, 0], atol=1e-15)
    assert_allclose(system, np.diag([0.1, 0.1]), rtol=1e-12)
