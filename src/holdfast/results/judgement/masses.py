"""The mass matrix at one state: whether it is that of a kinetic energy, and the inertia of each coordinate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.tape import Tape
from holdfast.results.judgement.finding import Finding

NEGATIVE = 1e-9  # of the largest eigenvalue of the mass matrix: below minus this, the kinetic energy is not positive


def negative_mass(mass: np.ndarray, time: float) -> Finding | None:
    """Whether a mass matrix has a negative eigenvalue, in units in which its diagonal is one."""
    if not np.isfinite(mass).all() or not mass.size:
        return None
    diagonal = np.diag(mass)
    size = np.sqrt(np.where(diagonal != 0, np.abs(diagonal), 1.0))
    scaled = mass / size / size[:, None]
    try:
        np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        if np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] < -NEGATIVE * len(mass):
            text = "The kinetic energy is not positive: the mass matrix has the eigenvalue"
            value = float(np.linalg.eigvalsh((mass + mass.T) / 2)[0])
            signs = "at the start. Look at the signs of the masses."
            return Finding("indefinite", f"{text} {value:.3g} {signs}", True, time, "kinetic")
    return None


def inertia_at(equations: Equations, time: float, state: Sequence[float], constants: Sequence[float]) -> np.ndarray:
    """The diagonal of the mass matrix at one state."""
    rows = sparse_mass(equations, time, state, constants)
    return np.array([row.get(i, 0.0) for i, row in enumerate(rows)])


def sparse_mass(
    equations: Equations, time: float, state: Sequence[float], constants: Sequence[float]
) -> list[dict[int, float]]:
    """The mass matrix at one state as rows of what does not vanish."""
    tape, (rows, columns) = _mass_tape(equations)
    found: list[dict[int, float]] = [{} for _ in equations.dynamics.mass]
    values = tape([time, *state, *constants])
    for i, j, value in zip(rows.tolist(), columns.tolist(), values, strict=True):
        found[i][j] = value
    return found


def mass_at(equations: Equations, time: float, state: Sequence[float], constants: Sequence[float]) -> np.ndarray:
    """The mass matrix at one state."""
    (tape, where), size = _mass_tape(equations), len(equations.dynamics.mass)
    mass = np.zeros((size, size))
    mass[where] = tape([time, *state, *constants])
    return mass


@remembered
def _mass_tape(equations: Equations) -> tuple[Tape, tuple[np.ndarray, ...]]:
    """What does not vanish of the mass matrix, and where it stands."""
    rows = equations.dynamics.mass
    places = [(i, j) for i, row in enumerate(rows) for j in row]
    nodes = tuple(node for row in rows for node in row.values())
    return Tape(equations.field.inputs, nodes), tuple(np.array(places, dtype=int).reshape(-1, 2).T)
