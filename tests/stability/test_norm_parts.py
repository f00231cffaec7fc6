"""Searches for one norm, promises along rows and limits of cells: what each is, at its edge too."""

from fractions import Fraction
from types import SimpleNamespace

import flint
import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.graph.arithmetics.balls import precision
from holdfast.stability.linear.common_norm import (
    _averaged,
    _own_solution,
    _polished,
    _sizes,
    _worst,
    common_norm,
)
from holdfast.stability.linear.norms import Norm
from holdfast.stability.promise.envelope import UNIT, Promise
from holdfast.stability.promise.norm_search import _stein, search_norm
from holdfast.stability.proof.contraction import Contraction, propagator
from holdfast.stability.proof.enclosure import ball_matrix
from holdfast.stability.verifier.steps.cells import Cutter
from holdfast.stability.verifier.steps.contraction import Contraction as VerifiedContraction
from holdfast.stability.verifier.steps.contraction import bits_for

H = np.array([[0.0, 1.0], [-4.0, -2.0]])
A = np.array([[0.5, 0.4], [-0.3, 0.6]])


# One P for many matrices.


@pytest.mark.parametrize(("matrix", "discrete"), [(H, False), (A, True), (np.diag([-1.0, -5.0]), False)])
def test_one_matrix_has_a_norm_in_which_it_decays(matrix, discrete):
    """Lyapunov's equation with half the decay: ẇ ≤ −σ/2 is met, and the trace is 1."""
    own = _own_solution(matrix, discrete)
    assert np.trace(own) == pytest.approx(1)
    assert_allclose(own, own.T, atol=0)
    roots = np.linalg.eigvals(matrix)
    size = _sizes(own, [matrix], discrete)[0]
    if discrete:
        assert np.abs(roots).max() <= size <= (1 + np.abs(roots).max()) / 2
    else:
        assert roots.real.max() <= size <= roots.real.max() / 2
    found = common_norm([matrix], discrete=discrete)
    assert found.found
    assert found.worst <= size
    assert found.worst == pytest.approx(_worst(found.norm.matrix, [matrix], discrete))
    assert (found.count, found.norm.origin, found.discrete) == (1, "common", discrete)


@pytest.mark.parametrize(
    ("matrix", "discrete"),
    [
        (np.diag([-1.0, 0.0]), False),
        (np.diag([-1.0, 2.0]), False),
        (np.diag([0.5, 1.0]), True),
        (np.diag([0.5, -1.1]), True),
    ],
)
def test_a_matrix_that_does_not_decay_has_none(matrix, discrete):
    assert _own_solution(matrix, discrete) is None
    found = common_norm([A if discrete else H, matrix], discrete=discrete)
    assert not found.found
    assert found.norm.origin == "none"
    assert found.count == 2
    assert found.worst >= (1 if discrete else 0)
    assert ("‖A‖_P ≤" if discrete else "μ_P(H) ≤") in str(found)
    assert "No P was found for 2 matrices" in str(found)


def test_a_size_on_the_edge_does_not_serve():
    edge = common_norm([np.diag([-1.0, -1.0])])
    assert edge.found
    assert edge.worst == pytest.approx(-1)
    assert "One P serves 1 matrices: μ_P(H) ≤ -1." in str(edge)
    turning = np.array([[0.0, 0.9], [-0.9, 0.0]])
    assert common_norm([turning], discrete=True).worst == pytest.approx(0.9, abs=1e-6)


def test_the_worst_matrix_is_weighed_up():
    """Two shears: the mean of their own norms does not serve, weights do, and a search from there does better."""
    slow, fast = np.array([[-1.0, 1.0], [0.0, -1.0]]), np.array([[-1.0, 0.0], [3.0, -2.0]])
    own = [_own_solution(matrix, False) for matrix in (slow, fast)]
    mean = _worst((own[0] + own[1]) / 2, [slow, fast], False)
    best, value = _averaged(own, [slow, fast], False)
    assert value == pytest.approx(_worst(best, [slow, fast], False))
    assert value < -0.1 < 0.1 < mean
    better, least = _polished(best, value, [slow, fast], False)
    assert least < -0.3
    assert least == pytest.approx(_worst(better, [slow, fast], False))
    assert np.linalg.eigvalsh(better).min() > 0


