"""The same run once more, finer, for an estimate of its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.results.state_error import StateError, compared, unknown_error
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
        other = run.finer() if run.finer is not None else _again(run, equations)
    except HoldfastError as error:
        return unknown_error(run, error.what)
    if other is None:
        return unknown_error(run, "no finer run can be asked for")
    return compared(run, other, equations, scheme_named(run.scheme).order)


def _again(run: Trajectory, equations: Equations) -> Trajectory | None:
    """The finer run of one that was loaded, from what is saved with it."""
    from holdfast.results.simulate import simulate

    begin, end = float(run.times[0]), float(run.times[-1])
    common = {"start": list(run.start.state), "start_policy": "keep", "parameters": dict(run.parameters)}
    if run.step is not None:
        steps = int((end - begin) / run.step * (1 + 1e-12))
        if steps < 1:
            return None
        return simulate(equations, run.scheme, step=run.step / 2, duration=steps * run.step, **common)
    assert run.tolerance is not None
    times = [float(time) for time in run.times]
    return simulate(
        equations, run.scheme, tolerance=max(1e-15, run.tolerance / 100), at=times, duration=end - begin, **common
    )
