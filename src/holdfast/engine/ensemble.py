"""Many cases of one kernel: cases side by side in the lanes of a register, groups of such blocks on threads.

What a case gives does not depend on its neighbours: not on the lane width, nor on the threads, to the last bit.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from holdfast.engine.code import native
from holdfast.engine.code.machine import Pace
from holdfast.engine.kernel import Kernel
from holdfast.engine.run.fixed import Steps, outcomes, run_fixed
from holdfast.engine.run.interruption import interruptible
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.requests import Numbers, check_fixed, checked_cases
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status

T = TypeVar("T")
Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]
Look = Callable[[slice, np.ndarray], None]  # which cases, and their rows (cases, rows, states)
LARGEST_GROUP = 256  # blocks
GROUP_NUMBERS = 2**21  # doubles of rows in one group
SHOWN_NUMBERS = 2**17  # the same where somebody looks at them: what stays near the processor meanwhile


@dataclass(frozen=True, eq=False)
class EnsembleRows:
    """The kept rows of all cases; rows that a case has not reached are nan. `final` is the last good state of each."""

    times: np.ndarray
    states: np.ndarray  # (cases, rows, states)
    observables: np.ndarray  # (cases, rows, observables)
    final: np.ndarray  # (cases, states)
    status: np.ndarray  # (cases,) of Status
    steps: np.ndarray  # (cases,)
    pivots: np.ndarray  # (cases, pivots): smallest over largest value of each


def run_ensemble(
    kernel: Kernel,
    states: np.ndarray,
    parameters: np.ndarray | None = None,
    *,
    t0: float = 0.0,
    step: float,
    steps: int,
    every: int = 1,
    observe: bool = True,
    look: Look | None = None,
    keep: int = 1,
    lanes: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> EnsembleRows:
    """Run every row of `states` (cases, n) with its row of `parameters`; one row of parameters serves all cases.

    `look` is shown the rows of some cases after the other, by the thread that made them; of those only every `keep`-th
    stays. `lanes` is the number of cases side by side; those of an implicit scheme, or in Python, go one by one all the
    same. `progress(cases_done, cases)` is told now and then. An interruption keeps what was computed.
    """
    check_fixed(kernel.scheme, step, steps, every)
    x, p = checked_cases(kernel.field, states, parameters)
    taken = Steps(t0, step, steps, every)
    job = _CaseBlock(kernel, x, p, taken, _lanes(kernel, lanes), observe=observe, look=look, keep=keep)
    job.machine.expect(kernel.cost * steps * len(x) / job.width)
    crew = threads or os.cpu_count() or 1
    group = job.group(crew)
    firsts = range(0, len(x), group * job.width)
    _together(crew, firsts, lambda first, cancelled: job.run(first, group, cancelled), progress, len(x))
    return job.end()


def run_ensemble_adaptive(
    kernel: Kernel,
    states: np.ndarray,
    parameters: np.ndarray | None = None,
    *,
    t0: float = 0.0,
    duration: float,
    relative: float = 1e-8,
    absolute: float | np.ndarray = 1e-10,
    longest: float = np.inf,
    at: Numbers | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[Rows | None, ...]:
    """Run every case with its own steps, one at a time on each thread; None for cases not begun when interrupted.

    `absolute` is one tolerance, one for each state, or one for each state of each case.
    """
    x, p = checked_cases(kernel.field, states, parameters)
    each = np.broadcast_to(np.asarray(absolute, float), x.shape)

    def case(number: int, cancelled: Cancelled) -> Rows:
        return kernel.run_adaptive(
            x[number], p[number], t0=t0, duration=duration, relative=relative, absolute=each[number],
            longest=longest, at=at, dense=False, stop=lambda time: cancelled(),
        )  # fmt: skip

    return run_apart(len(x), case, threads=threads, progress=progress)


def run_apart(
    cases: int,
    run: Callable[[int, Cancelled], T],
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[T | None, ...]:
    """What `run` gives for the number of each case, one at a time on each thread; None for cases not begun when
    interrupted.
    """
    found: list[T | None] = [None] * cases

    def case(number: int, cancelled: Cancelled) -> int:
        if not cancelled():
            found[number] = run(number, cancelled)
        return 1

    _together(threads or os.cpu_count() or 1, range(cases), case, progress, cases)
    return tuple(found)


class _CaseBlock:
    """An ensemble under way: threads fill the rows of their own cases."""

    def __init__(
        self,
        kernel: Kernel,
        states: np.ndarray,
        parameters: np.ndarray,
        steps: Steps,
        width: int,
        *,
        observe: bool,
        look: Look | None,
        keep: int,
    ) -> None:
        self.kernel, self.states, self.parameters, self.steps, self.width = kernel, states, parameters, steps, width
        self.machine = kernel.lanes(width)
        self.observe = observe and bool(kernel.field.observables)
        self.look, self.keep = look, keep
        self._spare = deque[Memory]()  # of groups that are over, as many as there are threads
        times = steps.times[::keep]
        cases, kept = len(states), len(times)
        self.rows = EnsembleRows(
            times=times,
            states=np.empty((cases, kept, states.shape[1])),
            observables=np.empty((cases, kept, len(kernel.field.observables) if observe else 0)),
            final=np.empty(states.shape),
            status=np.full(cases, Status.interrupted, dtype=np.int64),
            steps=np.zeros(cases, dtype=np.int64),
            pivots=np.empty((cases, len(kernel.field.pivots))),
        )

    def group(self, threads: int) -> int:
        """Blocks that are run together: few enough for all threads to have work, and for memory."""
        blocks = -(-len(self.states) // self.width)
        fitting = (GROUP_NUMBERS if self.look is None else SHOWN_NUMBERS) // max(
            1, self.steps.kept * self.states.shape[1] * self.width
        )
        return max(1, min(blocks // (4 * threads), fitting, LARGEST_GROUP))

    def run(self, first: int, group: int, cancelled: Callable[[], bool]) -> int:
        """Run the cases from number `first` on that fill a group of blocks; the last block repeats its last case."""
        cases = slice(first, min(first + group * self.width, len(self.states)))
        if cancelled():
            return self._leave(cases)
        states, parameters = self._in_lanes(self.states[cases]), self._in_lanes(self.parameters[cases])
        memory = self._memory(states, parameters)
        memory.begin(self.machine, self.steps.t0, None)
        stop = lambda done: cancelled()  # noqa: E731
        rows = run_fixed(self.machine, memory, self.steps, pace=Pace(self.kernel.cost * memory.blocks), stop=stop)
        self._keep(cases, rows, memory)
        self._spare.append(memory)
        return cases.stop - cases.start

    def end(self) -> EnsembleRows:
        """The rows; the memory of groups is left to the next ensemble."""
        self.kernel.give_back_blocks(self._spare)
        return self.rows

    def _memory(self, states: np.ndarray, parameters: np.ndarray) -> Memory:
        """The memory of a group at its start: that of one that is over, where it fits, is near the processor still."""
        with suppress(IndexError):
            memory = self._spare.pop()
            if memory.blocks == len(states):
                return memory.restarted(states, parameters)
        return self.kernel.memory_of_blocks(states, parameters)

    def _leave(self, cases: slice) -> int:
        """Nothing is known of cases that were not begun."""
        out = self.rows
        for values in (out.states, out.observables, out.final, out.pivots):
            values[cases] = np.nan
        return 0

    def _in_lanes(self, values: np.ndarray) -> np.ndarray:
        """(cases, quantities) as (blocks, quantities, lanes), without a copy where they fill their blocks."""
        if missing := -len(values) % self.width:
            values = np.concatenate([values, np.repeat(values[-1:], missing, axis=0)])
        return values.reshape(len(values) // self.width, self.width, values.shape[1]).transpose(0, 2, 1)

    def _in_order(self, values: np.ndarray, out: np.ndarray) -> None:
        """Put (blocks, ..., lanes) in the order of cases; what the last block repeats is left out."""
        by_cases = values.transpose(0, -1, *range(1, values.ndim - 1))
        whole, rest = divmod(len(out), self.width)
        filling = out[: len(out) - rest].reshape(whole, self.width, *out.shape[1:])
        filling[...] = by_cases[:whole]
        if rest:
            out[len(out) - rest :] = by_cases[whole, :rest]

    def _keep(self, cases: slice, rows: np.ndarray, memory: Memory) -> None:
        """Put the rows of a group in the order of cases; rows beyond a case's end become nan."""
        out, kept, count = self.rows, self.steps.kept, cases.stop - cases.start
        states = out.states[cases] if self.look is None else np.empty((count, kept, memory.size))
        self._in_order(rows, states)
        done = memory.done.reshape(-1)[:count]
        reached = done // self.steps.every
        if reached.min() < kept - 1:
            states[np.arange(kept) > reached[:, None]] = np.nan
        if self.look is not None:
            self.look(cases, states)
            out.states[cases] = states = states[:, :: self.keep]
        self._in_order(memory.x, out.final[cases])
        self._in_order(memory.pivot_margins(), out.pivots[cases])
        out.steps[cases] = done
        out.status[cases] = outcomes(memory, self.steps).reshape(-1)[:count]
        if self.observe:
            out.observables[cases] = self.kernel.observe_cases(out.times, states, self.parameters[cases])


