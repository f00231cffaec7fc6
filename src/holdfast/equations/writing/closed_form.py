"""Multipliers and controls in closed form, where there is a short one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.writing.short import CramersRule, difference, length, short, shortest, signed
from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.graph.display import expanded_terms, tree_size
from holdfast.graph.linear_algebra import Rows, times
from holdfast.graph.nodes import Node

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

LARGEST_FORMULA = 400  # nodes of a formula that is still shown in closed form
LONGEST_PLAIN = 300  # operations of A and its right side as they come, which shortening halves at best
LONGEST_CLOSED = 150  # operations of one that Cramer's rule gives
LARGEST_MATRIX = 3  # rows of a matrix whose determinant is written out


@dataclass(frozen=True)
class Causes:
    """What the forces answer: the demand Y and the drift γ, the free forces h and the excess bias m₂ (in y and w)."""

    demand: Sequence[Node]
    drift: Sequence[Node]
    bias: Sequence[Node]
    excess: Sequence[Node]

    @property
    def forces(self) -> list[Node]:
        return [h - m for h, m in zip(self.bias, self.excess, strict=True)]

    @property
    def wanted(self) -> list[Node]:
        return [y - d for y, d in zip(self.demand, self.drift, strict=True)]


def causes_of(equations: Equations) -> Causes:
    """All causes together: μ as a whole."""
    law, zero = equations.demand_law, equations.inputs.graph.zero
    excess = law.excess_bias if equations.second_order and law.excess_bias is not None else None
    demand = without_idle_gains(equations, law.value if equations.second_order else law.linear)
    none = [zero] * len(equations.coordinates)
    return Causes(demand, equations.deviations.drift, equations.dynamics.bias, none if excess is None else excess)


def closed_form(equations: Equations, causes: Causes | None = None) -> dict[str, sp.Expr]:
    """μ by name as formulas in q, v, t and the deviations y, w; empty where they would be too long to read.

    r = n:   a = J⁻¹(Y − γ),   μ = E⁻¹(M a − h + m₂)
    r < n:   μ = A⁻¹(Y − γ − J M⁻¹(h − m₂)),   A = J M⁻¹E

    by Cramer's rule, x = adj(A) b / det A, or as the elimination has it where that is shorter. With `causes`, what
    answers these alone.
    """
    n, r = len(equations.coordinates), len(equations.constraints)
    if r == 0 or (r > LARGEST_MATRIX and r != n) or equations.solver.form == "redundant":
        return {}  # multipliers of constraints that repeat each other have no formula of their own
    if equations.deviations.extensions:
        return {}  # nor have controls with rates of their own: their demand is a state
    if equations.problem.program.shortfall or equations.friction is not None:
        return {}  # nor have controls that are cut off, nor reactions that friction uses
    causes = causes or causes_of(equations)
    nodes = equations.solver(causes.forces, causes.wanted)[1]
    plain = _by_elimination(equations, nodes) if r in (1, n) else None
    if plain is not None and not any(map(_divided, plain.values())):
        return plain
    ruled = _by_cramer(equations, nodes, causes) if r <= LARGEST_MATRIX else None
    if plain is None or ruled is None:
        return plain or ruled or {}
    return {name: shortest(ruled[name], plain[name]) for name in plain}


def _divided(formula: sp.Expr) -> bool:
    """Whether there is a denominator that is not a product."""
    return any(power.exp.is_negative and power.base.is_Add for power in formula.atoms(sp.Pow))


def _by_elimination(equations: Equations, nodes: Sequence[Node]) -> dict[str, sp.Expr] | None:
    if any(tree_size(node) > LARGEST_FORMULA or expanded_terms(node) > LARGEST_FORMULA for node in nodes):
        return None
    return {name: _tidy_quotient(equations, node) for name, node in zip(equations.holder_names, nodes, strict=True)}


def _by_cramer(equations: Equations, nodes: Sequence[Node], causes: Causes) -> dict[str, sp.Expr] | None:
    """The forces by determinants, checked against those of the elimination; nothing where they are long."""
    n, r = len(equations.coordinates), len(equations.constraints)
    if max(tree_size(node) for node in (*causes.drift, *causes.bias)) > LARGEST_FORMULA:
        return None
    found = _square(equations, causes) if n == r else _reduced(equations, causes)
    if (
        found is None
        or max(map(length, found)) > LONGEST_CLOSED
        or any(formula.has(sp.nan, sp.zoo) for formula in found)
    ):
        return None
    if not all(equations.display.agrees(shown, node) for shown, node in zip(found, nodes, strict=True)):
        return None
    return dict(zip(equations.holder_names, found, strict=True))


def _square(equations: Equations, causes: Causes) -> list[sp.Expr]:
    """As many constraints as coordinates: a = J⁻¹(Y − γ), then the forces that it takes."""
    n, mass, tidy = len(equations.coordinates), equations.mass_matrix, equations.display.tidy
    wanted = [difference(tidy(y), tidy(d)) for y, d in zip(causes.demand, causes.drift, strict=True)]
    a = _rule(equations, "J", equations.jacobian).solve(wanted)
    free = equations.bias if causes.bias is equations.dynamics.bias else map(tidy, causes.bias)
    own = [difference(h, tidy(m)) for h, m in zip(free, causes.excess, strict=True)]
    needed = [signed(sp.Add(*(mass[i, j] * a[j] for j in range(n)), -own[i])) for i in range(n)]
    return _rule(equations, "E", equations.holder_matrix).solve(needed)


def _rule(equations: Equations, letter: str, matrix: sp.Matrix) -> CramersRule:
    """Cramer's rule for one of the matrices of the equations: its determinants are written out once."""
    return equations.memo.once((_rule, letter), lambda: CramersRule(matrix))


