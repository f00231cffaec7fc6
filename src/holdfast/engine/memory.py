"""The arrays that drivers work on."""

from __future__ import annotations

import math

import numpy as np

from holdfast.engine.assembly import Assembly
from holdfast.engine.machine import Machine
from holdfast.engine.status import Status


def reals(*shape: int) -> np.ndarray:
    """Zeros that start on a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + 8)
    start = (-raw.ctypes.data // 8) % 8
    return raw[start : start + size].reshape(shape)


def whole(array: object, *shape: int) -> np.ndarray:
    """The values as contiguous doubles on a cache line, of this shape."""
    copy = reals(*shape)
    copy[...] = np.asarray(array, float).reshape(shape)
    return copy


class Memory:
    """Everything that changes during a run: blocks of lanes, each lane a case. One case is one block of one lane.

    `f` holds the rates and then the pivots; `watch` the sign, the largest and the smallest value of each pivot so far;
    `events` the event functions and then their directions. Arrays are (blocks, quantities, lanes).
    """

    def __init__(self, assembly: Assembly, states: np.ndarray, parameters: np.ndarray) -> None:
        """`states` and `parameters` are (blocks, quantities, lanes)."""
        constants = assembly.constants
        self.size, self.width = int(constants["N"]), int(constants["WIDTH"])
        self.pivots, self.event_count = int(constants["PIVOTS"]), int(constants["EVENTS"])
        self.blocks, _, self.lanes = blocks, _, lanes = states.shape
        self.x = whole(states, *states.shape)
        self.p = whole(parameters, *parameters.shape)
        self.f = reals(blocks, self.width, lanes)
        self.watch = reals(blocks, 3 * self.pivots, lanes)
        self.events = reals(blocks, 2 * self.event_count, lanes)
        self.status = reals(blocks, lanes)
        self.done = reals(blocks, lanes)
        self.work = reals(assembly.work, lanes)
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
        pivots = self.f[:, self.size :]
        watch = self._watched()
        watch[:, :, 0], watch[:, :, 1], watch[:, :, 2] = np.copysign(1.0, pivots), np.abs(pivots), np.abs(pivots)
        if self.event_count:  # of one case only
            machine.call("event_values", t0, self.x, self.p, self.events, self.scratch)
            self.events[:, self.event_count :] = directions[:, None]
        finite = np.isfinite(self.x).all(axis=1)
        rated = np.isfinite(self.f[:, : self.size]).all(axis=1)
        held = (np.abs(pivots) > 0).all(axis=1)
        self.status[...] = np.where(finite & rated, Status.completed, Status.not_finite)
        self.status[finite & ~held] = Status.rank_lost

    def _watched(self) -> np.ndarray:
        return self.watch.reshape(self.blocks, self.pivots, 3, self.lanes)

    def pivot_margins(self) -> np.ndarray:
        """Smallest over largest value of each pivot so far, (blocks, pivots, lanes)."""
        watch = self._watched()
        with np.errstate(all="ignore"):
            return watch[:, :, 2] / watch[:, :, 1]
