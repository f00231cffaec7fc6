"""How a motion changes with parameters, gains and starts: ∂x/∂p along a run, exactly from the graph.

found = hf.sensitivities(equations, "rk4", step=0.01, duration=5, to=["m", "law.stiffness.rod", "theta(0)"])
found["theta", "m"]            ∂θ/∂m at each row
found["lambda_rod", "m"]       with of=["lambda_rod"]: any quantity of a run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from holdfast.common.arguments import with_options
from holdfast.common.nearest import did_you_mean
from holdfast.engine.run.dense import Dense
from holdfast.engine.run.rows import Rows
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.laws.linear import Law
from holdfast.problem.types import ByName, Key, StateLike
from holdfast.problem.vocabulary import name_of
from holdfast.results.runs.event import EventWatch
from holdfast.results.runs.job import Job, check_size
from holdfast.results.runs.request import RunOptions, request_of
from holdfast.results.runs.simulate import under_law
from holdfast.results.sensitivity.directions import Directions, directions_of
from holdfast.results.sensitivity.made_with import made_with, refuse_other_motion
from holdfast.results.sensitivity.run import DifferentiatedRun
from holdfast.results.start.start import Start
from holdfast.results.trajectory import Trajectory
from holdfast.schemes.kinds.scheme import Scheme

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivities:
    """Derivatives of quantities along a run: ``found["theta", "m"]`` is ∂θ/∂m at each row.

    `values` is (rows, quantities, directions), in the order of `of` and `to`; `run` is the motion itself. Of a scheme
    with a fixed step they are the derivatives of its numerical motion; an adaptive scheme keeps its tolerance for the
    states and the derivatives alike.
    """

    run: Trajectory
    of: tuple[str, ...]
    to: tuple[str, ...]
    values: Array
    sizes: Array  # of what is varied: the values at which the derivatives were taken
    directions: Directions
    between: Callable[[Array], Array] | None  # (times) -> (times, of, to)

    @property
    def times(self) -> Array:
        return self.run.times

    def __getitem__(self, names: Any) -> Array:
        """∂quantity/∂parameter at each row, by names or symbols; of a quantity alone, (rows, directions)."""
        if isinstance(names, tuple) and len(names) == 2:
            return self.values[:, self._row(names[0]), self.directions.place(names[1])]
        return self.values[:, self._row(names)]

    def _row(self, name: Any) -> int:
        text = name_of(name)
        if text not in self.of:
            hint = did_you_mean(text, self.of, "known: " + ", ".join(self.of))
            raise BadRequest(f"{text!r} was not differentiated", where="sensitivities(of=...)", fix=hint)
        return self.of.index(text)

    def at(self, times: Any) -> Array:
        """All derivatives at one time (quantities, directions), or at several: between rows as the run interpolates."""
        wanted = np.atleast_1d(np.asarray(times, dtype=float))
        if self.between is None:
            rows = np.searchsorted(self.times, wanted)
            if (rows >= len(self.times)).any() or (self.times[np.minimum(rows, len(self.times) - 1)] != wanted).any():
                raise BadRequest(
                    "the run has no row at this time, and is not interpolated: not every step was kept",
                    where="at(t)",
                    fix="ask for the times with at=, or keep every step (every=1)",
                )
            found = self.values[rows]
        else:
            found = self.between(wanted)
        return np.asarray(found[0] if np.ndim(times) == 0 else found)

    @property
    def relative(self) -> Array:
        """p ∂q/∂p: how far a quantity moves, in its units, as a parameter changes by its own size (to first order)."""
        return self.values * self.sizes

    def to_pandas(self) -> Any:
        """A data frame by time, with a column ``(quantity, parameter)`` for each derivative."""
        import pandas

        columns = pandas.MultiIndex.from_product([self.of, self.to], names=["of", "to"])
        rows = self.values.reshape(len(self.times), -1)
        return pandas.DataFrame(rows, index=pandas.Index(self.times, name="time"), columns=columns)

    def to_csv(self) -> str:
        """A text with the times and a column ``d QUANTITY/d PARAMETER`` for each derivative."""
        head = ["t", *(f'"d {q}/d {p}"' for q in self.of for p in self.to)]
        rows = np.column_stack([self.times, self.values.reshape(len(self.times), -1)]).tolist()
        return "\n".join([",".join(head), *(",".join(map(repr, row)) for row in rows)]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for ``--json``: the largest and the last of each derivative."""
        last, largest = self.values[-1], np.abs(self.values).max(axis=0)
        return {
            "schema": 1,
            "of": list(self.of),
            "to": list(self.to),
            "at": {name: float(size) for name, size in zip(self.to, self.sizes, strict=True)},
            "time": float(self.times[-1]),
            "final": _table(self.of, self.to, last),
            "largest": _table(self.of, self.to, largest),
            "success": self.run.success,
            "message": self.run.message,
        }

    def summary(self) -> str:
        """The largest derivative of each quantity over the run, in units of the quantity for a change by 1 %."""
        peaks = 0.01 * np.abs(self.relative).max(axis=0)
        zero = np.where(self.sizes == 0, np.abs(self.values).max(axis=0), peaks)
        rows = [
            ["", *(f"{name} + 1 %" if size else f"{name} + 1" for name, size in zip(self.to, self.sizes, strict=True))]
        ]
        rows += [[name, *(f"{x:.3g}" for x in row)] for name, row in zip(self.of, zero, strict=True)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        head = f"largest change along the run ({self.run.scheme}, {len(self.times)} rows to t = {self.times[-1]:.6g})"
        return "\n".join([head, *lines, *([] if self.run.success else [self.run.message])]) + "\n"

    def __repr__(self) -> str:
        return f"<Sensitivities of {', '.join(self.of)} to {', '.join(self.to)}, {len(self.times)} rows>"


def _table(of: tuple[str, ...], to: tuple[str, ...], values: Array) -> dict[str, dict[str, float]]:
    return {name: dict(zip(to, map(float, row), strict=True)) for name, row in zip(of, values, strict=True)}


@with_options(RunOptions)
def sensitivities(
    equations: Equations | Trajectory,
    scheme: Scheme | str | None = None,
    *,
    to: Iterable[Key] | Key | None = None,
    of: Iterable[Any] | None = None,
    start: StateLike | None = None,
    start_policy: str | None = None,
    parameters: ByName | None = None,
    law: Law | None = None,
    **run: Unpack[RunOptions],
) -> Sensitivities:
    """The derivatives of a run by parameters, gains and start values, in one native run beside it.

    `to` names parameters (all of them unless given), gains (``"law.stiffness.rod"``) and start values
    (``"theta(0)"``); `of` names quantities, as ``run[...]`` takes them (all states unless given). The rest is as for
    `simulate`; a run in the place of the equations is taken as it was made.

    Stated start values are held, or follow the parameters they are stated by; those that follow from the program move
    with it. What jumps (sign(v)) where the motion meets it has no such derivative, and is refused.
    """
    if isinstance(equations, Trajectory):
        _refuse_beside_run(scheme, start, start_policy, parameters, law, *run.values())
        made = made_with(equations)
        found = sensitivities(made.equations, made.scheme, to=to, of=of, **made.options)
        refuse_other_motion(equations, found.run)
        return found
    equations = under_law(equations, law, verb="sensitivities")
    request = request_of(equations, scheme, **run)
    directions = directions_of(equations, to, where="sensitivities(to=...)")
    wanted = tuple(equations.state_names if of is None else [of] if isinstance(of, str) else of)
    if not wanted:
        raise BadRequest("nothing is named to differentiate", where="sensitivities(of=...)", fix='e.g. of=["theta"]')
    job = DifferentiatedRun(equations, request, directions, wanted, start, start_policy)
    check_size(request, job.augmented.states.size * (1 + len(directions)) + len(job.augmented.field.observables))
    begun, slopes, constants = job.start(parameters or {}, {})
    job.refuse_events(begun, constants)
    job.refuse_jumps(begun, constants)
    return _named(job, begun, slopes, constants)


def _refuse_beside_run(*given: Any) -> None:
    if any(one is not None for one in given):
        raise BadRequest(
            "a run says itself how it was made",
            where="sensitivities(run)",
            fix="give `to` and `of` only, or the equations in place of the run",
        )


def _named(job: DifferentiatedRun, begun: Start, slopes: Array, constants: list[float]) -> Sensitivities:
    """The rows with names: the motion as a run of its own, and the derivatives beside it."""
    equations, request, form = job.equations, job.request, job.augmented
    own = Job(equations, request, job.kernel, begun, constants, EventWatch({}, {}, {}))
    rows = job.rows(begun, slopes, constants, own.every)
    shown = own.picked(rows)
    run = replace(own, kernel=job.plain).named(_motion(job, rows, constants))
    between = _interpolated(job, rows, constants) if own.every == 1 and len(rows.times) > 1 else None
    sizes = [
        constants[c] if c is not None else begun.state[s or 0]
        for c, s in zip(job.directions.constants, job.directions.starts, strict=True)
    ]
    values = form.changes(shown.states, shown.observables)
    values.flags.writeable = False
    return Sensitivities(run, form.of, job.directions.names, values, np.array(sizes), job.directions, between)


def _motion(job: DifferentiatedRun, rows: Rows, constants: list[float]) -> Rows:
    """The rows of the motion alone."""
    places = job.augmented.states
    states = np.ascontiguousarray(rows.states[:, places])
    dense = rows.dense
    if dense is not None:
        dense = Dense(dense.times, dense.states[:, places], dense.coefficients[:, :, places])
    return replace(rows, states=states, observed=job.plain.observe(rows.times, states, constants), dense=dense)


def _interpolated(job: DifferentiatedRun, rows: Rows, constants: list[float]) -> Callable[[Array], Array]:
    made: list[Dense] = []

    def between(times: Array) -> Array:
        if not made:
            made.append(job.kernel.dense(rows, constants))
        states = made[0](times)
        return job.augmented.changes(states, job.kernel.observe(times, states, constants))

    return between
