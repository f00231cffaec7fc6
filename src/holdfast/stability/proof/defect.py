"""The defect of one step, enclosed: how much a scheme adds to the deviations beyond what the law asks.

    d(τ) = ψ(Φ_τ(x), t + τ) − R(τH) ψ(x, t) = c τ^(p+1),         c ∈ c₁ + c₂ τ + c₃(ξ) τ²

where c_k is the (p+k)-th Taylor coefficient of d, at τ = 0 and, for the last, at ξ in [0, step]: a scheme of order p
agrees with the flow to that order, if the rates that are run obey the law (`obedience` sees to that). The coefficients
are enclosed by taking the step in power series with ball coefficients, τ = s and τ = [0, step] + s, over a cell. No
mathematics per scheme is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.graph.arithmetics.balls import ball, ball_between
from holdfast.graph.arithmetics.taylor import Form, range_of
from holdfast.graph.nodes import operation_count
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.block import BlockFlow
from holdfast.stability.proof.cells import Cell, Cutter
from holdfast.stability.proof.chart import Charts, shape_of
from holdfast.stability.proof.enclosure import Ball, Box, ball_matrix
from holdfast.stability.proof.granted.obedience import require_vanishing
from holdfast.stability.proof.step_series import Coefficients, StepSeries
from holdfast.stability.proof.work import LEAST_CELL

EXTRA = 2  # Taylor coefficients taken at τ = 0 before the one over the whole step
ROUGH = 1  # the order of the forms that give the last of them, which counts little


def terms_of(scheme: RungeKutta) -> int:
    """How many terms flint's series must keep for this scheme."""
    return scheme.order + EXTRA + 2


class DefectModel:
    """Encloses the scaled defect Lᵀc of one block over boxes, where P = L Lᵀ.

    Every method must be called with flint's precision set (`holdfast.graph.arithmetics.arithmetic.precision`).
    """

    def __init__(self, motion: BlockFlow, scheme: RungeKutta, step: float, factor: np.ndarray) -> None:
        self.motion, self.scheme = motion, scheme
        self._factor = ball_matrix(factor.T)  # Lᵀ
        self._cutter, self._series = Cutter(motion), StepSeries(motion, scheme)
        self._charts = Charts(self._cutter)
        self._start, self._whole = ball_between(0.0, 0.0), ball_between(0.0, step)

    def cell(self, box: Box, limits: Sequence[Ball]) -> Cell | None:
        """The part of a box where deviations and extras lie within their limits; None where there is none."""
        return self._cutter.cell(box, limits)

    def bending(self, cell: Cell) -> int | None:
        """The variable along which the program bends most within a cell; None where it is straight."""
        return self._cutter.bending(cell)

    @cached_property
    def _operations(self) -> int:
        """Of one step: the rates at every stage, and the deviations after it."""
        return len(self.scheme.weights) * operation_count(self.motion.moving) + operation_count(self.motion.psi)

    def cost(self, cell: Cell, *, whole: bool = True) -> float:
        """Units of work of enclosing a cell: a product of every two terms at each operation; first in rough forms,
        which is all where these are not defined."""
        shape = shape_of(cell)
        rough = shape.of_order(ROUGH)
        pairs = sum(len(row) for used in ((rough, shape) if whole else (rough,)) for row in used.products)
        return LEAST_CELL + self._operations * pairs

    def enclosed(self, cell: Cell) -> list[Any]:
        """Lᵀc over the cell as Taylor forms; their variables are those of its chart."""
        places = self._charts.places(cell)
        far = self._series.defect([_rough(place) for place in places], self._whole)  # fails first, if at all
        near = self._series.defect(places, self._start)
        require_vanishing(self.scheme.order, near)
        coefficients = self._expansion(near, far)
        return [
            sum((self._factor[i, j] * form for j, form in enumerate(coefficients)), ball(0))
            for i in range(self._factor.nrows())
        ]

    def _expansion(self, near: Coefficients, far: Coefficients) -> list[Any]:
        """c₁ + c₂ τ + ... + c_last(ξ) τ^EXTRA over τ in [0, step], from coefficients around 0 and around [0, step]."""
        first = self.scheme.order + 1
        total = [range_of(form) for form in far(first + EXTRA)]
        for k in reversed(range(EXTRA)):
            total = [a + self._whole * b for a, b in zip(near(first + k), total, strict=True)]
        return total


def _rough(place: Any) -> Any:
    return place.over(place.monomials.of_order(ROUGH)) if isinstance(place, Form) else place
