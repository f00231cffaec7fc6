"""How large the terms of a number are: the unit in which deviations, and energies, are judged.

A difference of large terms is known to a few roundings of the terms, not of itself, and is large or small beside them.
With s(a) the size of what a number a is made of,

    s(u) = the size of an input     s(f(a, b)) = |∂f/∂a| s(a) + |∂f/∂b| s(b)     (+ |f| where f is a function)

so that s((x² + y² − l²)/2) is about x² + y² + l² and that of a skate's w is made of speeds. A computed number is right
to about s · 2⁻⁵³. Sizes scale as the number itself does: metres, nanometres and astronomical units get the same ratios.

Two uses. *Rounding* takes each input by its own size. *Nature* asks what is large for a deviation, wherever the origin
lies and however the whole moves (`natural_nodes`): for (u − x)² + (v − z)² − l² that is about l², whatever u and x are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.memo import remembered
from holdfast.equations.dynamics.inputs import Ball
from holdfast.equations.equations import Equations
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.tape import Evaluator, Tape
from holdfast.graph.derivatives import PARTIALS, jacobian
from holdfast.graph.nodes import Graph, Node, ancestors

EPSILON = float(np.finfo(float).eps)
ROUNDINGS = 4 * EPSILON  # of its size, the error of one computed number
ROUNDING_NOISE = 64 * EPSILON  # of its size: below this, rounding noise
MOST_TERMS = 1000  # of a number: products of sums that are looked into twice make twice as many, each time
OFF = 1e-9  # of its size, a deviation above this counts as one: a value stated to nine digits is meant
TURNS = ("sin", "cos")
LINEAR = ("add", "sub", "mul", "div", "neg", "power", "abs", "min", "max", "select")

Array = np.ndarray
Slopes = Mapping[Node, Node]  # by inputs


def size_nodes(nodes: Sequence[Node], sizes: Mapping[Node, Node]) -> list[Node]:
    """s of each node, on the graph, from the sizes of the inputs."""
    if not nodes:
        return []
    graph, known = nodes[0].graph, {node.index: size for node, size in sizes.items()}
    for node in ancestors(nodes):
        if node.index not in known:
            known[node.index] = _size(graph, node, known)
    return [known[node.index] for node in nodes]


def own_sizes(inputs: Sequence[Node], balls: Sequence[Ball]) -> dict[Node, Node]:
    """Of each input its own size; of a part of a quaternion the length, for turns round all parts alike."""
    found = {node: node.graph.call("abs", node) for node in inputs}
    for ball in balls:
        length = ball.quaternion[0].graph.call("sqrt", ball.quaternion[0].graph.dot(ball.quaternion, ball.quaternion))
        found |= dict.fromkeys(ball.quaternion, length)
    return found


def natural_nodes(nodes: Sequence[Node], sizes: Mapping[Node, Node]) -> list[Node]:
    """What is large for each node, on the graph, from the sizes of the inputs that move.

    A node is a sum of terms: inputs times what stands still, which count with the reach R of the inputs; others that
    move, which count with their values N; and what stands still, c. Then

        N + min(R, N + |c|)         R where there is neither N nor c

    so that neither a far origin (in c) nor a common motion (in R) makes everything else small.
    """
    if not nodes:
        return []
    graph = nodes[0].graph
    moving = {node.index for node in sizes}
    for node in ancestors(nodes):
        if any(argument.index in moving for argument in node.args):
            moving.add(node.index)
    return [_natural(graph, node, sizes, moving) for node in nodes]


def _natural(graph: Graph, node: Node, sizes: Mapping[Node, Node], moving: set[int]) -> Node:
    reach, values, still, looked_at = graph.zero, graph.zero, graph.zero, 0
    waiting = [(node, graph.one, False)]
    while waiting:
        term, factor, turns = waiting.pop()  # `turns`: the factor moves
        looked_at += 1
        if term.index not in moving and not turns:
            still = still + factor * term
        elif term in sizes:
            reach = reach + graph.call("abs", factor) * sizes[term]
        elif term.op in ("add", "sub"):
            waiting += [(term.args[0], factor, turns), (term.args[1], factor if term.op == "add" else -factor, turns)]
        elif term.op == "neg":
            waiting.append((term.args[0], -factor, turns))
        elif term.op == "mul" and (opened := _opened(term, moving, few=looked_at < MOST_TERMS)):
            for inner in opened:
                other = term.args[1 - inner]
                waiting.append((term.args[inner], factor * other, turns or other.index in moving))
        elif term.op == "div" and term.args[0].index in moving:
            waiting.append((term.args[0], factor / term.args[1], turns or term.args[1].index in moving))
        else:
            values = values + graph.call("abs", factor * term)
    beside = values + graph.call("abs", still)
    known = values + graph.call("min", reach, beside)
    return reach if values.is_zero and still.is_zero else graph.select(beside, known, reach)


def _opened(product: Node, moving: set[int], *, few: bool) -> list[int]:
    """Which operands of a product are looked into: the one that moves, or the sums: of (a + b)(c + d), which may vanish
    by one of them, the terms of either times the other; none of these where there are not `few` terms.
    """
    moves = [k for k, operand in enumerate(product.args) if operand.index in moving]
    sums = [k for k in moves if product.args[k].op in ("add", "sub")]
    return moves if len(moves) == 1 else sums if few or len(sums) == 1 else []


def _size(graph: Graph, node: Node, known: Mapping[int, Node]) -> Node:
    args = node.args
    if not args:
        return graph.call("abs", node)
    if node.op in ("add", "sub"):  # the commonest, whose slopes are 1
        return graph.add(known[args[0].index], known[args[1].index])
    if node.op == "mul":
        size = graph.mul(graph.call("abs", args[1]), known[args[0].index])
        return graph.add(size, graph.mul(graph.call("abs", args[0]), known[args[1].index]))
    total = graph.zero if node.op in LINEAR else graph.call("abs", node)
    for slope, argument in zip(PARTIALS[node.op](graph, node), node.args, strict=True):
        total = total + graph.call("abs", slope) * known[argument.index]
    return total


def turning(node: Node, inputs: Sequence[Node]) -> dict[Node, Node]:
    """The inputs that a node has in sines and cosines alone, and how much faster than they the angles there change.

    To first order a heading that has turned by a hundred radians would make a hundred times as much of a speed.
    """
    graph, angles, waiting, seen = node.graph, dict[Node, None](), [node], {node}
    while waiting:
        term = waiting.pop()
        if term.op in TURNS:
            angles[term.args[0]] = None
            continue
        waiting += [argument for argument in term.args if argument not in seen]
        seen.update(term.args)
    found: dict[Node, Node] = {}
    for row in jacobian(tuple(angles), inputs):
        for j, slope in row.items():
            if inputs[j] not in seen:
                pace = graph.call("abs", slope)
                found[inputs[j]] = graph.call("max", found[inputs[j]], pace) if inputs[j] in found else pace
    return found


def _within(size: Node, pace: Node | None) -> Node:
    """The size of an input, of one that only turns something no more than a radian of it."""
    return size if pace is None else size.graph.call("min", size, size.graph.one / pace)


class Sizes:
    """The sizes of some nodes of the equations, at one state or at many."""

    def __init__(
        self, equations: Equations, nodes: Sequence[Node], slopes: Callable[[], Mapping[Node, Slopes]] = dict
    ) -> None:
        """`slopes` by inputs, for nodes that are taken to first order: what is large for them is Σ|slope|·size."""
        self._slopes, self._balls = slopes, equations.inputs.balls
        self._nodes, states = list(nodes), len(equations.field.state)
        gains = 0 if equations.deviations.degrees else len(equations.inputs.gains)  # the law does not enter, unless
        self._inputs = equations.field.inputs[: len(equations.field.inputs) - gains]  # rates of higher order contain it
        self._parameters = len(self._inputs) - states - 1

    def rounding(self, time: float, state: Sequence[float], constants: Sequence[float]) -> Array:
        """s of each node at one state, inputs by their own size."""
        return np.array(self._own([time, *state, *constants[: self._parameters]]))

    def roundings(self, time: float, states: Array, constants: Array) -> Array:
        """s of each node in each case, (cases, nodes)."""
        return self._table(
            self._own_many, [np.full(len(states), time), *states.T, *constants.T[: self._parameters]], len(states)
        )

    def along(self, times: Array, states: Array, constants: Sequence[float]) -> Array:
        """s of each node along a run, (rows, nodes), from times and states (states, rows); inputs by their own size."""
        return self._table(
            self._own_many, [times, *states, *map(np.float64, constants[: self._parameters])], len(times)
        )

    def natural(self, times: Array, states: Array, constants: Array, sizes: Array) -> Array:
        """What is large for each node at each row, (rows, nodes), from the sizes of time and states."""
        shared = np.broadcast_to(constants, (len(states), np.shape(constants)[-1]))
        inputs = [times, *states.T, *shared.T[: self._parameters]]
        return self._table(self._natural_many, [*inputs, *np.asarray(sizes).T], len(states))

    def natural_at(
        self, time: float, state: Sequence[float], constants: Sequence[float], sizes: Sequence[float]
    ) -> Array:
        """The same at one state."""
        return np.array(self._natural([time, *state, *constants[: self._parameters], *sizes]))

    @staticmethod
    def _table(evaluator: Evaluator, inputs: Sequence[Any], rows: int) -> Array:
        with np.errstate(all="ignore"):
            values = evaluator(inputs)
        found = np.empty((len(values), rows))
        for row, value in zip(found, values, strict=True):
            row[:] = value
        return found.T

    @cached_property
    def own_nodes(self) -> tuple[Node, ...]:
        """s of each node on the graph, inputs by their own size."""
        return tuple(size_nodes(self._nodes, own_sizes(self._inputs, self._balls)))

    @cached_property
    def _own_tape(self) -> Tape:
        return Tape(self._inputs, self.own_nodes)

    @cached_property
    def _natural_tape(self) -> Tape:
        moving = self._inputs[: len(self._inputs) - self._parameters]
        sizes = {node: node.graph.input(f"size of {node.data}") for node in moving}
        found, slopes = natural_nodes(self._nodes, sizes), self._slopes()
        turned = any(node.op in TURNS for node in ancestors(self._nodes))
        for k, node in enumerate(self._nodes):
            if node in slopes:
                turns = turning(node, tuple(slopes[node])) if turned else {}
                terms = [
                    node.graph.call("abs", slope) * _within(sizes[moved], turns.get(moved))
                    for moved, slope in slopes[node].items()
                ]
                found[k] = node.graph.sum(terms)
        return Tape((*self._inputs, *sizes.values()), tuple(found))

    @cached_property
    def _own(self) -> Evaluator:
        return self._own_tape

    @cached_property
    def _own_many(self) -> Evaluator:
        return self._own_tape.compiled(ARRAYS)

    @cached_property
    def _natural(self) -> Evaluator:
        return self._natural_tape

    @cached_property
    def _natural_many(self) -> Evaluator:
        return self._natural_tape.compiled(ARRAYS)


def deviation_sizes(equations: Equations) -> Sizes:
    """The sizes of all y_ and w_, in the order of their names; made once for all laws of these deviations."""

    def slopes() -> dict[Node, Slopes]:
        inputs = (*equations.inputs.q, *equations.inputs.v, *equations.inputs.s)
        rows = zip(equations.deviations.w, jacobian(equations.deviations.w, inputs), strict=True)
        return {node: {inputs[j]: slope for j, slope in row.items()} for node, row in rows}

    nodes = [*equations.deviations.y, *equations.deviations.w]
    return equations.deviations.memo.once(deviation_sizes, lambda: Sizes(equations, nodes, slopes))


@remembered
def energy_size(equations: Equations) -> Sizes:
    """The size of the terms of the energy."""
    return Sizes(equations, [equations.observables["energy"]])
