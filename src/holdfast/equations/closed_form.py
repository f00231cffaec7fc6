"""Multipliers and controls in closed form, where there is a short one."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.sample import Sample
from holdfast.equations.shown import without_idle_gains
from holdfast.graph.display import expanded_terms, tree_size
from holdfast.graph.linear_algebra import Rows, factor_general, pivot_order, times
from holdfast.graph.nodes import Node

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

LONGEST = 400  # nodes of a formula that is still shown in closed form


def closed_form(equations: Equations) -> dict[str, sp.Expr]:
    """μ by name as formulas in q, v, t and the deviations y, w; empty where they would be too long to read.

    r = n:   a = J⁻¹(Y − γ),   μ = E⁻¹(M a − h + m₂)
    r = 1:   μ = (Y − γ − J M⁻¹(h − m₂)) / (J M⁻¹ E)
    """
    n, r = len(equations.coordinates), len(equations.constraints)
    if r == 0 or (r != n and r != 1):
        return {}
    nodes = without_idle_gains(equations, _inverse_dynamics(equations) if r == n else _single(equations))
    if any(tree_size(node) > LONGEST or expanded_terms(node) > LONGEST for node in nodes):
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


def _inverse_dynamics(equations: Equations) -> list[Node]:
    graph = equations.inputs.graph
    forces, demand = _law_level(equations)
    accelerations = _solve(equations, equations.deviations.jacobian, demand)
    inertia = times(equations.dynamics.mass, accelerations, graph)
    return _solve(equations, equations.holders, [i - f for i, f in zip(inertia, forces, strict=True)])


def _single(equations: Equations) -> list[Node]:
    return equations.solver(*_law_level(equations))[1]


def _solve(equations: Equations, matrix: Rows, right: list[Node]) -> list[Node]:
    """A small system by elimination, with pivots chosen at a random state."""
    inputs, shake = equations.inputs, random.Random(3)
    everything = [inputs.time, *inputs.q, *inputs.v, *inputs.s, *inputs.parameters.values(), *inputs.gains.values()]
    sample = Sample({node: shake.uniform(0.2, 0.9) for node in everything})
    return factor_general(matrix, inputs.graph, pivot_order(sample.rows(matrix))).solve(right)


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
