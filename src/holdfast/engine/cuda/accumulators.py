"""One number of a case gathered step by step: the reductions of `results.reductions`, without keeping any row.

A reduction has four doubles a[0] ... a[3], of which a[2] is the value at the step before and a[3] is not 0 once the
value was not a number. `begin` and `add` are C; `value` finishes many cases at once. The time of a step is from
`before` to `here`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
FIRST = "a[0] = v; a[1] = v; a[2] = v; a[3] = v != v;"
LAST = "a[2] = v; if (v != v) a[3] = 1;"
AREA = (
    "if (v - v == 0 && a[2] - a[2] == 0) { a[0] += (here - before) * (%(new)s + %(old)s) / 2; a[1] += here - before; }"
)


@dataclass(frozen=True, eq=False)
class Accumulator:
    begin: str
    add: str
    value: Callable[[Array], Array]  # (cases, 4) to (cases)


def _mean(sums: Array) -> Array:
    return np.where(sums[:, 1] > 0, sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1.0), sums[:, 2])


AREA_BEGIN = "a[0] = 0; a[1] = 0; a[2] = v; a[3] = v != v;"
ACCUMULATORS = {
    "max": Accumulator(FIRST, "if (v > a[0]) a[0] = v;" + LAST, lambda a: a[:, 0]),
    "min": Accumulator(FIRST, "if (v < a[0]) a[0] = v;" + LAST, lambda a: a[:, 0]),
    "range": Accumulator(FIRST, "if (v > a[0]) a[0] = v; if (v < a[1]) a[1] = v;" + LAST, lambda a: a[:, 0] - a[:, 1]),
    "mean": Accumulator(AREA_BEGIN, AREA % {"new": "v", "old": "a[2]"} + LAST, _mean),
    "rms": Accumulator(
        AREA_BEGIN,
        AREA % {"new": "v * v", "old": "a[2] * a[2]"} + LAST,
        lambda a: np.sqrt(np.where(a[:, 1] > 0, _mean(a), a[:, 2] ** 2)),
    ),
    "start": Accumulator(FIRST, LAST, lambda a: a[:, 0]),
    "final": Accumulator(FIRST, LAST, lambda a: a[:, 2]),
    "first": Accumulator(
        "a[0] = NAN; a[1] = 0; a[2] = v; a[3] = v != v;",
        "if (a[1] == 0 && a[2] < 0 && v >= 0) { a[0] = before + (here - before) * a[2] / (a[2] - v); a[1] = 1; }"
        + LAST,
        lambda a: a[:, 0],
    ),
}


def values(accumulator: Accumulator, sums: Array) -> Array:
    """What came out for each case; nan where the value was not a number at some step."""
    with np.errstate(all="ignore"):
        return np.where(sums[:, 3] == 0, accumulator.value(sums), np.nan)
