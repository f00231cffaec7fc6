"""Starts that stay in a tube: how far another start may be from this one, so that its whole run is proved to stay.

    u_{k+1} = C_k u_k + g_k + r_k,      |r_k| ≤ R_k + rounding        while |u_k| ≤ box_k

where u is the distance of a run from the rows of this one, C_k and R_k are those of the form of one step over a box
around a row, and g_k is how far the form's centre is from the next row. Enclosed in balls as a parallelepiped of the
start and a box in a frame that is turned as the flow turns (Lohner 1987):

    u_k ∈ A_k [−1, 1]ⁿ + Q_k β_k,    β_{k+1} = (Q⁻¹_{k+1} C_k Q_k) β_k + Q⁻¹_{k+1} (g_k + r_k + what doubles miss of A)

If all of it lies in box_k, and box_k in the tube, at every row, no run that starts in A_0 [−1, 1]ⁿ ever leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.forms.monomials import CellMonomials, monomials
from holdfast.graph.arithmetics.balls import precision
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.tube.cells import Array, Cells
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.rounding import RoundingTape

BITS = 80
CLOCK = 4 * 2.0**-51  # of the latest time, as in `prove`
PADDING = 1 + 2.0**-40
TRIES = 8  # sizes of the start, each half the one before
ROOM = 1.2  # times what the start is seen to reach: the boxes
GUESSES = 2  # of the boxes, each from the one before
SMALL = 1e-6  # of the half-widths: boxes that show the slopes, and what is added to others


@dataclass(frozen=True, eq=False)
class StepForms:
    """One step from each row of a run over boxes around them, in units of the tube's half-widths: C u + g + r."""

    slopes: Array  # [step, state, state]: C, in half-widths for a whole box
    shifts: Array  # [step, state]: g, in the states' own units
    rest: Array  # [step, state]: of |r|, in the same
    boxes: Array  # [step, state], in half-widths of the tube


