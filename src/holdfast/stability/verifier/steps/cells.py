"""Cells: the part of a box whose deviations lie in the tube, in coordinates along and across the program.

    x = centre + basis · e ± slack,      e ∈ [−1, 1]ⁿ

A cell encloses {x in the box: deviations and observables within their limits}. It is made smaller by solving each
limit, as a Taylor form with linear part a·e, for one e after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.numbers.dag import Node
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, Space, space

ROUNDS = 3  # of making a box smaller, each with limits evaluated anew
SWEEPS = 3  # over the limits within a round
THIN = 0.3  # of what a deviation changes by in a box: limits wider than that give it no direction of its own
SLIGHT = 0.1  # of its width: a direction that moves no variable further is thin
ALONG, ACROSS = 1, 2  # weights: a thin direction counts as of second order


@dataclass(frozen=True, eq=False)
class Limit:
    """low ≤ node ≤ high."""

    node: Node
    low: float
    high: float
    across: bool  # a deviation, across which cells are thin


@dataclass(eq=False)
class Cells:
    """A batch of cells in the named variables."""

    variables: list[str]
    low: Array  # boxes (cells, variables)
    high: Array
    centre: Array
    basis: Array  # (cells, variables, directions)
    slack: Array
    across: int  # how many of the directions are across the program

    def values(self, chosen: Space) -> dict[str, Form]:
        """The variables as forms."""
        found = {}
        for j, name in enumerate(self.variables):
            form = Form.constant(chosen, self.centre[:, j], self.slack[:, j])
            for k in range(self.basis.shape[2]):
                form.c[:, chosen.linear[k], 0] = self.basis[:, j, k]
            found[name] = form
        if "t" not in found:
            found["t"] = Form.constant(chosen, np.zeros(len(self.low)))
        return found

    def weights(self) -> tuple[int, ...]:
        """Directions across count as of second order where most cells are thin in them; a bent program's are not."""
        moves = np.abs(self.basis) / np.maximum((self.high - self.low) / 2, LEAST)[:, :, None]
        reach = np.median(np.minimum(moves, 1.0).max(axis=1, initial=0.0), axis=0)
        thin = (reach <= SLIGHT) & (np.arange(len(reach)) < self.across)
        return tuple(ACROSS if one else ALONG for one in thin)

    def __len__(self) -> int:
        return len(self.low)

    def chosen(self, rows: Array) -> Cells:
        low, high, centre, basis, slack = (
            part[rows] for part in (self.low, self.high, self.centre, self.basis, self.slack)
        )
        return Cells(self.variables, low, high, centre, basis, slack, self.across)


def boxes(variables: list[str], low: Array, high: Array) -> Cells:
    """Boxes as cells in their own coordinates."""
    centre = (low + high) / 2
    reach = np.maximum(high - centre, centre - low) * GROWTH
    slack = UNIT * (np.abs(low) + np.abs(high))
    count = len(variables)
    return Cells(variables, low, high, centre, reach[:, :, None] * np.eye(count), slack, 0)


