"""The condition number of the saddle system: by its 1-norm, in units of its own."""

import numpy as np
import pytest

from holdfast.equations.solving.diagnosis import condition_of

M = np.array([[2.0, 0.3], [0.3, 1.0]])
J, E = np.array([[1.0, 0.4]]), np.array([[0.2], [1.0]])


def by_norm(saddle):
    return np.linalg.cond(saddle, 1)


def test_it_is_the_condition_in_units_of_masses_slopes_and_pushes():
    length = 1 / np.sqrt(np.diag(M))
    pushes, slopes = E * length[:, None], J * length
    scaled = np.block([
        [M * length * length[:, None], -pushes / np.abs(pushes).max()],
        [slopes / np.abs(slopes).max(), np.zeros((1, 1))],
    ])  # fmt: skip
    assert condition_of(M, J, E) == pytest.approx(by_norm(scaled), rel=1e-12)


@pytest.mark.parametrize("through", [None, np.array([[0.7]])])
def test_units_of_coordinates_constraints_and_controls_do_not_matter(through):
    plain = condition_of(M, J, E, through)
    q, y, u = np.diag([1e-3, 1e5]), 1e4, 1e-6
    other = condition_of(q @ M @ q, y * J @ q, q @ E * u, None if through is None else y * u * through)
    assert other == pytest.approx(plain, rel=1e-6 if through is None else 0.3)


def test_through_states_it_is_that_of_rows_and_columns_of_one_size():
    """Where all entries are of one size already, scaling changes nothing."""
    mass, jacobian, holders = np.eye(2), np.array([[1.0, 0.5]]), np.array([[-1.0], [0.5]])
    saddle = np.block([[mass, -holders], [jacobian, np.ones((1, 1))]])
    assert condition_of(mass, jacobian, holders, np.ones((1, 1))) == pytest.approx(by_norm(saddle), rel=1e-12)


def test_a_coordinate_without_mass_is_measured_by_the_others():
    mass = np.diag([4.0, 0.0])
    found = condition_of(mass, np.array([[1.0, 1.0]]), np.array([[1.0], [1.0]]))
    assert found == pytest.approx(by_norm(np.array([[1.0, 0, -1], [0, 0, -1], [1, 1, 0]])), rel=1e-12)


@pytest.mark.parametrize("through", [None, np.zeros((1, 1)), np.full((1, 1), 0.5)])
def test_what_has_no_inverse_has_an_infinite_condition(through):
    assert condition_of(M, 0 * J, E, None) == np.inf
    assert condition_of(M, J, 0 * E, through if through is None else 0 * through) == np.inf
    square = np.array([[1.0], [0.0]])
    assert condition_of(np.eye(2), np.array([[0.0, 1.0]]), square) == np.inf
