"""Rates from momenta: p = ∂T/∂v solved for v, by elimination where T is quadratic in the rates, by SymPy otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.sample import Sample, samples_of
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import jacobian
from holdfast.graph.linear_algebra import factor_symmetric
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.graph.walk import Walker
from holdfast.problem.quantities import Momentum

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

MOST_MOMENTA = 3  # momenta that SymPy is asked to solve at once
SAME_MOMENTA = 1e-8


def rates_of_momenta(equations: Equations, p: Sequence[Node], momenta: Sequence[Node]) -> list[Node]:
    """v(q, p, t): M⁻¹(p − b) for a quadratic T, the inverse of ∂T/∂v otherwise."""
    inputs, graph = equations.inputs, equations.inputs.graph
    mass = jacobian(momenta, inputs.v)
    samples = samples_of(equations.problem, equations.form, inputs, (*equations.deviations.y, *equations.deviations.w))
    _refuse_massless(equations, samples)
    if any(node in inputs.v for node in ancestors([node for row in mass for node in row.values()])):
        return _inverted(equations, p, momenta, samples)
    at_rest = substitute(list(momenta), {v: graph.zero for v in inputs.v})
    return factor_symmetric(mass, graph).solve([a - b for a, b in zip(p, at_rest, strict=True)])


def _refuse_massless(equations: Equations, samples: Sequence[Sample]) -> None:
    """Without inertia there is no momentum to speak of."""
    if not equations.dynamics.symmetric:
        return  # the masses themselves refuse
    n = len(equations.coordinates)
    for sample in samples:
        matrix = sample.dense(equations.dynamics.mass, n)
        if np.isfinite(matrix).all():
            _, sizes, directions = np.linalg.svd(matrix)
            if sizes[-1] > 1e-12 * sizes[0]:
                return
            weak = [c for c, share in zip(equations.coordinates, np.abs(directions[-1]), strict=True) if share > 1e-6]
            raise BadStatement(
                f"there is no canonical form: {' and '.join(map(repr, weak))} has no inertia, hence no momentum",
                where="system.kinetic",
                fix="use Lagrange's form (the equations themselves), or state the problem without that coordinate",
            )


def _inverted(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], samples: Sequence[Sample]
) -> list[Node]:
    """The solution of p = ∂T/∂v(v) that gives back the rates one started from."""
    inputs, display = equations.inputs, equations.display
    unknown = [display.raw(v) for v in inputs.v]
    symbols = [Momentum(node.data) for node in p]
    solutions: list[dict[sp.Symbol, sp.Expr]] = []
    if len(p) <= MOST_MOMENTA:
        laws = [display.raw(node) - symbol for node, symbol in zip(momenta, symbols, strict=True)]
        try:
            solutions = sp.solve(laws, unknown, dict=True)
        except NotImplementedError:
            solutions = []
    walk = Walker(
        inputs.graph, {**inputs.walk.names, **{symbol.name: node for symbol, node in zip(symbols, p, strict=True)}}
    )
    for solution in solutions:
        if set(solution) != set(unknown):
            continue
        nodes = [walk(solution[v]) for v in unknown]
        if all(_gives_back(nodes, p, momenta, inputs.v, sample) for sample in samples[1:]):
            return nodes
    raise BadStatement(
        "there is no canonical form in closed form: the momenta ∂T/∂v cannot be solved for the rates",
        where="system.kinetic",
        fix="use Lagrange's form (the equations themselves)",
    )


def _gives_back(
    nodes: Sequence[Node], p: Sequence[Node], momenta: Sequence[Node], v: Sequence[Node], sample: Sample
) -> bool:
    ledger = sample.beside(dict(zip(p, sample.of(momenta), strict=True)))
    found, wanted = np.array(ledger.of(nodes)), np.array(sample.of(v))
    return bool(np.isfinite(found).all() and np.abs(found - wanted).max() <= SAME_MOMENTA * (1 + np.abs(wanted).max()))
