"""One step as a map of the deviations: after = M before + what is left, over boxes of states at the rows of a run.

    ψ(Φ(x)) = M ψ(x) + d(x),      d(x) ∈ m ± r      for every x of the box

holds for any matrix M; it is chosen so that the parts linear in x cancel. No law is needed, nor that M contracts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.cells import Array, Cells
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.step import Stages, variables_of

AT_ONCE = 512  # boxes: more would need memory for nothing
UNIT = 2.0**-50  # of a few operations on doubles, beside their terms
PADDING = 1 + 1e-9
LEAST_LOST = 1e-9  # of what most is lost of


@dataclass(frozen=True, eq=False)
class StepRanges:
    """M, m and r of a step from each box, and the largest |ψ| in it."""

    matrices: Array  # [box, after, before]
    middle: Array  # [box, deviation]
    radius: Array
    reach: Array

    def chosen(self, which: Array) -> StepRanges:
        return StepRanges(self.matrices[which], self.middle[which], self.radius[which], self.reach[which])


class StepMap:
    """The deviations before and after one step, as forms in the states of a box."""

    def __init__(self, flow: TubeFlow, scheme: RungeKutta, step: float | None, shape: CellMonomials) -> None:
        """Without a `step` each box has a length of its own."""
        self.flow, self.shape = flow, shape
        tape = Recorder(1, shape)
        tau: Value = tape.input([len(flow.variables) + 1]) if step is None else Fraction(step)
        taken = Stages(flow, scheme, tape, tau, variables_of(flow))
        before = tape.graph(flow.inputs, [taken.time, *taken.state], flow.psi)
        stages: list[list[Value]] = []
        for node, row in zip(scheme.nodes, scheme.stages, strict=True):
            stages.append(taken.rates(taken.moment(node), taken.advanced(row, stages)))
        after = taken.advanced(scheme.weights, stages)
        later = tape.graph(flow.inputs, [taken.moment(Fraction(1)), *after], flow.psi)
        self.tape = FormTape(tape, [tape.number(value) for value in (*before, *later)])

    def ranges(
        self, boxes: Cells, owners: Array, shares: Sequence[float], sizes: Array, lengths: Array | None = None
    ) -> list[StepRanges]:
        """The step of each box, with M found in several ways, and last with the best of them at each row.

        The ways differ by the share of the largest singular value below which directions count as none, and by what is
        left open by the linear parts. Radii are judged beside `sizes`. Boxes of one owner (where two cells of a tube
        meet) have one M. `lengths` [box, middle and reach] are of the steps, where each has its own.
        """
        parts = [self._forms(boxes, slice(k, k + AT_ONCE), lengths) for k in range(0, len(boxes), AT_ONCE)]
        before, after, off_before, off_after = (np.concatenate(part) for part in zip(*parts, strict=True))
        first = np.searchsorted(owners, owners)  # owners are in order
        linear = [self.shape.place[(1 + i,)] for i in range(len(self.flow.variables))]
        with np.errstate(all="ignore"):
            largest = np.broadcast_to(off_before.max(axis=1, keepdims=True), off_before.shape)
            weights = [largest, np.maximum(off_before, LEAST_LOST * largest)]
        found = []
        for share in shares:
            for lost in weights:
                matrices = _maps(before[..., linear], after[..., linear], lost, share)[first]
                found.append(self._left(matrices, before, after, off_before, off_after))
        with np.errstate(all="ignore"):
            worst = np.array([(one.radius / sizes).max(axis=1) for one in found])
        starts = np.flatnonzero(np.diff(owners, prepend=-1))
        best = np.maximum.reduceat(worst, starts, axis=1).argmin(axis=0)
        chosen = best[np.searchsorted(owners[starts], owners)]
        return [*found, _mixed(found, chosen)] if len(found) > 1 else found

    def _left(self, matrices: Array, before: Array, after: Array, off_before: Array, off_after: Array) -> StepRanges:
        """What is left of a step beside the matrices."""
        sizes = np.abs(before).sum(axis=-1) + off_before
        with np.errstate(all="ignore"):
            left = after - matrices @ before
            weights = np.abs(matrices)
            lost = np.abs(after).sum(axis=-1) + (weights @ np.abs(before).sum(axis=-1)[..., None])[..., 0]
            radius = np.abs(left[..., 1:]).sum(axis=-1) + off_after + (weights @ off_before[..., None])[..., 0]
            radius = radius * PADDING + UNIT * (len(self.flow.psi) + 4) * lost
        radius = np.where(np.isfinite(radius) & np.isfinite(left[..., 0]), radius, np.inf)
        return StepRanges(matrices, np.nan_to_num(left[..., 0]), radius, sizes * PADDING)

    def _forms(self, boxes: Cells, part: slice, lengths: Array | None) -> tuple[Array, Array, Array, Array]:
        flow, count = self.flow, len(self.flow.psi)
        chosen = np.arange(len(boxes))[part]
        data = boxes.chosen(chosen).inputs(self.shape, flow.places, flow.timed)
        if lengths is not None:
            data = with_lengths(data, lengths[chosen], self.shape, flow)
        with np.errstate(all="ignore"):
            found = self.tape(data)
        polynomials, off = found.polynomials, np.where(np.isfinite(found.remainders), found.remainders, np.inf)
        return polynomials[:, :count], polynomials[:, count:], off[:, :count], off[:, count:]


def with_lengths(data: Array, lengths: Array, shape: CellMonomials, flow: TubeFlow) -> Array:
    """The inputs of cells behind the length of a step from each: its middle, and its reach times ξ."""
    tau = np.zeros((len(data), 1, data.shape[2]))
    tau[:, 0, 0], tau[:, 0, shape.place[(len(flow.variables) + 1,)]] = lengths.T
    return np.concatenate([tau, data], axis=1)


def _mixed(found: Sequence[StepRanges], chosen: Array) -> StepRanges:
    """Of each box, one of several."""
    rows = np.arange(len(chosen))
    matrices, middle, radius = (
        np.array([getattr(one, name) for one in found])[chosen, rows] for name in ("matrices", "middle", "radius")
    )
    return StepRanges(matrices, middle, radius, found[0].reach)


def _maps(before: Array, after: Array, lost: Array, share: float) -> Array:
    """The matrices that take the linear parts from before to after, by least squares; 0 where there are none.

    Of those that do it equally well (where deviations repeat each other), the one that takes least of what is lost.
    """
    with np.errstate(all="ignore"):
        scaled = before / lost[..., None]
    sound = np.isfinite(scaled).all(axis=(1, 2)) & np.isfinite(after).all(axis=(1, 2))
    found = np.zeros((len(before), after.shape[1], before.shape[1]))
    with contextlib.suppress(np.linalg.LinAlgError):  # any matrix will do, this one too
        found[sound] = after[sound] @ np.linalg.pinv(scaled[sound], rcond=share) / lost[sound][:, None, :]
    return found
