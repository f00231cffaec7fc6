"""Derivatives on the graph: along a direction (forward), of one output by all inputs (backward), and jacobians."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from holdfast.graph.elimination.slopes import no_slope, system_change
from holdfast.graph.nodes import SYSTEMS, Graph, Node, ancestors

Partials = Callable[[Graph, Node], tuple[Node, ...]]
PLAIN = frozenset(("add", "sub", "mul"))


def _power(g: Graph, n: Node) -> tuple[Node, ...]:
    return (g.const(n.data) * g.power(n.args[0], n.data - 1),)


def _pow(g: Graph, n: Node) -> tuple[Node, ...]:
    base, exponent = n.args
    by_base = exponent * g.call("pow", base, exponent - 1)
    return by_base, (g.zero if exponent.op == "const" else n * g.call("log", base))


def _atan2(g: Graph, n: Node) -> tuple[Node, ...]:
    y, x = n.args
    square = x**2 + y**2
    return x / square, -(y / square)


def _function(g: Graph, n: Node) -> tuple[Node, ...]:
    """An undetermined function by each of its operands: the next derivative."""
    name, orders = n.data
    once = [tuple(order + (k == place) for k, order in enumerate(orders)) for place in range(len(orders))]
    return tuple(g.function(name, more, n.args) for more in once)


PARTIALS: dict[str, Partials] = {
    "add": lambda g, n: (g.one, g.one),
    "sub": lambda g, n: (g.one, g.minus_one),
    "mul": lambda g, n: (n.args[1], n.args[0]),
    "div": lambda g, n: (g.one / n.args[1], -(n / n.args[1])),
    "neg": lambda g, n: (g.minus_one,),
    "power": _power,
    "pow": _pow,
    "atan2": _atan2,
    "sqrt": lambda g, n: (g.one / (2 * n),),
    "exp": lambda g, n: (n,),
    "log": lambda g, n: (g.one / n.args[0],),
    "sin": lambda g, n: (g.call("cos", n.args[0]),),
    "cos": lambda g, n: (-g.call("sin", n.args[0]),),
    "tan": lambda g, n: (1 + n**2,),
    "asin": lambda g, n: (g.one / g.call("sqrt", 1 - n.args[0] ** 2),),
    "acos": lambda g, n: (-(g.one / g.call("sqrt", 1 - n.args[0] ** 2)),),
    "atan": lambda g, n: (g.one / (1 + n.args[0] ** 2),),
    "sinh": lambda g, n: (g.call("cosh", n.args[0]),),
    "cosh": lambda g, n: (g.call("sinh", n.args[0]),),
    "tanh": lambda g, n: (1 - n**2,),
    "abs": lambda g, n: (g.call("sign", n.args[0]),),
    "sign": lambda g, n: (g.zero,),
    "min": lambda g, n: _choice(g, n.args[1] - n.args[0]),
    "max": lambda g, n: _choice(g, n.args[0] - n.args[1]),
    "select": lambda g, n: (g.zero, *_choice(g, n.args[0])),
    "function": _function,
    "table": lambda g, n: (g.table(n.data.table, n.data.order + 1, n.args[0]),),
}


def _choice(g: Graph, first_wins: Node) -> tuple[Node, Node]:
    """1 for the operand that counts, 0 for the other."""
    return g.select(first_wins, g.one, g.zero), g.select(first_wins, g.zero, g.one)


def directional(outputs: Sequence[Node], direction: Mapping[Node, Node]) -> list[Node]:
    """d/dε of the outputs when each input moves as stated: Σ ∂out/∂x · direction[x].

    One forward sweep for all outputs; nodes that the direction does not reach cost nothing.
    """
    if not outputs:
        return []
    graph = outputs[0].graph
    moved: dict[int, Node] = {}
    for node in ancestors(outputs):
        if node in direction:
            moved[node.index] = direction[node]
            continue
        args = node.args
        if len(args) == 2 and node.op in PLAIN:  # the commonest, without a search
            first, second = moved.get(args[0].index), moved.get(args[1].index)
            if first is None and second is None:
                continue
            product = node.op == "mul"
            change = graph.zero if first is None else graph.mul(args[1], first) if product else first
            if second is not None:
                more = second if node.op == "add" else graph.mul(args[0] if product else graph.minus_one, second)
                change = graph.add(change, more)
        else:
            reached = [k for k, arg in enumerate(args) if arg.index in moved]
            if not reached:
                continue
            change = _change(graph, node, moved, reached)
        if change is not graph.zero:
            moved[node.index] = change
    return [moved.get(node.index, graph.zero) for node in outputs]


def _change(graph: Graph, node: Node, moved: dict[int, Node], reached: list[int]) -> Node:
    """The change of one node; quotients and products keep the forms that are read and evaluated best."""
    if node.op == "div" and 1 in reached:
        above = moved.get(node.args[0].index, graph.zero)
        return (above - node * moved[node.args[1].index]) / node.args[1]
    if node.op in SYSTEMS:
        return system_change(node, moved)
    partials = PARTIALS[node.op](graph, node)
    return graph.sum(partials[k] * moved[node.args[k].index] for k in reached)


def gradient(output: Node, wanted: Iterable[Node]) -> dict[Node, Node]:
    """∂output/∂x for the wanted inputs, by one backward sweep; only derivatives that are not zero are listed."""
    graph = output.graph
    targets = wanted if isinstance(wanted, frozenset) else frozenset(wanted)
    order = ancestors((output,))
    useful: set[Node] = set()  # nodes that depend on a wanted input
    for node in order:
        if node in targets or not useful.isdisjoint(node.args):
            useful.add(node)
    weight: dict[Node, Node] = {output: graph.one}
    found: dict[Node, Node] = {}
    zero, one = graph.zero, graph.one
    for node in reversed(order):
        here = weight.get(node)
        if here is None or node not in useful:
            continue
        if node in targets:
            if here is not zero:
                found[node] = here
            continue
        if node.op in SYSTEMS:
            raise no_slope(node)
        for arg, partial in zip(node.args, PARTIALS[node.op](graph, node), strict=True):
            if partial is not zero and arg in useful:
                share = here if partial is one else graph.mul(here, partial)
                weight[arg] = graph.add(weight[arg], share) if arg in weight else share
    return {node: found[node] for node in sorted(found, key=attrgetter("index"))}


def jacobian(outputs: Sequence[Node], inputs: Sequence[Node]) -> list[dict[int, Node]]:
    """∂outputs/∂inputs as sparse rows: {column: node} for each output."""
    column, wanted = {node: k for k, node in enumerate(inputs)}, frozenset(inputs)
    rows = ({column[node]: slope for node, slope in gradient(out, wanted).items()} for out in outputs)
    return [{place: row[place] for place in sorted(row)} for row in rows]
