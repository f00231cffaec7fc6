"""The canonical form as people read it: M⁻¹ by Cramer's rule, the Hamiltonian over one denominator.

    Ham = ½ (p − b)ᵀ M⁻¹ (p − b) − T₀ + P,      T = ½ vᵀ M v + b·v + T₀

Each formula is checked against the graph, and shown as the graph has it where that fails. Where the rates have no
closed form, formulas are written in p and in the rates v that solve p = ∂T/∂v.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.forms.rates_from_momenta import kinetic_of, momenta_of
from holdfast.equations.writing.short import CramersRule, short, shortest
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.quantities import Momentum

if TYPE_CHECKING:
    from holdfast.equations.forms.canonical import Canonical

LARGEST_BLOCK = 3  # momenta that a mass matrix couples, up to which its inverse is written out


class ShownCanonical:
    """Rates, Hamiltonian and free momentum rates as formulas."""

    def __init__(self, canonical: Canonical) -> None:
        self._canonical = canonical
        self._display = canonical.display

    @cached_property
    def hamiltonian(self) -> sp.Expr:
        canonical = self._canonical
        if canonical.branch is not None:
            return self._at_rates(canonical.energy_in_rates)
        found = self._quadratic
        return self._checked(None if found is None else found[1], canonical.energy)

    @cached_property
    def rates(self) -> list[sp.Expr]:
        canonical = self._canonical
        if canonical.branch is not None:
            return list(canonical.branch.formulas or (c.rate for c in canonical.equations.problem.system.coordinates))
        shown = self._quadratic[0] if self._quadratic is not None else [None] * len(canonical.p)
        return [self._checked(formula, node) for formula, node in zip(shown, canonical.rates, strict=True)]

    @cached_property
    def momentum_rates(self) -> list[sp.Expr]:
        canonical, q = self._canonical, self._canonical.equations.problem.system.coordinates
        if canonical.branch is not None:
            return [self._at_rates(node) for node in canonical.free_in_rates]
        given = [self._display.tidy(node) for node in canonical.given]
        slopes: Sequence[sp.Expr | None] = [None] * len(q)
        if self._quadratic is not None:
            slopes = [short(force - sp.diff(self.hamiltonian, c)) for force, c in zip(given, q, strict=True)]
        return [self._checked(formula, node) for formula, node in zip(slopes, canonical.free_rates, strict=True)]

    def _checked(self, formula: sp.Expr | None, node: Node) -> sp.Expr:
        """The shorter of a formula that agrees with the graph and the graph's own."""
        if formula is not None and self._display.agrees(formula, node):
            return shortest(formula, self._display.tidy(node)) if self._display.readable(node) else formula
        plain = self._display.tidy(node)
        shorter = short(plain)
        return shorter if shorter is plain or self._display.agrees(shorter, node) else plain

    def _at_rates(self, node: Node) -> sp.Expr:
        """A node in p and v, with the closed form of v put in where there is one."""
        branch, shown = self._canonical.branch, self._display.tidy(node)
        if branch is None or branch.formulas is None:
            return shown
        rates = [c.rate for c in self._canonical.equations.problem.system.coordinates]
        return shown.subs(dict(zip(rates, branch.formulas, strict=True)), simultaneous=True)

    @cached_property
    def _quadratic(self) -> tuple[list[sp.Expr], sp.Expr] | None:
        """v and Ham by Cramer's rule, block by block of M; nothing where T has another form or blocks are large."""
        equations, tidy = self._canonical.equations, self._display.tidy
        inputs, graph, n = equations.inputs, equations.inputs.graph, len(self._canonical.p)
        momenta = momenta_of(equations)
        mass = jacobian(momenta, inputs.v)
        if any(node in inputs.v for node in ancestors([node for row in mass for node in row.values()])):
            return None
        at_rest = {v: graph.zero for v in inputs.v}
        *linear, level = substitute([*momenta, kinetic_of(equations)], at_rest)
        matrix = self._mass_shown(mass)
        moved = [Momentum(p.data) - tidy(b) for p, b in zip(self._canonical.p, linear, strict=True)]
        rates: list[sp.Expr] = [sp.S.Zero] * n
        total = sp.S.Zero
        for block in _blocks(matrix):
            if len(block) > LARGEST_BLOCK:
                return None
            solved = CramersRule(matrix.extract(block, block)).solve([moved[i] for i in block])
            for i, rate in zip(block, solved, strict=True):
                rates[i] = short(rate)
            total += _half_square([moved[i] for i in block], solved)
        rest = tidy(equations.dynamics.potential - level)
        return rates, total + rest

    def _mass_shown(self, mass: Sequence[dict[int, Node]]) -> sp.Matrix:
        """M with the tidied entries of the equations where they are the same."""
        equations, n = self._canonical.equations, len(mass)
        if not equations.dynamics.points:
            return equations.mass_matrix
        tidy = self._display.tidy
        return sp.Matrix(n, n, lambda i, j: tidy(mass[max(i, j)][min(i, j)]) if min(i, j) in mass[max(i, j)] else 0)


def _half_square(moved: Sequence[sp.Expr], rates: Sequence[sp.Expr]) -> sp.Expr:
    """½ (p − b)·v over one denominator, as short as it comes."""
    plain = sp.Add(*(p * v for p, v in zip(moved, rates, strict=True))) / 2
    return short(plain)


def _blocks(matrix: sp.Matrix) -> list[list[int]]:
    """The groups of rows that entries of the matrix join."""
    left, found = set(range(matrix.rows)), []
    while left:
        group, new = set(), {min(left)}
        while new:
            group |= new
            new = {j for i in new for j in left if matrix[i, j] != 0} - group
        left -= group
        found.append(sorted(group))
    return found
