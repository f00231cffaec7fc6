"""Where a run ended because friction and the reactions it uses no longer determined each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.equations.solving.friction import friction_words
from holdfast.equations.solving.repeats import listed
from holdfast.graph.arithmetics.tape import Tape
from holdfast.results.judgement.finding import Finding

AHEAD = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5)  # steps beyond the last row: where the divisor that was lost is looked for
LOST = 1e-4  # of what it was at the last row: a divisor this small has been lost, or is about to be


def friction_end(equations: Equations, rows: Rows, constants: Sequence[float]) -> Finding | None:
    """Which reactions were about to be undetermined where a run broke off, if friction is why it did."""
    friction = equations.friction
    if friction is None or not len(rows.times):
        return None
    count, own = len(friction.constraints), len(equations.solver.pivots)
    pivots = (*equations.solver.pivots, *friction.pivots)
    answer = [node for row in friction.answer for node in row.values()]
    tape = Tape(equations.field.inputs, (*(p.value for p in pivots), *(p.scale for p in pivots), *answer))
    before = np.column_stack([rows.times[-2:], rows.states[-2:]])
    ahead = [before[-1] + part * (before[-1] - before[0]) for part in AHEAD]
    table = np.array([tape([*row.tolist(), *constants]) for row in ahead])
    with np.errstate(all="ignore"):
        shares = table[:, : len(pivots)] / np.abs(table[:, len(pivots) : 2 * len(pivots)])
        left = np.nan_to_num(shares / shares[0], nan=0.0).min(axis=0)
    if own and left[:own].min() < LOST and not left[own:].min() < LOST:
        return None  # the constraints themselves
    time, names = float(rows.times[-1]), [f"lambda_{name}" for name in friction.constraints]
    grown = max((row.reshape(count, count) for row in table[:, 2 * len(pivots) :]), key=_size)
    why = friction_words(friction.constraints, grown, left[-count:])
    place = ", ".join(f"{name} = {x:.4g}" for name, x in zip(equations.coordinates[:6], rows.states[-1], strict=False))
    text = f"Towards t = {time:.4g} ({place}) friction does not determine {listed(names)}: {why}."
    return Finding("friction", text, True, time, names[0])


def _size(answer: np.ndarray) -> float:
    return float(np.linalg.eigvals(answer).real.max()) if np.isfinite(answer).all() else -1.0
