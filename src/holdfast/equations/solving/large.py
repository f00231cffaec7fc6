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
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.sample import Sample
from holdfast.graph.linear_algebra import Rows, symmetric_order

LARGE = 150  # coordinates: below, dense matrices take no time
PLAIN = 1e-12  # of its diagonal: a least eigenvalue beyond this is far from rounding (10⁻¹⁶) and from a lost rank
TURNS = 4  # of inverse iteration: the first brings out an eigenvalue of 10⁻¹² among those of 10⁻⁷ and more
ON_PROGRAM = 1e-11  # of the size of its terms: a deviation below this is met

Numbers = list[dict[int, float]]


@dataclass(frozen=True, eq=False)
class NumberFactor:
    """P A Pᵀ = L D Lᵀ of a sparse symmetric matrix of numbers."""

    order: list[int]
    columns: list[list[tuple[int, float]]]
    pivots: list[float]

    def solve(self, right: Sequence[float]) -> list[float]:
        """A⁻¹ b."""
        x = [right[i] for i in self.order]
        for k, column in enumerate(self.columns):
            for r, low in column:
                x[r] -= low * x[k]
        x = [value / pivot for value, pivot in zip(x, self.pivots, strict=True)]
        for k in range(len(x) - 1, -1, -1):
            for r, low in self.columns[k]:
                x[k] -= low * x[r]
        result = [0.0] * len(x)
        for place, i in enumerate(self.order):
            result[i] = x[place]
        return result


def number_factor(matrix: Numbers) -> NumberFactor | None:
    """The factor of a positive definite matrix; None where a pivot is not plainly positive."""
    order = symmetric_order(matrix)  # type: ignore[arg-type]  # only the pattern is read
    place = {i: k for k, i in enumerate(order)}
    work: Numbers = [{} for _ in order]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            if place[i] >= place[j]:
                work[place[j]][place[i]] = value
    pivots, columns = list[float](), list[list[tuple[int, float]]]()
    for k, column in enumerate(work):
        pivot = column.pop(k, 0.0)
        if not pivot > PLAIN * matrix[order[k]].get(order[k], 0.0):
            return None
        rows = sorted(column)
        scaled = [(r, column[r] / pivot) for r in rows]
        for n, (r, low) in enumerate(scaled):
            for c in rows[: n + 1]:
                work[c][r] = work[c].get(r, 0.0) - low * column[c]
        pivots.append(pivot)
        columns.append(scaled)
    return NumberFactor(order, columns, pivots)


def plainly_definite(matrix: Numbers) -> bool:
    """Whether a symmetric matrix is positive definite, by far."""
    scaled = _unit_diagonal(matrix)
    if scaled is not None and all(len(row) == 1 for row in matrix):
        return True  # nothing but a diagonal that is positive
    factor = None if scaled is None else number_factor(scaled)
    return factor is not None and scaled is not None and _least_eigenvalue(scaled, factor) > PLAIN


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
        sizes = [abs(sample.values[node]) for node in moving]
        largest = max(sizes, default=0.0) or 1.0
        for off, row in zip(sample.of(nodes), rows, strict=True):
            terms = sum(abs(value) * (sizes[j] or largest) for j, value in row.items())
            if not abs(off) <= ON_PROGRAM * terms:
                return False
    return plainly_definite(_gram(slopes, [1.0] * len(inputs.q)))


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


def _least_eigenvalue(matrix: Sequence[Mapping[int, float]], factor: NumberFactor) -> float:
    """An estimate of the least eigenvalue, never below it."""
    shake = random.Random(20240611)
    z = [shake.uniform(-1, 1) for _ in matrix]
    found = math.inf
    for _ in range(TURNS):
        z = factor.solve(z)
        length = math.sqrt(math.fsum(x * x for x in z))
        if not 0 < length < math.inf:
            return 0.0
        z = [x / length for x in z]
        found = math.fsum(z[i] * value * z[j] for i, row in enumerate(matrix) for j, value in row.items())
    return found
