"""The inputs of the equations on the graph: time, coordinates, rates, states, parameters, gains, deviations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import sympy as sp

from holdfast.common.memo import Memo
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import directional, gradient
from holdfast.graph.nodes import Graph, Node, ancestors
from holdfast.graph.table import Table
from holdfast.graph.walk import Function, Walker
from holdfast.problem.data import Data
from holdfast.problem.laws.linear import LawForm
from holdfast.problem.problem import Problem
from holdfast.problem.quantities import deviation_chain


@dataclass(frozen=True, eq=False)
class Ball:
    """A quaternion p whose rates follow from a spin ω: p' = p∘ω/2 + what brings its length back to 1."""

    quaternion: tuple[Node, ...]
    places: tuple[int, ...]  # of the spin among the rates

    def along(self, slopes: Sequence[Node]) -> list[Node]:
        """Σ slope ∂p'/∂ω, for each component of the spin."""
        w, x, y, z = self.quaternion
        a, b, c, d = slopes
        half = w.graph.one / 2
        return [
            half * (w * b - x * a + z * c - y * d),
            half * (w * c - y * a + x * d - z * b),
            half * (w * d - z * a + y * b - x * c),
        ]

    def turning(self, v: Sequence[Node]) -> list[Node]:
        """p∘ω/2, the part of p' that is linear in the spin."""
        w, x, y, z = self.quaternion
        a, b, c = (v[place] for place in self.places)
        half = w.graph.one / 2
        return [
            half * part
            for part in (-(x * a) - y * b - z * c, w * a + y * c - z * b, w * b - x * c + z * a, w * c + x * b - y * a)
        ]


@dataclass(frozen=True, eq=False)
class Inputs:
    """One node per quantity of a problem, and the walker that knows them by name.

    `y` and `w` are inputs of their own: laws are stated in them, and take the deviations' place only at the end. So are
    the accelerations `a` and the values of `controls`, for reactive forces and rates of states that depend on them, and
    the `multipliers` that friction uses.
    """

    graph: Graph
    time: Node
    q: tuple[Node, ...]
    v: tuple[Node, ...]
    s: tuple[Node, ...]
    state_rates: tuple[Node, ...]
    parameters: dict[str, Node]
    gains: dict[str, Node]
    y: dict[str, Node]
    w: dict[str, Node]
    walk: Walker
    a: tuple[Node, ...] = ()
    controls: dict[str, Node] = field(default_factory=dict)
    multipliers: dict[str, Node] = field(default_factory=dict)  # those that forces use, by lambda_ of the constraint
    stated_rates: tuple[Node, ...] = ()  # of states, in which controls are inputs
    balls: tuple[Ball, ...] = ()  # quaternions that three of the rates turn
    memo: Memo = field(init=False, repr=False, default_factory=Memo)

    @property
    def direction(self) -> dict[Node, Node]:
        """How the inputs move in time while the rates are held: q by v, t by 1, s by its rate."""
        return {
            self.time: self.graph.one,
            **dict(zip(self.q, self.v, strict=True)),
            **dict(zip(self.s, self.state_rates, strict=True)),
        }

    def slopes(self, node: Node) -> list[Node]:
        """By coordinate, how a quantity changes with a displacement along it: ∂/∂q, and along a spin Σ ∂/∂p ∂p'/∂ω."""
        turned = [part for ball in self.balls for part in ball.quaternion]
        found = gradient(node, (*self.q, *turned))
        slopes = [found.get(q, self.graph.zero) for q in self.q]
        for ball in self.balls:
            along = ball.along([found.get(part, self.graph.zero) for part in ball.quaternion])
            for place, slope in zip(ball.places, along, strict=True):
                slopes[place] = slopes[place] + slope
        return slopes

    def rate(self, nodes: list[Node]) -> list[Node]:
        """The part of the total time derivative that does not contain accelerations."""
        return directional(nodes, self.direction)

    def total_rate(self, nodes: list[Node]) -> list[Node]:
        """The total time derivative, linear in the accelerations."""
        return directional(nodes, self.direction | dict(zip(self.v, self.a, strict=True)))


