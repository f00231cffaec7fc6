"""Schemes as data: their order conditions, their stability functions, and how they are found."""

from fractions import Fraction as F
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate._ivp import dop853_coefficients
from scipy.linalg import expm

from holdfast.errors import BadRequest, BadStatement
from holdfast.schemes.algebra.order_conditions import residuals, trees
from holdfast.schemes.by_name import ALL_SCHEMES, scheme_named, with_own_steps
from holdfast.schemes.kinds.collocation import Collocation
from holdfast.schemes.kinds.embedded import Embedded
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.schemes.kinds.symplectic_euler import SYMPLECTIC_EULER
from holdfast.schemes.tableaus.dop853 import DOP853
from holdfast.schemes.tableaus.dopri5 import DOPRI5
from holdfast.schemes.tableaus.euler import EULER
from holdfast.schemes.tableaus.implicit_midpoint import IMPLICIT_MIDPOINT
from holdfast.schemes.tableaus.kutta import RK4
from holdfast.schemes.tableaus.radau import RADAU, RADAU5
from holdfast.schemes.tableaus.two_stage import HEUN, MIDPOINT, RALSTON, two_stage

TABLEAUS = [s.main if isinstance(s, Embedded | Collocation) else s for s in ALL_SCHEMES if s is not SYMPLECTIC_EULER]


def test_the_rooted_trees_are_counted_as_cayley_counted_them():
    assert [len(trees(nodes)) for nodes in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]
    assert len(set(trees(8))) == 115


@pytest.mark.parametrize("scheme", TABLEAUS, ids=lambda s: s.name)
def test_every_tableau_meets_all_conditions_of_its_order(scheme):
    tolerance = 0 if scheme.digits is None else F(10**3, 10**scheme.digits)
    assert max(abs(rest) for _, rest in residuals(scheme.stages, scheme.weights, scheme.order)) <= tolerance


@pytest.mark.parametrize("scheme", TABLEAUS, ids=lambda s: s.name)
def test_no_tableau_has_a_higher_order_than_it_claims(scheme):
    rests = residuals(scheme.stages, scheme.weights, scheme.order + 1)
    assert max(abs(rest) for _, rest in rests) > F(1, 10**10)


@pytest.mark.parametrize("scheme", TABLEAUS, ids=lambda s: s.name)
def test_the_stability_function_agrees_with_the_exponential_up_to_the_order(scheme):
    R = scheme.stability
    product = [F(0)] * (scheme.order + 1)  # N - D·e^z must start beyond the order
    for k in range(scheme.order + 1):
        product[k] = R.numerator[k] if k < len(R.numerator) else F(0)
        product[k] -= sum((d * F(1, factorial(k - j)) for j, d in enumerate(R.denominator) if j <= k), F(0))
    assert product == [0] * (scheme.order + 1)


def test_known_stability_functions():
    assert RK4.stability.numerator == (1, 1, F(1, 2), F(1, 6), F(1, 24))
    assert DOPRI5.stability.numerator[6] == F(1, 600)
    assert RADAU5.stability.numerator == (1, F(2, 5), F(1, 20))
    assert RADAU5.stability.denominator == (1, F(-3, 5), F(3, 20), F(-1, 60))
    assert IMPLICIT_MIDPOINT.stability(-1e9) == pytest.approx(-1, abs=1e-8)
    assert abs(RADAU5.stability(-1e9)) < 1e-8  # L-stable


@pytest.mark.parametrize("scheme", ALL_SCHEMES, ids=lambda s: s.name)
def test_the_propagator_is_the_exponential_up_to_the_order(scheme):
    H = np.array([[0.0, 0, 1, 0], [0, 0, 0, 1], [-4, 1, -2, 0.5], [0, -9, 0, -1]])
    steps = (0.2, 0.1) if scheme.order > 5 else (0.04, 0.02)  # long enough to stand out of rounding
    errors = [np.abs(scheme.propagator(H, step) - expm(step * H)).max() for step in steps]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(scheme.order + 1, abs=0.25)


def test_symplectic_euler_moves_the_rate_first():
    H, step = np.array([[0.0, 1.0], [-4.0, -0.5]]), 0.1
    w = 1.0 + step * (-4.0 * 2.0 - 0.5 * 1.0)
    assert_allclose(SYMPLECTIC_EULER.propagator(H, step) @ [2.0, 1.0], [2.0 + step * w, w], rtol=1e-15)
    undamped = np.array([[0.0, 1.0], [-4.0, 0.0]])
    assert np.linalg.det(SYMPLECTIC_EULER.propagator(undamped, step)) == pytest.approx(1, abs=1e-15)


def test_symplectic_euler_treats_a_lone_rate_as_euler():
    assert_allclose(SYMPLECTIC_EULER.propagator(np.array([[-3.0]]), 0.1), [[0.7]])
    mixed = np.array([[0.0, 1.0, 0.0], [-4.0, -0.5, 0.0], [0.0, 0.0, -3.0]])  # one deviation, one nonholonomic rate
    assert SYMPLECTIC_EULER.propagator(mixed, 0.1)[2, 2] == pytest.approx(0.7)


