"""Quaternions that a run starts from: of length 1, as far as somebody stated them.

Nothing depends on the length, but one that is far from 1 is a slip: a part left out, an angle in the place of a part.
All four of one, as an earlier run leaves them, may have drifted.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.bodies.start import ROUGH

DRIFTED = 0.5  # of a quaternion given whole: `turn_lost` ends runs at twice and at half the length


def refuse_wrong_lengths(equations: Equations, states: np.ndarray, stated: Collection[str]) -> None:
    """Refuse start values, (states) or (cases, states), whose quaternions are plainly not meant as such."""
    if not equations.inputs.balls:
        return
    frames = equations.problem.system.frames
    for step in () if frames is None else frames.layout.balls:
        given = [name for name in step.states if name in stated]
        if not given:
            continue
        parts = np.atleast_2d(states)[:, [equations.state_names.index(name) for name in step.states]]
        lengths = np.linalg.norm(parts, axis=1)
        least, most = (1 - ROUGH, 1 + ROUGH) if len(given) < 4 else (DRIFTED, 1 / DRIFTED)
        wrong = np.nonzero(~((lengths >= least) & (lengths <= most)))[0]
        if len(wrong):
            joint, case = step.states[0].removesuffix("_e0"), f" in case {wrong[0]}" if len(lengths) > 1 else ""
            raise BadRequest(
                f"the quaternion of {joint!r} has length {lengths[wrong[0]]:.6g}{case}, and 1 is asked for",
                where=f"start.{given[0]}",
                fix=f"start {joint} = (w, x, y, z), of any length, or give all of {', '.join(step.states)}",
            )
