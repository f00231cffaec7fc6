"""A system by its energies: what moves, and what drives it apart from the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.bodies.body import Body
from holdfast.problem.bodies.joints import Joint
from holdfast.problem.bodies.moments import check_moments
from holdfast.problem.bodies.rows import JointRows, joint_rows
from holdfast.problem.bodies.statement import (
    NORM_RATE,
    PLACINGS,
    BodyFrames,
    body_frames,
    constant_names,
    named_bodies,
    produced_names,
    quaternion_rates,
)
from holdfast.problem.functions import FunctionValue, StatedFunction
from holdfast.problem.letters import letters_in
from holdfast.problem.masses.moving_mass import MovingMass
from holdfast.problem.quantities import Control, Coordinate, Multiplier, Parameter, State
from holdfast.problem.stated_functions import stated_functions
from holdfast.problem.vocabulary import CONSTANT, FORCE, MOTION, POSITION, STATE_RATE, Kinds, Vocabulary, by_name, exact


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Coordinates and energies.

        d/dt ∂T/∂v − ∂T/∂q = −∂P/∂q − ∂D/∂v + Q + held forces

    where T(q, v, t) is the `kinetic` co-energy (any form, not only quadratic), P(q, t) the `potential`, D(q, v, t) the
    `dissipation` function and Q the other `forces` by coordinate; D and Q may use multipliers of the program, as
    friction does. `masses` are points whose mass may change (`MovingMass`), beside those of T. `states` are first-order
    quantities with their stated rates, which may use the values of controls, `noise` the channels of Itô forcing
    (channel -> coordinate -> intensity), `definitions` named helper expressions in order, `points` named positions for
    pictures. Keys are symbols or names.

    `bodies` and `joints` state a mechanism as engineers see it, with `gravity` acting on all bodies: they give
    coordinates, definitions and points of their own, which everything else may use. The coordinates are those of
    joints, or with `placing="absolute"` those of bodies, each of which is then free, with rows for every joint.
    Quaternions may have any length; with a `norm_rate` κ it returns to 1 (keep κ times the step well below 1).

    A parameter without a value (left out, or None) is a letter of the equations, and so is a function of `functions`
    without an expression or data; `letters` lists the former.
    """

    coordinates: tuple[Coordinate, ...] = ()
    kinetic: sp.Expr = sp.S.Zero
    potential: sp.Expr = sp.S.Zero
    dissipation: sp.Expr = sp.S.Zero
    forces: Frozen[sp.Expr] = Frozen()
    masses: Frozen[MovingMass] = Frozen()
    parameters: Frozen[sp.Expr] = Frozen()
    states: Frozen[sp.Expr] = Frozen()
    noise: Frozen[Frozen[sp.Expr]] = Frozen()
    definitions: Frozen[sp.Expr] = Frozen()
    points: Frozen[tuple[sp.Expr, ...]] = Frozen()
    functions: Frozen[StatedFunction] = Frozen()
    letters: tuple[Parameter, ...] = ()
    bodies: Frozen[Body] = Frozen()
    joints: Frozen[Joint] = Frozen()
    gravity: tuple[sp.Expr, ...] = ()
    placing: str = "relative"
    norm_rate: sp.Expr = NORM_RATE
    produced: frozenset[str] = field(
        repr=False, compare=False, default=frozenset()
    )  # names that bodies and joints give
    frames: BodyFrames | None = field(init=False, repr=False, compare=False, default=None)
    rows: JointRows | None = field(init=False, repr=False, compare=False, default=None)
    vocabulary: Vocabulary = field(init=False, repr=False, compare=False, default_factory=Vocabulary)

    def __post_init__(self) -> None:
        names = self.vocabulary
        put = object.__setattr__
        self._forget_produced()
        self._declare(names)
        rates = {name: names.admit(e, STATE_RATE, where=f"system.states.{name}") for name, e in self.states.items()}
        put(self, "states", Frozen(rates))
        for name, rate in rates.items():
            names.declare_rate(name, rate)
        put(self, "kinetic", names.admit(self.kinetic, MOTION, where="system.kinetic"))
        put(self, "potential", names.admit(self.potential, POSITION, where="system.potential"))
        put(self, "dissipation", names.admit(self.dissipation, FORCE, where="system.dissipation"))
        put(self, "forces", directions(self.forces, names, where="system.forces", allowed=FORCE))
        put(self, "masses", self._masses())
        put(self, "noise", self._noise())
        names.closed()

    def _forget_produced(self) -> None:
        """Leave what earlier bodies gave: those that are stated now give it anew."""
        put, gone = object.__setattr__, self.produced
        bodies, joints = named_bodies(self.bodies, self.joints)
        put(self, "bodies", bodies)
        put(self, "joints", joints)
        if self.placing not in PLACINGS:
            fix = " or ".join(map(repr, PLACINGS))
            raise BadStatement(f"placing = {self.placing!r} is not known", where="system.placing", fix=fix)
        if gone:
            put(self, "coordinates", tuple(c for c in self.coordinates if c.name not in gone))
            for key in ("states", "definitions", "points"):
                put(self, key, Frozen({name: v for name, v in getattr(self, key).items() if name not in gone}))

    def _declare(self, names: Vocabulary) -> None:
        """Coordinates, parameters, states, definitions, bodies and points take their names, in this order."""
        put = object.__setattr__
        put(self, "coordinates", tuple(_coordinate(c) for c in _listed(self.coordinates)))
        if not self.coordinates and not self.bodies:
            fix = "write hf.System(coordinates=..., ...), or state bodies"
            raise BadStatement(
                "System needs 'coordinates', at least one coordinate", where="system.coordinates", fix=fix
            )
        for coordinate in self.coordinates:
            names.declare(coordinate, where="system.coordinates")
        self._define_dependent()
        parameters, functions = self._occurring()
        values = self._values(parameters)
        for name in values:
            names.declare(Parameter(name), where=f"parameters.{name}")
        put(self, "parameters", Frozen({name: _constant(value, name) for name, value in values.items()}))
        for letter in self.letters:
            names.declare(letter, where=f"parameters.{letter.name}")
        put(self, "states", Frozen(by_name(self.states, where="system.states")))
        for name in self.states:
            names.declare(State(name), where=f"system.states.{name}")
        for name in self.announced_controls:
            names.declare(Control(name), where="system.states")
        for name in self.announced_multipliers:
            names.announce(Multiplier(name))
        put(self, "functions", stated_functions(self.functions, functions, names))
        definitions, points = by_name(self.definitions, where="definitions"), by_name(self.points, where="points")
        put(self, "definitions", Frozen())
        put(self, "points", Frozen())
        if self.bodies:
            fixed = constant_names({**definitions, **points}, {*self.parameters, *(x.name for x in self.letters)})
            self._define({name: value for name, value in definitions.items() if name in fixed})
            self._place({name: value for name, value in points.items() if name in fixed})
            definitions = {name: value for name, value in definitions.items() if name not in fixed}
            points = {name: value for name, value in points.items() if name not in fixed}
            self._take_bodies(names)
        self._define(definitions)
        self._place(points)

    def _take_bodies(self, names: Vocabulary) -> None:
        """Bodies and joints give their coordinates, quaternions, definitions and points."""
        put = object.__setattr__
        put(self, "norm_rate", names.admit(self.norm_rate, CONSTANT, where="system.norm_rate"))
        made = body_frames(self.bodies, self.joints, self.gravity, self.points, names, self.placing)
        check_moments(made.bodies, self.parameters)
        layout = made.layout
        if not self.coordinates and not layout.coordinates:
            raise BadStatement("no body can move", where="joints", fix="state a joint that is no weld")
        put(self, "bodies", made.bodies)
        put(self, "joints", made.joints)
        put(self, "gravity", made.gravity)
        put(self, "coordinates", (*self.coordinates, *(Coordinate(name) for name in layout.coordinates)))
        put(self, "states", Frozen({**self.states, **quaternion_rates(layout, self.norm_rate)}))
        put(self, "definitions", Frozen({**self.definitions, **made.frames.definitions}))
        put(self, "points", Frozen({**self.points, **made.frames.points}))
        put(self, "produced", produced_names(made))
        put(self, "frames", made)
        put(self, "rows", joint_rows(made, self.points, self.definitions, self.parameters))

    def _define(self, stated: Mapping[str, Any]) -> None:
        names, definitions = self.vocabulary, dict(self.definitions)
        for name, value in stated.items():
            definitions[name] = names.admit(value, FORCE, where=f"definitions.{name}")
            names.define(name, definitions[name], where=f"definitions.{name}")
        object.__setattr__(self, "definitions", Frozen(definitions))

    def _define_dependent(self) -> None:
        """Parameters that are stated by others, such as J = m l²/12, are definitions: they follow those."""
        given = by_name(self.parameters, where="parameters")
        dependent = {name: v for name, v in given.items() if isinstance(v, sp.Expr) and v.free_symbols}
        for name, value in dependent.items():
            moving = sorted(s.name for s in value.free_symbols if s.name not in given and not isinstance(s, Parameter))
            if moving:
                what = f"the value of parameter {name!r} is not a number: it depends on {moving[0]!r}"
                raise BadStatement(what, where=f"parameters.{name}", fix="state it as a definition, or by parameters")
        if dependent:
            own = by_name(self.definitions, where="definitions")
            twice = next((name for name in dependent if name in own), None)
            if twice is not None:
                raise BadStatement(f"{twice!r} is given twice", where=f"parameters.{twice}", fix="keep one of the two")
            rest = {name: value for name, value in given.items() if name not in dependent}
            object.__setattr__(self, "parameters", Frozen(rest))
            object.__setattr__(self, "definitions", Frozen({**_in_order(dependent), **own}))

    def _occurring(self) -> tuple[dict[str, Parameter], dict[str, FunctionValue]]:
        """The parameters and functions that its expressions use."""
        return letters_in(
            self.kinetic, self.potential, self.dissipation, self.forces, self.masses, self.parameters, self.states,
            self.noise, self.definitions, self.points, self.functions, self.letters,
            self.bodies, self.joints, self.gravity, self.norm_rate,
        )  # fmt: skip

    def _values(self, occurring: Mapping[str, Parameter]) -> dict[str, Any]:
        """The parameters that have a value; the others become letters."""
        given = by_name(self.parameters, where="parameters")
        values = {name: value for name, value in given.items() if value is not None}
        own = {c.name for c in self.coordinates} | {*by_name(self.states, where="system.states")}
        own |= {*by_name(self.definitions, where="definitions")}
        listed = [name for name in (*given, *occurring) if name not in values and name not in own]
        letters = tuple(occurring.get(name, Parameter(name)) for name in dict.fromkeys(listed))
        object.__setattr__(self, "letters", letters)
        return values

    @property
    def spun(self) -> frozenset[str]:
        """The coordinates of ball joints, whose rates are spins: nothing depends on their values."""
        balls = () if self.frames is None else self.frames.layout.balls
        return frozenset(name for step in balls for name in step.coordinates)

    @property
    def open_functions(self) -> tuple[FunctionValue, ...]:
        """The functions that have neither an expression nor data."""
        return tuple(stated.at(name) for name, stated in self.functions.items() if stated.value is None)

    @property
    def open_letters(self) -> tuple[str, ...]:
        """All that has no value yet, by name: parameters, then functions."""
        return (*(letter.name for letter in self.letters), *(f.name for f in self.open_functions))

    @property
    def announced_controls(self) -> tuple[str, ...]:
        """The controls of the program to come whose values the rates of states use."""
        rates = [rate for rate in self.states.values() if isinstance(rate, sp.Expr)]
        return tuple(sorted({s.name for rate in rates for s in rate.atoms(Control)}))

    @property
    def announced_multipliers(self) -> tuple[str, ...]:
        """The multipliers of the program to come that forces and losses use, as ``lambda_rod``."""
        stated = (self.dissipation, *dict(self.forces).values(), *dict(self.definitions).values())
        symbols = {s.name for part in stated if isinstance(part, sp.Expr) for s in part.free_symbols}
        return tuple(sorted(name for name in symbols if name.startswith("lambda_")))

    def _masses(self) -> Frozen[MovingMass]:
        found = {}
        for name, mass in by_name(self.masses, where="system.masses").items():
            where = f"system.masses.{name}"
            self.vocabulary.declare_name(name, "mass", where=where)
            if not isinstance(mass, MovingMass):
                raise BadStatement(f"{mass!r} is not a MovingMass", where=where, fix="hf.MovingMass(position=, mass=)")
            found[name] = mass.admitted(self.vocabulary, where)
        return Frozen(found)

    def _place(self, stated: Mapping[str, Any]) -> None:
        names, points = self.vocabulary, dict(self.points)
        for name, position in stated.items():
            where = f"points.{name}"
            names.declare_name(name, "point", where=where)
            if isinstance(position, str) or not isinstance(position, Iterable) or len(tuple(position)) not in (2, 3):
                raise BadStatement("a point has two or three components", where=where, fix="write (x, y) or (x, y, z)")
            points[name] = tuple(names.admit(part, POSITION, where=where) for part in position)
            names.add_point(name, points[name])
        object.__setattr__(self, "points", Frozen(points))

    def _directions(self, given: Mapping[Any, Any], where: str) -> Frozen[sp.Expr]:
        """Components by coordinate, such as a force or a control direction."""
        return directions(given, self.vocabulary, where=where)

    def _noise(self) -> Frozen[Frozen[sp.Expr]]:
        channels = by_name(self.noise, where="system.noise")
        for name in channels:
            self.vocabulary.declare_name(name, "noise channel", where=f"system.noise.{name}")
        return Frozen({name: self._directions(value, f"system.noise.{name}") for name, value in channels.items()})


