"""What a run was made with, so that it can be made again beside its derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.values import state_vector
from holdfast.errors import BadRequest
from holdfast.results.runs.joined import JoinedRun
from holdfast.results.trajectory import Trajectory

ALIKE = 1e-6  # of the size of a state: what the same run by other code may differ by
SAME = 1e-15  # of its size: a start value that the problem states, and so follows the parameters it is stated by


@dataclass(frozen=True, eq=False)
class MadeWith:
    """Equations, scheme, and the arguments of `simulate`."""

    equations: Equations
    scheme: str
    options: dict[str, Any]


def made_with(run: Trajectory) -> MadeWith:
    """The arguments that a run was made with; its rows are those asked for.

    A start value that equals what the problem states is taken as stated there, by parameters if so.
    """
    if isinstance(run, JoinedRun):
        raise BadRequest(
            "a run that was joined of several is not differentiated",
            where="sensitivities(run)",
            fix="take one of its parts, from where it begins: run.parts",
        )
    equations = run.equations_or_derived
    if equations is None:
        raise BadRequest("this run has no equations to be made again from", fix="make the run again")
    if run.projected:
        raise BadRequest(
            "a run that was moved back onto the program after each step is not differentiated",
            where="sensitivities(run)",
            fix="make it without project=True",
        )
    ended = [name for name, times in run.events.items() if len(times) and times[-1] == run.times[-1]]
    if ended:
        raise BadRequest(
            f"the run ended at the event {ended[0]!r}, and the time of an event moves with what is varied",
            where="sensitivities(run)",
            fix="give the equations and a duration that ends before it",
        )
    if len(run.times) < 2:
        raise BadRequest("the run has one row only", where="sensitivities(run)", fix="make a longer one")
    options = {"start": _stated(equations, run), "start_policy": run.start.policy, "parameters": dict(run.parameters)}
    size = {"step": run.step} if run.step is not None else {"tolerance": run.tolerance}
    begins = all(run.columns[name][0] == x for name, x in zip(run.state_names, run.start.state, strict=True))
    begin = float(run.times[0]) if begins else equations.problem.run.begin
    return MadeWith(equations, run.scheme, {**options, **size, "begin": begin, "at": run.times})


def refuse_other_motion(run: Trajectory, again: Trajectory) -> None:
    """A run that was made in another way than its equations are: by momenta, or with what is not kept in it."""
    allowed = ALIKE if run.tolerance is None else max(ALIKE, 1e3 * run.tolerance)
    rows = min(len(run.times), len(again.times))
    size = np.abs(run.y).max(axis=1, initial=0.0)
    size = np.where(size > 1e-9 * size.max(initial=0.0), size, size.max(initial=0.0))  # a residue of rounding has none
    if len(run.times) > rows or (np.abs(run.y[:, :rows] - again.y[:, :rows]).max(axis=1) > allowed * size).any():
        raise BadRequest(
            "made again from its equations the run is another: it was made in another form, or with other options",
            where="sensitivities(run)",
            fix="give the equations, and the options of the run, in its place",
        )


def _stated(equations: Equations, run: Trajectory) -> dict[str, float]:
    """The stated start values that are not those of the problem."""
    used = dict(zip(equations.state_names, run.start.state, strict=True))
    stated = {name: run.start.changes.get(name, (value,))[0] for name, value in used.items()}
    own = np.array(state_vector(equations, None, dict(run.parameters)))
    named = dict(zip(equations.state_names, own.tolist(), strict=True))
    follows = {
        name
        for name in equations.problem.start
        if name in named and abs(stated[name] - named[name]) <= SAME * abs(named[name])
    }
    return {name: x for name, x in stated.items() if name not in run.start.open and name not in follows}
