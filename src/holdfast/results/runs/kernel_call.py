"""A run about to happen: how it is asked of the kernel, and what watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.engine.kernel import Kernel
from holdfast.engine.run.rows import Rows
from holdfast.results.runs.event import After
from holdfast.results.runs.request import Request

Told = Callable[[float], bool]  # is told the time reached; true ends the run


@dataclass(frozen=True, eq=False)
class KernelCall:
    """What a kernel is asked to do beside the state it starts from."""

    request: Request
    every: int
    constants: list[float]
    directions: list[int]
    after: After | None = None
    told: Told = lambda time: False

    def run(self, kernel: Kernel, state: Any, at: np.ndarray | None = None) -> Rows:
        """All rows, or those of a run with steps of its own at some times."""
        request = self.request
        if request.step is None:
            assert request.tolerance is not None
            return kernel.run_adaptive(
                np.asarray(state, float),
                self.constants,
                t0=request.begin,
                duration=request.duration,
                relative=request.tolerance,
                absolute=request.absolutes,
                longest=request.longest,
                at=at,
                directions=self.directions,
                stop=self.told,
            )
        begin, step = request.begin, request.step
        return kernel.run(
            np.asarray(state, float),
            self.constants,
            t0=begin,
            step=step,
            steps=request.steps,
            every=self.every,
            directions=self.directions,
            after=self.after,
            stop=lambda count: self.told(begin + count * step),
        )
