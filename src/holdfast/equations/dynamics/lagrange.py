"""Lagrange's equations on the graph, for the system and for the excess energies of a law."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.equations.dynamics.bodies.share import BodyShare, body_share, potential_energy
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.masses import Point, points_of, projected
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.graph.space import cross
from holdfast.problem.laws.linear import LawForm
from holdfast.problem.system import System


@dataclass(frozen=True, eq=False)
class Dynamics:
    """M a = h + held forces, with the energies they came from.

        M = ∂²T/∂v²,    h = Q − ∂P/∂q − ∂D/∂v + ∂T/∂q − (∂²T/∂v∂q) v − ∂²T/∂v∂t

    where T may depend on the rates in any way. Points of variable mass add their share to M and h; where their reactive
    forces depend on accelerations, M is not `symmetric`.
    """

    kinetic: Node
    potential: Node
    dissipation: Node
    forces: tuple[Node, ...]
    momenta: tuple[Node, ...]  # ∂T/∂v
    resistance: tuple[Node, ...]  # ∂D/∂v
    mass: Rows
    bias: tuple[Node, ...]
    points: tuple[Point, ...] = ()
    symmetric: bool = True
    bodies: BodyShare | None = None
    by_bodies_alone: bool = False  # whether M is theirs


def dynamics_of(system: System, inputs: Inputs, *, kinetic: Node | None = None) -> Dynamics:
    """Walk the energies and differentiate them on the graph; `kinetic` may be given in another, equal form.

    Bodies add their masses and bias by recursions of their own; along a spin ω of theirs, d/dt ∂T/∂ω + ω × ∂T/∂ω takes
    the place of d/dt ∂T/∂v.
    """
    walk, zero = inputs.walk, inputs.graph.zero
    bodies = body_share(system, inputs) if system.bodies and kinetic is None else None
    kinetic = walk(system.kinetic) if kinetic is None else kinetic
    potential, dissipation = walk(system.potential), walk(system.dissipation)
    if system.bodies and bodies is None:
        potential = potential + potential_energy(system, inputs)
    forces = [walk(system.forces[c.name]) if c.name in system.forces else zero for c in system.coordinates]
    by_motion = gradient(kinetic, inputs.v)
    inward, by_position = inputs.slopes(kinetic), inputs.slopes(potential)
    by_rate = gradient(dissipation, inputs.v)
    momenta = [by_motion.get(v, zero) for v in inputs.v]
    carried = inputs.rate(momenta)  # (∂²T/∂v∂q) v + ∂²T/∂v∂t
    resistance = [by_rate.get(v, zero) for v in inputs.v]
    bias = [
        force + own - away - resist - carry
        for force, own, away, resist, carry in zip(forces, inward, by_position, resistance, carried, strict=True)
    ]
    for ball in inputs.balls:
        spin, about = [inputs.v[k] for k in ball.places], [momenta[k] for k in ball.places]
        for place, push in zip(ball.places, cross(spin, about), strict=True):
            bias[place] = bias[place] - push
    mass = jacobian(momenta, inputs.v)
    alone = not any(mass)
    if bodies is not None:
        mass = _sum(mass, bodies.mass)
        bias = [own + more for own, more in zip(bias, bodies.bias, strict=True)]
        kinetic, potential = kinetic + bodies.kinetic, potential + bodies.potential
        by_spin = gradient(bodies.kinetic, inputs.v)
        momenta = [own + by_spin.get(v, zero) for own, v in zip(momenta, inputs.v, strict=True)]
    points, symmetric = points_of(system, inputs), True
    if points:
        share = projected(points, inputs)
        mass, symmetric = _sum(mass, share.mass), share.symmetric
        bias = [own + extra for own, extra in zip(bias, share.bias, strict=True)]
    return Dynamics(
        kinetic=kinetic,
        potential=potential,
        dissipation=dissipation,
        forces=tuple(forces),
        momenta=tuple(momenta),
        resistance=tuple(resistance),
        mass=mass,
        bias=tuple(bias),
        points=points,
        symmetric=symmetric,
        bodies=bodies,
        by_bodies_alone=bodies is not None and alone and not points,
    )


def _sum(left: Rows, right: Rows) -> Rows:
    total = [dict(row) for row in left]
    for row, more in zip(total, right, strict=True):
        for j, node in more.items():
            row[j] = row[j] + node if j in row else node
    return [{j: row[j] for j in sorted(row)} for row in total]


@dataclass(frozen=True, eq=False)
class Excess:
    """Lagrange's equations of the extended energies, in the inputs y and w.

        [𝓜_vv 𝓜_vw] (a )   (rhs_v)
        [𝓜_wv 𝓜_ww] (w') = (rhs_w)        𝓜 = ∂²(T + T_excess)/∂(v, w)²

    without the held forces. `separable` when 𝓜_vw = 0 and 𝓜_vv is the system's own mass matrix: then w' follows by
    itself.
    """

    mass: Rows  # the excess part alone, n + r square
    right: tuple[Node, ...]  # the excess part of (rhs_v ; rhs_w)
    separable: bool


def excess_of(form: LawForm, inputs: Inputs) -> Excess:
    """Differentiate the excess energies with y and w as quantities of their own."""
    walk, zero = inputs.walk, inputs.graph.zero
    kinetic, potential, dissipation = (walk(form.excess[name]) for name in ("kinetic", "potential", "dissipation"))
    y, w = list(inputs.y.values()), list(inputs.w.values())
    rates = [*inputs.v, *w]
    places: list[Node | None] = [*inputs.q, *y, *[None] * (len(w) - len(y))]
    by_all = gradient(kinetic, [*rates, *inputs.q, *y])
    momenta = [by_all.get(u, zero) for u in rates]
    along = inputs.direction | dict(zip(y, w, strict=False))  # dy/dt = w for the holonomic ones
    carried = directional(momenta, along)
    by_place = gradient(potential, [*inputs.q, *y])
    by_rate = gradient(dissipation, rates)
    right = []
    for u, x, carry in zip(rates, places, carried, strict=True):
        force = zero if x is None else by_all.get(x, zero) - by_place.get(x, zero)
        right.append(force - by_rate.get(u, zero) - carry)
    mass = jacobian(momenta, rates)
    separable = not any(row for row in mass[: len(inputs.v)])
    return Excess(mass, tuple(right), separable)
