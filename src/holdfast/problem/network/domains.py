"""The analogies between physical domains, as data: four variables, three kinds of element, and their units.

    displacement q,   flow f = dq/dt,   momentum p,   effort e = dp/dt

    inertia      T* = I f²/2        stores momentum
    compliance   V = q²/(2C)        stores displacement
    resistance   D* = R f²/2        loses power

e·f is power in every true analogy, so that domains may be joined; a pseudo analogy says otherwise. In mechanics,
elements that move together share a point; in circuits, elements in series share a loop. That is `bodies` and `loops`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from holdfast.errors import BadStatement


@dataclass(frozen=True, slots=True)
class Kind:
    """What a variable or an element is called in a domain, and its unit (empty where there is none to name)."""

    word: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """One row of the table of analogies."""

    name: str
    displacement: Kind
    flow: Kind
    effort: Kind
    momentum: Kind | None = None
    inertia: Kind | None = None
    compliance: Kind | None = None
    resistance: Kind | None = None
    shape: Literal["bodies", "loops"] = "loops"
    true_power: bool = True
    note: str = ""


TRANSLATION = Domain(
    name="translation",
    displacement=Kind("displacement", "m"),
    flow=Kind("velocity", "m/s"),
    momentum=Kind("momentum", "N s"),
    effort=Kind("force", "N"),
    inertia=Kind("mass", "kg"),
    compliance=Kind("1/stiffness", "m/N"),
    resistance=Kind("damping", "N s/m"),
    shape="bodies",
)
ROTATION = Domain(
    name="rotation",
    displacement=Kind("angle", "rad"),
    flow=Kind("angular velocity", "rad/s"),
    momentum=Kind("angular momentum", "N m s"),
    effort=Kind("torque", "N m"),
    inertia=Kind("moment of inertia", "kg m^2"),
    compliance=Kind("1/torsional stiffness", "rad/(N m)"),
    resistance=Kind("rotary damping", "N m s"),
    shape="bodies",
)
ELECTRICAL = Domain(
    name="electrical",
    displacement=Kind("charge", "C"),
    flow=Kind("current", "A"),
    momentum=Kind("flux linkage", "V s"),
    effort=Kind("voltage", "V"),
    inertia=Kind("inductance", "H"),
    compliance=Kind("capacitance", "F"),
    resistance=Kind("resistance", "ohm"),
)
HYDRAULIC = Domain(
    name="hydraulic",
    displacement=Kind("volume", "m^3"),
    flow=Kind("volume flow", "m^3/s"),
    momentum=Kind("pressure momentum", "Pa s"),
    effort=Kind("pressure", "Pa"),
    inertia=Kind("inertance", "Pa s^2/m^3"),
    compliance=Kind("hydraulic capacity", "m^3/Pa"),
    resistance=Kind("hydraulic resistance", "Pa s/m^3"),
)
THERMAL = Domain(
    name="thermal",
    displacement=Kind("heat", "J"),
    flow=Kind("heat flow", "W"),
    effort=Kind("temperature", "K"),
    compliance=Kind("heat capacity", "J/K"),
    resistance=Kind("thermal resistance", "K/W"),
    true_power=False,
    note="a pseudo analogy: temperature times heat flow is not power, and heat has no inertia",
)
ECONOMIC = Domain(
    name="economic",
    displacement=Kind("cumulative output"),
    flow=Kind("output rate"),
    momentum=Kind("size times rate"),
    effort=Kind("driving effort"),
    inertia=Kind("size of the object"),
    compliance=Kind("stock elasticity"),
    resistance=Kind("cost per rate"),
    shape="bodies",
    true_power=False,
    note="a modelling convention, not a law: a point of variable mass, after the papers",
)

DOMAINS = {domain.name: domain for domain in (TRANSLATION, ROTATION, ELECTRICAL, HYDRAULIC, THERMAL, ECONOMIC)}


def domain_named(name: object, *, where: str) -> Domain:
    """A domain by its name (or itself)."""
    if isinstance(name, Domain):
        return name
    if isinstance(name, str) and name in DOMAINS:
        return DOMAINS[name]
    raise BadStatement(f"there is no domain {name!r}", where=where, fix="one of " + ", ".join(DOMAINS))


def table() -> str:
    """The table of analogies as text."""
    rows = ["domain displacement flow momentum effort inertia compliance resistance".split()]
    for domain in DOMAINS.values():
        variables = [domain.displacement, domain.flow, domain.momentum, domain.effort]
        kinds = [*variables, domain.inertia, domain.compliance, domain.resistance]
        rows.append([domain.name, *(_shown(kind) for kind in kinds)])
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    notes = [f"{domain.name}: {domain.note}" for domain in DOMAINS.values() if domain.note]
    return "\n".join([*lines, "", *notes]) + "\n"


def _shown(kind: Kind | None) -> str:
    if kind is None:
        return "none"
    return f"{kind.word} [{kind.unit}]" if kind.unit else kind.word
