"""The tables [events], [output] and [phases] of a problem file.

A phase takes the problem's own [program], leaves out what it names in `without`, and adds tables of its own; what bears
the same name takes its place.

    [phases.fly]
    without = ["rope"]
    until = "x**2 + y**2 - l**2"
    then = "swing"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadFile, BadStatement
from holdfast.problem.file.entries import Entries, kind_of, plain
from holdfast.problem.file.findings import Findings
from holdfast.problem.file.law_table import law_entries
from holdfast.problem.file.places import Path
from holdfast.problem.phases import Event, Phase
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program

ROWS = "holonomic nonholonomic keep controls effort limits model".split()  # tables of the program, by name
WHOLE = "reactions law redundant sampling".split()  # entries of the program that a phase states anew, or not at all
OWN = "without until lasts then".split()
APART = "phases events output lyapunov certificate".split()  # tables of the file that a phase does not read again
EVENT_KEYS = "when direction terminal".split()
ReadProblem = Callable[[Mapping[str, Any], Findings], Problem]


def read_events(raw: Mapping[str, Any], entries: Entries) -> dict[str, Event]:
    """Events by name: a text, or a table of `when`, `direction` and `terminal`."""
    table = entries.table(raw, ("events",))
    found = {name: _event(value, ("events", name), entries) for name, value in table.items()}
    return {name: event for name, event in found.items() if event is not None}


def read_output(raw: Mapping[str, Any], entries: Entries) -> dict[str, str]:
    """Quantities by name that results show."""
    found = {}
    for name, value in entries.table(raw, ("output",)).items():
        if isinstance(value, str):
            found[name] = value
        else:
            what = f"an expression belongs here, not {kind_of(value)}"
            entries.findings.add(("output", name), what, 'e.g. "abs(lambda_rod)"')
    return found


def _event(value: Any, path: Path, entries: Entries) -> Event | None:
    if isinstance(value, dict):
        entries.check_keys(value, path, EVENT_KEYS)
        given = {key: value[key] for key in ("direction", "terminal") if key in value}
        event, place = Event(value.get("when"), **given), (*path, "when")
    else:
        event, place = Event(value), path
    if not isinstance(event.expression, str):
        entries.findings.add(
            place, f"an expression belongs here, not {kind_of(event.expression)}", 'e.g. "lambda_rope"'
        )
        return None
    try:
        return event.checked(".".join(map(str, path)))
    except BadStatement as error:
        entries.findings.blame_where(error)
        return None


def read_phases(raw: Mapping[str, Any], entries: Entries, read: ReadProblem) -> dict[str, Phase]:
    """Phases by name; the program of each is read as that of a problem of its own."""
    table = entries.table(raw, ("phases",))
    return {name: _Phase(raw, name, table, entries).phase(read) for name in table}


class _Phase:
    """One table [phases.NAME]."""

    def __init__(self, raw: Mapping[str, Any], name: str, table: Mapping[str, Any], entries: Entries) -> None:
        self.raw, self.name, self.path, self.entries = raw, name, ("phases", name), entries
        self.names = list(table)
        self.stated = entries.table(table, self.path, known=[*OWN, *ROWS, *WHOLE])

    def phase(self, read: ReadProblem) -> Phase:
        until = None
        if "until" in self.stated:
            until = _event(self.stated["until"], (*self.path, "until"), self.entries)
        own = {key: plain(self.stated[key]) for key in ("lasts", "then") if key in self.stated}
        try:
            return Phase(program=self._program(read), until=until, **own).checked(self.name, dict.fromkeys(self.names))
        except BadFile:  # its errors are among the others
            return Phase()
        except BadStatement as error:
            self.entries.findings.blame_where(error)
            return Phase()

    def _program(self, read: ReadProblem) -> Program | None:
        if not any(key in self.stated for key in ("without", *ROWS, *WHOLE)):
            return None
        rest = {key: value for key, value in self.raw.items() if key not in APART}
        findings = _PhaseFindings(self.entries.findings, self.name)
        merged = self._merged()
        if len(findings):
            return None
        return read({**rest, "program": merged}, findings).program

    def _merged(self) -> dict[str, Any]:
        """The tables of the program that the phase keeps, as a file of its own would have them."""
        base = self.raw.get("program", {})
        base = base if isinstance(base, dict) else {}
        without = self._without(base)
        found: dict[str, Any] = {}
        for key in ROWS:
            rows = {name: row for name, row in _rows(base, key).items() if name not in without}
            rows |= _rows(self.stated, key)
            if rows:
                found[key] = rows
        for key in WHOLE:
            if key in self.stated or key in base:
                found[key] = self.stated.get(key, base.get(key))
        if isinstance(found.get("reactions"), list) and "reactions" not in self.stated:
            found["reactions"] = [name for name in found["reactions"] if name not in without]
        if "law" not in self.stated and isinstance(found.get("law"), dict):
            found["law"] = _law_without(found["law"], without)
        return found

    def _without(self, base: Mapping[str, Any]) -> list[str]:
        given = self.stated.get("without", [])
        path = (*self.path, "without")
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            self.entries.findings.add(path, "names of constraints and controls belong here", 'e.g. ["rope"]')
            return []
        known = [name for key in ROWS for name in _rows(base, key)]
        for k, name in enumerate(given):
            if name not in known:
                hint = did_you_mean(name, known, "known: " + ", ".join(known))
                self.entries.findings.add((*path, k), f"the program has no {name!r}", hint)
        return given


def _rows(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    rows = table.get(key, {})
    return dict(rows) if isinstance(rows, dict) else {}


def _law_without(law: Mapping[str, Any], without: list[str]) -> dict[str, Any]:
    """A law that names constraints one by one, without those that are left out."""
    return {
        key: {name: value for name, value in entry.items() if name not in without} if isinstance(entry, dict) else entry
        for key, entry in law.items()
    }


class _PhaseFindings(Findings):
    """Errors of a phase, at the places where the file has them."""

    def __init__(self, whole: Findings, phase: str) -> None:
        super().__init__(whole.file, whole.places)
        self._whole, self._phase = whole, phase
        self._found = whole._found

    def add(self, path: Path, what: str, hint: str = "", **where: Any) -> None:
        inner: Path = ("phases", self._phase, *path[1:])
        if path[:1] == ("program",) and len(self.places.known(inner)) > 2:
            path = inner
        super().add(path, what, hint, **where)


def event_entry(event: Event) -> Any:
    """An event as a file states it."""
    entries = {"when": event.expression}
    if event.direction != "both":
        entries["direction"] = event.direction
    if event.terminal:
        entries["terminal"] = True
    return entries if len(entries) > 1 else event.expression


def phase_entries(phase: Phase, base: Program) -> dict[str, Any]:
    """A phase as a file states it: what it leaves out of the problem's own program, and what it adds."""
    found: dict[str, Any] = {}
    program = phase.program
    if program is not None:
        gone = [n for key in ROWS for n in _stated_rows(base, key) if n not in _stated_rows(program, key)]
        found["without"] = list(dict.fromkeys(gone))
        if program.reactions != tuple(n for n in base.reactions if n not in found["without"]):
            found["reactions"] = list(program.reactions)
        for key in ROWS:
            own = _stated_rows(base, key)
            rows = {n: row for n, row in _stated_rows(program, key).items() if n not in own or own[n] != row}
            if rows:
                found[key] = rows
        if program.redundant != base.redundant and program.redundant is not None:
            found["redundant"] = program.redundant
        if program.sampling != base.sampling and program.sampling is not None:
            found["sampling"] = program.sampling.stated()
        if program.law != base.law or program.constraints != base.constraints:
            found["law"] = law_entries(program.law)
    if phase.until is not None:
        ends = Event(phase.until.expression, phase.until.direction)
        found["until"] = event_entry(ends)
    if phase.lasts is not None:
        found["lasts"] = phase.lasts
    if phase.then is not None:
        found["then"] = phase.then
    return found


def _stated_rows(program: Program, key: str) -> Frozen[Any]:
    rows = getattr(program, key)
    if key in ("holonomic", "nonholonomic"):
        return Frozen({name: row for name, row in rows.items() if name not in program.keep})
    return rows
