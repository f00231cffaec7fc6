"""The first look at many runs, made on arrays: which of them have to be judged one by one."""

from __future__ import annotations

import numpy as np

from holdfast.equations.dynamics.blocks import decoupled_blocks
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.results.judgement.energy import energy_places, undriven
from holdfast.results.judgement.judgement import DOUBTFUL, FEW, PUMPED, deviation_places, moving_sizes
from holdfast.results.judgement.passages import Strength, weak_or_flipped
from holdfast.results.judgement.quaternions import turns_doubtful
from holdfast.results.start.term_sizes import deviation_sizes

LOOKED_AT = 200  # rows of each case
BLOCK = 2**18  # rows looked at together
ENTRIES = 2**22  # of masses looked at together
CLOSE = 0.1  # of the usual strength: twice what `passages` takes for near
STEEP = 1.5  # times what a strength that falls to 0 and rises again between two rows has fallen beside them


def doubtful_cases(
    equations: Equations, times: np.ndarray, states: np.ndarray, observed: np.ndarray, constants: np.ndarray
) -> np.ndarray:
    """Which of many runs, (cases, rows, ...), have to be looked at one by one: the first look, made on arrays."""
    with np.errstate(all="ignore"):
        found = ~np.isfinite(observed.sum(axis=(1, 2)))
        found |= _doubtful_energies(equations, times, observed)
        found |= _doubtful_masses(equations, float(times[0]), states[:, 0], constants)
        found |= turns_doubtful(equations, states)
        found |= near_singular(equations, times, states, constants)
        places = deviation_places(equations)
        if not places:
            return found
        worst, count = np.abs(observed[:, :, places]).max(axis=1), len(times)
        sizes, few = deviation_sizes(equations), slice(None, None, max(1, count // FEW))
        reach = moving_sizes(equations, times, states[:, few])
        chosen = (0, count // 2, count - 1)
        usual = {
            k: sizes.natural(
                np.full(len(states), times[k]), states[:, k], constants, _at(equations, reach, states[:, k])
            )
            for k in {*chosen}
        }
        three = [usual[k] for k in chosen]
        return found | ~((worst <= DOUBTFUL * np.median(three, axis=0)) | (worst == 0)).all(axis=1)


def near_singular(equations: Equations, times: np.ndarray, states: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Which of many runs, (cases, rows, states), come near a state at which their constraints depend on each other.

    By the least singular value that counts: one that is small beside the usual one, or that falls towards a row and
    rises behind it as |t − t₀| does about a zero between them; or by the orientation of J, which changes at a passage.
    What is asked is a look by itself, not an outcome.
    """
    found = np.zeros(len(states), dtype=bool)
    n, r = len(equations.coordinates), len(equations.constraints)
    rank, least = Strength(equations, []).rank, 1 if equations.solver.form == "redundant" else 2
    if r < least or not 0 < rank < n or equations.solver.form == "eased" or len(times) < 4:
        return found
    chosen = np.unique(np.linspace(0, len(times) - 1, min(len(times), LOOKED_AT)).astype(int))
    block = max(1, BLOCK // len(chosen))
    for first in range(0, len(states), block):
        some = slice(first, first + block)
        for sizes, flipped in weak_or_flipped(equations, times[chosen], states[some][:, chosen], constants[some]):
            found[some] |= _weak(sizes) | flipped
    return found


def _weak(sizes: np.ndarray) -> np.ndarray:
    """Which rows of strengths, (cases, rows), fall near 0, or about a zero between two of them; nan is near."""
    with np.errstate(all="ignore"):
        falls = np.abs(np.diff(sizes, axis=1))
        beside = np.maximum(falls[:, :-2], falls[:, 2:])  # of the row before, and of the row behind
        near = ~(sizes.min(axis=1) >= CLOSE * np.median(sizes, axis=1))
        return np.asarray(near | (sizes[:, 1:-2] + sizes[:, 2:-1] <= STEEP * beside).any(axis=1))


def _at(equations: Equations, reach: np.ndarray, states: np.ndarray) -> np.ndarray:
    """The sizes of time and states of each case at one row."""
    n, sizes = len(equations.coordinates), reach.copy()
    sizes[:, 1 + n : 1 + 2 * n] = np.fmax(sizes[:, 1 + n : 1 + 2 * n], np.abs(states[:, n : 2 * n]))
    return sizes


def _doubtful_energies(equations: Equations, times: np.ndarray, observed: np.ndarray) -> np.ndarray:
    kinetic, energy = (observed[:, :, place] for place in energy_places(equations))
    moving = np.maximum(np.abs(kinetic).max(axis=1), np.ptp(energy, axis=1))
    found = np.zeros(len(observed), dtype=bool)
    if undriven(equations):
        found |= np.abs(energy - energy[:, :1]).max(axis=1) > PUMPED * moving
    if equations.constraints and not equations.problem.program.controls:
        power = np.abs(observed[:, :, list(equations.observables).index("power_correction")])
        found |= ((power[:, 1:] + power[:, :-1]) / 2 * np.diff(times)).sum(axis=1) > PUMPED * moving
    return found


def _doubtful_masses(equations: Equations, time: float, states: np.ndarray, constants: np.ndarray) -> np.ndarray:
    """Cases whose mass matrix is not positive definite; which is no fault where masses are missing."""
    rows, n = equations.dynamics.mass, len(equations.coordinates)
    nodes = tuple(node for row in rows for node in row.values())
    evaluate = Tape(equations.field.inputs, nodes).compiled(ARRAYS)
    places = [(i, j) for i, row in enumerate(rows) for j in row]
    found, pattern = np.zeros(len(states), dtype=bool), np.zeros((n, n), dtype=bool)
    for place in places:
        pattern[place] = True
    blocks, together = decoupled_blocks(pattern), max(1, ENTRIES // max(1, len(nodes)))  # blocks mostly of one
    for first in range(0, len(states), together):
        some = slice(first, first + together)
        values = evaluate([time, *states[some].T, *constants[some].T])
        for block in blocks:
            mass = np.zeros((len(states[some]), len(block), len(block)))
            for (i, j), value in zip(places, values, strict=True):
                if i in block:
                    mass[:, block.index(i), block.index(j)] = value
            found[some] |= _not_positive(mass)
    return found


def _not_positive(tables: np.ndarray) -> np.ndarray:
    """Which of many symmetric matrices are not positive definite, or no numbers."""
    if tables.shape[1] == 1:
        return ~((tables[:, 0, 0] > 0) & np.isfinite(tables[:, 0, 0]))
    found = ~np.isfinite(tables).all(axis=(1, 2))
    numbers = tables[~found]
    try:
        np.linalg.cholesky(numbers)
    except np.linalg.LinAlgError:
        diagonal = np.abs(np.diagonal(numbers, axis1=1, axis2=2))
        size = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))  # in units in which it is one: as `negative_mass` looks
        found[~found] = np.linalg.eigvalsh(numbers / size[:, :, None] / size[:, None, :])[:, 0] <= 0
    return found
