"""A run certified part by part, each from where it was entered: phases, and stretches between what no proof crosses."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.common.frozen import Frozen
from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import by_name
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.runs.request import StepOptions
from holdfast.results.runs.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.promise.certify import certify
from holdfast.stability.promise.request import certificate_request
from holdfast.stability.promise.tableau import require_maker

TRIMS = (0, 4, 16, 64)  # steps that are left out at the ends of a stretch, until it is proved
FEW = 10  # steps: a stretch below is left out
WHOLE = 1e-6  # of a step: a last one that lacks less is whole


@with_options(StepOptions)
def certify_phases(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    trajectory: Trajectory | None = None,
    parameters: ByName | None = None,
    effort: float | None = None,
    tube: bool = False,
    progress: Callable[[float], None] | None = None,
    **run: Unpack[StepOptions],
) -> dict[str, Certificate]:
    """A certificate for each phase that a run went through, by its place and name: ``{"1 swing": ..., "2 fly": ...}``.

    Each is about the phase as a problem of its own, which starts where this run entered it, and is as any other: it can
    be saved, and `hf.verify` re-checks it. It speaks of the whole steps of the phase; of the shorter one by which an
    event is met, and of what happens between phases, it says nothing. A phase shorter than a step has none.

        certificates = hf.certify_phases(hf.derive(hf.load("pick_and_place.toml")))
        certificates["1 reach"].label
    """
    _require_equations(equations, "certify_phases")
    if not equations.problem.phases:
        raise BadRequest("this problem has no phases", where="certify_phases", fix="use hf.certify")
    made = trajectory
    if made is None:
        made = simulate(equations, scheme, parameters=parameters, every=1, **run)
    if not isinstance(made, JoinedRun) or not made.phases:
        raise BadRequest("the run did not go through phases", where="certify_phases(trajectory=...)")
    _require_of(made, equations, "certify_phases")
    found: dict[str, Certificate] = {}
    for k, (name, part) in enumerate(zip(made.phases, made.parts, strict=True), 1):
        steps = _whole_steps(part)
        if progress is not None:
            progress((k - 1) / len(made.parts))
        if steps:
            own, numbers = _from_entry(part, steps), _numbers(part, parameters, "certify_phases")
            found[f"{k} {name}"] = certify(own, made.scheme, parameters=numbers, effort=effort, tube=tube)
    return found


def _require_equations(given: object, verb: str) -> None:
    if not isinstance(given, Equations):
        raise BadRequest(f"{verb}() takes Equations, not {type(given).__name__}", fix="hf.derive(problem) first")


def _whole_steps(part: Trajectory) -> int:
    if part.step is None:
        raise BadRequest(
            "an adaptive scheme changes its step; a certificate is for one step",
            where="certify_phases",
            fix="e.g. hf.RK4",
        )
    return math.floor(float(part.times[-1] - part.times[0]) / part.step + WHOLE)


@with_options(StepOptions)
def certify_stretches(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    trajectory: Trajectory | None = None,
    parameters: ByName | None = None,
    effort: float | None = None,
    **run: Unpack[StepOptions],
) -> dict[str, Certificate]:
    """A certificate in a tube for each stretch of a run between steps that no tube is proved of, by its times.

    Where a few steps do not follow the motion, such as the reversal of dry friction within one step, nothing is proved
    of the whole run. Each certificate is about a stretch as a problem of its own, which starts where this run entered
    it, and is as any other; of the steps between the stretches none says anything.

        certificates = hf.certify_stretches(hf.derive(hf.load("slide_with_friction.toml")))
        list(certificates)  # ["0 to 0.26", "0.264 to 0.654", ...]
    """
    _require_equations(equations, "certify_stretches")
    if equations.problem.phases:
        raise BadRequest("this problem has phases", where="certify_stretches", fix="certify its phases")
    equations.require_unsampled("certify_stretches")
    made = trajectory if trajectory is not None else simulate(equations, scheme, parameters=parameters, every=1, **run)
    if made.step is None or made.every != 1 or isinstance(made, JoinedRun):
        raise BadRequest(
            "stretches are of one run with one step, all of them kept", where="certify_stretches",
            fix="a scheme of fixed steps, every step kept, and nothing joined to it",
        )  # fmt: skip
    _require_of(made, equations, "certify_stretches")
    asked, numbers = certificate_request(equations, None, None, effort), _numbers(made, parameters, "certify_stretches")
    job = Assessment(equations, scheme_named(made.scheme), None, asked, None, numbers, None)
    rows = _between(job.gaps(made.step, made), made)
    share, found = asked.effort / max(1, len(rows)), dict[str, Certificate]()
    for first, last in rows:
        for trim in TRIMS:
            begin, end = first + (trim if first else 0), last - (trim if last < len(made.times) - 1 else 0)
            if end - begin < FEW:
                break
            own = _from_row(made, begin, end - begin)
            name = f"{_told(made.times[begin], made)} to {_told(made.times[end], made)}"
            certificate = certify(own, made.scheme, parameters=numbers, effort=share, tube=True)
            if certificate.attracted.is_proof or trim == TRIMS[-1]:
                found[name] = certificate
                break
    return found


def _told(moment: float, run: Trajectory) -> str:
    """A time of a run in as many digits, six at least, as tell its rows apart."""
    steps = float(np.abs(run.times).max()) / (run.step or 1.0)
    return f"{float(moment):.{min(17, max(6, 2 + math.ceil(math.log10(max(1.0, steps)))))}g}"


def _require_of(run: Trajectory, equations: Equations, where: str) -> None:
    """A run of these equations, moved by its scheme alone."""
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


def _numbers(run: Trajectory, given: ByName | None, where: str) -> dict[str, float]:
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


def _between(gaps: list[tuple[float, float]], run: Trajectory) -> list[tuple[int, int]]:
    """The first and the last row of each stretch between gaps, those of a few steps left out."""
    ends = np.searchsorted(run.times, [0.0 if not gaps else gaps[0][0], *(x for gap in gaps for x in gap)])[1:]
    rows = [0, *ends.tolist(), len(run.times) - (2 if run.outcome is Outcome.event else 1)]  # whole steps alone
    return [(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True) if b - a >= FEW]


def _from_entry(part: Trajectory, steps: int) -> Equations:
    """The phase as a problem of its own, from its first row on."""
    return _from_row(part, 0, steps)


def _from_row(part: Trajectory, row: int, steps: int) -> Equations:
    """What follows a row of a run, as a problem of its own."""
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
    return derive(replace(problem, run=own, start=Frozen(start)))
