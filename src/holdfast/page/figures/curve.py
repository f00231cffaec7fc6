"""Curves made ready for drawing: thinned without losing a peak, and shared out among panels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

POINTS = 700  # of a curve, at most: about two for each unit of the drawing


def thinned(times: np.ndarray, values: np.ndarray, most: int = POINTS) -> tuple[np.ndarray, np.ndarray]:
    """A curve with at most about `most` points that keeps each stretch's smallest and largest value, and both ends."""
    if len(times) <= most:
        return times, values
    length = -(-2 * len(times) // most)  # rows of a stretch
    padded = np.resize(np.where(np.isfinite(values), values, 0.0), (-(-len(times) // length), length))
    padded[-1, len(times) - (len(padded) - 1) * length :] = padded[-1, 0]  # the last stretch may be shorter
    starts = np.arange(len(padded)) * length
    rows = np.unique([0, *(starts + padded.argmin(axis=1)), *(starts + padded.argmax(axis=1)), len(times) - 1])
    return times[rows], values[rows]


def even_groups(names: Sequence[str], most: int) -> list[list[str]]:
    """Names in as few groups of at most `most` as there need be, and as equal as they can be: 4 are 2 and 2."""
    count = -(-len(names) // most)
    edges = [-(-len(names) * k // count) for k in range(count + 1)] if count else [0]
    return [list(names[a:b]) for a, b in pairwise(edges)]
