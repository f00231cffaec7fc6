"""Points of variable mass on the graph: two ways to their equations, which must agree.

    A   r_qᵀ (m r'' − f − f^p) = 0                                      projection, the default
    B   d/dt T_v − T_q = r_qᵀ f + f^a,      T = m |r'|²/2               Lagrange with the added forces

    f^p = F a + f₀        reactive force, linear in the accelerations a where the mass depends on rates
    f^a_i = (f^p + m' r')·r_{q_i} + ½ d/dt(m_{v_i} |r'|²) − ½ m_{q_i} |r'|²

Route A makes M = m r_qᵀ r_q − r_qᵀ F, which need not be symmetric. It needs no derivative of the mass but through f^p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.mass_checks import check_balance, check_linear
from holdfast.graph.derivatives import directional, gradient, jacobian
from holdfast.graph.linear_algebra import Rows, transposed
from holdfast.graph.nodes import Graph, Node, ancestors, substitute
from holdfast.problem.masses.moving_mass import MovingMass
from holdfast.problem.system import System

Nodes = tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Point:
    """One point as nodes. `mass_rate` and `reactive` contain the accelerations as inputs where they depend on them."""

    name: str
    mass: Node
    mass_rate: Node
    velocity: Nodes  # r' = r_q v + r_t
    slopes: Rows  # r_q: components by coordinates
    base_velocity: Nodes  # r_t, of a position that moves by itself
    force: Nodes
    reactive: Nodes  # f^p = F a + f₀
    varies: bool

    @property
    def square(self) -> Node:
        """|r'|²."""
        return self.mass.graph.dot(self.velocity, self.velocity)

    @property
    def kinetic(self) -> Node:
        """m |r'|²/2, with the mass as it is now."""
        return self.mass * self.square / 2


@dataclass(frozen=True, eq=False)
class Share:
    """What points add to M a = h."""

    mass: Rows
    bias: Nodes
    symmetric: bool


def points_of(system: System, inputs: Inputs) -> tuple[Point, ...]:
    """Walk the points and differentiate their positions."""
    return tuple(_point(name, mass, inputs) for name, mass in system.masses.items())


def _point(name: str, stated: MovingMass, inputs: Inputs) -> Point:
    walk, graph = inputs.walk, inputs.graph
    position = [walk(part) for part in stated.position]
    slopes = jacobian(position, inputs.q)
    velocity = inputs.rate(position)
    mass = walk(stated.mass)
    (mass_rate,) = inputs.total_rate([mass])
    force = tuple(walk(part) for part in stated.force) or (graph.zero,) * len(position)
    reactive = _reactive(name, stated, mass_rate, velocity, inputs)
    return Point(
        name=name,
        mass=mass,
        mass_rate=mass_rate,
        velocity=tuple(velocity),
        slopes=slopes,
        base_velocity=tuple(directional(position, _explicit(inputs))),
        force=force,
        reactive=reactive,
        varies=not _only(mass, set(inputs.parameters.values())),
    )


def _explicit(inputs: Inputs) -> dict[Node, Node]:
    """How what is not a coordinate moves: time, and first-order states."""
    return {inputs.time: inputs.graph.one} | dict(zip(inputs.s, inputs.state_rates, strict=True))


def _only(node: Node, allowed: set[Node]) -> bool:
    return all(part in allowed for part in ancestors((node,)) if part.op == "input")


def _reactive(name: str, stated: MovingMass, mass_rate: Node, velocity: list[Node], inputs: Inputs) -> Nodes:
    """f^p: streams, inner motions, jumps, and what is given outright."""
    walk, graph, size = inputs.walk, inputs.graph, len(velocity)
    total = [graph.zero] * size

    def add(scale: Node, vector: Sequence[Node]) -> None:
        for i in range(size):
            total[i] = total[i] + scale * vector[i]

    known = graph.sum(walk(stream.rate) for stream in stated.streams if stream.rate is not None)
    for stream in stated.streams:
        rate = mass_rate - known if stream.rate is None else walk(stream.rate)
        seen = [walk(part) for part in stream.velocity]
        add(rate, seen if stream.relative else [u - v for u, v in zip(seen, velocity, strict=True)])
    for inner in stated.inner:
        mass, relative = walk(inner.mass), [walk(part) for part in inner.velocity]
        changes = inputs.total_rate(relative) if inner.acceleration is None else [walk(w) for w in inner.acceleration]
        add(-mass, changes)
        if stated.turning:
            add(-2 * mass, _cross([walk(part) for part in stated.turning], relative))
    for jump in stated.jumps:
        add(-walk(jump.flow), [walk(part) for part in jump.change])
    if stated.reactive is not None:
        add(graph.one, [walk(part) for part in stated.reactive])
    check_linear(name, total, inputs)
    stated_all = stated.streams and all(stream.rate is not None for stream in stated.streams)
    if stated_all and not (stated.thrust or stated.jumps or stated.reactive is not None):
        check_balance(name, mass_rate - known)
    return tuple(total)


def _cross(turning: list[Node], vector: list[Node]) -> list[Node]:
    """ω × u, in the plane or in space."""
    if len(turning) == 1:
        return [-(turning[0] * vector[1]), turning[0] * vector[0]]
    (a, b, c), (x, y, z) = turning, vector
    return [b * z - c * y, c * x - a * z, a * y - b * x]


# ── route A: projection ───────────────────────────────────────────────────────────────────────────


