"""A jacobian at one state in numbers, without a node for each of its entries.

Each node changes by Σ p · (changes of its operands), p its partials there. Of all nodes together,

    δ = P δ + E δx      ⇒      δ = (I − P)⁻¹ E δx

with P strictly lower triangular: one sparse solution for each input. Written as nodes, the jacobian of n links has n²
entries of n operations each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.derivatives import PARTIALS
from holdfast.graph.elimination.slopes import no_slope
from holdfast.graph.nodes import SYSTEMS, Node, ancestors

AT_ONCE = 128  # inputs that are solved for together: memory for so many numbers at each node


def slopes_in_numbers(
    outputs: Sequence[Node], inputs: Sequence[Node], values: Mapping[Node, float]
) -> np.ndarray | None:
    """∂outputs/∂inputs where all inputs of the graph have these values; None where a partial is not finite there."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    place = {node.index: k for k, node in enumerate(inputs)}  # of what depends on the inputs, these first
    rows, columns, partials = list[int](), list[int](), list[Node]()
    for node in ancestors(outputs):
        reached = [k for k, arg in enumerate(node.args) if arg.index in place]
        if node.index in place or not reached:
            continue
        if node.op in SYSTEMS:
            raise no_slope(node)
        row = place[node.index] = len(place)
        own = PARTIALS[node.op](node.graph, node)
        rows += [row] * len(reached)
        columns += [place[node.args[k].index] for k in reached]
        partials += [own[k] for k in reached]
    numbers, size = np.array(Ledger(values).of(partials), dtype=float), len(place)
    if not np.isfinite(numbers).all():
        return None
    diagonal = np.arange(size)
    entries = (np.concatenate([np.ones(size), -numbers]), (np.append(diagonal, rows), np.append(diagonal, columns)))
    matrix = csc_array(entries, shape=(size, size))
    factor = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"Equil": False})
    found = np.zeros((len(outputs), len(inputs)))
    wanted = [(k, place[node.index]) for k, node in enumerate(outputs) if node.index in place]
    for first in range(0, len(inputs), AT_ONCE):
        count = min(AT_ONCE, len(inputs) - first)
        right = np.zeros((size, count))
        right[first + np.arange(count), np.arange(count)] = 1.0
        solved = factor.solve(right)
        for k, at in wanted:
            found[k, first : first + count] = solved[at]
    return found
