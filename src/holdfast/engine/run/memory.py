"""The arrays that drivers work on."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from holdfast.engine.code.layout import Layout
from holdfast.engine.code.machine import Machine
from holdfast.engine.drivers.fixed import LEAST_PIVOT
from holdfast.engine.run.status import Status

LINE = 8  # doubles in a line of the cache


def reals(*shape: int) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + LINE)
    start = (-raw.ctypes.data // 8) % LINE
    return raw[start : start + size].reshape(shape)


def arrays(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Zeros of several shapes, side by side in memory, each from a cache line on."""
    sizes = [math.prod(shape) for shape in shapes]
    places = list(accumulate((-(-size // LINE) * LINE for size in sizes), initial=0))
    block = reals(places.pop())
    return [block[at : at + size].reshape(shape) for at, size, shape in zip(places, sizes, shapes, strict=True)]


def whole(array: object, *shape: int) -> np.ndarray:
    """The values as contiguous doubles on a cache line, of this shape."""
    copy = reals(*shape)
    copy[...] = np.asarray(array, float).reshape(shape)
    return copy


class Memory:
    """Everything that changes during a run: blocks of lanes, each lane a case. One case is one block of one lane.

    `f` holds the rates, then the pivots and their scales; `watch` the sign that each pivot had at the start; `events`
    the event functions and then their directions. Arrays are (blocks, quantities, lanes).
    """

    def __init__(self, layout: Layout, states: np.ndarray, parameters: np.ndarray) -> None:
        """`states` and `parameters` are (blocks, quantities, lanes)."""
        constants = layout.constants
        self.size, self.width = int(constants["N"]), int(constants["WIDTH"])
        self.pivots, self.event_count = int(constants["PIVOTS"]), int(constants["EVENTS"])
        self.blocks, _, self.lanes = blocks, _, lanes = states.shape
        self.x, self.p, self.f, self.watch, self.events, self.status, self.done, self.work = arrays(
            states.shape,
            parameters.shape,
            (blocks, self.width, lanes),
            (blocks, self.pivots, lanes),
            (blocks, 2 * self.event_count, lanes),
            (blocks, lanes),
            (blocks, lanes),
            (layout.work, lanes),
        )
        self.x[...], self.p[...] = states, parameters
        self.rest = self.work[self.size + self.width + self.event_count :]  # of a step: its stages
        self.scratch = self.rest[int(constants["STAGES_END"]) :]  # of a body

    @property
    def state(self) -> np.ndarray:
        """The state of the only case."""
        return self.x[0, :, 0]

    @property
    def rate(self) -> np.ndarray:
        """The rates of the only case."""
        return self.f[0, : self.size, 0]

    def begin(self, machine: Machine, t0: float, directions: np.ndarray) -> None:
        """Evaluate the start, set the scales of the pivots, and refuse a start that is not good already."""
        machine.call("rates_blocks", self.blocks, t0, self.x, self.p, self.f, self.scratch)
        self.watch[...] = np.copysign(1.0, self.f[:, self.size : self.size + self.pivots])
        if self.event_count:  # of one case only
            machine.call("event_values", t0, self.x, self.p, self.events, self.scratch)
            self.events[:, self.event_count :] = directions[:, None]
        finite = np.isfinite(self.x).all(axis=1)
        rated = np.isfinite(self.f[:, : self.size]).all(axis=1)
        held = (self.pivot_margins() > LEAST_PIVOT).all(axis=1)
        self.status[...] = Status.completed
        self.status[~(finite & rated)] = Status.not_finite
        self.status[finite & ~held] = Status.rank_lost

    def pivot_margins(self) -> np.ndarray:
        """Each pivot over its scale at the last good state, (blocks, pivots, lanes)."""
        pivots, scales = self.f[:, self.size : self.size + self.pivots], self.f[:, self.size + self.pivots :]
        with np.errstate(all="ignore"):
            return pivots * self.watch / np.abs(scales)
