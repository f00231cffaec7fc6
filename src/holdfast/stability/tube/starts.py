"""Starts that stay in a tube: how far another start may be from this one, so that its whole run is proved to stay.

    x_k ∈ P_k(e) + S_k d,      |e_i| ≤ 1,  |d_i| ≤ 1

holds every run that starts in P_0(e) = x_0 + diag(distances) e. P_k is a polynomial of second order in where the run
started; S_k a small box, turned as the flow turns, for all that P_k does not say. One step of the form over both,

    Φ(P_k(e) + S_k d) ∈ P_{k+1}(e) + C_k d + r_k,      |r_k| ≤ R_k + rounding of the run,

gives the next polynomial as it stands; S_{k+1} = Q diag(b), with Q orthogonal along C_k, holds the rest (Lohner 1987;
Makino and Berz 2003). If all of it lies in the tube at every row, no run that starts in P_0 ever leaves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.engine.forms.kernel import LANES
from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.rounding import clock_error
from holdfast.stability.tube.cells import Array
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.rounding.tape import RoundingTape

TINY = 1e-6  # of the half-widths: a start that shows the linear reach, and little else
MOST_MONOMIALS = 300  # of forms of second order; beyond, the reach of starts is followed to first order
FIRST = np.geomspace(1, 1 / 128, LANES)  # of the linear reach: the sizes of the start that are tried at once
ROUNDED = 1e-11  # of sums of products of up to 200 doubles, beside their terms
ORTHOGONAL = 1e-9  # how far from 1 the product of a frame and its transpose may be
LEAST = 1e-30  # of the half-widths: a side of a box, so that none is nothing


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The states of a row, one lane for each size of the start: P by its coefficients, and S."""

    polynomials: Array  # [lane, state, monomial], those of d left 0
    sides: Array  # [lane, state, state]

    def reach(self, row: Array) -> Array:
        """How far from a row the states can be, at most [lane, state]."""
        away = np.abs(self.polynomials[..., 0] - row)
        spread = np.abs(self.polynomials[..., 1:]).sum(axis=-1) + np.abs(self.sides).sum(axis=-1)
        return np.asarray((away + spread) * (1 + ROUNDED) + 2.0**-52 * np.abs(row))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A run and the half-widths of boxes around its rows that lie in a tube; `flow` is that of all states."""

    flow: TubeFlow
    scheme: RungeKutta
    step: float
    run: Trajectory
    room: Array  # [row, state]

    @property
    def widths(self) -> Array:
        """The least half-width of each state, which starts are measured by."""
        return np.asarray(self.room.min(axis=0))

    def largest_start(self) -> float:
        """The largest part of the half-widths, among a few, from which no run leaves the tube; 0 for none."""
        furthest = self._furthest()
        if not (np.isfinite(furthest) and furthest > 0):
            return 0.0
        first = min(1 / furthest, 1.0) * FIRST
        best = self._largest(first)
        if not best or best == first[0]:
            return best
        above = float(first[first > best].min())
        return max(best, self._largest(np.geomspace(above, best, LANES + 2)[1:-1]))

    def _furthest(self) -> float:
        """How far a small start comes to first order, in half-widths for each of its own."""
        worst = 0.0
        for found, room in zip(self._rows(np.array([TINY])), self.room, strict=True):
            slopes = np.abs(found.polynomials[0][:, self._own]).sum(axis=1) / TINY
            worst = max(worst, float((slopes / room).max()))
        return worst

    def _largest(self, parts: Array) -> float:
        """The largest of these parts whose runs stay; parts are sorted, the largest first."""
        inside = np.ones(len(parts), bool)
        for k, found in enumerate(self._rows(parts)):
            inside &= (found.reach(self.run.y[:, k]) <= self.room[k]).all(axis=1)
            if not inside.any():
                return 0.0
        return float(parts[inside].max())

    # ── one step after the other ──────────────────────────────────────────────────────────────────

    def _rows(self, parts: Array) -> Iterator[Enclosure]:
        """The enclosure at each row, for starts within these parts of the half-widths; not finite where it is lost."""
        found = self._start(parts)
        yield found
        for k in range(len(self.run.times) - 1):
            found = self._advanced(found, k)
            yield found

    def _start(self, parts: Array) -> Enclosure:
        count = len(self.widths)
        polynomials = np.zeros((len(parts), count, len(self._shape)))
        polynomials[..., 0] = self.run.y[:, 0]
        for i, place in enumerate(self._own):
            polynomials[:, i, place] = parts * self.widths[i]
        return Enclosure(polynomials, np.zeros((len(parts), count, count)))

    def _advanced(self, before: Enclosure, k: int) -> Enclosure:
        """After one step from row k."""
        count, size = len(self.widths), len(self._shape)
        data = np.zeros((len(before.sides), 1 + count, size + 3))
        data[:, 0, 0] = self.run.times[k]
        data[:, 0, -1] = clock_error(self.run.times[0], self.run.times, self.step, self.scheme)
        data[:, 1:, :size] = before.polynomials
        data[:, 1:, self._boxed] = before.sides
        with np.errstate(all="ignore"):
            found = self._tape.step(data)
            polynomials = found.polynomials.copy()
            moved = polynomials[..., self._boxed] / self.widths[:, None]
            polynomials[..., self._boxed] = 0.0
            rest = (found.remainders + found.rounding) / self.widths
            return Enclosure(polynomials, self.widths[:, None] * turned_box(moved, rest))

    @cached_property
    def _shape(self) -> CellMonomials:
        count = len(self.widths)
        second = monomials((*[1] * count, *[2] * count), 2)
        return second if len(second) <= MOST_MONOMIALS else monomials((1,) * (2 * count), 1)

    @cached_property
    def _own(self) -> list[int]:
        return [self._shape.place[(i,)] for i in range(len(self.widths))]

    @cached_property
    def _boxed(self) -> list[int]:
        return [self._shape.place[(len(self.widths) + i,)] for i in range(len(self.widths))]

    @cached_property
    def _tape(self) -> RoundingTape:
        count = len(self.widths)
        chosen: list[list[int]] = [[], *([*range(2 * count)] for _ in range(count))]
        return RoundingTape(self.flow, self.scheme, self.step, self._shape, chosen=chosen)


def turned_box(moved: Array, rest: Array) -> Array:
    """S so that S [−1, 1]ⁿ holds C [−1, 1]ⁿ + [−rest, rest], for each lane; not finite where none is shown.

    S = Q diag(b) with Q orthogonal but for rounding, its first axes along the longest columns of C; X = Qᵀ. With
    E = Q X − I in the largest row sum ε, Q⁻¹ = X (1 + E)⁻¹, so that |Q⁻¹v| ≤ |X v| + |X| ε/(1 − ε) max |v|.
    """
    lost = ~(np.isfinite(moved).all(axis=(1, 2)) & np.isfinite(rest).all(axis=1))
    moved, rest = np.where(lost[:, None, None], 0.0, moved), np.where(lost[:, None], 0.0, rest)
    order = np.argsort(-np.linalg.norm(moved, axis=1), axis=-1, kind="stable")
    frames = np.linalg.qr(np.take_along_axis(moved, order[:, None, :], axis=2))[0]
    inverse = np.abs(np.swapaxes(frames, 1, 2))
    apart = np.abs(frames @ np.swapaxes(frames, 1, 2) - np.eye(frames.shape[1])).sum(axis=2).max(axis=1) + ROUNDED
    sizes = (np.abs(moved).sum(axis=2) + rest) * (1 + ROUNDED)
    turned = np.abs(np.swapaxes(frames, 1, 2) @ moved).sum(axis=2) + np.einsum("lij,lj->li", inverse, rest)
    slack = inverse.sum(axis=2) * ((2 * apart + ROUNDED) * sizes.max(axis=1))[:, None]
    sides = (turned + slack) * (1 + ROUNDED) + LEAST
    found = frames * sides[:, None, :]
    found[lost | ~(apart <= ORTHOGONAL)] = np.inf
    return np.asarray(found)
