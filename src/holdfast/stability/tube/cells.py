"""Cells of a tube: pieces of time, in each a cubic that follows the run, and a half-width around it for each state.

    t ∈ [t₀, t₁],   s = (t − t₀)/(t₁ − t₀),   |xᵢ − Σ_k p_ik sᵏ| ≤ half_i

or, with speeds (8.15), |xᵢ − (1 + speedsᵢ η) Σ_k p_ik sᵏ| ≤ half_i for some s ∈ [0, 1] and |η| ≤ 1, at any time. The
numbers are doubles, taken exactly: what a proof speaks of is what a file can hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.forms.monomials import CellMonomials
from holdfast.results.trajectory import Trajectory
from holdfast.stability.proof.omega import state_sizes

Array = np.ndarray
DEGREE = 3  # of the polynomials in a file
FITTED = np.cos(np.pi * (np.arange(9) + 0.5) / 9)  # where a piece is fitted, in [−1, 1]
LOOKED_AT = np.linspace(-1, 1, 33)  # where its error is read off, beside the rows of the run
ROOM = 1.1  # times that error
LEAST_RANGE = 1e-6  # of a state's own size: the range of one that hardly moves
LEAST_OF_KIND = 1e-9  # of the size of a state's kind: the range of one that is always 0, or moves by rounding alone
PARTS = (
    2  # of the speeds of a cell, each looked at by itself: bounds of a four-bar fall by 1.7 to 2.2, at twice the work
)
ROUNDED = 2.0**-48  # of the terms of a cubic: more than what doubles lose in it


@dataclass(frozen=True, eq=False)
class Cells:
    """Pieces of a tube, one after the other in time."""

    spans: Array  # [cell, 2]
    curves: Array  # [cell, state, 4], in powers of s
    halves: Array  # [cell, state]
    speeds: Array | None = None  # [state], the same for all cells: by what part of itself a cubic may be larger or less

    def __len__(self) -> int:
        return len(self.spans)

    def chosen(self, which: Array) -> Cells:
        return Cells(self.spans[which], self.curves[which], self.halves[which], self.speeds)

    @staticmethod
    def joined(parts: list[Cells]) -> Cells:
        """All of them, in the order of time."""
        spans = np.concatenate([part.spans for part in parts])
        order = np.argsort(spans[:, 0], kind="stable")
        curves, halves = (np.concatenate([getattr(part, name) for part in parts]) for name in ("curves", "halves"))
        return Cells(spans[order], curves[order], halves[order], parts[0].speeds)

    def halved(self) -> Cells:
        """Each cut in the middle of its time, first all first halves; together they hold every state that these do."""
        middle = self.spans[:, 0] + (self.spans[:, 1] - self.spans[:, 0]) / 2
        first = np.column_stack([self.spans[:, 0], middle])
        second = np.column_stack([middle, self.spans[:, 1]])
        curves = np.concatenate([self.curves @ _FIRST_HALF, self.curves @ _SECOND_HALF])
        room = 8 * ROUNDED * np.abs(self.curves).sum(axis=-1)  # of the new cubics, and of a middle that is rounded
        slip = ROUNDED * np.abs(self.spans).max(axis=1) / np.ptp(self.spans, axis=1)
        moved = 4 * slip[:, None] * np.abs(self.curves[..., 1:]).sum(axis=-1)
        halves = self.halves + room + moved
        if self.speeds is not None:
            halves += self.speeds * (room + moved)
        return Cells(np.concatenate([first, second]), curves, np.concatenate([halves, halves]), self.speeds)

    def by_speed(self, count: int = PARTS) -> list[Cells]:
        """Parts of the cells by their speeds, which together hold every state that these do.

        1 + e η with η ∈ m ± 1/count is (1 + e m)(1 + e' η'), e' = e/(count (1 + e m)).
        """
        if self.speeds is None:
            return [self]
        found = []
        for middle in (2 * np.arange(count) + 1) / count - 1:
            by = 1 + self.speeds * middle
            room = 8 * ROUNDED * (1 + self.speeds) * np.abs(self.curves).sum(axis=-1)
            curves, speeds = self.curves * by[:, None], self.speeds / (count * by) * (1 + ROUNDED)
            found.append(Cells(self.spans, curves, self.halves + room * (self.speeds > 0), speeds))
        return found

    def inputs(self, monomials: CellMonomials, places: tuple[int, ...], timed: bool) -> Array:
        """Time and the chosen states as forms in s' = 2s − 1 and their own deviation; rounding goes to R."""
        data = np.zeros((len(self), 1 + len(places), len(monomials) + 3))
        start, end = self.spans.T
        data[:, 0, 0], sizes = (start + end) / 2, np.abs(start) + np.abs(end)
        if timed:
            data[:, 0, monomials.place[(0,)]] = (end - start) / 2
        data[:, 0, -2] = ROUNDED * sizes + (0.0 if timed else (end - start))
        centred = self.curves[:, list(places)] @ _CENTRED
        for k in range(min(DEGREE, monomials.order) + 1):
            data[:, 1:, monomials.place[(0,) * k]] = centred[..., k]
        beyond = np.abs(centred[..., monomials.order + 1 :]).sum(axis=-1)
        data[:, 1:, -2] = ROUNDED * np.abs(self.curves[:, list(places)]).sum(axis=-1) + beyond
        for i, place in enumerate(places):
            data[:, 1 + i, monomials.place[(1 + i,)]] = self.halves[:, place]
        if self.speeds is not None:
            self._add_speeds(data, monomials, places, centred)
        return data

    def _add_speeds(self, data: Array, monomials: CellMonomials, places: tuple[int, ...], centred: Array) -> None:
        """speedsᵢ η times each cubic, η the last variable; what is beyond the order of the forms goes to R."""
        assert self.speeds is not None
        speeds, most = self.speeds[list(places)], min(DEGREE, monomials.order - 1)
        for k in range(most + 1):
            data[:, 1:, monomials.place[(*[0] * k, len(places) + 2)]] = speeds * centred[..., k]
        beyond = np.abs(centred[..., most + 1 :]).sum(axis=-1)
        data[:, 1:, -2] += speeds * (beyond + 2 * ROUNDED * np.abs(self.curves[:, list(places)]).sum(axis=-1))


