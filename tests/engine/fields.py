"""Small fields made by hand from nodes, for the tests of the engine."""

from __future__ import annotations

import math

import numpy as np

from holdfast.graph.field import Field
from holdfast.graph.nodes import Graph, Node


def pendulum() -> Field:
    """q'' = -k sin q; the energy is observed."""
    g = Graph()
    t, q, v, k = (g.input(name) for name in "tqvk")
    energy = v**2 / 2 - k * g.call("cos", q)
    return Field(
        time=t, state=(q, v), parameters=(k,), rates=(v, -k * g.call("sin", q)), observables=(energy,), positions=1
    )


def forced_oscillator() -> Field:
    """q'' = -q + cos 2t: q = cos t + (cos t - cos 2t)/3 from q = 1, v = 0."""
    g = Graph()
    t, q, v = (g.input(name) for name in "tqv")
    return Field(time=t, state=(q, v), parameters=(), rates=(v, g.call("cos", 2 * t) - q), positions=1)


def forced_solution(t: float) -> np.ndarray:
    position = math.cos(t) + (math.cos(t) - math.cos(2 * t)) / 3
    rate = -math.sin(t) + (-math.sin(t) + 2 * math.sin(2 * t)) / 3
    return np.array([position, rate])


def blow_up() -> Field:
    """x' = x²: x = 1/(1 - t) from x = 1."""
    g = Graph()
    t, x = g.input("t"), g.input("x")
    return Field(time=t, state=(x,), parameters=(), rates=(x**2,))


def losing_rank() -> Field:
    """x' = -1 with the pivot x: it vanishes at t = 1 from x = 1."""
    g = Graph()
    t, x = g.input("t"), g.input("x")
    return Field(time=t, state=(x,), parameters=(), rates=(g.const(-1),), pivots=(x,))


def stiff() -> Field:
    """x' = -k (x - cos t) - sin t: x = cos t from x = 1, whatever k."""
    g = Graph()
    t, x, k = (g.input(name) for name in "txk")
    return Field(time=t, state=(x,), parameters=(k,), rates=(-k * (x - g.call("cos", t)) - g.call("sin", t),))


def van_der_pol() -> Field:
    """q'' = k (1 - q²) q' - q."""
    g = Graph()
    t, q, v, k = (g.input(name) for name in "tqvk")
    return Field(time=t, state=(q, v), parameters=(k,), rates=(v, k * (1 - q**2) * v - q), positions=1)


def two_rates() -> Field:
    """x' = 998 x + 1998 y, y' = -999 x - 1999 y: from (1, 0), x = 2 e^-t - e^-1000t and y = -e^-t + e^-1000t."""
    g = Graph()
    t, x, y = (g.input(name) for name in "txy")
    return Field(time=t, state=(x, y), parameters=(), rates=(998 * x + 1998 * y, -999 * x - 1999 * y))


def everything() -> Field:
    """One rate for each kind of operation, so that targets can be compared on all of them."""
    g = Graph()
    t, x, y, a = (g.input(name) for name in "txya")
    one = g.one
    square = x**2 + y**2 + 1
    terms: list[Node] = [
        g.call("sin", x + t) * g.call("cos", y),
        g.call("exp", -(x**2)) + g.call("log", square),
        g.call("sqrt", square) / (2 + g.call("cos", x)) + 1 / (2 + g.call("cos", x)) + y / (2 + g.call("cos", x)),
        g.call("tanh", x) + g.call("sinh", y) - g.call("cosh", x) + g.call("tan", x / 3),
        g.call("atan", x) + g.call("asin", y / 4) - g.call("acos", x / 4) + g.call("atan2", y, square),
        g.call("pow", square, a) + x**5 - y**7,
        g.call("abs", x) + g.call("sign", y) + g.call("min", x, y) + g.call("max", x, one),
        g.select(x, y, a) + g.pi() * x - g.const(1) / 3,
    ]
    return Field(
        time=t,
        state=(x, y),
        parameters=(a,),
        rates=(g.sum(terms) / 10 - x, terms[0] - y / 2),
        observables=tuple(terms),
        positions=1,
    )


def chain(links: int) -> tuple[Field, np.ndarray, list[float]]:
    """A hanging chain of point masses with Baumgarte's stabilisation, its tridiagonal system eliminated on the graph.

    Gives the field, a start near the horizontal, and the parameters (mass, length, gravity, damping, stiffness).
    """
    g = Graph()
    t = g.input("t")
    mass, length, gravity, damping, stiffness = parameters = tuple(g.input(name) for name in "mlgbk")
    q = [g.input(f"q{i}") for i in range(2 * links)]
    v = [g.input(f"v{i}") for i in range(2 * links)]
    along = [q[i] - q[i - 2] if i >= 2 else q[i] for i in range(2 * links)]
    apart = [v[i] - v[i - 2] if i >= 2 else v[i] for i in range(2 * links)]
    inverse = 1 / mass
    diagonal, beside, right = [], [], []
    for e in range(links):
        dx, dy, du, dv = along[2 * e], along[2 * e + 1], apart[2 * e], apart[2 * e + 1]
        square = dx**2 + dy**2
        diagonal.append(square * inverse * (1 if e == 0 else 2))
        demand = damping * (dx * du + dy * dv) + stiffness * (square - length**2) / 2 + du**2 + dv**2
        right.append(gravity * dy - demand if e == 0 else -demand)
        if e:
            beside.append(-(along[2 * e - 2] * dx + along[2 * e - 1] * dy) * inverse)
    pivots, factors = [diagonal[0]], []
    for e in range(1, links):
        factors.append(beside[e - 1] / pivots[-1])
        pivots.append(diagonal[e] - factors[-1] * beside[e - 1])
        right[e] = right[e] - factors[-1] * right[e - 1]
    forces = [right[e] / pivots[e] for e in range(links)]
    for e in range(links - 2, -1, -1):
        forces[e] = forces[e] - factors[e] * forces[e + 1]
    accelerations = []
    for i in range(2 * links):
        pull = along[i] * forces[i // 2]
        if i + 2 < 2 * links:
            pull = pull - along[i + 2] * forces[i // 2 + 1]
        accelerations.append(pull * inverse - gravity if i % 2 else pull * inverse)
    field = Field(
        time=t,
        state=(*q, *v),
        parameters=parameters,
        rates=(*v, *accelerations),
        pivots=tuple(pivots),
        positions=2 * links,
    )
    angle = 0.45 * math.pi
    places = [[(i + 1) / links * math.sin(angle), -(i + 1) / links * math.cos(angle)] for i in range(links)]
    start = np.concatenate([np.ravel(places), np.zeros(2 * links)])
    return field, start, [1 / links, 1 / links, 9.81, 20.0, 100.0]
