"""The accelerations as polynomials of second degree in the rates, as the inverse problem asks for them.

    a_i + ½ b^i_jl v_j v_l + b^i_j v_j + b^i_0 = 0            (4.10) of Mukharlyamov (2024)
    γ^μ − Y^μ = ½ h^μ_jl v_j v_l + h^μ_j v_j + h^μ_0

with b and h functions of coordinates and time. For the least member of a family b = K h, K = Jᵀ(J Jᵀ)⁻¹; what the
system does by itself adds to b. They exist where masses and J do not depend on the rates, and forces and law are of
second degree in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.equations.writing.short import short
from holdfast.equations.writing.text import formula, text
from holdfast.equations.writing.tidied import without_idle_gains
from holdfast.errors import BadRequest, BadStatement
from holdfast.graph.derivatives import jacobian
from holdfast.graph.nodes import Node, ancestors, substitute
from holdfast.problem.quantities import latex_name, pretty_name

Polynomial = tuple[list[list[list[Node]]], list[list[Node]], list[Node]]  # by v_j v_l, by v_j, free of rates
WHERE = "coefficients"


@dataclass(frozen=True, eq=False)
class RateCoefficients:
    """b^i_jl, b^i_j, b^i_0 by coordinate and h^μ_jl, h^μ_j, h^μ_0 by constraint, as formulas in q and t.

    `b_jl[i]` and `h_jl[k]` are symmetric matrices; row i of `b_j` and `b_0` belongs to coordinate i, row k of `h_j` and
    `h_0` to constraint k.
    """

    equations: Equations
    b_jl: tuple[sp.Matrix, ...]
    b_j: sp.Matrix
    b_0: sp.Matrix
    h_jl: tuple[sp.Matrix, ...]
    h_j: sp.Matrix
    h_0: sp.Matrix

    def __repr__(self) -> str:
        return f"<RateCoefficients of {', '.join(self.equations.coordinates)}; summary() writes them out>"

    def _entries(self, upper: Sequence[str], by_two: Sequence[sp.Matrix], by_one: sp.Matrix, free: sp.Matrix) -> Any:
        names = self.equations.coordinates
        for i, own in enumerate(upper):
            for j, first in enumerate(names):
                yield from ((own, (first, names[k]), by_two[i][j, k]) for k in range(j, len(names)))
            yield from ((own, (first,), by_one[i, j]) for j, first in enumerate(names))
            yield own, ("0",), free[i]

    def entries(self, letter: str = "b") -> Iterator[tuple[str, tuple[str, ...], sp.Expr]]:
        """(upper index, lower indices, formula) of all b, or of all h; of a symmetric pair once."""
        if letter == "b":
            return self._entries(self.equations.coordinates, self.b_jl, self.b_j, self.b_0)
        if letter == "h":
            return self._entries(self.equations.constraints, self.h_jl, self.h_j, self.h_0)
        raise BadRequest(f"there are no coefficients {letter!r}", where=WHERE, fix="known: b, h")

    def summary(self) -> str:
        """The coefficients that are not zero, as text."""
        lines = ["a_i + (1/2) b^i_jl v_j v_l + b^i_j v_j + b^i_0 = 0"]
        lines += [f"  {line}" for line in self._written("b")] or ["  all b are zero"]
        if self.equations.constraints:
            lines += ["gamma - Y = (1/2) h_jl v_j v_l + h_j v_j + h_0, by constraint"]
            lines += [f"  {line}" for line in self._written("h")] or ["  all h are zero"]
        return "\n".join(lines) + "\n"

    def _written(self, letter: str) -> list[str]:
        shown = ((upper, lower, value) for upper, lower, value in self.entries(letter) if value != 0)
        return [f"{letter}[{pretty_name(u)}; {', '.join(map(pretty_name, low))}] = {text(v)}" for u, low, v in shown]

    def latex(self) -> str:
        """The same as LaTeX, one equation each."""
        every = chain(*((("b", *e) for e in self.entries("b")), (("h", *e) for e in self.entries("h"))))
        lines = [
            rf"{letter}^{{{latex_name(upper)}}}_{{{' '.join(map(latex_name, lower))}}} = {formula(value)}"
            for letter, upper, lower, value in every
            if value != 0
        ]
        return "\n".join(f"\\[ {line} \\]" for line in lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The coefficients that are not zero as plain data: upper index, then lower indices, then the formula."""
        listed = {
            letter: [
                {"upper": upper, "lower": list(lower), "value": str(value)}
                for upper, lower, value in self.entries(letter)
                if value != 0
            ]
            for letter in ("b", "h")
        }
        return {"schema": 1, "coordinates": list(self.equations.coordinates), **listed}


