"""What a certificate is asked to show: the arguments of `certify`, completed from the problem's [certificate] table.

[certificate]
drift = 1e-6                          the largest step is sought that keeps every |y| below it
region = { phi = [-3, 3], energy = [-10, 0] }
weights = { rod = 2 }                 of the deviations, beside the drift
effort = 20                           work of the search for proofs: 1 is a million products, about a second
speeds = 0.05                         a tube holds speeds up to so much more or less than the run's own, as a part
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.vocabulary import name_of

Region = Mapping[Any, tuple[float, float]]
KEYS = ("drift", "region", "weights", "effort", "speeds")
EFFORT = 5.0


@dataclass(frozen=True, eq=False)
class CertificateRequest:
    """A region by name, a drift or None, weights by constraint, the effort, and speeds where they were spoken of."""

    region: dict[str, tuple[float, float]]
    drift: float | None
    weights: dict[str, float]
    effort: float
    speeds: float | None = None


def certificate_request(
    equations: Equations, region: Region | None, drift: float | None, effort: float | None, speeds: float | None = None
) -> CertificateRequest:
    """What is given, then what the problem's own table says, judged before any work."""
    table = equations.problem.certificate
    for key in table:
        if key not in KEYS:
            raise BadRequest(f"unknown key {key!r}", where="certificate", fix="keys: " + ", ".join(KEYS))
    stated = region if region is not None else table.get("region", {})
    if not isinstance(stated, Mapping):
        raise BadRequest("a region is a table of [low, high]", where="certificate.region", fix="{ x = [-1, 1] }")
    known = {"t", *equations.state_names, *equations.observables}
    bounds = {}
    for key, limits in stated.items():
        name = name_of(key)
        if name not in known:
            hint = did_you_mean(name, known, "states, t, or observables")
            raise BadRequest(f"the region bounds an unknown quantity {name!r}", where="certificate.region", fix=hint)
        bounds[name] = _limits(limits, f"region.{name}")
    wanted = drift if drift is not None else table.get("drift")
    work = effort if effort is not None else table.get("effort", EFFORT)
    weights = {name: _positive(value, f"weights.{name}") for name, value in dict(table.get("weights", {})).items()}
    for name in weights:
        if name not in equations.constraints:
            hint = did_you_mean(name, equations.constraints, "constraints: " + ", ".join(equations.constraints))
            raise BadRequest(f"there is no constraint {name!r}", where="certificate.weights", fix=hint)
    wanted = None if wanted is None else _positive(wanted, "drift")
    speeds = table.get("speeds") if speeds is None else speeds
    return CertificateRequest(bounds, wanted, weights, _positive(work, "effort"), _part(speeds))


def _part(speeds: Any) -> float | None:
    if speeds is None:
        return None
    number = asked_number(speeds, "speeds")
    if not 0 <= number < 1:
        raise BadRequest(
            f"speeds = {number:g} is no part of a speed",
            where="certificate.speeds",
            fix="give 0.05 for 5 %, 0 for none",
        )
    return number


def _limits(limits: Any, where: str) -> tuple[float, float]:
    if not isinstance(limits, Sequence) or isinstance(limits, str) or len(limits) != 2:
        raise BadRequest(f"{limits!r} is not a range", where=where, fix="give (low, high)")
    low, high = (asked_number(x, where) for x in limits)
    if not low <= high:
        raise BadRequest(f"the range from {low:g} to {high:g} is empty", where=where, fix="give (low, high)")
    return low, high


def asked_number(value: Any, where: str) -> float:
    """A finite number, or a refusal."""
    if isinstance(value, str | bool):  # as simulate's step: float() would take "5" and True
        raise BadRequest(f"{value!r} is not a number", where=where, fix="give a number, without quotes")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise BadRequest(f"{value!r} is not a number", where=where, fix="give a number") from None
    if not math.isfinite(number):
        raise BadRequest(f"{number} is not finite", where=where, fix="give a finite number")
    return number


def _positive(value: Any, where: str) -> float:
    number = asked_number(value, where)
    if not number > 0:
        raise BadRequest(
            f"{where} = {number:g} is not positive", where=f"certificate.{where}", fix="give a positive number"
        )
    return number
