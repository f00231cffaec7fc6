"""General matrices on the graph: solved wherever they are regular, without a choice of pivots that could fail.

The matrix is brought to block triangular form by its pattern, and each diagonal block is solved in a way that divides
by nothing that could vanish while the block is regular: a quotient, Cramer's rule, or orthogonal columns. So what a
run watches are true losses of rank, and it never has to change the order of elimination on its way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.graph.linear_algebra import Pivot, Rows
from holdfast.graph.nodes import Graph, Node
from holdfast.graph.order.least_fill import symmetric_order

ALIKE = 10  # binary orders between rows that orthogonal columns bear without a loss worth a multiplication
SQUARED_AGAIN = Fraction(1, 2**43)  # squares vanish twice as fast: their scale takes the least pivot (2⁻⁴³) once more
MOST_TERMS = 16  # of a sum that are looked at one by one


class StructurallySingular(Exception):
    """No choice of one entry from each row and column exists: the matrix is singular whatever its numbers are."""

    def __init__(self, rows: Sequence[int]) -> None:
        super().__init__(f"rows {list(rows)} have no column of their own")
        self.rows = tuple(rows)


def block_triangular(matrix: Rows) -> list[tuple[list[int], list[int]]]:
    """Blocks of rows and columns such that a block needs only columns of its own and of earlier blocks.

    A matrix in this form is regular exactly where all its diagonal blocks are. Each row is matched with a column of its
    own; rows that need each other's columns, directly or through others, are one block.
    """
    owner = _matching(matrix)  # column -> row
    column_of = {row: column for column, row in owner.items()}
    needs = {i: [owner[j] for j in row if owner[j] != i] for i, row in enumerate(matrix)}
    return [(rows, [column_of[i] for i in rows]) for rows in _strong_components(needs)]


def _matching(matrix: Rows) -> dict[int, int]:
    """A column for each row, by augmenting paths; as {column: row}."""
    owner: dict[int, int] = {}
    for row in range(len(matrix)):
        came: dict[int, int] = {}  # column -> the row that reached it
        frontier, free = [row], None
        while frontier and free is None:
            i = frontier.pop()
            for j in sorted(matrix[i], key=lambda j: j != i):
                if j in came:
                    continue
                came[j] = i
                if j not in owner:
                    free = j
                    break
                frontier.append(owner[j])
        if free is None:
            raise StructurallySingular(sorted({row, *(owner[j] for j in came)}))
        while True:  # hand the columns on, back along the path
            i = came[free]
            before = next((column for column, held in owner.items() if held == i), None)
            owner[free] = i
            if before is None:
                break
            free = before
    return owner


def _strong_components(needs: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """Tarjan's algorithm without recursion: components after those that they need."""
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    open_rows: list[int] = []
    is_open: set[int] = set()
    found: list[list[int]] = []
    for root in needs:
        if root in number:
            continue
        path = [(root, iter(needs[root]))]
        while path:
            i, rest = path[-1]
            if i not in number:
                number[i] = lowest[i] = len(number)
                open_rows.append(i)
                is_open.add(i)
            for j in rest:
                if j not in number:
                    path.append((j, iter(needs[j])))
                    break
                if j in is_open:
                    lowest[i] = min(lowest[i], number[j])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[i])
                if lowest[i] == number[i]:
                    members = []
                    while True:
                        members.append(open_rows.pop())
                        is_open.discard(members[-1])
                        if members[-1] == i:
                            break
                    found.append(sorted(members))
    return found


@dataclass(frozen=True, eq=False)
class GeneralFactor:
    """A general matrix, block after block: solvable by it wherever the matrix is regular, without a choice of pivots.

    A block of one row is a quotient, one of two rows is solved by Cramer's rule, a larger one by orthogonal columns.
    None of these has a divisor that vanishes where the block is regular, so no order of pivots need ever change.
    """

    graph: Graph
    matrix: Rows
    blocks: list[tuple[list[int], list[int], BlockFactor]]

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        return tuple(pivot for _, _, factor in self.blocks for pivot in factor.pivots)

    @property
    def unsigned(self) -> bool:
        """Whether some pivot has no sign that would change where the run passes a singular state."""
        return any(isinstance(factor, OrthogonalColumns) for _, _, factor in self.blocks)

    def solve(self, right: Sequence[Node]) -> list[Node]:
        """A⁻¹ b."""
        zero = self.graph.zero
        result = [zero] * len(right)
        for rows, columns, factor in self.blocks:
            own = set(columns)
            lacking = []
            for i in rows:
                known = [v * result[j] for j, v in self.matrix[i].items() if j not in own and result[j] is not zero]
                lacking.append(right[i] - self.graph.sum(known) if known else right[i])
            for j, value in zip(columns, factor.solve(lacking), strict=True):
                result[j] = value
        return result


def factor_general(matrix: Rows, graph: Graph, sizes: Sequence[Mapping[int, float]] | None = None) -> GeneralFactor:
    """A general matrix, factored; `sizes` are its numbers at some state, by which rows of other units are scaled.

    Raises `StructurallySingular` where no state can make it regular.
    """
    blocks: list[tuple[list[int], list[int], BlockFactor]] = []
    for rows, columns in block_triangular(matrix):
        inner: Rows = [{k: matrix[i][j] for k, j in enumerate(columns) if j in matrix[i]} for i in rows]
        factor: BlockFactor
        if len(rows) == 1:
            factor = quotient(inner[0][0])
        elif len(rows) == 2:
            factor = cramer(inner, graph)
        else:
            factor = orthogonal_columns(inner, graph, _row_scales(rows, sizes))
        blocks.append((rows, columns, factor))
    return GeneralFactor(graph, matrix, blocks)


