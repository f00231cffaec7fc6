"""Multipliers and controls in closed form, where there is a short one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.writing.short import cramer, difference, length, short, shortest, signed
from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.graph.display import expanded_terms, tree_size
from holdfast.graph.linear_algebra import times
from holdfast.graph.nodes import Node

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

LARGEST_FORMULA = 400  # nodes of a formula that is still shown in closed form
LONGEST_CLOSED = 150  # operations of one that Cramer's rule gives
LARGEST_MATRIX = 3  # rows of a matrix whose determinant is written out


def closed_form(equations: Equations) -> dict[str, sp.Expr]:
    """μ by name as formulas in q, v, t and the deviations y, w; empty where they would be too long to read.

    r = n:   a = J⁻¹(Y − γ),   μ = E⁻¹(M a − h + m₂)
    r < n:   μ = A⁻¹(Y − γ − J M⁻¹(h − m₂)),   A = J M⁻¹E

    by Cramer's rule, x = adj(A) b / det A, or as the elimination has it where that is shorter.
    """
    n, r = len(equations.coordinates), len(equations.constraints)
    if r == 0 or (r > LARGEST_MATRIX and r != n):
        return {}
    nodes = without_idle_gains(equations, equations.solver(*_law_level(equations))[1])
    plain = _by_elimination(equations, nodes) if r in (1, n) else None
    if plain is not None and not any(map(_divided, plain.values())):
        return plain
    ruled = _by_cramer(equations, nodes) if r <= LARGEST_MATRIX else None
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


def _by_cramer(equations: Equations, nodes: Sequence[Node]) -> dict[str, sp.Expr] | None:
    """The forces by determinants, checked against those of the elimination; nothing where they are long."""
    n, r = len(equations.coordinates), len(equations.constraints)
    if max(tree_size(node) for node in (*equations.deviations.drift, *equations.dynamics.bias)) > LARGEST_FORMULA:
        return None
    found = _square(equations) if n == r else _reduced(equations)
    if found is None or max(map(length, found)) > LONGEST_CLOSED:
        return None
    if not all(equations.display.agrees(shown, node) for shown, node in zip(found, nodes, strict=True)):
        return None
    return dict(zip(equations.holder_names, found, strict=True))


def _square(equations: Equations) -> list[sp.Expr]:
    """As many constraints as coordinates: a = J⁻¹(Y − γ), then the forces that it takes."""
    n, mass = len(equations.coordinates), equations.mass_matrix
    wanted = [difference(y, d) for y, d in zip(equations.demand, equations.drift_term, strict=True)]
    a = cramer(equations.jacobian, wanted)
    own = [difference(h, m) for h, m in zip(equations.bias, equations.excess_bias, strict=True)]
    needed = [signed(sp.Add(*(mass[i, j] * a[j] for j in range(n)), -own[i])) for i in range(n)]
    return cramer(equations.holder_matrix, needed)


def _reduced(equations: Equations) -> list[sp.Expr] | None:
    """Fewer constraints than coordinates: A μ = Y − γ − J M⁻¹(h − m₂)."""
    factor, entries, r = equations.mass_factor, equations.authority_nodes, len(equations.constraints)
    if factor is None or entries is None:
        return None
    free, wanted = _law_level(equations)
    wanted = without_idle_gains(equations, wanted)
    moved = times(equations.deviations.jacobian, factor.solve(free), equations.inputs.graph)
    sizes = [tree_size(node) for node in (*moved, *(node for row in entries for node in row.values()))]
    if max(sizes) > LARGEST_FORMULA:
        return None
    tidy = equations.display.tidy
    matrix = sp.Matrix(r, r, lambda i, j: short(tidy(entries[i][j])) if j in entries[i] else sp.S.Zero)
    return cramer(matrix, [difference(tidy(y), tidy(b)) for y, b in zip(wanted, moved, strict=True)])


def _law_level(equations: Equations) -> tuple[list[Node], list[Node]]:
    """h − m₂ and Y − γ, in the inputs y and w."""
    law, second = equations.demand_law, equations.second_order
    excess = law.excess_bias if second and law.excess_bias is not None else None
    forces = list(equations.dynamics.bias)
    if excess is not None:
        forces = [h - m for h, m in zip(forces, excess, strict=True)]
    wanted = law.value if second else law.linear
    return forces, [y - d for y, d in zip(wanted, equations.deviations.drift, strict=True)]


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