def directions(
    given: Mapping[Any, Any],
    names: Vocabulary,
    *,
    where: str,
    kinds: Kinds = (Coordinate,),
    allowed: Kinds = MOTION,
) -> Frozen[sp.Expr]:
    """Components by coordinate, checked: who pushes which coordinate, and how much; a control may push states too."""
    components = {}
    for name, value in by_name(given, where=where).items():
        pushed = names.find(name, kinds, where=where)
        components[pushed.name] = names.admit(value, allowed, where=f"{where}.{name}")
    return Frozen(components)


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def _coordinate(given: Any) -> Coordinate:
    if isinstance(given, (Coordinate, sp.Symbol)):
        return Coordinate(given.name)
    raise BadStatement(
        f"{given!r} is not a coordinate", where="system.coordinates", fix='make coordinates by hf.coordinates("x phi")'
    )


def _in_order(stated: Mapping[str, sp.Expr]) -> dict[str, sp.Expr]:
    """Expressions by name, each after those that it uses."""
    found: dict[str, sp.Expr] = {}
    waiting = dict(stated)
    while waiting:
        ready = [n for n, e in waiting.items() if not {s.name for s in e.free_symbols} & set(waiting)]
        if not ready:
            names = " and ".join(map(repr, waiting))
            what = (
                f"the parameters {names} need each other" if len(waiting) > 1 else f"the parameter {names} needs itself"
            )
            raise BadStatement(what, where=f"parameters.{next(iter(waiting))}", fix="give one of them a number")
        found |= {name: waiting.pop(name) for name in ready}
    return found


def _constant(value: Any, name: str) -> sp.Expr:
    where = f"parameters.{name}"
    number = exact(value, where=where)
    if number.free_symbols:
        raise BadStatement(f"the value of parameter {name!r} is not a number", where=where, fix="give a number")
    if not sp.N(number).is_real:
        raise BadStatement(
            f"the value of parameter {name!r} is not real: {number}", where=where, fix="give a real number"
        )
    return Vocabulary().admit(number, CONSTANT, where=where)
