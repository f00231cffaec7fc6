"""Runs of one `Equations` that were made before, by the words they were asked in.

The same words with the same or with other numbers need no more than the numbers, the native run and an object for what
it gave. Whatever is not as it was (an event, a kept row of its own, a run that ends badly) goes the long way, whose
words and results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.kernel import Kernel
from holdfast.engine.run.fixed import Steps
from holdfast.engine.run.memory import Memory
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.standing import StandingAdaptiveRun, StandingRun, Stood
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.problem.bodies.rows import require_closed
from holdfast.problem.types import ByName, StateLike
from holdfast.results.runs.again.found import found_run
from holdfast.results.runs.job import Job
from holdfast.results.runs.prepared import PreparedRuns, prepared_runs
from holdfast.results.runs.request import Request, RunOptions
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme

KEPT = 16  # ways of asking that are remembered of one `Equations`: a program has few
PLAIN = frozenset((int, float, type(None)))  # types of options that are compared by value


@remembered
def known_runs(equations: Equations) -> KnownRuns:
    """What is known of runs of these equations."""
    return KnownRuns(prepared_runs(equations))


class KnownRuns:
    """Runs by their words. Threads may share it: each entry is put in place whole."""

    def __init__(self, prepared: PreparedRuns) -> None:
        self._prepared = prepared
        self._known: dict[Any, KnownRun] = {}

    def again(
        self, scheme: Scheme | str | None, options: RunOptions, policy: str | None, start: StateLike | None,
        parameters: ByName | None,
    ) -> Trajectory | None:  # fmt: skip
        """The run, if one in these words is known and ends well."""
        try:
            known = self._known.get((scheme, policy, *options.items()))
        except TypeError:  # an option that is a list: it has no hash
            return None
        if known is None or known.types != [*map(type, options.values())]:
            return None  # 1.0 is a step, True is not
        return known.run(start, parameters)

    def learn(self, scheme: Scheme | str | None, options: RunOptions, policy: str | None, job: Job, rows: Rows) -> None:
        """Remember how a run was asked for that has just been made, where it may be made again by itself."""
        types = [*map(type, options.values())]
        run = _standing(job, rows) if PLAIN.issuperset(types) and (scheme is None or _is_plain(scheme)) else None
        if run is not None:
            known = KnownRun(self._prepared, policy, job, run, types)
            kept = list(self._known.items())[1 - KEPT :]
            self._known = {**dict(kept), (scheme, policy, *options.items()): known}


class KnownRun:
    """One way of asking: with the numbers of the problem, or with others."""

    def __init__(
        self, prepared: PreparedRuns, policy: str | None, job: Job, run: StandingRun | StandingAdaptiveRun,
        types: list[type],
    ) -> None:  # fmt: skip
        self.types = types
        self._prepared, self._policy, self._job, self._run = prepared, policy, job, run
        self._own: tuple[Job, np.ndarray] | None = None
        rows, field = job.equations.problem.system.rows, job.kernel.field
        self._may_not_close = rows is not None and bool(rows.idle)
        self._own_order = field.fingerprint == job.equations.fingerprint

    def run(self, start: StateLike | None, parameters: ByName | None) -> Trajectory | None:
        """The run from a start, under parameters; None where it is for the long way."""
        if start is None and parameters is None:
            job, memory = self._from_own_start()
        else:
            job, memory = self._from_other_start(start, parameters)
        stood = self._stood(job.request, memory)
        return None if stood is None else found_run(job, stood)

    def _from_own_start(self) -> tuple[Job, Memory]:
        """The numbers of the problem: found and judged once."""
        if self._own is None:
            job, memory = self._from_other_start(None, None)
            self._own = job, memory.block.copy()
            return job, memory
        job, block = self._own
        memory = job.kernel.spare_memory()
        memory.block[:] = block
        return job, memory

    def _from_other_start(self, start: StateLike | None, parameters: ByName | None) -> tuple[Job, Memory]:
        """Other numbers: their start is found and judged as for any run, in the memory that the run then takes."""
        prepared, kernel, request = self._prepared, self._job.kernel, self._job.request
        equations, constants = self._job.equations, prepared.constants(parameters)
        if parameters and self._may_not_close:
            require_closed(equations.problem.system, dict(zip(equations.parameter_names, constants, strict=True)))
        judge = _JudgeInMemory(kernel) if self._own_order else None
        begun = prepared.start(start, self._policy, constants, request.begin, kernel, judge)
        if request.step is None:
            request = prepared.with_tolerances(request, begun, constants, kernel)
        job = self._job.from_start(request, begun, constants)
        memory = judge.memory if judge is not None else None
        return job, memory or kernel.memory(begun.state, constants, request.begin, None)

    def _stood(self, request: Request, memory: Memory) -> Stood | None:
        if isinstance(self._run, StandingRun):
            return self._run(memory)
        return self._run(memory, np.full(memory.size, request.absolutes, float))


class _JudgeInMemory:
    """A kernel as what judges a start: its rates and pivots there are those that the run begins with."""

    __slots__ = ("_kernel", "memory")

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.memory: Memory | None = None  # at the last state that was asked about

    @property
    def field(self) -> Field:
        return self._kernel.field

    def values_at(
        self, nodes: tuple[Node, ...], times: np.ndarray, states: np.ndarray, parameters: Sequence[float] = ()
    ) -> np.ndarray:
        return self._kernel.values_at(nodes, times, states, parameters)

    def observe_one(self, t: float, state: np.ndarray, parameters: Sequence[float] = ()) -> list[float]:
        return self._kernel.observe_one(t, state, parameters)

    def rates_and_margin(
        self, t: float, state: np.ndarray, parameters: Sequence[float] = ()
    ) -> tuple[np.ndarray, float]:
        if self.memory is not None:
            self._kernel.give_back(self.memory)
        self.memory, margin = self._kernel.memory_and_margin(t, state, parameters)
        return self.memory.rate, margin


def _is_plain(scheme: Scheme | str) -> bool:
    return isinstance(scheme, (Scheme, str))


def _standing(job: Job, rows: Rows) -> StandingRun | StandingAdaptiveRun | None:
    """The run that a job has just made, to be made again; None where it is not one of the plain short ones."""
    request, kernel = job.request, job.kernel
    plain = rows.status == Status.completed and not job.watch.directions and request.at is None
    if not plain or job.after is not None or job.equations.solver.form == "redundant" or type(job) is not Job:
        return None
    made: StandingRun | StandingAdaptiveRun
    if request.step is not None:
        made = StandingRun(kernel, Steps(request.begin, request.step, request.steps, job.every))
    elif request.tolerance is not None and job.every == 1:
        taken = rows.steps + rows.rejected
        made = StandingAdaptiveRun(kernel, request.begin, request.duration, request.tolerance, request.longest, taken)
    else:
        return None
    return made if made.short else None
