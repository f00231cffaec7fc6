"""Norms and Lyapunov functions: docs/theory, section 2.3."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.stability.linear.common_norm import common_norm
from holdfast.stability.linear.norms import decay_rate
from holdfast.stability.linear.shape import deviation_matrix
from holdfast.stability.theory.inverse_design import from_function, from_rate, from_roots_exactly
from holdfast.stability.theory.lyapunov import LyapunovFunction, Norm, continuous, euclidean, modal, shifted, stein
from holdfast.stability.theory.state_function import Signs, StateFunction

gains = st.floats(min_value=0.05, max_value=50)
CART = deviation_matrix([1, 0.05], [0.3, 0.1])
POINT = deviation_matrix([1, 2, 4], [2, 1.5, 2])  # the variable-mass point of docs/theory, section 3.5


# ---------------------------------------------------------------- norms


@given(gains, gains, gains, st.integers(0, 10**6))
def test_a_norm_is_a_norm(stiffness, damping, ratio, seed):
    norm = continuous(deviation_matrix(stiffness, damping))
    A, B = np.random.default_rng(seed).normal(size=(2, 2, 2))
    x = A[0]
    assert norm(ratio * x) == pytest.approx(ratio * norm(x))
    assert norm.of_matrix(A @ B) <= norm.of_matrix(A) * norm.of_matrix(B) * (1 + 1e-9)
    assert norm(A @ x) <= norm.of_matrix(A) * norm(x) * (1 + 1e-9)
    length = np.linalg.norm(x)
    assert norm.lower * length * (1 - 1e-9) <= norm(x) <= norm.upper * length * (1 + 1e-9)
    assert_allclose(norm(np.array([x, 2 * x])), [norm(x), 2 * norm(x)])


@given(gains, gains)
def test_lyapunov_equation_has_the_closed_form_of_the_theory(c, k):
    P = continuous(deviation_matrix(c, k)).matrix
    assert_allclose(P, [[(k**2 + 2 * c) / (2 * k), 0.5], [0.5, 1 / k]], rtol=1e-8)
    flat = continuous(deviation_matrix(c, k), 1).matrix
    wanted = [[k / (2 * c) + (c + 1) / (2 * k), 1 / (2 * c)], [1 / (2 * c), (c + 1) / (2 * k * c)]]
    assert_allclose(flat, wanted, rtol=1e-7)


def test_the_natural_weights_do_not_depend_on_the_unit_of_time():
    slow, fast = deviation_matrix(1, 0.3), deviation_matrix(100, 3)
    one, other = continuous(slow), continuous(fast)
    assert one.of_matrix(np.eye(2) + 0.1 * slow) == pytest.approx(other.of_matrix(np.eye(2) + 0.01 * fast), rel=1e-12)


@given(gains, gains, st.floats(1e-4, 10))
def test_no_euclidean_norm_contracts_with_a_holonomic_constraint(c, k, step):
    A = np.eye(2) + step * deviation_matrix(c, k)
    assert euclidean(2).of_matrix(A) >= np.sqrt(1 + step**2) * (1 - 1e-12)
    assert np.linalg.norm(A, 1) >= 1
    assert np.linalg.norm(A, np.inf) >= 1 + step * (1 - 1e-9)


@pytest.mark.parametrize(
    ("c", "k", "norms", "radius", "in_p"),
    [
        (1, 0.3, (1.01, 1.00005007, 1.01), 0.99854895, 0.99877148),
        (25, 10, (1.25, 1.08885348, 1.15), 0.95, 0.98601301),
        (0.05, 0.1, (1.009, 1.00429003, 1.01), 0.99950238, 0.99961149),
    ],
)
def test_one_euler_step_in_many_norms(c, k, norms, radius, in_p):
    H = deviation_matrix(c, k)
    A = np.eye(2) + 0.01 * H
    assert_allclose([np.linalg.norm(A, kind) for kind in (1, 2, np.inf)], norms, atol=1e-8)
    assert_allclose(np.abs(np.linalg.eigvals(A)).max(), radius, atol=1e-8)
    assert_allclose(continuous(H).of_matrix(A), in_p, atol=1e-8)


def test_higher_order_does_not_cure_the_euclidean_norm():
    R = hf.RK4.propagator(deviation_matrix(25, 10), 0.01)
    assert_allclose(euclidean(2).of_matrix(R), 1.08289343, atol=1e-8)


def test_the_shifted_equation_gives_the_pendulum_norm():
    H = deviation_matrix(25, 10)
    norm = shifted(H, 4, 1)
    assert_allclose(norm.matrix, [[165.5, 26.5], [26.5, 4.5]], rtol=1e-10)
    assert norm.log_norm(H) < -4
    for scheme, gamma in ((hf.Euler, 0.96002287), (hf.Midpoint, 0.96076917), (hf.RK4, 0.96076098)):
        assert_allclose(norm.of_matrix(scheme.propagator(H, 0.01)), gamma, atol=1e-8)
    with pytest.raises(hf.BadRequest, match="shift"):
        shifted(H, 5)


def test_stein_is_tight_below_the_spectral_limit_for_defective_matrices_too():
    A = np.eye(2) + 0.35 * deviation_matrix(25, 10)
    norm = stein(A)
    assert_allclose(np.abs(np.linalg.eigvals(A)).max(), 0.75, atol=1e-7)
    assert "0.875" in norm.origin
    assert_allclose(norm.of_matrix(A), 0.874956, atol=1e-6)
    assert_allclose(norm.condition, 4626, atol=0.5)
    assert_allclose(np.linalg.norm(A, 2), 9.16, atol=5e-3)
    with pytest.raises(hf.BadRequest, match="spectral radius"):
        stein(np.eye(2) + 0.41 * deviation_matrix(25, 10))


def test_cart_example_of_four_deviations():
    A = np.eye(4) + 0.01 * CART
    norm = stein(A)
    assert_allclose(np.abs(np.linalg.eigvals(A)).max(), 0.99950238, atol=1e-8)
    assert_allclose(norm.of_matrix(A), 0.99972848, atol=1e-8)
    assert_allclose(norm.condition, 60.8, atol=0.05)
    assert_allclose(continuous(CART, 1).of_matrix(A), 0.99995531, atol=1e-8)
    assert_allclose(np.linalg.norm(A, 2), 1.00429003, atol=1e-8)


def test_certificate_of_the_variable_mass_point():
    """docs/theory, section 3.5: AᵀP + PA = −I, τ = 0.01, U = −(τ²/2)(0, η'', ζ'', 0, 0, 0), η'' = 1, ζ'' = 3."""
    norm = continuous(POINT, 1)
    A = np.eye(6) + 0.01 * POINT
    gamma = norm.of_matrix(A)
    assert_allclose(np.linalg.norm(A, 2), 1.00834336, atol=1e-8)
    assert_allclose(gamma, 0.99709632, atol=1e-8)
    U = -(0.01**2) / 2 * np.array([0, 1, 3, 0, 0, 0])
    assert_allclose(norm(U), 1.928406e-4, rtol=1e-6)
    assert_allclose(norm(U) / (1 - gamma), 6.641249e-2, rtol=1e-6)
    start = np.array([0.5, 2, -1, 0.1, -0.5, 0.3])
    assert_allclose(norm(start), 2.647286, rtol=1e-6)
    z, sizes = start, []
    for _ in range(3000):
        z = A @ z + U
        sizes.append(norm(z))
    assert_allclose(sizes[-1], 1.220752e-2, rtol=1e-6)
    assert max(sizes) < norm(start)


def test_bad_matrices_are_refused():
    with pytest.raises(hf.BadRequest, match="positive definite"):
        Norm(np.diag([1.0, -1.0]))
    with pytest.raises(hf.BadRequest, match="not symmetric"):
        Norm(np.array([[1.0, 0.5], [0, 1]]))
    with pytest.raises(hf.BadRequest, match="no positive solution"):
        continuous(deviation_matrix(1, 0))
    with pytest.raises(hf.BadRequest, match="double root"):
        modal(deviation_matrix(25, 10))


# ---------------------------------------------------------------- quadratic functions


def test_lyapunov_function_of_the_check_case():
    """b = 3, k = 2, N = ½I."""
    V = LyapunovFunction.of(deviation_matrix(2, 3), np.eye(2) / 2)
    assert_allclose(V.matrix, [[1.25, 0.25], [0.25, 0.25]], atol=1e-12)
    assert_allclose((V.rate, V.kappa, V.l2 / V.l1), (0.763932, 8.531129, 6.854102), atol=1e-6)
    assert_allclose(V.minors[0], [1.25, 0.25], atol=1e-12)
    assert V.proves_stability
    assert (V.minors[1] > 0).all()
    assert not V.exact


def test_modal_function_attains_the_best_rate():
    H = deviation_matrix(2, 3)
    assert_allclose(decay_rate(modal(H), H), 2, atol=1e-10)
    slow = deviation_matrix(1, 4 / 3)
    assert_allclose(decay_rate(modal(slow), slow), 4 / 3, atol=1e-12)


@given(gains, gains, st.floats(1e-4, 1))
def test_one_step_contracts_as_rate_and_kappa_say(c, k, step):
    V = LyapunovFunction.of(deviation_matrix(c, k))
    assert V.contraction(step) ** 2 <= (1 - V.rate * step + V.kappa * step**2) * (1 + 1e-9)


def test_only_the_symmetric_part_counts():
    certified = LyapunovFunction(np.array([[3.0, 1], [1, 1]]), np.array([[0.0, 1], [-2, -3]]))
    assert_allclose(np.linalg.eigvalsh(certified.derivative_matrix), [-3, -1], atol=1e-12)
    assert_allclose(-certified.rate / 2, -(3 - np.sqrt(3)) / 2, atol=1e-12)
    trap = LyapunovFunction(np.array([[1, 0.9], [0.9, 1]]), np.array([[0, 1], [-1, -0.2]]))
    assert_allclose(np.linalg.eigvals(trap.matrix @ trap.deviation_matrix).real, [-0.1, -0.1], atol=1e-12)
    assert_allclose(np.linalg.eigvalsh(trap.derivative_matrix), [-0.9050, 0.7050], atol=5e-5)
    assert not trap.proves_stability
    assert trap.rate < 0


# ---------------------------------------------------------------- inverse design


def test_gains_follow_from_the_function_exactly():
    y = hf.deviations("aim")
    design = from_function(3 * y**2 + 4 * y * y.rate + 3 * y.rate**2)
    assert (design.damping, design.stiffness, design.rate) == (sp.Rational(4, 3), 1, sp.Rational(4, 3))
    V = design.function
    assert_allclose((V.l1, V.l2, V.rate, V.kappa), (1, 5, 4 / 3, 1), atol=1e-12)
    assert V.exact
    assert_allclose(np.linalg.eigvals(V.deviation_matrix), [-2 / 3 + 1j * np.sqrt(5) / 3, -2 / 3 - 1j * np.sqrt(5) / 3])
    for step in (0.01, 0.5, 1.0, 4 / 3, 1.5):
        assert_allclose(V.contraction(step) ** 2, 1 - 4 / 3 * step + step**2, atol=1e-12)


@given(st.fractions(min_value="1/10", max_value=9), st.fractions(min_value="1/10", max_value=9))
def test_rate_and_frequency_lead_to_an_exact_function(rate, frequency):
    design = from_rate(rate, frequency)
    assert design.rate == rate
    assert from_function(design.coefficients) == design
    assert design.function.exact


def test_designs_that_cannot_be_are_refused():
    with pytest.raises(hf.BadRequest, match="not positive definite"):
        from_function((1, 4, 1))
    with pytest.raises(hf.BadRequest, match="no law decays"):
        from_function((3, -4, 3))
    with pytest.raises(hf.BadRequest, match="real roots"):
        from_roots_exactly(-1, -2)
    assert from_roots_exactly(-1 + 2j, -1 - 2j).stiffness == 5


# ---------------------------------------------------------------- one P for many matrices


def test_a_common_norm_is_checked_on_every_matrix():
    vertices = [deviation_matrix(1, 1), deviation_matrix(1.5, 1.2), deviation_matrix(1.5, 1)]
    found = common_norm(vertices, label="vertices")
    assert found.found
    assert found.label == "vertices"
    assert "vertices" in str(found)
    assert all(found.norm.log_norm(H) <= found.worst + 1e-12 for H in vertices)
    mixed = 0.3 * vertices[0] + 0.5 * vertices[1] + 0.2 * vertices[2]
    assert found.norm.log_norm(mixed) <= found.worst + 1e-12
    assert "sampled" in str(common_norm(vertices))


def test_switching_laws_that_diverge_have_no_common_norm():
    """RK4, τ = 0.1, blocks (1, 1) and (90, 1): each decays, yet A¹²B² grows by 4.5639."""
    A, B = (hf.RK4.propagator(deviation_matrix(c, 1), 0.1) for c in (1, 90))
    radii = [np.abs(np.linalg.eigvals(X)).max() for X in (A, B)]
    assert_allclose(radii, [0.951229, 0.948078], atol=1e-6)
    product = np.linalg.matrix_power(A, 12) @ np.linalg.matrix_power(B, 2)
    assert_allclose(np.abs(np.linalg.eigvals(product)).max(), 4.5639, atol=5e-5)
    found = common_norm([A, B], discrete=True)
    assert not found.found
    assert "does not prove" in str(found)


# ---------------------------------------------------------------- functions of the state


@cache
def vector_e():
    from tests.stability.test_spectrum import vector_e as example

    return example()


def test_coefficients_of_a_state_function_add_up_to_its_derivative():
    """V̇ on the graph equals yᵀu'y + yᵀv'w + wᵀω'w + V₃, for coefficients that depend on q, q̇ and t."""
    q1, q2, q3 = hf.coordinates("q1 q2 q3")
    y, speed = hf.deviations("surface speed")
    w, w2 = y.rate, speed.rate
    V = (3 + q1 * q2.rate) * y**2 + (q2 + hf.time) * y * w + (1 + q3.rate**2) * w**2 + q1 * w * w2 + 2 * w2**2
    found = StateFunction(vector_e(), V).at()
    z = np.array([-0.024740395925, 0.083108757829, -0.0525])
    assert_allclose(found.value, z @ found.matrix @ z / 2, rtol=1e-9)
    assert_allclose(found.u, [[2 * (3 + 0.7 * 0.5)]], rtol=1e-12)
    quadratic = z @ found.derivative_matrix @ z
    assert abs(found.third) > 1e-6
    assert_allclose(found.derivative, quadratic + found.third, rtol=1e-8)


