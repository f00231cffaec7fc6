"""A smooth basis N of the rates that a program leaves free, J N = 0, by independent rates.

Of J = (J_I, J_D) the rates D follow from the others, v_D = −J_D⁻¹ J_I v_I. The columns of N are multiplied by the
determinants that would divide them: a knife edge has (cos φ, sin φ), which is smooth where tan φ is not. A basis by
singular vectors or QR would jump from state to state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.equations import Equations
from holdfast.equations.quasi.minors import determinant
from holdfast.equations.quasi.simplified import simplified
from holdfast.equations.quasi.velocities import depends, first_finite
from holdfast.equations.solving.redundant import RedundantSolver
from holdfast.errors import BadStatement
from holdfast.graph.general_solver import factor_general
from holdfast.graph.linear_algebra import Pivot, Rows
from holdfast.graph.nodes import Node

LARGEST_BLOCK = 3  # rows whose determinant is written out
PREFERRED = 10.0  # how much smaller a slope may be that does not change, and still be divided by


@dataclass(frozen=True, eq=False)
class FreeRates:
    """N, one column for each independent coordinate, which it multiplies by `scales`."""

    coordinates: tuple[int, ...]
    scales: tuple[Node, ...]
    basis: Rows  # by coordinate
    pivots: tuple[Pivot, ...] = ()


def require_independent(equations: Equations) -> None:
    """An error by name where constraints repeat each other."""
    if isinstance(equations.solver, RedundantSolver) and equations.solver.dependence is not None:
        raise BadStatement(
            f"independent rates need independent constraints: {equations.solver.dependence.words}",
            where="program",
            fix="use the equations themselves, which bear them, or state the program without repeats",
        )


def free_rates(equations: Equations, seen: Sequence[Sample]) -> FreeRates:
    """The basis for the program of some equations, its dependent rates chosen at the start or beside it."""
    n, jacobian = len(equations.coordinates), equations.deviations.jacobian
    numbers = first_finite(jacobian, n, seen)
    masses = first_finite(equations.dynamics.mass, n, seen)
    if numbers is None or masses is None:
        raise BadStatement(
            "the program is not defined at the start, nor beside it", where="start", fix="choose another start"
        )
    moving = (*equations.inputs.q, *equations.inputs.s, equations.inputs.time)
    steady = [not depends((row[j] for row in jacobian if j in row), moving) for j in range(n)]
    dependent = _dependent(numbers, np.diag(masses), steady)
    basis = _Basis(equations, dependent, numbers)
    return basis.scaled() if all(len(rows) <= LARGEST_BLOCK for rows, _ in basis.blocks) else basis.divided(seen)


def _dependent(jacobian: np.ndarray, masses: np.ndarray, steady: Sequence[bool]) -> list[int]:
    """The rates to be solved for: each the steepest that is left, in units of mass."""
    present = masses[masses > 0]
    typical = float(np.exp(np.log(present).mean())) if present.size else 1.0
    left = jacobian / np.sqrt(np.where(masses > 0, masses, typical))
    chosen: list[int] = []
    for _ in range(len(jacobian)):
        sizes = np.linalg.norm(left, axis=0) * np.where(steady, PREFERRED, 1.0)
        sizes[chosen] = -1.0
        best = int(sizes.argmax())
        chosen.append(best)
        direction = left[:, best] / np.linalg.norm(left[:, best])
        left = left - np.outer(direction, direction @ left)
    return sorted(chosen)


@dataclass(frozen=True, eq=False)
class _Basis:
    equations: Equations
    dependent: list[int]
    numbers: np.ndarray

    @property
    def _free(self) -> list[int]:
        return [j for j in range(len(self.equations.coordinates)) if j not in self.dependent]

    @property
    def blocks(self) -> list[tuple[list[int], list[int]]]:
        """Rows and dependent rates that hang together."""
        jacobian, left = self.equations.deviations.jacobian, set(range(len(self.dependent)))
        found = []
        while left:
            rows, columns = {min(left)}, set[int]()
            while True:
                columns |= {j for i in rows for j in jacobian[i] if j in self.dependent}
                wider = {i for i in left if columns & jacobian[i].keys()} | rows
                if wider == rows:
                    break
                rows = wider
            left -= rows
            found.append((sorted(rows), sorted(columns)))
        return found

    def scaled(self) -> FreeRates:
        """Each column times the determinants of the blocks it touches, unless they are constant."""
        graph, display = self.equations.inputs.graph, self.equations.display
        jacobian, one = self.equations.deviations.jacobian, graph.one
        columns, scales = [], []
        inputs = self.equations.inputs
        moving = (*inputs.q, *inputs.s, inputs.time)
        for i in self._free:
            column, scale, sign = {i: one}, one, 1.0
            for rows, places in self.blocks:
                right = [jacobian[row].get(i, graph.zero) for row in rows]
                if all(node.is_zero for node in right):
                    continue
                matrix = [[jacobian[row].get(j, graph.zero) for j in places] for row in rows]
                det = simplified(determinant(matrix, graph), display)
                solved = [-determinant(_with_column(matrix, k, right), graph) for k in range(len(places))]
                if depends((det,), moving):
                    column = {j: node * det for j, node in column.items()}
                    scaled = [scale * node for node in solved]
                    scale = scale * det
                    sign *= float(np.sign(np.linalg.det(self.numbers[np.ix_(rows, places)])))
                else:
                    scaled = [scale * node / det for node in solved]
                column |= dict(zip(places, scaled, strict=True))
            turned = -1 if sign < 0 else 1
            column = {j: simplified(node * turned, display) for j, node in column.items()}
            columns.append({j: node for j, node in column.items() if not node.is_zero})
            scales.append(simplified(scale * turned, display))
        n = len(self.equations.coordinates)
        basis: Rows = [{k: column[j] for k, column in enumerate(columns) if j in column} for j in range(n)]
        return FreeRates(tuple(self._free), tuple(scales), basis)

    def divided(self, seen: Sequence[Sample]) -> FreeRates:
        """The independent rates themselves."""
        graph, jacobian = self.equations.inputs.graph, self.equations.deviations.jacobian
        inner: Rows = [{k: row[j] for k, j in enumerate(self.dependent) if j in row} for row in jacobian]
        factor = factor_general(inner, graph, seen[-1].rows(inner))
        basis: Rows = [{} for _ in self.equations.coordinates]
        for k, i in enumerate(self._free):
            basis[i][k] = graph.one
            for j, node in zip(
                self.dependent, factor.solve([-row.get(i, graph.zero) for row in jacobian]), strict=True
            ):
                if not node.is_zero:
                    basis[j][k] = node
        return FreeRates(tuple(self._free), (graph.one,) * len(self._free), basis, factor.pivots)


def _with_column(matrix: Sequence[Sequence[Node]], k: int, column: Sequence[Node]) -> list[list[Node]]:
    return [[*row[:k], entry, *row[k + 1 :]] for row, entry in zip(matrix, column, strict=True)]
