"""A program: what the motion must keep, who holds it, and by which law deviations die away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadStatement
from holdfast.problem.controller import Sampling, check_controller, shortfall
from holdfast.problem.keep import Kept, stated
from holdfast.problem.laws.linear import Constraints, Law, LawForm, Unstabilised
from holdfast.problem.quantities import Coordinate, Definition, State
from holdfast.problem.system import directions
from holdfast.problem.vocabulary import CONSTANT, MOTION, POSITION, Vocabulary, by_name, exact

Redundant = Literal["allow", "refuse"]
PUSHED = (Coordinate, State, Definition)  # what a control may act on


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Functions that the motion keeps at zero.

    `holonomic` functions f(q, t) and `nonholonomic` functions f(q, v, t) (linear or not in the rates) by name. They
    are held by ideal reactions unless `controls` are given: named directions {coordinate: component}. A component on
    a definition pushes along it, {leg: 1} for a force in a leg of that length, and one on a first-order state is added
    to its rate, {current: 1/L} for a voltage. In a mixed program,
    `reactions` names the constraints that keep their own reaction. Controls and reactions together are as many as the
    constraints; more controls share the work with the least effort Σ R u², whose weights R, `effort`, are 1 in
    the units of each control unless given by name. `limits` cut controls off: a number for both ways, or (low, high).
    `model` are parameters as the controller knows them, where they are not the plant's, `sampling` (`hf.Sampling`) says
    how often it measures.
    `keep` are first integrals kept at their start values, as rows `hf.keep(...)` are. Constraints that repeat each
    other wherever they hold are borne, and said: `redundant="allow"` asks for the solver that bears them in any case
    (through instants at which the rank changes too), "refuse" for an error that names every repeat.
    """

    holonomic: Frozen[sp.Expr] = Frozen()
    nonholonomic: Frozen[sp.Expr] = Frozen()
    keep: Frozen[Any] = Frozen()
    controls: Frozen[Frozen[sp.Expr]] = Frozen()
    reactions: tuple[str, ...] = ()
    effort: Frozen[sp.Expr] = Frozen()
    limits: Frozen[Any] = Frozen()  # of controls: (low, high), None where there is none
    law: Law = field(default_factory=Unstabilised)
    redundant: Redundant | None = None
    model: Frozen[sp.Expr] = Frozen()  # parameters, as the controller knows them
    sampling: Sampling | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("holonomic", "nonholonomic"):
            put(self, name, Frozen(by_name(getattr(self, name), where=f"program.{name}")))
        self._gather_kept()
        controls = by_name(self.controls, where="program.controls")
        directed = {name: by_name(given, where=f"program.controls.{name}") for name, given in controls.items()}
        put(self, "controls", Frozen({name: Frozen(components) for name, components in directed.items()}))
        put(self, "reactions", _names(self.reactions))
        put(self, "effort", Frozen(by_name(self.effort, where="program.effort")))
        limits = by_name(self.limits, where="program.limits")
        put(self, "limits", Frozen({name: _pair(given, name) for name, given in limits.items()}))
        put(self, "model", Frozen(by_name(self.model, where="program.model")))
        if not isinstance(self.law, Law):
            raise _not_a_law(self.law)
        check_controller(self)
        self._check_holders()
        self._check_redundant()

    def _gather_kept(self) -> None:
        """Rows `hf.keep(...)` go to those that are kept."""
        kept = by_name(self.keep, where="program.keep")
        for kind in ("holonomic", "nonholonomic"):
            rows = getattr(self, kind)
            found = {name: stated(row) for name, row in rows.items() if isinstance(row, Kept)}
            if found:
                kept |= found
                object.__setattr__(self, kind, Frozen({n: row for n, row in rows.items() if n not in found}))
        unwrapped = {name: stated(row) if isinstance(row, Kept) else row for name, row in kept.items()}
        object.__setattr__(self, "keep", Frozen(unwrapped))

    @property
    def constraints(self) -> tuple[str, ...]:
        """All constraints in the order of w: holonomic ones first."""
        return (*self.holonomic, *self.nonholonomic)

    def deviation_names(self, constraints: Iterable[str] | None = None) -> tuple[str, ...]:
        """y_ of the holonomic ones, then w_ of all: of some constraints, or of all if none are given."""
        chosen = set(self.constraints if constraints is None else constraints)
        positions = (f"y_{name}" for name in self.holonomic if name in chosen)
        return (*positions, *(f"w_{name}" for name in self.constraints if name in chosen))

    @property
    def held_by_reaction(self) -> tuple[str, ...]:
        """The constraints held by their own ideal reaction."""
        return self.reactions if self.controls else self.constraints

    def _check_holders(self) -> None:
        for name in set(self.holonomic) & set(self.nonholonomic):
            raise BadStatement(f"constraint {name!r} is given twice", where="program", fix="rename one of them")
        known = {*self.constraints, *self.keep}
        for name in self.reactions:
            if name not in known:
                raise BadStatement(
                    f"there is no constraint {name!r} to be held by a reaction",
                    where="program.reactions",
                    fix=did_you_mean(name, self.constraints, "constraints: " + ", ".join(self.constraints)),
                )
        if len(set(self.reactions)) < len(self.reactions):
            raise BadStatement("a constraint is named twice among the reactions", where="program.reactions")
        self._check_number()

    def _check_redundant(self) -> None:
        if self.redundant not in (None, "allow", "refuse"):
            raise BadStatement(
                f"redundant = {self.redundant!r} is not known", where="program.redundant", fix='"allow" or "refuse"'
            )
        if self.redundant == "allow" and self.controls:
            raise BadStatement(
                f"controls ({', '.join(self.controls)}) cannot hold constraints that may repeat each other",
                where="program.redundant",
                fix="let reactions hold them all, or remove the repeats",
            )

    def _check_number(self) -> None:
        """One holder per constraint, where holders are named at all."""
        if not self.controls and not self.reactions:
            return
        holders, constraints = len(self.controls) + len(self.reactions), len({*self.constraints, *self.keep})
        if holders < constraints and self.controls:
            return  # which of them is left over, the equations say
        if holders < constraints or (holders > constraints and len(self.reactions) >= constraints):
            counts = [counted(len(self.controls), "control"), counted(len(self.reactions), "reaction")]
            cure = "add a control, or name a constraint in reactions" if holders < constraints else "remove the others"
            raise BadStatement(
                f"{counted(constraints, 'constraint')} cannot be held by {' and '.join(counts)}",
                where="program.controls" if self.controls else "program.reactions",
                fix=f"give one holder per constraint: {cure}",
            )

    @property
    def lacks_holders(self) -> bool:
        """Whether there are fewer controls than they would have to hold."""
        return bool(self.controls) and len(self.controls) + len(self.reactions) < len(self.constraints)

    @property
    def shortfall(self) -> str:
        """Why the law is not always obeyed, in words; nothing where controls do what it asks for."""
        return shortfall(self)

    @property
    def shares_effort(self) -> bool:
        """Whether there are more controls than they have to hold."""
        return len(self.controls) + len(self.reactions) > len(self.constraints) and bool(self.controls)

    def _admitted_effort(self, names: Vocabulary) -> Frozen[sp.Expr]:
        found = {}
        for name, weight in self.effort.items():
            where = f"program.effort.{name}"
            if name not in self.controls:
                hint = did_you_mean(name, self.controls, "controls: " + ", ".join(self.controls))
                raise BadStatement(f"{name!r} is not a control", where=where, fix=hint)
            found[name] = names.admit(weight, CONSTANT, where=where)
            if found[name].is_number and not found[name].is_positive:
                raise BadStatement(f"the weight of {name!r} is not positive", where=where, fix="e.g. 1")
        return Frozen(found)

    def _admitted_limits(self, names: Vocabulary) -> Frozen[Any]:
        found = {}
        for name, pair in self.limits.items():
            where = f"program.limits.{name}"
            if name not in self.controls:
                hint = did_you_mean(name, self.controls, "controls: " + ", ".join(self.controls))
                raise BadStatement(f"{name!r} is not a control", where=where, fix=hint)
            low, high = (None if end is None else names.admit(end, CONSTANT, where=where) for end in pair)
            if low is not None and high is not None and (high - low).is_nonpositive:
                raise BadStatement(f"the limits of {name!r} leave nothing between them", where=where, fix="low, high")
            found[name] = (low, high)
        return Frozen(found)

    def admitted(self, names: Vocabulary) -> Program:
        """This program in the words of a problem, which learn its names; each expression is checked."""
        for kind in ("holonomic", "nonholonomic"):
            for name in getattr(self, kind):
                names.declare_name(name, "constraint", where=f"program.{kind}.{name}")
        for name in self.controls:
            names.declare_name(name, "control", where=f"program.controls.{name}")
        return Program(
            holonomic=Frozen(
                {n: names.admit(e, POSITION, where=f"program.holonomic.{n}") for n, e in self.holonomic.items()}
            ),
            nonholonomic=Frozen(
                {n: names.admit(e, MOTION, where=f"program.nonholonomic.{n}") for n, e in self.nonholonomic.items()}
            ),
            controls=Frozen(
                {n: directions(d, names, where=f"program.controls.{n}", kinds=PUSHED) for n, d in self.controls.items()}
            ),
            reactions=self.reactions,
            effort=self._admitted_effort(names),
            limits=self._admitted_limits(names),
            law=self.law,
            redundant=self.redundant,
            model=Frozen({n: names.admit(e, CONSTANT, where=f"program.model.{n}") for n, e in self.model.items()}),
            sampling=self.sampling,
            keep=Frozen(
                {
                    n: e if isinstance(e, str) else names.admit(e, MOTION, where=f"program.keep.{n}")
                    for n, e in self.keep.items()
                }
            ),
        )

    def law_form(self, names: Vocabulary, law: Law | None = None, degrees: Mapping[str, int] | None = None) -> LawForm:
        """The law (or another one for the same constraints) as equations.

        `degrees` are those of constraints above the usual. Before they are known, a constraint that controls hold has
        the one that the law states.
        """
        law, holonomic, nonholonomic = law or self.law, tuple(self.holonomic), tuple(self.nonholonomic)
        if degrees is None:
            reacting = {*self.held_by_reaction}
            held = [name for name in self.constraints if name not in reacting]
            degrees = stated_degrees(law, held, holonomic)
        words = names.with_deviations(holonomic, nonholonomic, degrees)
        return law.form(Constraints(holonomic, nonholonomic, words, Frozen(degrees)))