def test_third_order_terms_vanish_where_nothing_depends_on_rates():
    q1, *_ = hf.coordinates("q1 q2")
    y, speed = hf.deviations("surface speed")
    found = StateFunction(vector_e(), (2 + q1**2) * y**2 + y * y.rate + y.rate**2 + speed.rate**2).at()
    assert found.third == pytest.approx(0, abs=1e-15)


def test_signs_over_a_domain_are_labelled_as_sampled():
    y, speed = hf.deviations("surface speed")
    good = StateFunction(vector_e(), 6 * y**2 + y * y.rate + y.rate**2 + speed.rate**2)
    box = {"q1": (0.6, 0.8), "q2": (-0.5, -0.3), "q3": (0.2, 0.4), "t": (0, 0.5)}
    found = good.signs(box, count=400)
    assert found.positive
    assert found.count == 400
    assert found.label == "sampled"
    assert "not proved" in str(found)
    bad = StateFunction(vector_e(), 6 * y**2 - 9 * y * y.rate + y.rate**2 + speed.rate**2).signs(box, count=400)
    assert not bad.positive
    with pytest.raises(hf.BadRequest, match="does not vanish"):
        StateFunction(vector_e(), 1 + y**2)


@pytest.mark.parametrize("end", [-1e-9, 0.0, 1e-9])
def test_a_function_that_touches_zero_has_no_sign(end):
    """V > 0 and V̇ < 0 are strict: what only reaches 0 shows neither."""
    seen = {"count": 9, "undefined": 0, "largest_value": 1.0, "worst_time": 0.0, "worst_state": np.zeros(2)}
    signs = Signs(smallest_value=end, largest_derivative=end, **seen)
    assert signs.positive == (end > 0)
    assert signs.negative == (end < 0)