def test_the_two_stage_family_holds_its_relation():
    for scheme, alpha in ((MIDPOINT, F(1, 2)), (HEUN, F(1)), (RALSTON, F(2, 3)), (two_stage(0.8), F(4, 5))):
        assert scheme.stages[1][0] == alpha
        assert 2 * alpha * scheme.weights[1] == 1
    with pytest.raises(BadStatement, match="α"):
        two_stage(0)


def test_the_numbers_of_dop853_are_those_scipy_uses():
    A = np.zeros((12, 12))
    for i, row in enumerate(DOP853.main.stages):
        A[i, : len(row)] = [float(a) for a in row]
    assert np.array_equal(A, dop853_coefficients.A[:12, :12])
    assert np.array_equal([float(b) for b in DOP853.main.weights], dop853_coefficients.B)
    assert_allclose([float(e) for e in DOP853.error[0]], dop853_coefficients.E5[:12], rtol=1e-15)
    assert_allclose([float(e) for e in DOP853.error[1]], dop853_coefficients.E3[:12], rtol=1e-13, atol=1e-17)
    assert np.array_equal(np.array([[float(d) for d in row] for row in DOP853.dense]), dop853_coefficients.D)


def test_the_error_of_radau_is_measured_with_the_numbers_of_the_book():
    """Hairer and Wanner, IV.8: 1/γ₀ = 3 + ∛9 - ∛3 and γ₀ (-13 - 7√6, -13 + 7√6, -1)/3, here over γ₀."""
    poles = RADAU.poles
    assert poles.real == pytest.approx(3 + 9 ** (1 / 3) - 3 ** (1 / 3), abs=1e-11)
    assert abs(sum(float(d) * poles.pair**k for k, d in enumerate(RADAU.stability.denominator))) < 1e-10
    root = np.sqrt(6)
    assert_allclose([float(e) for e in RADAU.error], [(-13 - 7 * root) / 3, (-13 + 7 * root) / 3, -1 / 3], rtol=1e-11)


def test_newtons_equations_fall_apart_along_the_poles():
    """A⁻¹ = μ r l + 2 Re(μ r l) over the real pole and the pair."""
    poles = RADAU.poles
    real = poles.real * np.outer(poles.real_right, poles.real_left)
    pair = 2 * (poles.pair * np.outer(poles.pair_right, poles.pair_left)).real
    assert_allclose(real + pair, [[float(a) for a in row] for row in RADAU.inverse], atol=1e-10)


def test_the_polynomial_of_a_step_passes_through_its_stages():
    Z = [F(3, 10), F(-2), F(5, 7)]
    C = [sum((d * z for d, z in zip(row, Z, strict=True)), F(0)) for row in RADAU.dense]
    for c, z in zip(RADAU5.nodes, Z, strict=True):
        assert abs(c * (C[0] + (1 - c) * (C[1] + c * C[2])) - z) < F(1, 10**50)


def test_only_three_stages_with_the_end_among_them_choose_their_steps():
    assert with_own_steps(RADAU5) is RADAU
    assert with_own_steps(RK4) is RK4
    for other in (IMPLICIT_MIDPOINT, RK4):
        with pytest.raises(BadStatement, match="cannot choose its steps"):
            Collocation(name="other", main=other)


def test_a_tableau_of_ones_own_is_checked_where_it_is_made():
    ssp3 = RungeKutta(name="ssp3", order=3, stages=((), (1,), (F(1, 4), F(1, 4))), weights=(F(1, 6), F(1, 6), F(2, 3)))
    assert ssp3.nodes == (0, 1, F(1, 2))
    assert RungeKutta(name="floats", order=2, stages=((), (0.5,)), weights=(0.0, 1.0)).stages[1] == (F(1, 2),)
    with pytest.raises(BadStatement, match="not of order 3"):
        RungeKutta(name="wrong", order=3, stages=((), (1,)), weights=(F(1, 2), F(1, 2)))
    with pytest.raises(BadStatement, match="2 rows and 1 weights"):
        RungeKutta(name="short", order=1, stages=((), (1,)), weights=(1,))
    with pytest.raises(BadStatement, match="longer"):
        RungeKutta(name="long", order=1, stages=((0, 1),), weights=(1,))


def test_a_scheme_is_found_by_its_name_and_a_near_miss_is_helped():
    assert scheme_named("RK4") is RK4
    assert scheme_named("symplectic_euler") is SYMPLECTIC_EULER
    assert scheme_named(EULER) is EULER
    with pytest.raises(BadRequest, match=r"did you mean 'dop853'"):
        scheme_named("dop835")
    assert len({scheme.name for scheme in ALL_SCHEMES}) == len(ALL_SCHEMES)


def test_schemes_of_one_name_are_told_apart_by_their_tableaus():
    other = RungeKutta(name="rk4", order=2, stages=((), (F(1, 2),)), weights=(F(0), F(1)))
    same = RungeKutta(name=RK4.name, order=RK4.order, stages=RK4.stages, weights=RK4.weights)
    assert same == RK4
    assert hash(same) == hash(RK4)
    assert len({RK4, same, other}) == 2
