"""The forms of V and V̇ over a region: enclosed in balls cell by cell, and at samples.

    V  = ½ zᵀĜz                          Ĝ, Ḡ, Γ, A: means of ∂²V/∂z², of its rate along the motion with z held,
    V̇  = ½ zᵀΓz + zᵀḠAz,   ż = A z        and of ∂ż/∂z, over the segment from 0 to z (Taylor, integral remainder)

    l₁‖z‖² ≤ V ≤ l₂‖z‖²   ⇐   G − 2l₁I > 0,  2l₂I − G > 0
    V̇ ≤ −p V              ⇐   −(Γ + GA + AᵀG) − pG > 0

for every state, time and z of a cell, entries enclosed in balls and definiteness shown by elimination in them. For a
quadratic V and a linear law the entries do not depend on z. Where the entries depend on nothing, one look proves it for
all states. Cells that do not decide are halved until all do, or the work is done. A mean lies in the enclosure because
V is twice differentiable in z; a V or a law that branches (|y|, sign, ...) is therefore never proved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.rounded import rounded_down, rounded_up
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.balls import ball, ball_between, balls, precision
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.nodes import Node, ancestors, operation_count
from holdfast.stability.linear.norms import pencil_max
from holdfast.stability.linear.shape import Array
from holdfast.stability.proof.enclosure import Ball, Box, halves, matrix
from holdfast.stability.proof.search import longest
from holdfast.stability.proof.work import EFFORT, LEAST_CELL

BITS = 64  # of the balls: cells are wide, rounding is not what keeps them from deciding
MOST_CELLS = 100_000  # a limit on memory, minutes of work
BALL = 0.5  # units of work of one operation on balls (0.3 to 0.6 µs)
SAMPLES = 2000  # states at which the forms are looked at before a proof, and beside one that is not found

Bounds = dict[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class FormNodes:
    """The entries of the three forms, on inputs (t, x, parameters, z), each a dense square matrix of nodes."""

    inputs: tuple[Node, ...]  # t, x
    names: tuple[str, ...]
    parameters: tuple[Node, ...]
    deviations: tuple[Node, ...]  # z of V, as inputs of their own
    actual: tuple[Node, ...]  # what z is, on (t, x)
    hessian: tuple[Node, ...]  # G
    drift: tuple[Node, ...]  # Γ
    law: tuple[Node, ...]  # A
    along_rates: bool  # whether V depends on rates, so that Γ contains accelerations

    @property
    def size(self) -> int:
        return len(self.deviations)

    @property
    def entries(self) -> tuple[Node, ...]:
        return (*self.hessian, *self.drift, *self.law)

    @cached_property
    def in_deviations(self) -> frozenset[Node]:
        """The z that the entries depend on: none for a quadratic V and a linear law."""
        return frozenset(self.deviations) & set(ancestors(self.entries))


@dataclass(frozen=True, eq=False)
class RegionForms:
    """The forms over one region, in balls and at samples."""

    nodes: FormNodes
    constants: tuple[float, ...]
    region: Bounds  # of every needed t and state
    limits: Bounds  # of deviations, by name
    names: tuple[str, ...]  # of the deviations of V

    @cached_property
    def open_deviations(self) -> list[int]:
        """The z that the entries depend on and that have no limits: they are what the state makes them."""
        used = self.nodes.in_deviations
        pairs = enumerate(zip(self.nodes.deviations, self.names, strict=True))
        return [j for j, (node, name) in pairs if node in used and name not in self.limits]

    @cached_property
    def variables(self) -> list[int]:
        """Which of (t, x) the entries depend on, through z too."""
        nodes = self.nodes
        used = set(ancestors((*nodes.entries, *(nodes.actual[j] for j in self.open_deviations))))
        return [k for k, node in enumerate(nodes.inputs) if node in used]

    @property
    def box(self) -> Box:
        return tuple(self.region[self.nodes.names[k]] for k in self.variables)

    def where(self) -> str:
        """The region in words; its ends are exact in `region` and `limits`."""
        shown = {self.nodes.names[k]: self.region[self.nodes.names[k]] for k in self.variables}
        used = self.nodes.in_deviations
        for node, name in zip(self.nodes.deviations, self.names, strict=True):
            if node in used and name in self.limits:
                shown[name] = self.limits[name]
        if not shown:
            return "for all states and times"
        return "where " + ", ".join(f"{inward(*ends)[0]} ≤ {name} ≤ {inward(*ends)[1]}" for name, ends in shown.items())

    # ── balls ─────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _evaluators(self) -> tuple[Evaluator, Evaluator]:
        nodes = self.nodes
        point = (*nodes.inputs, *nodes.parameters)
        open_z = tuple(nodes.actual[j] for j in self.open_deviations)
        return Tape((*point, *nodes.deviations), nodes.entries).compiled(balls()), Tape(point, open_z).compiled(balls())

    @cached_property
    def _cost(self) -> float:
        """Units of work of one cell: its operations on balls, and matrices of the size of z."""
        return LEAST_CELL + BALL * operation_count(self.nodes.entries) + self.nodes.size**3

    def enclosed(self, box: Box) -> tuple[Any, Any, Any]:
        """G, Γ and A over a cell as ball matrices, z anywhere between 0 and the deviations of the cell."""
        forms, actual = self._evaluators
        point = [ball(0)] * len(self.nodes.inputs)  # what the entries do not depend on may stand anywhere
        for k, (low, high) in zip(self.variables, box, strict=True):
            point[k] = ball_between(low, high)
        point += [ball(float(value)) for value in self.constants]
        z = [ball_between(*self.limits[name]).union(ball(0)) if name in self.limits else ball(0) for name in self.names]
        for j, value in zip(self.open_deviations, actual(point), strict=True):
            z[j] = value.union(ball(0))
        return _matrices(forms([*point, *z]), self.nodes.size)

    def at(self, point: Array, direction: Array) -> tuple[Ball, Ball]:
        """zᵀGz and zᵀ(Γ + GA + AᵀG)z at one state, as z → 0 along a direction, in balls."""
        values = [ball(float(x)) for x in (*point, *self.constants)]
        G, drift, law = _matrices(self._evaluators[0]([*values, *[ball(0)] * self.nodes.size]), self.nodes.size)
        z, slope = matrix([[ball(float(x))] for x in direction]), drift + G * law + (G * law).transpose()
        return (z.transpose() * G * z)[0, 0], (z.transpose() * slope * z)[0, 0]

    def covered(self, shown: Callable[[Any, Any, Any], bool], effort: float) -> int:
        """How many cells cover the region with the claim shown on each; 0 where that is not found with this effort."""
        waiting, cells, whole = [self.box], 0, self.box
        most = min(MOST_CELLS, EFFORT * effort / self._cost)
        with precision(BITS):
            while waiting:
                box = waiting.pop()
                cells += 1
                if shown(*self.enclosed(box)):
                    continue
                if not box or cells + len(waiting) > most:
                    return 0
                waiting.extend(halves(box, longest(box, whole)))
        return cells

    # ── samples ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def sampled(self) -> FormSamples:
        """G, Γ and A at random states of the region, and random z within its limits."""
        random, nodes = np.random.default_rng(0), self.nodes
        count = SAMPLES if self.variables or nodes.in_deviations else 1
        point: list[Any] = [np.zeros(count)] * len(nodes.inputs)
        for k, (low, high) in zip(self.variables, self.box, strict=True):
            point[k] = random.uniform(low, high, count)
        states, inputs = np.array(point).T, (*nodes.inputs, *nodes.parameters)
        point += [np.full(count, value) for value in self.constants]
        z = [random.uniform(*self.limits.get(name, (0.0, 0.0)), count) for name in self.names]
        with np.errstate(all="ignore"):
            open_z = Tape(inputs, tuple(nodes.actual[j] for j in self.open_deviations)).compiled(ARRAYS)(point)
            for j, value in zip(self.open_deviations, open_z, strict=True):
                z[j] = random.uniform(0, 1, count) * value
            flat = Tape((*inputs, *nodes.deviations), nodes.entries).compiled(ARRAYS)([*point, *z])
        shape = (count, 3, nodes.size, nodes.size)
        rows = np.array([np.broadcast_to(column, count) for column in flat]).T.reshape(shape)
        good = np.isfinite(rows).all(axis=(1, 2, 3))
        return FormSamples(states[good], rows[good])


def _matrices(flat: Sequence[Ball], size: int) -> tuple[Any, Any, Any]:
    """Three square matrices from their entries, one after the other."""
    G, drift, law = (
        matrix([flat[first + i * size : first + (i + 1) * size] for i in range(size)])
        for first in (0, size**2, 2 * size**2)
    )
    return G, drift, law


def inward(low: float, high: float) -> tuple[str, str]:
    """The ends of a range in six digits, never further out than they are."""
    return rounded(low, upward=True), rounded(high, upward=False)


def rounded(value: float, *, upward: bool) -> str:
    """Six digits, never on the wrong side of the number."""
    return rounded_up(value, 6) if upward else rounded_down(value, 6)


@dataclass(frozen=True, eq=False)
class FormSamples:
    """G, Γ and A at sampled states."""

    points: Array
    forms: Array  # one row of three matrices for each

    def __len__(self) -> int:
        return len(self.points)

    @cached_property
    def sizes(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue of G, halved: l₁ and l₂ as far as the samples show."""
        found = np.linalg.eigvalsh(symmetric(self.forms[:, 0]))
        return float(found[:, 0].min()) / 2, float(found[:, -1].max()) / 2

    @cached_property
    def slopes(self) -> Array:
        """Γ + GA + AᵀG, symmetric: twice the form of V̇."""
        G, drift, law = (self.forms[:, k] for k in range(3))
        return symmetric(drift + 2 * G @ law)

    @cached_property
    def rates(self) -> Array:
        """p of V̇ ≤ −pV at each state; only where every G is positive definite."""
        return np.array([-pencil_max(s, g) for s, g in zip(self.slopes, symmetric(self.forms[:, 0]), strict=True)])


def symmetric(matrices: Array) -> Array:
    """The symmetric part of each of some matrices."""
    return (matrices + np.swapaxes(matrices, 1, 2)) / 2
