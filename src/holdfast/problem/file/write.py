"""A problem as the text of its file: exact, in the order of the tables, and readable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.bodies.statement import NORM_RATE
from holdfast.problem.controller import added_names
from holdfast.problem.file.function_table import OPEN, function_entries
from holdfast.problem.file.law_table import law_entries
from holdfast.problem.file.mass_table import mass_entries
from holdfast.problem.file.phase_table import event_entry, phase_entries
from holdfast.problem.file.read import PLAIN_TABLES, SCHEMA
from holdfast.problem.file.tables.body_table import body_entries, joint_entries
from holdfast.problem.keep import kept_states
from holdfast.problem.laws.linear import Unstabilised
from holdfast.problem.problem import Problem
from holdfast.problem.text.written import decimal_text, text_of

BARE = re.compile(r"[A-Za-z0-9_-]+")
LONG = 2000  # characters of a sum: longer ones are written term by term
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def written(problem: Problem) -> str:
    """The TOML text of a problem."""
    lines = [f"schema = {SCHEMA}"]
    if problem.title:
        lines.append(f"title = {quoted(problem.title)}")
    if problem.expect != "positive":
        lines.append(f"expect = {quoted(problem.expect)}")
    lines += [*_system(problem), *_program(problem)]
    lines += _table("output", problem.output, "output")
    lines += _table("events", {name: event_entry(event) for name, event in problem.events.items()}, "events")
    for name, phase in problem.phases.items():
        lines += _table(f"phases.{_key(name)}", phase_entries(phase, problem.program), f"phases.{name}", empty=True)
    lines += _table("start", problem.start, "start")
    lines += _table("run", problem.run.stated(), "run")
    lines += _table("family", problem.family, "family")
    lines += _table("lyapunov", problem.lyapunov, "lyapunov")
    for name in PLAIN_TABLES:
        lines += _table(name, getattr(problem, name), name)
    return "\n".join(lines) + "\n"


def _system(problem: Problem) -> list[str]:
    system = problem.system
    own = [coordinate.name for coordinate in system.coordinates if coordinate.name not in system.produced]
    names = ", ".join(map(quoted, own))
    entries = {"kinetic": system.kinetic} if system.kinetic != 0 or not (system.masses or system.bodies) else {}
    entries |= {key: value for key in ("potential", "dissipation") if (value := getattr(system, key)) != 0}
    lines = ["", "[system]", *([f"coordinates = [{names}]"] if own or not system.bodies else [])]
    lines += [f"{key} = {_energy(value, f'system.{key}')}" for key, value in entries.items()]
    if system.bodies:
        more = {"gravity": system.gravity, "placing": system.placing, "norm_rate": system.norm_rate}
        usual = {"gravity": (), "placing": "relative", "norm_rate": NORM_RATE}
        lines += [f"{key} = {_value(value, key)}" for key, value in more.items() if value != usual[key]]
    kept = {*kept_states(problem.program), *system.produced}
    stated: dict[str, Mapping[str, Any]] = {"forces": system.forces, "noise": system.noise}
    stated |= {"states": {name: rate for name, rate in system.states.items() if name not in kept}}
    for key in ("forces", "states", "noise"):
        lines += _table(f"system.{key}", stated[key], f"system.{key}")
    for name, mass in system.masses.items():
        lines += _table(f"system.masses.{name}", mass_entries(mass), f"system.masses.{name}")
    for name, body in system.bodies.items():
        lines += _table(f"bodies.{name}", body_entries(body), f"bodies.{name}")
    for name, joint in system.joints.items():
        lines += _table(f"joints.{name}", joint_entries(joint), f"joints.{name}")
    letters = {letter.name: OPEN for letter in system.letters}
    lines += _table("functions", function_entries(system.functions), "functions")
    added = {*added_names(problem.program), *system.produced}
    for key in ("definitions", "points"):
        stated[key] = {name: value for name, value in getattr(system, key).items() if name not in added}
        lines += _table(key, stated[key], key)
    parameters = {name: value for name, value in system.parameters.items() if name not in added}
    lines += _table("parameters", {**parameters, **letters}, "parameters")
    return lines


def _program(problem: Problem) -> list[str]:
    program = problem.program
    given = () if problem.system.rows is None else problem.system.rows.names
    named = {"reactions": tuple(n for n in program.reactions if n not in given), "redundant": program.redundant}
    own: dict[str, Any] = {key: value for key, value in named.items() if value}
    if program.sampling is not None:
        own["sampling"] = program.sampling.stated()
    lines = _table("program", own, "program")
    for key in ("holonomic", "nonholonomic", "keep", "controls", "effort", "limits", "model"):
        rows = getattr(program, key)
        if key in ("holonomic", "nonholonomic"):
            rows = {name: row for name, row in rows.items() if name not in program.keep and name not in given}
        lines += _table(f"program.{key}", rows, f"program.{key}")
    if program.constraints or program.law != Unstabilised():
        lines += _table("program.law", law_entries(program.law), "program.law")
    return lines


def _energy(value: sp.Expr, where: str) -> str:
    """An expression; a sum that would be too long to read, as the list of its terms."""
    text = _value(value, where, number=False)
    if len(text) <= LONG or not value.is_Add:
        return text
    return "[\n" + "".join(f"    {_value(term, where, number=False)},\n" for term in value.args) + "]"


def _table(name: str, entries: Mapping[str, Any], where: str, *, empty: bool = False) -> list[str]:
    if not entries and not empty:
        return []
    return ["", f"[{name}]", *(f"{_key(key)} = {_value(value, f'{where}.{key}')}" for key, value in entries.items())]


def _key(key: str) -> str:
    return key if BARE.fullmatch(key) else quoted(key)


def _value(value: Any, where: str, *, number: bool = True) -> str:
    """A value as TOML writes it; expressions are in quotes, and so are numbers that no decimal can say."""
    if isinstance(value, sp.Expr):
        plain = decimal_text(int(value.p), int(value.q)) if number and value.is_Rational else ""
        if plain and "e" not in plain and not ("." not in plain and len(plain) > 18):
            return plain
        return quoted(text_of(value, where=where))
    if isinstance(value, Mapping):
        return (
            "{ " + ", ".join(f"{_key(key)} = {_value(v, f'{where}.{key}')}" for key, v in value.items()) + " }"
            if value
            else "{}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(inner, where) for inner in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return quoted(value)
    raise BadStatement(
        f"{value!r} has no form in a problem file", where=where, fix="use numbers, texts, lists and tables"
    )


def quoted(text: str) -> str:
    """A TOML string."""
    return '"' + "".join(ESCAPES.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text) + '"'