def stated_degrees(law: Law, held: Iterable[str], holonomic: Collection[str]) -> dict[str, int]:
    """The degrees above the usual that a law itself gives to constraints which controls hold."""
    stated = {name: law.stated_degree(name, name in holonomic) for name in held}
    return {name: degree for name, degree in stated.items() if degree > (2 if name in holonomic else 1)}


def _not_a_law(given: Any) -> BadStatement:
    if isinstance(given, type) and issubclass(given, Law):  # the class in the place of a law
        what, fix = f"{given.__name__} is a kind of law, not yet a law", f"write hf.{given.__name__}(...)"
    else:
        what, fix = f"{given!r} is not a law", "e.g. hf.critically_damped(5), or hf.Tuned()"
    return BadStatement(what, where="program.law", fix=fix)


def counted(number: int, word: str) -> str:
    """A number with its word, in the plural where there is not just one."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _pair(given: Any, name: str) -> tuple[Any, Any]:
    """(low, high) of a limit: one number means as much either way."""
    if isinstance(given, (list, tuple)):
        if len(given) != 2 or all(end is None for end in given):
            fix = "give (low, high), or one number for both ways"
            raise BadStatement(f"the limits of {name!r} are no pair", where=f"program.limits.{name}", fix=fix)
        return given[0], given[1]
    high = exact(given, where=f"program.limits.{name}")
    return -high, high


def _names(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise BadStatement(f"{given!r} is not a list of names", where="program.reactions", fix='e.g. ("rod",)')
    return tuple(given)
