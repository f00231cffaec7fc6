"""Deviations from the program, and how they move."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.common.memo import Memo
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.problem.program import Program


@dataclass(frozen=True, eq=False)
class Deviations:
    """y, w, J and γ as nodes.

        y = f(q, t)                              the holonomic functions
        w = (df/dt ; f(q, v, t))                 their rates, then the nonholonomic functions
        dw/dt = J a + γ,   J = ∂w/∂v,   γ = rate of w with v held

    One formula serves both kinds.
    """

    y: tuple[Node, ...]
    w: tuple[Node, ...]
    jacobian: Rows
    drift: tuple[Node, ...]
    memo: Memo = field(init=False, repr=False, default_factory=Memo)


def deviations_of(program: Program, inputs: Inputs) -> Deviations:
    """Walk the constraints and differentiate them on the graph."""
    y = [inputs.walk(f) for f in program.holonomic.values()]
    w = inputs.rate(y) + [inputs.walk(f) for f in program.nonholonomic.values()]
    return Deviations(tuple(y), tuple(w), jacobian(w, inputs.v), tuple(inputs.rate(w)))
