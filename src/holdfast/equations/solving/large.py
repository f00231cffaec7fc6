"""Looks at large sparse systems that cost no more than their entries: what they call plain is so, the rest stays open.

A chain of ten thousand links has matrices of 20 000 rows, of which a few entries each are not zero. Whether masses are
definite, constraints independent and the whole system regular is seen from LDLᵀ in numbers and from the least
eigenvalue, by inverse iteration:

    z ← A⁻¹ z / ‖A⁻¹ z‖,     λ = zᵀ A z ≥ λ_min,   and soon hardly larger

in units in which the diagonal is one. A system is called plain only with a wide margin; whatever is not plain is looked
at as small systems are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.sample import Sample
from holdfast.graph.linear_algebra import Rows

LARGE = 150  # coordinates: below, dense matrices take no time
PLAIN = 1e-12  # of its diagonal: a least eigenvalue beyond this is far from rounding (10⁻¹⁶) and from a lost rank
TURNS = 4  # of inverse iteration: the first brings out an eigenvalue of 10⁻¹² among those of 10⁻⁷ and more
DAMPED = 0.1  # of the diagonal, added to it at first
STEPS = 40  # of Newton's iteration onto the program, at most
ON_PROGRAM = 1e-11  # of the size of its terms: a deviation below this is met

Numbers = list[dict[int, float]]


@dataclass(frozen=True, eq=False)
class NumberFactor:
    """P A Pᵀ = L D Lᵀ of a sparse symmetric matrix of numbers."""

    matrix: Any  # of SciPy
    factor: Any

    def solve(self, right: Sequence[float] | np.ndarray) -> np.ndarray:
        """A⁻¹ b."""
        return np.asarray(self.factor.solve(np.asarray(right, dtype=float)))


def number_factor(matrix: Numbers) -> NumberFactor | None:
    """The factor of a positive definite matrix; None where a pivot is not plainly positive."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    counts = [len(row) for row in matrix]
    columns = np.fromiter((j for row in matrix for j in row), dtype=np.int32, count=sum(counts))
    values = np.fromiter((value for row in matrix for value in row.values()), dtype=float, count=sum(counts))
    rows = np.repeat(np.arange(len(matrix)), counts)
    sparse = csc_array((values, (rows, columns)), shape=(len(matrix),) * 2)
    diagonal = sparse.diagonal()
    if not (np.isfinite(values).all() and (diagonal > 0).all()):
        return None
    try:
        found = splu(sparse, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:  # exactly singular
        return None
    if not np.array_equal(found.perm_r, found.perm_c):  # a pivot beside the diagonal: there is a 0 on it
        return None
    plain = found.U.diagonal()[found.perm_c] > PLAIN * diagonal
    return NumberFactor(sparse, found) if plain.all() else None


def plainly_definite(matrix: Numbers) -> bool:
    """Whether a symmetric matrix is positive definite, by far."""
    scaled = _unit_diagonal(matrix)
    if scaled is not None and all(len(row) == 1 for row in matrix):
        return True  # nothing but a diagonal that is positive
    factor = None if scaled is None else number_factor(scaled)
    return factor is not None and _least_eigenvalue(factor) > PLAIN


def plainly_regular(sample: Sample, mass: Rows, jacobian: Rows, holders: Rows) -> bool:
    """Whether accelerations and reactions are determined at a sample: M and J M⁻¹Jᵀ definite by far, and E = Jᵀ."""
    masses, slopes, pushes = (sample.rows(part) for part in (mass, jacobian, holders))
    if not all(math.isfinite(value) for part in (masses, slopes, pushes) for row in part for value in row.values()):
        return False
    back: Numbers = [{} for _ in pushes]
    for k, row in enumerate(slopes):
        for j, value in row.items():
            back[j][k] = value
    if back != pushes or not plainly_definite(masses):
        return False
    inertia = [row[i] for i, row in enumerate(masses)]  # by its diagonal: M lies between multiples of it
    return plainly_definite(_gram(slopes, inertia))


def plainly_independent(sample: Sample, inputs: Inputs, deviations: Deviations) -> bool:
    """Whether a sample lies on the program and its constraints are independent there, by far."""
    slopes = sample.rows(deviations.jacobian)
    held = ((deviations.y, slopes[: len(deviations.y)], inputs.q), (deviations.w, slopes, inputs.v))
    for nodes, rows, moving in held:
        if not _furthest(sample.of(nodes), rows, [sample.values[node] for node in moving]) <= ON_PROGRAM:
            return False
    return plainly_definite(_gram(slopes, [1.0] * len(inputs.q)))


def plainly_moved(sample: Sample, inputs: Inputs, deviations: Deviations) -> Sample | None:
    """The sample moved onto the program, positions and then rates, by steps of least change, damped at first; none
    where they do not lead there plainly.
    """
    for zeros, moving in ((deviations.y, inputs.q), (deviations.w, inputs.v)):
        slopes = deviations.jacobian[: len(zeros)]
        best = math.inf
        for step in range(STEPS):
            off, rows = sample.of(zeros), sample.rows(slopes)
            worst = _furthest(off, rows, [sample.values[node] for node in moving])
            if worst <= ON_PROGRAM and not worst < best / 2:  # as near as it goes: beside it, what repeats looks apart
                break
            best = worst
            gram = _unit_diagonal(_gram(rows, [1.0] * len(moving)))
            for k, row in enumerate(gram or ()):
                row[k] += DAMPED / 4**step  # far from the program slopes are nearly dependent by chance
            factor = None if gram is None else number_factor(gram)
            if factor is None or not worst < math.inf:
                return None
            size = [math.sqrt(sum(value * value for value in row.values())) for row in rows]
            pull = factor.solve([-value / own for value, own in zip(off, size, strict=True)])
            change = np.zeros(len(moving))
            for row, by, own in zip(rows, pull.tolist(), size, strict=True):
                for j, value in row.items():
                    change[j] += value * by / own
            moved = {node: sample.values[node] + d for node, d in zip(moving, change.tolist(), strict=True)}
            sample = Sample({**sample.values, **moved}, sample.seed)
        else:
            return None
    return sample


def _furthest(off: Sequence[float], rows: Numbers, moving: Sequence[float]) -> float:
    """The largest deviation beside the terms that make it; infinite where one is not defined."""
    sizes = [abs(value) for value in moving]
    largest, found = max(sizes, default=0.0) or 1.0, 0.0
    for deviation, row in zip(off, rows, strict=True):
        terms = sum(abs(value) * (sizes[j] or largest) for j, value in row.items())
        share = abs(deviation) / terms if terms else math.inf if deviation else 0.0
        found = share if share > found else found if share == share else math.inf
    return found


def _gram(rows: Numbers, inertia: Sequence[float]) -> Numbers:
    """J W⁻¹ Jᵀ for a diagonal W."""
    columns: dict[int, list[tuple[int, float]]] = {}
    for i, row in enumerate(rows):
        for j, value in row.items():
            columns.setdefault(j, []).append((i, value))
    found: Numbers = [{} for _ in rows]
    for j, entries in columns.items():
        for i, a in entries:
            into = found[i]
            for k, b in entries:
                into[k] = into.get(k, 0.0) + a * b / inertia[j]
    return found


def _unit_diagonal(matrix: Numbers) -> Numbers | None:
    """The matrix in units in which its diagonal is one; None where an entry of that is not positive."""
    diagonal = [row.get(i, 0.0) for i, row in enumerate(matrix)]
    if not all(value > 0 and math.isfinite(value) for value in diagonal):
        return None
    size = [math.sqrt(value) for value in diagonal]
    return [{j: value / size[i] / size[j] for j, value in row.items()} for i, row in enumerate(matrix)]


def _least_eigenvalue(factor: NumberFactor) -> float:
    """An estimate of the least eigenvalue, never below it."""
    z, found = np.random.default_rng(20240611).uniform(-1, 1, factor.matrix.shape[0]), math.inf
    for _ in range(TURNS):
        z = factor.solve(z)
        length = float(np.linalg.norm(z))
        if not 0 < length < math.inf:
            return 0.0
        z = z / length
        found = float(z @ (factor.matrix @ z))
    return found
