"""Quaternions of ball joints along a run: their length tells whether the steps follow the turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.results.judgement.finding import Finding

LONGEST, SHORTEST = 2.0, 0.5  # of a length that starts at 1: where it is lost, the angle was lost long before


def lengths_of(equations: Equations, states: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Of each quaternion its first part by name, and its lengths along (..., rows, states), beside the first one."""
    frames = equations.problem.system.frames
    for step in () if frames is None else frames.layout.balls:
        parts = states[..., [equations.state_names.index(name) for name in step.states]]
        size = np.abs(parts).max(axis=-1)
        with np.errstate(all="ignore"):
            lengths = size * np.sqrt(((parts / size[..., None]) ** 2).sum(axis=-1))
            yield step.states[0], lengths / lengths[..., :1]


def _lost(lengths: np.ndarray) -> np.ndarray:
    return np.asarray(~((lengths >= SHORTEST) & (lengths <= LONGEST)))


def turns_doubtful(equations: Equations, states: np.ndarray) -> np.ndarray:
    """Which of many runs, (cases, rows, states), lose a turn: those that `turn_lost` would tell of."""
    found = np.zeros(len(states), dtype=bool)
    for _, lengths in lengths_of(equations, states):
        found |= _lost(lengths).any(axis=1)
    return found


def turn_lost(equations: Equations, rows: Rows) -> Finding | None:
    """A quaternion whose length left its bounds.

    Turns are R(p/|p|), so the length by itself changes nothing. But a scheme that shrinks or stretches p by a factor of
    two has turned it wrongly by more than that: of RK4, ln|p| goes with (ωh/2)⁶/144 a step, the angle with (ωh/2)⁵/120.
    """
    for name, lengths in lengths_of(equations, rows.states):
        bad = _lost(lengths)
        if bad.any():
            row, joint = int(np.argmax(bad)), name.removesuffix("_e0")
            text = (
                f"The quaternion of {joint!r} has {lengths[row]:.3g} times its length at t = {rows.times[row]:.4g}: "
                "the steps are too long for its spin, and the turn is wrong. Take shorter steps."
            )
            return Finding("turn_lost", text, True, float(rows.times[row]), name)
    return None
