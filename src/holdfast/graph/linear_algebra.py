"""Linear algebra unrolled as statements on the graph: LDLᵀ and LU with a fixed order, never as expressions.

Matrices are sparse rows {column: node}; what is structurally zero is not there and costs nothing. The order of
elimination is chosen before: for fill and for a short chain of dependent divisions in the symmetric case, by size of
the numbers at one state otherwise. Pivots are outputs, so that a run can watch them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from holdfast.graph.nodes import Graph, Node

Rows = list[dict[int, Node]]


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


def symmetric_order(matrix: Rows) -> list[int]:
    """An order of elimination with little fill and a short critical path.

    At each turn the vertex whose elimination adds the fewest entries goes next; among those, the one that waits for
    the shortest chain of earlier eliminations. A chain is thus eaten from both ends at once.
    """
    neighbours = {i: {j for j in row if j != i} for i, row in enumerate(matrix)}
    depth = dict.fromkeys(neighbours, 0)
    order: list[int] = []
    waiting = [(_fill(neighbours, i), 0, i) for i in neighbours]
    heapify(waiting)
    while waiting:
        listed = heappop(waiting)
        best = listed[2]
        if best not in neighbours:
            continue
        current = (_fill(neighbours, best), depth[best], best)
        if current > listed:  # its surroundings have changed since it was listed
            heappush(waiting, current)
            continue
        around = neighbours.pop(best)
        for i in around:
            neighbours[i] |= around
            neighbours[i] -= {i, best}
            depth[i] = max(depth[i], depth[best] + 1)
        for i in around:
            heappush(waiting, (_fill(neighbours, i), depth[i], i))
        order.append(best)
    return order


def _fill(neighbours: Mapping[int, set[int]], i: int) -> int:
    around = neighbours[i]
    if len(around) < 2:
        return 0
    return sum(len(around) - 1 - len(neighbours[j] & around) for j in around) // 2


@dataclass(frozen=True, eq=False)
class SymmetricFactor:
    """P A Pᵀ = L D Lᵀ as nodes, with one division per pivot."""

    graph: Graph
    order: list[int]
    columns: list[dict[int, Node]]  # below the diagonal, by place in the order
    inverse_pivots: list[Node]
    pivots: tuple[Node, ...]

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


def factor_symmetric(matrix: Rows, graph: Graph, order: Sequence[int] | None = None) -> SymmetricFactor:
    """L D Lᵀ of a symmetric matrix, right-looking; only the lower triangle (in the order chosen) is formed."""
    order = list(symmetric_order(matrix) if order is None else order)
    place = {i: k for k, i in enumerate(order)}
    work: list[dict[int, Node]] = [{} for _ in order]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            if place[i] >= place[j]:
                work[place[j]][place[i]] = value
    inverses: list[Node] = []
    pivots: list[Node] = []
    lower: list[dict[int, Node]] = []
    for k, column in enumerate(work):
        pivot = column.pop(k, graph.zero)
        inverse = graph.one / pivot
        rows = sorted(column)
        scaled = {r: column[r] * inverse for r in rows}
        for n, r in enumerate(rows):
            for c in rows[: n + 1]:
                work[c][r] = work[c].get(r, graph.zero) - scaled[r] * column[c]
        pivots.append(pivot)
        inverses.append(inverse)
        lower.append(scaled)
    return SymmetricFactor(graph, order, lower, inverses, tuple(pivots))


# ── general: L U ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class PivotOrder:
    """Pivot positions (row, column) in order, and the rows and columns for which no pivot was left."""

    places: tuple[tuple[int, int], ...]
    rows_left: tuple[int, ...] = ()
    columns_left: tuple[int, ...] = ()


def pivot_order(
    values: Sequence[Mapping[int, float]], *, threshold: float = 0.05, smallest: float = 1e-11
) -> PivotOrder:
    """Pivots by their size at one state: sparse where possible, never much smaller than the best of their row.

    Rows are scaled to 1 first. `smallest` is the size below which a scaled pivot counts as zero.
    """
    size = len(values)
    work = []
    for row in values:
        scale = max((abs(v) for v in row.values()), default=0.0)
        work.append({j: v / scale for j, v in row.items()} if scale > 0 else {})
    rows, columns, places = set(range(size)), set(range(size)), []
    while rows:
        found = _best_pivot(work, rows, columns, threshold, smallest)
        if found is None:
            break
        i, j = found
        places.append(found)
        rows.discard(i)
        columns.discard(j)
        for k in rows:
            if j in work[k]:
                ratio = work[k].pop(j) / work[i][j]
                for c, v in work[i].items():
                    if c in columns:
                        work[k][c] = work[k].get(c, 0.0) - ratio * v
    return PivotOrder(tuple(places), tuple(sorted(rows)), tuple(sorted(columns)))


def _best_pivot(
    work: list[dict[int, float]], rows: set[int], columns: set[int], threshold: float, smallest: float
) -> tuple[int, int] | None:
    count = dict.fromkeys(columns, 0)
    for i in rows:
        for j in work[i]:
            if j in count:
                count[j] += 1
    best, best_cost = None, (0.0, 0.0)
    for i in sorted(rows):
        live = {j: abs(v) for j, v in work[i].items() if j in columns}
        largest = max(live.values(), default=0.0)
        if not largest > smallest:
            continue
        for j, size in live.items():
            if size >= threshold * largest:
                cost = (float((len(live) - 1) * (count[j] - 1)), -size)
                if best is None or cost < best_cost:
                    best, best_cost = (i, j), cost
    return best


@dataclass(frozen=True, eq=False)
class GeneralFactor:
    """An LU elimination recorded as nodes."""

    graph: Graph
    order: PivotOrder
    upper: list[dict[int, Node]]  # the pivot row of each step, pivot excluded, by column
    lower: list[dict[int, Node]]  # multipliers of each step, by row
    inverse_pivots: list[Node]
    pivots: tuple[Node, ...]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """A⁻¹ b."""
        x = list(right)
        for k, (i, _) in enumerate(self.order.places):
            if x[i] is not self.graph.zero:
                for r, low in self.lower[k].items():
                    x[r] = x[r] - low * x[i]
        result = [self.graph.zero] * len(x)
        for k in reversed(range(len(self.order.places))):
            i, j = self.order.places[k]
            value = x[i]
            for c, up in self.upper[k].items():
                if result[c] is not self.graph.zero:
                    value = value - up * result[c]
            result[j] = value * self.inverse_pivots[k]
        return result


def factor_general(matrix: Rows, graph: Graph, order: PivotOrder) -> GeneralFactor:
    """L U with the given pivots."""
    work = [dict(row) for row in matrix]
    rows = set(range(len(work)))
    upper, lower, inverses, pivots = [], [], [], []
    for i, j in order.places:
        rows.discard(i)
        pivot = work[i].pop(j)
        inverse = graph.one / pivot
        factors: dict[int, Node] = {}
        for r in sorted(rows):
            if j in work[r]:
                factors[r] = work[r].pop(j) * inverse
                for c, value in work[i].items():
                    work[r][c] = work[r].get(c, graph.zero) - factors[r] * value
        upper.append(work[i])
        lower.append(factors)
        inverses.append(inverse)
        pivots.append(pivot)
    return GeneralFactor(graph, order, upper, lower, inverses, tuple(pivots))
