"""V̇ and the coefficients of its quadratic part as formulas, for reading.

    V̇ = zᵀG'z + V₃,     G' = ½ DG/Dt + ½(GH + HᵀG),     V₃ = V_v·(a − p) + V_w·Y₂ + what V itself has beyond degree 2

D/Dt runs along the classical accelerations, written p_x here; actual ones are x''.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import sympy as sp

from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.graph.derivatives import directional
from holdfast.graph.display import Display
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.quantities import Acceleration
from holdfast.stability.theory.state_function import StateFunction


class RateFormulas:
    """Writes V̇, G, G' and V₃ in the symbols of the problem."""

    def __init__(self, function: StateFunction) -> None:
        self._function, self._equations = function, function.equations
        inputs, names = self._equations.inputs, self._equations.coordinates
        classical = [self._free_name(f"p_{name}") for name in names]
        self._classical = [inputs.graph.input(name) for name in classical]
        symbols = dict(self._equations.display.symbols)
        symbols |= {f"{name}_ddot": Acceleration(f"{name}_ddot") for name in names}
        symbols |= {name: sp.Symbol(name, real=True) for name in classical}
        self._display = Display(inputs.graph, symbols)

    def _free_name(self, name: str) -> str:
        """The name, lengthened until nothing in the problem has it."""
        while name in self._equations.display.symbols:
            name += "_"
        return name

    def _written(self, nodes: Sequence[Node]) -> list[sp.Expr]:
        return [self._display.tidy(node) for node in without_idle_gains(self._equations, nodes)]

    @property
    def _zeros(self) -> dict[Node, Node]:
        inputs = self._equations.inputs
        return {node: inputs.graph.zero for node in (*inputs.y.values(), *inputs.w.values())}

    @cached_property
    def _rate_node(self) -> Node:
        """V̇ with the accelerations as quantities of their own."""
        inputs = self._equations.inputs
        along = inputs.direction | dict(zip(inputs.v, inputs.a, strict=True))
        along |= self._function.rates
        return directional([self._function.node], along)[0]

    @cached_property
    def _forms(self) -> tuple[list[Node], list[Node]]:
        """G on the program, and G'."""
        graph, size = self._equations.inputs.graph, len(self._function.deviations)
        G, law = (substitute(nodes, self._zeros) for nodes in (self._function.hessian(), self._function.law_slopes()))
        drift = self._function.carried(G, self._classical)
        product = [graph.dot(G[i * size : (i + 1) * size], law[j::size]) for i in range(size) for j in range(size)]
        half = graph.one / 2
        slope = [
            half * (drift[i * size + j] + product[i * size + j] + product[j * size + i])
            for i in range(size)
            for j in range(size)
        ]
        return G, slope

    @cached_property
    def rate(self) -> sp.Expr:
        return self._written([self._rate_node])[0]

    @cached_property
    def matrix(self) -> sp.Matrix:
        size = len(self._function.deviations)
        return sp.Matrix(size, size, self._written(self._forms[0]))

    @cached_property
    def rate_matrix(self) -> sp.Matrix:
        size = len(self._function.deviations)
        return sp.Matrix(size, size, self._written(self._forms[1]))

    @cached_property
    def _exact(self) -> bool:
        """Whether V₃ = 0 by its form: V quadratic without rates, the law linear."""
        function, inputs = self._function, self._equations.inputs
        beyond = set(ancestors([*function.hessian(), *function.law_slopes()])) & set(self._zeros)
        return not beyond and not set(inputs.v) & set(ancestors([function.node]))

    @cached_property
    def rest(self) -> sp.Expr:
        """V₃ = V̇ − zᵀG'z."""
        if self._exact:
            return sp.S.Zero
        graph, z, size = self._equations.inputs.graph, self._function.deviations, len(self._function.deviations)
        slope = self._forms[1]
        quadratic = graph.dot([graph.dot(slope[i * size : (i + 1) * size], z) for i in range(size)], z)
        return self._written([self._rate_node - quadratic])[0]