# Σ p_k sᵏ with s = (1 + s')/2, in powers of s'
_CENTRED = np.array([[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 4, 2 / 4, 1 / 4, 0], [1 / 8, 3 / 8, 3 / 8, 1 / 8]])
_FIRST_HALF = np.diag([1, 1 / 2, 1 / 4, 1 / 8])  # s = u/2, in powers of u
_SECOND_HALF = np.array([[1, 0, 0, 0], [1 / 2, 1 / 2, 0, 0], [1 / 4, 2 / 4, 1 / 4, 0], [1 / 8, 3 / 8, 3 / 8, 1 / 8]])
_FROM_START = np.array([[1, 0, 0, 0], [-1, 2, 0, 0], [1, -4, 4, 0], [-1, 6, -12, 8]])  # the way back


@dataclass(frozen=True, eq=False)
class Centre:
    """A run as a smooth curve: Hermite's cubics through its rows."""

    run: Trajectory
    slopes: Array  # [row, state]
    scales: Array  # [state]
    speeds: Array | None = None  # [state]

    @cached_property
    def curve(self) -> Any:
        from scipy.interpolate import CubicHermiteSpline

        return CubicHermiteSpline(self.run.times, self.run.y.T, self.slopes)

    def cells(self, spans: Array, width: float) -> Cells:
        """Cubics over pieces of time, and half-widths: those of the tube, and what a cubic misses of the run."""
        middle, half = spans.mean(axis=1), np.ptp(spans, axis=1) / 2

        def at(points: Array) -> Array:
            return np.asarray(self.curve(middle[:, None] + half[:, None] * points))

        powers = np.vander(FITTED, DEGREE + 1, increasing=True)
        centred = np.einsum("dk,ckn->cnd", np.linalg.pinv(powers), at(FITTED))
        curves = centred @ _FROM_START
        again = np.einsum("cnd,kd->ckn", curves @ _CENTRED, np.vander(LOOKED_AT, DEGREE + 1, increasing=True))
        missed = np.abs(again - at(LOOKED_AT)).max(axis=1)
        missed = np.maximum(missed, self._missed_rows(spans, curves))
        sizes = np.abs(curves).sum(axis=-1)
        halves = width * self.scales + ROOM * missed + 4 * ROUNDED * sizes
        if self.speeds is not None:  # what a cubic misses is multiplied with it
            halves += self.speeds * (ROOM * missed + 4 * ROUNDED * sizes)
        return Cells(spans, curves, halves, self.speeds)

    def _missed_rows(self, spans: Array, curves: Array) -> Array:
        """How far the rows of the run are from the cubics of their pieces."""
        missed = np.zeros((len(spans), len(self.scales)))
        first = np.searchsorted(self.run.times, spans[:, 0], side="left")
        last = np.searchsorted(self.run.times, spans[:, 1], side="right")
        for k, (a, b) in enumerate(zip(first, last, strict=True)):
            if b > a:
                s = (self.run.times[a:b] - spans[k, 0]) / (spans[k, 1] - spans[k, 0])
                found = np.vander(s, DEGREE + 1, increasing=True) @ curves[k].T
                missed[k] = np.abs(found - self.run.y[:, a:b].T).max(axis=0)
        return missed


