"""The law on the graph: what dw/dt shall be, its linear part, and what excess energies add to the system's own
equations.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.equations.dynamics.deviation import Deviations
from holdfast.equations.dynamics.inputs import Inputs
from holdfast.equations.dynamics.lagrange import Dynamics, excess_of
from holdfast.equations.dynamics.sample import Sample
from holdfast.errors import BadStatement
from holdfast.graph.arithmetics.balls import BRANCHES, ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.general_solver import factor_general
from holdfast.graph.generic import generic_value, open_functions
from holdfast.graph.linear_algebra import Rows, factor_symmetric, times
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.laws.linear import LawForm
from holdfast.problem.program import Program


@dataclass(frozen=True, eq=False)
class Demand:
    """Y in the inputs y and w, and split into its linear part and the rest.

        dw/dt = Y(y, w, q, v, t) = K y + B w + Y₂

    `matrix` holds ∂Y/∂(y, w) on the program, [K B]; `rest` is Y₂, absent for a linear law. `excess_bias` is m₂ of
    M a = h − m₂ + E μ; it is second order in the deviations and comes only from excess energies. `jumps` marks a law
    that branches on the deviations: its slopes say nothing of its values.
    """

    value: tuple[Node, ...]
    matrix: Rows
    linear: tuple[Node, ...]
    rest: tuple[Node, ...] | None
    excess_bias: tuple[Node, ...] | None = None
    jumps: bool = False

    @property
    def is_linear(self) -> bool:
        """Whether Y = K y + B w for all deviations: shown on the graph, not judged by slopes alone."""
        return self.rest is None


def bent_rows(demand: Demand, deviating: Sequence[Node]) -> list[bool]:
    """Which rows of Y are not linear in the deviations, by the graph; all of them where the law branches."""
    if demand.is_linear:
        return [False] * len(demand.value)
    slopes = jacobian(demand.value, deviating)
    return [demand.jumps or _depend(list(row.values()), deviating) for row in slopes]


def demand_of(
    form: LawForm,
    program: Program,
    inputs: Inputs,
    dynamics: Dynamics,
    deviations: Deviations,
    holders: Rows,
    samples: list[Sample],
) -> Demand:
    """The demand of a law, checked to vanish on the program."""
    bias = None
    if not form.excess:
        value = [inputs.walk(form.demand[name]) for name in program.constraints]
    else:
        value, bias = _from_energies(form, inputs, dynamics, deviations, holders, samples)
    deviating = [*inputs.y.values(), *inputs.w.values()]
    on_program = {node: inputs.graph.zero for node in deviating}
    beneath = ancestors(value)  # once: it goes over the whole graph
    _check_program_is_a_solution(program, substitute(value, on_program, beneath), samples)
    if bias is not None:
        _check_no_force_on_program(inputs, substitute(bias, on_program), samples)
    slopes = jacobian(value, deviating)
    entries = [node for row in slopes for node in row.values()]
    of_slopes = ancestors(entries)
    there = iter(substitute(entries, on_program, of_slopes))
    matrix = [{j: node for j, node in zip(row, there, strict=False) if not node.is_zero} for row in slopes]
    jumps = _branches(beneath, deviating)
    if not jumps and set(deviating).isdisjoint(of_slopes):
        return Demand(tuple(value), matrix, tuple(value), None, bias)
    linear = times(matrix, deviating, inputs.graph)
    rest = tuple(y - part for y, part in zip(value, linear, strict=True))
    return Demand(tuple(value), matrix, tuple(linear), rest, bias, jumps)


def _branches(nodes: Sequence[Node], deviating: Sequence[Node]) -> bool:
    """Whether a branch (sign, select, |·|, ...) of a demand has a deviation beneath it, by all nodes that it needs.

    Without one, Y is smooth in the deviations, and slopes that are free of them make it linear; sign(y) has the slope
    of 0 and is not 0.
    """
    beneath = set(deviating)
    for node in nodes:
        if not beneath.isdisjoint(node.args):
            if node.op in BRANCHES:
                return True
            beneath.add(node)
    return False


def _depend(nodes: Sequence[Node], inputs: Sequence[Node]) -> bool:
    return not set(inputs).isdisjoint(ancestors(nodes))


def _from_energies(
    form: LawForm, inputs: Inputs, dynamics: Dynamics, deviations: Deviations, holders: Rows, samples: list[Sample]
) -> tuple[list[Node], tuple[Node, ...]]:
    """w' and m₂ from the extended Lagrange equations; the exact block system where they are coupled to a."""
    graph, n, r = inputs.graph, len(inputs.q), len(deviations.w)
    excess = excess_of(form, inputs)
    own = [{j - n: node for j, node in row.items() if j >= n} for row in excess.mass[n:]]
    _check_inertia(own, tuple(inputs.w), samples)
    if excess.separable:
        value = factor_symmetric(own, graph).solve(excess.right[n:])
        return value, tuple(-node for node in excess.right[:n])
    block: Rows = [dict(row) for row in excess.mass] + [dict(row) for row in deviations.jacobian]
    for i, row in enumerate(dynamics.mass):
        for j, node in row.items():
            block[i][j] = block[i][j] + node if j in block[i] else node
        block[i] |= {n + r + k: -node for k, node in holders[i].items()}
    for k in range(r):
        block[n + r + k][n + k] = graph.minus_one
    right = [h + extra for h, extra in zip(dynamics.bias, excess.right[:n], strict=True)]
    right += [*excess.right[n:], *(-drift for drift in deviations.drift)]
    unknowns = factor_general(block, graph, samples[1].rows(block)).solve(right)
    accelerations, value, mu = unknowns[:n], unknowns[n : n + r], unknowns[n + r :]
    inertia = times(dynamics.mass, accelerations, graph)
    held = times(holders, mu, graph)
    return value, tuple(h + f - m for h, f, m in zip(dynamics.bias, held, inertia, strict=True))


