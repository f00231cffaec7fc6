"""Published mechanisms: multipliers and accelerations at the states that their sources or our 80-bit runs give."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from tests.reference.benchmark import load

TIMES = {
    "four_bar_sympy": "0 1 2 5",
    "rolling_disc_sympy": "0 1 2 5",
    "skate_incline": "0 1 5 10",
    "rolling_penny": "0 1 10 50",
    "bead_on_hoop": "0 1 5 10",
}
STATES = [(name, time) for name, times in TIMES.items() for time in times.split()]


@cache
def derived(name):
    case = load(name)
    return case, hf.derive(case.problem)


@pytest.mark.parametrize(("name", "time"), STATES)
def test_multipliers_are_the_published_ones_with_our_sign(name, time):
    case, equations = derived(name)
    values = equations.evaluate(case.state(time), float(time))
    expected = np.array(case.multipliers(time))
    scale = max(1.0, np.abs(expected).max())
    assert_allclose(values.multipliers / scale, expected / scale, atol=1e-12)


@pytest.mark.parametrize(("name", "time"), STATES)
def test_energy_is_the_published_one(name, time):
    case, equations = derived(name)
    energy = equations.evaluate(case.state(time), float(time)).energy
    # the states are given to 19 digits and rounded to doubles here; energy of the bead is a difference of larger terms
    assert energy == pytest.approx(float(case.data["states"][time]["E"]), rel=1e-12)


def test_four_bar_accelerations_are_those_of_sympys_own_matrices():
    case, equations = derived("four_bar_sympy")
    published = case.data["published"]["sympy_matrices"]
    rows, right = (np.array(published[key], dtype=float) for key in ("mass_matrix_rows", "forcing"))
    ours = equations.evaluate(case.state("0")).accelerations
    assert_allclose(ours, np.linalg.solve(rows, right), rtol=1e-11)  # the source prints its forcing to 15 decimals
    assert_allclose(ours, case.data["accelerations_at_0"], rtol=1e-12)


def disc_state(point):
    """The state (q, v) at a point that gives body rates, by the rolling condition."""
    q1, q2, q3, X, Y = (float(x) for x in point["q1,q2,q3,X,Y"])
    u1, u2, u3 = (float(x) for x in point["u1,u2,u3"])
    lean = u1 * np.cos(q3) + u3 * np.sin(q3)
    yaw = (u3 * np.cos(q3) - u1 * np.sin(q3)) / np.cos(q2)
    spin = u2 - yaw * np.sin(q2)
    r = 0.26
    return [X, Y, q1, q2, q3, r * spin * np.cos(q1), r * spin * np.sin(q1), yaw, lean, spin]


def body_rate_derivatives(state, accelerations):
    """d/dt of the disc-frame body rates, by the chain rule on their definition."""
    q1, q2, q3 = hf.coordinates("q1 q2 q3")
    rates = sp.Matrix(
        [
            q2.rate * sp.cos(q3) - q1.rate * sp.cos(q2) * sp.sin(q3),
            q3.rate + q1.rate * sp.sin(q2),
            q2.rate * sp.sin(q3) + q1.rate * sp.cos(q2) * sp.cos(q3),
        ]
    )
    symbols = [q1, q2, q3, *(c.rate for c in (q1, q2, q3)), *(c.acceleration for c in (q1, q2, q3))]
    numbers = [*state[2:5], *state[7:10], *accelerations[2:5]]
    return sp.lambdify([symbols], hf.rate(rates))(numbers).ravel()


@pytest.mark.parametrize("point", ["point_1", "point_2"])
def test_rolling_disc_moves_as_sympys_kane_test_says(point):
    case, equations = derived("rolling_disc_sympy")
    given = case.data["published"]["sympy_test_kane5"][point]
    state = disc_state(given)
    values = equations.evaluate(state)
    body = body_rate_derivatives(state, values.accelerations)
    X, Y, q1, q2, q3 = state[5:]
    ours = [q1, q2, q3, X, Y, *body, *values.accelerations[:2]]
    assert_allclose(ours, np.array(given["expected"], dtype=float), rtol=1e-12, atol=2e-14)
    reference = case.data["ours_at_published_points"][point]
    assert_allclose(values.accelerations, np.array(reference["accelerations"], dtype=float), rtol=1e-12, atol=1e-14)
    assert_allclose(values.multipliers, -np.array(reference["lam"], dtype=float), rtol=1e-12)


def test_skate_and_penny_multipliers_are_the_closed_forms():
    skate, skate_equations = derived("skate_incline")
    penny, penny_equations = derived("rolling_penny")
    for t in (1.0, 5.0, 10.0):
        lam = skate_equations.evaluate(skate.state(f"{t:.0f}")).multipliers
        assert_allclose(lam, [-9.81 * np.sin(2 * t)], rtol=1e-13)
    for t in (1.0, 10.0):
        lam = penny_equations.evaluate(penny.state(f"{t:.0f}")).multipliers
        assert_allclose(lam, [-2 * np.sin(2 * t), 2 * np.cos(2 * t)], rtol=1e-13)


def test_bead_on_the_hoop_follows_the_minimal_equation():
    """θ'' = sin θ (Ω² cos θ − g/R), θ from the bottom: z = −R cos θ."""
    case, equations = derived("bead_on_hoop")
    values = equations.evaluate(case.state("1"), 1.0)
    z, z_rate, z_acceleration = values["z"], values["z_dot"], values["z_ddot"]
    sine, cosine = np.sqrt(1 - z**2), -z
    expected = sine * (25 * cosine - 9.81)
    ours = (z_acceleration - cosine * (z_rate / sine) ** 2) / sine
    assert ours == pytest.approx(expected, rel=1e-12)


def test_a_circuit_needs_no_program():
    case = load("rlc_series")
    equations = hf.derive(case.problem)
    for time in ("0", "0.005", "0.02", "0.05"):
        values = equations.evaluate(case.state(time))
        charge, current = values.state
        assert values.mu.size == 0
        assert values.accelerations[0] == pytest.approx((10 - 20 * current - charge / 1e-4) / 0.1, rel=1e-12, abs=1e-11)
        assert values.energy == pytest.approx(float(case.data["states"][time]["E"]), rel=1e-13, abs=1e-18)


def test_rolling_put_into_the_energies_is_another_motion():
    """A known trap: with the rolling condition inserted before differentiation, q1'' = −6 W q2', not −2 W q2'."""
    case, equations = derived("rolling_disc_sympy")
    spin, lean_rate, r = 3.0, 1e-6, 0.26
    upright = [0, 0, 0, 0, 0, r * spin, 0, 0, lean_rate, spin]
    kept = equations.evaluate(upright)["q1_ddot"]
    assert kept == pytest.approx(-2 * spin * lean_rate, rel=1e-6)
    system = case.problem.system
    X, Y, q1, q2, q3 = system.coordinates
    inserted = {X.rate: hf.parameters("r") * q3.rate * sp.cos(q1), Y.rate: hf.parameters("r") * q3.rate * sp.sin(q1)}
    reduced = hf.System(
        coordinates=(q1, q2, q3),
        kinetic=system.kinetic.subs(inserted),
        potential=system.potential,
        parameters=dict(system.parameters),
    )
    wrong = hf.derive(hf.Problem(reduced)).evaluate({q2.rate: lean_rate, q3.rate: spin})["q1_ddot"]
    assert wrong == pytest.approx(-6 * spin * lean_rate, rel=1e-6)
