"""Systems of branches that meet in a core: each branch is eliminated with its own rows, then the core is small.

    M_i a_i = h_i + J_iᵀ λ_i            of each branch i, which no mass joins to another,
    M₀ a₀ = h₀ + Σ P_iᵀ λ_i             of the core,
    J_i a_i + P_i a₀ = d_i              of the rows that close them

    C_i = J_i M_i⁻¹ J_iᵀ = L D Lᵀ,      Z_i = L⁻¹ P_i,      e_i = L⁻¹ (d_i − J_i M_i⁻¹ h_i)
    (M₀ + Σ Z_iᵀ D⁻¹ Z_i) a₀ = h₀ + Σ Z_iᵀ D⁻¹ e_i,         λ_i = L⁻ᵀ D⁻¹ (e_i − Z_i a₀)

Operations grow with the number of branches; those of S = J M⁻¹ Jᵀ grow with its cube. But C_i has no inverse where a
branch is stretched out or folded, though the whole system has one. So pivots of C_i are lost at `FAR`, well before
digits are, and who runs this keeps the other way at hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.graph.linear_algebra import Pivot, Rows, SymmetricFactor, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Graph, Node

FAR = 2**23  # times 1e-13, where a run takes a pivot for lost: a branch then costs six digits of sixteen at most


@dataclass(frozen=True, slots=True)
class Limb:
    """Coordinates that no mass joins to others, and all rows that they are in."""

    coordinates: tuple[int, ...]
    rows: tuple[int, ...]


def branches_of(mass: Rows, jacobian: Rows) -> tuple[Limb, ...]:
    """Branches by pattern: what falls apart when the coordinates that most rows are in are taken for the core.

    The core grows until two branches or more are left, none with more rows than coordinates; there may be none such.
    """
    parts = _joined(len(mass), mass)
    touching = [sum(any(j in row for j in part) for row in jacobian) for part in parts]
    for least in sorted(set(touching), reverse=True):
        core = {j for part, rows in zip(parts, touching, strict=True) if rows >= least for j in part}
        rest = [[j for j in row if j not in core] for row in (*mass, *jacobian)]
        found = [
            Limb(part, tuple(i for i, row in enumerate(jacobian) if any(j in row for j in part)))
            for part in _joined(len(mass), rest)
            if part[0] not in core
        ]
        if len(found) > 1 and all(len(branch.rows) <= len(branch.coordinates) for branch in found):
            return tuple(found)
    return ()


def _joined(size: int, sets: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    """Numbers in groups: those that some set has together are in one."""
    group = list(range(size))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = group[i]
        return i

    for members in sets:
        roots = sorted({root(i) for i in members})
        for other in roots[1:]:
            group[other] = roots[0]
    found: dict[int, list[int]] = {}
    for i in range(size):
        found.setdefault(root(i), []).append(i)
    return [tuple(part) for part in found.values()]


@dataclass(frozen=True, eq=False)
class _Eliminated:
    """One branch: M_i, M_i⁻¹J_iᵀ, J_i, C_i; Z_i and D⁻¹Z_i by places of C's order."""

    branch: Limb
    mass: SymmetricFactor
    response: Rows
    jacobian: Rows
    compliance: SymmetricFactor
    reach: Rows
    scaled: Rows


