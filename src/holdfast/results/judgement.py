"""How a run is judged: what the engine reports, and whether the deviations behaved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.engine.rows import Rows
from holdfast.engine.status import Status
from holdfast.equations.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.equations.values import values_at
from holdfast.graph.evaluate import Ledger, Tape
from holdfast.results.outcome import Outcome
from holdfast.results.start import Start, deviation_names

OUTCOMES = {
    Status.completed: Outcome.completed,
    Status.not_finite: Outcome.not_finite,
    Status.rank_lost: Outcome.rank_lost,
    Status.event: Outcome.event,
    Status.not_converged: Outcome.newton_failed,
    Status.step_collapsed: Outcome.step_collapsed,
    Status.interrupted: Outcome.interrupted,
}

BROKEN = (Outcome.rank_lost, Outcome.not_finite, Outcome.step_collapsed, Outcome.newton_failed)
NEARLY_SINGULAR = 1e-4  # a pivot this small, as a part of its largest, explains why values became infinite
FAR = 0.1  # off the program by this part of the size of coordinates or rates
NOTICEABLE = 1e-6  # a deviation below this is not looked at further
GROWTH = 10  # and by this factor further than at the start


def deviation_places(equations: Equations) -> list[int]:
    """Which observables are deviations."""
    names = deviation_names(equations)
    return [k for k, name in enumerate(equations.observables) if name in names]


def ended(status: int, pivots: np.ndarray) -> Outcome:
    """What the engine's code means; infinite values beside a vanishing pivot are a loss of rank."""
    outcome = OUTCOMES[Status(status)]
    if outcome is Outcome.not_finite and len(pivots) and pivots.min() < NEARLY_SINGULAR:
        return Outcome.rank_lost
    return outcome


def judged(equations: Equations, rows: Rows, constants: Sequence[float], start: Start) -> Outcome:
    """How one run ended; a run that completed is called good only if its deviations behaved."""
    outcome = ended(rows.status, rows.pivots)
    if outcome in BROKEN and mass_gone(equations, rows, constants):
        return Outcome.mass_gone
    if outcome not in (Outcome.completed, Outcome.event) or not equations.constraints:
        return outcome
    ends = rows.observables[np.ix_([0, -1], deviation_places(equations))]
    if grown(ends[None])[0] and far_off(equations, rows.states[-1], float(rows.times[-1]), constants):
        return Outcome.deviation_grew
    return outcome if _held(equations, rows, constants, start.off) else Outcome.off_program


def _held(equations: Equations, rows: Rows, constants: Sequence[float], off: Mapping[str, float]) -> bool:
    """Whether nothing was off the program at the start, or all that was is attracted."""
    if not off:
        return True
    which = np.array([[name in off for name in deviation_names(equations)]])
    return bool(attracted(equations, which, rows.states[:1], float(rows.times[0]), np.array([constants]))[0])


def mass_gone(equations: Equations, rows: Rows, constants: Sequence[float]) -> bool:
    """Whether a run that broke off did so where a mass was about to reach zero, at the pace of its last rows."""
    masses = tuple(point.mass for point in equations.dynamics.points if point.varies)
    if not masses:
        return False
    tape, last = Tape(equations.field.inputs, masses), slice(-2, None)
    table = zip(rows.times[last].tolist(), rows.states[last].tolist(), strict=True)
    values = np.array([tape([time, *state, *constants]) for time, state in table])
    largest = np.array(tape([float(rows.times[0]), *rows.states[0].tolist(), *constants]))
    next_values = values[-1] + 1.5 * (values[-1] - values[0])
    return bool(((next_values <= 0) | (values[-1] < NEARLY_SINGULAR * largest)).any())


def grown(deviation: np.ndarray) -> np.ndarray:
    """Whether each case of (cases, rows, deviations) ends much further off than it started."""
    with np.errstate(all="ignore"):
        begin, end = np.linalg.norm(deviation[:, 0], axis=1), np.linalg.norm(deviation[:, -1], axis=1)
        return ~(end <= np.maximum(GROWTH * begin, NOTICEABLE))  # nan has grown


def far_off(equations: Equations, state: np.ndarray, time: float, constants: Sequence[float]) -> bool:
    """Whether coordinates or rates are off the program by more than a small part of their own size."""
    parameters = dict(zip(equations.parameter_names, constants, strict=True))
    values = values_at(equations, state.tolist(), time, parameters)
    slope, deviation = values.deviation_jacobian, np.concatenate([values.deviation, values.deviation_rate])
    if not (np.isfinite(slope).all() and np.isfinite(deviation).all()):
        return True
    distance = np.linalg.pinv(slope) @ deviation  # to first order, as `Values.geometric_distance`
    n = len(equations.coordinates)
    return any(
        np.linalg.norm(distance[part]) > FAR * (1 + np.linalg.norm(state[part])) for part in (slice(n), slice(n, 2 * n))
    )


def attracted(
    equations: Equations, off: np.ndarray, states: np.ndarray, time: float, constants: np.ndarray
) -> np.ndarray:
    """Whether the law attracts, in each case, every decoupled block of deviations that is `off` at the start."""
    found = np.ones(len(off), dtype=bool)
    cases = np.nonzero(off.any(axis=1))[0]
    if not len(cases):
        return found
    matrices = _law_matrices(equations, states[cases], time, constants[cases])
    found[cases] = np.isfinite(matrices).all(axis=(1, 2))
    for members in _alike(matrices):
        some = cases[members]
        some, chosen = some[found[some]], matrices[members][found[some]]
        for block in decoupled_blocks(matrices[members[0]]):
            largest = np.linalg.eigvals(chosen[:, block][:, :, block]).real.max(axis=1)
            found[some] &= (largest < 0) | ~off[some][:, block].any(axis=1)
    return found


def _alike(matrices: np.ndarray) -> list[np.ndarray]:
    """The numbers of the matrices that have their zeros at the same places, for each such pattern."""
    groups: dict[bytes, list[int]] = {}
    for number, pattern in enumerate(matrices != 0):
        groups.setdefault(pattern.tobytes(), []).append(number)
    return [np.array(numbers) for numbers in groups.values()]


def _law_matrices(equations: Equations, states: np.ndarray, time: float, constants: np.ndarray) -> np.ndarray:
    """H of d(y, w)/dt = H (y, w) for each case."""
    m, r = len(equations.deviations.y), len(equations.constraints)
    zero = equations.inputs.graph.zero
    nodes = [row.get(j, zero) for row in equations.demand_law.matrix for j in range(m + r)]
    inputs, points = equations.field.inputs, zip(states.tolist(), constants.tolist(), strict=True)
    rows = [[time, *state, *values] for state, values in points]
    if len(rows) == 1:  # code is written for many only
        law = np.array(Ledger(dict(zip(inputs, rows[0], strict=True))).of(nodes))
    else:
        law = np.array(list(map(Tape(inputs, tuple(nodes)), rows)))
    law = law.reshape(-1, r, m + r)
    upper = np.hstack([np.zeros((m, m)), np.eye(m, r)])
    return np.concatenate([np.broadcast_to(upper, (len(law), m, m + r)), law], axis=1)
