"""When controls were at their limits along a run, and how far the program was left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.results.judgement.finding import Finding

if TYPE_CHECKING:
    from holdfast.results.trajectory import Trajectory

AT_LIMIT = 1e-12  # of its size: a control this near to its limit is at it


def limits_found(run: Trajectory) -> list[Finding]:
    """One finding for each control that was at a limit: from when on, for how long, and the largest deviation."""
    if run.problem is None or not run.problem.program.limits or len(run.times) < 2:
        return []
    found = []
    for name, (low, high) in run.problem.program.limits.items():
        at = np.zeros(len(run.times), dtype=bool)
        for end in (end for end in (low, high) if end is not None):
            limit = run.at(end)
            at |= np.abs(run[name] - limit) <= AT_LIMIT * np.abs(limit)
        if at.any():
            found.append(Finding("at_limit", _words(run, name, at), False, float(run.times[at.argmax()]), name))
    return found


def _words(run: Trajectory, name: str, at: np.ndarray) -> str:
    times = run.times
    spans = np.diff(times)[at[1:] & at[:-1]].sum()
    first = float(times[at.argmax()])
    program = run.problem.program if run.problem is not None else None
    held = [] if program is None else [c for c in program.constraints if c not in program.held_by_reaction]
    columns = [f"y_{c}" if f"y_{c}" in run.columns else f"w_{c}" for c in held]
    since = times >= first
    worst = max(columns, key=lambda c: float(np.nanmax(np.abs(run[c][since]), initial=0.0)))
    peak = float(np.nanmax(np.abs(run[worst][since]), initial=0.0))
    begin = "From the start on" if at[0] else f"The law was held until t = {first:.4g}; from there"
    return f"{begin} {name} is at its limit for {spans:.3g} in all, and |{worst}| reaches {rounded_up(float(peak))}."
