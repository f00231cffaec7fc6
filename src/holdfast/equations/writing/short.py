"""Quotients and roots in few operations: what a person would do with a fraction before printing it.

A formula is tried as it is, over one denominator with both parts factored, and the same with r² in place of x² + y²
where r = √(x² + y²) occurs; the shortest wins. Who shows a formula checks it against the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import comb

import sympy as sp

from holdfast.equations.writing.factors import in_factors

MOST_OPERATIONS = 200  # of a formula that is put over one denominator: a limit on work
MOST_BITS = 256  # of a number that is computed with: some eighty digits
MOST_MONOMIALS = 60  # of a polynomial that is factored: a hundredth of a second or two


def length(expression: sp.Expr) -> int:
    """Operations of a formula as it is written."""
    return int(sp.count_ops(expression, visual=False))


def shortest(*candidates: sp.Expr) -> sp.Expr:
    """The one with the fewest operations; of equals the first."""
    return min(candidates, key=length)


def short(expression: sp.Expr) -> sp.Expr:
    """The shortest form of a formula that is found within the limits on work."""
    if length(expression) > MOST_OPERATIONS or monomials(expression) > MOST_MONOMIALS:
        return expression
    numbers = {part: sp.Dummy() for part in hard_numbers(expression)}
    if numbers:
        names = {dummy: part for part, dummy in numbers.items()}
        return short(expression.xreplace(numbers)).xreplace(names)
    plain, roots = _without_roots(_over_one_divisor(expression))
    above, below = sp.fraction(sp.together(plain))
    pairs = [(above, below)]
    if roots:
        pairs += [(_reduced(above, roots, inward), _reduced(below, roots, inward)) for inward in (True, False)]
    quotients = [_factored(*pair) for pair in pairs if max(map(monomials, pair)) <= MOST_MONOMIALS]
    written = {symbol: sp.sqrt(base) for symbol, base in roots.items()}
    return shortest(expression, *(quotient.xreplace(written) for quotient in quotients))


def hard_numbers(expression: sp.Basic) -> list[sp.Expr]:
    """The largest constant parts that are no short fractions: polynomials over cos(atan(10³⁰⁰)) take for ever."""
    found, waiting = set[sp.Expr](), [expression]
    while waiting:
        part = waiting.pop()
        if part.is_Rational:
            if max(abs(int(part.p)), int(part.q)).bit_length() > MOST_BITS:
                found.add(part)
        elif not part.free_symbols and part.is_Atom is False and part.is_number:
            found.add(part)
        else:
            waiting.extend(part.args)
    return list(sp.ordered(found))


class CramersRule:
    """A x = b by determinants, x = adj(A) b / det A, with the minors and the determinant as short as they come."""

    def __init__(self, matrix: sp.Matrix) -> None:
        self._common, self._rest = _common_factor(matrix)

    @cached_property
    def _whole(self) -> sp.Expr:
        return short(_determinant(self._rest)) * self._common

    @cached_property
    def _minors(self) -> list[list[sp.Expr]]:
        """adj(A), row by row."""
        size = range(self._rest.rows)
        return [[short((-1) ** (i + j) * _determinant(_without(self._rest, j, i))) for j in size] for i in size]

    def solve(self, right: Sequence[sp.Expr]) -> list[sp.Expr]:
        sums = [sp.Add(*(m * b for m, b in zip(row, right, strict=True))) for row in self._minors]
        return [signed(total) / self._whole for total in sums]


def _determinant(matrix: sp.Matrix) -> sp.Expr:
    """By the first row, and left as it is: SymPy's own tries to simplify on the way."""
    if not matrix.rows:
        return sp.S.One
    entries = enumerate(matrix.row(0))
    return sp.Add(*((-1) ** j * e * _determinant(_without(matrix, 0, j)) for j, e in entries if e != 0))


def _without(matrix: sp.Matrix, row: int, column: int) -> sp.Matrix:
    rows, columns = ([k for k in range(matrix.rows) if k != gone] for gone in (row, column))
    return matrix.extract(rows, columns)


