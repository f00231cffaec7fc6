"""Outlines of a region given by the sign of a function on a grid: marching squares, joined into closed paths."""

from __future__ import annotations

import numpy as np

Edge = tuple[int, int, int]  # row, column, and 0 for an edge along x, 1 along y
NOWHERE = -1e9  # outside the grid the function is negative: outlines close along its border


def outlines(x: np.ndarray, y: np.ndarray, values: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Closed paths round where values > 0, values[j, i] being at (x[i], y[j])."""
    wide = np.pad(np.clip(values, -1.0, 1.0), 1, constant_values=-1.0)
    at_x, at_y = np.concatenate([x[:1], x, x[-1:]]), np.concatenate([y[:1], y, y[-1:]])
    following = _segments(wide > 0)
    found = []
    while following:
        first = next(iter(following))
        path, here = [first], following.pop(first)
        while here != first and here in following:
            path.append(here)
            here = following.pop(here)
        points = np.array([_point(edge, at_x, at_y, wide) for edge in (*path, first)])
        found.append((points[:, 0], points[:, 1]))
    return found


def _segments(inside: np.ndarray) -> dict[Edge, Edge]:
    """Through each square of the grid, from edge to edge, with the inside on the left."""
    found: dict[Edge, Edge] = {}
    a, b, c, d = inside[:-1, :-1], inside[:-1, 1:], inside[1:, 1:], inside[1:, :-1]  # round the square
    mixed = ~((a == b) & (b == c) & (c == d))
    for j, i in zip(*np.nonzero(mixed), strict=True):
        corners = (bool(a[j, i]), bool(b[j, i]), bool(c[j, i]), bool(d[j, i]))
        edges: tuple[Edge, ...] = ((j, i, 0), (j, i + 1, 1), (j + 1, i, 0), (j, i, 1))
        enters = [k for k in range(4) if corners[k] and not corners[(k + 1) % 4]]  # going round: from inside to outside
        leaves = [k for k in range(4) if not corners[k] and corners[(k + 1) % 4]]
        for k in enters:
            other = min(leaves, key=lambda m: (m - k) % 4)
            found[edges[k]] = edges[other]
    return found


def _point(edge: Edge, x: np.ndarray, y: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Where the function is 0 on an edge, by its values at the ends."""
    j, i, along = edge
    other = (j, i + 1) if along == 0 else (j + 1, i)
    low, high = float(values[j, i]), float(values[other])
    share = low / (low - high) if low != high else 0.5
    return float(x[i] + share * (x[other[1]] - x[i])), float(y[j] + share * (y[other[0]] - y[j]))
