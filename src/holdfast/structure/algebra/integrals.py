"""Primitives in closed form: a few sure rules first, then SymPy in the worker under a time limit.

A primitive is taken only after it has been differentiated and compared with the integrand, so whatever finds it may
be clever. Constants of integration are free everywhere they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations
from time import monotonic

import sympy as sp

from holdfast.errors import HoldfastError
from holdfast.problem.functions import FunctionValue
from holdfast.structure.algebra.normal_form import expandable, tidied
from holdfast.structure.algebra.worker import WORKER, OutOfTime
from holdfast.structure.algebra.zero import Points, enclosures


@dataclass
class Clock:
    """How much time is left for all integrals of one question, and what was given up."""

    limit: float
    each: float
    closed_forms: bool = True  # False: every integral is left to quadrature
    stalled: list[str] = field(default_factory=list)
    _until: float = field(init=False)

    def __post_init__(self) -> None:
        self._until = monotonic() + self.limit

    @property
    def left(self) -> float:
        return min(self.each, self._until - monotonic())


def primitive(e: sp.Expr, x: sp.Symbol, points: Points, clock: Clock) -> sp.Expr | None:
    """An F with ∂F/∂x = e, checked; None if there is no closed form or none was found in time."""
    if not clock.closed_forms:
        return None
    if not e.has(x):
        return e * x
    for rule in (by_powers, by_root_as_variable, by_ansatz) if expandable(e) else ():
        found = _checked([rule(e, x)], e, x, points)
        if found is not None:
            return found
    try:
        candidates = WORKER.ask(candidates_by_sympy, e, x, limit=clock.left)
    except OutOfTime:
        clock.stalled.append(f"the integral of {_short(e)} over {x.name}")
        return None
    except RuntimeError:
        return None
    return _checked(candidates, e, x, points)


def _checked(candidates: Sequence[sp.Expr | None], e: sp.Expr, x: sp.Symbol, points: Points) -> sp.Expr | None:
    """The first candidate whose derivative is the integrand and which is real; logarithms may need the other sign."""
    for found in candidates:
        if found is None or found.has(sp.Integral, sp.I, sp.nan, sp.zoo, sp.Piecewise, sp.Abs, sp.sign):
            continue
        for version in (found, found.replace(sp.log, lambda a: sp.log(-a))):
            if same_where_real(sp.diff(version, x) - e, version, points):
                return version
    return None


def same_where_real(difference: sp.Expr, found: sp.Expr, points: Points) -> bool:
    """Whether the difference is zero at random points, and what was found has real values there."""
    seen = 0
    try:
        for _, (left, value) in enclosures([difference, found], points):
            if not (left.is_finite() and value.is_finite()):
                continue
            if not left.contains(0):
                return False
            seen += 1
            if seen >= 5:
                return True
    except HoldfastError:  # a function that has no numbers
        return False
    return False


def _short(e: sp.Expr) -> str:
    text = str(e)
    return text if len(text) < 80 else text[:77] + "..."


# ── rules ─────────────────────────────────────────────────────────────────────────────────────────


def by_powers(e: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """Term by term, where every term is a power of x, or a function of x, times something free of it."""
    terms = []
    for term in sp.Add.make_args(sp.expand(e)):
        rest, power = term.as_independent(x, as_Add=False)
        base, exponent = power.as_base_exp()
        if power == 1:
            terms.append(rest * x)
        elif isinstance(power, FunctionValue) and x in power.of:
            terms.append(rest * power.primitive(power.of.index(x)))
        elif base != x or not exponent.is_number:
            return None
        else:
            terms.append(rest * (sp.log(x) if exponent == -1 else x ** (exponent + 1) / (exponent + 1)))
    return sp.Add(*terms)


def by_root_as_variable(e: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """With s = √P(x) as the variable: x enters only through s and P'(x) dx = 2s ds."""
    bases = {p.base for p in e.atoms(sp.Pow) if p.base.has(x) and p.exp.is_Rational and p.exp.q == 2}
    if len(bases) != 1:
        return None
    base = bases.pop()
    square = sp.Poly(base, x) if base.is_polynomial(x) else None
    if square is None or square.degree() != 2 or square.coeff_monomial(x) != 0:
        return None
    s, two = sp.Dummy("s", positive=True), sp.Dummy("u", positive=True)
    swaps = {p: s ** int(2 * p.exp) for p in e.atoms(sp.Pow) if p.base == base and p.exp.q == 2}
    inner = sp.expand(sp.together(e.xreplace(swaps) / x)).subs(x**2, two)
    if inner.has(x):
        inner = sp.cancel(sp.together(e.xreplace(swaps) / x)).subs(x**2, two)
    if inner.has(x):
        return None
    lead, rest = square.coeff_monomial(x**2), square.coeff_monomial(1)
    inner = sp.cancel(sp.together(inner.subs(two, (s**2 - rest) / lead) * s / lead))
    found = by_powers(inner, s) or _rational(inner, s)
    return None if found is None else found.subs(s, sp.sqrt(base))


