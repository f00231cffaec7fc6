"""How one step contracts under a law that varies: ‖A(z, X, t)‖_P ≤ γ over a region, cell by cell.

P serves the whole region. It is sought from A at sampled states; what it is good for is shown in balls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.balls import ball, balls
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.nodes import Node, operation_count
from holdfast.stability.proof.contraction import Contraction, is_positive_definite
from holdfast.stability.proof.enclosure import Ball, Box, ball_matrix, matrix, norm, upper
from holdfast.stability.proof.laws.terms import LawTerms
from holdfast.stability.proof.search import CellJudgement, cover
from holdfast.stability.proof.work import LEAST_CELL, SearchWork

BALL = 0.5  # units of work of one operation on balls
ROOM = 1e-9  # relative, beyond what doubles say of a norm: it is shown in balls


@dataclass(frozen=True, eq=False)
class LawContraction(Contraction):
    """The norm of a law that varies: γ is shown elsewhere, over cells, and powers of one R say nothing."""

    def holds(self) -> bool:
        return 0 < self.gamma < 1

    def settled(self, defect: float, most: int = 2000) -> list[float]:
        """δ/(1 − γ) in each deviation."""
        radius = ball(self.radius(defect))
        return [upper(radius * ball(width)) for width in self.widths()]


class StepMatrix:
    """A over boxes of deviations, time and state."""

    def __init__(self, terms: LawTerms, step: float) -> None:
        self.terms, self._rows = terms, terms.step_matrix(step)
        self.variables: tuple[Node, ...] = terms.variables(self._rows)
        self._nodes = tuple(node for row in self._rows for node in row)

    @property
    def cost(self) -> float:
        return LEAST_CELL + BALL * operation_count(self._nodes)

    def _tape(self) -> Tape:
        return Tape((*self.terms.deviations, self.terms.time, *self.terms.state), self._nodes)

    @cached_property
    def _balls(self) -> Evaluator:
        return self._tape().compiled(balls())

    def enclosed(self, deviations: Sequence[Ball], place: Sequence[Ball]) -> Any:
        """A for all z between 0 and these deviations, and all times and states of a box."""
        z = [value.union(ball(0)) for value in deviations]
        flat, size = self._balls([*z, *place]), len(self.terms.places)
        return matrix([flat[i * size : (i + 1) * size] for i in range(size)])

    def at(self, deviations: np.ndarray, places: np.ndarray) -> np.ndarray:
        """A at points, in doubles: columns of deviations, and of time and state."""
        size, count = len(self.terms.places), places.shape[1]
        with np.errstate(all="ignore"):
            flat = self._tape().compiled(ARRAYS)([*deviations, *places])
        rows = np.array([np.broadcast_to(np.asarray(x, float), count) for x in flat])
        return rows.T.reshape(count, size, size)


def norm_bound(factor: np.ndarray, step_matrix: Any) -> float:
    """‖LᵀAL⁻ᵀ‖₂ over a ball matrix, not below: ‖middle‖₂ + ‖spread‖_F.

    Doubles say what the norm of the middle is about, and γ²I − MᵀM > 0 in balls proves it.
    """
    turned = ball_matrix(factor.T) * step_matrix * ball_matrix(factor.T).inv()
    size = turned.nrows()
    entries = [[turned[i, j] for j in range(size)] for i in range(size)]
    if not all(x.is_finite() for row in entries for x in row):
        return float("inf")
    middle = np.array([[float(x.mid()) for x in row] for row in entries])
    centre = float(np.linalg.svd(middle, compute_uv=False).max()) * (1 + ROOM)
    gram, bound = ball_matrix(middle.T) * ball_matrix(middle), ball(centre) ** 2
    rest = [[(bound if i == j else ball(0)) - gram[i, j] for j in range(size)] for i in range(size)]
    if not is_positive_definite(matrix(rest)):
        return float("inf")
    spread = norm([entries[i][j] - ball(float(middle[i, j])) for i in range(size) for j in range(size)])
    return upper(ball(centre) + ball(spread))


def contracts(
    law: StepMatrix,
    factor: np.ndarray,
    gamma: float,
    deviations: Sequence[Ball],
    place: Callable[[Box], list[Ball] | None],
    region: Box,
    used: Sequence[int],
    work: SearchWork,
) -> bool:
    """Whether ‖A‖_P ≤ γ for deviations between 0 and the given ones, at all states that `place` finds in the region.

    `place` gives time and state over the part of a box that matters, or None; `used` are the variables of the box on
    which A depends: these alone are cut.
    """

    def judged(box: Box) -> CellJudgement | None:
        found = place(box)
        if found is None:
            return None
        sides = [
            (high - low) / max(top - bottom, 1e-300) for (low, high), (bottom, top) in zip(box, region, strict=True)
        ]
        widest = max(used, key=sides.__getitem__, default=0)
        return CellJudgement(norm_bound(factor, law.enclosed(deviations, found)), widest, box, cost=law.cost)

    return cover(judged, region, wanted=gamma, work=work).bound <= gamma
