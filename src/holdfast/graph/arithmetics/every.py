"""Every arithmetic there is. A new one is tested from here: against every operation, and against floats."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.balls import ball_series, balls, continuous_balls
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.arithmetics.rounded_balls import rounded_balls
from holdfast.graph.arithmetics.taylor import taylor_forms

ALL_ARITHMETICS: dict[str, Callable[[], Arithmetic]] = {
    "floats": lambda: FLOATS,
    "arrays": lambda: ARRAYS,
    "balls": balls,
    "continuous balls": continuous_balls,
    "ball series": ball_series,
    "taylor forms": taylor_forms,
    "rounded balls": rounded_balls,
}
