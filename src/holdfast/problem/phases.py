"""Events, and phases of a motion: programs that follow one another, each until something happens.

swing until the rope is slack, fly until it is taut again;  reach, then carry, then let go
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement, HoldfastError
from holdfast.problem.program import Program
from holdfast.problem.quantities import check_name
from holdfast.problem.text.written import text_of
from holdfast.problem.vocabulary import COLUMNS

LONGEST_SHOWN = 80  # characters of an expression that a line shows
DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}


@clear_arguments
@dataclass(frozen=True, slots=True)
class Event:
    """`expression` passes through zero, in a `direction` ("rising", "falling" or "both"); a `terminal` one ends the
    run. What passes twice within one step is not seen.

    The expression, or its text, may contain all that a run shows: states, rates, accelerations, multipliers, controls,
    deviations, energies, points and time.
    """

    expression: Any
    direction: str = "both"
    terminal: bool = False

    def checked(self, where: str) -> Event:
        """The same, if it can be an event at all; what it contains is judged where it is watched."""
        if self.direction not in DIRECTIONS:
            raise BadStatement(
                f"direction {self.direction!r} is not known", where=where, fix=f"one of {', '.join(DIRECTIONS)}"
            )
        if not isinstance(self.terminal, bool):
            raise BadStatement(f"terminal = {self.terminal!r}", where=where, fix="true or false")
        if isinstance(self.expression, str):
            return self
        if isinstance(self.expression, sp.Expr):
            return replace(self, expression=_as_text(self.expression, where))
        if isinstance(self.expression, (int, float)) and not isinstance(self.expression, bool):
            raise BadStatement(f"{self.expression!r} never passes through zero", where=where, fix='e.g. "t - 2"')
        raise BadStatement(f"{self.expression!r} is not an expression", where=where, fix='e.g. "lambda_rope"')


def _as_text(expression: sp.Expr, where: str) -> sp.Expr | str:
    """As a file has it, so that what is written reads back alike; what has no such text stays as it is."""
    try:
        return text_of(expression, where=where)
    except HoldfastError:
        return expression


def event_of(given: Any) -> Event:
    """An event, where only its expression may be given."""
    return given if isinstance(given, Event) else Event(given)


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A program that is kept `until` something passes through zero, or for as long as it `lasts`; `then` names the
    phase that follows, the next one if nothing is said. Without a program the problem's own is kept.

    Where a phase begins, constraints that reactions hold are imposed at once: rates jump as by an ideal impact without
    bounce. Constraints that controls hold begin with the deviation there is.
    """

    program: Program | None = None
    until: Any = None
    lasts: float | None = None
    then: str | None = None

    def checked(self, name: str, names: Mapping[str, Any]) -> Phase:
        """The same with its event as an `Event`, and with what it says of others judged."""
        where = f"phases.{name}"
        check_name(name, where=where)
        if self.program is not None and not isinstance(self.program, Program):
            raise BadStatement(f"{self.program!r} is not a Program", where=where, fix="hf.Program(...)")
        if self.lasts is not None and not (
            isinstance(self.lasts, (int, float)) and not isinstance(self.lasts, bool)
            and math.isfinite(self.lasts) and self.lasts > 0
        ):  # fmt: skip
            raise BadStatement(f"lasts = {self.lasts!r} is not a duration", where=f"{where}.lasts", fix="e.g. 2.5")
        if self.then is not None and self.then not in names:
            hint = did_you_mean(str(self.then), names, "phases: " + ", ".join(names))
            raise BadStatement(f"there is no phase {self.then!r}", where=f"{where}.then", fix=hint)
        until = None if self.until is None else replace(event_of(self.until).checked(f"{where}.until"), terminal=True)
        return replace(self, until=until)


def checked_phases(given: Any) -> Frozen[Phase]:
    """Phases by name, in their order."""
    if not isinstance(given, Mapping):
        raise BadStatement(f"{given!r} are not phases by name", where="phases", fix='{"swing": hf.Phase(...), ...}')
    for name, phase in given.items():
        if not isinstance(phase, Phase):
            raise BadStatement(
                f"{phase!r} is not a Phase", where=f"phases.{name}", fix="hf.Phase(program=..., until=...)"
            )
    return Frozen({name: phase.checked(name, given) for name, phase in given.items()})


def _shown(expression: Any) -> str:
    """An expression in a line; its text may be anybody's, and has not been read yet."""
    text = "".join(c if c.isprintable() else " " for c in str(expression))
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def phase_lines(phases: Mapping[str, Phase], base: Program) -> list[str]:
    """Each phase in a line: what it keeps, what ends it, and what follows."""
    lines, names = [], list(phases)
    for k, (name, phase) in enumerate(phases.items()):
        kept = ", ".join((phase.program or base).constraints) or "nothing"
        ends = [] if phase.until is None else [f"until {_shown(phase.until.expression)} passes zero"]
        ends += [] if phase.lasts is None else [f"for {phase.lasts:g} at most"]
        follows = phase.then or (names[k + 1] if k + 1 < len(names) else "")
        then = f", then {follows}" if follows else ""
        lines.append(f"{name}: keeps {kept}{' ' if ends else ''}{', '.join(ends)}{then}")
    return lines


def checked_output(given: Any, taken: Container[str]) -> Frozen[Any]:
    """Quantities by name that results show beside their own: texts, or expressions that have one."""
    if not isinstance(given, Mapping):
        raise BadStatement(f"{given!r} are not quantities by name", where="output", fix='{"load": "abs(lambda_rod)"}')
    found: dict[str, Any] = {}
    for name, value in given.items():
        where = f"output.{name}"
        check_name(name, where=where)
        if name in taken or name in COLUMNS or name in ("time", "run", "outcome"):
            raise BadStatement(f"{name!r} is a name of the problem, or of its results", where=where, fix="rename it")
        if not isinstance(value, (str, sp.Expr)):
            raise BadStatement(f"{value!r} is not an expression", where=where, fix='e.g. "abs(lambda_rod)"')
        found[name] = value if isinstance(value, str) else _as_text(value, where)
    return Frozen(found)


def checked_events(given: Any) -> Frozen[Event]:
    """Events by name."""
    if not isinstance(given, Mapping):
        raise BadStatement(f"{given!r} are not events by name", where="events", fix='{"slack": "lambda_rope"}')
    for name in given:
        check_name(name, where=f"events.{name}")
    return Frozen({name: event_of(event).checked(f"events.{name}") for name, event in given.items()})
