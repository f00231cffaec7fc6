"""The problem text, read anew: what moves, what is kept, who holds it, and by which law.

Only what a certificate speaks of is read: [system], [functions], [definitions], [points], [parameters], [program] and
[start].
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from holdfast.stability.verifier.numbers.dag import Dag, Node, inputs_of
from holdfast.stability.verifier.numbers.pieces import Data, Pieces
from holdfast.stability.verifier.reading.bodies import BodyReader
from holdfast.stability.verifier.reading.data import stated_data
from holdfast.stability.verifier.reading.spins import Moving, along_rates
from holdfast.stability.verifier.reading.text import Expression, Value
from holdfast.stability.verifier.refusal import Refused, require

LARGEST = 1_000_000  # characters of a problem text
READ = frozenset("schema title system bodies joints definitions points parameters functions program start".split())
ASIDE = frozenset(  # what says nothing of the equations: a table that is in neither is not passed over
    "expect events phases output family run lyapunov certificate ensemble units animation".split()
)
REACTION = "lambda_"  # begins the name of a multiplier


@dataclass(eq=False)
class Statement:
    """A problem, as nodes over the inputs t, q, q_dot, states, parameters and (in the law) y_*, w_*, law.*."""

    dag: Dag
    title: str = ""
    coordinates: list[str] = field(default_factory=list)
    states: dict[str, Node] = field(default_factory=dict)
    kinetic: Node | None = None
    potential: Node | None = None
    dissipation: Node | None = None
    forces: dict[str, Node] = field(default_factory=dict)
    variable_masses: bool = False
    parameters: dict[str, Node] = field(default_factory=dict)
    holonomic: dict[str, Node] = field(default_factory=dict)
    nonholonomic: dict[str, Node] = field(default_factory=dict)
    controls: dict[str, dict[str, Node]] = field(default_factory=dict)
    limits: dict[str, list[Node]] = field(default_factory=dict)  # of controls: low and high
    reactions: list[str] = field(default_factory=list)
    law: Mapping[str, Any] = field(default_factory=dict)
    start: dict[str, Node] = field(default_factory=dict)
    names: dict[str, Value] = field(default_factory=dict)
    moving: list[Moving] = field(default_factory=list)  # bodies
    quaternions: dict[str, Node] = field(default_factory=dict)  # of `states`, by their rates
    own_kinetic: bool = False  # beside that of bodies
    data: dict[str, Data] = field(default_factory=dict)  # functions that are given by it
    noise: dict[str, dict[str, Node]] = field(default_factory=dict)  # intensities by channel and coordinate
    phased: bool = False  # programs follow one another in its run

    @property
    def constraints(self) -> list[str]:
        return [*self.holonomic, *self.nonholonomic]

    @property
    def state_names(self) -> list[str]:
        return [*self.coordinates, *(f"{name}_dot" for name in self.coordinates), *self.states]

    def take(self, pieces: Mapping[str, Pieces]) -> None:
        """The pieces by which data are run."""
        require(set(pieces) <= set(self.data), "the code reads data that the problem does not have")
        for name, found in pieces.items():
            self.data[name].take(found)

    def rate(self, node: Node) -> Node:
        """The total time derivative; rates of rates are inputs called x_ddot."""
        dag = self.dag
        require(not reactions_in([node]), "the problem text cannot be read: the rate of a reaction is asked for")
        along = {dag.input("t"): dag.one}
        for name in self.coordinates:
            along[dag.input(name)] = dag.input(f"{name}_dot")
            along[dag.input(f"{name}_dot")] = dag.input(f"{name}_ddot")
        along |= {dag.input(name): rate for name, rate in self.states.items()}
        return dag.derivatives([node], along)[0]

    def read(self, value: Any, where: str, more: Mapping[str, Value] | None = None) -> Value:
        """A number, an expression in quotes, or a list of them."""
        if isinstance(value, list):
            return tuple(self.scalar(part, where) for part in value)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise Refused(f"the problem text cannot be read: {where} is no expression")
        names = self.names if more is None else {**self.names, **more}
        return Expression(value if isinstance(value, str) else repr(value), self.dag, names, self.rate, where).value()

    def scalar(self, value: Any, where: str, more: Mapping[str, Value] | None = None) -> Node:
        found = self.read(value, where, more)
        require(not isinstance(found, tuple), f"the problem text cannot be read: {where} is a vector")
        assert isinstance(found, Node)
        return found


def statement(text: str) -> Statement:
    """The statement in a problem text."""
    require(0 < len(text) <= LARGEST, "the certificate holds no problem text, or one that is too long")
    try:
        data = tomllib.loads(text, parse_float=lambda digits: digits.replace("_", ""))  # as its decimal: exact
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Refused(f"the problem text is not TOML: {str(error)[:80]}") from None
    require(data.get("schema") == 1, "the problem text is not of schema 1")
    strange = sorted(set(data) - READ - ASIDE)
    require(
        not strange, f"the problem text cannot be read: [{', '.join(strange)}] may add to it, and is not known here"
    )
    made = Statement(Dag(), str(data.get("title", "")), phased="phases" in data)
    dag, system, program = made.dag, _table(data, "system"), _table(data, "program")
    stated_by_bodies = bool({"bodies", "joints"} & set(data))
    made.coordinates = _names(system.get("coordinates", [] if stated_by_bodies else None), "system.coordinates")
    require(bool(made.coordinates) or stated_by_bodies, "the problem text cannot be read: it has no coordinates")
    for name in ("t", *made.coordinates, *(f"{name}_dot" for name in made.coordinates), *_table(system, "states")):
        require(name not in made.names, f"the problem text cannot be read: {name!r} is named twice")
        made.names[name] = dag.input(name)
    for name, value in _table(data, "parameters").items():
        require(name not in made.names, f"the problem text cannot be read: {name!r} is named twice")
        made.parameters[name] = made.scalar(value, f"parameters.{name}")
    made.names |= {name: dag.input(name) for name in made.parameters}
    made.names |= {name: dag.input(name) for name in _reactions(program) if name not in made.names}
    _read_functions(made, data)
    bodies = _read_bodies(made, data) if stated_by_bodies else None
    _read_definitions(made, data)
    _read_system(made, system, program)
    if bodies is not None:
        kinetic, potential = bodies.energies()
        assert made.kinetic is not None
        made.own_kinetic = made.kinetic is not dag.zero
        assert made.potential is not None
        made.kinetic, made.potential = dag.add(made.kinetic, kinetic), dag.add(made.potential, potential)
    _read_program(made, program, bodies)
    made.start = {name: made.scalar(value, f"start.{name}") for name, value in _table(data, "start").items()}
    return made


def reactions_in(nodes: Iterable[Node]) -> list[str]:
    """The multipliers that nodes use, lambda_NAME."""
    return sorted(name for name in inputs_of(nodes) if name.startswith(REACTION))


def _reactions(program: Mapping[str, Any]) -> list[str]:
    """The multipliers that forces may use: of constraints of the text that their own reactions hold."""
    stated = [*_table(program, "holonomic"), *_table(program, "nonholonomic")]
    held = program.get("reactions", []) if _table(program, "controls") else stated
    return [f"{REACTION}{name}" for name in stated if name in held]


def _read_functions(made: Statement, data: Mapping[str, Any]) -> None:
    """Functions by their expressions; one of time is known with its two rates, as the text may write them."""
    known, found = dict(made.names), dict[str, Value]()
    for name, value in _table(data, "functions").items():
        inside = value if isinstance(value, dict) else {"value": value}
        if set(inside) <= {"of", "value"}:
            require(inside.get("value", "?") != "?", f"the function {name!r} has no value, so nothing can be proved")
            node = made.scalar(inside["value"], f"functions.{name}")
        else:
            made.data[name] = stated_data(name, inside)
            of = inside.get("of", "t")
            of = of[0] if isinstance(of, list) and len(of) == 1 else of
            node = made.dag.table(made.data[name], 0, made.scalar(of, f"functions.{name}.of"))
        values = {name: node}
        if "of" not in inside:
            alone = inputs_of([node]) <= {"t", *made.parameters}
            require(alone, f"the function {name!r} is said to be of time, and depends on the motion")
            values |= {f"{name}_dot": made.rate(node), f"{name}_ddot": made.rate(made.rate(node))}
        for word in values:
            require(
                word not in known and word not in found, f"the problem text cannot be read: {word!r} is named twice"
            )
        found |= values
    made.names |= found


def _read_bodies(made: Statement, data: Mapping[str, Any]) -> BodyReader:
    """Bodies and joints, after the definitions and points that need none of them."""
    for table in ("definitions", "points"):
        for name, value in _table(data, table).items():
            with suppress(Refused):  # what speaks of bodies is read after them
                if name not in made.names:
                    made.names[name] = made.read(value, f"{table}.{name}")
    bodies = BodyReader(made, data)
    bodies.read()
    return bodies


def _read_definitions(made: Statement, data: Mapping[str, Any]) -> None:
    early = set(made.names) if {"bodies", "joints"} & set(data) else set()
    for table in ("definitions", "points"):
        for name, value in _table(data, table).items():
            if name in early:
                continue
            require(name not in made.names, f"the problem text cannot be read: {name!r} is named twice")
            made.names[name] = made.read(value, f"{table}.{name}")


def _read_system(made: Statement, system: Mapping[str, Any], program: Mapping[str, Any]) -> None:
    controls: dict[str, Value] = {name: made.dag.input(f"control {name}") for name in _table(program, "controls")}
    for name, value in _table(system, "states").items():
        made.states[name] = made.scalar(value, f"states.{name}", controls)
    made.states = {n: r for n, r in made.states.items() if n not in made.quaternions} | made.quaternions
    for name in ("kinetic", "potential", "dissipation"):
        setattr(made, name, made.scalar(system.get(name, 0), f"system.{name}"))
    for name, value in _table(system, "forces").items():
        require(name in made.coordinates, f"the problem text cannot be read: a force on {name!r}")
        made.forces[name] = made.scalar(value, f"forces.{name}")
    made.variable_masses = bool(_table(system, "masses"))
    for name, pushes in _table(system, "noise").items():
        require(
            isinstance(pushes, dict) and set(pushes) <= set(made.coordinates),
            f"the noise {name!r} drives no coordinate",
        )
        made.noise[name] = {q: made.scalar(value, f"noise.{name}.{q}") for q, value in pushes.items()}
    known = {"coordinates", "kinetic", "potential", "dissipation", "forces", "states", "masses", "noise"}
    known |= {"gravity", "placing", "norm_rate"}
    require(set(system) <= known, f"[system] holds {', '.join(sorted(set(system) - known))}, which is not known here")


def _read_program(made: Statement, program: Mapping[str, Any], bodies: BodyReader | None) -> None:
    rows, fast = ({}, {}) if bodies is None else (bodies.rows, bodies.fast_rows)
    known = {"holonomic", "nonholonomic", "keep", "controls", "reactions", "law", "limits"}
    require(set(program) <= known, f"[program] holds {', '.join(sorted(set(program) - known))}, not known here")
    for kind in ("holonomic", "nonholonomic"):
        for name, value in _table(program, kind).items():
            require(name not in made.holonomic, f"the problem text cannot be read: {name!r} is kept twice")
            getattr(made, kind)[name] = made.scalar(value, f"{kind}.{name}")
    for name, row in (rows | fast).items():  # of joints, which their own reactions hold
        require(name not in made.constraints, f"the problem text cannot be read: {name!r} is kept twice")
        (made.holonomic if name in rows else made.nonholonomic)[name] = row
    for name, value in _table(program, "keep").items():
        _keep(made, name, value)
    for name in _table(program, "controls"):
        direction = _table(_table(program, "controls"), name)
        made.controls[name] = _pushes(made, name, direction)
    made.reactions = _names(program.get("reactions", []), "program.reactions")
    if made.controls or made.reactions:
        made.reactions += [*rows, *fast]
    require(set(made.reactions) <= set(made.constraints), "a reaction is of no constraint")
    made.law = _table(program, "law")
    for name, value in _table(program, "limits").items():
        made.limits[name] = _limits(made, name, value)


def _limits(made: Statement, name: str, value: Any) -> list[Node]:
    """The least and the largest of a control: a size, or [low, high], by parameters alone."""
    require(name in made.controls, f"the problem text limits {name!r}, which is no control")
    ends = [made.scalar(end, f"limits.{name}") for end in (value if isinstance(value, list) else [value])]
    ends = [made.dag.neg(ends[0]), *ends] if len(ends) == 1 else ends
    whole = len(ends) == 2 and inputs_of(ends) <= set(made.parameters)
    require(whole, f"the limits of {name!r} are not two numbers")
    return ends


def _pushes(made: Statement, name: str, direction: Mapping[str, Any]) -> dict[str, Node]:
    """A control by coordinate or state; along a definition it pushes with that one's slopes."""
    found: dict[str, Node] = {}
    for key, value in direction.items():
        size, along = made.scalar(value, f"controls.{name}"), made.names.get(key)
        require(
            isinstance(along, Node), f"the control {name!r} acts on {key!r}, which is no coordinate: not known here"
        )
        if key in (*made.coordinates, *made.states):
            shares = {key: size}
        else:
            assert isinstance(along, Node)
            slopes = along_rates(made, along)
            shares = {q: made.dag.mul(size, slope) for q, slope in zip(made.coordinates, slopes, strict=True)}
        for q, share in shares.items():
            found[q] = made.dag.add(found[q], share) if q in found else share
    return found


