"""Where a matrix of formulas loses its rank: the factors of its minors, as short as they come."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy as sp
from sympy.simplify.fu import TR8, TR10i

from holdfast.equations.writing.factors import in_factors
from holdfast.structure.algebra.worker import WORKER, OutOfTime

MOST_MINORS = 24  # of a matrix; beyond, no reader would look at them
LARGEST = 4  # rows of a minor
MOST_OPERATIONS = 600  # of all entries together

Factors = tuple[sp.Expr, ...]


def factors_of_minors(rows: Sequence[Sequence[sp.Expr]], limit: float) -> list[Factors] | None:
    """For each minor of full size that is not identically zero its factors; none where it would take too long.

    The rank is full wherever one of the minors does not vanish.
    """
    if not _small(rows):
        return None
    try:
        found: list[Factors] = WORKER.ask(_minors, [list(row) for row in rows], limit=limit)
    except OutOfTime:
        return None
    return found


def factors_of_response(
    slopes: Sequence[Sequence[sp.Expr]],
    mass: Sequence[Sequence[sp.Expr]],
    pushes: Sequence[Sequence[sp.Expr]],
    limit: float,
) -> Factors | None:
    """The factors of det(J adj(M) E), which vanishes where pushes E do not move all constraints J."""
    if not _small([*slopes, *mass, *pushes]) or len(mass) > LARGEST or len(slopes) > LARGEST:
        return None
    try:
        found: Factors = WORKER.ask(
            _response, *([list(row) for row in part] for part in (slopes, mass, pushes)), limit=limit
        )
    except OutOfTime:
        return None
    return found


def _small(rows: Sequence[Sequence[sp.Expr]]) -> bool:
    entries = [entry for row in rows for entry in row]
    return bool(entries) and len(rows[0]) > 0 and sum(sp.count_ops(e) for e in entries) <= MOST_OPERATIONS


def _minors(rows: list[list[sp.Expr]]) -> list[Factors]:
    matrix = sp.Matrix(rows)
    size, columns = matrix.shape
    chosen = list(combinations(range(columns), size))
    if size > LARGEST or len(chosen) > MOST_MINORS:
        return []
    minors = [matrix[:, list(choice)].det(method="berkowitz") for choice in chosen]
    return [factors for minor in minors if (factors := _factors(minor))]


def _response(slopes: list[list[sp.Expr]], mass: list[list[sp.Expr]], pushes: list[list[sp.Expr]]) -> Factors:
    answer = sp.Matrix(slopes) * sp.Matrix(mass).adjugate() * sp.Matrix(pushes)
    return _factors(answer.det(method="berkowitz"))


def _factors(expression: sp.Expr) -> Factors:
    """The factors of an expression that contain a symbol, in the shortest of a few forms."""
    forms = []
    for form in (expression, TR10i(sp.expand(expression)), TR8(sp.expand(expression))):
        try:
            forms.append(in_factors(form))
        except (sp.PolynomialError, NotImplementedError):
            forms.append(form)
    best = min(forms, key=lambda form: (sum(sp.count_ops(f) for f in sp.Mul.make_args(form)), len(str(form))))
    found = []
    for factor in sp.Mul.make_args(best):
        base = factor.base if isinstance(factor, sp.Pow) and factor.exp.is_positive else factor
        if base.free_symbols and not (isinstance(base, sp.Pow) and base.exp.is_negative):
            found.append(-base if base.could_extract_minus_sign() else base)
    return tuple(found)
