"""Quaternion bodies from a thousand random starts: none stops, norms and energies obey the order of the scheme."""

import numpy as np
import pytest

import holdfast as hf


@pytest.mark.prove
def test_a_thousand_free_bodies_turn_for_twenty_seconds():
    body = hf.Body(mass=2, inertia=(1, 2, 3))
    equations = hf.derive(hf.Problem(hf.System(bodies={"b": body})))
    random, n = np.random.default_rng(0), 1000
    p = random.normal(size=(n, 4))
    p /= np.linalg.norm(p, axis=1)[:, None]
    cases = {f"b_e{k}": p[:, k] for k in range(4)}
    cases |= {f"b_turn_{c}_dot": random.uniform(-3, 3, n) for c in "xyz"}
    spreads = []
    for step in (0.02, 0.01):
        runs = hf.ensemble(equations, hf.RK4, step=step, duration=20, cases=cases, every=round(0.2 / step))
        assert all(outcome.name == "completed" for outcome in runs.outcomes)
        norm = sum(np.asarray(runs[f"b_e{k}"]) ** 2 for k in range(4))
        assert np.abs(norm - 1).max() < 1e-4 * (step / 0.02) ** 5
        spreads.append(np.ptp(np.asarray(runs["energy"]), axis=1).max())
    assert spreads[1] < spreads[0] / 10  # of order 4 at least
