"""Several first integrals kept together hold the motion better than none, also where their gradients are parallel."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
DISTANCE = sp.sqrt(x**2 + y**2)
ENERGY = (x.rate**2 + y.rate**2) / 2 - 1 / DISTANCE
AREAL = x * y.rate - y * x.rate
ECCENTRICITY = sp.Rational(3, 5)
PERIHELION = {x: 1 - ECCENTRICITY, y.rate: sp.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))}


def kepler(kept, law=None):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=-1 / DISTANCE)
    program = hf.Program(nonholonomic=kept, law=law or hf.critically_damped(1))
    return hf.derive(hf.Problem(system, program, start=PERIHELION))


def place(run):
    return np.array([run["x"][-1], run["y"][-1]])


def true_place(time):
    """By Kepler's equation E − e sin E = t, of an orbit with half axis 1."""
    e, angle = float(ECCENTRICITY), time
    for _ in range(50):
        angle -= (angle - e * np.sin(angle) - time) / (1 - e * np.cos(angle))
    return np.array([np.cos(angle) - e, np.sqrt(1 - e**2) * np.sin(angle)])


BOTH = {"ene": ENERGY + sp.Rational(1, 2), "areal": AREAL - sp.Rational(4, 5)}


@pytest.mark.parametrize("step", [0.04, 0.02, 0.01, 0.005])
@pytest.mark.parametrize("rate", [1, 5])
def test_a_kepler_orbit_is_held_better_by_both_integrals_than_by_none(step, rate):
    held = hf.simulate(kepler(BOTH, hf.critically_damped(rate)), hf.RK4, step=step, duration=100)
    free = hf.simulate(kepler({}), hf.RK4, step=step, duration=100)
    assert held.outcome is hf.Outcome.completed
    truth = true_place(100.0)
    assert np.linalg.norm(place(held) - truth) < np.linalg.norm(place(free) - truth) / 10


def test_where_the_gradients_can_be_told_apart_the_law_holds_as_stated():
    equations = kepler(BOTH)
    assert equations.solver.form == "eased"
    beside = {x: 0, y: 0.64, x.rate: -1.25, y.rate: 0.76}
    at = equations.evaluate(beside)
    np.testing.assert_allclose(at.jacobian @ at.accelerations + at.drift_term, at.demand, rtol=0, atol=1e-14)
    assert np.abs(at.demand).max() > 1e-3


def test_at_the_apsis_the_motion_is_the_free_one():
    at = kepler(BOTH).evaluate()
    np.testing.assert_allclose(at.accelerations, [-1 / 0.4**2, 0], atol=1e-12)


def test_constraints_that_the_free_motion_does_not_keep_are_not_eased():
    kept = {"ene": ENERGY + sp.Rational(1, 2), "slow": x.rate - y.rate}
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=-1 / DISTANCE)
    program = hf.Program(nonholonomic=kept, law=hf.critically_damped(1))
    assert hf.derive(hf.Problem(system, program, start={x: 1, y.rate: 1})).solver.form == "inverse"


def test_an_eased_law_is_never_proved():
    certificate = hf.certify(kepler(BOTH), hf.RK4, step=0.01, duration=1, effort=1)
    assert certificate.label is not hf.Label.proved
    assert "eased where the first integrals become dependent" in certificate.summary()
