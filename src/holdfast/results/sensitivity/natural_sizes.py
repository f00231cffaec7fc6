"""The size of each component of a state, free of units: its own, or, where it is a residue of rounding, a part of what
carries the same kinetic energy as the others.
"""

from __future__ import annotations

import numpy as np

from holdfast.results.runs.request import RESIDUE, SMALL_PART

Array = np.ndarray


def natural_sizes(states: Array, inertia: Array) -> Array:
    """Sizes of (..., states) with the diagonal `inertia` of M for coordinates, and for rates."""
    sizes, n = np.abs(states), len(inertia)
    with np.errstate(all="ignore"):
        for part in (slice(0, n), slice(n, 2 * n)):
            own = sizes[..., part]
            beside = np.sqrt((np.abs(inertia) * own**2).sum(axis=-1, keepdims=True) / np.abs(inertia))
            beside = np.where(np.isfinite(beside), beside, 0.0)
            sizes[..., part] = np.where(own < RESIDUE * beside, SMALL_PART * beside, own)
    return sizes
