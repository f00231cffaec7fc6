"""A part of a run as a problem of its own, which starts where the run entered it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.common.frozen import Frozen
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import by_name
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.stability.promise.tableau import require_maker, require_run


def require_equations(given: object, verb: str) -> None:
    if not isinstance(given, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(given).__name__}", fix="hf.derive(problem) first")


def require_of(run: Trajectory, equations: Equations, where: str) -> None:
    """A run of these equations, moved by its scheme alone."""
    require_run(run, where)
    require_maker(run, scheme_named(run.scheme), f"{where}(trajectory=...)")
    made, asked = run.problem, equations.problem
    if made is None or (made.system, made.program, made.phases) != (asked.system, asked.program, asked.phases):
        raise BadRequest("the run was made by another system, program or law", where=f"{where}(trajectory=...)")
    if any(part.equations is None for part in (run.parts if isinstance(run, JoinedRun) else (run,))):
        raise BadRequest("the run was read from a file, without its equations", where=f"{where}(trajectory=...)",
                         fix="make it again")  # fmt: skip
    if run.projected:
        raise BadRequest(
            "the run was moved back onto the program after each step: it is not the scheme's own motion",
            where=f"{where}(trajectory=...)", fix="run it without projection",
        )  # fmt: skip


def numbers_of(run: Trajectory, given: ByName | None, where: str) -> dict[str, float]:
    """The parameters of a run that are not those of its problem; others than the run's own are refused."""
    equations = run.equations
    assert equations is not None
    for name, value in by_name(given or {}, where="parameters").items():
        if name in run.parameters and run.parameters[name] != float(value):
            raise BadRequest(
                f"the run was made with {name} = {run.parameters[name]:g}, not {float(value):g}",
                where=f"{where}(trajectory=...)", fix="give the same parameters, or none",
            )  # fmt: skip
    stated = zip(equations.parameter_names, parameter_vector(equations, {}), strict=True)
    return {name: run.parameters[name] for name, value in stated if run.parameters[name] != value}


def from_row(part: Trajectory, row: int, steps: int) -> Equations:
    """What follows a row of a run, as a problem of its own; its step is that of the run, whatever drift is wanted."""
    equations, step = part.equations, part.step
    assert equations is not None
    assert step is not None
    problem = equations.problem
    own = replace(
        problem.run,
        begin=float(part.times[row]),
        duration=steps * step,
        step=step,
        scheme=part.scheme,
        start_policy="keep",
    )
    start: dict[str, Any] = dict(zip(equations.state_names, part.y[:, row].tolist(), strict=True))
    asked = Frozen({key: value for key, value in problem.certificate.items() if key != "drift"})
    return derive(replace(problem, run=own, start=Frozen(start), certificate=asked))


def same_run(one: Trajectory, other: Trajectory) -> bool:
    """Whether these are one run, whatever rows of it either keeps."""
    if one is other:
        return True
    told, asked = (
        (run.scheme, run.step, run.start.state, run.parameters, run.steps, float(run.times[-1]), run.y[:, -1].tolist())
        for run in (one, other)
    )
    return told == asked and one.problem == other.problem