def test_matrices_that_are_alike_need_one_round():
    own = _own_solution(H, False)
    best, value = _averaged([own, own], [H, H], False)
    assert_allclose(best, own, rtol=1e-12)
    assert value == pytest.approx(Norm(own).log_norm(H))


def test_no_matrix_has_no_norm():
    with pytest.raises(hf.BadRequest, match="no matrix"):
        common_norm([])


@pytest.mark.parametrize("size", [6, 7])
def test_larger_matrices_are_searched_too(size):
    matrices = [np.diag(-np.arange(1.0, size + 1)), np.diag(-np.arange(size, 0.0, -1))]
    found = common_norm(matrices)
    assert found.found
    assert found.worst <= -0.9


# Every row of a run against its proof.


def promise(*, defect=0.0, settled=(0.0, 0.0), widths=(1.0, 1.0), gamma=0.5, tube=10.0, region=()):
    """ψ halves in each step, in the plain norm."""
    proof = SimpleNamespace(factor=np.eye(2).tolist(), gamma=gamma, tube=tube, region=region, limits=())
    return Promise(("y_rod", "w_rod"), proof, defect, settled, widths, np.eye(2) / 2)


def kept(said, psi, errors=0.0, times=None):
    """Whether rows keep a promise; what they break is the error."""
    psi = np.array(psi, float)
    times = np.arange(len(psi)) * 0.1 if times is None else times
    columns = dict(zip(said.names, psi.T, strict=True))
    run = type("Run", (), {"times": times, "__getitem__": lambda _, name: columns[name]})()
    said.require(run, psi, np.zeros_like(psi) + errors)


HALVING = [[1.0, 0.0], [0.5, 0.0], [0.25, 0.0]]
OFF = [[1.0, 0.0], [0.5, 0.0], [0.25, 0.001]]


def test_rows_that_halve_keep_their_promise():
    kept(promise(), HALVING)
    with pytest.raises(hf.InternalError, match=r"defect of a step is 0.001 at t = 0.2, where at most .* is proved"):
        kept(promise(settled=(0.1, 0.1)), OFF)
    kept(promise(defect=0.00101, settled=(0.1, 0.1)), OFF)


def test_reading_errors_are_forgiven_at_both_ends_of_a_step():
    """e at the end and e/2 at the beginning: 0.0015 of slack in one direction."""
    for size, good in ((0.0014, True), (0.0022, False)):
        bent = [[1.0, 0.0], [0.5, 0.0], [0.25, size]]
        errors = np.array([[0.0, 0.001]] * 3)
        if good:
            kept(promise(settled=(0.1, 0.1)), bent, errors)
        else:
            with pytest.raises(hf.InternalError, match="defect"):
                kept(promise(settled=(0.1, 0.1)), bent, errors)


def test_rounding_of_the_product_is_forgiven():
    kept(promise(settled=(1, 1)), [[1.0, 0.0], [0.5 + UNIT, 0.0]])
    with pytest.raises(hf.InternalError, match="defect"):
        kept(promise(settled=(1, 1)), [[1.0, 0.0], [0.5 + 4 * UNIT, 0.0]])


def test_what_is_left_of_the_start_counts_with_its_error():
    """|w| ≤ settled + 0.5ᵏ ‖ψ₀‖ width, and what w is read wrong by."""
    rows = [[1.0, 0.0], [0.5, 0.3]]
    kept(promise(defect=1, widths=(1, 0.61)), rows)
    with pytest.raises(hf.InternalError, match=r"\|w_rod\| is 0.3 at t = 0.1"):
        kept(promise(defect=1, widths=(1, 0.59)), rows)
    kept(promise(defect=1, settled=(0, 0.01), widths=(1, 0.59)), rows)
    kept(promise(defect=1, widths=(1, 0.59)), rows, np.array([[0.0, 0.0], [0.0, 0.01]]))
    kept(promise(defect=1, widths=(1, 0.59)), rows, np.array([[0.04, 0.0], [0.0, 0.0]]))
    with pytest.raises(hf.InternalError, match=r"\|w_rod\|"):
        kept(promise(defect=1, widths=(1, 0.59)), rows, np.array([[0.01, 0.0], [0.0, 0.0]]))