class Cutter:
    """Cuts boxes down to the limits; `turned`: into coordinates along and across the program."""

    def __init__(self, variables: list[str], limits: Sequence[Limit], *, turned: bool = True) -> None:
        self.variables, self.limits, self.turned = variables, list(limits), turned

    def cells(self, low: Array, high: Array) -> tuple[Array, Cells]:
        """Which boxes are not shown to be empty, and their cells."""
        alive = np.arange(len(low))
        cells = boxes(self.variables, low, high)
        if not self.limits or not self.variables:
            return alive, cells
        for _ in range(ROUNDS):
            lowest, highest, empty = self._cut(cells, self._rows(cells))
            alive, cells = alive[~empty], cells.chosen(~empty)
            lowest, highest = lowest[~empty], highest[~empty]
            if not len(cells):
                return alive, cells
            new_low, new_high = _box(cells, lowest, highest)
            gained = (new_high - new_low < 0.8 * (cells.high - cells.low)).any()
            cells = boxes(self.variables, new_low, new_high)
            if not gained:
                break
        if self.turned and any(limit.across for limit in self.limits) and len(self.variables) > 1:
            return self._turned(alive, cells)
        return alive, cells

    def _rows(self, cells: Cells) -> tuple[Array, Array, Array]:
        """Each limit as a·e ∈ [low, high]: coefficients (cells, limits, directions) and ends (cells, limits)."""
        chosen = space((1,) * cells.basis.shape[2], 2, 1)
        forms = Forms(chosen, len(cells), cells.values(chosen)).of([limit.node for limit in self.limits])
        slopes = np.stack([form.c[:, chosen.linear, 0] for form in forms], axis=1)
        rest = np.stack(
            [np.abs(form.c[:, 1 + len(chosen.linear) :, 0]).sum(axis=1) + form.r[:, 0] for form in forms], axis=1
        )
        middle = np.stack([form.c[:, 0, 0] for form in forms], axis=1)
        ends = np.array([[limit.low, limit.high] for limit in self.limits])
        pad = rest * GROWTH + 4 * UNIT * (np.abs(middle) + np.abs(ends).max(axis=1))
        return slopes, ends[:, 0] - middle - pad, ends[:, 1] - middle + pad

    def _cut(self, cells: Cells, rows: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        """Ranges of e that can satisfy the rows, and which cells are empty; each row bounds all e at once."""
        slopes, low, high = rows
        count = slopes.shape[2]
        lowest, highest = -np.ones((len(slopes), count)), np.ones((len(slopes), count))
        empty = np.zeros(len(slopes), dtype=bool)
        with np.errstate(all="ignore"):
            for i in [*range(slopes.shape[1])] * SWEEPS:
                a, bottom, top = slopes[:, i], low[:, i, None], high[:, i, None]
                one, other = a * lowest, a * highest
                small, large = np.minimum(one, other), np.maximum(one, other)
                least, most = small.sum(axis=1, keepdims=True), large.sum(axis=1, keepdims=True)
                size = 4 * count * UNIT * (np.abs(small) + np.abs(large)).sum(axis=1, keepdims=True)
                empty |= ((least - size > top) | (most + size < bottom))[:, 0]
                one, other = (bottom - (most - large) - size) / a, (top - (least - small) + size) / a
                lower, upper = np.minimum(one, other), np.maximum(one, other)
                pad = 4 * UNIT * (np.abs(lower) + np.abs(upper))
                usable = (a != 0) & np.isfinite(pad)
                lowest = np.where(usable, np.maximum(lowest, lower - pad), lowest)
                highest = np.where(usable, np.minimum(highest, upper + pad), highest)
                empty |= (lowest > highest).any(axis=1)
                highest = np.maximum(highest, lowest)
        return lowest, highest, empty

    def _turned(self, alive: Array, cells: Cells) -> tuple[Array, Cells]:
        """Coordinates along and across the program, in which the box is cut down twice more."""
        slopes, _, _ = self._rows(cells)
        held = self._thin(slopes)
        if not held:
            return alive, cells
        turned = np.stack([_directions(slopes[n][held]) for n in range(len(cells))])
        rank = min(len(held), len(self.variables) - 1)
        reach = np.diagonal(cells.basis, axis1=1, axis2=2)
        within = _reach(turned) * GROWTH
        made = Cells(
            self.variables, cells.low, cells.high, cells.centre,
            reach[:, :, None] * turned * within[:, None, :], cells.slack, rank,
        )  # fmt: skip
        made.slack = cells.slack + 8 * UNIT * len(self.variables) * np.abs(made.basis).sum(axis=2)
        for _ in range(2):
            rows = self._rows(made)
            inside = (made.basis, made.low - made.centre, made.high - made.centre)
            pad = made.slack + 4 * UNIT * (np.abs(made.low) + np.abs(made.high) + np.abs(made.centre))
            both = (
                np.concatenate([rows[0], inside[0]], axis=1),
                np.concatenate([rows[1], inside[1] - pad], axis=1),
                np.concatenate([rows[2], inside[2] + pad], axis=1),
            )
            lowest, highest, empty = self._cut(made, both)
            alive, made = alive[~empty], made.chosen(~empty)
            made = _shrunk(made, lowest[~empty], highest[~empty])
            if not len(made):
                break
        return alive, made

    def _thin(self, slopes: Array) -> list[int]:
        """The deviations whose limits are thin beside what they change by in most of the boxes."""
        span = 2 * np.abs(slopes).sum(axis=2)
        room = np.array([limit.high - limit.low for limit in self.limits])
        share = (room < THIN * span).mean(axis=0)
        return [i for i, limit in enumerate(self.limits) if limit.across and share[i] >= 0.5]


def _box(cells: Cells, lowest: Array, highest: Array) -> tuple[Array, Array]:
    """The box of part of a cell in its own coordinates, cut to the box it came from."""
    reach = np.diagonal(cells.basis, axis1=1, axis2=2)
    pad = cells.slack * 2
    low, high = cells.centre + reach * lowest - pad, cells.centre + reach * highest + pad
    return np.maximum(low, cells.low), np.maximum(np.minimum(high, cells.high), np.maximum(low, cells.low))


def _shrunk(cells: Cells, lowest: Array, highest: Array) -> Cells:
    """The cell over part of its coordinates."""
    middle, reach = (lowest + highest) / 2, (highest - lowest) / 2 * GROWTH + 2 * UNIT
    centre = cells.centre + np.einsum("njk,nk->nj", cells.basis, middle)
    basis = cells.basis * reach[:, None, :]
    slack = cells.slack + 8 * UNIT * (np.abs(centre) + cells.basis.shape[2] * np.abs(cells.basis).sum(axis=2))
    return Cells(cells.variables, cells.low, cells.high, centre, basis, slack, cells.across)


def _directions(slopes: Array) -> Array:
    """Directions across the program, each moving one deviation, then some along it, each moving one variable."""
    count = slopes.shape[1]
    rank = min(len(slopes), count - 1)
    scale = np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-290)
    if not np.isfinite(slopes).all():
        return np.eye(count)
    _, sizes, rows = np.linalg.svd(slopes / scale)
    across, along = rows[:rank].T, rows[rank:].T
    if len(slopes) == rank and sizes[-1] > 1e-6:  # each direction across moves one deviation only
        across = np.linalg.pinv(slopes / scale)
        across = across / np.linalg.norm(across, axis=0)
    chosen = along[_independent(along)]
    if abs(np.linalg.det(chosen)) < 1e-6:
        return np.hstack([across, along])
    return np.hstack([across, along @ np.linalg.inv(chosen)])


def _independent(rows: Array) -> list[int]:
    """As many rows as there are columns, each the longest beside those chosen before it."""
    left, chosen = rows.copy(), list[int]()
    for _ in range(rows.shape[1]):
        sizes = (left**2).sum(axis=1)
        best = int(sizes.argmax())
        chosen.append(best)
        left = left - np.outer(left @ left[best], left[best]) / max(sizes[best], LEAST)
    return chosen


def _reach(turned: Array) -> Array:
    """How far e must reach in new directions to cover [−1, 1]ⁿ: |B⁻¹|·1, with what the float inverse lacks."""
    inverse = np.linalg.inv(turned)
    sums = np.abs(inverse).sum(axis=2)
    lacking = np.abs(np.einsum("nij,njk->nik", inverse, turned) - np.eye(turned.shape[1])).sum(axis=2).max(axis=1)
    lacking = lacking + 4 * turned.shape[1] * UNIT * (
        np.abs(inverse).sum(axis=2).max(axis=1) * np.abs(turned).max(axis=(1, 2))
    )
    far = np.where(lacking < 0.5, lacking / (1 - np.minimum(lacking, 0.5)), np.inf)
    return sums + (far * sums.max(axis=1))[:, None]