def _reduced(equations: Equations, causes: Causes) -> list[sp.Expr] | None:
    """Fewer constraints than coordinates: A μ = Y − γ − J M⁻¹(h − m₂)."""
    factor, entries = equations.mass_factor, equations.authority_nodes
    if factor is None or entries is None:
        return None
    moved = times(equations.deviations.jacobian, factor.solve(causes.forces), equations.inputs.graph)
    sizes = [tree_size(node) for node in (*moved, *(node for row in entries for node in row.values()))]
    if max(sizes) > LARGEST_FORMULA:
        return None
    tidy = equations.display.tidy
    plain = [*(node for row in entries for node in row.values()), *causes.wanted, *moved]
    if sum(length(tidy(node)) for node in plain) > LONGEST_PLAIN:
        return None
    matrix = equations.memo.once(_reduced, lambda: _shown_authority(equations, entries))
    right = [difference(tidy(y), tidy(b)) for y, b in zip(causes.wanted, moved, strict=True)]
    if sum(map(length, (*matrix, *right))) > LONGEST_CLOSED:
        return None  # x has each of them, and more
    return _rule(equations, "A", matrix).solve(right)


def _shown_authority(equations: Equations, entries: Rows) -> sp.Matrix:
    tidy, r = equations.display.tidy, len(equations.constraints)
    return sp.Matrix(r, r, lambda i, j: short(tidy(entries[i][j])) if j in entries[i] else sp.S.Zero)


def _tidy_quotient(equations: Equations, node: Node) -> sp.Expr:
    """One fraction with tidied numerator and denominator, or the tidied node, whichever is shorter and agrees."""
    display = equations.display
    plain = display.tidy(node)
    above, below = sp.fraction(sp.together(plain))
    if below.free_symbols:
        fraction = sp.factor_terms(sp.expand(above)) / sp.factor_terms(sp.expand(below))
        candidates = sorted((fraction, plain), key=sp.count_ops)
        return next((c for c in candidates if c is plain or display.agrees(c, node)), plain)
    return plain
