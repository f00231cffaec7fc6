"""Energies of states moved onto the program, as tuning compares them: large systems by their entries."""

import numpy as np

import holdfast as hf
from holdfast.stability.tuning import trials
from tests.problem.chains import chain


def test_states_of_large_systems_are_moved_without_dense_matrices(monkeypatch):
    """By the same steps as dense ones: a state that is not a number has no energy either way."""
    equations = hf.derive(hf.loads(chain(6)))
    energy = trials.EnergyOnProgram(equations, {}, np.full(24, 0.5))
    stretched = np.concatenate([[x for i in range(1, 7) for x in (0.1 * i, 0.0)], np.zeros(12)])
    states = stretched + 0.01 * np.random.default_rng(1).normal(size=(3, 30, 24))
    states[1, 2, 0] = np.nan
    usual = energy(np.zeros(30), states)
    monkeypatch.setattr(trials, "LARGE", 2)
    monkeypatch.setattr(np.linalg, "solve", None)
    found = energy(np.zeros(30), states)
    assert np.isinf(found[1, 2])
    assert np.isfinite(usual).sum() == 89
    np.testing.assert_allclose(found, usual, rtol=1e-11, atol=1e-13)
