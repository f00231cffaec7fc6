"""A tube cut in time until the bound of the defect over it is near what is attained: all blocks at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.engine.forms.evaluate import Forms, FormTape
from holdfast.stability.tube.cells import Array, Cells, Centre

PROBED = 8  # short pieces by which a tube is tried
NEAR = 1.5  # a bound within this factor of what is attained is not bettered any more
FLOOR = 0.95  # nor one below this part of what cannot be bettered elsewhere
GAIN = 0.9  # a piece whose halves are not below this part of it is left as it is
SHORTEST = 0.2  # of a step
ROUNDED = 1e-12  # of sums of a few hundred doubles, beside their terms

Factor = tuple[Sequence[int], Array]  # places of a block's deviations, and L


@dataclass(frozen=True, eq=False)
class TubeCover:
    """Cells with a bound of ‖Lᵀc‖ for each block, and values that are attained."""

    cells: Cells
    bounds: Array  # [cell, block]
    attained: Array  # [block]
    evaluated: int

    def coefficient(self) -> Array:
        return np.asarray(self.bounds.max(axis=0))

    def unbounded(self) -> list[float]:
        """Where the pieces begin that have no bound in any block, the shortest first."""
        spans = self.cells.spans[~np.isfinite(self.bounds).any(axis=1)]
        return [float(start) for start in spans[np.argsort(np.ptp(spans, axis=1), kind="stable"), 0]]


class TubeSearch:
    """Judges pieces of one tube, and cuts the worst."""

    def __init__(
        self, tape: FormTape, centre: Centre, places: tuple[int, ...], timed: bool, step: float,
        factors: Sequence[Factor], least: Array,
    ) -> None:  # fmt: skip
        """`least` are bounds of ‖Lᵀc‖ that are as good as any smaller one: what the run itself shows."""
        self._tape, self._centre, self._places, self._timed = tape, centre, places, timed
        self._step, self._factors, self._least = step, factors, least

    def probe(self, width: float, steps: float, also: Sequence[float] = ()) -> Array:
        """Bounds of ‖Lᵀc‖ over a few pieces of so many steps, and those that begin at some times [piece, block]."""
        times, length = self._centre.run.times, steps * self._step
        last = max(times[0], times[-1] - length)
        start = np.array([*np.linspace(times[0], last, PROBED), *(min(begin, last) for begin in also)])
        return self._judged(self._centre.cells(np.column_stack([start, start + length]), width))[0]

    def bounds(self, spans: Array, width: float) -> Array:
        """Bounds of ‖Lᵀc‖ over pieces of time [piece, block]."""
        return self._judged(self._centre.cells(spans, width))[0]

    def made(self, width: float, first: int, most: int) -> TubeCover:
        """The cover of a tube of this width, from so many pieces on, with at most so many cells evaluated.

        It ends where each block has a piece that no cutting gives a bound.
        """
        times = self._centre.run.times
        ends = np.linspace(times[0], times[-1], first + 1)
        cells = self._centre.cells(np.column_stack([ends[:-1], ends[1:]]), width)
        bounds, seen = self._judged(cells)
        evaluated, done = len(cells), np.zeros(len(cells), bool)
        while True:
            attained = np.maximum(seen.max(axis=0), self._least)
            settled = np.where(np.isfinite(bounds) & done[:, None], bounds, 0.0).max(axis=0)
            goal = np.maximum(NEAR * attained, FLOOR * settled)
            lost = (~np.isfinite(bounds) & done[:, None]).any(axis=0)
            worst = self._worst(cells, np.where(lost, 0.0, bounds / goal).max(axis=1), ~done, (most - evaluated) // 2)
            if not worst.any():
                return TubeCover(cells, bounds, attained, evaluated)
            start, end = cells.spans[worst].T
            middle = start + (end - start) / 2
            new = self._centre.cells(
                np.concatenate([np.column_stack([start, middle]), np.column_stack([middle, end])]), width
            )
            fresh, also = self._judged(new)
            evaluated += len(new)
            before = np.concatenate([bounds[worst]] * 2)
            gains = ((fresh > goal) & ~(fresh > GAIN * before)).any(axis=1) | ~np.isfinite(fresh).all(axis=1)
            stuck = ~gains | (np.ptp(new.spans, axis=1) < SHORTEST * self._step)
            order = np.argsort(np.concatenate([cells.spans[~worst, 0], new.spans[:, 0]]), kind="stable")
            cells = Cells.joined([cells.chosen(~worst), new])
            bounds, seen = (np.concatenate([x[~worst], y])[order] for x, y in ((bounds, fresh), (seen, also)))
            done = np.concatenate([done[~worst], stuck])[order]

    def _worst(self, cells: Cells, ratios: Array, which: Array, most: int) -> Array:
        """Those to be cut: all that are furthest; but of pieces within a step that still have no bound only a few, to
        see soon whether cutting helps them at all.
        """
        short = which & ~np.isfinite(ratios) & (np.ptp(cells.spans, axis=1) < self._step)
        few = short & (np.cumsum(short) <= PROBED)
        return _furthest(ratios, few if few.any() else which, most)

    def inputs(self, cells: Cells) -> Array:
        """Cells as the tape takes them: ξ + s, time, states; s in steps, so that no unit of time matters."""
        monomials = self._tape.monomials
        data = cells.inputs(monomials, self._places, self._timed)
        tau = np.zeros((len(cells), 1, data.shape[2]))
        tau[:, 0, 0] = tau[:, 0, monomials.place[(len(self._places) + 1,)]] = self._step / 2
        tau[:, 0, -3] = self._step
        return np.concatenate([tau, data], axis=1)

    def _judged(self, cells: Cells) -> tuple[Array, Array]:
        """Bounds of ‖Lᵀc‖ [cell, block], and values at the centres."""
        every = [self._judged_part(part) for part in cells.by_speed()]
        return np.max([bound for bound, _ in every], axis=0), np.max([seen for _, seen in every], axis=0)

    def _judged_part(self, cells: Cells) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            found = self._tape(self.inputs(cells), self._tape.terms - 1)
            parts = [self._bounded(found, *factor) for factor in self._factors]
        return np.array([bound for bound, _ in parts]).T, np.array([seen for _, seen in parts]).T

    def _bounded(self, found: Forms, places: Sequence[int], factor: Array) -> tuple[Array, Array]:
        """Each component of Lᵀc over the whole cell and all ξ, since each has a ξ of its own; then the norm."""
        c, even = found.polynomials[:, list(places)], self._tape.monomials.even
        turned, sizes = np.einsum("ij,cim->cjm", factor, c), np.einsum("ij,cim->cjm", np.abs(factor), np.abs(c))
        rest = np.einsum("ij,ci->cj", np.abs(factor), found.remainders[:, list(places)])
        middle = turned[..., 0] + 0.5 * turned[..., even].sum(axis=-1)
        spread = np.abs(turned[..., 1:]).sum(axis=-1) - 0.5 * np.abs(turned[..., even]).sum(axis=-1)
        reach = np.abs(middle) + spread + rest * (1 + ROUNDED) + ROUNDED * sizes.sum(axis=-1)
        scale = self._step ** (self._tape.terms - 1)  # the coefficients are those of a step
        bound = np.linalg.norm(reach, axis=1) * (1 + ROUNDED) / scale
        seen = np.linalg.norm(turned[..., 0], axis=1) / scale
        return np.where(np.isfinite(bound), bound, np.inf), np.where(np.isfinite(seen), seen, 0.0)


def _furthest(ratios: Array, which: Array, most: int) -> Array:
    """Of these, those that are above 1: at most so many, the largest first."""
    chosen = np.flatnonzero(which & ~(ratios <= 1))
    chosen = chosen[np.argsort(-np.nan_to_num(ratios[chosen], nan=np.inf, posinf=np.inf), kind="stable")]
    found = np.zeros(len(ratios), bool)
    found[chosen[: max(0, most)]] = True
    return found
