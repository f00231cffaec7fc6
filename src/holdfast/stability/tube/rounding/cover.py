"""Rounding over the cells of a tube: three ways of bounding it, the quickest first, and cells cut in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.errors import BadRequest
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.work import SearchWork
from holdfast.stability.tube.cells import PARTS, Array, Cells
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.rounding.by_slopes import RoundingSlopes
from holdfast.stability.tube.rounding.tape import Factor, RoundingTape

MOST_MONOMIALS = 300  # of forms worth trying: beyond, a narrower tube is cheaper
NATIVE = 1.1e-4  # units of work of one product, for each pair of terms in s: 0.1 to 0.15 ns where it was fitted
CUTS = 7  # of a cell in time, where rounding is not bounded otherwise
GAIN = 0.7  # a cell whose halves are not below this part of it is not cut again
FINER = (2, 1)  # order of the forms where cells are cut, and weight of the states in it
SLOPES = (3, 2)  # the same for slopes, which vary along the tube more than across it


def units_of(tape: FormTape) -> float:
    """Units of work of one cell."""
    return NATIVE * tape.products * (tape.terms * (tape.terms + 1) / 2 + 3)


class RoundingCover:
    """Bounds ‖Lᵀ(error of ψ)‖ of some blocks over cells; `clock` is what times may be wrong by."""

    def __init__(
        self, flow: TubeFlow, scheme: RungeKutta, step: float, factors: Sequence[Factor], clock: float,
        work: SearchWork,
    ) -> None:  # fmt: skip
        self.flow, self.scheme, self.step, self.factors, self.work = flow, scheme, step, factors, work
        self._clock = clock
        self._tapes: dict[tuple[CellMonomials, bool], RoundingTape] = {}
        self._slopes: list[RoundingSlopes] | None = None

    def bounds(self, cells: Cells, shape: CellMonomials, enough: Array) -> Array:
        """For each block, over all cells; they are cut in time where it is more than enough and that helps."""
        worst, before = np.zeros(len(enough)), np.full((len(cells), len(enough)), np.inf)
        for cut in range(CUTS + 1):
            bounds = self._best(cells, shape, enough)
            gains = ~(bounds > GAIN * before) | ~np.isfinite(bounds)
            poor: Array = np.any(~(bounds <= enough) & gains, axis=1)
            if cut == CUTS or 2 * poor.sum() * self._units > self.work.left:
                poor[:] = False
            worst = np.maximum(worst, bounds[~poor].max(axis=0, initial=0.0))
            if not poor.any():
                break
            cells, before = cells.chosen(poor).halved(), np.concatenate([bounds[poor]] * 2)
            finer = self.flow.shape(*FINER)
            shape = finer if len(finer) <= MOST_MONOMIALS else shape
        return worst

    def _best(self, cells: Cells, shape: CellMonomials, enough: Array) -> Array:
        """The least of three bounds, each asked for where those before it are not enough.

        Errors added up; each rounding by its slope; and a symbol for each operation of a stage, which also holds where
        the equations are nearly singular.
        """
        bounds = self._added_up(cells, shape, fine=False)
        ways: list[Callable[[Cells], Array]] = [self._by_slopes, lambda some: self._added_up(some, shape, fine=True)]
        for way in ways:
            poor: Array = np.any(~(bounds <= enough), axis=1)
            if poor.any():
                bounds[poor] = np.fmin(bounds[poor], way(cells.chosen(poor)))
        return bounds

    def _added_up(self, cells: Cells, shape: CellMonomials, *, fine: bool) -> Array:
        if (shape, fine) not in self._tapes:
            self._tapes[shape, fine] = RoundingTape(self.flow, self.scheme, self.step, shape, fine=fine)
        model = self._tapes[shape, fine]
        return self._worst(cells, shape, model.tape, lambda data: model.bounds(data, self.factors))

    def _by_slopes(self, cells: Cells) -> Array:
        """No bound where slopes are not followed."""
        shape = self.flow.shape(*SLOPES)
        if self._slopes is None:
            self._slopes = []
            try:
                made = RoundingSlopes(self.flow, self.scheme, self.step, shape, self.factors, self._clock)
                self._slopes.append(made)
            except BadRequest:
                pass
        found = np.full((len(cells), len(self.factors)), np.inf)
        for model in self._slopes:
            found = self._worst(cells, shape, model.tape, model.bounds)
        return found

    def _worst(self, cells: Cells, shape: CellMonomials, tape: FormTape, bounds: Callable[[Array], Array]) -> Array:
        """The bounds of each cell, over all parts of its speeds; the work is counted."""
        found = np.zeros((len(cells), len(self.factors)))
        for part in cells.by_speed():
            data = part.inputs(shape, self.flow.places, self.flow.timed)
            data[:, 0, -1] = self._clock
            self.work.charge(len(cells) * units_of(tape))
            found = np.maximum(found, bounds(data))
        return found

    @property
    def _units(self) -> float:
        """Of one cell, by the dearest way so far."""
        models = [*self._tapes.values(), *(self._slopes or ())]
        return max(units_of(model.tape) for model in models) * (PARTS if self.flow.speeds else 1)
