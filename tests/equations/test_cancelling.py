"""Constraints that do not feel each other because masses are alike, whether or not the graph sees what cancels."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, y, z = hf.coordinates("x y z")
mu, e = hf.parameters("mu e")


@pytest.mark.parametrize("held", [{"a": x - 2, "b": y - z - 3}, {"a": x**2 - 4, "b": sp.sqrt((y - z) ** 2 + 16) - 5}])
@pytest.mark.parametrize("coupling", [e, mu / 9, sp.Rational(1, 9)])
def test_a_body_that_carries_two_alike_is_held_apart_from_what_joins_them(held, coupling):
    kinetic = mu * (x.rate**2 + y.rate**2 + z.rate**2) / 2 + coupling * x.rate * (y.rate + z.rate)
    parameters = {mu: 1.3, e: 0.1}
    system = hf.System(coordinates=(x, y, z), kinetic=kinetic, potential=mu * (x + 2 * y - z), parameters=parameters)
    found = hf.derive(hf.Problem(system, hf.Program(holonomic=held), start={x: 2, y: 4, z: 1})).evaluate()
    mass, jacobian = np.array(found.mass_matrix, float), np.array(found.jacobian, float)
    saddle = np.block([[mass, -jacobian.T], [jacobian, np.zeros((2, 2))]])
    solved = np.linalg.solve(saddle, [*np.array(found.bias, float), 0, 0])  # at rest, and on the program
    assert_allclose([*found.accelerations, *found.multipliers], solved, atol=1e-12)
