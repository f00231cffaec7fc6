"""Cells of a tube as forms: t ∈ [t₀, t₁], s = (t − t₀)/(t₁ − t₀), |xᵢ − Σ_k p_ik sᵏ| ≤ half_i; and parts of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space
from holdfast.stability.verifier.tube.space import TubeSpace

DEGREE = 3


@dataclass(frozen=True, eq=False)
class TubeCells:
    """A batch of parts of cells: of each, the range of s, of the place within a step, and of the offset of each state.

    A place within a step is a part of its length; offsets are in half-widths.
    """

    names: list[str]  # of the state, in its order
    spans: Array  # (cells, 2): t₀, t₁ of the whole cell
    curves: Array  # (cells, states, 4)
    halves: Array  # (cells, states)
    low: Array  # (cells, 2 + states): of s, of the place within the step, then of the offsets
    high: Array

    @classmethod
    def whole(cls, names: list[str], spans: Array, curves: Array, halves: Array) -> TubeCells:
        count = len(spans)
        low = np.concatenate([np.zeros((count, 2)), -np.ones((count, len(names)))], axis=1)
        return cls(names, spans, curves, halves, low, np.ones((count, 2 + len(names))))

    def __len__(self) -> int:
        return len(self.spans)

    def chosen(self, rows: Array) -> TubeCells:
        parts = (self.spans, self.curves, self.halves, self.low, self.high)
        return TubeCells(self.names, *(part[rows] for part in parts))

    def halved(self, variables: Array) -> TubeCells:
        """Each part cut in two in the middle of one of its variables (0: s, 1: within the step, then the states)."""
        rows = np.arange(len(self))
        middle = (self.low[rows, variables] + self.high[rows, variables]) / 2
        below, above = self.high.copy(), self.low.copy()
        below[rows, variables] = above[rows, variables] = middle
        spans, curves, halves = (np.concatenate([part, part]) for part in (self.spans, self.curves, self.halves))
        low, high = np.concatenate([self.low, above]), np.concatenate([below, self.high])
        return TubeCells(self.names, spans, curves, halves, low, high)

    def centred(self) -> tuple[Array, Array]:
        """Σ p_k sᵏ in powers of e₀, s = middle + reach·e₀: coefficients (cells, states, 4), and what doubles lose."""
        middle, reach = (self.low[:, 0] + self.high[:, 0]) / 2, (self.high[:, 0] - self.low[:, 0]) / 2
        m, h, (p0, p1, p2, p3) = middle[:, None], reach[:, None], np.moveaxis(self.curves, 2, 0)
        found = [p0 + m * (p1 + m * (p2 + m * p3)), h * (p1 + m * (2 * p2 + 3 * m * p3)), h**2 * (p2 + 3 * m * p3)]
        lost = 64 * UNIT * np.abs(self.curves).sum(axis=2)  # |s| ≤ 1: a few dozen operations on terms of that size
        return np.stack([*found, h**3 * p3], axis=2), lost

    def values(self, space: Space, used: list[str] | None = None) -> dict[str, Form]:
        """Time and states as forms; in a `TubeSpace` each used state has a direction of its own."""
        if isinstance(space, TubeSpace):
            return self._in_tube(space, self.names if used is None else used)
        return self._linear(space)

    def _time(self) -> tuple[Array, Array, Array]:
        """Middle, reach and what doubles lose of the time of a part."""
        first, length = self.spans[:, 0], self.spans[:, 1] - self.spans[:, 0]
        middle = first + length * (self.low[:, 0] + self.high[:, 0]) / 2
        reach = length * (self.high[:, 0] - self.low[:, 0]) / 2
        return middle, reach, 16 * UNIT * (np.abs(self.spans).sum(axis=1))

    def _in_tube(self, space: TubeSpace, used: list[str]) -> dict[str, Form]:
        middle, reach, lost = self._time()
        time = Form.constant(space, middle, lost)
        time.c[:, space.long(1), 0] = reach
        found, (powers, missed) = {"t": time}, self.centred()
        for k, name in enumerate(used):
            i = self.names.index(name)
            offset, width = self._offset(i)
            form = Form.constant(space, powers[:, i, 0] + offset, missed[:, i] + 4 * UNIT * (np.abs(offset) + width))
            for power in range(1, DEGREE + 1):
                form.c[:, space.long(power), 0] = powers[:, i, power]
            form.c[:, space.across(k), 0] = width
            found[name] = form
        return found

    def _linear(self, space: Space) -> dict[str, Form]:
        """With one direction for time and one for each state; what bends goes to the remainder."""
        middle, reach, lost = self._time()
        found, (powers, missed) = {"t": Form.constant(space, middle, lost)}, self.centred()
        found["t"].c[:, space.linear[0], 0] = reach
        for i, name in enumerate(self.names):
            offset, width = self._offset(i)
            bent = np.abs(powers[:, i, 2:]).sum(axis=1) * GROWTH
            rest = bent + missed[:, i] + 4 * UNIT * (np.abs(offset) + width)
            form = Form.constant(space, powers[:, i, 0] + offset, rest * GROWTH)
            form.c[:, space.linear[0], 0], form.c[:, space.linear[1 + i], 0] = powers[:, i, 1], width
            found[name] = form
        return found

    def _offset(self, i: int) -> tuple[Array, Array]:
        low, high = self.low[:, 2 + i], self.high[:, 2 + i]
        return self.halves[:, i] * (low + high) / 2, self.halves[:, i] * (high - low) / 2 * GROWTH

    @property
    def basis(self) -> Array:
        """Its shape alone is asked for: one direction for time and for each state."""
        return np.zeros((len(self), 0, 1 + len(self.names)))
