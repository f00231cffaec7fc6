"""Test vector E of Mukharlyamov 2006: a holonomic and a nonlinear nonholonomic constraint.

Every printed number, to 1e-11, however the excess energies are stated, with and without the terms of second order.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

q1, q2, q3 = hf.coordinates("q1 q2 q3")
v1, v2, v3 = q1.rate, q2.rate, q3.rate
t = hf.time
y1, y2 = hf.deviations("f1 f2")
w = sp.Matrix([y1.rate, y2.rate])

INERTIA = sp.Matrix([[1 + q1**2, 0.2 * q2], [0.2 * q2, 2 + 0.5 * q3]])
DAMPING = sp.Matrix([[3 + v3**2, 0.5], [0.5, 4 + q1 * v1]])
STIFFNESS = 5 + q2**2 + 0.3 * t
LAWS = {
    "coefficients": hf.ExcessEnergies(inertia=INERTIA, damping=DAMPING, stiffness=[[STIFFNESS]]),
    "names": hf.ExcessEnergies(
        inertia={"f1": INERTIA[0, 0], "f2": INERTIA[1, 1], "f1.f2": INERTIA[0, 1], "f2.f1": INERTIA[1, 0]},
        damping={"f1": DAMPING[0, 0], "f2": DAMPING[1, 1], ("f1", "f2"): 0.5, ("f2", "f1"): 0.5},
        stiffness={"f1": STIFFNESS},
    ),
    "energies": hf.ExcessEnergies(
        kinetic=(w.T * INERTIA * w)[0] / 2,
        potential=STIFFNESS * y1**2 / 2,
        dissipation=(w.T * DAMPING * w)[0] / 2,
    ),
}


def problem(law):
    v = sp.Matrix([v1, v2, v3])
    mass = sp.Matrix([[1.5 + 0.2 * sp.cos(q2), 0.3, 0], [0.3, 1 + q1**2, 0], [0, 0, 2]])
    system = hf.System(
        coordinates=(q1, q2, q3),
        kinetic=(v.T * mass * v)[0] / 2,
        potential=9.81 * q3 + 2 * q1**2 + 0.1 * t * q2,
        dissipation=0.15 * (v.T * v)[0],
        forces={q1: 0.2 * sp.sin(t), q2: -0.1 * v2, q3: 0.05},
    )
    program = hf.Program(
        holonomic={"f1": q1**2 + q2**2 - 0.5 * q3 - 0.5 - 0.1 * sp.sin(t)},
        nonholonomic={"f2": v1**2 + v2**2 - v3**2 + 0.1 * t * q1},
        law=law,
    )
    return hf.Problem(system, program, start={q1: 0.7, q2: -0.4, q3: 0.3, v1: 0.2, v2: 0.5, v3: -0.6})


@cache
def values(law, second_order=True):
    return hf.derive(problem(LAWS[law]), second_order=second_order).evaluate(time=0.25)


def close(ours, printed):
    assert_allclose(ours, printed, rtol=0, atol=1e-11)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("second_order", [True, False], ids=["full", "without_q2"])
def test_deviations_matrices_and_law_are_the_printed_ones(law, second_order):
    at = values(law, second_order)
    close(at.deviation, [-0.024740395925])
    close(at.deviation_rate, [0.083108757829, -0.0525])
    close(at.jacobian, [[1.4, -0.8, -0.5], [0.4, 1, 1.2]])
    close(at.authority, [[2.055292124034, -0.645930151026], [-0.645930151026, 1.415444830308]])
    close(at.bias, [-2.643307574995, -0.363442326631, -9.58])
    close(at.law_matrix[:, 1:], [[-2.462856964124, -0.499577742329], [-0.370710956805, -1.804635450877]])
    close(at.law_matrix[:, 0], [-3.520456038285, -0.130993713052])
    close(at.mu_parts[0], [1.203958233591, 4.951817988260])
    close(at.mu_parts[1], [-0.034481070697, 0.031723247843])
    close(at.demand, [-0.091359675301, 0.067174870362])


@pytest.mark.parametrize("law", LAWS)
def test_terms_of_second_order_are_the_printed_ones(law):
    at = values(law)
    close(at.excess_bias, [-0.00387025844, 0.000627807081, -0.004833301877])
    close(at.mu_parts[2], [-0.002456792393, -0.003217719330])
    close(at.held_forces, [3.625957925411, 4.046707220371, 5.392878034876])
    close(at.accelerations, [0.150910591634, 2.441183831657, -2.091144331624])


@pytest.mark.parametrize("law", LAWS)
def test_without_q2_only_the_motion_along_the_program_changes(law):
    at = values(law, second_order=False)
    close(at.excess_bias, 0)
    close(at.mu_parts[2], 0)
    close(at.accelerations, [0.151204835832, 2.442386394904, -2.092244549062])
    close(at.jacobian @ at.accelerations + at.drift_term, [-0.091359675301, 0.067174870362])


def test_the_deviation_matrix_has_the_papers_blocks():
    at = values("coefficients")
    expected = np.vstack([[0, 1, 0], at.law_matrix])
    assert_allclose(at.deviation_matrix, expected)


def test_multipliers_split_into_their_causes_and_add_up():
    at = values("energies")
    assert_allclose(at.mu_parts.sum(axis=0), at.mu, rtol=1e-13)
    assert_allclose(at.held_force_parts.sum(axis=0), at.held_forces, rtol=1e-13)
    assert_allclose(at.jacobian.T @ at.mu, at.held_forces, rtol=1e-13)


def test_the_geometric_distance_is_the_least_displacement_that_cancels_the_deviation():
    at = values("coefficients")
    z = np.concatenate([at.deviation, at.deviation_rate])
    step = np.linalg.lstsq(at.deviation_jacobian, z, rcond=None)[0]
    assert at.geometric_distance == pytest.approx(np.linalg.norm(step), rel=1e-12)
    assert at.norm() == pytest.approx(np.linalg.norm(z), rel=1e-14)
    assert at.norm({"y_f1": 2}) == pytest.approx(np.linalg.norm([2 * z[0], *z[1:]]), rel=1e-14)
