"""The inputs of the equations on the graph: time, coordinates, rates, states, parameters, gains, deviations."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.graph.derivatives import directional
from holdfast.graph.nodes import Graph, Node
from holdfast.graph.walk import Walker
from holdfast.problem.laws import LawForm
from holdfast.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Inputs:
    """One node per quantity of a problem, and the walker that knows them by name.

    `y` and `w` are inputs of their own: laws are stated in them, and take the deviations' place only at the end.
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

    @property
    def direction(self) -> dict[Node, Node]:
        """How the inputs move in time while the rates are held: q by v, t by 1, s by its rate."""
        return {
            self.time: self.graph.one,
            **dict(zip(self.q, self.v, strict=True)),
            **dict(zip(self.s, self.state_rates, strict=True)),
        }

    def rate(self, nodes: list[Node]) -> list[Node]:
        """The part of the total time derivative that does not contain accelerations."""
        return directional(nodes, self.direction)


def inputs_of(problem: Problem, form: LawForm) -> Inputs:
    """Make the inputs and walk the definitions and the rates of first-order states."""
    system, program, graph = problem.system, problem.program, Graph()
    time = graph.input("t")
    q = {c.name: graph.input(c.name) for c in system.coordinates}
    v = {c.rate.name: graph.input(c.rate.name) for c in system.coordinates}
    s = {name: graph.input(name) for name in system.states}
    parameters = {name: graph.input(name) for name in system.parameters}
    gains = {name: graph.input(name) for name in form.gains}
    y = {name: graph.input(f"y_{name}") for name in program.holonomic}
    w = {name: graph.input(f"w_{name}") for name in program.constraints}

    direction: dict[Node, Node] = {time: graph.one, **dict(zip(q.values(), v.values(), strict=True))}
    deviations = {node.data: node for node in (*y.values(), *w.values())}
    walk = Walker(
        graph,
        {"t": time, **q, **v, **s, **parameters, **gains, **deviations},
        rate=lambda node: directional([node], direction)[0],
    )
    for name, expression in system.definitions.items():
        walk.define(name, expression)
    rates = tuple(walk(expression) for expression in system.states.values())
    direction |= dict(zip(s.values(), rates, strict=True))
    return Inputs(
        graph, time, tuple(q.values()), tuple(v.values()), tuple(s.values()), rates, parameters, gains, y, w, walk
    )
