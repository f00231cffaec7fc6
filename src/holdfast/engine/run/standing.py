"""Runs that are asked for again: their arguments and their times are put together once.

What is left for each call is the memory at the start, the rows, and one call of the native loop. It serves runs of one
case that are over before anybody could interrupt them, and that end well: of any other it gives nothing, and the caller
takes the long way, whose rows are the same to the last bit and which says how the run ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from holdfast.engine.code.machine import Pace, address
from holdfast.engine.run.adaptive import TIME, AdaptiveRun
from holdfast.engine.run.fixed import Steps, case_times
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.status import Status

if TYPE_CHECKING:
    from holdfast.engine.kernel import Kernel

SPARE_ATTEMPTS = 8  # room for more than a run took before: from another start it may take a few more


class Stood(NamedTuple):
    """What a standing run gave: its rows, and what tells how near to singular its last state was."""

    times: np.ndarray
    states: np.ndarray
    pivots: np.ndarray  # values, scales and signs, as the memory has them: see `margins`
    steps: int
    evaluations: int
    rejected: int = 0

    def margins(self, count: int) -> np.ndarray:
        """Each of so many pivots beside its scale, as `Memory.pivot_margins` gives them."""
        kept, last = self.pivots, len(self.pivots)
        values, scales, signs = kept[:count], kept[count : 2 * count], kept[last - count :]
        with np.errstate(all="ignore"):
            found: np.ndarray = values * signs / np.abs(scales)
        return found


def may_stand(kernel: Kernel) -> bool:
    """Whether runs of a kernel may stand: native, and by a known number of evaluations."""
    return kernel.target == "native" and kernel.scheme.explicit and not kernel.events and kernel.back is None


@final
class StandingRun:
    """A run of fixed steps, from any start and with any parameters."""

    __slots__ = ("_arguments", "_kernel", "_pivots", "_shape", "_work", "evaluations", "short", "steps", "times")

    def __init__(self, kernel: Kernel, steps: Steps) -> None:
        plan = kernel.plan
        self._kernel, self.steps, self.times = kernel, steps, case_times(steps)
        self.times.flags.writeable = False
        self.short = may_stand(kernel) and steps.count <= Pace(kernel.cost).count
        self.evaluations = 1 + steps.count * kernel.scheme.stage_count
        self._pivots = slice(plan.begins[2] + plan.size, plan.begins[3] + plan.pivots)
        self._shape, self._work = (len(self.times), plan.size), kernel.cost * steps.count
        self._arguments = (1, 0, steps.count, steps.every, steps.kept, steps.t0, steps.step)

    def __call__(self, memory: Memory) -> Stood | None:
        """The run from the start that a memory is at; None where it ended badly. The memory is the kernel's again."""
        kernel, machine = self._kernel, self._kernel.machine
        states = np.empty(self._shape)
        states[0] = memory.state
        x, p, f, watch, events, status, done, work, _ = memory.pointers(machine)
        into = address(states) + 8 * self._shape[1]
        machine.functions["fixed_blocks"](*self._arguments, x, f, p, watch, events, status, done, into, work)
        machine.expect(self._work)
        if self.steps.kept < len(states):
            states[-1] = memory.state
        ended, pivots = memory.status.item(0), memory.block[self._pivots].copy()
        kernel.give_back(memory)
        return None if ended else Stood(self.times, states, pivots, self.steps.count, self.evaluations)


@final
class StandingAdaptiveRun:
    """A run that chooses its steps, from any start and with any parameters; made after one that was like it.

    Its interpolants are left out: few ask for them, and they take a sixth of the time of DOP853. Their evaluations are
    counted all the same, as if it had them.
    """

    __slots__ = ("_attempts", "_control", "_counts", "_kernel", "_pivots", "_terms", "short")

    def __init__(self, kernel: Kernel, t0: float, duration: float, relative: float, longest: float, taken: int) -> None:
        """`taken` are the attempts of the run before."""
        plan = kernel.plan
        self._kernel, self._attempts = kernel, taken + SPARE_ATTEMPTS
        self.short = may_stand(kernel) and self._attempts <= Pace(kernel.cost).count
        self._control = AdaptiveRun.control_at(t0, duration, relative, longest)
        self._counts = AdaptiveRun.counts_at(interpolants=False)
        self._terms = int(kernel.machine.layout.constants["TERMS"])
        self._pivots = slice(plan.begins[2] + plan.size, plan.begins[3] + plan.pivots)

    def __call__(self, memory: Memory, absolutes: np.ndarray) -> Stood | None:
        """The run from the start that a memory is at; None where it ended badly, or needs more attempts than usual."""
        kernel, machine, size, room = self._kernel, self._kernel.machine, memory.size, self._attempts
        control, counts = self._control.copy(), self._counts.copy()
        times, states = np.empty(room + 1), np.empty((room + 1, size))
        times[0], states[0] = control[TIME], memory.state
        x, p, f, watch, events, _, _, work, _ = memory.pointers(machine)
        machine.functions["adaptive"](
            room, address(control), address(counts), x, f, p, watch, events, address(absolutes),
            address(times) + 8, address(states) + 8 * size, 0, work,
        )  # fmt: skip
        run = AdaptiveRun(machine, memory, control, counts, absolutes, self._terms, kernel.cost)
        machine.expect(kernel.cost * run.accepted)
        whole, pivots = run.status == Status.completed, memory.block[self._pivots].copy()
        kernel.give_back(memory)
        if not whole:
            return None
        taken = run.accepted
        times = times[: taken + 1]
        times.flags.writeable = False
        evaluations = run.evaluations(kernel.scheme) + taken * kernel.scheme.dense_stages
        return Stood(times, states[: taken + 1], pivots, taken, evaluations, run.rejected)
