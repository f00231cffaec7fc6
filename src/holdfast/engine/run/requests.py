"""What may be asked of a kernel; everything else is refused at the door."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from holdfast.errors import BadRequest
from holdfast.graph.field import Field
from holdfast.graph.nodes import Node
from holdfast.schemes.kinds.scheme import Scheme

Numbers = Sequence[float] | np.ndarray


def checked_values(field: Field, state: Numbers, parameters: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """State and parameters as arrays of the right length."""
    x, p = np.asarray(state, float).reshape(-1), np.asarray(parameters, float).reshape(-1)
    for what, given, wanted in (("state", x, field.state), ("parameters", p, field.parameters)):
        if len(given) != len(wanted):
            raise BadRequest(f"the {what} has {len(given)} values where {len(wanted)} are needed", where="kernel.run")
    return x, p


def check_fixed(scheme: Scheme, step: float, steps: int, every: int) -> None:
    """Refuse what no fixed-step run can mean."""
    if scheme.adaptive:
        raise BadRequest(f"{scheme.name} chooses its own steps", where="run", fix="use run_adaptive with tolerances")
    if not math.isfinite(step) or step == 0:
        raise BadRequest(f"a step of {step}", where="run(step=)", fix="give a finite step other than 0")
    if steps < 0 or every < 1:
        raise BadRequest(f"{steps} steps, of which every {every}th is kept", where="run(steps=, every=)")


def check_adaptive(
    scheme: Scheme, t0: float, duration: float, relative: float, absolute: float | np.ndarray, at: Numbers | None
) -> np.ndarray | None:
    """Refuse what no adaptive run can mean; give the wanted times as an array."""
    if not scheme.adaptive:
        raise BadRequest(f"{scheme.name} has a fixed step", where="run_adaptive", fix="use run with a step")
    if not (np.isfinite(duration) and duration >= 0):
        raise BadRequest(f"a duration of {duration}", where="run_adaptive(duration=)", fix="give a positive one")
    if not (relative >= 0 and np.all(np.asarray(absolute) > 0)):
        raise BadRequest(
            "tolerances that no step can meet", where="run_adaptive(relative=, absolute=)", fix="give positive ones"
        )
    if at is None:
        return None
    times = np.asarray(at, float).reshape(-1)
    if len(times) and not (np.all(np.diff(times) > 0) and times[0] >= t0 and times[-1] <= t0 + duration):
        raise BadRequest(
            "wanted times that do not rise within the run", where="run_adaptive(at=)", fix="sort them; stay within it"
        )
    return times


def event_directions(events: Sequence[Node], directions: Sequence[int] | None) -> np.ndarray:
    """A direction for each event; both by default."""
    given = np.zeros(len(events)) if directions is None else np.asarray(directions, float)
    if given.shape != (len(events),):
        raise BadRequest(f"{given.size} directions for {len(events)} events", where="run(directions=)")
    return given


def checked_cases(field: Field, states: np.ndarray, parameters: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """States (cases, n) and parameters (cases, k) of equal length; one row of parameters serves all cases."""
    x = np.asarray(states, float)
    wanted = len(field.parameters)
    p = np.zeros((1, wanted)) if parameters is None else np.atleast_2d(np.asarray(parameters, float))
    if len(p) == 1:
        p = np.broadcast_to(p, (len(x), wanted)) if p.shape[1] == wanted else p
    if x.ndim != 2 or x.shape[1] != len(field.state) or p.shape != (len(x), wanted):
        raise BadRequest(
            f"states of shape {x.shape} and parameters of shape {p.shape} where each case has "
            f"{len(field.state)} states and {wanted} parameters",
            where="run_ensemble(states, parameters)",
            fix="give one row for each case",
        )
    if parameters is None and wanted:
        raise BadRequest(f"{wanted} parameters are missing", where="run_ensemble(parameters=)")
    return x, p
