"""How far the constraints can drift, and on what grounds that is said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import by_name
from holdfast.results.runs.request import StepOptions
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named
from holdfast.schemes.kinds.scheme import Scheme
from holdfast.stability.certificate.certificate import INTERRUPTED, Certificate, Label, established
from holdfast.stability.promise.assess import Assessment
from holdfast.stability.promise.parameter_box import wide_parameters, widened
from holdfast.stability.promise.request import CertificateRequest, Region, asked_number, certificate_request
from holdfast.stability.promise.speeds import require_speeds
from holdfast.stability.promise.tableau import require_maker, require_run
from holdfast.stability.promise.unshared import by_unshared
from holdfast.stability.proof.work import EFFORT, SearchWork

Progress = Callable[[float], None]
TRIES = 14  # steps tried for a wanted drift
MOST_STEPS = 1_000_000  # of a run that is tried for it


@with_options(StepOptions)
def certify(
    equations: Equations,
    scheme: Scheme | str | None = None,
    *,
    drift: float | None = None,
    region: Region | None = None,
    trajectory: Trajectory | None = None,
    constraints: Sequence[str] | None = None,
    start: StateLike | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
    effort: float | None = None,
    sample: bool = False,
    tube: bool = False,
    in_order: bool = False,
    speeds: float | None = None,
    counted_from: float | None = None,
    progress: Progress | None = None,
    **run: Unpack[StepOptions],
) -> Certificate:
    """A certificate for each decoupled block of constraints: proved, checked, neutral, refused, each with its reason.

    `region` bounds time (``"t"``), states, parameters (any value of the range, constant along a run) and any observable
    (``"energy"``); what is not given is taken from a run, with a margin, and without any region so is the energy.
    `effort` is the work that the search for proofs may take, counted and not timed, so that the same call gives the
    same certificate: 1 is a million products, about a second. With `drift`, the largest step is sought at which every
    deviation that is held stays below it (once a deviating start has died away), proved or *checked* as each label
    says. With `sample`, blocks that are not proved get an estimate over the region in place of a check along the run.
    With `tube`, no region is tried, but the tube along the run that is tried where none can be covered:
    `hf.safe_starts` needs one. With `in_order`, the steps of that run are followed in the order of time: bounds for its
    length, the nearest to what it shows. An adaptive scheme has no one step, so that its run is followed so. With
    `speeds` (0.05: up to 5 % more or less), the tube holds the positions of the run with other speeds, at whatever
    time: for one degree of freedom and equations without time. `counted_from` is where a longer run began of which this
    is a part: its rows lie at counted_from + k step, which doubles round otherwise. `progress` is called with the
    fraction done; Ctrl-C ends the search, and leaves the proofs found so far and what was measured. What is not given
    is taken from the problem's own run and certificate tables.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"certify() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    for name, flag in (("sample", sample), ("tube", tube), ("in_order", in_order)):
        if not isinstance(flag, bool | np.bool_):
            raise BadRequest(
                f"{name} = {flag!r} is neither True nor False",
                where=f"certify({name}=...)",
                fix=f"{name}=True, or leave it out",
            )
    equations = equations if law is None else equations.with_law(law)
    equations.require_unsampled("certify")
    if equations.problem.phases:
        why = "certify knows one program, and this problem has phases"
        raise BadRequest(why, where="phases", fix="hf.certify_phases(equations) certifies each by itself")
    chosen = scheme_named(equations.problem.run.scheme if scheme is None else scheme)
    ranges = wide_parameters(equations, region)
    if region and not ranges and (in_order or chosen.adaptive):
        why = "no region is tried where the steps of a run are followed"
        raise BadRequest(why, where="certify(region=...)", fix="leave it out")
    if ranges:
        table = equations.problem.certificate
        region = table.get("region") if region is None else region
        drift = table.get("drift") if drift is None else drift
        effort = table.get("effort") if effort is None else effort
        speeds = table.get("speeds") if speeds is None else speeds
        equations, parameters = widened(equations, list(ranges), parameters or {}, start)
        start = trajectory = None  # its own run, with these parameters among the states
    step, tolerance, duration = run.get("step"), run.get("tolerance"), run.get("duration")
    asked = certificate_request(equations, region, drift, effort, speeds)
    job = Assessment(
        equations, equations, chosen, duration, asked, start, parameters or {}, constraints, sample, progress
    )
    counted = None if counted_from is None else asked_number(counted_from, "certify(counted_from=...)")
    job = replace(job, widened=tuple(ranges), tube=tube, in_order=in_order, counted_from=counted)
    if trajectory is not None:
        _require_same(job, trajectory, step)
    job = _with_numbers(job)
    if asked.speeds and in_order:
        raise BadRequest("steps in the order of time have the speeds of their run", where="speeds", fix="leave one out")
    if asked.speeds:
        require_speeds(job.equations, chosen, job.widened)
    stated = step if step is not None else equations.problem.run.step
    size = trajectory.step if trajectory is not None else None if chosen.adaptive else stated

    def made(own: Equations) -> Certificate:
        alone = replace(job, equations=own)
        if asked.drift is not None and trajectory is None and equations.constraints:
            return _for_drift(alone, asked, asked.drift, step)
        return alone.certificate(size, tolerance, trajectory)

    return by_unshared(job.equations, job.call(size, tolerance, trajectory), made)


