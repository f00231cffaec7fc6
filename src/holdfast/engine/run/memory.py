"""The arrays that drivers work on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from holdfast.engine.code.layout import Layout
from holdfast.engine.code.machine import Machine

LINE = 8  # doubles in a line of the cache
Numbers = Sequence[float] | np.ndarray


def reals(*shape: int) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + LINE)
    start = (-raw.ctypes.data // 8) % LINE
    return raw[start : start + size].reshape(shape)


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Where the arrays of a run lie in its one block of memory, each from a cache line on: found once for a kernel."""

    places: tuple[tuple[slice, tuple[int, ...]], ...]  # of each array, with its shape
    begins: tuple[int, ...]  # of each array, and of the scratch of a body
    total: int
    size: int
    width: int
    pivots: int
    events: int
    stages_end: int

    @staticmethod
    def of(layout: Layout, blocks: int, parameters: int, lanes: int) -> MemoryPlan:
        """x, p, f, watch, events, status, done and work of so many blocks of lanes."""
        constants = layout.constants
        size, width, pivots, events = (int(constants[name]) for name in ("N", "WIDTH", "PIVOTS", "EVENTS"))
        numbers = (size, parameters, width, pivots, 2 * events)
        shapes = (
            *((blocks, count, lanes) for count in numbers),
            (blocks, lanes),
            (blocks, lanes),
            (layout.work, lanes),
        )
        sizes = [math.prod(shape) for shape in shapes]
        begins = list(accumulate((-(-length // LINE) * LINE for length in sizes), initial=0))
        total = begins.pop()
        parts = (slice(begin, begin + length) for begin, length in zip(begins, sizes, strict=True))
        stages_end = int(constants["STAGES_END"])
        scratch = begins[-1] + (size + width + events + stages_end) * lanes
        places = tuple(zip(parts, shapes, strict=True))
        return MemoryPlan(places, (*begins, scratch), total, size, width, pivots, events, stages_end)


class Memory:
    """Everything that changes during a run: blocks of lanes, each lane a case. One case is one block of one lane.

    `f` holds the rates, then the pivots and their scales; `watch` the sign that each pivot had at the start; `events`
    the event functions and then their directions. Arrays are (blocks, quantities, lanes).
    """

    def __init__(
        self, layout: Layout, states: np.ndarray, parameters: np.ndarray, plan: MemoryPlan | None = None
    ) -> None:
        """`states` and `parameters` are (blocks, quantities, lanes); a `plan` is one of the same shape, made before."""
        self.blocks, _, self.lanes = states.shape
        plan = plan or MemoryPlan.of(layout, self.blocks, parameters.shape[1], self.lanes)
        self.plan, self.size, self.width = plan, plan.size, plan.width
        self.pivots, self.event_count = plan.pivots, plan.events
        self.block = block = reals(plan.total)
        self._pointers: list[Any] | None = None
        self.x, self.p, self.f, self.watch, self.events, self.status, self.done, self.work = [
            block[place].reshape(shape) for place, shape in plan.places
        ]
        self.x[...], self.p[...] = states, parameters
        self._case = self.x[0, :, 0], self.p[0, :, 0], self.f[0, : self.size, 0], self.f[0, self.size :, 0]

    def renewed(self, state: Numbers, parameters: Numbers) -> Memory:
        """The memory of one case at another start, as good as new."""
        self.block.fill(0.0)
        self._case[0][:], self._case[1][:] = state, parameters
        return self

    def restarted(self, states: np.ndarray, parameters: np.ndarray) -> Memory:
        """The memory of as many blocks at another start, with nothing done; what `begin` sets is left to it."""
        self.x[...], self.p[...] = states, parameters
        self.status[...] = self.done[...] = 0.0
        return self

    @property
    def rest(self) -> np.ndarray:
        """The work space of a step: its stages first."""
        return self.work[self.size + self.width + self.event_count :]

    @property
    def scratch(self) -> np.ndarray:
        """The work space of a body."""
        return self.rest[self.plan.stages_end :]

    def pointers(self, machine: Machine) -> list[Any]:
        """x, p, f, watch, events, status, done, work and the scratch of a body, as the machine's functions take them;
        valid as long as this memory is there.
        """
        if self._pointers is None:
            self._pointers = machine.pointers(self.block, self.plan.begins)
        return self._pointers

    @property
    def over(self) -> bool:
        """Whether no lane goes on."""
        return bool(self.status.item(0) if self.status.size == 1 else self.status.all())

    @property
    def state(self) -> np.ndarray:
        """The state of the only case."""
        return self._case[0]

    @property
    def rate(self) -> np.ndarray:
        """The rates of the only case."""
        return self._case[2]

    @property
    def pivots_and_scales(self) -> np.ndarray:
        """The pivots of the only case, then their scales."""
        return self._case[3]

    def begin(self, machine: Machine, t0: float, directions: np.ndarray | None) -> None:
        """Evaluate the start, note the signs of the pivots, and refuse a start that is not good already."""
        x, p, f, watch, events, status, _, _, scratch = self.pointers(machine)
        functions = machine.functions
        functions["start_blocks"](self.blocks, t0, x, p, f, watch, status, scratch)
        if self.event_count:  # of one case only
            assert directions is not None
            functions["event_values"](t0, x, p, events, scratch)
            self.events[:, self.event_count :] = directions[:, None]

    def pivot_margins(self) -> np.ndarray:
        """Each pivot over its scale at the last good state, (blocks, pivots, lanes)."""
        pivots, scales = self.f[:, self.size : self.size + self.pivots], self.f[:, self.size + self.pivots :]
        with np.errstate(all="ignore"):
            return pivots * self.watch / np.abs(scales)
