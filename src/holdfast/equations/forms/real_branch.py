"""The rates of momenta where T is not quadratic: the real solution of p = ∂T/∂v, in closed form or by Newton's method.

    p = b + a v + c v³,  a/c > 0       v = 2 √(a/3c) sinh(⅓ arsinh(½ (3/a) √(3c/a) (p − b)))
    else                               v ← v + M(v)⁻¹ (p − ∂T/∂v(v)),  M = ∂²T/∂v²

The cubic has one real root, and this is it for every p; one step of Newton's method follows, for the digits that arsinh
loses at small p. Newton's method is written out as statements, from the tangent at rest; where it has not met p within
`MET` the rates are not a number, so that a run ends there and says so. Nothing is differentiated through the steps:
dq/dt = v, Ham_q = P_q − T_q and M are exact at whatever v solves p = ∂T/∂v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.sample import Sample
from holdfast.graph.derivatives import gradient, jacobian
from holdfast.graph.linear_algebra import Rows, factor_symmetric
from holdfast.graph.nodes import Node, substitute
from holdfast.problem.quantities import Momentum

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

STEPS = 40  # of Newton's method: quadratic at the end, and by a third a step from far away for v³
MOST_STEPS = 120  # for all rates together
MET = Fraction(1, 10**9)  # of the terms that make up p: what Newton's method reaches at least, or gives up


@dataclass(frozen=True, eq=False)
class RealBranch:
    """v(q, p, t) as nodes, and as formulas where there is a closed form."""

    rates: tuple[Node, ...]
    formulas: tuple[sp.Expr, ...] | None


def real_branch(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], samples: Sequence[Sample]
) -> RealBranch | None:
    """The real branch that gives back the rates of the samples; nothing where Newton's method does not find them."""
    closed = _cubics(equations, p, momenta, samples)
    if closed is not None:
        return closed
    mass = jacobian(momenta, equations.inputs.v)
    v = _start(equations, p, momenta, mass, samples)
    for _ in range(min(STEPS, MOST_STEPS // len(p))):
        v = _newton_step(equations, p, momenta, mass, v)
    return RealBranch(tuple(_guarded(equations, p, momenta, mass, v)), None)


def _newton_step(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], mass: Rows, v: Sequence[Node]
) -> list[Node]:
    at = dict(zip(equations.inputs.v, v, strict=True))
    reached = substitute(list(momenta), at)
    slopes = [dict(zip(row, substitute(list(row.values()), at), strict=True)) for row in mass]
    moved = factor_symmetric(slopes, equations.inputs.graph).solve([a - b for a, b in zip(p, reached, strict=True)])
    return [old + step for old, step in zip(v, moved, strict=True)]


def _start(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], mass: Rows, samples: Sequence[Sample]
) -> list[Node]:
    """From rest, where the mass is regular there; else from the rates of the start, or beside it."""
    graph, v, n = equations.inputs.graph, equations.inputs.v, len(p)
    rest = [graph.zero] * n
    places = [rest, *([graph.const(Fraction(x)) for x in sample.of(v)] for sample in samples)]
    for place in places:
        at = dict(zip(v, place, strict=True))
        slopes = [dict(zip(row, substitute(list(row.values()), at), strict=True)) for row in mass]
        matrices = [sample.dense(slopes, n) for sample in samples]
        if all(np.isfinite(m).all() and np.linalg.cond(m) < 1e12 for m in matrices):
            return place
    return rest


def _guarded(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], mass: Rows, v: Sequence[Node]
) -> list[Node]:
    """The rates where they meet p, and what is not a number elsewhere."""
    graph = equations.inputs.graph
    at = dict(zip(equations.inputs.v, v, strict=True))
    missed, sizes = graph.zero, graph.zero
    for row, wanted, reached in zip(mass, p, substitute(list(momenta), at), strict=True):
        slopes = substitute(list(row.values()), at)
        missed = missed + graph.call("abs", wanted - reached)
        sizes = sizes + graph.call("abs", wanted)
        sizes = sizes + graph.sum(graph.call("abs", slope * v[j]) for j, slope in zip(row, slopes, strict=True))
    over = missed - graph.const(MET) * sizes
    return [graph.select(over, graph.call("log", -over), rate) for rate in v]


def _cubics(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node], samples: Sequence[Sample]
) -> RealBranch | None:
    """The closed form, where each momentum is a cubic without a quadratic term in its own rate alone."""
    inputs, graph, display = equations.inputs, equations.inputs.graph, equations.display
    at_rest = {v: graph.zero for v in inputs.v}
    nodes, formulas = [], []
    for k, (momentum, v) in enumerate(zip(momenta, inputs.v, strict=True)):
        slope = gradient(momentum, inputs.v)
        if any(other is not v and not node.is_zero for other, node in slope.items()):
            return None
        third = gradient(gradient(slope.get(v, graph.zero), [v]).get(v, graph.zero), [v]).get(v, graph.zero)
        b, a, six_c = substitute([momentum, slope.get(v, graph.zero), third], at_rest)
        c = six_c / 6
        if not display.same(b + a * v + c * v**3, momentum):
            return None
        ratios = [x / y if y else np.nan for sample in samples for x, y in [sample.of([a, c])]]
        if not all(ratio > 0 for ratio in ratios):
            return None
        nodes.append(_cubic_root(a, c, p[k] - b))
        formulas.append(_cubic_formula(display.tidy(a), display.tidy(c), Momentum(p[k].data) - display.tidy(b)))
    mass = jacobian(momenta, inputs.v)
    return RealBranch(tuple(_newton_step(equations, p, momenta, mass, nodes)), tuple(formulas))


def _cubic_root(a: Node, c: Node, p: Node) -> Node:
    graph = a.graph
    z = 3 * p / (2 * a) * graph.call("sqrt", 3 * c / a)
    size = graph.call("abs", z)
    third = graph.call("sign", z) * graph.call("log", size + graph.call("sqrt", z**2 + 1)) / 3
    return 2 * graph.call("sqrt", a / (3 * c)) * graph.call("sinh", third)


def _cubic_formula(a: sp.Expr, c: sp.Expr, p: sp.Expr) -> sp.Expr:
    return 2 * sp.sqrt(a / (3 * c)) * sp.sinh(sp.asinh(3 * p / (2 * a) * sp.sqrt(3 * c / a)) / 3)
