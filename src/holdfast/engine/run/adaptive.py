"""A run whose steps are chosen by its error: chunks of the native loop, accepted steps gathered as they come."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from holdfast.engine.code.machine import Machine, Pace
from holdfast.engine.run.dense import Dense
from holdfast.engine.run.memory import Memory, reals
from holdfast.engine.run.status import Status
from holdfast.errors import BadRequest
from holdfast.schemes.kinds.scheme import Scheme

LONGEST_CHUNK = 4096  # attempts
MOST_KEPT = 2**26  # doubles of accepted steps with their interpolants: 0.5 GB, and thrice that when they are joined
TIME, END, STEP, RELATIVE, ERROR, REASON, STATUS, LONGEST, TRIED = range(9)
ACCEPTED, REJECTED, KEPT, AGAIN, WANTED = range(5)


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
            raise BadRequest(
                f"the run has taken {steps:,} steps up to t = {times[-1]:.6g}: they fill {8e-9 * MOST_KEPT:.1f} GB",
                where="duration",
                fix="a shorter duration or a larger tolerance; a long run is made in pieces, each from the last state",
            )
        self.times.append(times.copy())
        self.states.append(states.copy())
        if coefficients is not None:
            self.coefficients.append(coefficients.copy())

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

    def dense(self, size: int) -> Dense:
        """The interpolants of all steps."""
        coefficients = np.concatenate(self.coefficients) if self.coefficients else np.zeros((0, 3, size))
        return Dense(*self.together(size), coefficients)


def first_step(
    machine: Machine, memory: Memory, t0: float, duration: float, relative: float, absolute: np.ndarray, order: int
) -> float:
    """A step over which the state changes by about a hundredth of its scale (Hairer, Nørsett, Wanner, II.4)."""
    size = memory.size
    x, f = memory.state, memory.rate
    scale = absolute + relative * np.abs(x)

    def norm(values: np.ndarray) -> float:
        parts = values / scale
        return math.sqrt(float(parts @ parts) / size)

    extent, slope = norm(x), norm(f)
    guess = 0.01 * extent / slope if min(extent, slope) > 1e-5 else 1e-6
    guess = min(guess, duration)
    trial, rates = reals(size, 1), reals(memory.width, 1)
    trial[:, 0] = x + guess * f
    machine.call("rates", t0 + guess, trial, memory.p, rates, memory.scratch)
    with np.errstate(all="ignore"):
        bend = norm(rates[:size, 0] - f) / guess
    largest = max(slope, bend)
    if not np.isfinite(largest):
        return guess * 1e-3
    step = max(1e-6, guess * 1e-3) if largest <= 1e-15 else (0.01 / largest) ** (1 / order)
    return min(100 * guess, step, duration)


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
        order: int,
        t0: float,
        duration: float,
        relative: float,
        absolute: float | np.ndarray,
        longest: float,
        *,
        interpolants: bool,
        cost: float,
    ) -> AdaptiveRun:
        """A run at its start, with a first step chosen from the field there."""
        tolerances = np.full(memory.size, absolute, float)
        step = first_step(machine, memory, t0, duration, relative, tolerances, order) if duration else 0.0
        control = np.array([t0, t0 + duration, step, relative, 1e-4, 0.0, 0.0, longest, 0.0])
        counts = np.array([0, 0, 0, 0, int(interpolants)], dtype=np.int64)
        return cls(machine, memory, control, counts, tolerances, int(machine.layout.constants["TERMS"]), cost)

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
        pace, wanted = Pace(self.cost), bool(self.counts[WANTED])
        memory, size = self.memory, self.memory.size
        begin, start = self.time, memory.state.copy()
        while self.time < self.control[END] and not self.status_code():
            attempts = min(pace.count, LONGEST_CHUNK)
            times, states = reals(attempts), reals(attempts, size)
            coefficients = reals(attempts if wanted else 0, self.terms, size)
            pace.start()
            self.machine.call(
                "adaptive", attempts, self.control, self.counts, memory.x, memory.f, memory.p, memory.watch,
                memory.events, self.absolutes, times, states, coefficients, memory.work,
            )  # fmt: skip
            pace.stop(attempts)
            kept = int(self.counts[KEPT])
            if at is None:
                gathered.add(times[:kept], states[:kept], coefficients[:kept] if wanted else None)
            elif kept:
                ends, points = np.append(begin, times[:kept]), np.vstack([start, states[:kept]])
                gathered.add_at(at, Dense(ends, points, coefficients[:kept]))
                begin, start = float(ends[-1]), points[-1]
            self.machine.expect(self.cost * kept)
            if stop(self.time):
                return

    def status_code(self) -> bool:
        return bool(self.memory.status[0, 0] or self.control[STATUS])