@dataclass(frozen=True, eq=False)
class Neighbours:
    """A run and the half-widths of a tube along it; `flow` is that of all states."""

    flow: TubeFlow
    scheme: RungeKutta
    step: float
    run: Trajectory
    widths: Array

    @cached_property
    def _tape(self) -> RoundingTape:
        return RoundingTape(self.flow, self.scheme, self.step, self._shape)

    @property
    def _shape(self) -> CellMonomials:
        return monomials((1, *[2] * len(self.flow.variables), 1), 2)

    def forms(self, boxes: Array) -> StepForms:
        """Of one step from each row, over boxes in half-widths of the tube."""
        run, shape, count = self.run, self._shape, len(self.flow.variables)
        curves = np.zeros((len(run.times) - 1, count, 4))
        curves[:, :, 0] = run.y[:, :-1].T
        times = run.times[:-1]
        cells = Cells(np.column_stack([times, times]), curves, boxes * self.widths * PADDING)
        data = cells.inputs(shape, self.flow.places, self.flow.timed)
        data[:, 0, -1] = CLOCK * (float(np.abs(run.times).max()) + self.step)
        found = self._tape.step(data)
        own = [shape.place[(1 + i,)] for i in range(count)]
        other = [m for m in range(1, len(shape)) if m not in own]
        with np.errstate(all="ignore"):
            slack = np.abs(found.polynomials[..., own]).sum(axis=-1) * 2.0**-38  # boxes were padded, and rounded
            rest = found.remainders + found.rounding + np.abs(found.polynomials[..., other]).sum(axis=-1) + slack
            shifts = found.polynomials[..., 0] - run.y[:, 1:].T
            rest = (rest + 2.0**-52 * np.abs(shifts)) * PADDING
        return StepForms(found.polynomials[..., own], shifts, rest, boxes)

    def largest_start(self) -> float:
        """The largest part of the half-widths, among a few, from which no run leaves the tube; 0 for none."""
        count, steps = len(self.widths), len(self.run.times) - 1
        forms = self.forms(np.full((steps, count), SMALL))
        part = 1 / float(self._sizes(forms, 1.0).max())
        for _ in range(TRIES if np.isfinite(part) else 0):
            part /= 2
            boxes = self._sizes(forms, part)
            for _ in range(GUESSES):
                boxes = np.minimum(ROOM * boxes[:-1] + SMALL, 1.0)
                boxes = self._sizes(self.forms(boxes), part)
            if np.isfinite(boxes).all() and boxes.max() <= 1:
                found = self.forms(np.minimum(ROOM * boxes[:-1] + SMALL, 1.0))
                if self.stays(found, part):
                    return part
        return 0.0

    def _sizes(self, forms: StepForms, part: float) -> Array:
        """How far starts reach at each row, in half-widths: the enclosure of `stays` in plain doubles."""
        count = len(self.widths)
        start, frame, radius = np.eye(count) * part, np.eye(count), np.zeros(count)
        sizes = [np.full(count, part)]
        with np.errstate(all="ignore"):
            for k in range(len(forms.boxes)):
                step = forms.slopes[k] / self.widths[:, None] / forms.boxes[k]
                if not (np.isfinite(step).all() and np.isfinite(radius).all()):
                    return np.full((len(forms.boxes) + 1, count), np.inf)
                turned = _turned(step @ frame, radius)
                added = (np.abs(forms.shifts[k]) + forms.rest[k]) / self.widths
                radius = np.abs(turned.T @ step @ frame) @ radius + np.abs(turned.T) @ added
                start, frame = step @ start, turned
                sizes.append(np.abs(start).sum(axis=1) + np.abs(frame) @ radius)
        return np.array(sizes)

    def stays(self, forms: StepForms, part: float) -> bool:
        """Whether every run that starts within this part of the half-widths is proved to stay, in balls."""
        import flint

        if not all(np.isfinite(x).all() for x in (forms.slopes, forms.shifts, forms.rest)) or not 0 < part <= 1:
            return False
        count = len(self.widths)
        with precision(BITS):
            widths = [flint.arb(float(w)) for w in self.widths]
            start, frame = np.eye(count) * part, np.eye(count)
            radius = flint.arb_mat([[flint.arb(0)] for _ in range(count)])
            for k in range(len(forms.boxes)):
                if not _within(start, frame, radius, forms.boxes[k]):
                    return False
                step = _scaled(forms.slopes[k], widths, forms.boxes[k])
                exact = step * _matrix(start)
                start, turned = _middles(exact), _turned(_middles(step) @ frame, _radii(radius))
                lost = exact - _matrix(start)
                added = []
                for i in range(count):
                    own = (flint.arb(float(forms.shifts[k, i])) + _around(flint.arb(float(forms.rest[k, i])))) / widths[
                        i
                    ]
                    added.append([own + sum((_around(lost[i, j]) for j in range(count)), flint.arb(0))])
                inverse = _matrix(turned).inv()
                radius = inverse * (step * _matrix(frame)) * radius + inverse * flint.arb_mat(added)
                frame = turned
            return _within(start, frame, radius, np.ones(count))


def _turned(moved: Array, radius: Array) -> Array:
    """An orthogonal frame whose first axes go along the longest sides of a moved box."""
    order = np.argsort(-np.linalg.norm(moved, axis=0) * radius, kind="stable")
    return np.asarray(np.linalg.qr(moved[:, order])[0])


def _radii(column: Any) -> Array:
    return np.array([float(column[i, 0].abs_upper()) for i in range(column.nrows())])


def _within(start: Array, frame: Array, radius: Any, box: Array) -> bool:
    """Whether the enclosure lies in a box."""
    import flint

    reach = _matrix(frame) * radius
    for i, row in enumerate(start):
        size = sum((abs(flint.arb(float(x))) for x in row), flint.arb(0)) + abs(reach[i, 0])
        if not size <= flint.arb(float(box[i])):
            return False
    return True


def _scaled(slopes: Array, widths: list[Any], box: Array) -> Any:
    """C in half-widths of the tube, from its coefficients over a box."""
    import flint

    sides = [flint.arb(float(b)) for b in box]
    return flint.arb_mat(
        [[flint.arb(float(c)) / (widths[i] * sides[j]) for j, c in enumerate(row)] for i, row in enumerate(slopes)]
    )


def _matrix(array: Array) -> Any:
    import flint

    return flint.arb_mat([[flint.arb(float(x)) for x in row] for row in array])


def _middles(matrix: Any) -> Array:
    return np.array([[float(matrix[i, j].mid()) for j in range(matrix.ncols())] for i in range(matrix.nrows())])


def _around(value: Any) -> Any:
    """What a coefficient of the start's box misses, either way."""
    import flint

    return flint.arb(0, value.abs_upper())
