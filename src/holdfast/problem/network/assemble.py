"""Elements of several domains assembled into one system.

    T* = Σ inertias,   V = Σ compliances,   D* = Σ resistances,   Q = Σ sources and gyrators
    transformers and imposed displacements are constraints, held by their own multipliers

In a domain of bodies the coordinates are the displacements of its points, under the points' names. In a domain of loops
they are the charges of the branches outside a spanning tree, named ``q_<element>``; inertias are left outside the tree
as far as possible, so that each has a coordinate of its own.

A mechanism, stated by its own energies, joins at the points that bear the names of its coordinates: a motor's shaft is
the angle of an arm. A source whose value is a control (`hf.controls`) is left to the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.laws.linear import Law, Unstabilised
from holdfast.problem.masses.moving_mass import MovingMass
from holdfast.problem.network.domains import Domain
from holdfast.problem.network.elements import (
    GROUND,
    Compliance,
    Element,
    Gyrator,
    Inertia,
    Resistance,
    Source,
    Transformer,
    TwoPort,
)
from holdfast.problem.network.loops import Branch, loop_charges
from holdfast.problem.network.massless import Sums, flows_of, settled
from holdfast.problem.network.mechanism import Mechanism, controlled
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.quantities import Coordinate, Rate, rate, time
from holdfast.problem.system import System
from holdfast.problem.types import ByName
from holdfast.problem.units.dimensions import Dimensions, dimension
from holdfast.problem.vocabulary import by_name, name_of

RANKS = {Source: 0, Resistance: 1, Compliance: 2, TwoPort: 3, Inertia: 4}
IMPOSED = 5  # a flow that is imposed has a coordinate of its own
Port = tuple[Domain, str, str]


@dataclass(frozen=True, eq=False)
class Assembly:
    """A system made of elements, with the displacement and flow of each by name (``motor.1``, ``motor.2``: ports)."""

    system: System
    holonomic: Frozen[sp.Expr]
    nonholonomic: Frozen[sp.Expr]
    pushes: Frozen[Frozen[sp.Expr]]  # sources that watch another motion: what each pushes, ``effort_<source>``
    controls: Frozen[Frozen[sp.Expr]]  # what sources that are controls push; those that drive states alone push nothing
    displacements: Frozen[sp.Expr]
    flows: Frozen[sp.Expr]
    units: Frozen[str]
    domains: Frozen[Domain]  # by coordinate or state

    def __repr__(self) -> str:
        held = (
            f", joined by {', '.join((*self.holonomic, *self.nonholonomic))}"
            if self.holonomic or self.nonholonomic
            else ""
        )
        return f"<Assembly of {', '.join(self.flows)}: moved by {', '.join(self.domains)}{held}>"

    def program(self, law: Law | None = None, **more: Any) -> Program:
        """The joints as a program, under a law; `more` adds constraints and controls to it.

        Sources that are controls hold what is added. Joints keep their own reactions.
        """
        more["holonomic"] = {**self.holonomic, **by_name(more.get("holonomic", {}), where="program.holonomic")}
        more["nonholonomic"] = {
            **self.nonholonomic,
            **by_name(more.get("nonholonomic", {}), where="program.nonholonomic"),
        }
        pushes = {f"effort_{name}": push for name, push in self.pushes.items()}
        more["controls"] = {**pushes, **self.controls, **by_name(more.get("controls", {}), where="program.controls")}
        if more["controls"]:
            others = [name for name in (*self.holonomic, *self.nonholonomic) if name not in self.pushes]
            more["reactions"] = tuple(dict.fromkeys((*others, *more.get("reactions", ()))))
        return Program(law=law or Unstabilised(), **more)

    def problem(self, law: Law | None = None, **rest: Any) -> Problem:
        """A problem that is ready to derive: `start`, `run` and `title` as for `hf.Problem`, and what the program is to
        keep beside the joints (`holonomic`, `nonholonomic`, `controls`, ...) as for `hf.Program`.
        """
        own = {field.name for field in fields(Program)}
        program = {name: value for name, value in rest.items() if name in own}
        units = Frozen({**self.units, **rest.pop("units", {})})
        others = {name: value for name, value in rest.items() if name not in own}
        return Problem(self.system, self.program(law, **program), units=units, **others)


def assemble(
    elements: Mapping[str, Element | TwoPort],
    *,
    parameters: ByName | None = None,
    units: Mapping[str, str] | None = None,
    masses: Mapping[str, MovingMass] | None = None,
    system: System | None = None,
) -> Assembly:
    """The system that elements make when they are joined at their terminals.

    `units` of parameters, by name, are checked against what each element needs. `masses` are points of variable mass
    that move with the elements' coordinates. `system` is a mechanism that the elements join: its coordinates are points
    of theirs, where they bear the same names.
    """
    if not isinstance(elements, Mapping):
        raise BadStatement(
            f"elements are given by name, not as a {type(elements).__name__}",
            where="elements",
            fix='{"coil": hf.Inertia("electrical", L, at)}',
        )
    if not elements:
        raise BadStatement("nothing to assemble", where="elements", fix='{"coil": hf.Inertia("electrical", L, at)}')
    ports = _ports(elements)
    places, domains = _displacements(ports)
    given = {name_of(name): unit for name, unit in (units or {}).items()}
    _check_units(elements, ports, given)
    mechanism = Mechanism(system, domains)
    added = _Energies(elements, places)
    added.collect()
    joints = (*(rate(f) for f in added.holonomic.values()), *added.nonholonomic.values())
    carried = sp.Add(*(mass.mass * rate(part) ** 2 / 2 for mass in (masses or {}).values() for part in mass.position))
    inertia = added.kinetic + carried + mechanism.inertia
    names = (*mechanism.coordinates, *(name for name in domains if name not in mechanism.coordinates))
    sums = settled(Sums(names, inertia, added.potential, added.dissipation, added.forces, joints, places))
    forces, controls = controlled(sums)
    made = System(
        coordinates=tuple(Coordinate(name) for name in sums.coordinates),
        kinetic=added.kinetic.xreplace(dict(sums.replaced)),
        potential=sums.potential,
        dissipation=sums.dissipation,
        forces=Frozen({name: force for name, force in forces.items() if force != 0}),
        masses=Frozen(masses or {}),
        parameters=Frozen(by_name(parameters or {}, where="parameters")),
        states=Frozen(sums.states),
    )
    return Assembly(
        system=mechanism.with_elements(made),
        holonomic=Frozen({name: f.xreplace(dict(sums.replaced)) for name, f in added.holonomic.items()}),
        nonholonomic=Frozen({name: f.xreplace(dict(sums.replaced)) for name, f in added.nonholonomic.items()}),
        pushes=Frozen({name: Frozen(push) for name, push in added.pushes.items()}),
        controls=Frozen({name: Frozen(push) for name, push in controls.items()}),
        displacements=Frozen(sums.displacements),
        flows=Frozen(flows_of(sums)),
        units=Frozen(_units_of(domains, given)),
        domains=Frozen(domains),
    )


def _ports(elements: Mapping[str, Element | TwoPort]) -> dict[str, tuple[Port, int]]:
    """Every port by name, with its rank for the spanning tree; a terminal belongs to one domain."""
    found: dict[str, tuple[Port, int]] = {}
    for name, element in elements.items():
        where = f"elements.{name}"
        if isinstance(element, TwoPort):
            for k, port in enumerate(element.ports(where), 1):
                found[f"{name}.{k}"] = (port, RANKS[TwoPort])
        elif isinstance(element, Element) and type(element) in RANKS:
            imposed = isinstance(element, Source) and element.kind(where)[0] != "effort"
            found[name] = (element.place(where), IMPOSED if imposed else RANKS[type(element)])
        else:
            raise BadStatement(f"{element!r} is not an element", where=where, fix="hf.Inertia, hf.Compliance, ...")
    owner: dict[str, tuple[str, str]] = {}
    for name, ((domain, *ends), _) in found.items():
        for end in ends:
            known, first = owner.setdefault(end, (domain.name, name))
            if known != domain.name and end != GROUND:
                raise BadStatement(
                    f"{name!r} is {domain.name}, and its terminal {end!r} is {known} (by {first!r})",
                    where=f"elements.{name}",
                    fix="join domains by a hf.Transformer or a hf.Gyrator",
                )
    return found


def _displacements(ports: Mapping[str, tuple[Port, int]]) -> tuple[dict[str, sp.Expr], dict[str, Domain]]:
    """The displacement of every port in coordinates, and the domain of each coordinate, in the elements' order."""
    circuits: dict[str, list[Branch]] = {}
    for name, ((domain, begin, end), rank) in ports.items():
        if domain.shape == "loops":
            circuits.setdefault(domain.name, []).append(Branch(name, begin, end, rank))
    charges: dict[str, sp.Expr] = {}
    chords: dict[str, str] = {}
    for kind, branches in circuits.items():
        outside, signs = loop_charges(branches, where=f"elements, {kind}")
        chords |= {name: "q_" + name.replace(".", "_") for name in outside}
        for branch in branches:
            terms = (sign * Coordinate(chords[chord]) for chord, sign in signs[branch.name].items())
            charges[branch.name] = sp.Add(*terms)
    places: dict[str, sp.Expr] = {}
    domains: dict[str, Domain] = {}
    for name, ((domain, begin, end), _) in ports.items():
        if domain.shape == "loops":
            places[name] = charges[name]
            if name in chords:
                domains[chords[name]] = domain
            continue
        for point in (begin, end):
            if point != GROUND:
                domains.setdefault(point, domain)
        places[name] = sp.Add(*(s * Coordinate(p) for s, p in ((1, end), (-1, begin)) if p != GROUND))
    return places, domains


