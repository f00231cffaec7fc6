"""Newton's steps back onto the program where dense matrices would be too large.

    [ M  Jᵀ ] [ Δ ]   [  0 ]
    [ J  0  ] [ μ ] = [ −y ]

gives the least Δᵀ M Δ with J Δ = −y, from the entries that are there. Where constraints depend on each other, or meet
nothing that may move, least squares take its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node

MET = 1e-6  # of what was asked: the part that a step may miss where the system is solved


class SparseRows:
    """Matrices of nodes as sparse matrices of numbers, behind some single nodes."""

    def __init__(self, inputs: Sequence[Node], single: Sequence[Node], matrices: Sequence[tuple[Rows, int]]) -> None:
        self._single = len(single)
        self._places = [
            (
                np.array([i for i, row in enumerate(rows) for _ in row], dtype=np.int64),
                np.array([j for row in rows for j in row], dtype=np.int64),
                (len(rows), columns),
            )
            for rows, columns in matrices
        ]
        nodes = [node for rows, _ in matrices for row in rows for node in row.values()]
        self._tape = Tape(tuple(inputs), (*single, *nodes))

    def __call__(self, values: Sequence[float]) -> tuple[np.ndarray, list[Any]]:
        """The single values, and the matrices."""
        from scipy.sparse import csr_array

        numbers = np.array(self._tape(values))
        found, at = [], self._single
        for i, j, shape in self._places:
            found.append(csr_array((numbers[at : at + len(i)], (i, j)), shape=shape))
            at += len(i)
        return numbers[: self._single], found


def sparse_correction(mass: Any, slope: Any, deviation: np.ndarray, *, by_mass: bool) -> tuple[np.ndarray, np.ndarray]:
    """The least Δ with slope · Δ = −deviation; beside it, how far such a Δ could have moved each row."""
    from scipy.sparse import block_array, diags_array, eye_array
    from scipy.sparse.linalg import lsqr, splu

    count = mass.shape[0]
    inertia = mass.diagonal() if by_mass else np.ones(count)
    if not (inertia > 0).all():
        inertia, by_mass = np.ones(count), False
    unit = 1 / np.sqrt(inertia)  # in units in which each inertia is one
    reach = slope @ diags_array(unit)
    size = np.sqrt(np.asarray((reach * reach).sum(axis=1)).ravel())
    rows = diags_array(1 / np.where(size > 0, size, 1.0))
    scaled, wanted = (rows @ reach).tocsr(), -deviation / np.where(size > 0, size, 1.0)
    metric = diags_array(unit) @ mass @ diags_array(unit) if by_mass else eye_array(count)
    step = np.full(count, np.nan)
    try:
        factor = splu(block_array([[metric, scaled.T], [scaled, None]], format="csc"))
        step = factor.solve(np.concatenate([np.zeros(count), wanted]))[:count]
    except RuntimeError:
        pass  # exactly singular
    missed = np.abs(scaled @ step - wanted).max(initial=0.0)
    if not missed <= MET * np.abs(wanted).max(initial=0.0):
        step = lsqr(scaled, wanted, atol=1e-15, btol=1e-15, conlim=0)[0]
    return unit * step, size * np.linalg.norm(step)