def inputs_of(problem: Problem, form: LawForm, degrees: Mapping[str, int] | None = None) -> Inputs:
    """Make the inputs and walk the definitions and the rates of first-order states.

    Of a constraint above the usual degree, `w` is its last rate, and those before it follow the others in `y`.
    """
    system, program, graph = problem.system, problem.program, Graph()
    time = graph.input("t")
    q = {c.name: graph.input(c.name) for c in system.coordinates}
    v = {c.rate.name: graph.input(c.rate.name) for c in system.coordinates}
    s = {name: graph.input(name) for name in system.states}
    parameters = {name: graph.input(name) for name in (*system.parameters, *(s.name for s in system.letters))}
    gains = {name: graph.input(name) for name in form.gains}
    a = {c.acceleration.name: graph.input(c.acceleration.name) for c in system.coordinates}
    controls = {name: graph.input(name) for name in problem.controls_through_states}
    multipliers = {name: graph.input(name) for name in system.announced_multipliers}
    chains = {
        name: deviation_chain(name, name in program.holonomic, degree) for name, degree in (degrees or {}).items()
    }
    y = {name: graph.input(f"y_{name}") for name in program.holonomic}
    y |= {word: graph.input(word) for chain in chains.values() for word in chain[:-1] if not word.startswith("y_")}
    w = {name: graph.input(chains[name][-1] if name in chains else f"w_{name}") for name in program.constraints}

    direction: dict[Node, Node] = {time: graph.one, **dict(zip(q.values(), v.values(), strict=True))}
    deviations = {node.data: node for node in (*y.values(), *w.values())}
    named = {"t": time, **q, **v, **a, **s, **controls, **multipliers, **parameters, **gains, **deviations}
    stated = _Stated(problem, graph, named, direction)
    rates = stated.state_rates()
    return Inputs(
        graph=graph,
        time=time,
        q=tuple(q.values()),
        v=tuple(v.values()),
        s=tuple(s.values()),
        state_rates=rates,
        parameters=parameters,
        gains=gains,
        y=y,
        w=w,
        walk=stated.walk,
        a=tuple(a.values()),
        controls=controls,
        multipliers=multipliers,
        stated_rates=rates,
        balls=_balls(problem, s),
    )


def _balls(problem: Problem, states: Mapping[str, Node]) -> tuple[Ball, ...]:
    """The quaternions of the problem's bodies."""
    system = problem.system
    if system.frames is None:
        return ()
    place = {c.name: k for k, c in enumerate(system.coordinates)}
    steps = system.frames.layout.balls
    return tuple(Ball(tuple(states[n] for n in b.states), tuple(place[n] for n in b.coordinates)) for b in steps)


def _by_data(graph: Graph, table: Table) -> Function:
    return lambda orders, args: graph.table(table, orders[0], args[0])


class _Stated:
    """Definitions and rates of states, walked as they are needed: either may contain d/dt of the other."""

    def __init__(self, problem: Problem, graph: Graph, named: dict[str, Node], direction: dict[Node, Node]) -> None:
        system, self._rates = problem.system, problem.state_rates
        self._system, self._direction = system, direction
        self._states = {named[name]: name for name in system.states}
        self._begun: set[str] = set()
        self.walk = Walker(graph, named, rate=self._rate, functions=self._given(graph))
        for name in system.definitions:
            self._define(name)

    def _given(self, graph: Graph) -> dict[str, Function]:
        """The functions that have an expression or data, on the graph."""
        found: dict[str, Function] = {}
        for name, stated in self._system.functions.items():
            if isinstance(stated.value, Data):
                found[name] = _by_data(graph, Table(name, *stated.value.pieces()))
            elif stated.value is not None:
                found[name] = partial(self._by_expression, stated.value)
        return found

    def _by_expression(self, expression: sp.Expr, orders: tuple[int, ...], args: tuple[Node, ...]) -> Node:
        node = self.walk(expression)
        for arg, order in zip(args, orders, strict=True):
            for _ in range(order):
                (node,) = directional([node], {arg: node.graph.one})
        return node

    def state_rates(self) -> tuple[Node, ...]:
        """The rates of all states, in their order."""
        return tuple(self._rate_of(node) for node in self._states)

    def _rate(self, node: Node) -> Node:
        for found in ancestors((node,)):
            if found in self._states:
                self._rate_of(found)
        return directional([node], self._direction)[0]

    def _rate_of(self, node: Node) -> Node:
        name = self._states[node]
        if node not in self._direction:
            if name in self._begun:
                raise BadStatement(
                    f"the rate of {name!r} needs itself",
                    where=f"system.states.{name}",
                    fix="state it without d/dt of it",
                )
            self._begun.add(name)
            self._define_all_in(self._rates[name])
            self._direction[node] = self.walk(self._rates[name])
        return self._direction[node]

    def _define(self, name: str) -> None:
        if name not in self._begun:
            self._begun.add(name)
            self._define_all_in(self._system.definitions[name])
            self.walk.define(name, self._system.definitions[name])

    def _define_all_in(self, expression: sp.Expr) -> None:
        for symbol in expression.free_symbols:
            if symbol.name in self._system.definitions:
                self._define(symbol.name)
