"""One step of Newton's iteration onto constraints by the least change, with its derivative.

M Δ + Jᵀ λ = 0,   J Δ = −y      ⇒      M δΔ + Jᵀ δλ = −δM Δ − δJᵀ λ,   J δΔ = −δy − δJ Δ
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
DEPENDENT = 1e-12  # of the largest: a singular value of scaled rows below this is none


def least_change(
    y: Array, rows: Array, mass: Array, changes: Array, row_changes: Array, mass_changes: Array, by_mass: bool
) -> tuple[Array, Array]:
    """One step Δ of the iteration, and its derivative by direction (directions, free)."""
    root = np.eye(len(mass))
    if by_mass:
        try:
            root = np.linalg.inv(np.linalg.cholesky(mass)).T  # M⁻¹ = root rootᵀ
        except np.linalg.LinAlgError:
            mass_changes = np.zeros_like(mass_changes)
    else:
        mass_changes = np.zeros_like(mass_changes)
    reach = rows @ root
    size = np.linalg.norm(reach, axis=1)
    size = np.where(size > 0, size, 1.0)
    inverse = np.linalg.pinv(reach / size[:, None], rcond=DEPENDENT) / size
    short = -inverse @ y
    step, forces = root @ short, -inverse.T @ short
    found = np.empty((len(changes), len(mass)))
    for j, change in enumerate(changes):
        pull = -mass_changes[j] @ step - row_changes[j].T @ forces
        along = root.T @ pull
        found[j] = root @ (along - inverse @ (reach @ along) - inverse @ (change + row_changes[j] @ step))
    return step, found
