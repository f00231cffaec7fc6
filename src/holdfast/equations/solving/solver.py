"""Accelerations and the holders' forces from the demand.

    M a = h − m₂ + E μ,     J a + D μ + γ = Y

where D is what controls do through first-order states, if any does (`through`), and column k of E is Jᵢᵀ for a
constraint held by its own reaction and the direction of a control otherwise. The way is chosen by what is there, never
by an order of pivots that suits one state:

    inverse   as many constraints as coordinates: a = J⁻¹(Y − γ), μ = E⁻¹(M a − h); no mass is divided by
    solved    a definite mass matrix: A μ = Y − γ − J M⁻¹ h with A = J M⁻¹ E; where that is large and fills in, a and μ
              together, by tables (`graph.elimination.saddle`)
    weighted  masses that are missing: M + Jᵀ W J in the place of M, and h + Jᵀ W (Y − γ) in the place of h, which
              changes nothing where J a + γ = Y and is definite wherever the whole system is regular and M ≥ 0
    eased     several first integrals of the free motion (`first_integrals`)
    redundant constraints that repeat each other wherever they hold, or may do so at instants (`redundant`)
    saddle    anything else: M and J together, by orthogonal columns
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from holdfast.equations.dynamics.bodies.articulated import articulated
from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics
from holdfast.equations.dynamics.placing import independent_as_placed
from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.dynamics.through import together
from holdfast.equations.solving.dependence import Dependence, dependence_of
from holdfast.equations.solving.diagnosis import definite, singular, why_singular, why_undetermined
from holdfast.equations.solving.first_integrals import are_first_integrals, eased
from holdfast.equations.solving.large import (
    LARGE,
    plainly_definite,
    plainly_independent,
    plainly_moved,
    plainly_regular,
)
from holdfast.equations.solving.redundant import RedundantSolver, redundant_solver
from holdfast.equations.solving.solver_form import SolutionForm, Solver
from holdfast.errors import HoldfastError, SingularSystem
from holdfast.graph.elimination.saddle import TableSolver, table_solver
from holdfast.graph.general_solver import GeneralFactor, StructurallySingular, factor_general
from holdfast.graph.linear_algebra import (
    DefiniteFactor,
    Pivot,
    Rows,
    SymmetricFactor,
    factor_symmetric,
    product,
    times,
    transposed,
)
from holdfast.graph.nodes import Graph, Node
from holdfast.problem.problem import Problem

LONG_CHAIN = 12  # coordinates from the ground to a tip: beyond, articulated inertias take fewer operations than LDLᵀ


@dataclass(frozen=True, eq=False)
class InverseDynamics:
    """As many constraints as coordinates: the program alone fixes the accelerations."""

    graph: Graph
    mass: Rows
    jacobian: GeneralFactor
    holders: GeneralFactor
    form: SolutionForm = "inverse"

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        return (*self.jacobian.pivots, *self.holders.pivots)

    @property
    def unsigned(self) -> bool:
        return self.jacobian.unsigned or self.holders.unsigned

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        accelerations = self.jacobian.solve(demand)
        inertia = times(self.mass, accelerations, self.graph)
        return accelerations, self.holders.solve([i - f for i, f in zip(inertia, forces, strict=True)])


@dataclass(frozen=True, eq=False)
class Reduced:
    """A definite mass matrix (its own, or made so by `weights` on the constraints), and A = J M⁻¹ E after it."""

    graph: Graph
    mass: DefiniteFactor
    response: Rows  # M⁻¹E
    jacobian: Rows
    authority: Rows  # A
    system: SymmetricFactor | GeneralFactor  # of A
    weights: tuple[Fraction, ...] = ()

    @property
    def form(self) -> SolutionForm:
        return "weighted" if self.weights else "solved"

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        return (*self.mass.pivots, *self.system.pivots)

    @property
    def unsigned(self) -> bool:
        return isinstance(self.system, GeneralFactor) and self.system.unsigned

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        free = self.mass.solve(self._with_demand(forces, demand))
        lacking = [want - have for want, have in zip(demand, times(self.jacobian, free, self.graph), strict=True)]
        mu = self.system.solve(lacking)
        held = times(self.response, mu, self.graph)
        return [a + b for a, b in zip(free, held, strict=True)], mu

    def _with_demand(self, forces: Sequence[Node], demand: Sequence[Node]) -> Sequence[Node]:
        """h + Jᵀ W (Y − γ)."""
        if not self.weights:
            return forces
        weighted = [self.graph.const(w) * d for w, d in zip(self.weights, demand, strict=True)]
        push = times(transposed(self.jacobian, len(forces)), weighted, self.graph)
        return [f + p for f, p in zip(forces, push, strict=True)]


@dataclass(frozen=True, eq=False)
class Saddle:
    """M and J together: masses that are not symmetric or not positive."""

    graph: Graph
    system: GeneralFactor
    form: SolutionForm = "saddle"

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        return self.system.pivots

    @property
    def unsigned(self) -> bool:
        return self.system.unsigned

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        unknowns = self.system.solve([*forces, *demand])
        return unknowns[: len(forces)], unknowns[len(forces) :]


def solver_of(
    problem: Problem, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, holders: Rows, samples: list[Sample]
) -> Solver:
    """The solver that suits the system, judged at the states where it is regular; an error by name if there is none."""
    return _Choice(problem, inputs, dynamics, deviations, holders, samples).solver()


@dataclass(frozen=True, eq=False)
class _Choice:
    """What is known when a solver is chosen."""

    problem: Problem
    inputs: Inputs
    dynamics: Dynamics
    deviations: Deviations
    holders: Rows
    samples: list[Sample]

    def solver(self) -> Solver:
        graph, n, r = self.inputs.graph, len(self.inputs.q), len(self.deviations.w)
        jacobian = self.deviations.jacobian
        try:
            if self._keeps_integrals:
                made = self._reduced(self.dynamics.mass)
                return eased(made.mass, made.response, jacobian, made.authority, graph)
            redundant = self._redundant()
            if redundant is not None:
                return redundant
            regular = self._regular
            if r == n and not self.deviations.through:
                return InverseDynamics(graph, self.dynamics.mass, self._general(jacobian), self._general(self.holders))
            if self.dynamics.symmetric:
                if regular is None or self._definite(regular):
                    return self._by_tables() or self._reduced(self.dynamics.mass)
                weights = self._weights(regular)
                mass = _sum(self.dynamics.mass, product(transposed(self._scaled(weights), n), jacobian))
                if definite(regular.dense(mass, n)) and not self.deviations.through:
                    return self._reduced(mass, weights)
            saddle: Rows = [dict(row) for row in self.dynamics.mass] + [dict(row) for row in jacobian]
            for i, row in enumerate(self.holders):
                saddle[i] |= {n + k: -node for k, node in row.items()}
            for i, row in enumerate(self.deviations.through):
                saddle[n + i] |= {n + k: node for k, node in row.items()}
            return Saddle(graph, self._general(saddle))
        except StructurallySingular as reason:
            raise self._structural(reason) from None

    # ── constraints that repeat each other ────────────────────────────────────────────────────────

    def _redundant(self) -> RedundantSolver | None:
        """The solver that bears dependent constraints, where it is asked for or needed; none where it is not."""
        program, n = self.problem.program, len(self.inputs.q)
        if not self.deviations.w or (program.redundant is None and program.controls):
            return None
        dependence = self._dependence
        if dependence is None and program.redundant == "allow":
            _ = self._regular  # an error by name where constraints contradict each other
        elif dependence is None:
            return None
        elif program.redundant == "refuse":
            raise self._why(dependence.samples[-1])
        sample = self._defined(self.samples if dependence is None else dependence.samples)
        if sample is None or not self.dynamics.symmetric:
            return None
        mass, slopes = sample.dense(self.dynamics.mass, n), sample.dense(self.deviations.jacobian, n)
        weights = self._weights(sample)
        if not definite(mass + (slopes.T * [float(w) for w in weights]) @ slopes):
            raise why_undetermined(self.problem, mass, slopes) or self._why(sample)
        return redundant_solver(self.inputs.graph, self.dynamics.mass, self.deviations.jacobian, weights, dependence)

    def _definite(self, sample: Sample) -> bool:
        """Whether masses are definite at a sample."""
        n = len(self.inputs.q)
        if n > LARGE and plainly_definite(sample.rows(self.dynamics.mass)):
            return True
        return definite(sample.dense(self.dynamics.mass, n))

    @cached_property
    def _dependence(self) -> Dependence | None:
        if len(self.inputs.q) > LARGE and not self.deviations.degrees and self._plainly_independent():
            return None
        return dependence_of(self.problem.program.constraints, self.inputs, self.deviations, self.samples)

    def _plainly_independent(self) -> bool:
        """Whether constraints are told apart at the start, or else at a state beside it, moved onto the program."""
        inputs, deviations = self.inputs, self.deviations
        if plainly_independent(self.samples[0], inputs, deviations):
            return True
        if len(deviations.y) == len(deviations.w):  # slopes that depend on places alone
            placed = (inputs.q, deviations.y, deviations.jacobian)
            if any(independent_as_placed(sample, *placed) for sample in self.samples):
                return True
        moved = (plainly_moved(sample, inputs, deviations) for sample in self.samples)
        return any(found is not None and plainly_independent(found, inputs, deviations) for found in moved)

    def _defined(self, samples: Sequence[Sample]) -> Sample | None:
        """The first sample at which masses and constraints are defined."""
        n = len(self.inputs.q)
        rows = (self.dynamics.mass, self.deviations.jacobian)
        return next((s for s in samples if all(np.isfinite(s.dense(part, n)).all() for part in rows)), None)

    def _why(self, sample: Sample) -> HoldfastError:
        """Why the system is singular at a sample on the program."""
        n, r = len(self.inputs.q), len(self.deviations.w)
        mass, slopes = sample.dense(self.dynamics.mass, n), sample.dense(self.deviations.jacobian, n)
        held = np.zeros((1, len(self.deviations.y)))
        through = sample.dense(self.deviations.through_rows, r)
        return why_singular(self.problem, mass, slopes, sample.dense(self.holders, r), held, through=through)

    @property
    def _keeps_integrals(self) -> bool:
        """Whether the program is several first integrals of the free motion, and nothing else."""
        program, n = self.problem.program, len(self.inputs.q)
        if program.holonomic or program.controls or len(program.nonholonomic) < 2 or not self.dynamics.symmetric:
            return False
        if self.inputs.multipliers:  # friction keeps none
            return False
        redundant = set(program.nonholonomic) <= set(program.keep)  # then they may depend on each other everywhere
        if not redundant and (self._dependence is not None or self._regular is None):
            return False
        if not self._definite_somewhere(n):
            return False
        mass = factor_symmetric(self.dynamics.mass, self.inputs.graph)
        drift, slopes = self.deviations.drift, self.deviations.jacobian
        return are_first_integrals(self.dynamics.bias, drift, slopes, mass, self.samples)

    def _definite_somewhere(self, n: int) -> bool:
        """Whether masses are definite at the first sample where they are defined, whatever the constraints are."""
        masses = (sample.dense(self.dynamics.mass, n) for sample in self.samples)
        found = next((mass for mass in masses if np.isfinite(mass).all()), None)
        return found is not None and definite(found)

    @cached_property
    def _regular(self) -> Sample | None:
        """The first sample at which the whole system has an inverse; none where it is defined at no sample.

        An error by name where it is defined and singular at all.
        """
        n, r, found = len(self.inputs.q), len(self.deviations.w), None
        if n > LARGE and self.dynamics.symmetric and not self.deviations.through:
            parts = (self.dynamics.mass, self.deviations.jacobian, self.holders)
            plain = next((sample for sample in self.samples if plainly_regular(sample, *parts)), None)
            if plain is not None:
                return plain
        for sample in self.samples:
            mass = sample.dense(self.dynamics.mass, n)
            jacobian = sample.dense(self.deviations.jacobian, n)
            forces, through = sample.dense(self.holders, r), sample.dense(self.deviations.through_rows, r)
            if not all(np.isfinite(part).all() for part in (mass, jacobian, forces, through)):
                continue
            if not singular(mass, jacobian, forces, through):
                return sample
            found = (mass, jacobian, forces, through)
        if found is not None:
            if self._dependence is not None:
                raise self._why(self._dependence.samples[-1])
            deviating = np.array([sample.of(self.deviations.y) for sample in self.samples])
            mass, jacobian, forces, through = found
            raise why_singular(
                self.problem, mass, jacobian, forces, deviating, through=through, repeats_looked_for=True
            )
        return None

    def _general(self, matrix: Rows) -> GeneralFactor:
        sizes = None if self._regular is None else self._regular.rows(matrix)
        return factor_general(matrix, self.inputs.graph, sizes)

    def _by_tables(self) -> TableSolver | None:
        """The solver of a large system that fills in: reactions alone, and masses that couple few coordinates."""
        if self.problem.program.controls or self.deviations.through or self.dynamics.by_bodies_alone:
            return None
        return table_solver(self.dynamics.mass, self.deviations.jacobian, self.inputs.graph)

    def _mass_factor(self) -> DefiniteFactor:
        """Of M: by articulated inertias where bodies alone make it and chains of them are long, else LDLᵀ."""
        dynamics, inputs = self.dynamics, self.inputs
        if dynamics.by_bodies_alone and dynamics.bodies is not None and dynamics.bodies.tree.longest > LONG_CHAIN:
            return articulated(dynamics.bodies.tree, inputs.q)
        return factor_symmetric(dynamics.mass, inputs.graph)

    def _reduced(self, mass_matrix: Rows, weights: tuple[Fraction, ...] = ()) -> Reduced:
        graph, n, r = self.inputs.graph, len(self.inputs.q), len(self.deviations.w)
        mass = factor_symmetric(mass_matrix, graph) if weights else self._mass_factor()
        columns = transposed(self.holders, r)
        solved = [mass.solve_sparse(column) for column in columns]
        response = transposed(solved, n)
        authority = together(product(self.deviations.jacobian, response), self.deviations.through)
        system: SymmetricFactor | GeneralFactor
        if self.problem.program.controls:
            system = self._general(authority)
        else:
            system = factor_symmetric(authority, graph)
        return Reduced(graph, mass, response, self.deviations.jacobian, authority, system, weights)

    # ── weights where masses are missing ──────────────────────────────────────────────────────────

    def _weights(self, sample: Sample) -> tuple[Fraction, ...]:
        """For each constraint the mass that moves with it, as a power of two: 1/w = Σ J²/m over the masses there are.

        Any positive weights give the same accelerations; these keep the terms of M + JᵀWJ of one size, in any units.
        """
        n = len(self.inputs.q)
        masses = np.abs(np.diag(sample.dense(self.dynamics.mass, n)))
        slopes, present = sample.dense(self.deviations.jacobian, n), masses > 0
        mobility = (slopes[:, present] ** 2 / masses[present]).sum(axis=1)
        typical = float(np.exp(np.log(masses[present]).mean())) if present.any() else 1.0
        return tuple(_power_of_two(1 / m if m > 0 else typical) for m in mobility)

    def _scaled(self, weights: Sequence[Fraction]) -> Rows:
        graph = self.inputs.graph
        return [
            {j: node * graph.const(weight) for j, node in row.items()}
            for weight, row in zip(weights, self.deviations.jacobian, strict=True)
        ]

    def _structural(self, reason: StructurallySingular) -> SingularSystem:
        names = [*(c.name for c in self.problem.system.coordinates), *self.problem.program.constraints]
        n, whole = len(self.inputs.q), len(names)
        told = names if len(self.inputs.q) + len(self.deviations.w) == whole else names[n:]
        listed = ", ".join(repr(told[row]) for row in reason.rows if row < len(told))
        return SingularSystem(
            f"the equations of {listed or 'the program'} contain too few unknowns to be solved, at any state",
            where="system and program",
            fix="give each coordinate inertia or a constraint, and each constraint a force that holds it",
        )


def _sum(left: Rows, right: Rows) -> Rows:
    result: Rows = [dict(row) for row in left]
    for row, more in zip(result, right, strict=True):
        for j, node in more.items():
            row[j] = row[j] + node if j in row else node
    return result


def _power_of_two(size: float) -> Fraction:
    return Fraction(2) ** (math.frexp(size)[1] - 1)
