"""How the motion and its deviations change with the state: slopes at one state, or at all rows of a run at once.

    X' = F(X, t),    A = ∂F/∂X,    Z = ∂ψ/∂X,        ψ = (y, w) the deviations with all their rates

Both by one forward sweep on the graph, in which each state changes by a letter of its own; the letters are then the
unit vectors, as arrays, so that one pass gives all columns at all rows.

On the program, what Z leaves free is kept by the linearised motion: from ψ' = H ψ follows Z' + Z A = H Z, so that a
change with Z δX = 0 stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.memo import remembered
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Ledger, Tape
from holdfast.graph.derivatives import directional
from holdfast.graph.nodes import ancestors
from holdfast.problem.keep import kept_states

Array = np.ndarray
DEPENDENT = 1e-9  # of the largest: a singular value of scaled rows below this is their rounding
AT_ONCE = 10**7  # numbers that one pass keeps, of all nodes, rows and columns together: 80 MB
LOOKS = 4  # looks at the slopes after which it pays to write them out as code


@dataclass(frozen=True, eq=False)
class Slopes:
    """F, ψ, A and Z at one row or at several (leading axis), and the weight of each state: the root of its mass.

    Values of first integrals that are kept do not change: they are rows of Z.
    """

    rates: Array
    deviations: Array
    motion: Array  # A
    program: Array  # Z
    weights: Array

    @property
    def finite(self) -> bool:
        return all(bool(np.isfinite(part).all()) for part in (self.rates, self.deviations, self.motion, self.program))


class Tangent:
    """Evaluates `Slopes` of the equations."""

    def __init__(self, equations: Equations) -> None:
        field, deviations = equations.field, equations.deviations
        graph, zero = equations.inputs.graph, equations.inputs.graph.zero
        changes = {x: graph.input(f"change of {x.data}") for x in field.state}
        balls, one = equations.inputs.balls, graph.one
        norms = [(graph.dot(ball.quaternion, ball.quaternion) - one) / 2 for ball in balls]  # with a law of their own
        values = (*field.rates, *deviations.y, *deviations.w, *norms)
        masses = [row.get(i, zero) for i, row in enumerate(equations.dynamics.mass)]
        self._size, self._n, self._values = len(field.state), len(equations.coordinates), len(values)
        self._inputs = (*field.inputs, *changes.values())
        self._outputs = (*values, *directional(values, changes), *masses)
        self._looks = 0
        kept = kept_states(equations.problem.program)  # values of first integrals: constants of a run, not its states
        idle = {place for ball in balls for place in ball.places}  # whose values nothing depends on
        fixed = [k for k, x in enumerate(field.state) if x.data in kept or k in idle]
        self._kept = np.eye(self._size)[fixed]
        self.timed = field.time in ancestors(values)

    def at(self, time: float, state: Array | Sequence[float], constants: Sequence[float]) -> Slopes:
        """The slopes at one state."""
        found = self.along(np.array([time]), np.array([state], dtype=float), constants)
        return Slopes(
            *(part[0] for part in (found.rates, found.deviations, found.motion, found.program, found.weights))
        )

    def along(self, times: Array, states: Array, constants: Sequence[float]) -> Slopes:
        """The slopes at each row of (rows, states), some rows at a time."""
        some = max(1, AT_ONCE // self.work)
        found = [
            self._pass(times[k : k + some], states[k : k + some], constants) for k in range(0, max(1, len(times)), some)
        ]
        parts = ("rates", "deviations", "motion", "program", "weights")
        return Slopes(*(np.concatenate([getattr(one, part) for one in found]) for part in parts))

    @cached_property
    def work(self) -> int:
        """The numbers that one row takes: all nodes, by the number of states."""
        return len(ancestors(self._outputs)) * max(1, self._size)

    def _pass(self, times: Array, states: Array, constants: Sequence[float]) -> Slopes:
        rows, size = len(times), self._size
        inputs: list[Any] = [times[:, None], *(states[:, k, None] for k in range(size)), *map(np.float64, constants)]
        with np.errstate(all="ignore"):
            found = self._evaluated([*inputs, *np.eye(size)])
        count = self._values
        values = np.array([np.broadcast_to(x, (rows, 1))[:, 0] for x in found[:count]]).reshape(count, rows).T
        slopes = np.array([np.broadcast_to(x, (rows, size)) for x in found[count : 2 * count]])
        slopes = slopes.reshape(count, rows, size).transpose(1, 0, 2)
        masses = np.array([np.broadcast_to(x, (rows, 1))[:, 0] for x in found[2 * count :]]).reshape(self._n, rows).T
        roots = np.sqrt(np.abs(masses))
        roots = np.where(np.isfinite(roots) & (roots > 0), roots, 1.0)
        weights = np.hstack([roots, roots, np.ones((rows, size - 2 * self._n))])
        fixed = np.broadcast_to(self._kept, (rows, *self._kept.shape))
        deviations = np.hstack([values[:, size:], np.zeros((rows, len(self._kept)))])
        program = np.concatenate([slopes[:, size:], fixed], axis=1)
        return Slopes(values[:, :size], deviations, slopes[:, :size], program, weights)

    def _evaluated(self, inputs: list[Any]) -> list[Any]:
        """The outputs; the first few looks without writing code."""
        self._looks += 1
        if self._looks <= LOOKS:
            return Ledger(dict(zip(self._inputs, inputs, strict=True)), ARRAYS).of(self._outputs)
        return self._code(inputs)

    @cached_property
    def _code(self) -> Evaluator:
        return Tape(self._inputs, self._outputs).compiled(ARRAYS)


@remembered
def tangent_of(equations: Equations) -> Tangent:
    """The tangent of these equations, made once."""
    return Tangent(equations)


def measure(slopes: Slopes, coordinates: int) -> tuple[Array, float]:
    """How each state is measured, and the pace of the motion: coordinates by the roots of their masses, rates by these
    over the pace, so that both compare; the pace is the largest root of A, with the law's own.
    """
    pace = float(np.abs(np.linalg.eigvals(slopes.motion)).max(initial=0.0)) or 1.0
    weights = slopes.weights.copy()
    weights[coordinates : 2 * coordinates] /= pace
    return weights, pace


def free_basis(program: Array, weights: Array) -> Array:
    """What the deviations leave free: an orthonormal basis, as measured, of the null space of Z; rows count alike."""
    if not len(program):
        return np.eye(len(weights))
    scaled = program / weights
    sizes = np.linalg.norm(scaled, axis=1, keepdims=True)
    _, found, vt = np.linalg.svd(scaled / np.where(sizes > 0, sizes, 1.0))
    rank = int((found > DEPENDENT * found[0]).sum()) if found.size and found[0] > 0 else 0
    return np.asarray(vt[rank:].T)


def restricted(motion: Array, basis: Array, weights: Array) -> Array:
    """A on the directions that stay free, in their basis."""
    return np.asarray(basis.T @ (weights[:, None] * motion / weights) @ basis)


def shares(basis: Array, chosen: Sequence[int]) -> Array:
    """How much of the free directions each chosen state carries, 0 to 1: the squares of its row in an orthonormal basis
    of what they do to the chosen states. The sum is the number of independent directions among these.
    """
    u, sizes, _ = np.linalg.svd(basis[list(chosen)], full_matrices=False)
    rank = int((sizes > DEPENDENT * max(1.0, sizes[0])).sum()) if sizes.size else 0
    return np.asarray((np.abs(u[:, :rank]) ** 2).sum(axis=1))
