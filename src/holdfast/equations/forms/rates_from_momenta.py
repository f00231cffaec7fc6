"""Rates from momenta: p = ∂T/∂v solved for v, by elimination where T is quadratic in the rates, by SymPy where that
finds a real solution without roots of cubics, and as `real_branch` does otherwise.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.sample import Sample, samples_of
from holdfast.equations.forms.real_branch import RealBranch, real_branch
from holdfast.errors import BadStatement
from holdfast.graph.derivatives import gradient, jacobian
from holdfast.graph.linear_algebra import factor_symmetric
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.graph.walk import FUNCTIONS, Walker
from holdfast.problem.quantities import Momentum

if TYPE_CHECKING:
    from holdfast.equations.equations import Equations

LOOKS = 24  # states away from the start at which a formula is tried
MOST_MOMENTA = 3  # momenta that SymPy is asked to solve at once
SAME_MOMENTA = 1e-8


def kinetic_of(equations: Equations) -> Node:
    """T with the points of variable mass."""
    dynamics = equations.dynamics
    return equations.inputs.graph.sum([dynamics.kinetic, *(point.kinetic for point in dynamics.points)])


def momenta_of(equations: Equations) -> tuple[Node, ...]:
    """∂T/∂v as nodes in q, v, s and t."""
    slopes = gradient(kinetic_of(equations), equations.inputs.v)
    return tuple(slopes.get(v, equations.inputs.graph.zero) for v in equations.inputs.v)


def rates_of_momenta(
    equations: Equations, p: Sequence[Node], momenta: Sequence[Node]
) -> tuple[list[Node], RealBranch | None]:
    """v(q, p, t): M⁻¹(p − b) for a quadratic T, the inverse of ∂T/∂v otherwise; and the branch, where it is one."""
    inputs, graph = equations.inputs, equations.inputs.graph
    mass = jacobian(momenta, inputs.v)
    samples = samples_of(equations.problem, equations.form, inputs, (*equations.deviations.y, *equations.deviations.w))
    _refuse_massless(equations, samples)
    if any(node in inputs.v for node in ancestors([node for row in mass for node in row.values()])):
        return _inverted(equations, p, momenta, samples)
    at_rest = substitute(list(momenta), {v: graph.zero for v in inputs.v})
    return factor_symmetric(mass, graph).solve([a - b for a, b in zip(p, at_rest, strict=True)]), None


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
) -> tuple[list[Node], RealBranch | None]:
    """The solution of p = ∂T/∂v(v) that gives back the rates one started from."""
    v = equations.inputs.v
    far = _far(equations, momenta, samples)
    for nodes in _solutions(equations, p, momenta):
        if all(_gives_back(nodes, p, momenta, v, sample) for sample in (*samples[1:], *far)):
            return nodes, None
    branch = real_branch(equations, p, momenta, samples)
    if branch is not None and all(_gives_back(branch.rates, p, momenta, v, sample) for sample in samples[1:]):
        return list(branch.rates), branch
    raise BadStatement(
        "there is no canonical form: near the start the momenta ∂T/∂v cannot be solved for the rates, neither in "
        "closed form nor by Newton's method",
        where="system.kinetic",
        fix="use Lagrange's form (the equations themselves)",
    )


def _far(equations: Equations, momenta: Sequence[Node], samples: Sequence[Sample]) -> list[Sample]:
    """States with rates of other signs and sizes at which T is defined and masses are positive.

    There too a formula must give the rates back: a root or an absolute value may be right on one side only.
    """
    v, shake, found = equations.inputs.v, random.Random(20241), list[Sample]()
    mass = jacobian(momenta, v)
    for _ in range(LOOKS):
        sample = samples[1 + shake.randrange(len(samples) - 1)]
        size = max(1e-3, max(abs(x) for x in sample.of(v)))
        others = {node: shake.choice((0.01, 0.3, 1.0, 3.0)) * size * shake.uniform(-1, 1) for node in v}
        moved = {
            node: x + shake.uniform(-1, 1) * (1 + abs(x))
            for node in equations.inputs.q
            if (x := sample.values[node]) == x
        }
        for place in (others, others | moved):
            beside = Sample(sample.values | place, sample.seed)
            matrix = beside.dense(mass, len(v))
            if np.isfinite(matrix).all() and np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > 0:
                found.append(beside)
    return found


def _solutions(equations: Equations, p: Sequence[Node], momenta: Sequence[Node]) -> Iterator[list[Node]]:
    """What SymPy finds, as nodes: real formulas only, without the cancelling roots of cubics and quartics."""
    inputs, display = equations.inputs, equations.display
    unknown = [display.raw(v) for v in inputs.v]
    symbols = [Momentum(node.data) for node in p]
    if len(p) > MOST_MOMENTA:
        return
    laws = [display.raw(node) - symbol for node, symbol in zip(momenta, symbols, strict=True)]
    if any(law.is_polynomial(*unknown) and sp.Poly(law, *unknown).total_degree() > 2 for law in laws):
        return
    try:
        solutions = sp.solve(laws, unknown, dict=True)
    except NotImplementedError:
        return
    walk = Walker(inputs.graph, {**inputs.walk.names, **{s.name: node for s, node in zip(symbols, p, strict=True)}})
    for solution in solutions:
        if set(solution) == set(unknown) and not any(map(_doubtful, solution.values())):
            yield [walk(solution[v]) for v in unknown]


def _doubtful(formula: sp.Expr) -> bool:
    """Whether a formula is complex, or a root of a cubic that is real only by cancelling."""
    if formula.has(sp.I) or not formula.free_symbols:
        return True
    known = (sp.Pow, sp.Add, sp.Mul, sp.Number, sp.NumberSymbol, sp.Symbol, *FUNCTIONS)
    if not all(isinstance(part, known) for part in sp.preorder_traversal(formula)):
        return True
    return any(power.exp.is_Rational and power.exp.q > 2 and power.base.is_Add for power in formula.atoms(sp.Pow))


def _gives_back(
    nodes: Sequence[Node], p: Sequence[Node], momenta: Sequence[Node], v: Sequence[Node], sample: Sample
) -> bool:
    ledger = sample.beside(dict(zip(p, sample.of(momenta), strict=True)))
    found, wanted = np.array(ledger.of(nodes)), np.array(sample.of(v))
    return bool(np.isfinite(found).all() and np.abs(found - wanted).max() <= SAME_MOMENTA * (1 + np.abs(wanted).max()))