def _rational(e: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """A quotient of polynomials with a denominator of first degree: division, then a logarithm."""
    above, below = sp.fraction(e)
    if not (above.is_polynomial(x) and below.is_polynomial(x)) or sp.degree(below, x) != 1:
        return None
    quotient, remainder = sp.div(above, below, x)
    whole = by_powers(quotient, x)
    if whole is None:
        return None
    lead = sp.Poly(below, x).LC()
    return whole + remainder / lead * sp.log(sp.expand(below / lead))


def by_ansatz(e: sp.Expr, x: sp.Symbol) -> sp.Expr | None:
    """N(x) P^(−k/2) with polynomials N and P: its primitive sought as p(x) P^(1−k/2)."""
    bases = {p.base for p in e.atoms(sp.Pow) if p.base.has(x) and p.exp.is_Rational and p.exp.q == 2}
    if len(bases) != 1:
        return None
    base = bases.pop()
    if not base.is_polynomial(x):
        return None
    for exponent in sorted({p.exp for p in e.atoms(sp.Pow) if p.base == base and p.exp.q == 2}):
        above = sp.expand(sp.powsimp(sp.expand(e / base**exponent)))
        if not above.is_polynomial(x):
            continue
        degree = sp.degree(above, x) + 2
        unknown = sp.symbols(f"c:{degree + 1}", cls=sp.Dummy)
        p = sp.Add(*(c * x**k for k, c in enumerate(unknown)))
        equation = sp.Poly(sp.diff(p, x) * base + (exponent + 1) * p * sp.diff(base, x) - above, x)
        solved = sp.linsolve(equation.coeffs(), unknown)
        if solved:
            values = [value.subs(dict.fromkeys(unknown, 0)) for value in next(iter(solved))]
            return sp.Add(*(c * x**k for k, c in enumerate(values))) * base ** (exponent + 1)
    return None


def candidates_by_sympy(e: sp.Expr, x: sp.Symbol) -> list[sp.Expr]:
    """What SymPy offers, each branch of a case distinction by itself; run in the worker."""
    from sympy.integrals.manualintegrate import manualintegrate

    found: list[sp.Expr] = []
    for method in (manualintegrate, sp.integrate):
        try:
            answer = method(e, x)
        except (NotImplementedError, ValueError, TypeError, AttributeError, RecursionError):
            continue
        pieces = sp.piecewise_fold(answer) if answer.has(sp.Piecewise) else answer
        found += [value for value, _ in pieces.args] if isinstance(pieces, sp.Piecewise) else [pieces]
        found = [g.replace(sp.Abs, lambda a: a) for g in found]
        if any(not g.has(sp.Integral, sp.I) for g in found):
            break
    return found


# ── potentials ────────────────────────────────────────────────────────────────────────────────────


def potential(b: Sequence[sp.Expr], q: Sequence[sp.Symbol], points: Points, clock: Clock) -> sp.Expr | None:
    """A U with ∂U/∂q = b for a closed b: term by term where b is made of powers, else one variable after the other."""
    if all(e == 0 for e in b):
        return sp.S.Zero
    if not clock.closed_forms:
        return None
    found = homogeneous_potential(b, q)
    if found is not None and _is_potential(found, b, q, points):
        return found
    for order in islice(permutations(range(len(q))), 6):
        found = _axial(b, q, order, points, clock)
        if found is not None and _is_potential(found, b, q, points):
            return tidied(found)
        if clock.left <= 0:
            break
    return None


def _is_potential(U: sp.Expr, b: Sequence[sp.Expr], q: Sequence[sp.Symbol], points: Points) -> bool:
    return all(same_where_real(sp.diff(U, x) - e, U, points) for x, e in zip(q, b, strict=True))


def _axial(
    b: Sequence[sp.Expr], q: Sequence[sp.Symbol], order: Sequence[int], points: Points, clock: Clock
) -> sp.Expr | None:
    total: sp.Expr = sp.S.Zero
    done: list[sp.Symbol] = []
    for k in order:
        rest = without(tidied(b[k] - sp.diff(total, q[k])), done, points)
        step = None if rest is None else primitive(rest, q[k], points, clock)
        if step is None:
            return None
        total += step
        done.append(q[k])
    return total


def without(e: sp.Expr, symbols: Sequence[sp.Symbol], points: Points) -> sp.Expr | None:
    """An expression known not to depend on some symbols, written without them."""
    if not e.has(*symbols):
        return e
    for place in (sp.S.Zero, sp.S.One, sp.Rational(1, 2), sp.Rational(-1, 3)):
        base = {s: points.near.get(s, place) if place == 0 else place for s in symbols}
        found = e.subs(base)
        if not found.has(sp.nan, sp.zoo, sp.oo, sp.I):
            return tidied(found)
    return None


def homogeneous_potential(b: Sequence[sp.Expr], q: Sequence[sp.Symbol]) -> sp.Expr | None:
    """U with q·∂U/∂q = q·b, term by term in the degree of homogeneity: q·b_k/(k + 1), and a logarithm for k = −1.

    For closed b it is the potential; for others the rest b − ∂U/∂q does no work along rays.
    """
    along = sp.Dummy("l", positive=True)
    work = sp.Add(*(x * e for x, e in zip(q, b, strict=True)))
    if not expandable(work):
        return None
    scaled = _rooted(work.xreplace({x: along * x for x in q}), along)
    kept = {
        p: sp.Dummy("k", positive=True) for p in scaled.atoms(sp.Pow) if _stays(p, along)
    }  # not to be multiplied out
    back = {symbol: power for power, symbol in kept.items()}
    scaled = scaled.xreplace(kept)
    parts: dict[sp.Expr, list[sp.Expr]] = {}
    for term in sp.Add.make_args(sp.expand(scaled)):
        rest, power = term.as_independent(along, as_Add=False)
        base, exponent = power.as_base_exp()
        if rest.has(along) or (power != 1 and (base != along or not exponent.is_Rational)):
            return None
        parts.setdefault(exponent if power != 1 else sp.S.Zero, []).append(rest)
    size = sp.log(sp.sqrt(sp.Add(*(x**2 for x in q))))
    terms = [
        tidied(sp.Add(*rest).xreplace(back)) * (1 / degree if degree != 0 else size) for degree, rest in parts.items()
    ]
    return sp.Add(*terms)


def _stays(power: sp.Pow, along: sp.Symbol) -> bool:
    return not power.has(along) and not (power.exp.is_Integer and power.exp > 0)


def _rooted(e: sp.Expr, along: sp.Symbol) -> sp.Expr:
    """The same with the scale taken out of every power: √(l²x² + l²y²) = l √(x² + y²)."""
    rule: Callable[[sp.Expr, sp.Expr], sp.Expr] = lambda base, power: _taken_out(base, power, along)  # noqa: E731
    return e.replace(sp.Pow, rule)


def _taken_out(base: sp.Expr, power: sp.Expr, along: sp.Symbol) -> sp.Expr:
    if not base.has(along) or base == along or not power.is_Rational:
        return sp.Pow(base, power)
    factored = sp.factor_terms(sp.expand(base))
    rest, scale = factored.as_independent(along, as_Add=False)
    if rest.has(along) or not (scale == 1 or scale.as_base_exp()[0] == along):
        return sp.Pow(factored, power)
    return sp.Pow(rest, power) * sp.Pow(scale, power)
