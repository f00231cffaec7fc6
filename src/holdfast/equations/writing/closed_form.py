"""Multipliers and controls in closed form, where there is a short one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.graph.display import expanded_terms, tree_size
from holdfast.graph.nodes import Node

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

LARGEST_FORMULA = 400  # nodes of a formula that is still shown in closed form


def closed_form(equations: Equations) -> dict[str, sp.Expr]:
    """μ by name as formulas in q, v, t and the deviations y, w; empty where they would be too long to read.

    r = n:   a = J⁻¹(Y − γ),   μ = E⁻¹(M a − h + m₂)
    r = 1:   μ = (Y − γ − J M⁻¹(h − m₂)) / (J M⁻¹ E)
    """
    n, r = len(equations.coordinates), len(equations.constraints)
    if r == 0 or (r != n and r != 1):
        return {}
    nodes = without_idle_gains(equations, equations.solver(*_law_level(equations))[1])
    if any(tree_size(node) > LARGEST_FORMULA or expanded_terms(node) > LARGEST_FORMULA for node in nodes):
        return {}
    return {name: _tidy_quotient(equations, node) for name, node in zip(equations.holder_names, nodes, strict=True)}


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
