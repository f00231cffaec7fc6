"""When an exhaust gives the thrust: mass must leave wherever thrust is asked for."""

import numpy as np
import pytest

from holdfast.results.exhaust import Exhaust


@pytest.mark.parametrize(
    ("thrust", "burning", "feasible"),
    [
        ([[5.0, 0.0], [0.0, 5.0]], [True, True], True),
        ([[5.0, 0.0], [0.0, 5.0]], [True, False], False),
        ([[5.0, 0.0], [0.0, 0.0]], [True, False], True),
        ([[5e6, 0.0], [1e-9, 0.0]], [True, False], True),  # what is asked there is rounding
        ([[0.5, 0.0], [0.4, 0.0]], [True, False], False),
        ([[0.0, 0.0], [0.0, 0.0]], [False, False], True),
    ],
)
def test_thrust_needs_mass_that_leaves(thrust, burning, feasible):
    thrust = np.array(thrust)
    nothing = np.zeros_like(thrust)
    found = Exhaust(
        times=np.array([0.0, 1.5]), mass=np.ones(2), mass_rate=-np.ones(2), point_velocity=nothing, thrust=thrust,
        velocity=nothing, ratio=nothing, speed=np.array([2.0, 3.0]), burning=np.array(burning), ratio_defined=nothing,
    )  # fmt: skip
    assert found.feasible == feasible
    told = "the exhaust leaves with 2 to 3" if feasible else "no exhaust gives the thrust: no mass leaves at t = 1.5"
    assert told in str(found)
