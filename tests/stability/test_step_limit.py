"""Limits of the step: spectral and in a P-norm, for every scheme; varying H by the non-commutative recursion."""

from fractions import Fraction as F
from functools import cache

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf
from holdfast.stability.linear.by_block import step_limits, transients
from holdfast.stability.linear.shape import deviation_matrix
from holdfast.stability.linear.step_limit import (
    _bisected,
    _first_crossing,
    _square,
    a_stable,
    norm_limit,
    spectral_limit,
    taylor_condition,
    taylor_matrices,
    taylor_propagator,
)
from holdfast.stability.theory.lyapunov import continuous, deviations_along, euclidean, shifted

BLOCKS = [(1, 0.3), (0.05, 0.1), (25, 10)]
CART = deviation_matrix([1, 0.05], [0.3, 0.1])
POINT = deviation_matrix([1, 2, 4], [2, 1.5, 2])

TABLE = {
    hf.Euler: (0.300000, 2.000000, 0.400000),
    hf.Midpoint: (1.237797, 6.528548, 0.400000),
    hf.Heun: (1.237797, 6.528548, 0.400000),
    hf.Ralston: (1.237797, 6.528548, 0.400000),
    hf.Kutta3: (2.276584, 10.756214, 0.502549),
    hf.RK4: (2.959482, 13.068913, 0.557059),
    hf.ThreeEighths: (2.959482, 13.068913, 0.557059),
    hf.ImplicitMidpoint: (np.inf, np.inf, np.inf),
    hf.Radau5: (np.inf, np.inf, np.inf),
}


@pytest.mark.parametrize("scheme", TABLE, ids=lambda scheme: scheme.name)
def test_spectral_limits_of_the_table(scheme):
    found = [spectral_limit(scheme, deviation_matrix(c, k)).step for c, k in BLOCKS]
    assert_allclose(found, TABLE[scheme], atol=1e-6)


