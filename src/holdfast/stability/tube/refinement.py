"""Systems that are not solved as they stand: eased where integrals become dependent, or in passes where rows repeat.

    J a + θ diag S μ = Y − γ                                 eased: the rows yield to what cannot be told apart
    J a + W⁻¹λ = Y − γ + W⁻¹λ of the pass before             in passes, M a = h + Jᵀλ at each

Both are linear systems with something on the diagonal of the rows, regular whatever the rank of J.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.engine.forms.tape import Recorder, Value
from holdfast.equations.equations import Equations
from holdfast.equations.solving.first_integrals import EasedIntegrals
from holdfast.equations.solving.redundant import RedundantSolver, passes_of
from holdfast.equations.solving.solver_form import Solver
from holdfast.graph.nodes import Node

Entries = Mapping[tuple[int, int], Value]


@dataclass(frozen=True, eq=False)
class Refinement:
    """W⁻¹, and (a, λ) after each pass, as they are computed."""

    yields: tuple[Fraction, ...]
    passes: tuple[tuple[Node, ...], ...]

    def solved(self, tape: Recorder, entries: Entries, right: Sequence[Value]) -> list[int]:
        """(a, λ) of the last pass."""
        found: list[int] = []
        for _ in self.passes:
            found = self.solved_once(tape, entries, right, found)
        return found

    def solved_once(
        self, tape: Recorder, entries: Entries, right: Sequence[Value], before: Sequence[Value]
    ) -> list[int]:
        """(a, λ) of one pass, from those of the pass before."""
        shift = len(right) - len(self.yields)
        wanted = list(right)
        for i, (value, share) in enumerate(zip(before[shift:], self.yields, strict=False)):
            wanted[shift + i] = tape.add(wanted[shift + i], tape.mul(value, share))
        return tape.solve(entries, wanted)


def refinement_of(equations: Equations) -> Refinement | None:
    """The passes by which constraints that may repeat each other are solved; None where there are none."""
    solver = equations.solver
    if not isinstance(solver, RedundantSolver):
        return None
    passes = passes_of(solver, equations.solution)
    return Refinement(
        tuple(1 / weight for weight in solver.weights),
        tuple((*one.accelerations, *one.multipliers) for one in passes),
    )


def yielding(solver: Solver) -> list[Node]:
    """What stands on the diagonal of the rows; nothing where the law is met as it stands."""
    if isinstance(solver, EasedIntegrals):
        return [row[i] * solver.softness for i, row in enumerate(solver.authority)]
    if isinstance(solver, RedundantSolver):
        return [solver.graph.const(1 / weight) for weight in solver.weights]
    return []
