"""The defect of one step, enclosed: how much a scheme adds to the deviations beyond what the law asks.

    d(τ) = ψ(Φ_τ(x), t + τ) − R(τH) ψ(x, t) = c τ^(p+1),         c ∈ c₁ + c₂ τ + c₃(ξ) τ²

where c_k is the (p+k)-th Taylor coefficient of d, at τ = 0 and, for the last, at ξ in [0, step]: a scheme of order p
agrees with the flow to that order. The coefficients are enclosed by taking the step in power series with ball
coefficients, τ = s and τ = [0, step] + s, over a cell. No mathematics per scheme is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from holdfast.graph.arithmetic import ball
from holdfast.schemes.runge_kutta import RungeKutta
from holdfast.stability.block import Motion
from holdfast.stability.cells import Cell, Cutter, common
from holdfast.stability.enclosure import Ball, Box, ball_between, ball_matrix, column, entries
from holdfast.stability.step_series import Changes, Step, StepSeries

EXTRA = 2  # Taylor coefficients taken at τ = 0 before the one over the whole step
CURVED = 1  # free directions up to which cells are expanded to second order; measured: more do not pay


def terms_of(scheme: RungeKutta) -> int:
    """How many terms flint's series must keep for this scheme."""
    return scheme.order + EXTRA + 2


class DefectModel:
    """Encloses the scaled defect Lᵀc of one block over boxes, where P = L Lᵀ.

    Every method must be called with flint's precision set (`holdfast.graph.arithmetic.precision`).
    """

    def __init__(self, motion: Motion, scheme: RungeKutta, step: float, factor: np.ndarray) -> None:
        self.motion, self.scheme = motion, scheme
        self.factor = ball_matrix(factor.T)  # Lᵀ
        self._cutter, self._series = Cutter(motion), StepSeries(motion, scheme)
        self._moments = [ball_between(0.0, 0.0), ball_between(0.0, step)]

    def cell(self, box: Box, limits: Sequence[Ball]) -> Cell | None:
        """The part of a box where deviations and extras lie within their limits; None where there is none."""
        return self._cutter.cell(box, limits)

    def enclosed(self, cell: Cell) -> tuple[list[Ball], dict[int, list[Ball]]]:
        """Lᵀc over the cell, and its slopes if they were needed; in a thick tube, more cells evaluated plainly win."""
        return (self.plain(cell), {}) if cell.thick or not cell.box else self.centred(cell)

    def plain(self, cell: Cell) -> list[Ball]:
        """Lᵀc over the cell by direct evaluation."""
        return self._scaled(self._expansion([Changes(self._series, step, {}).value for step in self._steps(cell.box)]))

    def centred(self, cell: Cell) -> tuple[list[Ball], dict[int, list[Ball]]]:
        """Lᵀc over the cell in Taylor form, and its slopes.

            c(x₀ + N u_N + T u) ∈ c(x₀ + N u_N) + c'(x₀ + N u_N)[T u] + ½ c''(X)[T u, T u]

        where u are the offsets along the program and u_N the small ones across it. Further wide offsets, in a thick
        tube, are taken to first order over the cell.
        """
        wide = cell.wide
        curved = [k for k in wide if k < cell.along <= CURVED]
        further = [k for k in wide if k not in curved]
        small = [k for k in range(len(cell.offset)) if k not in wide]
        thin = [
            centre + sum((cell.basis[i, k] * cell.offset[k] for k in small), ball(0))
            for i, centre in enumerate(cell.centre)
        ]
        directions = {k: [cell.basis[i, k] for i in range(len(cell.box))] for k in wide}
        at_centre = [Changes(self._series, step, directions) for step in self._steps(thin)]
        over_cell = [
            Changes(self._series, step, directions) for step in self._steps(_reached(cell, thin, curved, further))
        ]
        total = self._scaled(self._expansion([change.value for change in at_centre]))
        slopes = {}
        for k in wide:
            where = at_centre if k in curved else over_cell
            slopes[k] = self._scaled(self._expansion([partial(change.slope, k) for change in where]))
            total = [a + b * cell.offset[k] for a, b in zip(total, slopes[k], strict=True)]
        for k, j in combinations_with_replacement(curved, 2):
            bend = self._scaled(self._expansion([partial(change.bend, k, j) for change in over_cell]))
            product = cell.offset[k] * cell.offset[j]
            product = product if k != j else product.nonnegative_part() / 2
            total = [a + b * product for a, b in zip(total, bend, strict=True)]
        return total, slopes

    def _scaled(self, coefficients: list[Ball]) -> list[Ball]:
        return entries(self.factor * column(coefficients))

    def _expansion(self, coefficients: Sequence[Callable[[int], list[Ball]]]) -> list[Ball]:
        """c₁ + c₂ τ + ... + c_last(ξ) τ^EXTRA over τ in [0, step], from coefficients around 0 and around [0, step]."""
        at_zero, over_step = coefficients
        whole, first = self._moments[1], self.scheme.order + 1
        total = over_step(first + EXTRA)
        for k in reversed(range(EXTRA)):
            total = [a + whole * b for a, b in zip(at_zero(first + k), total, strict=True)]
        return total

    def _steps(self, box: Sequence[Ball]) -> list[Step]:
        """One step around τ = 0, and one around all of [0, step]."""
        return [self._series.step(self._cutter.full(box), moment) for moment in self._moments]


def _reached(cell: Cell, thin: list[Ball], curved: Sequence[int], further: Sequence[int]) -> list[Ball]:
    """A box around the path x₀ + N u_N → x₀ + N u_N + T u → x, whose corners need not lie in the cell's own box.

    The second corner is x less its `further` wide offsets.
    """
    reached = []
    for i, (box, start) in enumerate(zip(cell.box, thin, strict=True)):
        around = box.union(start)
        if curved and further:
            back = box - sum((cell.basis[i, k] * cell.offset[k] for k in further), ball(0))
            forth = start + sum((cell.basis[i, k] * cell.offset[k] for k in curved), ball(0))
            around = around.union(common(back, forth))
        reached.append(around)
    return reached
