"""A run certified phase by phase, each from where it was entered."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Unpack

from holdfast.common.arguments import with_options
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.runs.request import StepOptions
from holdfast.results.runs.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate
from holdfast.stability.parts.part import from_row, numbers_of, require_equations, require_of
from holdfast.stability.promise.certify import certify

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
    require_equations(equations, "certify_phases")
    if not equations.problem.phases:
        raise BadRequest("this problem has no phases", where="certify_phases", fix="use hf.certify")
    made = trajectory
    if made is None:
        made = simulate(equations, scheme, parameters=parameters, every=1, **run)
    if not isinstance(made, JoinedRun) or not made.phases:
        raise BadRequest("the run did not go through phases", where="certify_phases(trajectory=...)")
    require_of(made, equations, "certify_phases")
    found: dict[str, Certificate] = {}
    for k, (name, part) in enumerate(zip(made.phases, made.parts, strict=True), 1):
        steps = _whole_steps(part)
        if progress is not None:
            progress((k - 1) / len(made.parts))
        if steps:
            own, numbers = from_row(part, 0, steps), numbers_of(part, parameters, "certify_phases")
            found[f"{k} {name}"] = certify(own, made.scheme, parameters=numbers, effort=effort, tube=tube)
    return found


def _whole_steps(part: Trajectory) -> int:
    if part.step is None:
        raise BadRequest(
            "an adaptive scheme changes its step; a certificate is for one step",
            where="certify_phases",
            fix="e.g. hf.RK4",
        )
    return math.floor(float(part.times[-1] - part.times[0]) / part.step + WHOLE)
