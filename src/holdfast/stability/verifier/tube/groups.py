"""Several cells of a tube as one: a cubic along all of them, with a box that holds theirs.

    |x − P(σ)| ≤ half + |p(s) − P(α + β s)|,      σ = α + β s         (1 + speeds times as far, where there are some)

A cubic p − P lies within its Bernstein coefficients. Rounding changes little from cell to cell and is mostly far below
what is stated, so that a group often says it of all its cells at once; a defect is often small enough for two.
"""

from __future__ import annotations

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array
from holdfast.stability.verifier.tube.cells import DEGREE, TubeCells

GROUP = 8  # cells
PLACES = np.linspace(0, 1, 7)  # of each cell, through which the cubic of a group is laid
BERNSTEIN = np.array([[1, 0, 0, 0], [1, 1 / 3, 0, 0], [1, 2 / 3, 1 / 3, 0], [1, 1, 1, 1]])  # of powers 0 to 3


def groups(count: int, size: int = GROUP) -> list[Array]:
    """The places of all cells, so many together as follow each other."""
    return [np.arange(first, min(first + size, count)) for first in range(0, count, size)]


def grouped(cells: TubeCells) -> TubeCells:
    """Whole cells that follow each other, as one."""
    begin, end = cells.spans[0, 0], cells.spans[-1, 1]
    length = end - begin
    alpha, beta = (cells.spans[:, 0] - begin) / length, (cells.spans[:, 1] - cells.spans[:, 0]) / length
    places = (alpha[:, None] + beta[:, None] * PLACES).ravel()
    powers = np.vander(PLACES, DEGREE + 1, increasing=True)
    states = np.einsum("cik,pk->cpi", cells.curves, powers).reshape(-1, cells.curves.shape[1])
    curve = np.linalg.lstsq(np.vander(places, DEGREE + 1, increasing=True), states, rcond=None)[0].T
    apart, lost = _apart(cells, curve, alpha, beta)
    most = 1.0 if cells.speeds is None else 1 + cells.speeds
    halves = ((cells.halves + most * (apart + lost)).max(axis=0) * GROWTH)[None]
    return TubeCells.whole(cells.names, np.array([[begin, end]]), curve[None], halves, cells.speeds)


def _apart(cells: TubeCells, curve: Array, alpha: Array, beta: Array) -> tuple[Array, Array]:
    """How far the cubic of each cell is from that of all, and what doubles lose in finding it: (cells, states)."""
    a, b = alpha[:, None], beta[:, None]
    p0, p1, p2, p3 = curve.T
    within = np.stack(
        [
            p0 + a * (p1 + a * (p2 + a * p3)),
            b * (p1 + a * (2 * p2 + 3 * a * p3)),
            b**2 * (p2 + 3 * a * p3),
            b**3 * p3 * np.ones_like(a),
        ],
        axis=2,
    )
    apart = np.abs(np.einsum("bk,cik->cib", BERNSTEIN, cells.curves - within)).max(axis=2)
    lost = 256 * UNIT * (np.abs(cells.curves).sum(axis=2) + np.abs(curve).sum(axis=1))  # a few dozen operations, and
    return apart, lost  # σ itself: a part of 1, wrong by a few units, times slopes of the size of the coefficients
