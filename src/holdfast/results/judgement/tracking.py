"""How well controls that are not what the law asks for keep their program: limits, a wrong model, samples and noise.

Such deviations obey no law, and are no fault of the run. They are told as they are. A run fails by them only where they
run away: larger towards the end than ever before, and as large as what they are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.common.rounded import rounded_up
from holdfast.equations.equations import Equations
from holdfast.results.judgement.finding import Finding

if TYPE_CHECKING:
    from holdfast.results.trajectory import Trajectory

RUNNING = 3.0  # times what they were in the first half: deviations of the last quarter that run away
LARGE = 0.5  # of what it is made of, over the same quarter: a deviation that follows nothing any more


def loose(equations: Equations) -> list[int]:
    """The deviations that obey no law: of what controls hold, where these fall short of it."""
    program = equations.problem.program
    if not program.shortfall:
        return []
    held = set(program.held_by_reaction)
    return [k for k, owner in enumerate(equations.deviations.owners) if owner not in held]


def running_away(equations: Equations, times: np.ndarray, deviation: np.ndarray, sizes: np.ndarray) -> Finding | None:
    """The deviation that runs away, if one does; `sizes` are those of what each is made of, at the same rows."""
    count = len(times)
    if count < 8:
        return None
    for k in loose(equations):
        seen = np.nan_to_num(np.abs(deviation[:, k]), nan=np.inf)
        before, last = seen[: count // 2].max(), seen[-(count // 4) :].max()
        if last > RUNNING * before and last >= LARGE * np.nanmax(sizes[-(count // 4) :, k], initial=0.0):
            name = equations.deviation_names[k]
            first = float(times[int(np.nonzero(seen > RUNNING * before)[0][0])])
            text = f"{name} runs away from t = {first:.4g} on, and reaches {last:.3g}: {_cure(equations)}."
            return Finding("deviation_grew", text, True, first, name)
    return None


def _cure(equations: Equations) -> str:
    sampling = equations.problem.program.sampling
    return "sample more often, or use slower gains" if sampling is not None else "use other gains, or a better model"


def tracking_found(run: Trajectory) -> list[Finding]:
    """What controls with a model of their own, or with samples, make of their program."""
    equations = run.equations
    if equations is None or not len(run.times):
        return []
    program = equations.problem.program
    if not program.model and program.sampling is None:
        return []
    said = []
    for k in loose(equations):
        name = equations.deviation_names[k]
        if name.startswith("y_") or equations.deviations.owners[k] not in program.holonomic:
            seen = np.abs(run[name])
            most, mean = rounded_up(float(np.nanmax(seen))), np.sqrt(np.nanmean(seen**2))
            said.append(f"|{name}| up to {most}, {mean:.3g} in the mean square")
    reasons = []
    if program.model:
        reasons.append(f"the model has its own {', '.join(program.model)}")
    if program.sampling is not None:
        reasons.append(f"controls are held for {program.sampling.step:g}")
    text = f"The law is not obeyed exactly ({' and '.join(reasons)}): {'; '.join(said)}."
    return [Finding("tracking", text, False, None, "tracking")] if said else []
