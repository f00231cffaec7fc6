"""The cases of an ensemble as runs by themselves: what each is asked, what it starts from, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from holdfast.engine.kernel import Kernel
from holdfast.engine.run.adaptive import TooManySteps
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.results.ensembles.cases import Cases
from holdfast.results.runs.crossing import carried
from holdfast.results.runs.event import EventWatch
from holdfast.results.runs.job import Job
from holdfast.results.runs.kernel_call import KernelCall, Told
from holdfast.results.runs.request import Request
from holdfast.results.start.start import deviations_at, start_from


@dataclass(frozen=True, eq=False)
class CaseJobs:
    """All cases; `used` are the states that they start from."""

    equations: Equations
    request: Request
    kernel: Kernel
    policy: str
    cases: Cases
    used: np.ndarray  # (cases, states)

    def of(self, number: int) -> Job:
        """One case; where there is no state to start from, by what was stated."""
        equations, begin, cases = self.equations, self.request.begin, self.cases
        used, constants = self.used[number], cases.constants[number].tolist()
        if not np.isfinite(used).all():
            used = cases.states[number]
        deviation = deviations_at(equations, self.kernel, used, constants, begin)
        start = start_from(
            equations, self.policy, cases.states[number], used, deviation, begin, constants, cases.stated
        )
        return Job(equations, self.request_of(number), self.kernel, start, constants, EventWatch({}, {}, {}))

    def request_of(self, number: int) -> Request:
        """The request of one case, with its own tolerances."""
        return request_of_case(self.request, number)

    def rows(self, number: int, told: Told = lambda time: False) -> Rows:
        """All rows of one case, by the steps that it takes, as `simulate` makes them."""
        return carried(self.equations, self.kernel, self._call(number, told), self.used[number])

    def rows_at_times(self, number: int, job: Job, told: Told) -> tuple[Rows, Rows]:
        """The same, and those of them at the common times; of a case of more steps than memory holds, which `simulate`
        refuses, all that is known are the latter, its start and its end.
        """
        try:
            rows = self.rows(number, told)
            return rows, job.picked(rows)
        except TooManySteps:
            call = self._call(number, told)
            wanted, begin, end = call.request.at, call.request.begin, call.request.begin + call.request.duration
            assert wanted is not None
            rows = call.run(self.kernel, self.used[number], at=np.unique([begin, *wanted, end]))
            return rows, rows.picked(np.isin(rows.times, wanted))

    def _call(self, number: int, told: Told) -> KernelCall:
        return KernelCall(self.request_of(number), 1, self.cases.constants[number].tolist(), [], told=told)


def request_of_case(request: Request, number: int) -> Request:
    """A request of many cases for one of them, with its own tolerances."""
    absolute = request.absolute
    if isinstance(absolute, np.ndarray) and absolute.ndim == 2:
        return replace(request, absolute=absolute[number])
    return request
