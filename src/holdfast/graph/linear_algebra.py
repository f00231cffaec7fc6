"""Linear algebra unrolled as statements on the graph, never as expressions: sparse rows, and LDLᵀ of symmetric ones.

Matrices are sparse rows {column: node}; what is structurally zero is not there and costs nothing. The order of
elimination is chosen for little fill and a short chain of dependent divisions; in a definite matrix no order fails.
Pivots are outputs, so that a run can watch them. Matrices that are not symmetric are in `general_solver`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Protocol

from holdfast.graph.nodes import Graph, Node, short
from holdfast.graph.order.least_fill import symmetric_order

Rows = list[dict[int, Node]]
LONGEST = 2048  # bits of a minor: where the fractions of the factors stay far shorter, they are quicker
DENSE = 16  # rows from which a full matrix of constants is worth an elimination of its own


@dataclass(frozen=True, slots=True)
class Pivot:
    """A divisor of the elimination beside the size of what it is made of: it is lost where it is tiny beside that.

    Both have the same units, so that their quotient says how near the matrix is to a singular one, whatever the units.
    """

    value: Node
    scale: Node


def transposed(matrix: Rows, columns: int) -> Rows:
    """The transpose of sparse rows."""
    result: Rows = [{} for _ in range(columns)]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            result[j][i] = value
    return result


def times(matrix: Rows, vector: Sequence[Node], graph: Graph) -> list[Node]:
    """Matrix times vector."""
    return [graph.sum(value * vector[j] for j, value in row.items() if vector[j] is not graph.zero) for row in matrix]


def product(left: Rows, right: Rows) -> Rows:
    """Matrix times matrix."""
    result: Rows = []
    for row in left:
        entries: dict[int, Node] = {}
        for k, a in row.items():
            for j, b in right[k].items():
                entries[j] = entries[j] + a * b if j in entries else a * b
        result.append({j: entries[j] for j in sorted(entries) if not entries[j].is_zero})
    return result


# ── symmetric: L D Lᵀ ─────────────────────────────────────────────────────────────────────────────


class DefiniteFactor(Protocol):
    """Solves A x = b for a definite A, on the graph."""

    @property
    def graph(self) -> Graph: ...

    @property
    def pivots(self) -> tuple[Pivot, ...]: ...

    def solve(self, right: Sequence[Node]) -> list[Node]: ...

    def solve_sparse(self, right: Mapping[int, Node]) -> dict[int, Node]: ...


@dataclass(frozen=True, eq=False)
class SymmetricFactor:
    """P A Pᵀ = L D Lᵀ as nodes, with one division per pivot."""

    graph: Graph
    order: list[int]
    columns: list[dict[int, Node]]  # below the diagonal, by place in the order
    inverse_pivots: list[Node]
    pivots: tuple[Pivot, ...]  # each beside the entry of the matrix that it was before anything was eliminated

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """A⁻¹ b: forward, by the pivots, backward."""
        zero, size = self.graph.zero, len(self.order)
        x = [right[i] for i in self.order]
        for k in range(size):
            if x[k] is not zero:
                for r, low in self.columns[k].items():
                    x[r] = x[r] - low * x[k]
        x = [value * inverse for value, inverse in zip(x, self.inverse_pivots, strict=True)]
        for k in reversed(range(size)):
            for r, low in self.columns[k].items():
                x[k] = x[k] - low * x[r]
        result = [zero] * size
        for place, i in enumerate(self.order):
            result[i] = x[place]
        return result

    def solve_sparse(self, right: Mapping[int, Node]) -> dict[int, Node]:
        """A⁻¹ b of a vector with few entries, by the same operations as `solve`; entries that are not zero."""
        zero = self.graph.zero
        x = {self._places[i]: value for i, value in right.items() if value is not zero}
        for k in self._reached(x, self.columns):
            if x[k] is not zero:
                for r, low in self.columns[k].items():
                    x[r] = x.get(r, zero) - low * x[k]
        x = {k: value * self.inverse_pivots[k] for k, value in x.items()}
        for k in reversed(self._reached(x, self._uses)):
            for r, low in self.columns[k].items():
                if r in x:
                    x[k] = x.get(k, zero) - low * x[r]
        found = {self.order[k]: value for k, value in x.items() if not value.is_zero}
        return {i: found[i] for i in sorted(found)}

    @staticmethod
    def _reached(first: Iterable[int], onward: Sequence[Iterable[int]]) -> list[int]:
        """All places that are reached from some, in order."""
        found, waiting = set(first), list(first)
        while waiting:
            for place in onward[waiting.pop()]:
                if place not in found:
                    found.add(place)
                    waiting.append(place)
        return sorted(found)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {i: place for place, i in enumerate(self.order)}

    @cached_property
    def _uses(self) -> list[list[int]]:
        """For each place the columns of L that have an entry in its row."""
        found: list[list[int]] = [[] for _ in self.order]
        for k, column in enumerate(self.columns):
            for r in column:
                found[r].append(k)
        return found


def factor_symmetric(matrix: Rows, graph: Graph, order: Sequence[int] | None = None) -> SymmetricFactor:
    """L D Lᵀ of a symmetric matrix, right-looking; only the lower triangle (in the order chosen) is formed.

    An entry whose mirror image is plainly 0 is 0, too, though the graph may not see it: products are summed in the
    order of their own row.
    """
    matrix = [{j: value for j, value in row.items() if i in matrix[j]} for i, row in enumerate(matrix)]
    order = list(symmetric_order(matrix) if order is None else order)
    place = {i: k for k, i in enumerate(order)}
    work: list[dict[int, Node]] = [{} for _ in order]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            if place[i] >= place[j]:
                work[place[j]][place[i]] = value
    divisors, lower = _constant_elimination(work, graph) or _elimination(work, graph)
    scales = (matrix[i].get(i, graph.zero) for i in order)
    pivots = tuple(Pivot(value, scale) for value, scale in zip(divisors, scales, strict=True))
    return SymmetricFactor(graph, order, lower, [graph.one / divisor for divisor in divisors], pivots)


def _elimination(work: list[dict[int, Node]], graph: Graph) -> tuple[list[Node], list[dict[int, Node]]]:
    """Pivots and columns of L, from the columns of the lower triangle, which are used up.

        b_rc ← b_rc − (b_r (1/d)) b_c,   and d_r ← d_r − b_r² (1/d) where r is the only row

    Along a chain each pivot so waits for one quotient and one sum of the one before, and for no product.
    """
    pivots: list[Node] = []
    lower: list[dict[int, Node]] = []
    for k, column in enumerate(work):
        pivot = column.pop(k, graph.zero)
        inverse = graph.one / pivot
        rows = sorted(column)
        scaled = {r: column[r] * inverse for r in rows}
        if len(rows) == 1:
            (r,) = rows
            work[r][r] = work[r].get(r, graph.zero) - column[r] ** 2 * inverse
        else:
            for n, r in enumerate(rows):
                for c in rows[: n + 1]:
                    work[c][r] = work[c].get(r, graph.zero) - scaled[r] * column[c]
        pivots.append(pivot)
        lower.append(scaled)
    return pivots, lower


def _constant_elimination(work: list[dict[int, Node]], graph: Graph) -> tuple[list[Node], list[dict[int, Node]]] | None:
    """The same for a dense matrix of constants, in whole numbers, ten times as fast; None where that does not serve.

        b_rc ← (b_kk b_rc − b_rk b_ck) / p,   p the pivot before   ⇒   l_rk = b_rk / b_kk,   d_k = b_kk / (s p)

    where b is s times the matrix, and every division leaves nothing. Bareiss (1968), Math. Comp. 22, 565–578.
    """
    size = len(work)
    nodes = [node for column in work for node in column.values()]
    if size < DENSE or len(nodes) < size * size // 4 or any(node.op != "const" for node in nodes):
        return None
    scale = lcm(*(node.data.denominator for node in nodes))
    columns = [[int(work[k].get(r, graph.zero).data * scale) for r in range(k, size)] for k in range(size)]
    before, pivots, lower = 1, [], []
    for k, column in enumerate(columns):
        pivot = column[0]
        if not pivot or pivot.bit_length() > LONGEST:
            return None
        values = [Fraction(entry, pivot) for entry in column[1:]]
        divisor = Fraction(pivot, scale * before)
        if not all(map(short, (divisor, *values))):
            return None
        pivots.append(graph.const(divisor))
        lower.append({k + n: graph.const(value) for n, value in enumerate(values, 1) if value})
        for n, other in enumerate(columns[k + 1 :], 1):
            factor = column[n]
            other[:] = [(pivot * b - factor * a) // before for b, a in zip(other, column[n:], strict=True)]
        before = pivot
    return pivots, lower
