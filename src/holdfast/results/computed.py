"""Columns that a run does not keep but can compute: the parts of the held forces, and the size of the deviation.

    lambda_rod[0]  lambda_rod[1]  lambda_rod[2]      the parts of a multiplier (of a control: F[0] ...) by their cause
    deviation_norm                                   ‖z‖ = √(Σ y² + Σ w²), as the papers measure deviations

They are worked out from the states of the rows when first asked for, and cost nothing before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from holdfast.equations.forms.multiplier_parts import multiplier_parts
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Tape
from holdfast.results.constants import constants_along

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations
    from holdfast.results.trajectory import Trajectory

NORM = "deviation_norm"
PART = re.compile(r"(.+)\[([012])\]\Z")


def computed(run: Trajectory, name: str, derived: Callable[[], Equations | None]) -> np.ndarray | None:
    """The column of this name along a run; nothing where no such column can be computed."""
    if name == NORM and run.deviation_rate.shape[1]:
        return fixed(norm_of(run))
    equations = derived() if PART.match(name) else None
    if equations is None:
        return None
    node = multiplier_parts(equations).nodes.get(name)
    if node is None:
        return None
    rows = [run.times, *(run.columns[state] for state in equations.state_names)]
    constants = constants_along(equations, run.parameters, run.columns)
    with np.errstate(all="ignore"):
        (found,) = Tape(equations.field.inputs, (node,)).compiled(ARRAYS)([*rows, *constants])
    return fixed(np.broadcast_to(np.asarray(found, dtype=float), run.times.shape).copy())


def norm_of(run: Trajectory) -> np.ndarray:
    """‖z‖ at each row, without overflow on the way."""
    deviations = np.hstack([run.deviation, run.deviation_rate])
    largest = np.abs(deviations).max(axis=1, initial=0.0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    with np.errstate(all="ignore"):
        return np.asarray(scale * np.linalg.norm(deviations / scale[:, None], axis=1))


def fixed(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array
