"""The region that a statement on V is made over: ranges of time, states and deviations, completed from a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from holdfast.common.nearest import did_you_mean
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest, HoldfastError
from holdfast.problem.vocabulary import by_name
from holdfast.results.runs.simulate import simulate
from holdfast.stability.proof.omega import Bounds, region_of


def require_equations(equations: Any) -> None:
    """Refuse what is not the equations of a problem, in words."""
    if not isinstance(equations, Equations):
        raise BadRequest(
            f"equations belong here, not {type(equations).__name__}", where="equations", fix="hf.derive(problem)"
        )


def stated_region(equations: Equations, given: Mapping[Any, Any], where: str = "region") -> Bounds:
    """Ranges by name, of t, states and deviations; anything else is refused."""
    known = ("t", *equations.state_names, *equations.deviation_names)
    found: Bounds = {}
    for name, ends in by_name(given, where=where).items():
        if name not in known:
            fix = did_you_mean(name, known, "known: " + ", ".join(known))
            raise BadRequest(f"the region bounds an unknown quantity {name!r}", where=f"{where}.{name}", fix=fix)
        found[name] = _ends(ends, f"{where}.{name}")
    return found


def _ends(ends: Any, where: str) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in ends)
    except (TypeError, ValueError):
        raise BadRequest(f"{ends!r} is not a range", where=where, fix="give (low, high)") from None
    if not (np.isfinite([low, high]).all() and low <= high):
        raise BadRequest(
            f"the range from {low:g} to {high:g} is empty or infinite", where=where, fix="give (low, high)"
        )
    return low, high


def completed(
    equations: Equations, asked: Bounds, needed: Sequence[str], parameters: Mapping[Any, Any]
) -> tuple[Bounds, str]:
    """Ranges of all that is needed, and where those that were not asked for come from."""
    lacking = [name for name in needed if name not in asked]
    if not lacking:
        return asked, ""
    try:
        run = simulate(equations, parameters=parameters)
    except HoldfastError as error:
        raise BadRequest(
            f"V or its rate depends on {', '.join(lacking)}, of which the region says nothing",
            where="region",
            fix=f"give region={{{lacking[0]!r}: (low, high)}}, or a problem whose own run can be made ({error.what})",
        ) from None
    if not np.isfinite(run.y).all():
        raise BadRequest("the problem's run does not stay finite", where="region", fix="state the region outright")
    whole = region_of({name: ends for name, ends in asked.items()}, run, len(equations.coordinates))
    return {**whole, **asked}, f"the ranges of {', '.join(lacking)} are those of the problem's run, and a tenth more"
