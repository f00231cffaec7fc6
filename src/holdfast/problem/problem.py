"""A stated problem: a system, its program, a start, and how to run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.common.memo import Memo
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement, HoldfastError
from holdfast.problem.bodies.rows import with_joint_rows
from holdfast.problem.bodies.start import with_body_start
from holdfast.problem.controller import with_controller
from holdfast.problem.functions import StatedFunction
from holdfast.problem.keep import with_kept_rows
from holdfast.problem.laws.linear import Law, LawForm
from holdfast.problem.letters import letters_in
from holdfast.problem.phases import Event, Phase, checked_events, checked_output, checked_phases
from holdfast.problem.program import Program
from holdfast.problem.quantities import Control, Coordinate, Parameter, Rate, State
from holdfast.problem.run import Run
from holdfast.problem.system import System
from holdfast.problem.text.file_text import FileText
from holdfast.problem.units.check import check_units
from holdfast.problem.vocabulary import CONSTANT, LAW, MOTION, Vocabulary, by_name

LYAPUNOV_KEYS = ("function", "region", "epsilon", "alpha", "curvature", "effort")  # of the table [lyapunov]


@clear_arguments
@dataclass(frozen=True, slots=True)
class Problem:
    """Everything a user states, checked as a whole. Start values that are not given are 0; they may depend on
    parameters.
    """

    system: System
    program: Program = field(default_factory=Program)
    start: Frozen[sp.Expr] = field(default_factory=Frozen, kw_only=True)
    run: Run = field(default_factory=Run, kw_only=True)
    title: str = field(default="", kw_only=True)
    certificate: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    lyapunov: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    ensemble: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    units: Frozen[str] = field(default_factory=Frozen, kw_only=True)
    animation: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    family: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    expect: str = field(default="positive", kw_only=True)
    events: Frozen[Event] = field(default_factory=Frozen, kw_only=True)
    phases: Frozen[Phase] = field(default_factory=Frozen, kw_only=True)
    output: Frozen[Any] = field(default_factory=Frozen, kw_only=True)
    source: FileText | None = field(default=None, kw_only=True, repr=False, compare=False)  # where it was read
    names: Vocabulary = field(init=False, repr=False, compare=False, default_factory=Vocabulary)
    memo: Memo = field(init=False, repr=False, compare=False, default_factory=Memo)
    law_form: LawForm = field(init=False, repr=False, compare=False, default_factory=lambda: LawForm(Frozen()))

    def __post_init__(self) -> None:
        if not isinstance(self.system, System) or not isinstance(self.program, Program):
            raise BadStatement("a problem is made of a System and a Program", fix="hf.Problem(system, program)")
        put = object.__setattr__
        system, program = with_kept_rows(self.system, with_joint_rows(self.system, self.program))
        put(self, "system", with_controller(system, program))
        put(self, "program", program)
        put(self, "system", self._with_letters())
        names = self.system.vocabulary.copy()
        put(self, "program", self.program.admitted(names))
        put(self, "names", names.closed())
        self._check_controls()
        self._check_multipliers()
        put(self, "law_form", self.program.law_form(self.names))
        put(self, "start", self._start(self.start))
        if not isinstance(self.run, Run):
            raise BadStatement(f"{self.run!r} is not a Run", where="run", fix="hf.Run(scheme=..., step=...)")
        if not isinstance(self.title, str):
            raise BadStatement(f"{self.title!r} is not a title", where="title", fix="give a text")
        if self.expect not in ("positive", "negative"):
            raise BadStatement(f"expect = {self.expect!r}", where="expect", fix='"positive" or "negative"')
        for name in ("certificate", "ensemble", "units", "animation"):
            put(self, name, frozen_table(getattr(self, name), where=name))
        put(self, "lyapunov", self._lyapunov(self.lyapunov))
        put(self, "family", self._family(self.family, "family"))
        put(self, "events", checked_events(self.events))
        put(self, "phases", checked_phases(self.phases))
        put(self, "output", checked_output(self.output, self.names.names))
        check_units(self)
        for name in self.phases:
            self.in_phase(name)

    def in_phase(self, name: str) -> Problem:
        """The problem of one phase: the same system under the phase's program."""
        phase = self.phases[name]

        def made() -> Problem:
            try:
                return replace(self, program=phase.program or self.program, phases=Frozen(), lyapunov=Frozen())
            except BadStatement as error:
                where = f"phases.{name}.{error.where}".replace(".program.", ".")
                raise BadStatement(error.what, where=where, fix=error.fix) from None

        return self.memo.once((Problem.in_phase, name), made)

    def _lyapunov(self, given: Mapping[str, Any]) -> Frozen[Any]:
        """The table [lyapunov]: its function in declared symbols, everything else plain."""
        rest = frozen_table({k: v for k, v in dict(given).items() if k != "function"}, where="lyapunov")
        for key in given:
            if key not in LYAPUNOV_KEYS:
                hint = did_you_mean(key, LYAPUNOV_KEYS, "keys: " + ", ".join(LYAPUNOV_KEYS))
                raise BadStatement(f"unknown key {key!r}", where=f"lyapunov.{key}", fix=hint)
        if "function" not in given:
            return Frozen(rest)
        words = self.names.with_deviations(self.program.holonomic, self.program.nonholonomic)
        return Frozen({"function": words.admit(given["function"], LAW, where="lyapunov.function"), **rest})

    def _family(self, given: Any, where: str) -> Any:
        """The member that `holdfast family` shall choose: expressions, and tables and lists of them."""
        if isinstance(given, Mapping):
            named = by_name(given, where=where)
            return Frozen({key: self._family(value, f"{where}.{key}") for key, value in named.items()})
        if isinstance(given, (list, tuple)):
            return tuple(self._family(inner, where) for inner in given)
        return given if isinstance(given, str) else self.names.admit(given, MOTION, where=where)

    def _with_letters(self) -> System:
        """The system, which also knows the letters that only the program, its law or the start use."""
        system, known = self.system, self.system.vocabulary
        parameters, functions = letters_in(self.program, self.start, self.family)
        letters = tuple(letter for name, letter in parameters.items() if name not in known)
        more = {name: None for name in functions if name not in known}
        if not letters and not more:
            return system
        stated = dict(system.functions) | {name: StatedFunction(functions[name].of) for name in more}
        return replace(system, letters=(*system.letters, *letters), functions=Frozen(stated))

    @property
    def open_letters(self) -> tuple[str, ...]:
        """Parameters and functions without a value: what a run will ask for."""
        return self.system.open_letters

    def with_values(self, values: Mapping[Any, Any]) -> Problem:
        """The same problem with values for some of its letters: numbers for parameters; numbers, expressions or data
        for functions. Values that are stated already are replaced.
        """
        system = self.system
        parameters: dict[str, Any] = dict(system.parameters)
        stated: dict[str, Any] = dict(system.functions)
        for name, value in by_name(values, where="values").items():
            if name in stated:
                stated[name] = replace(stated[name], value=value)
            else:
                self.names.find(name, (Parameter,), where="values")
                parameters[name] = value
        letters = tuple(letter for letter in system.letters if parameters.get(letter.name) is None)
        system = replace(system, parameters=Frozen(parameters), functions=Frozen(stated), letters=letters)
        return replace(self, system=system)

    def _start(self, given: Mapping[Any, Any]) -> Frozen[sp.Expr]:
        names, values = self.names, {}
        for name, value in with_body_start(self.system, by_name(given, where="start")).items():
            symbol = names.find(name, (Coordinate, Rate, State), where=f"start.{name}")
            values[symbol.name] = names.admit(value, CONSTANT, where=f"start.{name}")
        return Frozen(values)

    def _check_controls(self) -> None:
        """States and masses speak of controls before there is a program: here they meet it."""
        known = tuple(self.program.controls)
        used = {name: "system.states" for name in self.system.announced_controls}
        for mass, point in self.system.masses.items():
            used |= {name: f"system.masses.{mass}.thrust" for name in point.thrust if name}
        for name, where in used.items():
            if name not in known:
                listed = "controls: " + ", ".join(known) if known else "name it in the program's controls"
                fix = did_you_mean(name, known, listed)
                raise BadStatement(f"{name!r} is not a control of the program", where=where, fix=fix)
        for name in self.program.sampling.noise if self.program.sampling is not None else ():
            self.names.find(name, (Coordinate, Rate, State), where=f"program.sampling.noise.{name}")
        for name, direction in self.program.controls.items():
            if not direction and name not in self.system.announced_controls:
                what = f"control {name!r} acts on no coordinate, and on no state"
                raise BadStatement(what, where=f"program.controls.{name}", fix=f'e.g. {name} = {{ x = "1" }}')

    @property
    def state_rates(self) -> dict[str, sp.Expr]:
        """The rates of first-order states by name, with what controls add to them."""
        found = dict(self.system.states)
        for name, direction in self.program.controls.items():
            for state, component in direction.items():
                if state in found:
                    found[state] = found[state] + component * Control(name)
        return found

    @property
    def controls_through_states(self) -> tuple[str, ...]:
        """The controls that the rates of states contain."""
        return tuple(sorted({s.name for rate in self.state_rates.values() for s in rate.atoms(Control)}))

    def _check_multipliers(self) -> None:
        """Forces speak of reactions before there is a program: here they meet it."""
        held = {f"lambda_{name}": name for name in self.program.held_by_reaction}
        for name in self.system.announced_multipliers:
            if name in held:
                continue
            if name.removeprefix("lambda_") in self.program.constraints:
                what, fix = f"{name!r} is no reaction: controls hold its constraint", "name it in reactions"
            else:
                what = f"{name!r} is the multiplier of no constraint"
                fix = did_you_mean(name, held, "multipliers: " + ", ".join(held) if held else "state its constraint")
            raise BadStatement(what, where="system.forces", fix=fix)

    def __reduce__(self) -> tuple[Any, ...]:
        """Through its text where it has one, which other versions read too; else by its parts."""
        from holdfast.problem.file.load_dump import dumps, loads

        try:
            return loads, (dumps(self), "the pickled problem")
        except HoldfastError:
            parts = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}
            return _of_parts, (parts,)

    def with_law(self, law: Law) -> Problem:
        """The same problem under another law."""
        return replace(self, program=replace(self.program, law=law))


def _of_parts(parts: dict[str, Any]) -> Problem:
    return Problem(**parts)


def frozen_table(value: Any, *, where: str) -> Any:
    """A table of plain values (as in a problem file) that cannot change; anything else is refused."""
    if isinstance(value, Mapping):
        return Frozen({str(key): frozen_table(inner, where=f"{where}.{key}") for key, inner in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(frozen_table(inner, where=where) for inner in value)
    if isinstance(value, (str, bool, int, float)):
        return value
    raise BadStatement(f"{value!r} cannot stand in a problem", where=where, fix="use numbers, texts, lists and tables")
