"""The error of a run in phases: the same run with a halved step, phase by phase.

Where phases begin at events, these move with the error. So two runs are compared where both are in the same phase, and
one that passes through other phases is no result.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.errors import HoldfastError
from holdfast.results.runs.accuracy.state_error import StateError, compared, unknown_error
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.by_name import scheme_named


def phased_error(run: JoinedRun) -> StateError:
    """The error of the states, from a finer run."""
    first = run.parts[0].equations
    if run.again is None or first is None:
        return unknown_error(run, "the run has several parts, and errors of one move the beginning of the next")
    try:
        other = run.again()
    except HoldfastError as error:
        return unknown_error(run, error.what)
    if other.phases != run.phases:
        return unknown_error(run, f"a finer run passes through other phases: {', '.join(other.phases)}")
    names = run.state_names
    pairs = [_common(own, finer, names) for own, finer in zip(run.parts, other.parts, strict=True)]
    if any(pair is None for pair in pairs):
        return unknown_error(run, "not every step was kept, so that nothing can be compared between rows")
    rows = [pair for pair in pairs if pair is not None and len(pair[0])]
    if not rows:
        return unknown_error(run, "no phase has rows to compare")
    times = np.concatenate([pair[0] for pair in rows])
    shown, better = (_as_run(run, times, np.hstack([pair[k] for pair in rows])) for k in (1, 2))
    return compared(shown, better, first, scheme_named(run.scheme).order)


def _common(
    own: Trajectory, finer: Trajectory, names: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Times at which both are in a phase, with the states of both there; none where one knows its rows only."""
    if finer.interpolant is None:
        return None
    inside = (own.times >= finer.times[0]) & (own.times <= finer.times[-1])
    times, chosen = own.times[inside], [own.state_names.index(name) for name in names]
    states = finer.interpolant(times)[chosen] if len(times) else np.zeros((len(names), 0))
    return times, own.y[chosen][:, inside], states


def _as_run(whole: JoinedRun, times: np.ndarray, states: np.ndarray) -> Trajectory:
    """Rows as a run, as far as a comparison asks for it."""
    columns = Frozen(dict(zip(whole.state_names, states, strict=True)))
    return replace(
        whole.parts[0],
        times=times,
        columns=columns,
        state_names=whole.state_names,
        step=whole.step,
        judged=whole.judged,
    )
