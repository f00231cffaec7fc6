"""Growth before the decay, against the figures of docs/theory, section 2.4, and under noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.stability.linear.covariance import mean_square_abscissa, stationary_covariance
from holdfast.stability.linear.transient import discrete_transient, largest_power, transient


def companion(multiplicity):
    """The companion matrix of (s + 1)^m."""
    H = np.eye(multiplicity, k=1)
    H[-1] = -np.poly(-np.ones(multiplicity))[1:][::-1]
    return H


@pytest.mark.parametrize(
    ("multiplicity", "abscissa", "kreiss", "peak", "time"),
    [
        (1, -1, 1, 1, 0),
        (2, 0, 1, 1, 0),
        (3, 0.803436, 1.154701, 1.390578, 0.8165),
        (4, 2.279799, 1.414214, 1.945401, 2.1623),
        (5, 5.593751, 1.804592, 3.129390, 3.0237),
        (6, 12.429044, 2.605165, 5.316080, 4.1164),
    ],
)
def test_multiple_roots_let_the_whole_state_grow(multiplicity, abscissa, kreiss, peak, time):
    found = transient(companion(multiplicity))
    assert_allclose(found.numerical_abscissa, abscissa, atol=1e-6)
    assert_allclose(found.kreiss, kreiss, atol=1e-6)
    assert_allclose(found.peak, peak, atol=1e-6)
    assert_allclose(found.peak_time, time, atol=5e-5)
    assert found.kreiss <= found.peak * (1 + 1e-9) <= np.e * multiplicity * found.kreiss * (1 + 1e-9)
    assert found.peak <= found.bound * (1 + 1e-9)


def test_growth_without_common_units_is_an_artefact():
    H = [[0, 1], [-100, -20]]
    unscaled = transient(H, 1)
    assert_allclose(unscaled.numerical_abscissa, 40.5, atol=1e-12)
    assert_allclose(unscaled.kreiss, 2.624010, atol=1e-6)
    assert_allclose((unscaled.peak, unscaled.peak_time), (3.752368, 0.098020), atol=1e-6)
    common = transient(H)
    assert_allclose(common.scaling, [1, 0.1])
    assert (common.peak, common.kreiss) == (1, 1)
    assert_allclose(common.numerical_abscissa, 0, atol=1e-12)


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1, 3])
def test_a_second_order_law_never_grows_in_the_energy_norm(ratio):
    found = transient([[0, 1], [-49, -14 * ratio]])
    assert_allclose(found.numerical_abscissa, 0, atol=1e-12)
    assert found.peak == 1


def test_a_stable_law_may_double_the_euclidean_deviation():
    """1.986470 on a grid of times (docs/theory, section 2.4); refined it is 1.986474."""
    assert_allclose(transient([[0, 1], [-25, -10]], 1).peak, 1.986470, atol=5e-6)


def test_undamped_and_drifting_laws_are_told_apart():
    undamped = transient([[0, 1], [-4, 0]], 1)
    assert_allclose(undamped.peak, 2, atol=1e-6)
    drifting = transient([[0, 1], [0, 0]])
    assert np.isinf(drifting.peak)
    assert np.isinf(drifting.kreiss)
    assert np.isinf(transient([[0, 1], [1, -1]]).peak)


def test_powers_of_a_propagator_follow_the_exponential():
    found = discrete_transient(hf.RK4, [[0, 1], [-25, -10]], 0.01, 1)
    assert_allclose(found.spectral_radius, np.exp(-0.05), atol=1e-8)
    assert_allclose(found.peak, max(np.linalg.norm(power, 2) for power in _powers(0.01, 100)), rtol=1e-12)
    beyond = discrete_transient(hf.Euler, [[0, 1], [-25, -10]], 0.41)
    assert beyond.spectral_radius > 1
    assert np.isinf(beyond.peak)


def _powers(step, count):
    R = hf.RK4.propagator(np.array([[0, 1], [-25.0, -10]]), step)
    return [np.linalg.matrix_power(R, k) for k in range(count)]


def test_a_contraction_never_grows():
    assert largest_power(0.9 * np.eye(2)) == (1.0, 0)


# ---------------------------------------------------------------- noise


def test_stationary_covariance_of_law_and_of_its_discretisation():
    H, Q = [[0, 1], [-4, -3]], np.diag([0, 0.2**2])
    assert_allclose(stationary_covariance(H, Q), np.diag([1.666667e-3, 6.666667e-3]), atol=1e-9)
    assert_allclose(np.diag(stationary_covariance(H, Q, 2e-3)), [1.67113e-3, 6.70458e-3], rtol=2e-6)


@pytest.mark.parametrize("step", [0.401, 0.5, 3.0])
def test_a_step_beyond_the_limit_of_euler_has_no_covariance(step):
    """H has the double root −5: Euler's step multiplies by 1 − 5τ, and 0.4 is its limit."""
    H, Q = [[0, 1], [-25, -10]], np.diag([0, 1.0])
    assert np.isfinite(stationary_covariance(H, Q, 0.399)).all()
    with pytest.raises(hf.BadRequest, match="beyond its limit"):
        stationary_covariance(H, Q, step)


@pytest.mark.parametrize("H", [[[0, 1], [4, -1]], [[0, 1], [-4, 1]], [[0, 1], [-4, 0]]])
def test_a_law_that_does_not_attract_has_no_covariance(H):
    with pytest.raises(hf.BadRequest, match="do not settle"):
        stationary_covariance(H, np.diag([0, 1.0]))


def test_multiplicative_noise_is_stable_in_mean_square_up_to_twice_the_product_of_the_gains():
    def abscissa(square):
        return mean_square_abscissa([[0, 1], [-4, -3]], [[[0, 0], [np.sqrt(square), 0]]])

    assert abscissa(23.99) < 0 < abscissa(24.01)
    assert_allclose(abscissa(24), 0, atol=1e-9)
