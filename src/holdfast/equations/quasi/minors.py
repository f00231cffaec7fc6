"""Small matrices inverted by their minors: no root is taken, and what cancels can be seen to cancel."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.equations.quasi.simplified import simplified
from holdfast.graph.display import Display
from holdfast.graph.general_solver import abs_node, block_triangular
from holdfast.graph.linear_algebra import Pivot, Rows
from holdfast.graph.nodes import Graph, Node

LARGEST = 4  # rows of a block whose minors are written out: 24 products, those of a quaternion

Matrix = Sequence[Sequence[Node]]


def determinant(matrix: Matrix, graph: Graph) -> Node:
    """By the first row."""
    if not matrix:
        return graph.one
    total = graph.zero
    for j, node in enumerate(matrix[0]):
        if not node.is_zero:
            minor = determinant(without(matrix, 0, j), graph)
            total = total + (node * minor if j % 2 == 0 else -(node * minor))
    return total


def without(matrix: Matrix, i: int, j: int) -> list[list[Node]]:
    """A matrix without a row and a column."""
    return [[*row[:j], *row[j + 1 :]] for k, row in enumerate(matrix) if k != i]


def _terms(matrix: Matrix, graph: Graph) -> Node:
    """The sum of the absolute values of all terms of the determinant: what its rounding is measured by."""
    if not matrix:
        return graph.one
    parts = ((node, without(matrix, 0, j)) for j, node in enumerate(matrix[0]) if not node.is_zero)
    return graph.sum(abs_node(node) * _terms(minor, graph) for node, minor in parts)


def inverse_by_minors(matrix: Rows, graph: Graph, display: Display) -> tuple[Rows, tuple[Pivot, ...]] | None:
    """The inverse, and its divisors; nothing where a block is too large for it."""
    blocks = block_triangular(matrix)
    if any(len(rows) > LARGEST for rows, _ in blocks):
        return None
    found: Rows = [{} for _ in matrix]
    pivots = []
    for rows, columns in blocks:
        inner = [[matrix[i].get(j, graph.zero) for j in columns] for i in rows]
        divisor = simplified(determinant(inner, graph), display)
        pivots.append(Pivot(divisor, _terms(inner, graph)))
        for place, column in enumerate(columns):
            for k, i in enumerate(rows):
                minor = determinant(without(inner, k, place), graph)
                share = simplified((minor if (k + place) % 2 == 0 else -minor) / divisor, display)
                _add(found[column], share, matrix[i], i, columns, found)
    return [{j: simplified(node, display) for j, node in sorted(row.items())} for row in found], tuple(pivots)


def _add(row: dict[int, Node], share: Node, equation: dict[int, Node], i: int, own: Sequence[int], known: Rows) -> None:
    """Add share · (right side i, less what the earlier blocks have found) to a row of the inverse."""
    if share.is_zero:
        return
    row[i] = row[i] + share if i in row else share
    for j, slope in equation.items():
        if j not in own:
            for k, node in known[j].items():
                part = -(share * slope * node)
                row[k] = row[k] + part if k in row else part