@pytest.mark.parametrize("scheme", hf.ALL_SCHEMES, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize(("c", "k"), BLOCKS)
def test_every_scheme_decays_below_its_limit_and_grows_above(scheme, c, k):
    H = deviation_matrix(c, k)
    limit = spectral_limit(scheme, H).step

    def radius(step):
        return np.abs(np.linalg.eigvals(scheme.propagator(H, step))).max()

    if np.isinf(limit):
        assert radius(1e4) < 1
    else:
        assert radius(limit * (1 - 1e-6)) < 1 < radius(limit * (1 + 1e-6))
        assert all(radius(limit * share) < 1 for share in np.linspace(0.01, 0.99, 50))


def test_symplectic_euler_has_its_closed_limit():
    """25τ² + 20τ − 4 = 0 for the block (25, 10)."""
    assert_allclose(
        spectral_limit(hf.SymplecticEuler, deviation_matrix(25, 10)).step, (np.sqrt(800) - 20) / 50, rtol=1e-9
    )


def test_weakly_damped_roots_lose_no_digits():
    """λ = −10⁻³ ± 10⁴i: Euler's limit −2 Re λ/|λ|² = 2·10⁻¹¹; implicit schemes have none, however weak the damping."""
    H = deviation_matrix(1e8, 2e-3)
    assert_allclose(spectral_limit(hf.Euler, H).step, 2e-11, rtol=1e-8)
    for scheme in (hf.ImplicitMidpoint, hf.Radau5):
        assert spectral_limit(scheme, H).step == np.inf
        assert a_stable(scheme.stability)
    assert not any(a_stable(scheme.stability) for scheme in hf.ALL_SCHEMES if scheme.explicit)


@given(st.floats(0.1, 20), st.floats(0.1, 20))
def test_euler_limits_of_baumgarte_laws(alpha, omega):
    limit = spectral_limit(hf.Euler, deviation_matrix(omega**2, 2 * alpha)).step
    wanted = 2 * alpha / omega**2 if alpha <= omega else 2 / (alpha + np.sqrt(alpha**2 - omega**2))
    assert_allclose(limit, wanted, rtol=1e-6)


@pytest.mark.parametrize(("c", "k", "limit"), [(1, 0.3, 0.255498), (25, 10, 0.117157), (0.05, 0.1, 1.563564)])
def test_norm_limits_of_euler(c, k, limit):
    H = deviation_matrix(c, k)
    found = norm_limit(hf.Euler, H, continuous(H)).step
    assert_allclose(found, limit, atol=1e-6)
    assert_allclose(continuous(H).of_matrix(np.eye(2) + found * H), 1, atol=1e-9)
    assert found < spectral_limit(hf.Euler, H).step


def test_badly_scaled_weights_certify_little():
    H = deviation_matrix(25, 10)
    assert_allclose(norm_limit(hf.Euler, H, continuous(H, 1)).step, 0.026662, atol=1e-6)
    assert_allclose(norm_limit(hf.Euler, CART, continuous(CART, 1)).step, 0.188675, atol=1e-6)


def test_limits_of_the_variable_mass_point():
    assert_allclose(norm_limit(hf.Euler, POINT, continuous(POINT, 1)).step, 0.165233, atol=1e-6)
    assert_allclose(spectral_limit(hf.Euler, POINT).step, 0.5, atol=1e-9)


@pytest.mark.parametrize("scheme", [hf.Euler, hf.Midpoint, hf.RK4, hf.DOPRI5], ids=lambda scheme: scheme.name)
def test_the_norm_limit_is_where_the_norm_reaches_one(scheme):
    H = deviation_matrix(4, 3)
    norm = continuous(H)
    limit = norm_limit(scheme, H, norm).step
    assert_allclose(norm.of_matrix(scheme.propagator(H, limit)), 1, atol=1e-9)
    assert limit <= spectral_limit(scheme, H).step


def test_no_step_passes_where_the_law_does_not_attract_or_the_norm_does_not_fit():
    assert spectral_limit(hf.RK4, deviation_matrix(1, 0)).step == 0
    assert norm_limit(hf.Euler, deviation_matrix(1, 0.3), euclidean(2)).step == 0


@pytest.mark.parametrize("limit", [spectral_limit(hf.Euler, CART), norm_limit(hf.Euler, CART, continuous(CART))])
def test_a_limit_says_that_it_is_necessary_and_not_sufficient(limit):
    assert "necessary, not sufficient" in str(limit)
    assert float(limit) == limit.step


@cache
def cart():
    """Two coordinates, each held by its own control, with the gains of the cart and rod."""
    x, phi = hf.coordinates("x phi")
    system = hf.System(coordinates=(x, phi), kinetic=(11 * x.rate**2 + phi.rate**2) / 2)
    law = hf.SpringDamper(stiffness={"home": 1, "upright": 0.05}, damping={"home": 0.3, "upright": 0.1})
    program = hf.Program(holonomic={"home": x, "upright": phi}, controls={"F": {x: 1}, "M": {phi: 1}}, law=law)
    return hf.derive(hf.Problem(system, program))


def test_equations_are_measured_block_by_block():
    limits = step_limits(cart(), hf.RK4)
    assert_allclose([limits[name].spectral.step for name in ("home", "upright")], [2.959482, 13.068913], atol=1e-6)
    assert all(item.by_norm.step < item.spectral.step for item in limits.values())
    assert {name: item.peak for name, item in transients(cart()).items()} == {"home": 1, "upright": 1}
    unheld = step_limits(cart(), hf.Euler, law=hf.Unstabilised())["home"]
    assert unheld.spectral.step == 0
    assert unheld.norm is None
    varying = hf.SpringDamper(stiffness=2 + sp.cos(hf.time), damping=1)
    assert "certifies nothing" in str(step_limits(cart(), hf.Euler, law=varying)["home"])


# ---------------------------------------------------------------- varying H

t = sp.Symbol("t")
VARYING = sp.Matrix([[0, 1], [-2 - sp.sin(3 * t), -1 - t]])


def derivatives_at(moment):
    return [
        np.array(VARYING.diff(t, k).subs(t, moment).tolist() if k else VARYING.subs(t, moment).tolist(), float)
        for k in range(4)
    ]


def test_the_recursion_gives_the_non_commutative_terms():
    H, A, B, C = derivatives_at(0.2)
    found = taylor_matrices([H, A, B, C], 4)
    assert_allclose(found[1], A + H @ H, atol=1e-12)
    assert_allclose(found[2], B + 2 * A @ H + H @ A + H @ H @ H, atol=1e-12)
    fourth = C + 3 * B @ H + H @ B + 3 * A @ A + 3 * A @ H @ H + 2 * H @ A @ H + H @ H @ A + H @ H @ H @ H
    assert_allclose(found[3], fourth, atol=1e-11)
    printed = B + 3 * A @ H + H @ H @ H
    assert np.abs(found[2] - printed).max() > 0.1


def test_constant_matrices_give_the_stability_polynomial():
    H = deviation_matrix(25, 10)
    for order, scheme in ((1, hf.Euler), (2, hf.Heun), (4, hf.RK4)):
        assert_allclose(taylor_propagator([H], 0.01, order), scheme.propagator(H, 0.01), rtol=1e-13)


def test_one_step_error_has_the_order_after_the_scheme():
    def exact(step):
        slope = sp.lambdify(t, VARYING)
        run = solve_ivp(
            lambda s, y: (np.array(slope(s), float) @ y.reshape(2, 2)).ravel(),
            (0.2, 0.2 + step),
            np.eye(2).ravel(),
            method="DOP853",
            rtol=1e-13,
            atol=1e-15,
        )
        return run.y[:, -1].reshape(2, 2)

    errors = [np.linalg.norm(exact(step) - taylor_propagator(derivatives_at(0.2), step, 4)) for step in (0.1, 0.05)]
    assert_allclose(np.log2(errors[0] / errors[1]), 5.0, atol=0.1)


def test_conditions_of_the_papers_in_the_right_norm():
    H = deviation_matrix(25, 10)
    norm = shifted(H, 4, 1)
    assert_allclose(taylor_condition([H], 0.01, 1, norm).contraction, 0.96002287, atol=1e-8)
    assert taylor_condition([H], 0.01, 1, norm).holds is None  # contraction alone stabilises nothing
    assert taylor_condition([H], 0.01, 4, norm, tolerance=1.0, defect=0.03).holds is True
    assert taylor_condition([H], 0.01, 4, norm, tolerance=1.0, defect=0.05).holds is False
    impossible = taylor_condition([H], 0.01, 1, euclidean(2))
    assert impossible.holds is False
    assert "cannot hold" in impossible.reason


# ---------------------------------------------------------------- gamma < 1 alone does not stabilise


@cache
def pendulum():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.Baumgarte(alpha=5))
    return hf.derive(hf.Problem(system, program, start={x: 1}))


