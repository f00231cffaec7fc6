"""The energy of a run: what may change it, and how much of a change is more than rounding."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.values import parameter_vector
from holdfast.results.judgement.energy import (
    ROUNDINGS,
    _rounding_energy,
    _rounding_work,
    conservative,
    correction_work,
    energy_lost,
    energy_places,
    undriven,
)

x, y = hf.coordinates("x y")
LAW = hf.critically_damped(3)
FREE = dict(coordinates=(x,), kinetic=x.rate**2, potential=3 * x)


def told(**given):
    equations = hf.derive(hf.Problem(hf.System(**FREE | given)))
    return conservative(equations), undriven(equations)


@pytest.mark.parametrize(
    ("given", "kept", "never_raised"),
    [
        ({}, True, True),
        ({"dissipation": x.rate**2}, False, True),
        ({"forces": {x: -x.rate}}, False, True),
        ({"potential": x * hf.time}, False, False),
        ({"kinetic": x.rate**2 * (2 + sp.sin(hf.time))}, False, False),
        ({"states": {"s": x}}, False, False),
    ],
    ids=["free", "losses", "forces", "potential in time", "mass in time", "states"],
)
def test_nothing_does_work_where_nothing_can(given, kept, never_raised):
    assert told(**given) == (kept, never_raised)


@pytest.mark.parametrize(
    ("program", "kept"),
    [
        ({"holonomic": {"c": x - 1}}, True),
        ({"holonomic": {"c": x - hf.time}}, False),
        ({"nonholonomic": {"c": sp.exp(x) * x.rate}}, True),
        ({"nonholonomic": {"c": x.rate - 1}}, False),
        ({"nonholonomic": {"c": x.rate * (x.rate + 1)}}, False),
        ({"keep": {"c": x.rate**2 + 3 * x}}, False),
        ({"holonomic": {"c": x - 1}, "controls": {"F": {x: 1}}}, False),
    ],
)
def test_programs_that_move_or_push_do_work_and_rows_without_rates_of_their_own_do_none(program, kept):
    equations = hf.derive(hf.Problem(hf.System(**FREE), hf.Program(**program, law=LAW)))
    assert conservative(equations) is undriven(equations) is kept


def rows_with(equations, states=None, steps=None, **columns):
    """Rows in which some observables are as told, and others 0."""
    count = len(next(iter(columns.values())))
    seen = np.zeros((count, len(equations.observables)))
    for name, values in columns.items():
        seen[:, list(equations.observables).index(name)] = values
    states = np.zeros((count, len(equations.state_names))) if states is None else states
    return Rows(np.arange(count) * 0.5, states, seen, np.ones(0), Status.completed, steps or count - 1, count)


def free(**given):
    return hf.derive(hf.Problem(hf.System(**FREE | given)))


def test_a_change_is_told_as_a_part_of_what_is_in_motion():
    equations = free()
    names = list(equations.observables)
    assert energy_places(equations) == (names.index("kinetic"), names.index("energy"))
    rows = rows_with(equations, kinetic=[4, 2, 1, 4], energy=[10, 10.5, 9, 10])
    assert energy_lost(equations, rows, []) == (1 / 4, 1.0)  # either way, where it is largest
    fast = rows_with(equations, kinetic=[0, 0, 0, 0], energy=[10, 12, 9, 10])
    assert energy_lost(equations, fast, []) == (2 / 3, 0.5)  # beside the range of the energy
    small = rows_with(equations, kinetic=[4, 2, 1, 4], energy=[10, 10, 10.02, 10])
    assert energy_lost(equations, small, []) == (pytest.approx(0.005), 1.0)
    still = rows_with(equations, kinetic=[0, 0, 0, 0], energy=[10] * 4)
    assert energy_lost(equations, still, [])[0] == 0


def test_where_energy_is_lost_only_a_rise_counts():
    equations = free(dissipation=x.rate**2)
    losing = {"kinetic": [4] * 4, "power_dissipation": [-1, -1, -1, 0]}
    assert energy_lost(equations, rows_with(equations, energy=[10, 9, 8, 7], **losing), [])[0] == 0
    assert energy_lost(equations, rows_with(equations, energy=[10, 9, 12, 7], **losing), []) == (0.4, 1.0)
    fed = losing | {"power_forces": [0, 0, 2, 0]}
    assert energy_lost(equations, rows_with(equations, energy=[10, 9, 12, 7], **fed), []) == (0.0, 0.0)


def test_rounding_of_large_terms_is_no_change():
    """A mass at a height of 1e9: its energy 3x is known to 64 roundings of 6e9 (of each factor) in each step."""
    equations = free()
    states = np.array([[1e9, 0.0]] * 4)
    floor = ROUNDINGS * 4 * 6e9
    within, beyond = ([0, 0.9 * floor, 0, 0], [0, 1.3 * floor, 0, 0])
    assert energy_lost(equations, rows_with(equations, states, kinetic=[0] * 4, energy=within), [])[0] == 0
    assert energy_lost(equations, rows_with(equations, states, kinetic=[0] * 4, energy=beyond), [])[0] == 1
    longer = rows_with(equations, states, steps=7, kinetic=[0] * 4, energy=beyond)
    assert energy_lost(equations, longer, [])[0] == 0  # more steps, more roundings


def test_rates_that_are_rounding_of_coordinates_have_some_energy():
    """T = x'² with x' = 64 ε |x| (steps + 1) / duration."""
    equations = free()
    rows = rows_with(equations, np.array([[-1e9, 0.0], [2.0, 3.0], [0.0, 0.0]]), kinetic=[0] * 3)
    assert _rounding_energy(equations, rows, []) == pytest.approx((ROUNDINGS * 1e9 * 3 / 1.0) ** 2)
    alone = rows.picked(slice(0, 1))
    assert _rounding_energy(equations, alone, []) == 0


def test_work_that_the_quadrature_is_unsure_of_is_left_out():
    equations = hf.derive(hf.Problem(hf.System(**FREE), hf.Program(holonomic={"c": x - 1}, law=LAW), start={x: 1}))
    steady = rows_with(equations, kinetic=[4] * 5, power_correction=[1.0] * 5)
    assert correction_work(equations, steady, parameter_vector(equations, {})) == (pytest.approx(2 / 4), 2.0)
    jagged = rows_with(equations, kinetic=[4] * 5, power_correction=[0, 1, 0, 1, 0])
    assert (
        correction_work(equations, jagged, parameter_vector(equations, {}))[0] == 0
    )  # every other row says that there is none
    falling = rows_with(equations, kinetic=[4] * 5, power_correction=[-1.0, -1, -1, 0, 0])
    assert correction_work(equations, falling, parameter_vector(equations, {})) == (
        pytest.approx((1.25 - 0.25) / 4),
        1.5,
    )


def test_forces_that_hold_something_at_rest_may_move_it_by_rounding():
    """T = x'², F = −3: a = 3/2, moved by 64 ε a t² in a time t, against a force of 3."""
    equations = free()
    rows = rows_with(equations, np.zeros((5, 2)), kinetic=[0] * 5)
    assert _rounding_work(equations, rows, []) == pytest.approx(3 * ROUNDINGS * 1.5 * 2.0**2)
    alone = rows.picked(slice(0, 1))
    assert _rounding_work(equations, alone, []) == 0
