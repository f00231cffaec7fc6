"""One step as a map of the deviations: after = M before + what is left, over boxes of states at the rows of a run.

    ψ(Φ(x)) = M ψ(x) + d(x),      d(x) ∈ m ± r      for every x of the box

holds for any matrix M; it is chosen so that the parts linear in x cancel. No law is needed, nor that M contracts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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

    def __init__(self, flow: TubeFlow, scheme: RungeKutta, step: float, shape: CellMonomials) -> None:
        self.flow, self.shape = flow, shape
        tape = Recorder(1, shape)
        taken = Stages(flow, scheme, tape, Fraction(step), variables_of(flow))
        before = tape.graph(flow.inputs, [taken.time, *taken.state], flow.psi)
        stages: list[list[Value]] = []
        for node, row in zip(scheme.nodes, scheme.stages, strict=True):
            stages.append(taken.rates(taken.moment(node), taken.advanced(row, stages)))
        after = taken.advanced(scheme.weights, stages)
        later = tape.graph(flow.inputs, [taken.moment(Fraction(1)), *after], flow.psi)
        self.tape = FormTape(tape, [tape.number(value) for value in (*before, *later)])

    def ranges(self, boxes: Cells, owners: Array, shares: Sequence[float]) -> Iterator[StepRanges]:
        """For each share of the largest singular value below which directions count as none: the step of each box.

        Boxes of one owner (where two cells of a tube meet) have one M.
        """
        parts = [self._forms(boxes, slice(k, k + AT_ONCE)) for k in range(0, len(boxes), AT_ONCE)]
        before, after, off_before, off_after = (np.concatenate(part) for part in zip(*parts, strict=True))
        first = np.searchsorted(owners, owners)  # owners are in order
        linear = [self.shape.place[(1 + i,)] for i in range(len(self.flow.variables))]
        sizes = np.abs(before).sum(axis=-1) + off_before
        for share in shares:
            matrices = _maps(before[..., linear], after[..., linear], share)[first]
            with np.errstate(all="ignore"):
                left = after - matrices @ before
                weights = np.abs(matrices)
                lost = np.abs(after).sum(axis=-1) + (weights @ np.abs(before).sum(axis=-1)[..., None])[..., 0]
                radius = np.abs(left[..., 1:]).sum(axis=-1) + off_after + (weights @ off_before[..., None])[..., 0]
                radius = radius * PADDING + UNIT * (len(self.flow.psi) + 4) * lost
            radius = np.where(np.isfinite(radius) & np.isfinite(left[..., 0]), radius, np.inf)
            yield StepRanges(matrices, np.nan_to_num(left[..., 0]), radius, sizes * PADDING)

    def _forms(self, boxes: Cells, part: slice) -> tuple[Array, Array, Array, Array]:
        flow, count = self.flow, len(self.flow.psi)
        chosen = np.arange(len(boxes))[part]
        data = boxes.chosen(chosen).inputs(self.shape, flow.places, flow.timed)
        with np.errstate(all="ignore"):
            found = self.tape(data)
        polynomials, off = found.polynomials, np.where(np.isfinite(found.remainders), found.remainders, np.inf)
        return polynomials[:, :count], polynomials[:, count:], off[:, :count], off[:, count:]


def _maps(before: Array, after: Array, share: float) -> Array:
    """The matrices that take the linear parts from before to after, by least squares; 0 where there are none."""
    sound = np.isfinite(before).all(axis=(1, 2)) & np.isfinite(after).all(axis=(1, 2))
    found = np.zeros((len(before), after.shape[1], before.shape[1]))
    with contextlib.suppress(np.linalg.LinAlgError):  # any matrix will do, this one too
        found[sound] = after[sound] @ np.linalg.pinv(before[sound], rcond=share)
    return found