@pytest.mark.parametrize(
    ("scheme", "duration", "defect", "deviation", "bound", "energy"),
    [
        (hf.Euler, 1, 1.593707e-2, 2.954701e-1, 3.986547e-1, 1.880456),
        (hf.Midpoint, 20, 2.333202e-4, 3.853783e-3, 5.947370e-3, 0.226979),
        (hf.RK4, 20, 6.062804e-8, 6.863894e-7, 1.545096e-6, 0.000004),
    ],
    ids=["euler", "midpoint", "rk4"],
)
def test_the_measured_defect_bounds_the_pendulum(scheme, duration, defect, deviation, bound, energy):
    run = hf.simulate(pendulum(), scheme, step=0.01, duration=duration)
    H = deviation_matrix(25, 10)
    norm = shifted(H, 4, 1)
    u, R = deviations_along(run), scheme.propagator(H, 0.01)
    measured = norm(u[1:] - u[:-1] @ R.T).max()
    assert_allclose(measured, defect, rtol=1e-6)
    assert_allclose(norm(u).max(), deviation, rtol=1e-6)
    assert_allclose(measured / (1 - norm.of_matrix(R)), bound, rtol=1e-6)
    assert_allclose(run.energy[-1], energy, atol=1e-6)
    assert norm(u).max() <= bound


def test_euler_pumps_the_pendulum_until_its_defect_condition_breaks():
    run = hf.simulate(pendulum(), hf.Euler, step=0.01, duration=10)
    u = deviations_along(run)
    norm = shifted(deviation_matrix(25, 10), 4, 1)
    assert norm.of_matrix(hf.Euler.propagator(deviation_matrix(25, 10), 0.01)) < 1
    assert norm(u).max() > 1e6


def test_schemes_may_be_named_by_text_everywhere():
    matrix = [[0, 1], [-25, -10]]
    assert hf.spectral_limit("rk4", matrix) == hf.spectral_limit(hf.RK4, matrix)
    with pytest.raises(hf.BadRequest, match="there is no scheme"):
        hf.spectral_limit("rk5", matrix)


# ── the search for a crossing ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", [1e-7, 3e-3, 0.1234, 3.0, 77.7, 5e3])
@pytest.mark.parametrize("size", [1.0, 40.0])
def test_the_first_crossing_is_found_wherever_it_lies(place, size):
    found = _first_crossing(lambda step: step * size - place, size)
    assert found == pytest.approx(place / size, rel=1e-9)


def test_a_crossing_is_the_first_of_many():
    """sin is positive up to π: its negative crosses 0 there, and again and again after."""
    assert _first_crossing(lambda step: -np.sin(step), 1.0) == pytest.approx(np.pi, rel=1e-12)
    assert _first_crossing(lambda step: -1.0, 1.0) == float("inf")
    assert _first_crossing(lambda step: 1.0, 1.0) == 0.0


def test_a_crossing_that_is_hit_is_taken_as_it_is():
    assert _bisected(lambda step: step - 0.5, 0.25, 0.5) == 0.5
    assert _bisected(lambda step: step - 0.375, 0.25, 0.5) == pytest.approx(0.375, rel=1e-13)


@pytest.mark.parametrize("coefficients", [(1, 1), (1, 2, 3), (1, F(1, 2), F(1, 12), F(1, 7)), (0, 0, 1)])
def test_the_square_of_a_polynomial_on_the_imaginary_axis(coefficients):
    found = _square([F(c) for c in coefficients])
    for y in (0.3, 1.7):
        value = sum(complex(c) * (1j * y) ** k for k, c in enumerate(coefficients))
        assert sum(float(c) * y ** (2 * k) for k, c in enumerate(found)) == pytest.approx(abs(value) ** 2)


@pytest.mark.parametrize(
    ("scheme", "stable"),
    [(hf.Euler, False), (hf.RK4, False), (hf.ImplicitMidpoint, True), (hf.Radau5, True)],
    ids=lambda x: getattr(x, "name", str(x)),
)
def test_schemes_without_a_limit_are_known_by_exact_signs(scheme, stable):
    assert a_stable(scheme.stability) == stable
    matrix = np.array([[0.0, 1.0], [-50.0, -3.0]])
    assert np.isinf(float(spectral_limit(scheme, matrix))) == stable
