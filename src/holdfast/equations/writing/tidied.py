"""The dynamics as people read them: derived once more from a kinetic energy whose coefficients have been tidied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import sympy as sp

from holdfast.equations.dynamics.lagrange import Dynamics, dynamics_of
from holdfast.graph.derivatives import gradient
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.laws.linear import Unstabilised

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations


def without_idle_gains(equations: Equations, nodes: Sequence[Node]) -> list[Node]:
    """Nodes as they are to be read: a law that corrects nothing has no gains to show, though its kernel takes them."""
    if not isinstance(equations.problem.program.law, Unstabilised):
        return list(nodes)
    zero = equations.inputs.graph.zero
    return list(substitute(list(nodes), {gain: zero for gain in equations.inputs.gains.values()}))


class ShownDynamics:
    """M, h and the energy in few terms, each checked against the graph.

        T = ½ vᵀ M v + b·v + T₀

    Written so, with tidied coefficients, Lagrange's equations come out short; a kinetic energy of another form is
    taken as it is.
    """

    def __init__(self, equations: Equations) -> None:
        self._equations = equations
        self._exact = equations.dynamics if equations.friction is None else equations.friction.stated
        self.mass_matrix = self._mass_matrix()
        self._short = self._short_dynamics()

    def bias(self) -> sp.Matrix:
        pairs = zip(self._short.bias, self._exact.bias, strict=True)
        return sp.Matrix([self._shown(short, node) for short, node in pairs])

    def energy(self) -> sp.Expr:
        short, graph, v = self._short, self._equations.inputs.graph, self._equations.inputs.v
        node = graph.dot(v, short.momenta) - short.kinetic + short.potential
        return self._shown(node, self._equations.observables["energy"])

    def _mass_matrix(self) -> sp.Matrix:
        """The lower triangle tidied, the upper one its mirror image where M is symmetric."""
        n, rows, tidy = len(self._exact.mass), self._exact.mass, self._equations.display.tidy
        if not self._exact.symmetric:
            return sp.Matrix(n, n, lambda i, j: tidy(rows[i][j]) if j in rows[i] else sp.S.Zero)
        lower = {(i, j): tidy(rows[i][j]) if j in rows[i] else sp.S.Zero for i in range(n) for j in range(i + 1)}
        return sp.Matrix(n, n, lambda i, j: lower[max(i, j), min(i, j)])

    def _short_dynamics(self) -> Dynamics:
        equations, exact, inputs = self._equations, self._exact, self._equations.inputs
        if exact.points:
            return exact
        rates = set(inputs.v)
        entries = [node for row in exact.mass for node in row.values()]
        if any(node in rates for node in ancestors(entries)):
            return exact
        graph, walk, tidy = inputs.graph, equations.display.walk, equations.display.tidy
        at_rest = {v: graph.zero for v in inputs.v}
        slopes = gradient(exact.kinetic, inputs.v)
        (level,) = substitute([exact.kinetic], at_rest)
        linear = substitute([slopes.get(v, graph.zero) for v in inputs.v], at_rest)
        kinetic = level + graph.dot([walk(tidy(b)) for b in linear], inputs.v)
        for i, v in enumerate(inputs.v):
            kinetic = kinetic + walk(self.mass_matrix[i, i]) * v**2 / 2
            for j in range(i):
                kinetic = kinetic + walk(self.mass_matrix[i, j]) * v * inputs.v[j]
        if not equations.display.same(kinetic, exact.kinetic):
            return exact
        return dynamics_of(equations.problem.system, inputs, kinetic=kinetic)

    def _shown(self, short: Node, node: Node) -> sp.Expr:
        """The tidied short form of a node, if it is the same function; the node's own form otherwise."""
        display = self._equations.display
        shown = display.tidy(short)
        return shown if short is node or display.agrees(shown, node) else display.tidy(node)