def _row_scales(rows: Sequence[int], sizes: Sequence[Mapping[int, float]] | None) -> list[Fraction]:
    """Powers of two that bring rows of very different units together: exact, and 1 where they are alike."""
    if sizes is None:
        return [Fraction(1)] * len(rows)
    largest = [max((abs(v) for v in sizes[i].values()), default=0.0) for i in rows]
    exponents = [math.frexp(size)[1] if 0 < size < math.inf else 0 for size in largest]
    if max(exponents) - min(exponents) <= ALIKE:
        return [Fraction(1)] * len(rows)
    return [Fraction(2) ** -exponent for exponent in exponents]


@dataclass(frozen=True, eq=False)
class Quotient:
    """A block of one row."""

    inverse: Node
    pivots: tuple[Pivot, ...]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        return [right[0] * self.inverse]


def quotient(divisor: Node) -> Quotient:
    """A block of one row, factored."""
    return Quotient(divisor.graph.one / divisor, (Pivot(divisor, size_of_terms(divisor)),))


@dataclass(frozen=True, eq=False)
class Cramer:
    """A block of two rows: x = adj(A) b / det A."""

    entries: tuple[Node, Node, Node, Node]  # row by row
    inverse: Node  # of the determinant
    pivots: tuple[Pivot, ...]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        (a, b, c, d), (x, y) = self.entries, right
        return [(d * x - b * y) * self.inverse, (a * y - c * x) * self.inverse]


def cramer(rows: Rows, graph: Graph) -> Cramer:
    """A block of two rows, factored."""
    a, b, c, d = (row.get(j, graph.zero) for row in rows for j in range(2))
    along, across = a * d, b * c
    determinant = along - across
    pivot = Pivot(determinant, abs_node(along) + abs_node(across))
    return Cramer((a, b, c, d), graph.one / determinant, (pivot,))


@dataclass(frozen=True, eq=False)
class OrthogonalColumns:
    """A = Q R with orthogonal columns of Q and a unit triangle R, by the modified Gram-Schmidt process.

    Solving carries b through the same process, which is backward stable (Björck 1967). No root is taken: a pivot is
    the square of what is left of a column, and its scale the square of the column times the rounding of one.
    """

    graph: Graph
    order: list[int]
    scales: list[Fraction]  # of the rows
    columns: list[dict[int, Node]]  # of Q, by row
    above: list[dict[int, Node]]  # of R: for each column, what it contains of the earlier ones
    inverses: list[Node]
    pivots: tuple[Pivot, ...]

    def solve(self, right: Sequence[Node]) -> list[Node]:
        graph = self.graph
        left = [b if scale == 1 else b * graph.const(scale) for b, scale in zip(right, self.scales, strict=True)]
        shares: list[Node] = []
        for column, inverse in zip(self.columns, self.inverses, strict=True):
            share = graph.sum(q * left[i] for i, q in column.items() if left[i] is not graph.zero) * inverse
            if share is not graph.zero:
                for i, q in column.items():
                    left[i] = left[i] - share * q
            shares.append(share)
        result = [graph.zero] * len(shares)
        for k in reversed(range(len(shares))):
            result[self.order[k]] = shares[k]
            for j, part in self.above[k].items():
                shares[j] = shares[j] - part * shares[k]
        return result


def orthogonal_columns(matrix: Rows, graph: Graph, scales: Sequence[Fraction]) -> OrthogonalColumns:
    """The columns of a block made orthogonal, in an order that keeps them short."""
    size = len(matrix)
    columns: Rows = [{} for _ in range(size)]
    for i, row in enumerate(matrix):
        for j, value in row.items():
            columns[j][i] = value if scales[i] == 1 else value * graph.const(scales[i])
    alike: Rows = [{j: graph.one for j in range(size) if columns[j].keys() & columns[i].keys()} for i in range(size)]
    order = symmetric_order(alike)
    made: list[dict[int, Node]] = []
    above: list[dict[int, Node]] = []
    inverses: list[Node] = []
    pivots: list[Pivot] = []
    for j in order:
        column, contained = columns[j], dict[int, Node]()
        whole = graph.sum(v * v for v in column.values())
        for k, earlier in enumerate(made):
            common = [q * column[i] for i, q in earlier.items() if i in column]
            if not common:
                continue
            contained[k] = graph.sum(common) * inverses[k]
            for i, q in earlier.items():
                column[i] = column.get(i, graph.zero) - contained[k] * q
        square = graph.sum(v * v for v in column.values())
        made.append(column)
        above.append(contained)
        inverses.append(graph.one / square)
        pivots.append(Pivot(square, whole * graph.const(SQUARED_AGAIN)))
    return OrthogonalColumns(graph, order, list(scales), made, above, inverses, tuple(pivots))


def size_of_terms(node: Node) -> Node:
    """Σ|term| of a sum, through its differences: what rounding of the sum is measured by; |node| for anything else."""
    waiting, total = [node], node.graph.zero
    while waiting:
        term = waiting.pop()
        if term.op == "neg" or (term.op in ("add", "sub") and len(waiting) < MOST_TERMS):
            waiting.extend(term.args)
        else:
            total = total + abs_node(term)
    return total


def abs_node(node: Node) -> Node:
    """|node| on the graph."""
    return node.graph.call("abs", node)


BlockFactor = Quotient | Cramer | OrthogonalColumns
