"""Coefficients of coordinates and time made short, for the engine as well as for readers.

The graph never simplifies: sin² + cos² of a change of velocities would be worked out at each step. Here SymPy writes a
coefficient shorter, and what it wrote is used only if it has the values of the node, in balls at random points.
"""

from __future__ import annotations

import sympy as sp

from holdfast.equations.writing.factors import in_factors
from holdfast.graph.display import Display, expanded_terms, tree_size
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node, ancestors, operation_count

SHORT = 3  # nodes of a coefficient that cannot be made shorter
LONG = 400  # nodes of the tree of one that SymPy is not asked about: it would take seconds
MOST_TERMS = 60  # of the same, with its products written out
MOST_PLAIN_TERMS = 400  # where there are no sines and cosines, each of which doubles the work
UNTOUCHED = {"function", "table", "select", "min", "max", "abs", "sign", "pow"}  # what polynomials do not know


def simplified(node: Node, display: Display) -> Node:
    """The node, or a shorter one of the same values."""
    if not SHORT < tree_size(node) <= LONG:
        return node
    ops = {part.op for part in ancestors((node,))}
    most = MOST_TERMS if ops & {"sin", "cos", "tan"} else MOST_PLAIN_TERMS
    if ops & UNTOUCHED or expanded_terms(node) > most:
        return node
    raw = display.raw(node)
    try:
        short = shortest(raw)
    except (sp.PolynomialError, NotImplementedError):  # functions that are no polynomial of sines and cosines
        return node
    found = display.walk(short)
    shorter = operation_count((found,)) < operation_count((node,))
    return found if shorter and display.same(found, node) else node


def shortest(expression: sp.Expr) -> sp.Expr:
    """The shortest of some ways to write an expression with sines and cosines."""
    candidates = [expression]
    if expression.has(sp.sin, sp.cos):
        candidates += [_by_pythagoras(expression, sp.sin, sp.cos), _by_pythagoras(expression, sp.cos, sp.sin)]
    else:
        candidates.append(in_factors(sp.together(expression)))
    return min(candidates, key=sp.count_ops)


def _by_pythagoras(expression: sp.Expr, kept: type[sp.Expr], other: type[sp.Expr]) -> sp.Expr:
    """One fraction in lowest terms, squares of one function replaced by those of the other: cos² = 1 − sin²."""
    angles = sorted({part.args[0] for part in expression.atoms(sp.sin, sp.cos)}, key=str)
    letters = {f(angle): sp.Dummy() for angle in angles for f in (sp.sin, sp.cos)}
    above, below = sp.fraction(sp.together(expression.xreplace(letters)))
    for angle in angles:
        above, below = (_reduced(part, letters[kept(angle)], letters[other(angle)]) for part in (above, below))
    if below == 0:
        return expression
    return in_factors(sp.cancel(above / below)).xreplace({letter: function for function, letter in letters.items()})


def _reduced(part: sp.Expr, kept: sp.Symbol, other: sp.Symbol) -> sp.Expr:
    """A polynomial with other² = 1 − kept²."""
    terms = sp.Poly(part, other).terms()
    return sp.expand(sp.Add(*(c * other ** (k % 2) * (1 - kept**2) ** (k // 2) for (k,), c in terms)))


def simplified_rows(rows: Rows, display: Display) -> Rows:
    """A sparse matrix with its entries made short; what vanishes is left out."""
    short = [{j: simplified(node, display) for j, node in row.items()} for row in rows]
    return [{j: node for j, node in row.items() if not node.is_zero} for row in short]