def _common_factor(matrix: sp.Matrix) -> tuple[sp.Expr, sp.Matrix]:
    """What all entries share, and the matrix without it."""
    if any(hard_numbers(entry) for entry in matrix):
        return sp.S.One, matrix
    marks = [sp.Dummy() for _ in matrix]
    marked = sp.factor_terms(sp.Add(*(mark * entry for mark, entry in zip(marks, matrix, strict=True))))
    common = marked.as_independent(*marks, as_Add=False)[0]
    return common, matrix.applyfunc(lambda entry: sp.cancel(entry / common) if common != 1 else entry)


def difference(wanted: sp.Expr, given: sp.Expr) -> sp.Expr:
    """wanted − given, each as short as it comes, with a sign that all terms share in front."""
    return signed(_spread(short(wanted)) - _spread(short(given)))


def signed(total: sp.Expr) -> sp.Expr:
    """A sum all of whose terms are negative, with the sign in front."""
    if not total.is_Add or not all(term.as_coeff_Mul()[0].is_negative for term in total.args):
        return total
    return sp.Mul(-1, sp.Add(*(-term for term in total.args)), evaluate=False)


def _spread(expression: sp.Expr) -> sp.Expr:
    """A number in front of a sum, multiplied in."""
    number, rest = expression.as_coeff_Mul()
    return sp.Add(*(number * term for term in rest.args)) if rest.is_Add else expression


def monomials(expression: sp.Expr) -> float:
    """How many terms an expression has at most when it is multiplied out."""
    if expression.is_Add:
        return sum(monomials(part) for part in expression.args)
    if expression.is_Mul:
        return float(sp.prod([sp.Float(monomials(part)) for part in expression.args]))
    if expression.is_Pow and expression.exp.is_Integer:
        inner, times = monomials(expression.base), min(abs(int(expression.exp)), 64)
        return float(comb(int(min(inner, 1e4)) + times - 1, times))
    return 1.0


def _over_one_divisor(expression: sp.Expr) -> sp.Expr:
    """What stands under a root as one fraction: √(1 − x²/(1 + x²)) is 1/√(1 + x²)."""
    sums = (p for p in expression.atoms(sp.Pow) if p.exp.is_Rational and p.exp.q == 2 and p.base.is_Add)
    return expression.xreplace(
        {p: in_factors(p.base) ** p.exp for p in sums if sp.fraction(sp.together(p.base))[1] != 1}
    )


def _without_roots(expression: sp.Expr) -> tuple[sp.Expr, dict[sp.Symbol, sp.Expr]]:
    """√base as a symbol wherever a power of half an integer of a sum stands, and the base of each symbol."""
    halves = [p for p in expression.atoms(sp.Pow) if p.exp.is_Rational and p.exp.q == 2 and p.base.is_Add]
    bases = list(sp.ordered({power.base for power in halves}))
    roots = {sp.Dummy(f"root_{k}", positive=True): base for k, base in enumerate(bases)}
    symbols = {base: symbol for symbol, base in roots.items()}
    return expression.xreplace({power: symbols[power.base] ** (2 * power.exp) for power in halves}), roots


def _reduced(polynomial: sp.Expr, roots: dict[sp.Symbol, sp.Expr], inward: bool) -> sp.Expr:
    """The polynomial with r² in place of what its base begins with (`inward`), or the base in place of r²."""
    for symbol, base in roots.items():
        variables = list(sp.ordered(base.free_symbols))
        generators = [*variables, symbol] if inward else [symbol, *variables]
        try:
            polynomial = sp.reduced(polynomial, [base - symbol**2], *generators)[1].as_expr()
        except sp.PolynomialError:
            continue
    return polynomial


def _factored(above: sp.Expr, below: sp.Expr) -> sp.Expr:
    """A quotient in lowest terms, each part in the shorter of its sum and its factors."""
    try:
        quotient = sp.cancel(above / below)
        above, below = sp.fraction(quotient)
        return shortest(*(top / shortest(below, in_factors(below)) for top in (above, in_factors(above))))
    except sp.PolynomialError:
        return above / below
