"""Starts moved onto the program by native code, where that is sure to find what `Projection` does.

A scan or a fit moves thousands of starts. The iteration is that of `Projection`, by LDLᵀ of M and of J M⁻¹Jᵀ, whose
squares lose digits where constraints nearly depend on each other or masses are very unequal: there, and wherever it
does not end on the program within a few turns, `Projection` finds the start as ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.common.memo import remembered
from holdfast.engine.code import native
from holdfast.engine.run.going_back import GoingBack
from holdfast.equations.equations import Equations
from holdfast.graph.nodes import operation_count
from holdfast.results.start.native_way_back import native_way_back

# beside its scale, the smallest pivot (sin² of an angle): of 860 random starts (masses of 1e-9 to 1e9, rows that nearly
# depend on each other) two then differ from those of `Projection` by more than 1e-9 of the change, by 1.3e-8 at most
WELL_APART = 1e-6
MOST_OPERATIONS = 5_000  # of the iteration: to compile more takes longer than `Projection` does


def natively_moved(
    equations: Equations, state: np.ndarray, time: float, constants: Sequence[float]
) -> np.ndarray | None:
    """The state on the whole program; None where it is for `Projection` to find."""
    way = _compiled(equations) if native.available() else None
    if way is None or not way.margin(time, state, constants) > WELL_APART:
        return None
    found = way(time, state, constants)
    return found if found is not None and way.margin(time, found, constants) > WELL_APART else None


@remembered
def _compiled(equations: Equations) -> GoingBack | None:
    back = native_way_back(equations)
    if back is None:
        return None
    parts = (back.positions, back.rates)
    nodes = [node for part in parts for node in (*part.deviations, *part.sizes, *part.change)]
    return GoingBack(equations.field, back) if operation_count(nodes) <= MOST_OPERATIONS else None
