"""A run whose steps are chosen by its error: chunks of the native loop, accepted steps gathered as they come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.code.machine import Machine, Pace
from holdfast.engine.run.dense import Dense
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.schemes.kinds.scheme import Scheme

FIRST_CHUNK, LONGEST_CHUNK = 32, 4096  # attempts; many a run is over within the first
MOST_KEPT = 2**26  # doubles of accepted steps with their interpolants: 0.5 GB, and thrice that when they are joined
TIME, END, STEP, RELATIVE, ERROR, REASON, STATUS, LONGEST, TRIED = range(9)
ACCEPTED, REJECTED, KEPT, AGAIN, WANTED = range(5)


class TooManySteps(BadRequest):
    """A run whose accepted steps do not fit in memory."""


@dataclass(eq=False)
class AcceptedSteps:
    """Rows so far: accepted steps, or the wanted times; with the interpolants if they are kept."""

    times: list[np.ndarray] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    coefficients: list[np.ndarray] = field(default_factory=list)
    kept: int = 0  # doubles

    def add(self, times: np.ndarray, states: np.ndarray, coefficients: np.ndarray | None = None) -> None:
        self.kept += times.size + states.size + (0 if coefficients is None else coefficients.size)
        if self.kept > MOST_KEPT:
            steps = sum(len(each) for each in self.times)
            raise TooManySteps(
                f"the run has taken {steps:,} steps up to t = {times[-1]:.6g}: they fill {8e-9 * MOST_KEPT:.1f} GB",
                where="duration",
                fix="a shorter duration or a larger tolerance; a long run is made in pieces, each from the last state",
            )
        self.times.append(times)
        self.states.append(states)
        if coefficients is not None:
            self.coefficients.append(coefficients)

    def add_at(self, wanted: np.ndarray, piece: Dense) -> None:
        """The rows at those of the wanted times that a piece of the run covers."""
        inside = wanted[(wanted > piece.times[0]) & (wanted <= piece.times[-1])]
        if len(inside):
            self.add(inside, piece(inside))

    def together(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and states of all rows."""
        if not self.times:
            return np.zeros(0), np.zeros((0, size))
        return np.concatenate(self.times), np.concatenate(self.states)

    def dense(self, times: np.ndarray, states: np.ndarray) -> Dense:
        """The interpolants of all steps, between these rows."""
        empty = [np.zeros((0, 3, states.shape[1]))]
        return Dense(times, states, np.concatenate(self.coefficients or empty))


@dataclass(eq=False)
class AdaptiveRun:
    """One adaptive run under way."""

    machine: Machine
    memory: Memory
    control: np.ndarray
    counts: np.ndarray
    absolutes: np.ndarray
    terms: int
    cost: float

    @classmethod
    def begun(
        cls,
        machine: Machine,
        memory: Memory,
        t0: float,
        duration: float,
        relative: float,
        absolute: float | np.ndarray,
        longest: float,
        *,
        interpolants: bool,
        cost: float,
    ) -> AdaptiveRun:
        """A run at its start; its first step is still to be chosen, from the field there."""
        tolerances = np.full(memory.size, absolute, float)
        control, counts = cls.control_at(t0, duration, relative, longest), cls.counts_at(interpolants=interpolants)
        return cls(machine, memory, control, counts, tolerances, int(machine.layout.constants["TERMS"]), cost)

    @staticmethod
    def control_at(t0: float, duration: float, relative: float, longest: float) -> np.ndarray:
        """The control of the loop (`drivers.adaptive`) before its first step."""
        return np.array([t0, t0 + duration, 0.0, relative, 1e-4, 0.0, 0.0, longest, 0.0])

    @staticmethod
    def counts_at(*, interpolants: bool) -> np.ndarray:
        """The counts of the loop before its first step."""
        return np.array([0, 0, 0, 0, int(interpolants)], dtype=np.int64)

    @property
    def time(self) -> float:
        return float(self.control[TIME])

    @property
    def step(self) -> float:
        """The next step, or the one in which an event happened."""
        return float(self.control[STEP])

    @property
    def accepted(self) -> int:
        return int(self.counts[ACCEPTED])

    @property
    def rejected(self) -> int:
        return int(self.counts[REJECTED])

    def evaluations(self, scheme: Scheme) -> int:
        """Of F: two for the first step, then those of every attempt and of every interpolant."""
        if not scheme.explicit:
            return 2 + int(self.memory.rest[0, 0])
        further = scheme.dense_stages if self.counts[WANTED] else 0
        return 2 + (self.accepted + self.rejected) * scheme.stage_count + self.accepted * further

    @property
    def status(self) -> Status:
        if self.memory.status[0, 0]:
            return Status(int(self.memory.status[0, 0]))
        if self.control[STATUS]:
            return Status(int(self.control[STATUS]))
        return Status.completed if self.control[TIME] >= self.control[END] else Status.interrupted

    def go(self, gathered: AcceptedSteps, at: np.ndarray | None, stop: Callable[[float], bool | None]) -> None:
        """Until the end, a bad end, an event or an interruption; what was accepted is gathered chunk by chunk."""
        pace = self.pace
        while self.under_way:
            pace.start()
            attempts = min(pace.count, LONGEST_CHUNK)
            self.chunk(attempts, gathered, at)
            pace.stop(attempts)
            if stop(self.time):
                return

    @cached_property
    def pace(self) -> Pace:
        return Pace(self.cost)

    @property
    def short(self) -> int:
        """The attempts of a first chunk that is over before anybody could interrupt it."""
        return min(self.pace.count, FIRST_CHUNK)

    @property
    def under_way(self) -> bool:
        control = self.control
        return bool(control[TIME] < control[END] and not control[STATUS] and not self.memory.status[0, 0])

    def chunk(self, attempts: int, gathered: AcceptedSteps, at: np.ndarray | None) -> None:
        """Some attempts; what they kept, or its values at the wanted times, is gathered."""
        memory, machine, size = self.memory, self.machine, self.memory.size
        wanted, begin = bool(self.counts[WANTED]), float(self.control[TIME])
        before = memory.state.copy()
        times, states = np.empty(attempts), np.empty((attempts, size))
        coefficients = np.empty((attempts if wanted else 0, self.terms, size))
        x, p, f, watch, events, _, _, work, _ = memory.pointers(machine)
        control, counts, absolutes = self._pointers
        machine.functions["adaptive"](
            attempts, control, counts, x, f, p, watch, events, absolutes, machine.pointer(times),
            machine.pointer(states), machine.pointer(coefficients), work,
        )  # fmt: skip
        kept = int(self.counts[KEPT])
        if kept < attempts // 2:  # what lies behind is not to be kept alive
            times, states, coefficients = times[:kept].copy(), states[:kept].copy(), coefficients[:kept].copy()
        else:
            times, states, coefficients = times[:kept], states[:kept], coefficients[:kept]
        if at is None:
            gathered.add(times, states, coefficients if wanted else None)
        elif kept:
            ends, points = np.append(begin, times), np.vstack([before, states])
            gathered.add_at(at, Dense(ends, points, coefficients))
        machine.expect(self.cost * kept)

    @cached_property
    def _pointers(self) -> tuple[Any, Any, Any]:
        machine = self.machine
        return machine.pointer(self.control), machine.pointer(self.counts), machine.pointer(self.absolutes)