class _Energies:
    """The energies, forces and constraints of all elements, added up."""

    def __init__(self, elements: Mapping[str, Element | TwoPort], places: Mapping[str, sp.Expr]) -> None:
        self.elements, self.places = elements, places
        self.kinetic = self.potential = self.dissipation = sp.S.Zero
        self.forces: dict[str, sp.Expr] = {}
        self.holonomic: dict[str, sp.Expr] = {}
        self.nonholonomic: dict[str, sp.Expr] = {}
        self.pushes: dict[str, dict[str, sp.Expr]] = {}  # of sources that watch another motion

    def collect(self) -> None:
        for name, element in self.elements.items():
            where = f"elements.{name}"
            if isinstance(element, TwoPort):
                self._two_port(name, element)
                continue
            q = self.places[name]
            if isinstance(element, Inertia):
                _check_inertia(element, element.place(where)[0], where)
                self.kinetic += element.kinetic(rate(q), where)
            elif isinstance(element, Compliance):
                self.potential += element.potential(q, where)
            elif isinstance(element, Resistance):
                self.dissipation += element.dissipation(rate(q), where, self._carrier(element, q, where))
            elif isinstance(element, Source):
                self._source(name, element, q, where)

    def _carrier(self, element: Resistance, q: sp.Expr, where: str) -> Inertia | None:
        if not element.of:
            return None
        other = self.elements.get(element.of)
        if not isinstance(other, Inertia) or sp.expand(self.places[element.of] - q) != 0:
            raise BadStatement(
                f"{element.of!r} is not an inertia that the same flow passes", where=where, fix="put them in series"
            )
        return other

    def _source(self, name: str, element: Source, q: sp.Expr, where: str) -> None:
        kind, value = element.kind(where)
        if kind == "effort":
            self._push(q, value)
            return
        (self.holonomic if kind == "displacement" else self.nonholonomic)[name] = (
            q - value if kind == "displacement" else rate(q) - value
        )
        if value.atoms(Coordinate, Rate):  # it watches another motion, and must not push back on it
            self.pushes[name] = {c.name: sp.diff(q, c) for c in sorted(q.atoms(Coordinate), key=str)}

    def _two_port(self, name: str, element: TwoPort) -> None:
        first, second = self.places[f"{name}.1"], self.places[f"{name}.2"]
        ratio = sp.sympify(element.ratio)
        if isinstance(element, Gyrator):
            self._push(first, -ratio * rate(second))
            self._push(second, ratio * rate(first))
        elif isinstance(element, Transformer):
            if ratio.atoms(Coordinate):
                self.nonholonomic[name] = rate(second) - ratio * rate(first)
            else:
                self.holonomic[name] = second - ratio * first

    def _push(self, q: sp.Expr, effort: sp.Expr) -> None:
        """An effort on a port: its share on each coordinate is the coordinate's share in the displacement."""
        for coordinate in q.atoms(Coordinate):
            share = sp.diff(q, coordinate) * effort
            self.forces[coordinate.name] = self.forces.get(coordinate.name, sp.S.Zero) + share