def scales_of(run: Trajectory, positions: int, angles: frozenset[str]) -> Array:
    """The range of each state along the run, at most a turn for an angle, and not nothing for one that rests."""
    sizes = state_sizes(run, positions)
    found = []
    for name, row in zip(run.state_names, run.y, strict=True):
        span = max(float(np.ptp(row)), LEAST_RANGE * float(np.abs(row).max()), LEAST_OF_KIND * sizes[name])
        found.append(min(span, 2 * np.pi) if name in angles else span)
    return np.array(found)


def outside(cells: Cells, run: Trajectory) -> list[int]:
    """The rows of a run that are not shown to lie in the cells: by doubles with room for their errors, then exactly."""
    lost = []
    which = np.clip(np.searchsorted(cells.spans[:, 0], run.times, side="right") - 1, 0, len(cells) - 1)
    start, end = cells.spans[which].T
    with np.errstate(all="ignore"):
        s = (run.times - start) / (end - start)
        powers = np.stack([s**k for k in range(DEGREE + 1)], axis=-1)
        terms = cells.curves[which] * powers[:, None, :]
        away = np.abs(run.y.T - terms.sum(axis=-1))
        error = ROUNDED * (np.abs(terms).sum(axis=-1) + np.abs(run.y.T))
        sure = (away + error <= cells.halves[which]).all(axis=1) & (start <= run.times) & (run.times <= end)
    for k in np.flatnonzero(~sure):
        if not _inside(cells, int(which[k]), float(run.times[k]), run.y[:, k]):
            lost.append(int(k))
    return lost


def room_around(cells: Cells, run: Trajectory) -> Array:
    """Half-widths [row, state] of boxes around the rows of a run, not above, that lie in the cells; at most 0: none."""
    which = np.clip(np.searchsorted(cells.spans[:, 0], run.times, side="right") - 1, 0, len(cells) - 1)
    start, end = cells.spans[which].T
    s = (run.times - start) / (end - start)
    terms = cells.curves[which] * np.stack([s**k for k in range(DEGREE + 1)], axis=-1)[:, None, :]
    error = ROUNDED * (np.abs(terms).sum(axis=-1) + np.abs(run.y.T))
    room = cells.halves[which] * (1 - ROUNDED) - np.abs(run.y.T - terms.sum(axis=-1)) - error
    return np.asarray(room)


def _inside(cells: Cells, cell: int, moment: float, state: Array) -> bool:
    """Exactly."""
    start, end, now = (Fraction(float(x)) for x in (*cells.spans[cell], moment))
    if not start <= now <= end:
        return False
    s = (now - start) / (end - start)
    for curve, half, x in zip(cells.curves[cell], cells.halves[cell], state, strict=True):
        if not (np.isfinite(x) and np.isfinite(curve).all() and np.isfinite(half)):
            return False
        p0, p1, p2, p3 = (Fraction(float(c)) for c in curve)
        if abs(Fraction(float(x)) - (p0 + s * (p1 + s * (p2 + s * p3)))) > Fraction(float(half)):
            return False
    return True


def joined(spans: Array) -> list[tuple[float, float]]:
    """Stretches of time, those that follow each other made one."""
    found: list[tuple[float, float]] = []
    for start, end in spans.tolist():
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found