def _keep(made: Statement, name: str, value: Any) -> None:
    """The row I − I₀ of a first integral, I₀ a state that does not move: energy, a momentum p_x, or a formula."""
    dag, state = made.dag, f"keep_{name}"
    require(name not in made.constraints, f"the problem text cannot be read: {name!r} is kept twice")
    require(state not in made.names, f"the problem text cannot be read: {state!r} is named twice")
    own = {f"p_{q}": q for q in made.coordinates} if isinstance(value, str) and value not in made.names else {}
    assert made.kinetic is not None
    assert made.potential is not None
    if value == "energy" and "energy" not in made.names:
        v = [dag.input(f"{q}_dot") for q in made.coordinates]
        (momenta,) = dag.partials([made.kinetic], v)
        power = dag.sum(dag.mul(a, b) for a, b in zip(v, momenta, strict=True))
        integral = dag.add(dag.sub(power, made.kinetic), made.potential)
    elif value in own:
        ((integral,),) = dag.partials([made.kinetic], [dag.input(f"{own[value]}_dot")])
    else:
        integral = made.scalar(value, f"keep.{name}")
    moving = value == "energy" or value in own or inputs_of([integral]) & {f"{q}_dot" for q in made.coordinates}
    made.names[state], made.states[state] = dag.input(state), dag.zero
    rows = made.nonholonomic if moving else made.holonomic
    rows[name] = dag.sub(integral, dag.input(state))


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = data.get(name, {})
    require(isinstance(found, dict), f"the problem text cannot be read: [{name}] is no table")
    assert isinstance(found, dict)
    return found


def _names(value: Any, where: str) -> list[str]:
    whole = isinstance(value, list) and all(isinstance(name, str) and name.isidentifier() for name in value)
    require(whole and len(set(value)) == len(value), f"the problem text cannot be read: {where} are not names")
    return list(value)


def exact(node: Node, what: str) -> Fraction | None:
    """The number of a node that is one; None for what has inputs or is irrational."""
    return node.data if node.op == "const" and isinstance(node.data, Fraction) else None
