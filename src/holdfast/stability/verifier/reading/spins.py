"""Bodies that turn freely: quaternions p as states, spins ω as rates of coordinates that nothing depends on.

    p' = p∘ω/2 + κ (1 − |p|²) p/2

Such rates are no rates of coordinates, so that Lagrange's equations do not hold for them; d'Alembert's principle does,

    Σ m ∂c'/∂v · c'' + ∂ω/∂v · (I ω' + ω × I ω) = forces,

with c the centre of mass of a body and ω the spin in its own axes. A force is what the power of it is, by ∂/∂v.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.stability.verifier.numbers.dag import Node, inputs_of
from holdfast.stability.verifier.reading.turns import Vector, cross, dot, plus, times
from holdfast.stability.verifier.refusal import Unconfirmed

if TYPE_CHECKING:
    from holdfast.stability.verifier.reading.statement import Statement


@dataclass(frozen=True, eq=False)
class Moving:
    """A body: its mass, the speed of its centre, its inertia and spin in its own axes."""

    mass: Node
    speed: Vector
    inertia: list[Vector]
    spin: Vector


def quaternion_rates(made: Statement, quaternion: list[str], spins: list[str], pull: Node) -> dict[str, Node]:
    """The rates of a quaternion w x y z: half its product with the spin, and what returns it to length 1."""
    dag = made.dag
    w, x, y, z = p = [dag.input(name) for name in quaternion]
    a, b, c = (dag.input(f"{name}_dot") for name in spins)

    def total(*terms: tuple[int, Node, Node]) -> Node:
        return dag.sum(dag.mul(dag.const(sign), dag.mul(one, other)) for sign, one, other in terms)

    turning = [
        total((-1, x, a), (-1, y, b), (-1, z, c)),
        total((1, w, a), (1, y, c), (-1, z, b)),
        total((1, w, b), (1, z, a), (-1, x, c)),
        total((1, w, c), (1, x, b), (-1, y, a)),
    ]
    missing = dag.mul(pull, dag.sub(dag.one, dot(dag, p, p)))
    halves = (dag.add(rate, dag.mul(missing, part)) for rate, part in zip(turning, p, strict=True))
    return {name: dag.div(rate, dag.const(2)) for name, rate in zip(quaternion, halves, strict=True)}


def along_rates(made: Statement, node: Node) -> list[Node]:
    """How a function of places and turns changes with each rate: for true coordinates its slopes.

    States of the problem's own are no places: that they change with the motion moves no force.
    """
    dag = made.dag
    rates = {q: dag.input(f"{q}_dot") for q in made.coordinates}
    along = {dag.input(q): rate for q, rate in (rates | made.quaternions).items()}
    (found,) = dag.partials(dag.derivatives([node], along), list(rates.values()))
    return found


def projected(stated: Statement, v: list[Node], along: Mapping[Node, Node]) -> tuple[list[list[Node]], list[Node]]:
    """M and h by d'Alembert's principle."""
    dag = stated.dag
    assert stated.potential is not None
    assert stated.dissipation is not None
    fast = inputs_of([stated.potential]) & {f"{q}_dot" for q in stated.coordinates}
    if stated.own_kinetic or fast:
        raise Unconfirmed("energies beside those of bodies that turn by quaternions are not re-checked")
    mass = [[dag.zero] * len(v) for _ in v]
    (loss,) = dag.partials([stated.dissipation], v)
    fall = along_rates(stated, stated.potential)
    bias = [
        dag.sub(dag.sub(stated.forces.get(name, dag.zero), a), b)
        for name, a, b in zip(stated.coordinates, fall, loss, strict=True)
    ]
    for body in stated.moving:
        by_speed, by_spin = (dag.partials(part, v) for part in (body.speed, body.spin))
        carried, turned = (dag.derivatives(part, along) for part in (body.speed, body.spin))
        momentum = times(dag, body.inertia, body.spin)
        gyration = plus(dag, times(dag, body.inertia, turned), cross(dag, body.spin, momentum))
        for k in range(len(v)):
            speed_k, spin_k = [row[k] for row in by_speed], [row[k] for row in by_spin]
            lost = dag.add(dag.mul(body.mass, dot(dag, speed_k, carried)), dot(dag, spin_k, gyration))
            bias[k] = dag.sub(bias[k], lost)
            for j in range(len(v)):
                speed_j, spin_j = [row[j] for row in by_speed], [row[j] for row in by_spin]
                own = dag.mul(body.mass, dot(dag, speed_k, speed_j))
                own = dag.add(own, dot(dag, spin_k, times(dag, body.inertia, spin_j)))
                mass[k][j] = dag.add(mass[k][j], own)
    return mass, bias
