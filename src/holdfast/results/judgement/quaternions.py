"""Quaternions of ball joints along a run: their length tells whether the steps follow the turn."""

from __future__ import annotations

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.results.judgement.finding import Finding

LONGEST, SHORTEST = 2.0, 0.5  # of a length that starts at 1: where it is lost, the angle was lost long before


def turn_lost(equations: Equations, rows: Rows) -> Finding | None:
    """A quaternion whose length left its bounds.

    Turns are R(p/|p|), so the length by itself changes nothing. But a scheme that shrinks or stretches p by a factor of
    two has turned it wrongly by more than that: of RK4, ln|p| goes with (ωh/2)⁶/144 a step, the angle with (ωh/2)⁵/120.
    """
    frames = equations.problem.system.frames
    for step in () if frames is None else frames.layout.balls:
        places = [equations.state_names.index(name) for name in step.states]
        parts = rows.states[:, places]
        size = np.abs(parts).max(axis=1)
        with np.errstate(all="ignore"):
            lengths = size * np.sqrt(((parts / size[:, None]) ** 2).sum(axis=1))
        bad = ~((lengths / lengths[0] >= SHORTEST) & (lengths / lengths[0] <= LONGEST))
        if bad.any():
            row = int(np.argmax(bad))
            joint = step.states[0].removesuffix("_e0")
            text = (
                f"The quaternion of {joint!r} has the length {lengths[row]:.3g} at t = {rows.times[row]:.4g}: the "
                "steps are too long for its spin, and the turn is wrong. Take shorter steps."
            )
            return Finding("turn_lost", text, True, float(rows.times[row]), step.states[0])
    return None