def _lanes(kernel: Kernel, wanted: int | None) -> int:
    """As many cases side by side as are wanted, or as the machine takes; or one, where cases can only go alone."""
    return (wanted or native.lane_width()) if kernel.in_lanes else 1


def _together(
    threads: int, parts: Iterable[int], work: Callable[[int, Cancelled], int], progress: Progress | None, cases: int
) -> None:
    """Do the work part by part on so many threads, and tell how many cases are done."""
    with interruptible() as pressed:
        crew = _Crew(deque(parts), work, pressed)
        crew.run(threads, (lambda done: progress(done, cases)) if progress is not None else lambda done: None)


class _Crew:
    """Threads that take one part of the work after the other, the caller's among them: to wake others for all of it
    takes longer than many an ensemble.
    """

    def __init__(self, parts: deque[int], work: Callable[[int, Cancelled], int], pressed: Cancelled) -> None:
        self.parts, self.work, self.pressed = parts, work, pressed
        self.done, self.total = deque[int](), 0  # cases of parts that were not counted yet, and of those that were
        self.errors: list[BaseException] = []

    def run(self, threads: int, tell: Callable[[int], None]) -> None:
        """Do all of it, and tell how many cases are done."""
        others = [threading.Thread(target=self.take_parts) for _ in range(min(threads, len(self.parts)) - 1)]
        for thread in others:
            thread.start()
        self.take_parts(lambda: tell(self.counted()))
        for thread in others:
            thread.join()
        if self.errors:
            raise self.errors[0]
        tell(self.counted())

    def take_parts(self, tell: Callable[[], None] = lambda: None) -> None:
        """Until none is left; only the caller's thread tells of it."""
        try:
            while (part := self.next_part()) is not None:
                self.done.append(self.work(part, self.cancelled))
                tell()
        except BaseException as error:  # whatever it is, the caller gets it when all threads have stopped
            self.errors.append(error)

    def counted(self) -> int:
        """How many cases are done."""
        while self.done:
            self.total += self.done.popleft()
        return self.total

    def next_part(self) -> int | None:
        try:
            return self.parts.popleft()
        except IndexError:
            return None

    def cancelled(self) -> bool:
        return self.pressed() or bool(self.errors)
