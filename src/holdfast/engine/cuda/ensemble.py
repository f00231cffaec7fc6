"""Cases of one kernel on a graphics card, streamed through its memory where they do not fit into it at once.

A launch takes all cases of a batch through some steps, so that an interruption is noticed and progress is told; the
state of a case stays on the card between launches, and rows come back once, in the order of the cases.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.engine.code.kernel_source import KernelSource
from holdfast.engine.cuda.accumulators import ACCUMULATORS, values
from holdfast.engine.cuda.compile import machine_code
from holdfast.engine.cuda.device import Card, CardFunction, CardMemory, card
from holdfast.engine.cuda.source import THREADS, CudaSource
from holdfast.engine.emit.c_real import PRECISIONS, Precision
from holdfast.engine.run.fixed import Steps
from holdfast.engine.run.interruption import interruptible
from holdfast.engine.run.status import Status
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.scheme import Scheme

SHARE = 0.8  # of the free memory that a batch may take
LONGEST = 0.2  # seconds of a launch, about: between launches an interruption is seen
FEWEST = 16  # steps of the first launch, by which the others are measured
LIVE, COUNTED = 9, 5  # doubles and integers of an adaptive case, as `drivers.adaptive` has them

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class CardRows:
    """What came back of all cases. Rows that a case has not reached are nan; `sums` are reductions, by case."""

    states: np.ndarray  # (cases, rows, states)
    final: np.ndarray
    status: np.ndarray
    steps: np.ndarray
    rejected: np.ndarray
    pivots: np.ndarray
    sums: np.ndarray  # (cases, reductions)
    reached: np.ndarray  # rows of each case
    seconds: np.ndarray  # one number: on the card, of all launches


@dataclass(frozen=True, eq=False)
class AdaptivePlan:
    """An adaptive run until `end`, with rows at the wanted times."""

    t0: float
    end: float
    relative: float
    absolutes: np.ndarray  # (cases, states)
    longest: float
    wanted: np.ndarray

    @property
    def kept(self) -> int:
        return len(self.wanted)

    def of_cases(self, some: slice) -> AdaptivePlan:
        return replace(self, absolutes=self.absolutes[some])


class CardRun:
    """Cases of one field and scheme, in one precision, with the same reductions."""

    def __init__(
        self,
        assembly: KernelSource,
        scheme: Scheme,
        parameters: np.ndarray,
        precision: str = "double",
        sums: Sequence[tuple[str, Node]] = (),
        field: Field | None = None,
    ) -> None:
        """`sums` are of nodes of `field`, or of the one that the code was made of."""
        self.precision: Precision = PRECISIONS[precision]
        self.real = np.dtype(self.precision.type.replace("float", "float32").replace("double", "float64"))
        self.varying = tuple((parameters != parameters[:1]).any(axis=0).tolist())
        chosen = tuple((ACCUMULATORS[name], node) for name, node in sums)
        self.source = CudaSource(assembly, scheme, self.precision, self.varying, field or assembly.field, chosen)
        constants = assembly.constants
        self.size, self.pivots = int(constants["N"]), int(constants["PIVOTS"])
        self.card: Card = card()
        self.card.bind()

    @cached_property
    def function(self) -> CardFunction:
        code = machine_code(self.source.text, self.card.capability)
        return self.card.function(code, self.source.name)

    def run(
        self, states: np.ndarray, parameters: np.ndarray, plan: Steps | AdaptivePlan, progress: Progress | None = None
    ) -> CardRows:
        """Every row of `states` with its row of `parameters`."""
        cases, kept = len(states), plan.kept
        found = CardRows(
            states=np.empty((cases, kept, self.size)),
            final=np.array(states, float),
            status=np.full(cases, Status.interrupted, dtype=np.int64),
            steps=np.zeros(cases, dtype=np.int64),
            rejected=np.zeros(cases, dtype=np.int64),
            pivots=np.full((cases, self.pivots), np.nan),
            sums=np.full((cases, len(self.source.sums)), np.nan),
            reached=np.zeros(cases, dtype=np.int64),
            seconds=np.zeros(1),
        )
        with interruptible() as pressed:
            for some in self._batches(cases, kept):
                if pressed():
                    found.states[some] = np.nan
                else:
                    self._run_batch(found, some, states, parameters, plan, pressed, progress)
        return found

    def _run_batch(
        self,
        found: CardRows,
        some: slice,
        states: np.ndarray,
        parameters: np.ndarray,
        plan: Steps | AdaptivePlan,
        pressed: Callable[[], bool],
        progress: Progress | None,
    ) -> None:
        """Some of the cases, to their end."""

        def told(part: float) -> None:
            if progress is not None:
                progress(int(some.start + part * (some.stop - some.start)), len(states))

        with self.card.memory() as memory:
            batch = _Batch(self, memory, states[some], parameters[some], plan.of_cases(some))
            found.seconds[0] += batch.run(pressed, told)
            batch.keep(found, some)

    def _batches(self, cases: int, kept: int) -> Iterator[slice]:
        """As many cases at a time as fit into the card's memory."""
        each = self.real.itemsize * (self.size * (kept + 1) + self.pivots + sum(self.varying))
        each += 8 * (3 + self.pivots // 64 + 4 * len(self.source.sums) + LIVE + COUNTED + self.size)
        most = max(THREADS, int(SHARE * self.card.free / each))
        for first in range(0, cases, most):
            yield slice(first, min(first + most, cases))


class _Batch:
    """Cases that lie on the card together."""

    def __init__(
        self, run: CardRun, memory: CardMemory, states: np.ndarray, parameters: np.ndarray, plan: Steps | AdaptivePlan
    ) -> None:
        self.run_of, self.memory, self.plan, self.cases, self.kept = run, memory, plan, len(states), plan.kept
        real, size, pivots = run.real, run.size, run.pivots
        self.job = job = _job_type(real, len(run.varying))()
        job.cases, job.kept = self.cases, self.kept
        job.x = memory.of(states.astype(real))
        job.p = memory.of(parameters[:, list(run.varying)].astype(real))
        job.below = memory.zeros(8 * self.cases * max(1, -(-pivots // 64)))
        job.status = memory.zeros(4 * self.cases)
        job.done = memory.zeros(8 * self.cases)
        job.rows = memory.empty(self.cases * self.kept * size * real.itemsize)
        job.margins = memory.empty(self.cases * pivots * real.itemsize)
        job.sums = memory.zeros(8 * 4 * self.cases * max(1, len(run.source.sums)))
        job.common[: len(run.varying)] = parameters[0].astype(real).tolist()
        if isinstance(plan, Steps):
            job.t0, job.h, job.every = plan.t0, plan.step, plan.every
        else:
            live = [plan.t0, plan.end, 0.0, plan.relative, 1e-4, 0.0, 0.0, plan.longest, 0.0]
            job.control, job.counts = memory.of(np.tile(live, (self.cases, 1))), memory.zeros(8 * COUNTED * self.cases)
            job.wanted, job.absolutes = memory.of(plan.wanted), memory.of(plan.absolutes)

    def run(self, pressed: Callable[[], bool], told: Callable[[float], Any]) -> float:
        """Launch after launch until all is done; the seconds that they took."""
        return self._steps(pressed, told) if isinstance(self.plan, Steps) else self._attempts(pressed, told)

    def _launch(self) -> float:
        began = time.perf_counter()
        self.run_of.function.launch(self.cases, THREADS, self.job)
        self.run_of.card.wait()
        return time.perf_counter() - began

    def _steps(self, pressed: Callable[[], bool], told: Callable[[float], Any]) -> float:
        assert isinstance(self.plan, Steps)
        spent, count, every = 0.0, FEWEST, self.plan.every
        while self.job.first < self.plan.count and not pressed():
            left = self.plan.count - self.job.first
            whole = -(-count // every) * every  # the next launch begins where a row is kept
            self.job.count = min(whole, left)
            took = self._launch()
            spent += took
            self.job.first += self.job.count
            count = max(FEWEST, int(self.job.count * LONGEST / max(took, 1e-6)))
            told(self.job.first / self.plan.count)
        if self.plan.count == 0:
            self.job.count = 0
            spent += self._launch()
        return spent

    def _attempts(self, pressed: Callable[[], bool], told: Callable[[float], Any]) -> float:
        assert isinstance(self.plan, AdaptivePlan)
        spent, self.job.attempts, control = 0.0, FEWEST, np.empty((self.cases, LIVE))
        status = np.empty(self.cases, dtype=np.int32)
        while not pressed():
            took = self._launch()
            spent += took
            self.job.attempts = max(FEWEST, int(self.job.attempts * LONGEST / max(took, 1e-6)))
            self.memory.fetch(self.job.control, control)
            self.memory.fetch(self.job.status, status)
            going = (status == 0) & (control[:, 0] < control[:, 1])
            if not going.any():
                break
            told(1 - float(going.mean()))
        return spent

    def keep(self, found: CardRows, some: slice) -> None:
        """Fetch all, in the order of the cases."""
        fetch, job, real, size = self.memory.fetch, self.job, self.run_of.real, self.run_of.size
        rows = fetch(job.rows, np.empty((self.cases, self.kept, size), real))
        done = fetch(job.done, np.empty(self.cases, np.int64))
        status = fetch(job.status, np.empty(self.cases, np.int32)).astype(np.int64)
        if isinstance(self.plan, Steps):
            reached, steps = done // self.plan.every + 1, done
            finished = done == self.plan.count
        else:
            counts = fetch(job.counts, np.empty((self.cases, COUNTED), np.int64))
            control = fetch(job.control, np.empty((self.cases, LIVE)))
            reached, steps, found.rejected[some] = done, counts[:, 0], counts[:, 1]
            finished = control[:, 0] >= control[:, 1]
        found.states[some] = rows
        found.states[some][np.arange(self.kept) >= reached[:, None]] = np.nan
        found.final[some] = fetch(job.x, np.empty((self.cases, size), real))
        found.status[some] = np.where(status != 0, status, np.where(finished, Status.completed, Status.interrupted))
        found.steps[some], found.reached[some] = steps, reached
        found.pivots[some] = fetch(job.margins, np.empty((self.cases, self.run_of.pivots), real))
        chosen = self.run_of.source.sums
        if chosen:
            sums = fetch(job.sums, np.empty((self.cases, len(chosen), 4)))
            for k, (accumulator, _) in enumerate(chosen):
                found.sums[some, k] = values(accumulator, sums[:, k])


def _job_type(real: np.dtype[Any], parameters: int) -> type[ctypes.Structure]:
    """`struct Job` of the kernel's text."""
    whole, number, place = ctypes.c_int64, ctypes.c_double, ctypes.c_uint64
    common = (ctypes.c_float if real.itemsize == 4 else ctypes.c_double) * max(1, parameters)
    names: list[tuple[str, Any]] = [(name, whole) for name in "cases first count every kept attempts".split()]
    names += [(name, number) for name in "t0 h end relative longest".split()]
    arrays = "x p below status done rows margins sums wanted absolutes control counts"
    names += [(name, place) for name in arrays.split()]
    return type("Job", (ctypes.Structure,), {"_fields_": [*names, ("common", common)]})
