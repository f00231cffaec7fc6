"""The pendulum of docs/theory, section 3.2: a contraction alone does not keep the rod, the defect counts too."""

import numpy as np
import pytest

import holdfast as hf
from tests.reference.shipped import derived

H = np.array([[0.0, 1.0], [-25.0, -10.0]])
P = np.array([[165.5, 26.5], [26.5, 4.5]])
STEP = 0.01


def p_norm(vectors):
    return np.sqrt(np.einsum("ki,ij,kj->k", vectors, P, vectors))


def contraction(matrix):
    half = np.linalg.cholesky(P).T
    return np.linalg.norm(half @ matrix @ np.linalg.inv(half), 2)


@pytest.mark.parametrize(
    ("scheme", "end", "gamma", "defect", "largest", "energy", "digits"),
    [
        (hf.Euler, 1, 0.96002287, 1.593707e-2, 2.954701e-1, 1.880456, 6e-7),
        (hf.Midpoint, 20, 0.96076917, 2.333202e-4, 3.853783e-3, 0.226979, 6e-7),
        (hf.RK4, 20, 0.96076098, 6.062804e-8, 6.863894e-7, 0.000004, 6e-7),
    ],
    ids=["euler", "midpoint", "rk4"],
)
def test_the_table(scheme, end, gamma, defect, largest, energy, digits):
    run = hf.simulate(derived("pendulum"), scheme, step=STEP, duration=end)
    u = np.array([run["y_rod"], run["w_rod"]]).T
    propagator = np.array(scheme.propagator(H, STEP), dtype=float)
    assert contraction(propagator) == pytest.approx(gamma, abs=6e-9)
    assert p_norm(u[1:] - u[:-1] @ propagator.T).max() == pytest.approx(defect, rel=1e-5)
    assert p_norm(u).max() == pytest.approx(largest, rel=1e-5)
    assert run.energy[-1] == pytest.approx(energy, abs=digits)
    poor = (hf.Outcome.energy_changed, hf.Outcome.deviation_grew)
    assert run.outcome in (poor if run.scheme == "euler" else (hf.Outcome.completed,))


def test_euler_blows_up_and_says_so():
    run = hf.simulate(derived("pendulum"), hf.Euler, step=STEP, duration=10)
    u = np.array([run["y_rod"], run["w_rod"]]).T
    assert p_norm(u).max() > 1e8
    assert run.energy[-1] > 1e10
    assert not run.success
    assert run.outcome in (hf.Outcome.deviation_grew, hf.Outcome.diverged, hf.Outcome.not_finite)


def test_an_ensemble_judges_the_blow_up_alike():
    runs = hf.ensemble(derived("pendulum"), hf.Euler, step=STEP, duration=10, cases={"m": [1, 2]}, every=7)
    assert set(runs.outcomes) <= {hf.Outcome.deviation_grew, hf.Outcome.diverged, hf.Outcome.not_finite}