@dataclass(frozen=True, eq=False)
class BranchedSolver:
    """Solves M a = forces + Jᵀ μ and J a = demand, branch by branch."""

    graph: Graph
    branches: tuple[_Eliminated, ...]
    core: tuple[int, ...]
    core_mass: SymmetricFactor
    core_rows: tuple[int, ...]
    core_jacobian: Rows
    core_response: Rows
    core_system: SymmetricFactor
    pivots: tuple[Pivot, ...]

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        graph = self.graph
        a, mu = [graph.zero] * len(forces), [graph.zero] * len(demand)
        right, open_rows = [forces[j] for j in self.core], list[tuple[list[Node], list[Node]]]()
        for own in self.branches:
            free = own.mass.solve([forces[j] for j in own.branch.coordinates])
            lacking = [
                demand[i] - have for i, have in zip(own.branch.rows, times(own.jacobian, free, graph), strict=True)
            ]
            lacking = _forward(own.compliance, lacking)
            push = times(transposed(own.scaled, len(self.core)), lacking, graph)
            right = [x + y for x, y in zip(right, push, strict=True)]
            open_rows.append((free, lacking))
        core, held = self._core(right, [demand[i] for i in self.core_rows])
        _put(a, self.core, core)
        _put(mu, self.core_rows, held)
        for own, (free, lacking) in zip(self.branches, open_rows, strict=True):
            left = [x - y for x, y in zip(lacking, times(own.reach, core, graph), strict=True)]
            found = _backward(own.compliance, left)
            more = times(own.response, found, graph)
            _put(a, own.branch.coordinates, [x + y for x, y in zip(free, more, strict=True)])
            _put(mu, own.branch.rows, found)
        return a, mu

    def _core(self, right: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        """Accelerations of the core, and what holds the rows that are in it alone."""
        free = self.core_mass.solve(right)
        lacking = [d - have for d, have in zip(demand, times(self.core_jacobian, free, self.graph), strict=True)]
        held = self.core_system.solve(lacking)
        return [x + y for x, y in zip(free, times(self.core_response, held, self.graph), strict=True)], held


def _put(into: list[Node], places: Sequence[int], values: Sequence[Node]) -> None:
    for place, value in zip(places, values, strict=True):
        into[place] = value


def branched_solver(mass: Rows, jacobian: Rows, branches: Sequence[Limb], graph: Graph) -> BranchedSolver:
    """The elimination of a definite mass matrix and of rows whose own reactions hold them."""
    inside = {j for branch in branches for j in branch.coordinates}
    closed = {i for branch in branches for i in branch.rows}
    core = tuple(j for j in range(len(mass)) if j not in inside)
    rest = tuple(i for i in range(len(jacobian)) if i not in closed)
    whole = _part(mass, core, core)
    eliminated = [_eliminated(mass, jacobian, branch, core, graph) for branch in branches]
    for own in eliminated:
        _add_inertia(whole, own, graph)
    core_mass, own_rows = factor_symmetric(whole, graph), _part(jacobian, rest, core)
    response = transposed([core_mass.solve_sparse(row) for row in own_rows], len(core))
    system = factor_symmetric(product(own_rows, response), graph)
    sizes = _sizes(mass, jacobian, graph)
    pivots = [*core_mass.pivots, *system.pivots]
    for own in eliminated:
        scales = [sizes[own.branch.rows[k]] * graph.const(FAR) for k in own.compliance.order]
        found = zip(own.compliance.pivots, scales, strict=True)
        pivots += [*own.mass.pivots, *(Pivot(pivot.value, scale) for pivot, scale in found)]
    return BranchedSolver(graph, tuple(eliminated), core, core_mass, rest, own_rows, response, system, tuple(pivots))


def _part(matrix: Rows, rows: Sequence[int], columns: Sequence[int]) -> Rows:
    """Some rows and columns of a matrix, counted anew."""
    place = {j: k for k, j in enumerate(columns)}
    return [{place[j]: node for j, node in matrix[i].items() if j in place} for i in rows]


def _eliminated(mass: Rows, jacobian: Rows, branch: Limb, core: Sequence[int], graph: Graph) -> _Eliminated:
    own = factor_symmetric(_part(mass, branch.coordinates, branch.coordinates), graph)
    slopes = _part(jacobian, branch.rows, branch.coordinates)
    response = transposed([own.solve_sparse(row) for row in slopes], len(branch.coordinates))
    compliance = factor_symmetric(product(slopes, response), graph)
    outer = transposed(_part(jacobian, branch.rows, core), len(core))
    columns = [_forward(compliance, [column.get(i, graph.zero) for i in range(len(slopes))]) for column in outer]
    reach: Rows = [
        {j: column[k] for j, column in enumerate(columns) if not column[k].is_zero} for k in range(len(slopes))
    ]
    inverse = compliance.inverse_pivots
    scaled: Rows = [{j: node * inverse[k] for j, node in row.items()} for k, row in enumerate(reach)]
    return _Eliminated(branch, own, response, slopes, compliance, reach, scaled)


def _add_inertia(whole: Rows, own: _Eliminated, graph: Graph) -> None:
    """M₀ + ZᵀD⁻¹Z, one half of it formed."""
    for reach, scaled in zip(own.reach, own.scaled, strict=True):
        for i, x in reach.items():
            for j, y in scaled.items():
                if j <= i:
                    whole[i][j] = whole[i].get(j, graph.zero) + x * y
                    whole[j][i] = whole[i][j]


def _sizes(mass: Rows, jacobian: Rows, graph: Graph) -> list[Node]:
    """How easily each row moves, as far as diagonal masses tell: Σ J²/m over all coordinates."""
    ease = [graph.one / row[j] for j, row in enumerate(mass)]
    return [graph.sum(node * node * ease[j] for j, node in row.items()) for row in jacobian]


def _forward(factor: SymmetricFactor, right: Sequence[Node]) -> list[Node]:
    """L⁻¹ P b."""
    x = [right[i] for i in factor.order]
    for k, column in enumerate(factor.columns):
        if not x[k].is_zero:
            for r, low in column.items():
                x[r] = x[r] - low * x[k]
    return x


def _backward(factor: SymmetricFactor, x: Sequence[Node]) -> list[Node]:
    """Pᵀ L⁻ᵀ D⁻¹ x."""
    found = [value * inverse for value, inverse in zip(x, factor.inverse_pivots, strict=True)]
    for k in reversed(range(len(found))):
        for r, low in factor.columns[k].items():
            found[k] = found[k] - low * found[r]
    result = list(found)
    for place, i in enumerate(factor.order):
        result[i] = found[place]
    return result
