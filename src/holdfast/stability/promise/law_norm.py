"""One norm for a law that varies: sought from the step matrices at states of the region, shown elsewhere."""

from __future__ import annotations

import numpy as np

from holdfast.results.trajectory import Trajectory
from holdfast.stability.promise.norm_search import ChosenNorm, contraction_factor, search_norm
from holdfast.stability.proof.claim import Claim
from holdfast.stability.proof.laws.contraction import StepMatrix
from holdfast.stability.sampling import Deviator, box_samples

SAMPLES = 300  # states of the region, moved onto the program
ROWS = 100  # of the run, beside them
FEW = 40  # matrices from which one P is sought where none of the simple ones serves
AROUND = 4.0  # times the deviations of the run: so far a law that is not linear is looked at
ROOM = 0.95  # of 1 − γ as sampled: what is left to states that were not


def region_norm(setting: Claim, run: Trajectory, defects: np.ndarray) -> ChosenNorm | None:
    """A norm in which every sampled step of the law contracts, with a little room; None where none is found."""
    terms = setting.law_terms
    assert terms is not None
    places = _places(setting, run)
    shaken = np.random.default_rng(0).uniform(-AROUND, AROUND, (len(terms.deviations), places.shape[1]))
    sizes = np.abs(np.array([run[name] for name in setting.equations.deviation_names])).max(axis=1, keepdims=True)
    matrices = StepMatrix(terms, setting.step).at(shaken * sizes, places)
    matrices = matrices[np.isfinite(matrices).all(axis=(1, 2))]
    if not len(matrices):
        return None
    found = search_norm(matrices, defects)
    if found is None:
        from holdfast.stability.linear.common_norm import common_norm  # and SciPy's optimisers, which take a while

        common = common_norm(list(matrices[:: -(-len(matrices) // FEW)]), discrete=True)
        factor = np.linalg.cholesky(np.array(common.norm.matrix))
        found = ChosenNorm(factor / factor[0, 0], contraction_factor(factor, matrices))
    return ChosenNorm(found.factor, 1 - ROOM * (1 - found.gamma)) if found.gamma < 1 else None


def _places(setting: Claim, run: Trajectory) -> np.ndarray:
    """Times with states, in columns: rows of the run, and states of the region on the program."""
    equations = setting.equations
    box = {name: setting.region[name] for name in ("t", *equations.state_names)}
    times, states = box_samples(equations, box, SAMPLES, 0, setting.parameters)
    count = len(equations.deviation_names)
    states, good = Deviator(equations, setting.parameters).moved(times, states, np.zeros((SAMPLES, count)))
    for k, name in enumerate(equations.state_names):
        low, high = setting.region[name]
        good &= (states[:, k] >= low) & (states[:, k] <= high)
    rows = np.unique(np.linspace(0, len(run.times) - 1, ROWS).astype(int))
    inside = np.vstack([times[good], states[good].T])
    along = np.vstack([run.times[rows], run.y[:, rows]])
    return np.hstack([along, inside])
