"""Charts: the part of a box near a bent program, in some of its variables and in the deviations that are thin there.

    x_p = c_p + r_p u,     x_r = R(u, z) ± v,     ψ(x) = z,     u, z within [−1, 1] of their ranges

As many variables x_r as deviations are thin follow from the others. R is a polynomial in plain doubles, made better
degree by degree with C, a float inverse of ∂ψ/∂x_r. Every x of the box whose deviations are z has δ = x_r − R with

    C (z − ψ(x_p, R)) = C A δ,      so that |δ| ≤ v wherever v ≥ |C (z − ψ(x_p, R))| + |I − C A| v

for A, the slopes ∂ψ/∂x_r, over a box that holds the cell and R (the mean value theorem). A straight cell has to hold
what the program bends by; a chart has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.stability.verifier.numbers.dag import Dag, Node
from holdfast.stability.verifier.numbers.evaluate import Forms
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, Space, combination, space
from holdfast.stability.verifier.steps.cells import Cells, Cutter, Limit, boxes
from holdfast.stability.verifier.steps.unknowns import bounded

STILL = 1e-7  # of its size: a variable that changes by less over all cells is a number with a remainder


@dataclass(eq=False)
class ChartCells(Cells):
    """Cells whose variables are forms in the deviations (first) and in the free variables; `basis` is its linear part.

    `free` and `rest` name, cell by cell, the variables that are free and those that follow.
    """

    program: Program
    free: Array  # (cells, free variables)
    rest: Array  # (cells, deviations)
    targets: Array  # (cells, deviations, 2): middle and reach of z
    inverse: Array  # C (cells, deviations, deviations)
    bends: Array  # (cells, variables): by how much each bends the deviations, for cells of which nothing is known
    known: dict[int, dict[str, Form]] = field(default_factory=dict)

    def chosen(self, rows: Array) -> ChartCells:
        parts = ("low", "high", "centre", "basis", "slack", "free", "rest", "targets", "inverse", "bends")
        return replace(self, **{name: getattr(self, name)[rows] for name in parts}, known={})

    def values(self, chosen: Space) -> dict[str, Form]:
        """The variables as forms: polynomials of all degrees that the space has."""
        if id(chosen) not in self.known:
            self.known[id(chosen)] = self._values(chosen)
        return self.known[id(chosen)]

    def _values(self, chosen: Space) -> dict[str, Form]:
        flat = space(chosen.weights, chosen.order, 1)
        table, missed = self._started(flat)
        rows, goal = np.arange(len(self))[:, None], self._goal(flat)
        for _ in range(flat.order + 2):
            lacking = goal - np.stack([form.c[:, :, 0] for form in self._deviations(flat, table, missed)], axis=1)
            table[rows, self.rest] += np.nan_to_num(np.einsum("nij,njm->nim", self.inverse, lacking))
        missed[rows, self.rest] = self._missed(flat, table, missed, goal)
        found = {name: _form(chosen, table[:, j], missed[:, j]) for j, name in enumerate(self.variables)}
        if "t" not in found:
            found["t"] = Form.constant(chosen, np.zeros(len(self)))
        return found

    def _started(self, flat: Space) -> tuple[Array, Array]:
        """x_p = c_p + r_p u with the remainders of those that hardly change, and x_r = c_r."""
        cells, held = np.arange(len(self)), self.rest.shape[1]
        table = np.zeros((len(self), len(self.variables), flat.size))
        table[:, :, 0] = self.centre
        for k in range(self.free.shape[1]):
            own = self.free[:, k]
            table[cells, own, flat.linear[held + k]] = self.basis[cells, own, held + k]
        return table, self.slack.copy()

    def _goal(self, flat: Space) -> Array:
        """z as polynomials: (cells, deviations, monomials)."""
        goal = np.zeros((len(self), self.rest.shape[1], flat.size))
        goal[:, :, 0] = self.targets[:, :, 0]
        for k in range(goal.shape[1]):
            goal[:, k, flat.linear[k]] = self.targets[:, k, 1]
        return goal

    def _deviations(self, flat: Space, table: Array, missed: Array) -> list[Form]:
        values = {name: _form(flat, table[:, j], missed[:, j]) for j, name in enumerate(self.variables)}
        return Forms(flat, len(self), values).of(self.program.nodes)

    def _missed(self, flat: Space, table: Array, missed: Array, goal: Array) -> Array:
        """v; infinite where none is found."""
        rows = np.arange(len(self))[:, None]
        lacking = [
            _form(flat, goal[:, k], np.zeros(len(self))) - form
            for k, form in enumerate(self._deviations(flat, table, missed))
        ]
        start = np.stack([form.bound()[:, 0] for form in combination(self.inverse, lacking)], axis=1)
        followed = table[rows, self.rest]
        reach = np.abs(followed[:, :, 1:]).sum(axis=2) * GROWTH + UNIT * np.abs(followed[:, :, 0])
        low, high = self.low.copy(), self.high.copy()
        low[rows, self.rest] = np.fmin(low[rows, self.rest], followed[:, :, 0] - reach)
        high[rows, self.rest] = np.fmax(high[rows, self.rest], followed[:, :, 0] + reach)
        distance = self._distance(boxes(self.variables, low, high))
        return bounded(distance[..., None], start[..., None])[..., 0]

    def _distance(self, hull: Cells) -> Array:
        """|I − C A| over a box: (cells, deviations, deviations)."""
        flat, size = space((1,) * len(self.variables), 1, 1), self.rest.shape[1]
        forms = Forms(flat, len(self), hull.values(flat))
        slopes = [forms.of(row) for row in self.program.slopes]  # by deviation and variable
        found = np.zeros((len(self), size, size))
        for j in range(size):
            column = [_picked(row, self.rest[:, j]) for row in slopes]
            for i, form in enumerate(combination(self.inverse, column)):
                found[:, i, j] = (-form).shifted(np.full(len(self), float(i == j)), 0.0).bound()[:, 0]
        return found


def _form(chosen: Space, polynomial: Array, missed: Array) -> Form:
    """A polynomial without powers of the step, with its remainder."""
    c, r = np.zeros((len(missed), chosen.size, chosen.terms)), np.zeros((len(missed), chosen.terms))
    c[:, : polynomial.shape[1], 0], r[:, 0] = polynomial, missed
    return Form(chosen, c, r)


def _picked(forms: Sequence[Form], which: Array) -> Form:
    """Of each cell, the form that is named for it."""
    cells = np.arange(len(which))
    return Form(
        forms[0].space, np.stack([form.c for form in forms])[which, cells], np.stack([f.r for f in forms])[which, cells]
    )


@dataclass(frozen=True, eq=False)
class Program:
    """Deviations and their slopes by every variable."""

    nodes: list[Node]
    slopes: list[list[Node]]


class ChartCutter(Cutter):
    """Cuts boxes down to the limits, into charts where deviations are thin."""

    def __init__(self, dag: Dag, variables: list[str], limits: Sequence[Limit]) -> None:
        super().__init__(variables, limits)
        self._dag = dag
        self._programs: dict[tuple[int, ...], Program] = {}

    def _program(self, held: Sequence[int]) -> Program:
        key = tuple(held)
        if key not in self._programs:
            nodes = [self.limits[i].node for i in held]
            slopes = self._dag.partials(nodes, [self._dag.input(name) for name in self.variables])
            self._programs[key] = Program(nodes, slopes)
        return self._programs[key]

    def _turned(self, alive: Array, cells: Cells) -> tuple[Array, Cells]:
        slopes, low, high, bends = self._bent(cells)
        held = self._thin(slopes)
        moving = np.flatnonzero((self._reach(cells) > STILL * np.abs(cells.centre)).any(axis=0))
        if not held or len(held) >= len(moving):
            return alive, cells
        return alive, self._charts(cells, held, moving, slopes[:, held], (low[:, held], high[:, held]), bends)

    @staticmethod
    def _reach(cells: Cells) -> Array:
        found: Array = np.diagonal(cells.basis, axis1=1, axis2=2)
        return found

    def _bent(self, cells: Cells) -> tuple[Array, Array, Array, Array]:
        """Slopes of the limits over boxes, between which values of z they and the boxes leave, and who bends them."""
        chosen = space((1,) * len(self.variables), 2, 1)
        forms = Forms(chosen, len(cells), cells.values(chosen)).of([limit.node for limit in self.limits])
        slopes = np.stack([form.c[:, chosen.linear, 0] for form in forms], axis=1)
        ends = [form.range() for form in forms]
        low = np.stack([np.fmax(a, limit.low) for (a, _), limit in zip(ends, self.limits, strict=True)], axis=1)
        high = np.stack([np.fmin(b, limit.high) for (_, b), limit in zip(ends, self.limits, strict=True)], axis=1)
        square = np.array(chosen.exponents) * (np.array(chosen.exponents).sum(axis=1) > 1)[:, None]
        bends = np.zeros(cells.low.shape)
        for form, row in zip(forms, np.moveaxis(slopes, 1, 0), strict=True):
            bends += (np.abs(form.c[:, :, 0]) @ square) / np.maximum(np.abs(row).sum(axis=1), LEAST)[:, None]
        return slopes, low, np.maximum(high, low), np.nan_to_num(bends, posinf=0.0)

    def _charts(
        self, cells: Cells, held: list[int], moving: Array, slopes: Array, ends: tuple[Array, Array], bends: Array
    ) -> ChartCells:
        rest, free = _parted(slopes, moving)
        count, reach, rows = len(held), self._reach(cells), np.arange(len(cells))[:, None]
        inverse = _inverses(np.take_along_axis(slopes, rest[:, None, :], axis=2)) * reach[rows, rest][:, :, None]
        middle = (ends[0] + ends[1]) / 2
        room = np.maximum(ends[1] - middle, middle - ends[0]) * GROWTH + UNIT * np.abs(middle) + LEAST
        basis = np.zeros((len(cells), len(self.variables), count + free.shape[1]))
        basis[rows, rest, :count] = inverse * room[:, None, :]
        for k in range(free.shape[1]):
            own = free[:, k]
            basis[rows[:, 0], own, count + k] = reach[rows[:, 0], own]
            moved = np.take_along_axis(slopes, own[:, None, None], axis=2)[:, :, 0]
            basis[rows, rest, count + k] = -np.einsum("nij,nj->ni", inverse, moved)
        slack = np.zeros_like(reach)
        still = np.setdiff1d(np.arange(len(self.variables)), moving)
        slack[:, still] = reach[:, still] + cells.slack[:, still]
        return ChartCells(
            self.variables, cells.low, cells.high, cells.centre, basis, slack, count, self._program(held),
            free, rest, np.stack([middle, room], axis=2), inverse, bends,
        )  # fmt: skip


def _parted(slopes: Array, moving: Array) -> tuple[Array, Array]:
    """Which variables follow and which are free, cell by cell: those that move the deviations most follow, one by one,
    each by what it moves beside those before it."""
    left = np.nan_to_num(slopes[:, :, moving], posinf=0.0, neginf=0.0)
    left = left / np.maximum(np.linalg.norm(left, axis=2, keepdims=True), LEAST)
    cells, rest = np.arange(len(left)), np.zeros(left.shape[:2], dtype=int)
    taken = np.zeros((len(left), len(moving)), dtype=bool)
    for k in range(left.shape[1]):
        sizes = np.where(taken, -1.0, (left**2).sum(axis=1))
        best = sizes.argmax(axis=1)
        rest[:, k], taken[cells, best] = best, True
        column = left[cells, :, best]
        column = column / np.maximum(np.linalg.norm(column, axis=1, keepdims=True), LEAST)
        left = left - column[:, :, None] * np.einsum("nd,ndv->nv", column, left)[:, None, :]
    free = np.nonzero(~taken)[1].reshape(len(left), -1)
    return moving[rest], moving[free]


def _inverses(tables: Array) -> Array:
    """In doubles, rows scaled to 1 first; nan where there is none."""
    sizes = np.maximum(np.abs(tables).max(axis=2), LEAST)
    scaled = tables / sizes[:, :, None]
    regular = np.isfinite(scaled).all(axis=(1, 2)) & (np.abs(np.linalg.det(np.nan_to_num(scaled))) > LEAST)
    found = np.linalg.inv(np.where(regular[:, None, None], scaled, np.eye(tables.shape[1]))) / sizes[:, None, :]
    return np.where(regular[:, None, None], found, np.nan)
