"""Factors of sparse definite matrices on the graph: written out as statements, or as one operation where they fill in.

A chain stays a chain when it is eliminated. A net of n bars fills in: n log n entries of L and n^1.5 products, each of
which would be two nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from holdfast.graph.fronts import Elimination, elimination_in, least_degree, products_in
from holdfast.graph.linear_algebra import DefiniteFactor, Pivot, Rows, factor_symmetric
from holdfast.graph.nodes import Graph, Node

MANY_ROWS = 150  # below, straight code compiles in seconds, and proofs read it
FILLED = 110  # products for each row, those of a net of 700 bars: from there on tables step no slower than statements


@dataclass(frozen=True, eq=False)
class TableFactor:
    """P A Pᵀ = L D Lᵀ as one node, and each solution as another."""

    graph: Graph
    elimination: Elimination
    entries: tuple[Node, ...]

    @cached_property
    def node(self) -> Node:
        return self.graph.factor(self.elimination, self.entries)

    @cached_property
    def pivots(self) -> tuple[Pivot, ...]:
        """By row, each beside its size."""
        node, size = self.node, self.elimination.size
        return tuple(Pivot(self.graph.part(node, i), self.graph.part(node, size + i)) for i in range(size))

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """A⁻¹ b."""
        if all(node is self.graph.zero for node in right):
            return list(right)
        found = self.graph.solved(self.node, right)
        return [self.graph.part(found, i) for i in range(self.elimination.size)]

    def solve_sparse(self, right: Mapping[int, Node]) -> dict[int, Node]:
        """The same for a vector with few entries."""
        zero = self.graph.zero
        return dict(enumerate(self.solve([right.get(i, zero) for i in range(self.elimination.size)])))


def factor_sparse(matrix: Rows, graph: Graph) -> DefiniteFactor:
    """L D Lᵀ of a symmetric matrix: by tables where it is large and fills in, else as statements."""
    if len(matrix) < MANY_ROWS or any(i not in row for i, row in enumerate(matrix)):
        return factor_symmetric(matrix, graph)
    pattern = tuple([tuple(sorted(row)) for row in matrix])
    order = least_degree(pattern)
    if products_in(pattern, order) < FILLED * len(matrix):
        return factor_symmetric(matrix, graph)
    elimination = elimination_in(pattern, order)
    return TableFactor(graph, elimination, tuple(matrix[i][j] for i, j in elimination.entries))
