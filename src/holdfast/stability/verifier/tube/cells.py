"""Cells of a tube as forms: t ∈ [t₀, t₁], s = (t − t₀)/(t₁ − t₀), |xᵢ − Σ_k p_ik sᵏ| ≤ half_i; and parts of them.

With speeds, |xᵢ − (1 + speedsᵢ η) Σ_k p_ik sᵏ| ≤ half_i, |η| ≤ 1: one more variable of a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers.forms import GROWTH, UNIT, Array, Form, Space
from holdfast.stability.verifier.tube.space import TubeSpace

DEGREE = 3
OF_EACH = ("spans", "curves", "halves", "low", "high")  # what a batch has for each of its parts


@dataclass(frozen=True, eq=False)
class TubeCells:
    """A batch of parts of cells: of each, the range of s, of the place within a step, and of the offset of each state.

    A place within a step is a part of its length; offsets are in half-widths.
    """

    names: list[str]  # of the state, in its order
    spans: Array  # (cells, 2): t₀, t₁ of the whole cell
    curves: Array  # (cells, states, 4)
    halves: Array  # (cells, states)
    low: Array  # (cells, 2 + states): of s, of the place within the step, then of the offsets; with speeds, of η
    high: Array
    speeds: Array | None = None  # (states), the same for all cells

    @classmethod
    def whole(
        cls, names: list[str], spans: Array, curves: Array, halves: Array, speeds: Array | None = None
    ) -> TubeCells:
        count, across = len(spans), len(names) + (speeds is not None)
        low = np.concatenate([np.zeros((count, 2)), -np.ones((count, across))], axis=1)
        return cls(names, spans, curves, halves, low, np.ones((count, 2 + across)), speeds)

    def __len__(self) -> int:
        return len(self.spans)

    def chosen(self, rows: Array) -> TubeCells:
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in OF_EACH}
        return replace(self, **parts)

    def halved(self, variables: Array) -> TubeCells:
        """Each part cut in two in the middle of one of its variables (0: s, 1: within the step, then the states)."""
        rows = np.arange(len(self))
        middle = (self.low[rows, variables] + self.high[rows, variables]) / 2
        below, above = self.high.copy(), self.low.copy()
        below[rows, variables] = above[rows, variables] = middle
        spans, curves, halves = (np.concatenate([part, part]) for part in (self.spans, self.curves, self.halves))
        low, high = np.concatenate([self.low, above]), np.concatenate([below, self.high])
        return TubeCells(self.names, spans, curves, halves, low, high, self.speeds)

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
            if self.speeds is not None and self.speeds[i] > 0:
                form = self._with_speeds(form, powers[:, i], missed[:, i], float(self.speeds[i]), len(used))
            found[name] = form
        return found

    def _with_speeds(self, form: Form, powers: Array, missed: Array, speed: float, k: int) -> Form:
        """speed·η times a cubic more, η = middle + reach·e_k; what bends along the cell goes to the remainder."""
        space, (middle, reach) = form.space, self._factor()
        assert isinstance(space, TubeSpace)
        size = np.abs(powers).sum(axis=1)
        for power in range(DEGREE + 1):
            form.c[:, space.long(power), 0] += speed * middle * powers[:, power]
        form.c[:, space.across(k), 0] = speed * reach * powers[:, 0]
        form.c[:, space.across(k, 0), 0] = speed * reach * powers[:, 1]
        bent = speed * reach * np.abs(powers[:, 2:]).sum(axis=1) * GROWTH
        form.r[:, 0] += (bent + speed * missed + 16 * UNIT * size) * GROWTH
        return form

    def _factor(self) -> tuple[Array, Array]:
        """Middle and reach of η over each part."""
        low, high = self.low[:, -1], self.high[:, -1]
        return (low + high) / 2, (high - low) / 2

    def _linear(self, space: Space) -> dict[str, Form]:
        """With one direction for time and one for each state, each as wide as what the cell and doubles add to it.

        A cell so short that its curve moves less than it is wide is a box: no remainder is left, and what is known of a
        state before a step and after it cancels to the last of its bits.
        """
        assert self.speeds is None, "boxes alone are looked at so"
        middle, reach, lost = self._time()
        found, (powers, missed) = {"t": Form.constant(space, middle)}, self.centred()
        found["t"].c[:, space.linear[0], 0] = (reach + lost) * GROWTH
        for i, name in enumerate(self.names):
            offset, width = self._offset(i)
            moved = np.abs(powers[:, i, 1:]).sum(axis=1)
            rest = moved + missed[:, i] + 4 * UNIT * (np.abs(offset) + width)
            form = Form.constant(space, powers[:, i, 0] + offset)
            form.c[:, space.linear[1 + i], 0] = (width + rest) * GROWTH
            found[name] = form
        return found

    def _offset(self, i: int) -> tuple[Array, Array]:
        low, high = self.low[:, 2 + i], self.high[:, 2 + i]
        return self.halves[:, i] * (low + high) / 2, self.halves[:, i] * (high - low) / 2 * GROWTH

    @property
    def across(self) -> int:
        """Directions across a cell beside those of its states: one for speeds."""
        return int(self.speeds is not None)

    @property
    def basis(self) -> Array:
        """Its shape alone is asked for: one direction for time and for each state."""
        return np.zeros((len(self), 0, 1 + len(self.names)))