def _check_inertia(element: Inertia, domain: Domain, where: str) -> None:
    if domain.inertia is None:
        raise BadStatement(
            f"an element of the {domain.name} domain has no inertia",
            where=where,
            fix=domain.note or "leave the inertia out",
        )
    if domain.name in ("translation", "economic") and element.law(where).has(time):
        raise BadStatement(
            f"the {domain.inertia.word} changes in time, and nothing says with which velocity mass joins or leaves",
            where=where,
            fix="state it as a point of variable mass: assemble(..., masses={name: hf.MovingMass(...)})",
        )


def _units_of(domains: Mapping[str, Domain], given: Mapping[str, str]) -> dict[str, str]:
    """Units of coordinates by their domains, and those of parameters as given; empty when none are."""
    if not given:
        return {}
    return {name: domain.displacement.unit for name, domain in domains.items() if domain.displacement.unit} | dict(
        given
    )


def _check_units(
    elements: Mapping[str, Element | TwoPort], ports: Mapping[str, tuple[Port, int]], given: Mapping[str, str]
) -> None:
    """Each linear element's value must be in its domain's unit, as far as units are given."""
    if not given:
        return
    dimensions = Dimensions(given)
    words = {Inertia: "inertia", Compliance: "compliance", Resistance: "resistance", Source: "effort"}
    for name, element in elements.items():
        if isinstance(element, TwoPort) or type(element) not in words or element.value is None:
            continue
        kind = getattr(ports[name][0][0], words[type(element)])
        if kind is not None and kind.unit:
            wanted = dimension(kind.unit)
            dimensions.expect(
                sp.sympify(element.value), wanted, f"the {kind.word} of {name!r}", where=f"elements.{name}"
            )
