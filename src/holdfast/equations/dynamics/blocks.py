"""Decoupled blocks of a matrix: sets of components that do not influence each other."""

from __future__ import annotations

import numpy as np


def decoupled_blocks(matrix: np.ndarray) -> list[list[int]]:
    """The connected components of a square matrix, each in increasing order, in the order of their first member."""
    linked = (matrix != 0) | (matrix.T != 0)
    waiting, blocks = set(range(len(matrix))), []
    while waiting:
        front = [min(waiting)]
        block = set(front)
        while front:
            fresh = set(np.nonzero(linked[front.pop()])[0].tolist()) - block
            block |= fresh
            front.extend(fresh)
        waiting -= block
        blocks.append(sorted(block))
    return sorted(blocks)
