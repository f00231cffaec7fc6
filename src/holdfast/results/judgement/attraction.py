"""Whether a law attracts: the roots of its linear part, block by block, and what it predicts of a deviation."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Ledger, Tape

UNSTABLE = 1e-6  # of the largest root
SWEEPS = 8  # until units are found; of one constraint the second changes nothing
TIMES = 64  # at which a prediction is looked at: over the duration, and over the first times of its quickest root


def attracted(
    equations: Equations, off: np.ndarray, states: np.ndarray, time: float, constants: np.ndarray
) -> np.ndarray:
    """Whether the law attracts, in each case, every decoupled block of deviations that is `off` at the start."""
    found = np.ones(len(off), dtype=bool)
    cases = np.nonzero(off.any(axis=1))[0]
    if not len(cases):
        return found
    matrices = law_matrices(equations, states[cases], time, constants[cases])
    found[cases] = np.isfinite(matrices).all(axis=(1, 2))
    for members in _alike(matrices):
        some = cases[members]
        some, chosen = some[found[some]], matrices[members][found[some]]
        for block in decoupled_blocks(matrices[members[0]]):
            largest = _largest_roots(chosen[:, block][:, :, block])
            found[some] &= (largest < 0) | ~off[some][:, block].any(axis=1)
    return found


def _largest_roots(matrices: np.ndarray) -> np.ndarray:
    """The largest real part of the roots of each matrix; of many equal ones, as gains make them, found once."""
    if len(matrices) and (matrices == matrices[:1]).all():
        matrices, count = matrices[:1], len(matrices)
        return np.repeat(np.linalg.eigvals(matrices).real.max(axis=1), count)
    found: np.ndarray = np.linalg.eigvals(matrices).real.max(axis=1)
    return found


def unstable(roots: np.ndarray) -> bool:
    """Whether a root lies to the right of the axis by more than the rounding of a multiple root at zero."""
    return bool(roots.real.max(initial=0.0) > UNSTABLE * np.abs(roots).max(initial=0.0))


def driven_away(matrix: np.ndarray) -> np.ndarray:
    """Which deviations the law d(z)/dt = H z drives away, block by block."""
    found = np.zeros(len(matrix), dtype=bool)
    if np.isfinite(matrix).all():
        for block in decoupled_blocks(matrix):
            found[block] = unstable(np.linalg.eigvals(matrix[np.ix_(block, block)]))
    return found


def predicted(matrix: np.ndarray, start: np.ndarray, duration: float) -> np.ndarray:
    """The largest size of each deviation that d(z)/dt = H z gives within a duration, from z(0).

    Of a law that drives deviations away nothing is predicted: to follow it is no excuse. Each decoupled block is looked
    at by itself, beside its own roots: those of a stiff one would make a slow divergence of another look like rounding.
    """
    largest = np.abs(start)
    if largest.any() and np.isfinite(matrix).all():
        for block in decoupled_blocks(matrix):
            if largest[block].any():
                largest[block] = _of_block(matrix[np.ix_(block, block)], start[block], duration)
    return largest


def _of_block(matrix: np.ndarray, start: np.ndarray, duration: float) -> np.ndarray:
    if unstable(np.linalg.eigvals(matrix)):
        return np.abs(start)
    units = _units(matrix)
    return _largest_within(matrix * units / units[:, None], start / units, duration) * units


def _units(matrix: np.ndarray) -> np.ndarray:
    """Units of the deviations, powers of two, in which each moves the others as much as they move it.

    Lengths and speeds then differ by the pace of the law, whatever the unit of time is. Osborne (1960), J. ACM 7, 338.
    """
    return _units_of(np.ascontiguousarray(matrix, float).tobytes(), len(matrix))


@lru_cache(maxsize=256)
def _units_of(entries: bytes, size: int) -> np.ndarray:
    """Found once for a law: runs are judged again and again under the same."""
    matrix, found = np.frombuffer(entries).reshape(size, size), np.ones(size)
    with np.errstate(all="ignore"):
        for _ in range(SWEEPS):
            before = found.copy()
            for i in range(len(matrix)):
                taken = np.delete(np.abs(matrix[i]) * found, i).sum() / found[i]
                given = np.delete(np.abs(matrix[:, i]) / found, i).sum() * found[i]
                ratio = np.sqrt(taken) / np.sqrt(given)
                if ratio > 0 and np.isfinite(ratio):
                    found[i] *= 2.0 ** np.round(np.log2(ratio))
            if (found == before).all():
                break
    found.flags.writeable = False
    return found


def _largest_within(matrix: np.ndarray, start: np.ndarray, duration: float) -> np.ndarray:
    largest = np.abs(start)
    with np.errstate(all="ignore"):
        quickest = max(float(np.abs(matrix).sum(axis=1).max()), 1e-300)  # the scale of its roots
        for each in (duration / TIMES, min(duration / TIMES, 1 / quickest)):  # nothing behind the end excuses a run
            step, places = _exponential(matrix * each), start[:, None]
            while places.shape[1] <= TIMES:  # twice as many times at once
                places, step = np.concatenate([places, step @ places], axis=1), step @ step
            largest = np.fmax(largest, np.fmax.reduce(np.abs(places[:, : TIMES + 1]), axis=1))
    return np.where(np.isfinite(largest), largest, np.abs(start))  # rounding that is squared too often grows


def _exponential(matrix: np.ndarray) -> np.ndarray:
    """exp(A) by its Taylor series at a small part of A, squared back: enough for a look, without loading SciPy."""
    size = float(np.abs(matrix).sum(axis=1).max(initial=0.0))
    halvings = max(0, int(np.ceil(np.log2(size))) + 2) if np.isfinite(size) and size > 0 else 0
    small, term = matrix / 2.0**halvings, np.eye(len(matrix))
    total = term
    for k in range(1, 13):
        term = term @ small / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def _alike(matrices: np.ndarray) -> list[np.ndarray]:
    """The numbers of the matrices that have their zeros at the same places, for each such pattern."""
    groups: dict[bytes, list[int]] = {}
    patterns = matrices != 0
    if (patterns == patterns[:1]).all():
        return [np.arange(len(matrices))]
    for number, pattern in enumerate(patterns):
        groups.setdefault(pattern.tobytes(), []).append(number)
    return [np.array(numbers) for numbers in groups.values()]


def law_matrices(equations: Equations, states: np.ndarray, time: float, constants: np.ndarray) -> np.ndarray:
    """H of d(y, w)/dt = H (y, w) for each case."""
    m, r = len(equations.deviations.y), len(equations.constraints)
    zero = equations.inputs.graph.zero
    nodes = [row.get(j, zero) for row in equations.demand_law.matrix for j in range(m + r)]
    inputs, count = equations.field.inputs, len(states)
    if count == 1:  # code is written for many only
        values = [time, *states[0].tolist(), *constants[0].tolist()]
        law = np.array(Ledger(dict(zip(inputs, values, strict=True))).of(nodes))
    else:
        with np.errstate(all="ignore"):
            found = Tape(inputs, tuple(nodes)).compiled(ARRAYS)([time, *states.T, *constants.T])
        law = np.array([np.broadcast_to(value, count) for value in found]).T
    law = law.reshape(-1, r, m + r)
    upper = np.zeros((m, m + r))
    upper[range(m), equations.deviations.follows] = 1
    return np.concatenate([np.broadcast_to(upper, (len(law), m, m + r)), law], axis=1)
