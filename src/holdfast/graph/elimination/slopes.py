"""How the solution of a large system moves.

    A x = b   ⇒   A ẋ = ḃ − Ȧ x

by the same factor. Backward, of one output by all inputs, it is not written out: jacobians of such systems are full.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import BadRequest

if TYPE_CHECKING:
    from holdfast.graph.nodes import Node


def system_change(node: Node, moved: Mapping[int, Node]) -> Node:
    """The change of a factor (itself, for what it means is told by its entries), of a solution, or of a part."""
    graph = node.graph
    if node.op == "factor":
        return node
    if node.op == "part":
        if node.args[0].op == "factor":
            raise no_slope(node)
        return graph.part(moved[node.args[0].index], node.data)
    factor, *right = node.args
    change = [moved.get(b.index, graph.zero) for b in right]
    if factor.index in moved:
        for (i, j), entry in zip(factor.data.entries, factor.args, strict=True):
            slope = moved.get(entry.index)
            if slope is not None:
                change[i] = change[i] - slope * graph.part(node, j)
                if i != j:
                    change[j] = change[j] - slope * graph.part(node, i)
    if all(b is graph.zero for b in change):
        return graph.zero
    return graph.solved(factor, change)


def no_slope(node: Node) -> BadRequest:
    """The refusal of a jacobian through a large system."""
    system = node if node.op == "factor" else node.args[0]
    size = (system if system.op == "factor" else system.args[0]).data.size
    return BadRequest(
        f"the jacobian of these equations is not written out: {size} unknowns are found together, by tables",
        where="derivatives of the accelerations",
        fix="use an explicit scheme, such as RK4 or DOP853; of a system this large, no jacobian is sparse",
    )