def test_rows_outside_are_not_promised():
    far = [[20.0, 0.0], *HALVING, [20.0, 0.0], [3.0, 3.0]]
    kept(promise(defect=19.9, settled=(20, 0)), far)  # the row that leaves is bounded, what comes after is not
    with pytest.raises(hf.InternalError, match=r"defect of a step is 19.* at t = 0.4,"):
        kept(promise(defect=19.0, settled=(20, 0)), far)
    kept(promise(), [[20.0, 0.0]] * 3)
    kept(promise(region=(("t", 0.0, 0.1),)), [*HALVING[:2], [0.25, 0.0], [7.0, 0.0]])


# Cells cut down to their limits.


def cut(slopes, low, high):
    """Ranges of e from one row a·e ∈ [low, high] of one cell, and whether it is empty."""
    slopes = np.array(slopes, float)[None, None, :]
    rows = slopes, np.array([[low]], float), np.array([[high]], float)
    lowest, highest, empty = Cutter([], [])._cut(None, rows)
    return lowest[0], highest[0], bool(empty[0])


def test_a_limit_bounds_each_direction():
    lowest, highest, empty = cut([2, 1], 2, 10)
    assert not empty
    assert_allclose(lowest, [0.5, 0], atol=1e-13)
    assert_allclose(highest, [1, 1])
    lowest, highest, _ = cut([-4, 1], 4, 10)
    assert_allclose(lowest, [-1, 0], atol=1e-13)
    assert_allclose(highest, [-0.75, 1], atol=1e-13)


@pytest.mark.parametrize(
    ("low", "high", "empty"), [(3.1, 9, True), (-9, -3.1, True), (2.9, 9, False), (-9, -2.9, False)]
)
def test_a_cell_beyond_its_limits_is_empty(low, high, empty):
    assert cut([2, 1], low, high)[2] is empty


def test_a_limit_met_to_the_last_bit_leaves_the_cell():
    """Rounding only ever widens what is left."""
    third = 1 / 3
    lowest, highest, empty = cut([third, third, third], 1.0, 2.0)
    assert not empty
    assert (lowest <= 1).all()
    assert_allclose(highest, 1)
    lowest, _, _ = cut([0.1], 0.03, 1.0)
    assert 0.3 - 1e-13 < lowest[0] <= 0.3


def test_a_direction_without_slope_is_left_alone():
    lowest, highest, empty = cut([0, 2], 1, 5)
    assert_allclose(lowest, [-1, 0.5])
    assert_allclose(highest, [1, 1])
    assert not empty
    assert cut([0, 0], -1, 1)[2] is False
    assert cut([0, 0], 1, 2)[2] is True


# Steps from a function that falls.


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"curvature": 0.0}, "curvature = 0"),
        ({"alpha": 0.0}, "alpha = 0"),
        ({"epsilon": 0.0}, "epsilon = 0"),
        ({"start": np.inf}, "start = inf"),
        ({"start": np.nan}, "start = nan"),
        ({"start": -1e-300}, "start = -1e-300"),
    ],
)
def test_a_step_rule_takes_positive_numbers(wrong, told):
    with pytest.raises(hf.BadRequest, match=told):
        hf.step_rule(hf.gains_from((3, 4, 3)), **{"start": 1.0, "curvature": 1.0, **wrong})


def test_a_start_on_the_program_needs_a_tolerance():
    rule = hf.step_rule(hf.gains_from((3, 4, 3)), start=0.0, epsilon=0.1, curvature=1.0)
    assert rule.step > 0
    assert rule.step_by_start == 0


