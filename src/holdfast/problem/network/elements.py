"""Elements of any domain: what stores momentum, what stores displacement, what loses power, what drives, what joins.

A linear element has a `value`; a nonlinear one states its energy or co-energy in the port variables of this file:
`hf.flow`, `hf.momentum`, `hf.displacement`, `hf.effort`. Values may depend on time, parameters and the displacements of
other elements (a capacitor whose plates move), by the names of their coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.network.domains import Domain, domain_named
from holdfast.problem.network.legendre import legendre
from holdfast.problem.vocabulary import exact

flow, momentum, displacement, effort = sp.symbols("flow momentum displacement effort", real=True)

GROUND = "ground"


@dataclass(frozen=True, slots=True)
class Element:
    """One element between two terminals. In a domain of bodies one point is enough: the other is the ground."""

    domain: Any
    value: Any = None
    at: Any = ()

    def place(self, where: str) -> tuple[Domain, str, str]:
        """The domain, and the terminals from which and to which its flow is counted."""
        domain = domain_named(self.domain, where=where)
        return (domain, *terminals(self.at, domain, where))


def terminals(at: Any, domain: Domain, where: str) -> tuple[str, str]:
    listed = at if isinstance(at, (tuple, list)) else (at,)
    names: tuple[Any, ...] = tuple(getattr(name, "name", name) for name in listed)
    if domain.shape == "bodies" and len(names) == 1:
        names = (GROUND, *names)
    if len(names) != 2 or not all(isinstance(name, str) and name for name in names) or names[0] == names[1]:
        fix = 'at="x", or at=("a", "b") between two points' if domain.shape == "bodies" else 'at=("a", "b")'
        raise BadStatement(f"{at!r} are not two terminals in the {domain.name} domain", where=where, fix=fix)
    return names[0], names[1]


@dataclass(frozen=True, slots=True)
class Inertia(Element):
    """A mass, a moment of inertia, a coil: T* = value·f²/2, or its `coenergy` T*(flow), or its `energy` T(momentum)."""

    coenergy: Any = None
    energy: Any = None

    def kinetic(self, f: sp.Expr, where: str) -> sp.Expr:
        return self.law(where).subs(flow, f)

    def law(self, where: str) -> sp.Expr:
        """T*(flow)."""
        _one_of({"value": self.value, "coenergy": self.coenergy, "energy": self.energy}, where)
        if self.value is not None:
            return exact(self.value, where=where) * flow**2 / 2
        if self.coenergy is not None:
            return exact(self.coenergy, where=where)
        return legendre(exact(self.energy, where=where), momentum, flow)


@dataclass(frozen=True, slots=True)
class Compliance(Element):
    """A spring, a capacitor, a tank: V = q²/(2 value), or stiffness·q²/2, or its `energy` V(displacement), or its
    `coenergy` V*(effort). `offset` is the displacement it holds when the coordinates are zero.
    """

    stiffness: Any = None
    energy: Any = None
    coenergy: Any = None
    offset: Any = 0

    def potential(self, q: sp.Expr, where: str) -> sp.Expr:
        given = {"value": self.value, "stiffness": self.stiffness, "energy": self.energy, "coenergy": self.coenergy}
        _one_of(given, where)
        total = q + exact(self.offset, where=where)
        if self.value is not None:
            return total**2 / (2 * exact(self.value, where=where))
        if self.stiffness is not None:
            return exact(self.stiffness, where=where) * total**2 / 2
        if self.energy is not None:
            return exact(self.energy, where=where).subs(displacement, total)
        return legendre(exact(self.coenergy, where=where), effort, displacement).subs(displacement, total)


@dataclass(frozen=True, slots=True)
class Resistance(Element):
    """A damper, a resistor, a pipe: D* = value·f²/2, or its `content` D*(flow), or D(momentum) as `momentum_form` with
    the inertia `of` whose momentum it is: D*(f) = D(p(f)).
    """

    content: Any = None
    momentum_form: Any = None
    of: str = ""

    def dissipation(self, f: sp.Expr, where: str, inertia: Inertia | None = None) -> sp.Expr:
        _one_of({"value": self.value, "content": self.content, "momentum_form": self.momentum_form}, where)
        if self.value is not None:
            return exact(self.value, where=where) * f**2 / 2
        if self.content is not None:
            return exact(self.content, where=where).subs(flow, f)
        if inertia is None:
            raise BadStatement(
                "a dissipation in momentum form needs the inertia whose momentum it is",
                where=where,
                fix='of="coil": the name of an inertia that the same flow passes',
            )
        carried = sp.diff(inertia.law(where), flow)
        return exact(self.momentum_form, where=where).subs(momentum, carried).subs(flow, f)


@dataclass(frozen=True, slots=True)
class Source(Element):
    """What drives: an `effort` (voltage, force, pressure; the value, if it is given without a word), or a `flow`, or a
    `displacement` that is imposed, as functions of time. It pushes from its first terminal to its second.
    """

    effort: Any = None
    flow: Any = None
    displacement: Any = None

    def kind(self, where: str) -> tuple[str, sp.Expr]:
        push = self.effort if self.value is None else self.value
        given = {"effort": push, "flow": self.flow, "displacement": self.displacement}
        name = _one_of(given, where)
        return name, exact(given[name], where=where)


@dataclass(frozen=True, slots=True)
class TwoPort:
    """An element that joins two ports, each (domain, terminals)."""

    ratio: Any
    first: Any
    second: Any

    def ports(self, where: str) -> tuple[tuple[Domain, str, str], tuple[Domain, str, str]]:
        found = []
        for port in (self.first, self.second):
            if not isinstance(port, (tuple, list)) or len(port) != 2:
                raise BadStatement(
                    f"{port!r} is not a port", where=where, fix='a domain and its terminals: ("rotation", "shaft")'
                )
            domain = domain_named(port[0], where=where)
            found.append((domain, *terminals(port[1], domain, where)))
        (one, *_), (two, *_) = found
        if one.name != two.name and not (one.true_power and two.true_power):
            odd = one if not one.true_power else two
            raise BadStatement(
                f"{one.name} and {two.name} cannot be joined by an ideal element: {odd.note or 'no power to pass on'}",
                where=where,
                fix="let one drive the other by a source",
            )
        return found[0], found[1]


@dataclass(frozen=True, slots=True)
class Transformer(TwoPort):
    """f₂ = ratio·f₁ and e₁ = ratio·e₂: a piston (area), a gear, a lever. It is a constraint with its own multiplier."""


@dataclass(frozen=True, slots=True)
class Gyrator(TwoPort):
    """e₁ = ratio·f₂ and e₂ = ratio·f₁: a motor (torque from current, voltage from speed). Its forces do no net work."""


def _one_of(given: dict[str, Any], where: str) -> str:
    stated = [name for name, value in given.items() if value is not None]
    if len(stated) != 1:
        what = " and ".join(stated) + " are both given" if stated else "nothing says what it does"
        raise BadStatement(what, where=where, fix="give one of " + ", ".join(given))
    return stated[0]
