"""Which states are angles: those that the equations meet within sines and cosines only, in sums with whole factors."""

from __future__ import annotations

from fractions import Fraction

from holdfast.stability.verifier.numbers.dag import Node, ordered
from holdfast.stability.verifier.reading.equations import Equations


def turning(made: Equations) -> frozenset[str]:
    """The states that are alike after a whole turn; none where the equations are not derived here."""
    if made.mass is None:
        return frozenset()
    rows = [node for row in (*made.mass, *made.holders, *made.jacobian.values()) for node in row]
    tables = (made.psi, made.drift, made.demand, made.state_rates)
    wanted = [*rows, *made.bias, *(node for table in tables for node in table.values())]
    nodes, bare = ordered(wanted), {node.index for node in wanted}  # what is wanted itself is met outside of sines
    uses: dict[int, list[Node]] = {}
    for node in nodes:
        for arg in node.args:
            uses.setdefault(arg.index, []).append(node)

    def turns(node: Node) -> bool:
        above = uses.get(node.index, [])
        within = all(user.op in ("sin", "cos") or (_whole(user) and turns(user)) for user in above)
        return bool(above) and within and node.index not in bare

    states = [node for node in nodes if node.op == "input" and node.data in made.stated.state_names]
    return frozenset(str(node.data) for node in states if turns(node))


def _whole(node: Node) -> bool:
    """A sum, or a product with a whole number."""
    if node.op == "mul" and node.args[0].op == "const":
        return isinstance(node.args[0].data, Fraction) and node.args[0].data.denominator == 1
    return node.op == "add"
