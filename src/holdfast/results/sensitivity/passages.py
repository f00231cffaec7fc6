"""Runs that pass states at which constraints depend on each other: continued there, not stepped, and so without a
derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.results.judgement.passages import Strength, usual_size
from holdfast.results.runs.crossing import CLOSE, EDGE


def refuse_passages(equations: Equations, rows: Rows, constants: Sequence[float]) -> None:
    """An error with the time at which constraints that may repeat each other lose their strength."""
    times, states = rows.times, rows.states
    if rows.dense is not None and len(times) > 1:
        times = np.linspace(times[:-1], times[1:], CLOSE, endpoint=False).T.ravel()
        states = rows.dense(times)
    strength = Strength(equations, list(constants))
    jacobians = strength.jacobians(times, states)
    sizes = strength.of(jacobians, strength.scale(times, jacobians))
    weak = np.nonzero(sizes < EDGE * usual_size(times, sizes))[0]
    if len(weak):
        raise BadRequest(
            f"constraints become dependent about t = {times[weak[0]]:.6g}, and the run is continued there, not stepped "
            "through: it has no derivative",
            where="program.redundant",
            fix="end before it",
        )
