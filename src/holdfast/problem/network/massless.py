"""What has no inertia: first-order states where a resistance sets the pace, refused by name where nothing does.

    0 = −∂V/∂q − ∂D*/∂f + Q        for a motion without inertia and without a joint

Where ∂²D*/∂f² is regular this gives the flow f at once, and the displacement becomes a state of first order (the charge
of a capacitor beside a resistor). Where a joint holds the motion, its acceleration follows from the joint.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sympy as sp

from holdfast.errors import SingularSystem
from holdfast.problem.quantities import Coordinate, State, rate


@dataclass(frozen=True, eq=False)
class Sums:
    """The energies, forces and joints of all elements, added up, in some coordinates."""

    coordinates: tuple[str, ...]
    kinetic: sp.Expr
    potential: sp.Expr
    dissipation: sp.Expr
    forces: Mapping[str, sp.Expr]
    joints: tuple[sp.Expr, ...]  # functions that stay zero, in the flows
    displacements: Mapping[str, sp.Expr]
    states: Mapping[str, sp.Expr] = field(default_factory=dict)
    replaced: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)  # coordinates and flows that are none any more


def settled(sums: Sums) -> Sums:
    """The same with first-order states in the place of coordinates whose pace a resistance sets."""
    idle = _idle(sums)
    if not idle:
        return sums
    flows = [Coordinate(name).rate for name in idle]
    bound = any(row.has(*flows) for row in sums.joints) or sums.kinetic.has(*flows)
    pace = [] if bound else _pace(sums, idle, flows)
    if not pace or len(idle) == len(sums.coordinates):
        raise _undetermined(sums, idle, alone=bool(pace))
    slow = dict(zip(flows, pace, strict=True))
    stored = {Coordinate(name): State(name) for name in idle}
    rest = tuple(name for name in sums.coordinates if name not in idle)
    own = sums.dissipation.subs(dict.fromkeys(flows, 0))
    forces = dict(sums.forces)
    for name in rest:  # what the slow flows do through resistances that they share with the others
        f = Coordinate(name).rate
        forces[name] = forces.get(name, sp.S.Zero) - sp.diff(sums.dissipation - own, f)
    return Sums(
        coordinates=rest,
        kinetic=sums.kinetic.xreplace(stored),
        potential=sums.potential.xreplace(stored),
        dissipation=own.xreplace(stored),
        forces={name: sp.expand(forces[name].xreplace(slow)).xreplace(stored) for name in rest if name in forces},
        joints=tuple(row.xreplace(stored) for row in sums.joints),
        displacements={name: q.xreplace(stored) for name, q in sums.displacements.items()},
        states={name: f.xreplace(stored) for name, f in zip(idle, pace, strict=True)},
        replaced={f: expression.xreplace(stored) for f, expression in slow.items()} | stored,
    )


def _idle(sums: Sums) -> list[str]:
    """Coordinates that move without inertia and without a joint: the null space of (∂²T*/∂f² ; ∂w/∂f), at random."""
    flows = [Coordinate(name).rate for name in sums.coordinates]
    stacked = sp.hessian(sums.kinetic, flows)
    if sums.joints:
        stacked = stacked.col_join(sp.Matrix([[sp.diff(row, f) for f in flows] for row in sums.joints]))
    shake = random.Random(11)
    values = {symbol: sp.Rational(shake.randint(200, 900), 1000) for symbol in sorted(stacked.free_symbols, key=str)}
    free = stacked.subs(values).nullspace()
    return [name for k, name in enumerate(sums.coordinates) if any(vector[k] != 0 for vector in free)]


def _pace(sums: Sums, idle: Sequence[str], flows: Sequence[sp.Symbol]) -> list[sp.Expr]:
    """The flows f at which resistances balance what drives them; nothing where they do not determine them."""
    balance = [
        sums.forces.get(name, sp.S.Zero) - sp.diff(sums.potential, Coordinate(name)) - sp.diff(sums.dissipation, f)
        for name, f in zip(idle, flows, strict=True)
    ]
    slopes = sp.Matrix([[sp.diff(row, f) for f in flows] for row in balance])
    if slopes.has(*flows) or sp.simplify(slopes.det()) == 0:
        return []
    at_rest = sp.Matrix([row.subs(dict.fromkeys(flows, 0)) for row in balance])
    return [sp.simplify(f) for f in slopes.LUsolve(-at_rest)]


def _undetermined(sums: Sums, idle: Sequence[str], *, alone: bool) -> SingularSystem:
    moving = set(idle)
    through = [name for name, q in sums.displacements.items() if {c.name for c in q.atoms(Coordinate)} & moving]
    lacking = "nothing in it has inertia" if alone else "no inertia, no resistance that sets its pace, and no joint"
    return SingularSystem(
        f"nothing determines how {_listed(sorted(moving))} moves: {lacking}",
        where="elements " + ", ".join(through),
        fix="add an inertia (a small one, if need be) to what moves there, or join it to something that has one",
    )


def _listed(names: Sequence[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def flows_of(sums: Sums) -> dict[str, sp.Expr]:
    """The flow of each element, with the pace of first-order states written out."""
    paces = {State(name): pace for name, pace in sums.states.items()}
    found = {}
    for name, q in sums.displacements.items():
        own = rate(q.xreplace(dict.fromkeys(paces, sp.S.Zero)))
        found[name] = own + sp.Add(*(sp.diff(q, state) * pace for state, pace in paces.items()))
    return found
