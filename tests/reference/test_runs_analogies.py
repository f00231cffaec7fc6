"""Runs of joined domains: a circuit and its mechanical twin, a piston and its line (docs/theory, section 6.3)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import holdfast as hf
from tests.reference.shipped import derived


def one_port(inertia, resistance, stiffness, effort):
    q = hf.coordinates("q")
    system = hf.System(
        coordinates=(q,),
        kinetic=inertia * q.rate**2 / 2,
        potential=stiffness * q**2 / 2,
        dissipation=resistance * q.rate**2 / 2,
        forces={q: effort},
    )
    return hf.derive(hf.Problem(system))


@pytest.mark.parametrize("numbers", [(0.5, 2, 1 / 0.1, 1), (0.5, 2, 10, 1)], ids=["rlc", "mass_spring_damper"])
def test_a_circuit_and_a_mass_on_a_spring_move_alike(numbers):
    run = hf.simulate(one_port(*numbers), hf.DOP853, tolerance=1e-13, duration=1, at=[0.5, 1])
    assert_allclose(run["q"], [0.0985835951, 0.1139672085], rtol=0, atol=6e-11)
    assert run["q_dot"][0] == pytest.approx(0.1672559146, abs=6e-11)


def test_the_piston_moves_its_line():
    run = hf.simulate(derived("piston_line"), hf.DOP853, tolerance=1e-13, duration=2, at=[0, 0.5, 1, 2])
    assert_allclose(run["x"][1:], [1.1285210138, 1.7837988308, 0.4847818752], rtol=0, atol=6e-11)
    assert_allclose(run["lambda_join"], [-50, -101.681696, -140.859618, -71.677469], rtol=0, atol=6e-7)


def test_a_wrong_volume_is_corrected_by_the_law():
    run = hf.simulate(
        derived("piston_line"), hf.DOP853, tolerance=1e-13, duration=1, start={"Vol": 0.1}, start_policy="keep"
    )
    assert_allclose(run["y_join"], 0.1 * (1 + 5 * run.times) * np.exp(-5 * run.times), rtol=0, atol=1e-12)
    assert run["y_join"][-1] == pytest.approx(0.0040427682, abs=6e-11)
    assert run["x"][-1] == pytest.approx(1.7516385516, abs=6e-11)