def coefficients(equations: Equations) -> RateCoefficients:
    """b and h of (4.10), for equations whose accelerations are of second degree in the rates; refused elsewhere."""
    if not isinstance(equations, Equations):
        raise BadRequest(
            f"coefficients() takes Equations, not {type(equations).__name__}", fix="hf.derive(problem) first"
        )
    equations.require_unlimited("coefficients")
    equations.require_given_forces("coefficients")
    equations.require_forces("coefficients")
    _refuse_rates_in_matrices(equations)
    solution = equations.solution
    shown = without_idle_gains(equations, [*solution.demand, *solution.excess_bias])
    demand, excess = shown[: len(solution.demand)], shown[len(solution.demand) :]
    right = [d - y for y, d in zip(demand, solution.drift, strict=True)]
    forces = [h - m for h, m in zip(solution.bias, excess, strict=True)]
    h = _polynomial(equations, right, [f"the law or the constraint {name!r}" for name in equations.constraints])
    f = _polynomial(equations, forces, [f"the force on {name!r}" for name in equations.coordinates])
    by_two, by_one, free = _solved(equations, f, h)
    return RateCoefficients(equations, *_shown(equations, by_two, by_one, free), *_shown(equations, *h))


def _refuse_rates_in_matrices(equations: Equations) -> None:
    rates = set(equations.inputs.v)
    parts = {
        "the mass matrix depends on the rates": equations.dynamics.mass,
        "a constraint is not linear in the rates, so that J depends on them": equations.deviations.jacobian,
        "the direction of a control depends on the rates": equations.holders,
    }
    for reason, rows in parts.items():
        if any(part in rates for part in ancestors([node for row in rows for node in row.values()])):
            raise BadStatement(
                f"the accelerations are not of second degree in the rates: {reason}",
                where=WHERE,
                fix="equations.statements has them as they are",
            )


def _polynomial(equations: Equations, nodes: Sequence[Node], names: Sequence[str]) -> Polynomial:
    """The coefficients of nodes in the rates; an error that names the first that is not of second degree."""
    inputs, graph = equations.inputs, equations.inputs.graph
    at_rest = {v: graph.zero for v in inputs.v}
    n = range(len(inputs.v))
    slopes = [[row.get(j, graph.zero) for j in n] for row in jacobian(nodes, inputs.v)]
    curves = [[[row.get(j, graph.zero) for j in n] for row in jacobian(slope, inputs.v)] for slope in slopes]
    free = substitute(list(nodes), at_rest)
    by_one = [list(substitute(slope, at_rest)) for slope in slopes]
    by_two = [[list(substitute(row, at_rest)) for row in curve] for curve in curves]
    for node, name, two, one, zero in zip(nodes, names, by_two, by_one, free, strict=True):
        rebuilt = zero + graph.dot(one, inputs.v)
        for j in n:
            rebuilt = rebuilt + graph.dot(two[j], inputs.v) * inputs.v[j] / 2
        if not equations.display.same(rebuilt, node):
            raise BadStatement(
                f"the accelerations are not of second degree in the rates: {name} is not",
                where=WHERE,
                fix="equations.statements has them as they are",
            )
    return by_two, by_one, list(free)


def _solved(equations: Equations, f: Polynomial, h: Polynomial) -> Polynomial:
    """−a for each power of the rates: M a = forces + E μ, J a = −h."""
    n, r = len(equations.coordinates), len(equations.constraints)

    def minus(forces: list[Node], right: list[Node]) -> list[Node]:
        return [-a for a in equations.solver(forces, [-x for x in right])[0]]

    two = [
        [minus([f[0][i][j][k] for i in range(n)], [h[0][m][j][k] for m in range(r)]) for k in range(n)]
        for j in range(n)
    ]
    one = [minus([f[1][i][j] for i in range(n)], [h[1][m][j] for m in range(r)]) for j in range(n)]
    by_two = [[[two[j][k][i] for k in range(n)] for j in range(n)] for i in range(n)]
    by_one = [[one[j][i] for j in range(n)] for i in range(n)]
    return by_two, by_one, minus(f[2], h[2])


def _shown(
    equations: Equations, by_two: list[list[list[Node]]], by_one: list[list[Node]], free: list[Node]
) -> tuple[tuple[sp.Matrix, ...], sp.Matrix, sp.Matrix]:
    display, n = equations.display, len(equations.coordinates)

    def written(node: Node) -> sp.Expr:
        tidied = display.tidy(node)
        shorter = short(tidied)
        return shorter if shorter is tidied or display.agrees(shorter, node) else tidied

    matrices = []
    for rows in by_two:
        lower = {(j, k): written(rows[j][k]) for j in range(n) for k in range(j + 1)}
        matrices.append(sp.Matrix(n, n, lambda j, k, known=lower: known[max(j, k), min(j, k)]))
    first = sp.Matrix(len(by_one), n, [written(node) for row in by_one for node in row])
    return tuple(matrices), first, sp.Matrix(len(free), 1, [written(node) for node in free])
