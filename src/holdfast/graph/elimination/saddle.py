"""Accelerations and reactions of a large system together, by tables.

    [ M  Jᵀ ] [  a ]   [ f ]
    [ J  0  ] [ −μ ] = [ d ]

for a definite M and independent rows of J. No pivot is 0 in any order in which each reaction comes after all
coordinates that its row of J meets: what has been eliminated then is a system of the same kind. Pivots of coordinates
are positive, those of reactions negative, and these are, up to the sign, those of J M⁻¹Jᵀ, which is never formed on the
graph. The order is that of least degree of J M⁻¹Jᵀ, each coordinate right before the first reaction that meets it.

Benzi, Golub & Liesen (2005), Acta Numerica 14, 1–137, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from holdfast.graph.elimination.factor import FILLED, MANY_ROWS, TableFactor
from holdfast.graph.fronts import Elimination, elimination_in, least_degree, products_in
from holdfast.graph.linear_algebra import DefiniteFactor, Pivot, Rows, factor_symmetric, product, transposed
from holdfast.graph.nodes import Graph, Node


@dataclass(frozen=True, eq=False)
class TableSolver:
    """M and J eliminated together; what is derived from M alone is made when somebody asks."""

    graph: Graph
    mass_matrix: Rows
    jacobian: Rows
    elimination: Elimination

    @property
    def form(self) -> Literal["solved"]:
        return "solved"

    @property
    def unsigned(self) -> bool:
        return False

    @cached_property
    def mass(self) -> DefiniteFactor:
        """M alone."""
        return factor_symmetric(self.mass_matrix, self.graph)

    @cached_property
    def response(self) -> Rows:
        """M⁻¹Jᵀ."""
        return transposed([self.mass.solve_sparse(row) for row in self.jacobian], len(self.mass_matrix))

    @cached_property
    def authority(self) -> Rows:
        """J M⁻¹Jᵀ."""
        return product(self.jacobian, self.response)

    @cached_property
    def factor(self) -> TableFactor:
        n = len(self.mass_matrix)
        known = [*self.mass_matrix, *({**row, n + k: self.graph.zero} for k, row in enumerate(self.jacobian))]
        return TableFactor(self.graph, self.elimination, tuple(known[i][j] for i, j in self.elimination.entries))

    @cached_property
    def pivots(self) -> tuple[Pivot, ...]:
        """Each beside what it is made of: an entry of M, or of J M⁻¹Jᵀ, on the diagonal."""
        return self.factor.pivots

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Accelerations and reactions."""
        found, n = self.factor.solve([*forces, *demand]), len(self.mass_matrix)
        return found[:n], [-node for node in found[n:]]


def table_solver(mass: Rows, jacobian: Rows, graph: Graph) -> TableSolver | None:
    """The solver by tables; none where the system is small, or elimination leaves it sparse."""
    if len(jacobian) < MANY_ROWS or any(i not in row for i, row in enumerate(mass)):
        return None
    bodies = _coupled(mass)
    meeting = _meeting(jacobian, bodies)
    pattern = _authority_pattern(len(jacobian), meeting)
    order = least_degree(pattern)
    if products_in(pattern, order) < FILLED * len(jacobian):
        return None
    n = len(mass)
    rows = [[*row] for row in mass] + [[*row, n + k] for k, row in enumerate(jacobian)]
    for k, row in enumerate(jacobian):
        for j in row:
            rows[j].append(n + k)
    place = _places(bodies, meeting, order)
    return TableSolver(graph, mass, jacobian, elimination_in(tuple([tuple(sorted(row)) for row in rows]), place))


def _coupled(mass: Rows) -> list[list[int]]:
    """The coordinates that masses couple with each other, group by group."""
    found, groups = [-1] * len(mass), list[list[int]]()
    for i in range(len(mass)):
        if found[i] < 0:
            group, waiting = [i], [i]
            found[i] = len(groups)
            while waiting:
                for j in mass[waiting.pop()]:
                    if found[j] < 0:
                        found[j] = len(groups)
                        group.append(j)
                        waiting.append(j)
            groups.append(sorted(group))
    return groups


def _meeting(jacobian: Rows, bodies: Sequence[Sequence[int]]) -> list[list[int]]:
    """The reactions that meet each group of coordinates."""
    group_of = {i: number for number, group in enumerate(bodies) for i in group}
    found: list[dict[int, None]] = [{} for _ in bodies]
    for k, row in enumerate(jacobian):
        for j in row:
            found[group_of[j]][k] = None
    return [list(few) for few in found]


def _authority_pattern(count: int, meeting: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """Where J M⁻¹Jᵀ may have entries."""
    rows: list[set[int]] = [{k} for k in range(count)]
    for reactions in meeting:
        for k in reactions:
            rows[k].update(reactions)
    return tuple([tuple(sorted(row)) for row in rows])


def _places(bodies: Sequence[Sequence[int]], meeting: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Where coordinates and reactions stand: each group of coordinates right before the first reaction it meets."""
    before: list[list[int]] = [[] for _ in order]
    listed = list[int]()
    for group, reactions in zip(bodies, meeting, strict=True):
        if reactions:
            before[min(order[k] for k in reactions)] += group
        else:
            listed += group
    n, at = sum(map(len, bodies)), {place: k for k, place in enumerate(order)}
    for place, group in enumerate(before):
        listed += [*group, n + at[place]]
    places = [0] * len(listed)
    for place, unknown in enumerate(listed):
        places[unknown] = place
    return places
