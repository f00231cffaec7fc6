"""Cases that pass singular states: carried across as `simulate` carries them, one by one.

Where constraints may depend on each other at instants, a kernel that runs on regardless leaves on another branch. So
cases of fixed steps that came near such a state, or broke off, are run again in pieces; so are all adaptive ones of a
card, whose common rows may lie far apart (others run as `simulate` runs them).
"""

from __future__ import annotations

import numpy as np

from holdfast.engine.kernel import Kernel
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.results.ensembles.case_jobs import request_of_case
from holdfast.results.ensembles.ensemble import Counts
from holdfast.results.judgement.first_look import near_singular
from holdfast.results.runs.crossing import carried
from holdfast.results.runs.job import kept_rows
from holdfast.results.runs.kernel_call import KernelCall
from holdfast.results.runs.request import Request


def cross_cases(
    equations: Equations, kernel: Kernel, request: Request, used: np.ndarray, constants: np.ndarray,
    times: np.ndarray, states: np.ndarray, counts: Counts,
) -> None:  # fmt: skip
    """Put the rows of cases that cross singular states in the place of those that ran on regardless."""
    if equations.solver.form != "redundant":
        return
    asked = np.isfinite(used).all(axis=1) & (counts.status != Status.interrupted)
    if request.step is not None:
        broken = counts.status != Status.completed
        whole = np.nonzero(asked & ~broken)[0]
        asked &= broken
        asked[whole] |= near_singular(equations, times, states[whole], constants[whole])
    for case in np.nonzero(asked)[0]:
        own = request_of_case(request, int(case))
        call = KernelCall(own, kept_rows(request), constants[case].tolist(), [])
        _put(carried(equations, kernel, call, used[case]), own, times, states[case], counts, int(case))


def _put(rows: Rows, request: Request, times: np.ndarray, states: np.ndarray, counts: Counts, case: int) -> None:
    """The rows of one case at the common times, and what was counted."""
    states[:] = np.nan
    if request.step is not None:
        number, every = np.rint((rows.times - request.begin) / request.step).astype(int), kept_rows(request)
        within = number <= request.steps
        kept = within & (number % every == 0)
        states[number[kept] // every] = rows.states[kept]
        last = int(np.nonzero(within)[0][-1])
        counts.steps[case], counts.final[case] = number[last], rows.states[last]
    else:
        end = float(rows.times[-1])
        reached = times <= end + 1e-12 * max(1.0, abs(end))
        states[reached] = rows.states[:1] if rows.dense is None else rows.dense(np.minimum(times[reached], end))
        counts.steps[case], counts.final[case] = rows.steps, rows.states[-1]
    counts.status[case], counts.rejected[case] = rows.status, rows.rejected
    counts.evaluations[case] = rows.evaluations
    if rows.pivots.size == counts.pivots.shape[1]:
        counts.pivots[case] = rows.pivots
