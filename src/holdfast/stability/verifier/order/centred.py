"""A step from each box of a tube at the rows of a run, by the step from its centre and by slopes all over it.

    d(x) = ψ(Φ(x)) − M ψ(x) = d(c) + Σ_j ∫₀¹ ∂d/∂x_j (c + θ(x − c)) dθ (x − c)_j

d(c) is known to the last bit (`centres`), and slopes are multiplied by the width of the box: what forms in doubles lose
of ψ, which is more than all the rest where a tube is narrow, is not lost here. A monomial of degree m in a slope counts
by 1/(m + 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space
from holdfast.stability.verifier.order.centres import CentreSteps
from holdfast.stability.verifier.order.passes import PassedStep
from holdfast.stability.verifier.order.steps import NOTHING, PADDING
from holdfast.stability.verifier.tube.cells import TubeCells


@dataclass(frozen=True, eq=False)
class StepOverBoxes:
    """One step from boxes: ranges of d for the M of a row, which that of its first box gives."""

    space: Space
    reach: Array  # (boxes, variables)
    before: tuple[Array, Array]  # slopes of ψ before, and what they are off by: (boxes, deviations, variables, ...)
    after: tuple[Array, Array]
    centre: tuple[Array, Array, Array, Array]  # ψ at the centre: before, off by, after, off by
    rounding: Array  # (boxes, deviations)

    def matrices(self) -> Array:
        """M of each box, in doubles: of any matrix what is left is enclosed."""
        a, b = (slopes[..., 0] * self.reach[:, None, :] for slopes, _ in (self.before, self.after))
        sound = np.isfinite(a).all(axis=(1, 2)) & np.isfinite(b).all(axis=(1, 2))
        a, b = np.where(sound[:, None, None], a, 0.0), np.where(sound[:, None, None], b, 0.0)
        try:
            return np.asarray(b @ np.linalg.pinv(a, rcond=NOTHING))
        except np.linalg.LinAlgError:
            return np.zeros((len(a), a.shape[1], a.shape[1]))

    def left(self, matrices: Array) -> tuple[Array, Array]:
        """The range of d in each box."""
        with np.errstate(all="ignore"):
            slopes, rest = self._slopes(matrices)
            middle, reach = self._at_centre(matrices)
            linear, degrees = self.space.linear, np.array([sum(e) for e in self.space.exponents])
            higher = np.abs(slopes[..., degrees > 1]) / (1 + degrees[degrees > 1])
            across = np.abs(slopes[..., 0]) + higher.sum(axis=-1) + rest
            reach = reach + (across * self.reach[:, None, :]).sum(axis=2)
            bent = slopes[..., linear] * self.reach[:, None, :, None] / 2
            both = np.triu(np.abs(bent + np.swapaxes(bent, 2, 3)), 1).sum(axis=(2, 3))
            squares = np.diagonal(bent, axis1=2, axis2=3) / 2  # of a direction: between 0 and twice this
            middle = middle + squares.sum(axis=2)
            reach = (reach + both + np.abs(squares).sum(axis=2) + 4 * UNIT * np.abs(middle)) * PADDING
        return middle - reach * PADDING, middle + reach * PADDING

    def _slopes(self, matrices: Array) -> tuple[Array, Array]:
        """∂d/∂x, and what it is off by."""
        (a, off_a), (b, off_b), weights = self.before, self.after, np.abs(matrices)
        slopes = b - np.einsum("nij,njvm->nivm", matrices, a)
        lost = np.abs(b).sum(axis=3) + np.einsum("nij,njv->niv", weights, np.abs(a).sum(axis=3))
        rest = off_b + np.einsum("nij,njv->niv", weights, off_a) + (len(weights[0]) + 4) * UNIT * lost
        return slopes, rest * GROWTH

    def _at_centre(self, matrices: Array) -> tuple[Array, Array]:
        """d(c)."""
        before, off_before, after, off_after = self.centre
        weights = np.abs(matrices)
        lost = np.abs(after) + np.einsum("nij,nj->ni", weights, np.abs(before))
        off = off_after + np.einsum("nij,nj->ni", weights, off_before) + (len(weights[0]) + 4) * UNIT * lost
        return after - np.einsum("nij,nj->ni", matrices, before), off * GROWTH


class CentredSteps:
    """Steps over boxes, a batch at a time."""

    def __init__(self, slopes: PassedStep, centres: CentreSteps) -> None:
        self._slopes, self._centres = slopes, centres

    def over(self, cells: TubeCells) -> StepOverBoxes:
        found = self._slopes.over(cells)
        before, after = _stacked(found.before), _stacked(found.after)
        centre = self._centres.deviations(found.centre)
        return StepOverBoxes(self._slopes.space, found.reach, before, after, centre, found.rounding.T)


def _stacked(slopes: Sequence[Sequence[Form]]) -> tuple[Array, Array]:
    c = np.array([[form.c[:, :, 0] for form in row] for row in slopes])
    r = np.array([[form.r[:, 0] for form in row] for row in slopes])
    return c.transpose(2, 0, 1, 3), r.transpose(2, 0, 1)
