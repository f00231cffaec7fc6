"""A sampled run as a job: its rows, the same with a finer step, and its judgement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from holdfast.engine.run.rows import Rows
from holdfast.results.runs.job import Job, check_size
from holdfast.results.runs.sampled import SampledRun
from holdfast.results.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class SampledJob(Job):
    """A run under a computer. Samples, delays and noise are the same in a finer one, whose plant takes finer steps."""

    def rows(self, told: Callable[[float], bool]) -> Rows:
        made = SampledRun(self.equations, self.kernel, self.request, self.constants, self.every, told)
        return made.rows(self.start.state)

    def finer(self, shown: Rows, times: int) -> Trajectory | None:
        if self.request.step is None or self.request.at is not None or shown.steps < 1:
            return None
        parts = 2**times
        step, steps = self.request.step / parts, parts * shown.steps
        request = replace(self.request, step=step, steps=steps, duration=steps * step, every=parts * self.every)
        check_size(request, len(self.equations.state_names) + len(self.equations.observables))
        job = replace(self, request=request)
        return job.named(job.rows(lambda time: False))
