"""A law whose coefficients vary, or that is not linear, over one step: what contracts, and what must vanish.

    dz/dt = F(z, X, t),    F₁ = F,    F_{k+1} = ∂F_k/∂z F + ∂F_k/∂X Ẋ + ∂F_k/∂t

with z the deviations, X the state and Ẋ the rates that are run. Along a motion z = ψ(X), so F_k is the k-th rate of ψ,
and a scheme of order p gives

    ψ(Φ_τ(x)) = ψ + Σ_{k≤p} τᵏ/k! F_k(ψ, x, t) + c τ^(p+1) = A ψ + c τ^(p+1),      A = I + Σ_{k≤p} τᵏ/k! ∂F_k/∂z

where ∂F_k/∂z is a mean over the segment from 0 to ψ, because F_k(0, X, t) = 0 for all X. For F = Hz with a constant H
this is R(τH); see docs/theory/3-drift.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial
from typing import Any

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.nodes import Node, ancestors, substitute


@dataclass(frozen=True, eq=False)
class LawTerms:
    """F₁ … F_p of one block, in the deviations (inputs of their own), time and state; numbers put in."""

    deviations: tuple[Node, ...]  # z of the whole program
    places: tuple[int, ...]  # of the block in it
    time: Node
    state: tuple[Node, ...]
    terms: tuple[tuple[Node, ...], ...]
    psi: tuple[Node, ...]  # the deviations as functions of the state

    @property
    def own(self) -> tuple[Node, ...]:
        return tuple(self.deviations[i] for i in self.places)

    def along(self) -> tuple[tuple[Node, ...], ...]:
        """The terms as functions of time and state: z = ψ(X)."""
        actual = dict(zip(self.deviations, self.psi, strict=True))
        return tuple(tuple(substitute(list(row), actual)) for row in self.terms)

    def step_matrix(self, step: float) -> list[list[Node]]:
        """A with this step, in z, time and state."""
        graph, size = self.time.graph, len(self.places)
        rows: list[list[Node]] = [[graph.const(int(i == j)) for j in range(size)] for i in range(size)]
        for k, row in enumerate(self.terms, 1):
            share = graph.const(Fraction(step) ** k / factorial(k))
            for i, slopes in enumerate(jacobian(row, self.own)):
                for j, slope in slopes.items():
                    rows[i][j] = rows[i][j] + share * slope
        return rows

    def variables(self, rows: Sequence[Sequence[Node]]) -> tuple[Node, ...]:
        """The inputs among time and state on which A depends."""
        found = set(ancestors([node for row in rows for node in row]))
        return tuple(node for node in (self.time, *self.state) if node in found)


def law_terms(equations: Equations, places: Sequence[int], numbers: Mapping[Node, Node], order: int) -> LawTerms:
    """F₁ … F_order of a block; refused where F does not vanish with the block's own deviations, by the graph."""
    inputs, law, field = equations.inputs, equations.demand_law, equations.field
    z: list[Node] = [*inputs.y.values(), *inputs.w.values()]
    count = len(equations.deviations.y)
    demand = law.value if equations.second_order else law.linear
    flow = [z[place] for place in equations.deviations.follows] + substitute(list(demand), dict(numbers))
    rates, psi = (substitute(list(nodes), dict(numbers)) for nodes in (field.rates, _psi(equations)))
    if len(z) != len(flow) or len(flow) != count + len(demand):
        raise BadRequest("the deviations of this program are not all inputs of its law")
    along: dict[Node, Any] = {inputs.time: inputs.graph.one, **dict(zip(z, flow, strict=True))}
    along |= dict(zip(field.state, rates, strict=True))
    terms = [[flow[i] for i in places]]
    for _ in range(order - 1):
        terms.append(directional(terms[-1], along))
    still = {z[i]: inputs.graph.zero for i in places}
    if not all(node.is_zero for node in substitute(terms[0], still)):
        raise BadRequest("the law is not shown to vanish with the deviations it attracts", where="program.law")
    return LawTerms(tuple(z), tuple(places), inputs.time, field.state, tuple(map(tuple, terms)), tuple(psi))


def _psi(equations: Equations) -> tuple[Node, ...]:
    return (*equations.deviations.y, *equations.deviations.w)
