"""‖Lᵀc‖ over a batch of cells: bounds from above and below, and how much each variable of the box moves it."""

from __future__ import annotations

import numpy as np

from holdfast.stability.verifier.numbers.forms import LEAST, Array, Form, Space, combination, space
from holdfast.stability.verifier.schemes import Tableau
from holdfast.stability.verifier.steps.cells import Cells, Cutter
from holdfast.stability.verifier.steps.charts import ChartCells
from holdfast.stability.verifier.steps.cover import small
from holdfast.stability.verifier.steps.probe import middle_one, probed
from holdfast.stability.verifier.steps.step import Motion, coefficients, nearby, without_rest

ORDERS = {4: 60, 3: 220}  # of the forms that give the defect, with the most monomials that each may have: more take
# longer than the smaller cells that they save (pendulum, skate, portfolio and quadrotor measured); else LOWEST
LOWEST = 2
FAR = 2  # that of the forms that give its last part, with the place within the step as one more variable
ALIKE = 0.99  # of the largest share of its width through which a direction moves a variable: others count as much
BEYOND = 2.0  # times its width: a variable through which a direction moves further does not hold it
PIECES = 8  # of a step over which the last part of a defect is taken, where that alone is in the way of a small cell
HOPE = 0.9  # of the claim: what a defect without its last part is below, where that part is in the way


class DefectJudge:
    """Judges cells of one block against what is claimed of its defect over a region."""

    def __init__(
        self, motion: Motion, tableau: Tableau, step: float, factor: list[list[float]], claimed: float, region: Array,
        cutter: Cutter,
    ) -> None:  # fmt: skip
        self.motion, self.tableau, self.step, self.claimed, self._cutter = motion, tableau, step, claimed, cutter
        self._turned, self._region = np.array(factor).T, region

    def __call__(self, cells: Cells) -> tuple[Array, Array, Array]:
        bounds, least, shares = self._found(cells)
        poor = np.flatnonzero(bounds > self.claimed)
        if len(poor):
            row = middle_one(poor, bounds)
            gained = probed(self._bounds, cells.low[row], cells.high[row], float(bounds[row]))
            if gained.any():
                wide = cells.high - cells.low
                shares[poor] = gained * wide[poor] / np.maximum(wide[row], LEAST)
        return bounds, least, shares

    def _bounds(self, low: Array, high: Array) -> Array:
        bounds = np.zeros(len(low))
        alive, cells = self._cutter.cells(low, high)
        if len(cells):
            bounds[alive] = self._found(cells)[0]
        return bounds

    def _found(self, cells: Cells) -> tuple[Array, Array, Array]:
        near, far = self._spaces(cells)
        with np.errstate(all="ignore"):
            sound = np.isfinite(np.stack([form.r[:, 0] for form in cells.values(near).values()])).all(axis=0)
            if sound.all():
                return self._judged(cells, near, far)
            bounds, least = np.full(len(cells), np.inf), np.zeros(len(cells))
            shares = cells.bends.copy() if isinstance(cells, ChartCells) else np.full(cells.low.shape, np.nan)
            if sound.any():
                bounds[sound], least[sound], shares[sound] = self._judged(cells.chosen(sound), near, far)
        return bounds, least, shares

    def _spaces(self, cells: Cells) -> tuple[Space, Space]:
        weights, order = cells.weights(), self.tableau.order
        near = next(
            (found for degree, most in ORDERS.items() if (found := space(weights, degree, order + 3)).size <= most),
            space(weights, LOWEST, order + 3),
        )
        return near, space((*weights, 1), FAR, order + 4)

    def _judged(self, cells: Cells, near: Space, far: Space) -> tuple[Array, Array, Array]:
        order, step, claimed = self.tableau.order, self.step, self.claimed
        close = nearby(self.motion, self.tableau, cells.values(near))
        factor = np.broadcast_to(self._turned, (len(cells), *self._turned.shape))
        hopes, _, shares = judged(combination(factor, without_rest(close, order, step)), cells)
        tiny = small(cells, self._region)
        if (hopes > claimed).all() and not tiny.any():  # each is to be cut in any case
            return hopes, np.zeros_like(hopes), shares
        rough = cells.values(far)
        found = coefficients(self.motion, self.tableau, step, close, rough)
        bounds, least, shares = judged(combination(factor, found), cells)
        cramped = tiny & (bounds > claimed) & (hopes <= HOPE * claimed)
        if cramped.any():  # not to be helped by cutting the cell: the step is cut
            found = coefficients(self.motion, self.tableau, step, close, rough, PIECES)
            bounds, least, shares = judged(combination(factor, found), cells)
        return bounds, least, shares


def judged(forms: list[Form], cells: Cells) -> tuple[Array, Array, Array]:
    """Bounds of the norm of forms from above and below, and how much each variable of the box moves it."""
    ends = [form.range() for form in forms]
    sizes = [np.maximum(np.abs(low), np.abs(high)) for low, high in ends]
    leasts = [np.where(low > 0, low, np.where(high < 0, -high, 0.0)) for low, high in ends]
    bounds = np.sqrt(sum(size**2 for size in sizes)) * (1 + 1e-12)
    least = np.sqrt(sum(size**2 for size in leasts)) * (1 - 1e-12)
    return np.where(np.isnan(bounds), np.inf, bounds), np.nan_to_num(least), _shares(forms, cells)


def _shares(forms: list[Form], cells: Cells) -> Array:
    """How much each variable of the box adds to the spread of the forms.

    A direction of the cell moves a form by the monomials in which it stands; a remainder, whose terms are not known, is
    shared out like those of the highest degree. Each direction is laid to the variables that it moves through most of
    their width: cutting these makes the cell shorter in this direction, cutting others does little. A direction that
    leaves the box far behind in a variable is not held by that one, but by others.
    """
    chosen, count = forms[0].space, cells.basis.shape[2]
    degrees = np.array(chosen.exponents)[:, :count]
    highest = chosen.by_degree[-1][:, None] * degrees
    moved = np.zeros((len(cells), count))
    for form in forms:
        size = np.abs(form.c[:, :, 0])
        last = size @ highest
        rest = form.r[:, :1] * last / np.maximum(last.sum(axis=1, keepdims=True), LEAST)
        moved += size @ degrees + rest
    moves = np.abs(cells.basis) / np.maximum((cells.high - cells.low) / 2, LEAST)[:, :, None]
    reach = np.minimum(np.minimum(moves, 1.0), BEYOND / np.maximum(moves, LEAST))
    most = reach >= ALIKE * reach.max(axis=1, keepdims=True, initial=0.0)
    return np.einsum("njk,nk->nj", np.where(most, reach, 0.0), moved)
