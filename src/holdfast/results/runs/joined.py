"""Runs one after the other, as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.errors import BadRequest
from holdfast.problem.problem import Problem
from holdfast.results.judgement.finding import Finding, Judgement
from holdfast.results.runs.accuracy.state_error import StateError
from holdfast.results.trajectory import EnergyBalance, Trajectory

Array = np.ndarray
BALANCE = tuple(entry.name for entry in fields(EnergyBalance))


@dataclass(frozen=True, slots=True)
class Impact:
    """Constraints imposed at once: the jump of the rates, the energy it takes, and the impulse of each constraint."""

    time: float
    phase: str  # that begins with it
    jumps: Frozen[float]  # of rates, by name
    energy_lost: float
    impulses: Frozen[float]  # by constraint

    def __str__(self) -> str:
        pushed = ", ".join(f"{name} {value:.4g}" for name, value in self.impulses.items() if value)
        return f"t = {self.time:.6g}: {self.phase} begins with an impact ({pushed}), energy lost {self.energy_lost:.6g}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JoinedRun(Trajectory):
    """Runs that follow one another, their rows joined; where one ends and the next begins there are two rows.

    `parts` are the runs, `phases` their names (nothing where a run was only continued), `impacts` what happened between
    them. A quantity that a part does not know, such as the multiplier of a rope that is slack, is nan there.
    """

    parts: tuple[Trajectory, ...]
    phases: tuple[str, ...] = ()
    impacts: tuple[Impact, ...] = ()
    again: Callable[[], JoinedRun] | None = None  # the same run, finer

    def at(self, expression: Any) -> Array:
        """An expression at each row, by the equations of each part; nan where a part does not know its names."""
        found, errors = [], []
        for part in self.parts:
            try:
                found.append(part[expression])
            except BadRequest as error:
                errors.append(error)
                found.append(np.full(len(part.times), np.nan))
        if len(errors) == len(self.parts):
            raise errors[0]
        return _fixed(np.concatenate(found))

    def reduce(self, text: str) -> float:
        """As of a run; parts that do not know a quantity do not count."""
        from holdfast.results.reductions import reduced

        return float(reduced(text, self.times, self.__getitem__))

    def _computed_column(self, name: str) -> Array | None:
        """What the parts compute, each as it can."""
        found = [part._computed_column(name) for part in self.parts]
        if all(column is None for column in found):
            return None
        return _fixed(
            np.concatenate(
                [np.full(len(p.times), np.nan) if c is None else c for p, c in zip(self.parts, found, strict=True)]
            )
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found against the parts."""
        return tuple(
            replace(found, text=f"{name}: {found.text}" if name else found.text)
            for name, part in zip(self._labels, self.parts, strict=True)
            for found in part.findings
        )

    @cached_property
    def state_error(self) -> StateError:
        """The error of the states where a finer run is in the same phase; each of `parts` knows its own."""
        from holdfast.results.runs.accuracy.phased_error import phased_error

        return phased_error(self)

    @cached_property
    def energy_balance(self) -> EnergyBalance:
        """Where the energy went, part by part; what impacts take is work of what holds, and what other jumps make (of
        parameters that were changed) explicit.
        """
        found: dict[str, list[Array]] = {name: [] for name in BALANCE}
        before, struck = dict.fromkeys(BALANCE, 0.0), {impact.time for impact in self.impacts}
        for part in self.parts:
            own = part.energy_balance
            jump = float(part.energy[0] - self.energy[0]) - before["change"]
            before["change"] += jump
            before["held" if float(part.times[0]) in struck else "explicit"] += jump
            for name in BALANCE:
                found[name].append(before[name] + getattr(own, name))
                before[name] = float(found[name][-1][-1])
        return EnergyBalance(**{name: _fixed(np.concatenate(values)) for name, values in found.items()})

    @property
    def energy_change(self) -> float:
        """The largest change of energy within a part, leaving out impacts."""
        return max(float(np.nanmax(np.abs(part.energy_balance.change), initial=0)) for part in self.parts)

    @property
    def _labels(self) -> tuple[str, ...]:
        return self.phases or ("",) * len(self.parts)

    @property
    def energy_lost(self) -> float:
        """By all impacts together."""
        return float(sum(impact.energy_lost for impact in self.impacts))

    def summary(self) -> str:
        """Which part ran when, and what happened between them."""
        lines, impacts = [], {impact.time: impact for impact in self.impacts}
        for name, part in zip(self._labels, self.parts, strict=True):
            begin, end = float(part.times[0]), float(part.times[-1])
            if begin in impacts and impacts[begin].phase == name:
                lines.append(f"  {impacts[begin]}")
            lines.append(f"  {begin:.6g} to {end:.6g}: {name or part.scheme}. {part.message}")
        return "\n".join(lines) + "\n"


def joined(
    parts: Sequence[Trajectory],
    phases: Sequence[str] = (),
    impacts: Sequence[Impact] = (),
    note: str = "",
    problem: Problem | None = None,
) -> JoinedRun:
    """One run of several; those that are joined already are taken apart first. `problem` is that of the whole."""
    flat = [piece for part in parts for piece in (part.parts if isinstance(part, JoinedRun) else (part,))]
    first, last = flat[0], flat[-1]
    names = dict.fromkeys(name for part in flat for name in part.columns)
    columns = {
        name: _fixed(np.concatenate([part.columns.get(name, np.full(len(part.times), np.nan)) for part in flat]))
        for name in names
    }
    own = tuple(name for name in first.state_names if all(name in part.state_names for part in flat))
    ordered = {**{name: columns[name] for name in own}, **columns}
    events = dict.fromkeys(name for part in flat for name in part.events)
    return JoinedRun(
        problem=problem or first.problem,
        times=_fixed(np.concatenate([part.times for part in flat])),
        columns=Frozen(ordered),
        state_names=own,
        judged=lambda: _worst(flat),
        start=first.start,
        scheme=first.scheme,
        scheme_fingerprint=first.scheme_fingerprint,
        step=first.step,
        tolerance=first.tolerance,
        parameters=first.parameters,
        steps=sum(part.steps for part in flat),
        nfev=sum(part.nfev for part in flat),
        rejected=sum(part.rejected for part in flat),
        every=max(part.every for part in flat),
        events=Frozen({n: _fixed(np.concatenate([p.events.get(n, np.zeros(0)) for p in flat])) for n in events}),
        note=note or last.note,
        projected=any(part.projected for part in flat),
        picked=any(part.picked for part in flat),
        equations=first.equations,
        second_order=first.second_order,
        parts=tuple(flat),
        phases=tuple(phases) if len(phases) == len(flat) else (),
        impacts=tuple(impacts),
    )


def _worst(parts: Sequence[Trajectory]) -> Judgement:
    """The first part that failed tells how the whole ended; else the last one does."""
    failed = next((part for part in parts if not part.success), parts[-1])
    found = tuple(finding for part in parts for finding in part.against)
    return Judgement(failed.outcome, found)


def _fixed(array: Array) -> Array:
    array.flags.writeable = False
    return array