def projected(points: Sequence[Point], inputs: Inputs) -> Share:
    """(Σ m r_qᵀ r_q − r_qᵀ F) a = Σ r_qᵀ (f + f₀ − m (d r_q/dt v + d r_t/dt))."""
    graph, n = inputs.graph, len(inputs.q)
    mass: Rows = [{} for _ in range(n)]
    bias = [graph.zero] * n
    symmetric = True
    at_rest = {a: graph.zero for a in inputs.a}
    for point in points:
        by_acceleration = jacobian(point.reactive, inputs.a)
        still = substitute(point.reactive, at_rest)
        carried = inputs.rate(list(point.velocity))  # r'' with a = 0
        free = [f + p - point.mass * c for f, p, c in zip(point.force, still, carried, strict=True)]
        columns, pulls = transposed(point.slopes, n), transposed(by_acceleration, n)
        symmetric = symmetric and (n == 1 or not any(by_acceleration))
        for i, column in enumerate(columns):
            bias[i] = bias[i] + graph.sum(slope * free[k] for k, slope in column.items())
            for j in range(n):
                entry = point.mass * _overlap(column, columns[j], graph) - _overlap(column, pulls[j], graph)
                if entry is not graph.zero:
                    mass[i][j] = mass[i][j] + entry if j in mass[i] else entry
    return Share(mass, tuple(bias), symmetric)


def _overlap(left: dict[int, Node], right: dict[int, Node], graph: Graph) -> Node:
    return graph.sum(value * right[k] for k, value in left.items() if k in right)


# ── route B: Lagrange with the added forces ───────────────────────────────────────────────────────


def added_forces(points: Sequence[Point], inputs: Inputs) -> Nodes:
    """f^a by coordinate, with the accelerations as inputs."""
    graph, n = inputs.graph, len(inputs.q)
    total = [graph.zero] * n
    for point in points:
        columns = transposed(point.slopes, n)
        pushed = [p + point.mass_rate * v for p, v in zip(point.reactive, point.velocity, strict=True)]
        by_motion = gradient(point.mass, (*inputs.q, *inputs.v))
        by_rate = [by_motion.get(v, graph.zero) * point.square / 2 for v in inputs.v]
        for i, (column, change) in enumerate(zip(columns, inputs.total_rate(by_rate), strict=True)):
            here = graph.sum(slope * pushed[k] for k, slope in column.items())
            total[i] = total[i] + here + change - by_motion.get(inputs.q[i], graph.zero) * point.square / 2
    return tuple(total)


def from_lagrange(points: Sequence[Point], inputs: Inputs) -> Share:
    """The same share by d/dt T_v − T_q = r_qᵀ f + f^a: the check on route A."""
    graph, n = inputs.graph, len(inputs.q)
    kinetic = graph.sum(point.kinetic for point in points)
    by_motion = gradient(kinetic, (*inputs.q, *inputs.v))
    changes = inputs.total_rate([by_motion.get(v, graph.zero) for v in inputs.v])
    active = [graph.zero] * n
    for point in points:
        for i, column in enumerate(transposed(point.slopes, n)):
            active[i] = active[i] + graph.sum(slope * point.force[k] for k, slope in column.items())
    left = [
        change - by_motion.get(q, graph.zero) - push - extra
        for change, q, push, extra in zip(changes, inputs.q, active, added_forces(points, inputs), strict=True)
    ]
    at_rest = {a: graph.zero for a in inputs.a}
    return Share(jacobian(left, inputs.a), tuple(-node for node in substitute(left, at_rest)), symmetric=False)


# ── work and power ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Work:
    """(f^d)ᵀ dr = f0ᵀ dq + f1ᵀ dv + ft dt for f^d = f^p + m' r'/2, so that dT = fᵀ dr + (f^d)ᵀ dr."""

    by_position: Nodes  # f0
    by_rate: Nodes  # f1
    by_time: Node  # ft


def work_of(points: Sequence[Point], inputs: Inputs) -> Work:
    """The elementary work of the additional forces, split by what moves."""
    graph, n = inputs.graph, len(inputs.q)
    f0, f1, ft = [graph.zero] * n, [graph.zero] * n, graph.zero
    at_rest = {a: graph.zero for a in inputs.a}
    for point in points:
        still = substitute(point.reactive, at_rest)
        pulls = transposed(jacobian(point.reactive, inputs.a), n)
        by_motion = gradient(point.mass, (*inputs.q, *inputs.v))
        (by_time,) = directional([point.mass], _explicit(inputs))
        for i, column in enumerate(transposed(point.slopes, n)):
            pushed = graph.sum(slope * still[k] for k, slope in column.items())
            f0[i] = f0[i] + pushed + by_motion.get(inputs.q[i], graph.zero) * point.square / 2
            pulled = graph.sum(value * point.velocity[k] for k, value in pulls[i].items())
            f1[i] = f1[i] + pulled + by_motion.get(inputs.v[i], graph.zero) * point.square / 2
        ft = ft + graph.dot(still, point.base_velocity) + by_time * point.square / 2
    return Work(tuple(f0), tuple(f1), ft)


def powers(points: Sequence[Point], inputs: Inputs, actual: dict[Node, Node]) -> tuple[Node, Node, Node]:
    """What forces, added forces and moving positions do to Σ m |r'|²/2 per unit of time.

        forces     f · r'
        added      f^d · r',   f^d = f^p + m' r'/2
        moving     r_t · (m r'' − f − f^p), by whatever keeps the positions moving

    `actual` puts the accelerations (and controls) found in the place of the inputs.
    """
    graph = inputs.graph
    forces = added = moving = graph.zero
    for point in points:
        acceleration = inputs.total_rate(list(point.velocity))
        forces = forces + graph.dot(point.force, point.velocity)
        added = added + graph.dot(point.reactive, point.velocity) + point.mass_rate * point.square / 2
        left = [point.mass * a - f - p for a, f, p in zip(acceleration, point.force, point.reactive, strict=True)]
        moving = moving + graph.dot(point.base_velocity, left)
    forces, added, moving = substitute([forces, added, moving], actual)
    return forces, added, moving
