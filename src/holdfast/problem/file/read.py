"""A problem from the tables of its file: names first, then definitions and points, then all that uses them.

Definitions may use each other in the order of the file, points may use definitions and earlier points. Every expression
is read and judged by itself, so one bad line does not hide the next; a problem is made only when nothing was found. A
new table is one method here and one in `writing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.errors import BadExpression, BadStatement
from holdfast.problem.bodies.rows import JointRows
from holdfast.problem.bodies.statement import constant_names
from holdfast.problem.file.entries import Entries, kind_of, plain
from holdfast.problem.file.family_table import read_family
from holdfast.problem.file.findings import Findings
from holdfast.problem.file.function_table import OPEN, read_functions
from holdfast.problem.file.law_table import read_law
from holdfast.problem.file.lyapunov_table import read_lyapunov
from holdfast.problem.file.mass_table import read_masses
from holdfast.problem.file.phase_table import read_events, read_output, read_phases
from holdfast.problem.file.places import Path
from holdfast.problem.file.sampling_table import read_sampling
from holdfast.problem.file.tables.body_table import read_bodies, read_together
from holdfast.problem.functions import StatedFunction
from holdfast.problem.keep import VALUE, depends_on_rates, names_integral, start_states
from holdfast.problem.laws.law import HIGHEST
from holdfast.problem.laws.linear import Constraints, Law
from holdfast.problem.problem import Problem
from holdfast.problem.program import PUSHED, Program, stated_degrees
from holdfast.problem.quantities import Control, Coordinate, Definition, Multiplier, NamedSymbol, Parameter, Rate, State
from holdfast.problem.run import Run
from holdfast.problem.system import System
from holdfast.problem.text.magnitude import Refusal
from holdfast.problem.text.spelling import WORD
from holdfast.problem.vocabulary import CONSTANT, FORCE, MOTION, POSITION, STATE_RATE, Kinds, Vocabulary

SCHEMA = 1
LARGEST_PLAIN = 10**300  # of a number that stands as it is, in [certificate], [ensemble] and the like
SYSTEM_KEYS = "coordinates kinetic potential dissipation forces masses states noise gravity placing norm_rate".split()
PROGRAM_KEYS = "holonomic nonholonomic keep controls reactions effort limits law redundant model sampling".split()
RUN_KEYS = [field.name for field in fields(Run)]
PLAIN_TABLES = "certificate ensemble units animation".split()
TOP_KEYS = (
    "schema title expect system bodies joints definitions points parameters functions program events phases output "
    "family start run lyapunov".split()
)
TOP_KEYS += PLAIN_TABLES


def read_problem(raw: Mapping[str, Any], findings: Findings, folder: FilePath | None = None) -> Problem:
    """The problem that the tables state; all that is wrong with them is raised in one go. Data lie below `folder`."""
    reading = _Reading(raw, Entries(findings), folder)
    system, program = reading.system(), reading.program()
    law = reading.law(program)
    system["states"] |= start_states(program["keep"])
    rest = {"start": reading.start(), "run": reading.run(), **reading.labels(), **reading.lyapunov(program)}
    rest["family"] = read_family(reading.entries.table(raw, ("family",)), reading.entries)
    rest["events"] = read_events(raw, reading.entries)
    rest["output"] = read_output(raw, reading.entries)
    findings.raise_if_any()
    rest["phases"] = read_phases(raw, reading.entries, lambda inner, found: read_problem(inner, found, folder))
    findings.raise_if_any()
    try:
        return Problem(System(**system), Program(**program, law=law), **rest)
    except BadStatement as error:
        findings.blame_where(error)
        raise findings.error() from None


class _Reading:
    """One pass over the tables, in the order in which names become known."""

    def __init__(self, raw: Mapping[str, Any], entries: Entries, folder: FilePath | None) -> None:
        self.folder = folder
        self._rows = JointRows()
        self._known: set[str] = set()  # definitions and points that were read before the bodies
        self.raw, self.entries, self.names = raw, entries, entries.names
        self.note = entries.findings.add
        entries.check_keys(raw, (), TOP_KEYS)
        self._check_schema()
        self.system_table = entries.table(raw, ("system",), known=SYSTEM_KEYS)
        self.program_table = entries.table(raw, ("program",), known=PROGRAM_KEYS)

    def _check_schema(self) -> None:
        schema = self.raw.get("schema")
        if schema is None:
            self.note(("schema",), "the file does not say its schema", f"begin the file with: schema = {SCHEMA}")
        elif type(schema) is not int or schema != SCHEMA:
            self.note(("schema",), f"schema {plain(schema)!r} is not known", f"this version reads schema = {SCHEMA}")

    # ── the system ────────────────────────────────────────────────────────────────────────────────

    def system(self) -> dict[str, Any]:
        """What `System` needs, with names declared on the way."""
        table = self.system_table
        mechanism = "bodies" in self.raw or "joints" in self.raw
        if not table.get("coordinates") and not mechanism:
            self.note(("system", "coordinates"), "the system has no coordinates", 'e.g. coordinates = ["x", "phi"]')
        found: dict[str, Any] = {"coordinates": self._coordinates()}
        found["parameters"] = self._parameters()
        states = self.entries.table(table, ("system", "states"))
        for name in states:
            self._declare(State, name, ("system", "states", name))
        found["functions"] = self._functions()
        found["letters"] = tuple(Parameter(name) for name in found["parameters"] if found["parameters"][name] is None)
        self._announce_multipliers()
        if mechanism:
            self._bodies(found)
        found["definitions"] = found.get("definitions", {}) | self._definitions()
        found["points"] = found.get("points", {}) | self._points()
        masses = self.entries.table(table, ("system", "masses"))
        if (
            "kinetic" not in table and not masses and not mechanism and "family" not in self.raw
        ):  # a family needs no energies
            self.note(("system", "kinetic"), "the system has no kinetic energy", 'e.g. kinetic = "m*x_dot**2/2"')
        for key, allowed in (("kinetic", MOTION), ("potential", POSITION), ("dissipation", FORCE)):
            found[key] = self._sum(table.get(key, 0), ("system", key), allowed)
        found["forces"] = self._direction(
            self.entries.table(table, ("system", "forces")), ("system", "forces"), allowed=FORCE
        )
        for name in masses:
            self._declare_name(name, "mass", ("system", "masses", name))
        found["masses"] = read_masses(masses, self.entries)
        found["noise"] = self._directions(table, ("system", "noise"), "noise channel")
        self._announce_controls(states)
        found["states"] = self._expressions(states, ("system", "states"), STATE_RATE)
        return found

    def _bodies(self, found: dict[str, Any]) -> None:
        """Bodies and joints, after the constants that they use; what they name is known to all that follows."""
        tables = {key: self.entries.table(self.raw, (key,)) for key in ("definitions", "points")}
        fixed = constant_names({**tables["definitions"], **tables["points"]}, found["parameters"])
        found["definitions"], found["points"] = self._definitions(fixed), self._points(fixed)
        self._known = fixed
        for key, allowed in (("norm_rate", CONSTANT),):
            if key in self.system_table:
                found[key] = self._expression(self.system_table[key], ("system", key), allowed)
        found["placing"] = self.entries.text(self.system_table, ("system", "placing"), "relative")
        gravity = self.system_table.get("gravity")
        found |= read_bodies(self.raw, self.entries, gravity, found)
        self._rows = found.pop("rows", self._rows)
        self._announce_multipliers(self._rows.names)

    def _announce_controls(self, states: Mapping[str, Any]) -> None:
        """Controls whose values the rates of states use are quantities there, before the program is read."""
        controls = self.program_table.get("controls", {})
        used = {word for rate in states.values() if isinstance(rate, str) for word in WORD.findall(rate)}
        for name in controls if isinstance(controls, dict) else ():
            if name in used:
                self._declare(Control, name, ("program", "controls", name))

    def _announce_multipliers(self, more: tuple[str, ...] = ()) -> None:
        """Multipliers are quantities in forces and losses, before the program is read; those of joints' rows too."""
        stated = (self.system_table.get("forces"), self.system_table.get("dissipation"), self.raw.get("definitions"))
        used = {*WORD.findall(str(stated))}
        rows = [self.program_table.get(key) for key in ("holonomic", "nonholonomic")]
        for name in (*(name for table in rows if isinstance(table, dict) for name in table), *more):
            if f"lambda_{name}" in used:
                self.names.announce(Multiplier(name))

    def _coordinates(self) -> tuple[Coordinate, ...]:
        path = ("system", "coordinates")
        listed = self.entries.listed_names(self.system_table, path)
        return tuple(Coordinate(name) for i, name in enumerate(listed) if self._declare(Coordinate, name, (*path, i)))

    def _declare(self, kind: type[NamedSymbol], name: str, path: Path) -> bool:
        """Take a name; one that cannot be taken is noted, and its later use is no second error."""
        try:
            self.names.declare(kind(name), where="")
            return True
        except BadStatement as error:
            self.note(path, error.what, error.fix, on_key=isinstance(path[-1], str))
            self.entries.spoiled |= {name, f"{name}_dot", f"{name}_ddot"}
            return False

    def _declare_name(self, name: str, word: str, path: Path) -> None:
        try:
            self.names.declare_name(name, word, where="")
        except BadStatement as error:
            self.note(path, error.what, error.fix, on_key=True)
            self.entries.spoiled.add(name)

    def _functions(self) -> dict[str, StatedFunction]:
        """The functions, all declared before the expression of the first is kept."""
        bare, whole = read_functions(self.entries.table(self.raw, ("functions",)), self.entries, self.folder)
        for name, stated in bare.items():
            try:
                self.names.declare_function(name, stated, where="")
            except BadStatement as error:
                self.note(("functions", name), error.what, error.fix, on_key=True)
                self.entries.spoiled.add(name)
        return whole

    def _parameters(self) -> dict[str, sp.Expr | None]:
        values: dict[str, sp.Expr | None] = {}
        table = self.entries.table(self.raw, ("parameters",))
        for name, value in table.items():
            path = ("parameters", name)
            self._declare(Parameter, name, path)
            if not self._by_others(name, value, table):
                values[name] = None if value == OPEN else self._expression(value, path, ())
        for name, value in table.items():  # by others, such as J = "m*l**2/12": they may come later
            if self._by_others(name, value, table):
                values[name] = self._expression(value, ("parameters", name), CONSTANT)
        return values

    @staticmethod
    def _by_others(name: str, value: Any, table: Mapping[str, Any]) -> bool:
        """Whether a parameter is stated by other parameters."""
        return isinstance(value, str) and value != OPEN and bool({*WORD.findall(value)} & {*table})

    def _definitions(self, chosen: set[str] | None = None) -> dict[str, sp.Expr]:
        found = {}
        table = self._chosen("definitions", chosen)
        waiting, points = dict.fromkeys(table), self._table_names("points")
        for name, value in table.items():
            path = ("definitions", name)
            self.entries.expressions.later = (name, waiting)
            if name in points:
                self.note(path, f"the name {name!r} is given twice", "names are unique within a problem", on_key=True)
            expression = self.entries.expression(value, path, FORCE)
            del waiting[name]
            if self._declare(Definition, name, path) and expression is not None:
                self.names.define_depends(name, expression)
                found[name] = expression
                self._remember(name, expression, path)
        self.entries.expressions.later = ("", ())
        return found

    def _table_names(self, key: str) -> Mapping[str, Any]:
        table = self.raw.get(key, {})
        return table if isinstance(table, dict) else {}

    def _remember(self, name: str, expression: sp.Expr, path: Path) -> None:
        try:
            self.entries.expressions.add_definition(name, expression)
        except Refusal as refusal:
            self.note(path, refusal.what, refusal.hint)

    def _chosen(self, key: str, chosen: set[str] | None) -> dict[str, Any]:
        """Of a table those entries, or those that are not known yet."""
        table = self.entries.table(self.raw, (key,))
        return {n: v for n, v in table.items() if (n in chosen if chosen is not None else n not in self._known)}

    def _points(self, chosen: set[str] | None = None) -> dict[str, tuple[sp.Expr, ...]]:
        points = {}
        for name, value in self._chosen("points", chosen).items():
            path = ("points", name)
            position = self._position(value, path)
            self._declare_name(name, "point", path)
            if position is None:
                self.entries.spoiled.add(name)
                continue
            points[name] = position
            self.entries.expressions.add_point(name, position)
        return points

    def _position(self, value: Any, path: Path) -> tuple[sp.Expr, ...] | None:
        if isinstance(value, str):
            return self._written_vector(value, path)
        if not isinstance(value, list) or len(value) not in (2, 3):
            count = f" of {len(value)}" if isinstance(value, list) else ""
            self.note(path, f"a point has two or three components, not {kind_of(value)}{count}", 'e.g. C = ["x", "0"]')
            return None
        parts = [self.entries.expression(part, (*path, index), POSITION) for index, part in enumerate(value)]
        found = tuple(part for part in parts if part is not None)
        return found if len(found) == len(parts) else None

    def _written_vector(self, value: str, path: Path) -> tuple[sp.Expr, ...] | None:
        if self.entries.expressions.work.spent:
            return None
        try:
            vector = self.entries.expressions.read(value)
            if not isinstance(vector, tuple):
                raise BadExpression("a point is a vector, and this is a scalar", fix='e.g. "A + [l, 0]"')
            return tuple(self.names.admit(part, POSITION, where="") for part in vector)
        except BadStatement as error:
            self.entries.blame(error, path, value)
            return None

    # ── expressions by name ───────────────────────────────────────────────────────────────────────

    def _expression(self, value: Any, path: Path, allowed: Kinds) -> sp.Expr:
        """The expression, or 0 in place of one that failed: the file is refused anyway, and reading goes on."""
        found = self.entries.expression(value, path, allowed)
        return sp.S.Zero if found is None else found

    def _sum(self, value: Any, path: Path, allowed: Kinds) -> sp.Expr:
        """An expression, or the terms of one in a list."""
        if not isinstance(value, list):
            return self._expression(value, path, allowed)
        return sp.Add(*(self._expression(term, (*path, k), allowed) for k, term in enumerate(value)))

    def _expressions(self, table: Mapping[str, Any], path: Path, allowed: Kinds) -> dict[str, sp.Expr]:
        return {name: self._expression(value, (*path, name), allowed) for name, value in table.items()}

    def _direction(
        self, table: Mapping[str, Any], path: Path, kinds: Kinds = (Coordinate,), allowed: Kinds = MOTION
    ) -> dict[str, sp.Expr]:
        for name in table:
            self._find(name, kinds, (*path, name))
        return self._expressions(table, path, allowed)

    def _find(self, name: str, kinds: Kinds, path: Path) -> None:
        try:
            self.names.find(name, kinds, where="")
        except BadStatement as error:
            if name not in self.entries.spoiled:
                self.note(path, error.what, error.fix, on_key=True)

    def _directions(self, parent: Mapping[str, Any], path: Path, word: str) -> dict[str, dict[str, sp.Expr]]:
        """Named directions, such as controls: name -> coordinate -> component."""
        found = {}
        for name, value in self.entries.table(parent, path).items():
            self._declare_name(name, word, (*path, name))
            if isinstance(value, dict):
                kinds = PUSHED if word == "control" else (Coordinate,)
                found[name] = self._direction(value, (*path, name), kinds)
            else:
                self.note(
                    (*path, name), f"components by coordinate belong here, not {kind_of(value)}", 'e.g. { x = "1" }'
                )
                found[name] = {}
        return found

    # ── the program ───────────────────────────────────────────────────────────────────────────────

    def program(self) -> dict[str, Any]:
        """What `Program` needs except the law."""
        found: dict[str, Any] = {}
        for key, allowed in (("holonomic", POSITION), ("nonholonomic", MOTION)):
            table = self.entries.table(self.program_table, ("program", key))
            for name in table:
                self._declare_name(name, "constraint", ("program", key, name))
            found[key] = self._expressions(table, ("program", key), allowed)
        found["keep"] = self._kept()
        found["controls"] = self._directions(self.program_table, ("program", "controls"), "control")
        found["limits"] = self._limits()
        efforts = self.entries.table(self.program_table, ("program", "effort"))
        found["effort"] = self._expressions(efforts, ("program", "effort"), CONSTANT)
        model = self.entries.table(self.program_table, ("program", "model"))
        found["model"] = self._expressions(model, ("program", "model"), CONSTANT)
        found["sampling"] = read_sampling(self.program_table, self.entries)
        found["reactions"] = tuple(self.entries.listed_names(self.program_table, ("program", "reactions")))
        found["redundant"] = self.entries.text(self.program_table, ("program", "redundant"), "") or None
        try:
            Program(**found)
        except BadStatement as error:
            self.entries.findings.blame_where(error)
        return found

    def _limits(self) -> dict[str, Any]:
        """Limits of controls: a number, or [low, high]."""
        found: dict[str, Any] = {}
        for name, value in self.entries.table(self.program_table, ("program", "limits")).items():
            path = ("program", "limits", name)
            if isinstance(value, list):
                found[name] = [self._expression(end, (*path, k), CONSTANT) for k, end in enumerate(value)]
            else:
                found[name] = self._expression(value, path, CONSTANT)
        return found

    def _kept(self) -> dict[str, sp.Expr | str]:
        """First integrals to be kept: expressions, or known by name."""
        found: dict[str, sp.Expr | str] = {}
        for name, value in self.entries.table(self.program_table, ("program", "keep")).items():
            path = ("program", "keep", name)
            self._declare_name(name, "constraint", path)
            self._declare(State, f"{VALUE}{name}", path)
            known = isinstance(value, str) and names_integral(value, self.names)
            found[name] = value if known else self._expression(value, path, MOTION)
        return found

    def law(self, program: Mapping[str, Any]) -> Law:
        """The law, judged against the constraints."""
        fast = tuple(name for name, e in program["keep"].items() if depends_on_rates(e, self.names))
        slow = tuple(name for name in program["keep"] if name not in fast)
        holonomic = (*program["holonomic"], *self._rows.holonomic, *slow)
        nonholonomic = (*program["nonholonomic"], *self._rows.nonholonomic, *fast)
        own = {*program["reactions"], *self._rows.names}
        held = [n for n in (*holonomic, *nonholonomic) if program["controls"] and n not in own]
        words = self._with_rates(holonomic, nonholonomic, held)
        law = read_law(
            self.program_table, self.entries, self.entries.expressions.with_names(words), bool(holonomic + nonholonomic)
        )
        try:
            degrees = stated_degrees(law, held, holonomic)
            law.form(Constraints(holonomic, nonholonomic, words, Frozen(degrees)))
        except BadStatement as error:
            if not self.entries.findings.any_within(("program", "law")):
                self.entries.findings.blame_where(error)
        return law

    def _with_rates(self, holonomic: tuple[str, ...], nonholonomic: tuple[str, ...], held: list[str]) -> Vocabulary:
        """The words of a law; those of constraints that controls hold may be of any order."""
        try:
            return self.names.with_deviations(holonomic, nonholonomic, dict.fromkeys(held, HIGHEST))
        except BadStatement:  # a name of the problem is among them
            return self.names.with_deviations(holonomic, nonholonomic)

    def lyapunov(self, program: Mapping[str, Any]) -> dict[str, Any]:
        words = self.names.with_deviations(program["holonomic"], program["nonholonomic"])
        return {"lyapunov": read_lyapunov(self.raw, self.entries, self.entries.expressions.with_names(words))}

    # ── the rest ──────────────────────────────────────────────────────────────────────────────────

    def start(self) -> dict[str, Any]:
        table = self.entries.table(self.raw, ("start",))
        known = "bodies" in self.raw  # quaternions and spins come several at a time
        several = {n: v for n, v in table.items() if known and n not in self.names and isinstance(v, (list, dict))}
        single = {name: value for name, value in table.items() if name not in several}
        for name in single:
            self._find(name, (Coordinate, Rate, State), ("start", name))
        found: dict[str, Any] = {n: read_together(value, ("start", n), self.entries) for n, value in several.items()}
        return found | self._expressions(single, ("start",), CONSTANT)

    def run(self) -> Run:
        """How to run; each setting is judged by itself."""
        table = plain(self.entries.table(self.raw, ("run",), known=RUN_KEYS))
        good = {}
        for key, value in table.items():
            if key not in RUN_KEYS:
                continue  # already noted
            try:
                Run(**{key: value})
                good[key] = value
            except BadStatement as error:
                self.note(("run", key), error.what, error.fix)
        return Run(**good)

    def labels(self) -> dict[str, Any]:
        """Title, expectation, and the tables that later parts read."""
        found: dict[str, Any] = {"title": self.entries.text(self.raw, ("title",), "")}
        found["expect"] = self.entries.text(self.raw, ("expect",), "positive")
        if found["expect"] not in ("positive", "negative"):
            self.note(("expect",), f"expect = {found['expect'][:40]!r} is not known", '"positive" or "negative"')
        for key in PLAIN_TABLES:
            table = plain(self.entries.table(self.raw, (key,), limit=100_000))
            found[key] = Frozen(table)
            self._check_plain(table, (key,))
        for key in ("region", "weights"):
            value = found["certificate"].get(key, {})
            if not isinstance(value, Mapping):
                self.note(("certificate", key), f"a table belongs here, not {kind_of(value)}", "e.g. { x = 1 }")
        for name, unit in found["units"].items():
            if not isinstance(unit, str):
                self.note(("units", name), f"a unit is a text, not {kind_of(unit)}", 'e.g. "kg"')
        return found

    def _check_plain(self, value: Any, path: Path) -> None:
        if isinstance(value, (dict, list)):
            for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
                self._check_plain(inner, (*path, key))
        elif isinstance(value, (int, float)) and not abs(value) < LARGEST_PLAIN:
            self.note(path, "this number is out of range", "numbers here are finite and below 1e300")
        elif not isinstance(value, (str, bool, int, float)):
            self.note(path, f"{kind_of(value)} cannot stand in a problem", "use numbers, texts, lists and tables")
