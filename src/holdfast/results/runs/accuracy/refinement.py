"""The same run once more, finer, for an estimate of its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.results.runs.accuracy.state_error import (
    LARGE,
    TIGHTER,
    WORTH_A_THIRD,
    StateError,
    compared,
    followed,
    unknown_error,
)
from holdfast.results.runs.request import SMALLEST_TOLERANCE
from holdfast.schemes.by_name import scheme_named

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations
    from holdfast.results.trajectory import Trajectory


def refined_error(run: Trajectory, equations: Equations | None) -> StateError:
    """The error of a run, from a finer one."""
    if equations is None:
        return unknown_error(run, "the run does not know its problem")
    if run.projected:
        return unknown_error(run, "the run was moved back onto the program after each step")
    if len(run.times) < 2 or not np.isfinite(run.y).all():
        return unknown_error(run, "the run has too few rows")
    try:
        other = _finer(run, equations, 1)
        if other is None:
            return unknown_error(run, "no finer run can be asked for")
        order = scheme_named(run.scheme).order
        error = compared(run, other, equations, order)
        if not WORTH_A_THIRD < error.relative <= LARGE:
            return error
        third = _finer(run, equations, 2)
        return error if third is None else followed(run, error, compared(other, third, equations, order))
    except HoldfastError as problem:
        return unknown_error(run, problem.what)


def _finer(run: Trajectory, equations: Equations, times: int) -> Trajectory | None:
    return run.finer(times) if run.finer is not None else _again(run, equations, times)


def _again(run: Trajectory, equations: Equations, times: int) -> Trajectory | None:
    """The finer run of one that was loaded, from what is saved with it."""
    from holdfast.results.runs.simulate import simulate

    begin, end = float(run.times[0]), float(run.times[-1])
    common: dict[str, Any] = {
        "start": list(run.start.state),
        "start_policy": "keep",
        "parameters": dict(run.parameters),
    }
    if run.step is not None:
        steps = int((end - begin) / run.step * (1 + 1e-12))
        if steps < 1:
            return None
        return simulate(equations, run.scheme, step=run.step / 2**times, duration=steps * run.step, **common)
    assert run.tolerance is not None
    tolerance = max(SMALLEST_TOLERANCE, run.tolerance / TIGHTER**times)
    return simulate(equations, run.scheme, tolerance=tolerance, at=run.times.tolist(), duration=end - begin, **common)