def _check_inertia(own: Rows, names: Sequence[str], samples: list[Sample]) -> None:
    """Every deviation needs excess inertia, or its law says nothing about dw/dt."""
    weak = np.zeros(0)
    for sample in samples:
        matrix = sample.dense(own, len(names))
        if np.isfinite(matrix).all():
            _, sizes, directions = np.linalg.svd(matrix)
            if sizes[-1] > 1e-12 * sizes[0]:
                return
            weak = np.abs(directions[-1])
    if weak.size:
        raise BadStatement(
            f"the excess kinetic energy gives no inertia to the deviation of {names[int(weak.argmax())]!r}",
            where="law.kinetic",
            fix="let it contain the squares of all rates w, e.g. w**2/2 for each constraint",
        )


def _check_program_is_a_solution(program: Program, values: list[Node], samples: list[Sample]) -> None:
    """Y(0, 0, q, v, t) = 0, or the motion would leave the program by itself."""
    for name, node in zip(program.constraints, values, strict=True):
        found = _not_zero(node, samples)
        if found:
            raise BadStatement(
                f"the law of {name!r} does not vanish on the program: there dw/dt = {found}",
                where=f"law.{name}",
                fix="every term of a law must contain a deviation",
            )


def _check_no_force_on_program(inputs: Inputs, bias: Sequence[Node], samples: list[Sample]) -> None:
    """m₂ = 0 on the program: excess energies act on deviations, never on the motion itself."""
    for coordinate, node in zip(inputs.q, bias, strict=True):
        if _not_zero(node, samples):
            raise BadStatement(
                f"the excess energies push {coordinate.data!r} even where there is no deviation",
                where="law",
                fix="every term of an excess energy must be of second degree, at least, in the deviations",
            )


def _not_zero(node: Node, samples: list[Sample]) -> str:
    """A value of a node that is not always 0, or nothing: exactly where the graph shows it, else in balls."""
    if node.is_zero:
        return ""
    shake, inputs, seen = random.Random(7), samples[0].values, False
    points = [[ball(x) for x in sample.values.values()] for sample in samples]
    for size in (0.1, 1.0, 10.0):
        for _ in range(5):
            points.append([ball(round(x + size * shake.uniform(-1, 1), 6)) for x in inputs.values()])
    unknown = open_functions((node,))
    with precision(128):
        evaluate = Tape((*inputs, *unknown), (node,)).compiled(balls())
        for seed, point in enumerate(points):
            (value,) = evaluate([*point, *(ball(generic_value(function, seed)) for function in unknown)])
            seen = seen or value.is_finite()
            if value.is_finite() and not value.contains(0):
                return str(value.mid().str(6, radius=False))
    return "" if seen else "undefined"
