"""Excess energies as matrices: inertia a, damping c and stiffness k of the deviations, and whether they are definite.

    2T = wᵀ a w + ...,   2D = wᵀ c w + ...,   2P = yᵀ k y + ...          a = ∂²T/∂w², c = ∂²D/∂w², k = ∂²P/∂y² at 0

a, c, k constant, symmetric and positive definite make the program asymptotically stable, whatever the number of
nonholonomic constraints: the energy ½wᵀaw + ½yᵀky falls at the rate wᵀcw, and LaSalle does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import gradient, jacobian
from holdfast.graph.nodes import substitute
from holdfast.stability.linear.norms import leading_minors


@dataclass(frozen=True, eq=False)
class Definiteness:
    """A symmetric matrix at one state, and its sign."""

    matrix: np.ndarray

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        return np.linalg.eigvalsh((self.matrix + self.matrix.T) / 2) if self.matrix.size else np.zeros(0)

    @property
    def minors(self) -> np.ndarray:
        return leading_minors(self.matrix)

    @property
    def positive(self) -> bool:
        return bool((self.eigenvalues > 0).all())

    @property
    def word(self) -> str:
        values = self.eigenvalues
        if self.positive:
            return "positive definite"
        tiny = 1e-12 * np.abs(values).max()
        return "positive semidefinite" if (values >= -tiny).all() else "indefinite or negative"

    def __str__(self) -> str:
        return f"{self.word}, eigenvalues " + ", ".join(f"{x:.4g}" for x in self.eigenvalues)


def excess_definiteness(
    equations: Equations, time: float, state: np.ndarray, parameters: Mapping[Any, Any] | None
) -> Frozen[Definiteness]:
    """a, c and k of a law made of excess energies, at a state."""
    inputs = equations.inputs
    y, w = list(inputs.y.values()), list(inputs.w.values())
    on_program = {node: inputs.graph.zero for node in (*y, *w)}
    point = [time, *state, *parameter_vector(equations, parameters or {})]
    found = {}
    for name, energy, by in (("inertia", "kinetic", w), ("damping", "dissipation", w), ("stiffness", "potential", y)):
        slopes = gradient(inputs.walk(equations.form.excess[energy]), by)
        rows = jacobian([slopes.get(node, inputs.graph.zero) for node in by], by)
        entries = [row.get(j, inputs.graph.zero) for row in rows for j in range(len(by))]
        numbers = Tape(equations.field.inputs, tuple(substitute(entries, on_program)))(point) if entries else []
        found[name] = Definiteness(np.array(numbers, dtype=float).reshape(len(by), len(by)))
    return Frozen(found)
