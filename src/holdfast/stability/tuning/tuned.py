"""A problem whose gains are still to be chosen, with gains."""

from __future__ import annotations

from typing import Unpack

from holdfast.common.arguments import with_options
from holdfast.equations.derive import derive
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Tuned
from holdfast.problem.problem import Problem
from holdfast.results.runs.request import StepOptions
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.tuning.tune import tune


@with_options(StepOptions)
def tuned(problem: Problem, scheme: Scheme | str | None = None, **run: Unpack[StepOptions]) -> Problem:
    """The problem with gains in place of `Tuned()`, chosen for its own run or for the one given; others as they are."""
    if not isinstance(problem, Problem):
        raise BadRequest(f"tuned() takes a Problem, not {type(problem).__name__}", fix="hf.load(...) gives one")
    if not isinstance(problem.program.law, Tuned):
        return problem
    stated = problem.run
    sizes = (run.get("step"), run.get("tolerance"), stated.step, stated.tolerance)
    if (run.get("duration") or stated.duration) is None or all(size is None for size in sizes):
        raise BadRequest(
            "gains are chosen for a scheme, a step and a duration, and the problem states no such run",
            where="run",
            fix="hf.tuned(problem, hf.RK4, step=..., duration=...), or state run=hf.Run(step=..., duration=...)",
        )
    found = tune(derive(problem), scheme, **run)
    return problem.with_law(found.law)
