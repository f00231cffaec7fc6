"""Deviations that are no more than rounding: at one state, or at the states of many cases at once.

A component that is itself a residue of rounding (6·10⁻¹⁷ for the cosine of a right angle) has no size of its own;
beside the others, it has the one that carries the same kinetic energy, and rounding of that is no deviation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.results.start.term_sizes import ROUNDING_NOISE, deviation_sizes


def off_program(
    equations: Equations, deviation: np.ndarray, states: np.ndarray, time: float, constants: np.ndarray
) -> np.ndarray:
    """Which deviations of (cases, deviations) count, at the states and constants of their cases."""
    off: np.ndarray = deviation != 0
    cases = np.nonzero(off.any(axis=1))[0]
    if len(cases):
        sizes = deviation_sizes(equations).roundings(time, states[cases], constants[cases])
        off[cases] = ~(np.abs(deviation[cases]) <= ROUNDING_NOISE * sizes) & (deviation[cases] != 0)
    cases = np.nonzero(off.any(axis=1))[0]
    if len(cases):
        limits = _negligible_in_cases(equations, states[cases], time, constants[cases])
        off[cases] &= ~(np.abs(deviation[cases]) <= limits)
    return off


def negligible(
    equations: Equations, stated: np.ndarray, used: np.ndarray, begin: float, constants: Sequence[float]
) -> np.ndarray:
    """Below this, each deviation at one state is one of rounding."""
    sizes = deviation_sizes(equations)
    rounding = np.fmax(*(sizes.rounding(begin, state.tolist(), constants) for state in (used, stated)))
    inertia = np.array(_mass_diagonal(equations)([begin, *used.tolist(), *constants]))
    own = _sizes_beside(equations, used[None], inertia[None])
    beside = sizes.natural(np.array([begin]), used[None], np.array(constants), np.insert(own, 0, 0.0, axis=1))[0]
    return np.asarray(ROUNDING_NOISE * np.fmax(rounding, beside))


def _negligible_in_cases(equations: Equations, states: np.ndarray, time: float, constants: np.ndarray) -> np.ndarray:
    """The same at the state of each case, (cases, deviations)."""
    sizes, times = deviation_sizes(equations), np.full(len(states), time)
    with np.errstate(all="ignore"):
        diagonal = _mass_diagonals(equations)([times, *states.T, *constants.T])
    inertia = np.array([np.broadcast_to(value, len(states)) for value in diagonal]).T
    own = _sizes_beside(equations, states, inertia)
    beside = sizes.natural(times, states, constants, np.insert(own, 0, 0.0, axis=1))
    return np.asarray(ROUNDING_NOISE * np.fmax(sizes.roundings(time, states, constants), beside))


def _sizes_beside(equations: Equations, states: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """The size of each component, no less than what carries the kinetic energy of all, by the diagonal of M."""
    n, own, inertia = len(equations.coordinates), np.abs(states), np.abs(inertia)
    with np.errstate(all="ignore"):
        for part in (slice(0, n), slice(n, 2 * n)):
            together = np.sqrt((inertia * states[:, part] ** 2).sum(axis=1, keepdims=True) / inertia)
            own[:, part] = np.where(np.isfinite(together), np.fmax(own[:, part], together), own[:, part])
    return own


@remembered
def _mass_diagonal(equations: Equations) -> Tape:
    zero = equations.inputs.graph.zero
    nodes = tuple(row.get(i, zero) for i, row in enumerate(equations.dynamics.mass))
    return Tape(equations.field.inputs, nodes)


@remembered
def _mass_diagonals(equations: Equations) -> Evaluator:
    """The diagonal of M in many cases at once."""
    return _mass_diagonal(equations).compiled(ARRAYS)
