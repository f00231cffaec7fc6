"""Constraints that depend on each other: accelerations and held forces are unique and right, multipliers are not.

With weights W on the constraints, M + Jᵀ W J is definite wherever M ≥ 0 and the whole determines a, whatever the rank
of J. It is factored once; a and λ are then refined on both residuals of the whole system, from a = 0, λ = 0:

    r₁ = h + Jᵀλ − M a,     r₂ = Y − γ − J a,     (M + Jᵀ W J) δ = r₁ + Jᵀ W r₂,     a ← a + δ,   λ ← λ + W (r₂ − J δ)

After each pass M a = h + Jᵀλ holds exactly, and what is left of r₂ in a direction whose mobility is σ (J M⁻¹ Jᵀ, in
units of 1/w) is divided by 1 + 2²⁰σ: the method of multipliers (Hestenes 1969, Powell 1969; for mechanisms Bayo and
Ledesma 1996). Directions without mobility are left alone: no divisor vanishes with the rank of J. The multipliers given
are those of least norm, λᵀ W⁻¹ λ, with the same Jᵀλ:   λ = W J z,   Jᵀ W J z = Jᵀλ, by passes with the same factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.equations.solving.dependence import Dependence
from holdfast.equations.solving.solution import Solution
from holdfast.equations.solving.solver_form import SolutionForm, Solver
from holdfast.graph.linear_algebra import Pivot, Rows, SymmetricFactor, factor_symmetric, product, times, transposed
from holdfast.graph.nodes import Graph, Node

STIFF = Fraction(2**20)  # times the mass that moves with a constraint: far above 1, and its square root far below 1/ε
PASSES = 5  # each divides what is left of a demand by 2²⁰ times its mobility: 10⁻³ of the usual one still leaves 10⁻¹⁵


@dataclass(frozen=True, eq=False)
class RefinementPass:
    """One pass, as it is computed: r₂ before it, δ, and a and λ after it."""

    unmet: list[Node]
    change: list[Node]
    accelerations: list[Node]
    multipliers: list[Node]


@dataclass(frozen=True, eq=False)
class RedundantSolver:
    """Solves M a = forces + Jᵀ μ and J a = demand for rows of J that may depend on each other."""

    graph: Graph
    masses: Rows  # M
    jacobian: Rows
    weights: tuple[Fraction, ...]
    factor: SymmetricFactor  # of M + Jᵀ W J
    pivots: tuple[Pivot, ...]
    dependence: Dependence | None = None
    form: SolutionForm = "redundant"
    unsigned: bool = False

    @property
    def inertias(self) -> list[Node]:
        """What each coordinate moves by itself, constraints included: (M + Jᵀ W J)ⱼⱼ with natural weights."""
        places = dict(zip(self.factor.order, self.pivots, strict=True))
        return [places[j].scale for j in range(len(places))]

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        last = self.passes(forces, demand)[-1]
        return last.accelerations, self._least(last.multipliers, transposed(self.jacobian, len(forces)))

    def passes(self, forces: Sequence[Node], demand: Sequence[Node]) -> list[RefinementPass]:
        """Each pass: M a = h + Jᵀλ and J a + W⁻¹λ = Y − γ + W⁻¹λ of the pass before."""
        graph, zero = self.graph, self.graph.zero
        across = transposed(self.jacobian, len(forces))
        a, mu = [zero] * len(forces), [zero] * len(demand)
        found = []
        for _ in range(PASSES):
            unmet = _less(demand, times(self.jacobian, a, graph))
            push = times(across, _plus(mu, self._weighted(unmet)), graph)  # Jᵀ(λ + W r₂)
            change = self.factor.solve(_less(_plus(forces, push), times(self.masses, a, graph)))
            a = _plus(a, change)
            mu = _plus(mu, self._weighted(_less(unmet, times(self.jacobian, change, graph))))
            found.append(RefinementPass(unmet, change, a, mu))
        return found

    def _least(self, mu: list[Node], across: Rows) -> list[Node]:
        """The multipliers of least norm with the same Jᵀ λ."""
        graph, zero = self.graph, self.graph.zero
        z, least = [zero] * len(across), [zero] * len(mu)
        for _ in range(PASSES):
            z = _plus(z, self.factor.solve(times(across, _less(mu, least), graph)))
            least = self._weighted(times(self.jacobian, z, graph))
        return least

    def _weighted(self, vector: Sequence[Node]) -> list[Node]:
        return [self.graph.const(w) * x for w, x in zip(self.weights, vector, strict=True)]


def passes_of(solver: RedundantSolver, solution: Solution) -> list[RefinementPass]:
    """The passes by which a problem's accelerations are found."""
    forces = [h - m for h, m in zip(solution.bias, solution.excess_bias, strict=True)]
    return solver.passes(forces, [y - d for y, d in zip(solution.demand, solution.drift, strict=True)])


def repeats_note(solver: Solver) -> str:
    """What must be said of constraints that repeat each other, in one sentence; nothing where none do."""
    if not isinstance(solver, RedundantSolver) or solver.dependence is None:
        return ""
    multipliers = ", ".join(f"lambda_{name}" for name in solver.dependence.names)
    words = solver.dependence.words
    return (
        f"{words[0].upper() + words[1:]}: the motion and the forces that hold it are determined all the same, but "
        f"{multipliers} are not unique, and those of least norm are given."
    )


def not_unique(solver: Solver) -> tuple[str, ...]:
    """The constraints whose multipliers are not unique."""
    return solver.dependence.names if isinstance(solver, RedundantSolver) and solver.dependence is not None else ()


def redundant_solver(
    graph: Graph, mass: Rows, jacobian: Rows, natural: Sequence[Fraction], dependence: Dependence | None
) -> RedundantSolver:
    """The solver from the masses that move with each constraint, `natural`."""
    weights = tuple(STIFF * weight for weight in natural)
    factor = factor_symmetric(_with_weights(mass, jacobian, weights, graph), graph)
    beside = _with_weights(mass, jacobian, natural, graph)  # a pivot is lost beside inertia, not beside the weights
    pivots = tuple(
        Pivot(pivot.value, beside[i].get(i, graph.zero)) for i, pivot in zip(factor.order, factor.pivots, strict=True)
    )
    return RedundantSolver(graph, mass, jacobian, weights, factor, pivots, dependence)


def _with_weights(mass: Rows, jacobian: Rows, weights: Sequence[Fraction], graph: Graph) -> Rows:
    """M + Jᵀ W J."""
    scaled = [{j: x * graph.const(w) for j, x in row.items()} for w, row in zip(weights, jacobian, strict=True)]
    result: Rows = [dict(row) for row in mass]
    for row, more in zip(result, product(transposed(scaled, len(mass)), jacobian), strict=True):
        for j, node in more.items():
            row[j] = row[j] + node if j in row else node
    return result


def _plus(left: Sequence[Node], right: Sequence[Node]) -> list[Node]:
    return [x + y for x, y in zip(left, right, strict=True)]


def _less(left: Sequence[Node], right: Sequence[Node]) -> list[Node]:
    return [x - y for x, y in zip(left, right, strict=True)]
