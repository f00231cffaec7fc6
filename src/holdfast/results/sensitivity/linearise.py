"""The equations linearised: where a run would start, at any state, or along a run.

Where a run would start: what the start of a closed loop leaves out is solved for, as `simulate` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.equations.forms.linearised import Linearisation, LinearisedField
from holdfast.equations.linear.along_run import LinearisationAlongRun, RunLike, along_run
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName, StateLike
from holdfast.problem.vocabulary import name_of
from holdfast.results.judgement.check import FieldInFloats
from holdfast.results.start.start import consistent_start


@overload
def linearise(
    equations: Equations,
    at: StateLike | None = None,
    *,
    time: float | None = None,
    inputs: Iterable[Any] = (),
    outputs: Iterable[Any] | None = None,
    input_values: ByName | None = None,
    parameters: ByName | None = None,
) -> Linearisation: ...


@overload
def linearise(
    equations: Equations,
    at: RunLike,
    *,
    time: float | Sequence[float] | np.ndarray | None = None,
    inputs: Iterable[Any] = (),
    outputs: Iterable[Any] | None = None,
    input_values: ByName | None = None,
    parameters: ByName | None = None,
) -> LinearisationAlongRun: ...


def linearise(
    equations: Equations,
    at: StateLike | RunLike | None = None,
    *,
    time: float | Sequence[float] | np.ndarray | None = None,
    inputs: Iterable[Any] = (),
    outputs: Iterable[Any] | None = None,
    input_values: ByName | None = None,
    parameters: ByName | None = None,
) -> Linearisation | LinearisationAlongRun:
    """A, B, C and D at a state (the start of runs unless given); of a run, at each row or at the times of `time`.

    `inputs` are parameters, or controls of the program, whose values there are those that hold it unless `input_values`
    says otherwise. `outputs` are expressions in states, rates, time and parameters, or their texts; all states unless
    given.
    """
    if not isinstance(equations, Equations):
        raise BadRequest(f"linearise() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first")
    field = LinearisedField(equations, tuple(name_of(name) for name in inputs))
    if isinstance(at, RunLike):
        return along_run(field, at, time, outputs, field.given(input_values or {}), parameters)
    moment = equations.problem.run.begin if time is None else _moment(time)
    if at is None:
        floats = FieldInFloats(equations.field)
        at = consistent_start(equations, None, None, parameters or {}, moment, floats).state
    return field.at(at, moment, outputs, input_values or {}, parameters or {})


def _moment(time: Any) -> float:
    if np.ndim(time):
        raise BadRequest("several times need a run to be taken along", where="linearise(time=...)", fix="at=run")
    return float(time)
