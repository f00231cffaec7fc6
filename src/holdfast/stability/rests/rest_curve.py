"""States of rest as a parameter changes: the curve G(z, p) = 0, followed by its arclength.

    G(z, p) = (F, ψ) = 0   at v = 0,      u = (z, p) in sizes of their own,      tangent: [G_z G_p] t = 0, |t| = 1
    predict  u + h t,      correct  G(u) = 0,  t·(u − predicted) = 0      by Gauss and Newton

z are coordinates and first-order states. The arclength goes round folds, where p turns back. Rests of one family (a
cart that may stand anywhere) are held together by keeping what is free at the first of them.

Keller (1977), in Applications of Bifurcation Theory, 359-384; Seydel (2010), Practical Bifurcation and Stability
Analysis, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian

Array = np.ndarray
CORRECTIONS = 12
MET = 1e-11  # of the size of u: a correction below this ends the iteration
ACCURATE = 1e-8  # of what its slopes make of the size of u: an equation that is off by less is met
FREE = 1e-7  # of the largest: a singular value below this is a direction that nothing determines


@dataclass(frozen=True, eq=False)
class RestEquations:
    """G and its slopes, in scaled unknowns u = (z/size, (p − low)/(high − low))."""

    equations: Equations
    place: int  # of the parameter, among the constants
    constants: tuple[float, ...]
    base: Array  # a whole state; rates are 0
    sizes: Array  # of the unknowns z
    low: float
    high: float

    @cached_property
    def moving(self) -> list[int]:
        n = self.equations.field.positions
        return [k for k in range(len(self.equations.field.state)) if not n <= k < 2 * n]

    @cached_property
    def _tape(self) -> Tape:
        field, deviations = self.equations.field, self.equations.deviations
        values = (*field.rates, *deviations.y, *deviations.w)
        by = [*(field.state[k] for k in self.moving), field.parameters[self.place]]
        zero = self.equations.inputs.graph.zero
        slopes = [row.get(k, zero) for row in jacobian(values, by) for k in range(len(by))]
        return Tape(field.inputs, (*values, *slopes))

    def unknowns(self, state: Array, parameter: float) -> Array:
        return np.append(np.asarray(state)[self.moving] / self.sizes, (parameter - self.low) / (self.high - self.low))

    def parameter(self, u: Array) -> float:
        return float(self.low + u[-1] * (self.high - self.low))

    def state(self, u: Array) -> Array:
        whole = self.base.copy()
        whole[self.equations.field.positions : 2 * self.equations.field.positions] = 0.0
        whole[self.moving] = u[:-1] * self.sizes
        return whole

    def numbers(self, u: Array) -> list[float]:
        """The constants with the parameter put in."""
        found = list(self.constants)
        found[self.place] = self.parameter(u)
        return found

    def at(self, u: Array) -> tuple[Array, Array]:
        """G and its slopes by u, each row over the length of its slopes: rows count alike, whatever their units."""
        width = len(u)
        found = np.array(self._tape([self.equations.problem.run.begin, *self.state(u).tolist(), *self.numbers(u)]))
        rows = len(found) // (width + 1)
        slopes = found[rows:].reshape(rows, width) * np.append(self.sizes, self.high - self.low)
        lengths = np.linalg.norm(slopes, axis=1)
        acts = (lengths > 1e-12 * lengths.max(initial=0.0)) & np.isfinite(lengths)
        return found[:rows][acts] / lengths[acts], slopes[acts] / lengths[acts, None]


@dataclass(frozen=True, eq=False)
class RestCurve:
    """A point on the curve at a time: corrected, and its tangent. `kept` are directions held as at the first rest."""

    equations: RestEquations
    kept: Array  # (directions, unknowns)
    origin: Array

    @classmethod
    def through(cls, equations: RestEquations, u: Array) -> RestCurve:
        """The curve through a rest; what nothing determines there, beside the curve itself, is kept."""
        _, slopes = equations.at(u)
        _, sizes, vt = np.linalg.svd(slopes[:, :-1])
        rank = int((sizes > FREE * sizes.max(initial=0.0)).sum())
        free = vt[rank:]
        _, whole, directions = np.linalg.svd(slopes)
        along = directions[int((whole > FREE * whole.max(initial=0.0)).sum()) :]
        if len(along) <= 1 or not len(free):  # a curve: a fold or an ordinary point
            return cls(equations, np.zeros((0, len(u))), u)
        chosen = free[: len(along) - 1]
        return cls(equations, np.hstack([chosen, np.zeros((len(chosen), 1))]), u)

    def system(self, u: Array) -> tuple[Array, Array]:
        values, slopes = self.equations.at(u)
        return np.append(values, self.kept @ (u - self.origin)), np.vstack([slopes, self.kept])

    def tangent(self, u: Array, before: Array | None = None) -> Array:
        """The direction of the curve, going on as before."""
        found = np.linalg.svd(self.system(u)[1])[2][-1]
        if before is not None and found @ before < 0:
            found = -found
        return np.asarray(found)

    def corrected(self, guess: Array, normal: Array) -> tuple[Array, int] | None:
        """The rest in the plane through the guess, and the corrections it took; none where there is none near."""
        u, reach = guess.copy(), 1.0 + float(np.abs(guess).max())
        for count in range(1, CORRECTIONS + 1):
            values, slopes = self.system(u)
            rows = np.vstack([slopes, normal])
            right = np.append(-values, -normal @ (u - guess))
            if not (np.isfinite(rows).all() and np.isfinite(right).all()):
                return None
            step = np.linalg.lstsq(rows, right, rcond=1e-14)[0]
            u = u + step
            if np.abs(u).max() > 1e3 * reach:
                return None
            if np.abs(step).max() <= MET * reach:
                values, _ = self.system(u)
                met = bool(np.isfinite(values).all()) and bool((np.abs(values) <= ACCURATE * reach).all())
                return (u, count) if met else None
        return None

    def at_parameter(self, guess: Array, share: float) -> Array | None:
        """The rest near a guess at one value of the parameter."""
        normal = np.zeros(len(guess))
        normal[-1] = 1.0
        start = guess.copy()
        start[-1] = share
        found = self.corrected(start, normal)
        return None if found is None else found[0]


def distance(one: Array, other: Array, turns: Sequence[float]) -> float:
    """How far two points are apart; angles up to full turns, of `turns` in the unknowns' units (0 for none)."""
    apart = one - other
    for k, turn in enumerate(turns):
        if turn:
            apart[k] -= turn * round(float(apart[k]) / turn)
    return float(np.linalg.norm(apart))
