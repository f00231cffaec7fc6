"""What came out of an ensemble: all cases by name, and each of them as a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.engine.kernel import Kernel, compiled
from holdfast.engine.run.adaptive import TooManySteps
from holdfast.engine.run.rows import Rows
from holdfast.engine.run.status import Status
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.vocabulary import name_of
from holdfast.results.ensembles.case_jobs import CaseJobs
from holdfast.results.ensembles.cases import Cases
from holdfast.results.ensembles.table import stated_reductions
from holdfast.results.judgement.attraction import attracted
from holdfast.results.judgement.finding import Judgement
from holdfast.results.judgement.first_look import doubtful_cases
from holdfast.results.judgement.judgement import all_ended, deviation_places
from holdfast.results.judgement.outcome import Outcome
from holdfast.results.runs.event import EventWatch, noted_times, watch_of
from holdfast.results.runs.job import kept_rows
from holdfast.results.runs.request import Request, rows_of_steps
from holdfast.results.start.negligible import off_program
from holdfast.results.trajectory import Trajectory

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray
CHUNK = 2**20  # rows observed at once


@dataclass(frozen=True, eq=False)
class Counts:
    """What the engine counted in each case."""

    status: Array
    steps: Array
    evaluations: Array
    rejected: Array
    pivots: Array  # (cases, pivots)
    final: Array  # (cases, states)

    @staticmethod
    def unknown(cases: int, states: Array, pivots: int) -> Counts:
        """Nothing counted yet."""
        status, steps, evaluations, rejected = np.zeros((4, cases), dtype=np.int64)
        return Counts(status, steps, evaluations, rejected, np.full((cases, pivots), np.nan), states.copy())

    @staticmethod
    def together(parts: Sequence[Counts]) -> Counts:
        """Those of some cases, then those of the next."""
        return Counts(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(Counts)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Ensemble:
    """The runs of an ensemble.

    ``runs["x"]`` and ``runs[x.rate]`` are arrays (cases, rows), nan where a case did not come; ``runs[3]`` is one case
    as a `Trajectory`. `cases` are the columns it was made of, `outcomes` how each case ended, `success` whether well.
    """

    equations: Equations
    request: Request
    kernel: Kernel
    policy: str
    made_of: Cases
    used: Array  # (cases, states): where each case started
    all_times: Array
    states: Array  # (cases, rows, states)
    counts: Counts
    outcomes: tuple[Outcome, ...]
    gathered: Mapping[str, Array] = Frozen()  # reductions over all steps, by name
    own_steps: bool = False  # cases chose their steps, and take them once more where one is asked for by itself
    _observed: dict[str, Array] = field(default_factory=dict)

    @staticmethod
    def judged(
        *,
        equations: Equations,
        request: Request,
        kernel: Kernel,
        policy: str,
        cases: Cases,
        used: Array,
        startable: Array,
        times: Array,
        states: Array,
        counts: Counts,
        gathered: Mapping[str, Array] = Frozen(),
        outcomes: tuple[Outcome, ...] | None = None,
    ) -> Ensemble:
        """The ensemble with its outcomes: those of cases that were judged by their own steps, or what rows tell."""
        states.flags.writeable = False
        begun = Ensemble(
            equations=equations,
            request=request,
            kernel=kernel,
            policy=policy,
            made_of=cases,
            used=used,
            all_times=times,
            states=states,
            counts=counts,
            outcomes=outcomes or (),
            gathered=Frozen(gathered),
            own_steps=outcomes is not None,
        )
        if outcomes is None:
            object.__setattr__(begun, "outcomes", tuple(begun._outcomes(startable)))
        return begun

    def __reduce__(self) -> tuple[Any, ...]:
        """Without its kernel, which is compiled anew, or found in the cache, where it is unpickled."""
        parts = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        del parts["kernel"], parts["_observed"]
        return _unpickled, (parts,)

    # ── by name and by number ─────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self.used)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self.run(number) for number in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            return self.run(int(key))
        if isinstance(key, sp.Expr) and not key.is_Symbol:
            return self.at(key)
        name = name_of(key)
        output = self.equations.problem.output
        return self.at(output[name]) if name in output else self.quantity(name)

    def at(self, expression: Any) -> Array:
        """An expression, or its text as in problem files, in all cases, (cases, rows); see `Trajectory.at`."""
        from holdfast.results.quantities import along

        key = expression if isinstance(expression, str) else sp.srepr(sp.sympify(expression))
        if key not in self._observed:
            states = np.moveaxis(self.states, -1, 0)
            times = np.broadcast_to(self.all_times, self.states.shape[:2])
            constants = [column[:, None] for column in self.made_of.constants.T]
            self._observed[key] = along(self.equations, expression, times, list(states), constants)[:, self._shown]
        return self._observed[key]

    def reduce(self, text: str) -> Array:
        """One number for each case: ``max(abs(lambda_rod))``, ``rms(w_rod)``, ``final(x)``, ``first(tip.y)``, ..."""
        from holdfast.results.reductions import reduced

        reached = np.isfinite(self.states).all(axis=-1)[:, self._shown]
        return reduced(text, self.times, self.__getitem__, reached)

    @property
    def reductions(self) -> dict[str, Array]:
        """Those that were asked for by `reduce=`, over all steps, and by the [ensemble] table, over the kept rows."""
        stated = stated_reductions(self.equations.problem)
        return {name: self.reduce(text) for name, text in stated.items() if name not in self.gathered} | {
            **self.gathered
        }

    @property
    def cases(self) -> Mapping[str, Array]:
        """The columns that the cases were made of, by name."""
        return self.made_of.columns

    @property
    def times(self) -> Array:
        return self.all_times[self._shown]

    @property
    def names(self) -> tuple[str, ...]:
        """All quantities: the state first, then the observables."""
        return (*self.equations.state_names, *self.equations.observables)

    @property
    def success(self) -> Array:
        """Whether each case ended well."""
        return np.array([outcome.success for outcome in self.outcomes])

    @property
    def _shown(self) -> Any:
        """Which rows were asked for."""
        request = self.request
        if request.at is None or request.step is None:
            return slice(None)
        return rows_of_steps(request.at, request.begin, request.step, request.steps) // kept_rows(request)

    def quantity(self, name: str) -> Array:
        """One quantity of all cases, (cases, rows)."""
        if name in self.equations.state_names:
            return self.states[:, self._shown, self.equations.state_names.index(name)]
        if name not in self.equations.observables and (
            not name.isidentifier() or name in self.equations.problem.system.definitions or name.endswith("_ddot")
        ):
            return self.at(name)
        if name not in self.equations.observables:
            import difflib

            near = difflib.get_close_matches(name, self.names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(self.names)
            raise BadRequest(f"the runs have no quantity {name!r}", fix=hint)
        if name not in self._observed:
            place = list(self.equations.observables).index(name)
            values = [block[:, :, place] for block in self._observations()]
            self._observed[name] = np.concatenate(values)[:, self._shown]
        return self._observed[name]

    def _observations(self) -> Iterator[Array]:
        """All observables, a block of cases at a time: (cases, rows, observables)."""
        block = max(1, CHUNK // max(1, len(self.all_times)))
        for first in range(0, len(self), block):
            some = slice(first, first + block)
            yield self.kernel.observe_cases(self.all_times, self.states[some], self.made_of.constants[some])

    def run(self, number: int) -> Trajectory:
        """One case as a run: what `simulate` gives for it (see `hf.ensemble` for where that is to rounding)."""
        if not -len(self) <= number < len(self):
            raise BadRequest(f"there is no case {number}", fix=f"there are {len(self)}, numbered from 0")
        number %= len(self)
        job, outcome = self._jobs.of(number), self.outcomes[number]
        if outcome is Outcome.no_start:
            return job.named(self._rows(number, np.array(job.start.state), job.constants), outcome)
        if self.own_steps and outcome is not Outcome.interrupted:
            with suppress(TooManySteps):
                return job.named(self._jobs.rows(number))
        found = job.named(self._rows(number, self.used[number], job.constants))
        return replace(found, judged=lambda: _no_other(found.judged(), outcome))

    @cached_property
    def _jobs(self) -> CaseJobs:
        return CaseJobs(self.equations, self.request, self.kernel, self.policy, self.made_of, self.used)

    def _rows(self, number: int, used: Array, constants: Sequence[float]) -> Rows:
        """The rows of one case as the engine gives them: up to its end, with its last state."""
        counts, request = self.counts, self.request
        steps, every = int(counts.steps[number]), kept_rows(request)
        if request.step is None:
            reached = int(np.isfinite(self.states[number]).all(axis=1).sum())
            steps = steps if reached else 0
            times, states = self.all_times[:reached], self.states[number, :reached]
        else:
            reached = steps // every + 1
            times, states = self.all_times[:reached], self.states[number, :reached]
            if steps % every:
                times = np.append(times, request.begin + steps * request.step)
                states = np.vstack([states, counts.final[number]])
        if steps == 0:
            times, states = np.array([request.begin]), used[None]
        return Rows(
            times=times.copy(),
            states=states.copy(),
            observed=lambda: self.kernel.observe(times, states, constants),
            pivots=counts.pivots[number].copy(),
            status=Status(int(counts.status[number])),
            steps=steps,
            evaluations=int(counts.evaluations[number]),
            rejected=int(counts.rejected[number]),
        )

    # ── judgement ─────────────────────────────────────────────────────────────────────────────────

    def _outcomes(self, startable: Array) -> list[Outcome]:
        """The same judgement as of a single run: a first look on arrays, and each doubtful case by itself."""
        counts = self.counts
        found = all_ended(counts.status, counts.pivots)
        broken = (counts.status != Status.completed) & (counts.status != Status.interrupted)
        doubtful = (broken | self._doubtful(counts.status == Status.completed)) & startable
        if self.equations.constraints:
            for number in np.nonzero(~self._attracted() & startable)[0]:
                if found[number] is Outcome.completed:
                    found[number] = Outcome.off_program
        for number in np.nonzero(doubtful)[0]:
            job = self._jobs.of(int(number))
            found[number] = job.judged(self._rows(int(number), self.used[number], job.constants)).outcome
        for number in np.nonzero(~startable)[0]:
            found[number] = Outcome.no_start
        return found

    def _doubtful(self, completed: Array) -> Array:
        """Which of the cases that completed have to be looked at one by one."""
        equations, constants, request, first = self.equations, self.made_of.constants, self.request, 0
        thinned = request.step is not None and request.steps % kept_rows(request)  # the end is not among the rows
        times, doubtful = self.all_times, np.zeros(len(self), dtype=bool)
        if thinned:
            assert request.step is not None
            times = np.append(times, request.begin + request.steps * request.step)
        for block in self._observations():
            some = slice(first, first + len(block))
            states = self.states[some]
            if thinned:
                final = self.counts.final[some][:, None]
                last = self.kernel.observe_cases(times[-1:], final, constants[some])
                block, states = np.concatenate([block, last], axis=1), np.concatenate([states, final], axis=1)
            here = completed[some]
            if here.any():
                doubtful[some][here] = doubtful_cases(
                    equations, times, states[here], block[here], constants[some][here]
                )
            first += len(block)
        return doubtful

    def _attracted(self) -> Array:
        """Whether each case starts on the program, or under a law that brings it back."""
        equations, constants, begin = self.equations, self.made_of.constants, self.request.begin
        seen = self.kernel.observe_cases(np.array([begin]), self.used[:, None], constants)
        with np.errstate(all="ignore"):
            deviation = np.nan_to_num(seen[:, 0, deviation_places(equations)])
            off = off_program(equations, deviation, np.nan_to_num(self.used), begin, constants)
        return attracted(equations, off, self.used, begin, constants)

    # ── leaving ───────────────────────────────────────────────────────────────────────────────────

    def event_times(self, events: Mapping[str, Any] | None = None) -> dict[str, tuple[Array, ...]]:
        """When events happened in each case: the problem's own, or those given, as `simulate` takes them; none ends it.

        For each event, one array of times per case, found as in a run: by the scheme itself, between its steps.
        """
        watch = watch_of(self.equations, events)
        noted = EventWatch({}, {**watch.terminal, **watch.noted}, watch.directions)
        found: dict[str, list[Array]] = {name: [] for name in noted.noted}
        for number in range(len(self)):
            constants = self.made_of.constants[number].tolist()
            if self.outcomes[number] is Outcome.no_start:
                seen = {name: np.zeros(0) for name in found}
            else:
                seen = self._seen(number, noted, constants)
            for name, times in seen.items():
                found[name].append(times)
        return {name: tuple(times) for name, times in found.items()}

    def _seen(self, number: int, noted: EventWatch, constants: list[float]) -> dict[str, Array]:
        """The times of events in one case; of an adaptive scheme by its own steps, once more."""
        request = self.request
        if request.step is not None:
            rows = self._rows(number, self.used[number], constants)
            return noted_times(noted, self.kernel, rows, constants, request.step, kept_rows(request))
        return noted_times(noted, self.kernel, self._jobs.rows(number), constants, None, 1)

    def plot(self, what: Any, kind: str = "bands") -> Any:
        """Draw a quantity of all cases: "bands" over time, a "histogram" of a reduction (``max(abs(lambda_rod))``), or
        "parallel" coordinates of the cases' own columns beside it; returns the axes.
        """
        from holdfast.results.ensembles.plot import plot

        return plot(self, what, kind)

    def to_pandas(self) -> Any:
        """A data frame with a row for each case: its own columns, its outcome, final states and stated reductions."""
        from holdfast.results.ensembles.store import to_pandas

        return to_pandas(self)

    def to_csv(self, path: str | Path) -> None:
        """Write a line for each case: its own columns, how it ended, the stated reductions, its last states."""
        if not str(path).endswith(".csv"):
            raise BadRequest(f"{str(path)!r} is no name of a CSV file", where="to_csv", fix="end it in .csv")
        self.save(path)

    def to_xarray(self) -> Any:
        """A data set with the dimensions `run` and `time`; the cases are coordinates of `run`."""
        from holdfast.results.ensembles.store import to_xarray

        return to_xarray(self)

    def save(self, path: str | Path) -> None:
        """Write all runs to ``.npz``, ``.nc`` or ``.zarr.zip``, or how each ended to ``.csv``; never half of it."""
        from holdfast.results.ensembles.store import save

        save(self, path)

    def __repr__(self) -> str:
        return f"<Ensemble {self.request.scheme.name}, {len(self)} cases: {self.summary()}>"

    def summary(self) -> str:
        """How many cases ended in which way."""
        return ", ".join(f"{count} {outcome.name}" for outcome, count in self.tally.items())

    @property
    def tally(self) -> dict[Outcome, int]:
        """The number of cases of each outcome there is."""
        return {outcome: self.outcomes.count(outcome) for outcome in Outcome if outcome in self.outcomes}


def _no_other(found: Judgement, outcome: Outcome) -> Judgement:
    """A judgement by the rows that are there, of a case whose outcome is known, by more of them perhaps."""
    return found if found.outcome is outcome else Judgement(outcome)


def _unpickled(parts: dict[str, Any]) -> Ensemble:
    """An ensemble that was pickled."""
    parts["states"].flags.writeable = False
    return Ensemble(kernel=compiled(parts["equations"].field, parts["request"].scheme), **parts)
