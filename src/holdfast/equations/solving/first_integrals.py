"""First integrals kept together: corrected only where they can be told apart.

A program whose rows are first integrals of the free motion asks for forces only to correct deviations:

    J a₀ + γ = 0 with M a₀ = h,     so that     S μ = Y,     a = a₀ + M⁻¹Jᵀ μ,     S = J M⁻¹ Jᵀ

At isolated states their gradients may become parallel (energy and areal velocity of a Kepler orbit, at each apsis).
There μ ~ Y / sin² of the angle is not determined, and taken literally it throws the motion off by more than it
corrects. With p = det S / Π S_ii, which is sin² of the angle between two gradients, the system is eased where p < p₀:

    (S + θ diag S) μ = Y,      θ = p₀ max(0, 1 − p/p₀)²

so that a correction is never amplified by more than about 1/p₀, and the law holds as stated wherever p ≥ p₀. What is
left uncorrected at an apsis is corrected after it. With more rows than coordinates p = 0 at every state, and θ = p₀.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from holdfast.equations.dynamics.sample import Sample
from holdfast.equations.solving.solver_form import SolutionForm
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.balls import BRANCHES, precision
from holdfast.graph.linear_algebra import DefiniteFactor, Pivot, Rows, SymmetricFactor, factor_symmetric, times
from holdfast.graph.nodes import Graph, Node, ancestors

EASED = Fraction(1, 10)  # p₀: corrections are amplified ten times at most; beyond that they do more harm than drift
SOFT = Fraction(1, 2**40)  # keeps the quotients that measure p defined where p vanishes
LOOKS = 2  # states, with terms that cancel there, that make an identity
BITS, TINY = 128, 2.0**-60  # a residual enclosed in less than this part of its terms is taken for zero


@dataclass(frozen=True, eq=False)
class EasedIntegrals:
    """Solves M a = forces + Jᵀ μ with J a = demand, eased where the rows of J become parallel."""

    graph: Graph
    mass: DefiniteFactor
    response: Rows  # M⁻¹Jᵀ
    jacobian: Rows
    authority: Rows  # S
    system: SymmetricFactor  # of S + θ diag S
    softness: Node  # θ
    form: SolutionForm = "eased"
    unsigned: bool = False

    @property
    def pivots(self) -> tuple[Pivot, ...]:
        return (*self.mass.pivots, *self.system.pivots)

    def __call__(self, forces: Sequence[Node], demand: Sequence[Node]) -> tuple[list[Node], list[Node]]:
        free = self.mass.solve(forces)
        lacking = [want - have for want, have in zip(demand, times(self.jacobian, free, self.graph), strict=True)]
        mu = self.system.solve(lacking)
        held = times(self.response, mu, self.graph)
        return [a + b for a, b in zip(free, held, strict=True)], mu


def eased(mass: DefiniteFactor, response: Rows, jacobian: Rows, authority: Rows, graph: Graph) -> EasedIntegrals:
    """The solver of kept first integrals from what an ordinary one has already made."""
    if len(jacobian) > len(response):
        softness = graph.const(EASED)
        softened = [_softened(i, row, softness) for i, row in enumerate(authority)]
        return EasedIntegrals(graph, mass, response, jacobian, authority, factor_symmetric(softened, graph), softness)
    plain = factor_symmetric([_softened(i, row, graph.const(SOFT)) for i, row in enumerate(authority)], graph)
    share = graph.one
    for pivot in plain.pivots:
        share = share * (pivot.value / pivot.scale)
    near = graph.call("max", graph.zero, graph.one - share / graph.const(EASED))
    softness = graph.const(EASED) * near * near
    softened = [_softened(i, row, softness) for i, row in enumerate(authority)]
    return EasedIntegrals(graph, mass, response, jacobian, authority, factor_symmetric(softened, graph), softness)


def _softened(i: int, row: dict[int, Node], softness: Node) -> dict[int, Node]:
    return {j: node + softness * node if j == i else node for j, node in row.items()}


def are_first_integrals(
    bias: Sequence[Node], drift: Sequence[Node], jacobian: Rows, mass: DefiniteFactor, samples: Sequence[Sample]
) -> bool:
    """Whether J a₀ + γ vanishes identically: at every sample where it is defined, beside the start at least; in balls.

    What vanishes at states chosen at random vanishes everywhere only if it is analytic, so nothing in it may branch.
    """
    graph, seen = mass.graph, 0
    free = mass.solve(bias)
    if any(node.op in BRANCHES for node in ancestors([*free, *drift, *(n for row in jacobian for n in row.values())])):
        return False
    terms = [[*(node * free[j] for j, node in row.items()), have] for row, have in zip(jacobian, drift, strict=True)]
    totals = [graph.sum(row) for row in terms]
    with precision(BITS):
        for sample in samples:
            known = sample.in_balls()
            try:
                values, sizes = known.of(totals), [known.of(row) for row in terms]
            except (Undecided, ValueError, ZeroDivisionError):
                continue
            for value, row in zip(values, sizes, strict=True):
                largest = max(float(term.abs_upper()) for term in row)
                if not value.is_finite() or not float(value.abs_upper()) <= TINY * largest:
                    return False
            seen += all(any(float(term.abs_upper()) > 0 for term in row) for row in sizes)
    return seen >= LOOKS
