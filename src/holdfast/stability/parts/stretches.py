"""A run certified stretch by stretch, between steps that no proof crosses, each from where it was entered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Unpack
from weakref import WeakKeyDictionary

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.runs.request import StepOptions
from holdfast.results.runs.simulate import simulate
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import Certificate, Label
from holdfast.stability.parts.part import from_row, numbers_of, require_equations, require_of, same_run
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.promise.certify import certify
from holdfast.stability.promise.request import certificate_request
from holdfast.stability.promise.unshared import unshared

Progress = Callable[[float], None]
Rows = tuple[int, int]  # the first and the last row of a stretch

TRIMS = (0, 4, 16, 64)  # steps that are left out at the ends of a stretch, until it is proved
FEW = 10  # steps: a stretch below is left out
_ENTERED: WeakKeyDictionary[Certificate, Trajectory] = WeakKeyDictionary()  # the run that each is a stretch of


@with_options(StepOptions)
def certify_stretches(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    trajectory: Trajectory | None = None,
    parameters: ByName | None = None,
    effort: float | None = None,
    progress: Progress | None = None,
    **run: Unpack[StepOptions],
) -> dict[str, Certificate]:
    """A certificate in a tube for each stretch of a run between steps that no tube is proved of, by its times.

    Where a few steps do not follow the motion, such as the reversal of dry friction within one step, nothing is proved
    of the whole run. Each certificate is about a stretch as a problem of its own, which starts where this run entered
    it, and is as any other; of the steps between the stretches none says anything. Ctrl-C ends the search, and leaves
    the stretches that were finished.

        certificates = hf.certify_stretches(hf.derive(hf.load("slide_with_friction.toml")))
        list(certificates)  # ["0 to 0.254", "0.267 to 0.649", ...]
    """
    require_equations(equations, "certify_stretches")
    if equations.problem.phases:
        raise BadRequest("this problem has phases", where="certify_stretches", fix="certify its phases")
    equations.require_unsampled("certify_stretches")
    made = trajectory if trajectory is not None else simulate(equations, scheme, parameters=parameters, every=1, **run)
    if made.step is None or made.every != 1 or isinstance(made, JoinedRun):
        raise BadRequest(
            "stretches are of one run with one step, all of them kept", where="certify_stretches",
            fix="a scheme of fixed steps, every step kept, and nothing joined to it",
        )  # fmt: skip
    require_of(made, equations, "certify_stretches")
    numbers = numbers_of(made, parameters, "certify_stretches")
    rows, granted = _stretches(equations, made, made.step, numbers, effort)
    return _certified(made, rows, numbers, granted, progress)


def proved_stretches(
    certificate: Certificate, *, effort: float | None = None, progress: Progress | None = None
) -> dict[str, Certificate]:
    """What is proved by stretches of a run whose whole is checked at most, as `certify_stretches` names them.

    Nothing where the whole is proved, or where no single step stands in the way: then stretches say no more of it.
    Nothing either where the effort does not reach for looking at every step.
    """
    if not isinstance(certificate, Certificate):
        raise BadRequest(
            f"proved_stretches() takes a Certificate, not {type(certificate).__name__}", fix="hf.certify(...) first"
        )
    run = certificate.trajectory
    if run is None or run.equations is None or run.step is None or run.every != 1:
        return {}
    if certificate.attracted is not Label.checked or certificate.widened or certificate.interrupted:
        return {}
    numbers = numbers_of(run, None, "certify_stretches")
    certificate_request(run.equations, None, None, effort)  # a request that is none is refused, and not what follows
    try:
        rows, granted = _stretches(run.equations, run, run.step, numbers, effort)
    except BadRequest:
        return {}
    if rows == [(0, _last_whole(run))]:
        return {}
    found = _certified(run, rows, numbers, granted, progress)
    return {name: one for name, one in found.items() if one.attracted.is_proof}


def stretch_of(certificate: Certificate, run: Trajectory) -> bool:
    """Whether it was made as a stretch of this run, or of the same one with other rows of it kept."""
    made = _ENTERED.get(certificate)
    return made is not None and same_run(made, run)


def covered(run: Trajectory, stretches: Sequence[Certificate]) -> float:
    """The part of the time of a run that lies in some stretches of it."""
    return float(sum(one.duration for one in stretches) / (run.times[-1] - run.times[0]))


def _stretches(
    equations: Equations, run: Trajectory, step: float, numbers: ByName, effort: float | None
) -> tuple[list[Rows], float]:
    """The stretches between the steps that no tube is proved of, and the effort that is granted for all."""
    asked = certificate_request(equations, None, None, effort)
    job = Assessment(unshared(equations), equations, scheme_named(run.scheme), None, asked, None, numbers, None)
    return _between(job.gaps(step, run), run), asked.effort


def _certified(
    run: Trajectory, rows: Sequence[Rows], numbers: ByName, effort: float, progress: Progress | None
) -> dict[str, Certificate]:
    """Each stretch with its certificate, the effort shared among them."""
    found = dict[str, Certificate]()
    for k, (first, last) in enumerate(rows):
        if progress is not None:
            progress(k / len(rows))
        for trim in TRIMS:
            begin, end = first + (trim if first else 0), last - (trim if last < len(run.times) - 1 else 0)
            if end - begin < FEW:
                break
            own = from_row(run, begin, end - begin)
            certificate = certify(
                own, run.scheme, parameters=numbers, effort=effort / len(rows), tube=True,
                counted_from=float(run.times[0]),
            )  # fmt: skip
            if certificate.interrupted:
                return found
            if certificate.attracted.is_proof or trim == TRIMS[-1]:
                found[f"{_told(run.times[begin], run)} to {_told(run.times[end], run)}"] = certificate
                _ENTERED[certificate] = run
                break
    return found


def _told(moment: float, run: Trajectory) -> str:
    """A time of a run in as many digits, six at least, as tell its rows apart."""
    steps = float(np.abs(run.times).max()) / (run.step or 1.0)
    return f"{float(moment):.{min(17, max(6, 2 + math.ceil(math.log10(max(1.0, steps)))))}g}"


def _between(gaps: list[tuple[float, float]], run: Trajectory) -> list[Rows]:
    """The first and the last row of each stretch between gaps, those of a few steps left out."""
    ends = np.searchsorted(run.times, [0.0 if not gaps else gaps[0][0], *(x for gap in gaps for x in gap)])[1:]
    rows = [0, *ends.tolist(), _last_whole(run)]
    return [(a, b) for a, b in zip(rows[::2], rows[1::2], strict=True) if b - a >= FEW]


def _last_whole(run: Trajectory) -> int:
    """The last row that a whole step leads to: an event may have ended a shorter one."""
    return len(run.times) - (2 if run.outcome is Outcome.event else 1)
