"""Which variable of a box to cut where its bound does not tell: the box is made narrower in one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.stability.verifier.numbers.forms import Array

NARROW = (1 / 4, 1 / 16, 1 / 64, 1 / 256)  # of its width is left of a variable: less where the bound stays infinite
Bounds = Callable[[Array, Array], Array]
"""Bounds over boxes from their lowest to their highest corners, each (boxes, variables)."""


def probed(bounds: Bounds, low: Array, high: Array, found: float) -> Array:
    """How much each variable adds to the bound that was found: by how far its logarithm falls when that one alone is
    narrowed; 0 where nothing helps."""
    count = len(low)
    own, middle, reach = np.arange(count), (low + high) / 2, (high - low) / 2
    for part in NARROW:
        lows, highs = np.tile(low, (count, 1)), np.tile(high, (count, 1))
        lows[own, own], highs[own, own] = middle - reach * part, middle + reach * part
        narrowed = bounds(lows, highs)
        if np.isfinite(narrowed).any():
            gained: Array = np.log(min(found, 1e300)) - np.log(np.clip(narrowed, 1e-300, 1e300))
            return np.maximum(np.where(np.isfinite(narrowed), gained, 0.0), 0.0)
    return np.zeros(count)


def middle_one(rows: Array, bounds: Array) -> int:
    """Of some cells the one whose bound is in the middle: it is looked at for all of them."""
    return int(rows[np.argsort(bounds[rows], kind="stable")[len(rows) // 2]])