# ── the norm of a certificate, and what a defect adds up to in it ─────────────────────────────────


def settling(size, radius, seed):
    """A step matrix of some spectral radius, not normal, and the norm that is chosen for it."""
    random = np.random.default_rng(seed)
    matrix = np.triu(random.normal(size=(size, size)))
    matrix *= radius / np.abs(np.diag(matrix)).max()
    return matrix, search_norm(matrix[None], random.normal(size=(50, size)))


@pytest.mark.parametrize(("size", "radius"), [(1, 0.9), (2, 0.9), (2, 0.9999), (4, 0.99), (6, 0.5)])
def test_norms_solve_steins_equation(size, radius):
    matrix, _ = settling(size, radius, 3)
    gammas, weights = (
        1 - np.array([0.3, 0.9]) * (1 - radius),
        np.array([np.eye(size), np.diag(np.arange(1.0, size + 1))]),
    )
    factors = _stein(matrix, gammas, weights)
    assert len(factors) == 4
    for factor, (weight, gamma) in zip(factors, [(w, g) for w in weights for g in gammas], strict=True):
        norm = factor @ factor.T
        left = norm - (matrix / gamma).T @ norm @ (matrix / gamma)
        assert np.allclose(left / left[0, 0], weight / weight[0, 0], atol=1e-6 * np.abs(norm).max() / left[0, 0])


@pytest.mark.parametrize(("size", "radius"), [(1, 0.9), (2, 0.95), (2, 0.9999), (4, 0.99), (6, 0.5)])
def test_a_settled_bound_is_not_below_the_sum_of_powers_and_near_it(size, radius):
    matrix, chosen = settling(size, radius, 5)
    with precision(80):
        contraction = Contraction(chosen.factor, chosen.gamma, ball_matrix(matrix))
        assert contraction.holds()
        found, most = contraction.settled(1.0), contraction.radius(1.0) * np.array(contraction.widths())
    total, row = np.zeros(size), np.linalg.inv(chosen.factor.T)
    for _ in range(int(30 / (1 - radius))):
        total, row = total + np.linalg.norm(row, axis=1), matrix @ row
    assert (np.array(found) >= total * (1 - 1e-12)).all()
    assert (np.array(found) <= (1.1 * total if chosen.gamma < 0.98 else most * 1.001)).all()  # else powers leap


@pytest.mark.parametrize("damping", [0.01, 0.1, 1.0])
def test_a_verifier_sums_powers_of_a_light_damping_as_far_as_a_search_does(damping):
    """They turn, so that plain balls of their entries would grow by a half at every leap."""
    law = [[Fraction(0), Fraction(1)], [Fraction(-1), Fraction(-damping)]]
    matrix = hf.RK4.propagator(np.array(law, float), 0.01)
    chosen = search_norm(matrix[None], np.random.default_rng(5).normal(size=(50, 2)))
    with precision(80):
        found = Contraction(chosen.factor, chosen.gamma, propagator(hf.RK4, np.array(law, float), 0.01)).settled(1.0)
    with precision(bits_for(2)):
        stability = SimpleNamespace(stability=[Fraction(1, k) for k in (1, 1, 2, 6, 24)])
        again = VerifiedContraction(law, stability, 0.01, chosen.factor.tolist(), chosen.gamma).settled(flint.arb(1))
    assert all(0.99 * bound < float(shown.upper()) <= bound for shown, bound in zip(again, found, strict=True))


def test_powers_that_are_not_known_leave_the_tail():
    """A step matrix known to a thousandth only: the sum ends where the tail by γ is the better bound."""
    matrix, chosen = settling(2, 0.9, 5)
    with precision(80):
        wide = ball_matrix(matrix) + flint.arb_mat([[flint.arb(0, 1e-3)] * 2] * 2)
        found = Contraction(chosen.factor, chosen.gamma, wide).settled(1.0)
        widths = Contraction(chosen.factor, chosen.gamma, wide).widths()
    assert all(bound <= width / (1 - chosen.gamma) * 1.001 for bound, width in zip(found, widths, strict=True))
