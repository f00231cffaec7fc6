"""Bounds in phase: defects of steps in the order of time, each enclosed with its sign, run through R.

    ψ_{k+1} = R ψ_k + d_k,  d_k ∈ m_k ± r_k    ⇒    ψ_k ∈ R^k ψ_0 + c_k ± Σ_j |R^j| r_{k−1−j},   c_{k+1} = R c_k + m_k

A norm forgets that defects of neighbouring steps are alike, and adds up what in truth turns and cancels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.engine.forms.evaluate import FormTape
from holdfast.graph.arithmetics.balls import precision
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.certificate.statement import IN_NORM
from holdfast.stability.proof.claim import BITS
from holdfast.stability.proof.contraction import Contraction
from holdfast.stability.proof.enclosure import magnitude
from holdfast.stability.tube.cells import DEGREE, ROUNDED, Array, Cells
from holdfast.stability.tube.cover import TubeSearch
from holdfast.stability.tube.flow import TubeFlow
from holdfast.stability.tube.prove import FORMS
from holdfast.stability.tube.step import defect_tape

MOST = 200  # monomials of forms that are tried at every row, beside the cheapest
FORGOTTEN = 1e-9  # of a defect: what is left of it after so many steps counts by the norm alone
PADDING = 1 + 1e-9  # of sums of up to 10⁶ products of doubles
UNIT = 2.0**-50  # of a few operations on doubles, beside their terms


@dataclass(frozen=True, eq=False)
class PhaseBounds:
    """Of one block at every row: the middle of each deviation, and how far from it a run near this one can be.

    Every run of the certificate's scheme whose rows lie within the half-widths of its cells around this run at the same
    times, and which starts with no more deviation than this one's ‖ψ₀‖_P (`start_size` of the block), has
    |ψ_i − middle| ≤ radius at each row. Of other speeds, which a tube may hold (8.15), nothing is said: they meet the
    same defects at other times.
    """

    names: tuple[str, ...]
    middle: Array  # [row, deviation]
    radius: Array  # [row, deviation]

    @property
    def bounds(self) -> tuple[float, ...]:
        """The largest |ψ_i| at any row."""
        return tuple(float(x) for x in ((np.abs(self.middle) + self.radius) * PADDING).max(axis=0))

    def __str__(self) -> str:
        told = ", ".join(f"|{name}| <= {rounded_up(x)}" for name, x in zip(self.names, self.bounds, strict=True))
        return (
            f"Proved: every run that starts with no more deviation than this one {IN_NORM}, and whose rows lie in the "
            f"tube at this run's own times and speeds, keeps {told}. Not re-checked by a verifier."
        )


def cells_at_rows(cells: Cells, run: Trajectory) -> tuple[Cells, Array]:
    """The states of the tube at the times of the rows, and which row each is of; two where cells meet."""
    parts, owners = [], []
    last = len(cells) - 1
    first = np.clip(np.searchsorted(cells.spans[:, 0], run.times, side="right") - 1, 0, last)
    for shift in (0, -1):
        which = np.clip(first + shift, 0, last)
        start, end = cells.spans[which].T
        chosen = (run.times >= start) & (run.times <= end) & ((shift == 0) | (which != first))
        start, end, which, rows = start[chosen], end[chosen], which[chosen], np.flatnonzero(chosen)
        s = (run.times[rows] - start) / (end - start)
        terms = cells.curves[which] * np.stack([s**k for k in range(DEGREE + 1)], axis=-1)[:, None, :]
        curves = np.zeros((len(rows), terms.shape[1], DEGREE + 1))
        curves[..., 0] = terms.sum(axis=-1)
        room = 4 * ROUNDED * np.abs(terms).sum(axis=-1)
        times = run.times[rows]
        parts.append(Cells(np.column_stack([times, times]), curves, cells.halves[which] + room))
        owners.append(rows)
    joined = Cells(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("spans", "curves", "halves")))
    return joined, np.concatenate(owners)


def defect_ranges(flow: TubeFlow, scheme: RungeKutta, step: float, cells: Cells) -> tuple[Array, Array]:
    """Lower and upper ends of the defect of a step from each cell [cell, deviation]; the best of several forms."""
    low = np.full((len(cells), len(flow.psi)), -np.inf)
    high = np.full_like(low, np.inf)
    for tape in _tapes(flow, scheme):
        search = TubeSearch(tape, None, flow.places, flow.timed, step, (), np.zeros(0))  # type: ignore[arg-type]
        with np.errstate(all="ignore"):
            found, even = tape(search.inputs(cells), tape.terms - 1), tape.monomials.even
            c = found.polynomials
            middle = c[..., 0] + 0.5 * c[..., even].sum(axis=-1)
            spread = np.abs(c[..., 1:]).sum(axis=-1) - 0.5 * np.abs(c[..., even]).sum(axis=-1) + found.remainders
            spread = spread * PADDING + UNIT * np.abs(c).sum(axis=-1)
            sound = np.isfinite(middle) & np.isfinite(spread)
            low = np.where(sound, np.maximum(low, middle - spread), low)
            high = np.where(sound, np.minimum(high, middle + spread), high)
    return low, high


def _tapes(flow: TubeFlow, scheme: RungeKutta) -> Iterator[FormTape]:
    for order, weight in FORMS:
        shape = flow.shape(order, weight)
        if len(shape) <= MOST or (order, weight) == FORMS[0]:
            yield defect_tape(flow, scheme, shape)


def phase_bounds(
    contraction: Contraction, names: Sequence[str], low: Array, high: Array, most: float, rounding: float, start: float
) -> PhaseBounds:
    """From ranges of the defect at every step [step, deviation], of a run that starts within `start` in the norm.

    `most` bounds the norm of every defect, and `rounding` that of what doubles add.
    """
    with precision(BITS):
        widths, matrix, gamma = np.array(contraction.widths()), _doubles(contraction), contraction.gamma
        powers = _powers(contraction, matrix, widths, len(low))
    low, high = np.maximum(low, -most * widths), np.minimum(high, most * widths)
    middle = (low + high) / 2
    radius = (high - low) / 2 * PADDING + UNIT * np.maximum(np.abs(low), np.abs(high)) + rounding * widths
    centre = np.zeros((len(low) + 1, len(widths)))
    for k, defect in enumerate(middle):
        centre[k + 1] = matrix @ centre[k] + defect
    size = np.abs(matrix)
    radius = radius + UNIT * len(widths) * (np.abs(centre[:-1]) @ size.T + np.abs(middle))  # of this sum in doubles
    reach = np.zeros_like(centre)
    for i in range(len(widths)):
        for j in range(len(widths)):
            reach[1:, i] += np.convolve(powers[:, i, j], radius[:, j])[: len(low)]
    worst = np.linalg.norm(radius @ np.abs(contraction.factor), axis=1).max(initial=0.0)
    tail = worst * gamma ** len(powers) / (1 - gamma) if len(powers) < len(low) else 0.0
    left = start * gamma ** np.arange(len(centre))
    reach = (reach + (tail + left)[:, None] * widths) * PADDING
    return PhaseBounds(tuple(names), centre, reach)


def _powers(contraction: Contraction, matrix: Array, widths: Array, count: int) -> Array:
    """|R^j| entry by entry, not below, until it is forgotten.

    Powers of doubles miss those of R by E_j, and ‖E_{j+1}‖ ≤ γ ‖E_j‖ + what one product of doubles loses, in the norm.
    """
    gamma, size, inverse = contraction.gamma, np.abs(contraction.factor), _inverse(contraction)
    most = min(count, max(1, math.ceil(math.log(FORGOTTEN) / math.log(gamma))))
    columns = np.linalg.norm(size, axis=1)  # ‖Lᵀe‖
    power, off, found = np.eye(len(matrix)), 0.0, []
    for _ in range(most):
        found.append((np.abs(power) + off * np.outer(widths, columns)) * PADDING)
        lost = UNIT * len(matrix) * np.abs(matrix) @ np.abs(power)
        off = (gamma * off + float(np.linalg.norm(size.T @ lost @ inverse))) * PADDING
        power = matrix @ power
    return np.array(found)


def _inverse(contraction: Contraction) -> Array:
    """|L⁻ᵀ|, not below."""
    table = contraction.inverse
    return np.array([[magnitude(table[i, j]) for j in range(table.ncols())] for i in range(table.nrows())])


def _doubles(contraction: Contraction) -> Array:
    """The middle of R, which is wrong by far less than `UNIT`."""
    table = contraction.step_matrix
    return np.array([[float(table[i, j].mid()) for j in range(table.ncols())] for i in range(table.nrows())])