def _with_numbers(job: Assessment) -> Assessment:
    """The same with values in the place of letters: a certificate speaks of one motion, in a text of its own."""
    equations = job.equations
    if not equations.letters:
        return job
    given = by_name(job.parameters, where="parameters")
    equations.require_numbers(given)
    numbered = equations.with_values({name: given[name] for name in equations.letters})
    return replace(job, equations=numbered, runs=numbered)


def _require_same(job: Assessment, run: Trajectory, step: float | None) -> None:
    """A run speaks for a certificate only if it was made by the same equations, numbers, scheme and step."""
    require_run(run, "certify")
    if run.scheme != job.scheme.name or (step is not None and run.step != step):
        ours = job.scheme.name + (f", step {step:g}" if step is not None else "")
        theirs = run.scheme + (f", step {run.step:g}" if run.step is not None else "")
        raise BadRequest(f"the run was made with {theirs}, not with {ours}", where="certify(trajectory=...)")
    require_maker(run, job.scheme, "certify(trajectory=...)")
    if float(run.times[0]) != job.equations.problem.run.begin and run.start.state != tuple(run.y[:, 0].tolist()):
        raise BadRequest(
            "the first row of the run is not its start: only some of its rows were kept",
            where="certify(trajectory=...)",
            fix="run it without at=",
        )
    if run.projected:
        raise BadRequest(
            "the run was moved back onto the program after each step: it is not the scheme's own motion",
            where="certify(trajectory=...)",
            fix="run it without projection",
        )
    asked, made = job.equations.problem, run.problem
    if made is not None and (asked.system, asked.program) != (made.system, made.program):
        raise BadRequest(
            "the run was made by another system, program or law",
            where="certify(trajectory=...)",
            fix="give the run of these equations, or law=",
        )
    names, values = job.equations.parameter_names, parameter_vector(job.equations, job.parameters)
    for name, value in zip(names, values, strict=True):
        if name in run.parameters and run.parameters[name] != value:
            raise BadRequest(
                f"the run was made with {name} = {run.parameters[name]:g}, not {value:g}",
                where="certify(trajectory=...)",
                fix="give the same parameters= and law=",
            )


def _for_drift(job: Assessment, asked: CertificateRequest, drift: float, step: float | None) -> Certificate:
    """The largest step that was found whose bounds stay below the wanted drift; mostly within a factor of 1.1."""
    if job.scheme.adaptive:
        raise BadRequest("a step for a wanted drift needs a fixed-step scheme", fix="e.g. hf.RK4")
    length = job.duration or job.equations.problem.run.duration
    if length is None:
        raise BadRequest("no duration given", where="duration", fix="give duration=")
    size = step or job.equations.problem.run.step or length / 1000
    best: Certificate | None = None
    low, high, tried = 0.0, math.inf, set[int]()
    ledger, least = SearchWork.of(asked.effort), asked.effort / (4 * TRIES)
    for _ in range(TRIES):
        count = max(1, round(length / size))
        if count in tried or count > MOST_STEPS:
            break
        tried.add(count)
        size = length / count
        share = max(ledger.left / EFFORT / 2, least)  # all tries together take little more than what is asked
        one = replace(asked, effort=share)
        trial = replace(job, asked=one, whole_effort=asked.effort, ledger=ledger.part(math.inf))
        try:
            found = trial.certificate(size, None, None)
        except KeyboardInterrupt:
            if best is None:
                raise
            return _broken_off(best)
        worst = _worst_bound(found, asked)
        if worst == 0:
            return found  # nothing is attracted, so no other step would do better
        if worst <= drift:
            low, best = (size, found) if size > low else (low, best)
        else:
            high = min(high, size)
        if found.interrupted:
            if best is None:
                raise KeyboardInterrupt
            return best if best is found else _broken_off(best)
        if low and high / low < 1.1:
            break
        guess = size * (0.8 * drift / worst) ** (1 / job.scheme.order) if worst < math.inf else size / 4
        size = min(length, _between(guess, low, high))
    if best is None:
        raise BadRequest(
            f"no step was found that keeps the drift below {drift:g}", fix="allow more drift or other gains"
        )
    return best


def _broken_off(best: Certificate) -> Certificate:
    """The best step so far, where Ctrl-C ended the search for a longer one."""
    note = f"{INTERRUPTED[0].upper()}{INTERRUPTED[1:]}, and with it the one for a longer step."
    return established(replace(best, blocks=tuple(replace(b, reason=f"{b.reason} {note}") for b in best.blocks)))


def _between(guess: float, low: float, high: float) -> float:
    """A step to try next: larger than all that passed, smaller than all that did not."""
    if high == math.inf:
        return max(guess, 2 * low)
    if low == 0:
        return min(guess, 0.9 * high)
    return guess if 1.02 * low < guess < 0.98 * high else math.sqrt(low * high)


def _worst_bound(certificate: Certificate, asked: CertificateRequest) -> float:
    """The largest weighted bound of a held deviation: of y, or of w where there is no y."""
    worst = 0.0
    for block in certificate.blocks:
        if block.label in (Label.neutral, Label.nothing):
            continue
        if not block.bounds or not block.label.positive or block.stayed is False:
            return math.inf
        bounds = dict(zip(block.names, block.bounds, strict=True))
        for constraint in block.constraints:
            bound = bounds.get(f"y_{constraint}", bounds.get(f"w_{constraint}", 0.0))
            worst = max(worst, bound * asked.weights.get(constraint, 1.0))
    return worst
