"""Cells: boxes cut down to a region, in coordinates along and across the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.graph.arithmetic import ball, balls
from holdfast.graph.derivatives import jacobian
from holdfast.graph.evaluate import Evaluator, Tape
from holdfast.stability.block import Motion
from holdfast.stability.enclosure import Ball, Box, ball_between, ball_matrix, column, entries, matrix

ROUNDS = 12  # of cutting a box down, as long as it shrinks


@dataclass(frozen=True, eq=False)
class Cell:
    """A box cut down to the region, and the same set in coordinates along and across the program.

    x = centre + basis · offset
    """

    box: list[Ball]
    centre: list[Ball]
    basis: Any
    inverse: Any
    offset: list[Ball]
    along: int  # how many of the offsets lie along the program

    @property
    def thick(self) -> bool:
        """Whether the cell is as wide across the program as it is long, more or less."""
        sizes = [float(u.rad()) for u in self.offset]
        return max(sizes[self.along :], default=0.0) > 0.1 * max(sizes[: self.along], default=0.0)

    @property
    def wide(self) -> list[int]:
        """The offsets that are not small beside the largest: those along the program, and others in a thick tube."""
        sizes = [float(u.rad()) for u in self.offset]
        small = (1e-3 if self.along == 1 else 0.05) * max(sizes, default=0.0)  # measured: what is worth a tangent each
        return [k for k, size in enumerate(sizes) if k < self.along or size > small]


class Cutter:
    """Cuts boxes of the variables of a motion down to what lies within limits of its deviations."""

    def __init__(self, motion: Motion) -> None:
        self.motion = motion

    def _tape(self, nodes: Sequence[Any]) -> Tape:
        return Tape((self.motion.time, *self.motion.state), tuple(nodes))

    @cached_property
    def _bounds(self) -> tuple[Evaluator, Evaluator, list[list[int]]]:
        """All deviations and their partials by the variables, in balls."""
        motion = self.motion
        nodes = (*motion.psi, *motion.others, *motion.extras)
        rows = jacobian(nodes, motion.variables)
        slopes = self._tape([node for row in rows for node in row.values()])
        return self._tape(nodes).compiled(balls()), slopes.compiled(balls()), [list(row) for row in rows]

    def full(self, box: Sequence[Ball]) -> list[Ball]:
        """Time and state from a box of the variables; a time on which nothing depends is 0."""
        return list(box) if self.motion.timed else [ball(0), *box]

    def cell(self, box: Box, limits: Sequence[Ball]) -> Cell | None:
        """The part of a box where deviations and extras lie within their limits; None where there is none.

        ψ(x) = ψ(c) + ψ'(X)(x − c)     row by row, solved for one variable after the other
        """
        balls_of = [ball_between(low, high) for low, high in box]
        if self.motion.affine:
            return self._affine_cell(balls_of)
        value, slopes, places = self._bounds
        for _ in range(ROUNDS):
            centre = [x.mid() for x in balls_of]
            at_centre = value(self.full(centre))
            flat = iter(slopes(self.full(balls_of)))
            rows = [{j: next(flat) for j in row} for row in places]
            offset = [x - c for x, c in zip(balls_of, centre, strict=True)]
            cut = _contracted(rows, at_centre, limits, offset)
            if cut is None:
                return None
            balls_of = [c + u for c, u in zip(centre, cut, strict=True)]
            if all(u.rad() > 0.8 * old.rad() for u, old in zip(cut, offset, strict=True)):
                break
        return self._along_and_across(balls_of, limits[: len(limits) - len(self.motion.extras)])

    def _affine_cell(self, box: list[Ball]) -> Cell:
        """A stretch of time: the reduced state is on the program."""
        return plain_cell(box)

    def _along_and_across(self, box: list[Ball], limits: Sequence[Ball]) -> Cell:
        """Coordinates in which the region is thin across the program: u_N = G_N⁻¹(ψ − ψ(c) − G_T u_T)."""
        value, slopes, places = self._bounds
        centre = [x.mid() for x in box]
        at_centre = value(self.full(centre))[: len(limits)]
        flat = iter(slopes(self.full(box)))
        size, rank = len(box), len(limits)
        slope = [[ball(0)] * size for _ in limits]
        for i, row in enumerate(places[:rank]):
            for j in row:
                slope[i][j] = next(flat)
        middle = np.array([[float(x.mid()) for x in row] for row in slope])
        offset = [x - c for x, c in zip(box, centre, strict=True)]
        if rank >= size or not np.isfinite(middle).all():
            return plain_cell(box)
        _, _, vt = np.linalg.svd(middle)
        basis = ball_matrix(np.vstack([vt[rank:], vt[:rank]]).T)
        inverse = basis.inv()
        turned = entries(inverse * column(offset))
        along = turned[: size - rank]
        try:
            carried = matrix(slope) * basis
            across = matrix([[carried[i, size - rank + k] for k in range(rank)] for i in range(rank)])
            tilt = matrix([[carried[i, k] for k in range(size - rank)] for i in range(rank)])
            lacking = [limit - at for limit, at in zip(limits, at_centre, strict=True)]
            right = column(lacking) - tilt * column(along)
            thin = entries(across.solve(right))
            turned = along + [common(a, b) for a, b in zip(turned[size - rank :], thin, strict=True)]
        except ZeroDivisionError:
            pass
        return Cell(box, centre, basis, inverse, turned, size - rank)


def plain_cell(box: list[Ball]) -> Cell:
    """A box as a cell in its own coordinates."""
    centre = [x.mid() for x in box]
    identity = ball_matrix(np.eye(len(box)))
    return Cell(box, centre, identity, identity, [x - c for x, c in zip(box, centre, strict=True)], len(box))


def _contracted(
    rows: list[dict[int, Ball]], at_centre: list[Ball], limits: Sequence[Ball], offset: list[Ball]
) -> list[Ball] | None:
    """Offsets that can satisfy Σ slope·offset ∈ limit − value at the centre, or None."""
    cut = list(offset)
    for row, value, limit in zip(rows, at_centre, limits, strict=True):
        terms = {j: slope * cut[j] for j, slope in row.items()}
        total = sum(terms.values(), ball(0))
        wanted = limit - value
        if total.is_finite() and not total.overlaps(wanted):
            return None
        for j, slope in row.items():
            if not slope.is_finite() or slope.contains(0) or cut[j].is_zero():
                continue
            rest = sum((term for k, term in terms.items() if k != j), ball(0))
            allowed = (wanted - rest) / slope
            if not allowed.is_finite():
                continue
            if not allowed.overlaps(cut[j]):
                return None
            cut[j] = common(cut[j], allowed)
            terms[j] = slope * cut[j]
    return cut


def common(a: Ball, b: Ball) -> Ball:
    """The intersection of two balls that are known to overlap; the smaller one if rounding says otherwise."""
    try:
        return a.intersection(b)
    except ValueError:
        return a if a.rad() < b.rad() else b
