"""Growth before the decay, against the figures of docs/theory, section 2.4, and under noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.stability.linear.covariance import mean_square_abscissa, stationary_covariance
from holdfast.stability.linear.peaks import double_root_peak, multiple_root_peak, second_order_peak
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


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    ("rate", "position", "velocity", "time", "value"),
    [(2, 0.01, 1, 0.49019608, 0.19133361), (10, 1, 100, 0.09090909, 4.43179354), (2, 0, 1, 0.5, 1 / (2 * np.e))],
)
def test_double_roots_peak_where_the_formula_says(rate, position, velocity, time, value):
    peak = double_root_peak(rate, position, velocity)
    assert_allclose((peak.time, peak.value), (time, value), atol=1e-8)


def test_a_falling_deviation_has_no_peak():
    assert double_root_peak(2, 1, -1) is None
    assert double_root_peak(2, 1, 0) is None
    assert second_order_peak(1, 2, 1, -0.1) is None


@pytest.mark.parametrize(
    ("ratio", "value"),
    [(0.1, 0.862600), (0.5, 0.546293), (0.9, 0.394059), (1, 0.367879), (1.1, 0.344818), (2, 0.218561)],
)
def test_peaks_pass_smoothly_through_equal_roots(ratio, value):
    assert_allclose(second_order_peak(1, ratio).value, value, atol=1e-6)
    if ratio < 1:
        exact = np.exp(-ratio * np.arccos(ratio) / np.sqrt(1 - ratio**2))
        assert_allclose(second_order_peak(1, ratio).value, exact, rtol=1e-14)


@pytest.mark.parametrize(("position", "velocity"), [(0.3, 1.0), (-0.4, 0.2), (1.0, -5.0)])
@pytest.mark.parametrize("ratio", [0.3, 1, 1.7])
def test_peaks_are_extrema_of_the_solution(ratio, position, velocity):
    from scipy.linalg import expm

    H = np.array([[0, 1], [-4, -4 * ratio]])
    peak = second_order_peak(2, ratio, position, velocity)
    times = np.linspace(0, 6, 400)
    speeds = np.array([(expm(H * t) @ [position, velocity])[1] for t in times])
    turns = times[1:][np.diff(np.sign(speeds)) != 0]
    assert (peak is not None) == bool(len(turns))
    if peak is not None:
        assert_allclose(expm(H * peak.time) @ [position, velocity], [peak.value, 0], atol=1e-12)
        assert turns[0] - times[1] <= peak.time <= turns[0]  # the first


def test_multiple_roots_peak_where_the_formula_says():
    peak = multiple_root_peak(4, 2)
    assert_allclose((peak.time, peak.value), (1.5, 1.5**3 * np.exp(-3) / 6), rtol=1e-14)


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
