"""Integrating factors: a matrix g(q, v, t) for which g(a − F) is in Lagrange form, sought in a given basis.

    g_ij = Σ_r c_r φ_r(q, v, t)

The conditions K1 to K3 of f = g(a − F), and s = r = 0 if D shall vanish, are linear in the c: they are evaluated at
random points, their null space is found, and what is found is brought to rational numbers and proved. That nothing is
found says so for this basis only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import Coordinate, time
from holdfast.problem.types import ByName, Expression, Key
from holdfast.problem.vocabulary import exact, name_of
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.algebra.zero import decisions, is_zero
from holdfast.structure.conditions.helmholtz import Helmholtz
from holdfast.structure.conditions.second_order import SecondOrder, second_order

ZERO_SINGULAR_VALUE = 1e-10  # singular values below this part of the largest count as zero


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The matrices found, as a basis of all of them in the given basis of functions; truthy if one is not singular."""

    system: SecondOrder
    matrices: tuple[sp.Matrix, ...]
    member: sp.Matrix | None  # one that is not singular
    dissipation: bool
    exact: bool

    def __bool__(self) -> bool:
        return self.member is not None

    @property
    def f(self) -> list[sp.Expr]:
        """g(a − F) with the member found, ready for `hf.lagrangian`."""
        if self.member is None:
            raise BadRequest("no multiplier was found", where="multiplier_search", fix="try a larger basis")
        return list(self.member * sp.Matrix(self.system.f))

    def __str__(self) -> str:
        sense = "with a dissipation function" if self.dissipation else "with D = 0"
        if not self.matrices:
            return f"for this basis there is no multiplier {sense}"
        found = f"multipliers {sense} form a space of dimension {len(self.matrices)} in this basis"
        return found if self else f"{found}, but all of them are singular"


def multiplier_search(
    F: Equations | Sequence[Expression],
    coordinates: Iterable[Key] | None = None,
    *,
    basis: Sequence[Expression],
    dissipation: bool = True,
    parameters: ByName | None = None,
    state: ByName | None = None,
) -> Multipliers:
    """Matrices g over a basis of functions for which g(a − F) = 0 are Lagrange's equations.

    `F` are the accelerations by coordinate (or derived equations); `dissipation=False` asks for D = 0, the classical
    inverse problem.
    """
    if not basis:
        raise BadRequest("the basis is empty", where="multiplier_search", fix="e.g. basis=[1, r, r**2]")
    if isinstance(F, Equations):
        system = second_order(F, solved=True, near=state)
    else:
        listed = tuple(Coordinate(name_of(c)) for c in coordinates or ())
        given = [x.acceleration - e for x, e in zip(listed, F, strict=True)]
        system = second_order(given, listed, parameters=parameters, near=state)
    functions = [exact(e, where="basis") for e in basis]
    trials = [
        _matrix(len(system.q), i, j, phi)
        for i, j in combinations_with_replacement(range(len(system.q)), 2)
        for phi in functions
    ]
    conditions = sp.Matrix([_conditions(g, system, dissipation) for g in trials]).T
    space = _null_space(conditions, system)
    found = [sum((c * g for c, g in zip(row, trials, strict=True)), sp.zeros(len(system.q))) for row in space]
    rational = [g.applyfunc(sp.expand) for g in found]
    proved = all(all(d.zero for d in decisions(_conditions(g, system, dissipation), system.points)) for g in rational)
    return Multipliers(system, tuple(rational), _member(rational, system), dissipation, proved)


def _matrix(n: int, i: int, j: int, phi: sp.Expr) -> sp.Matrix:
    g = sp.zeros(n, n)
    g[i, j] = g[j, i] = phi
    return g


def _conditions(g: sp.Matrix, system: SecondOrder, dissipation: bool) -> list[sp.Expr]:
    """What must vanish for f = g(a − F)."""
    f = SecondOrder(system.coordinates, tuple(g * sp.Matrix(system.f)), system.values, system.near)
    found = Helmholtz(f)
    entries = [e for _, e in (*found._k1(), *found._k2(), *found._k3())]
    if not dissipation:
        n = range(len(system.q))
        entries += [found.s[i, j] for i in n for j in n if j <= i] + [found.r[i, j] for i in n for j in n if j < i]
    return [sp.sympify(e) for e in entries] or [sp.S.Zero]


def _null_space(conditions: sp.Matrix, system: SecondOrder) -> list[list[sp.Expr]]:
    """Rows of coefficients, in reduced form and as rational numbers where they are near some."""
    unknown = {value: sp.Dummy(f"u{k}") for k, value in enumerate(conditions.atoms(FunctionValue))}
    conditions = conditions.xreplace(unknown)  # at one point a function and its derivatives are numbers of their own
    symbols = [*system.q, *system.v, time, *system.parameters, *unknown.values()]
    function = sp.lambdify(symbols, conditions, "numpy")
    rows = []
    for point in system.points.of(symbols):
        with np.errstate(all="ignore"):
            try:
                values = np.array(function(*(float(x) for x in point.values())), dtype=float)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError):
                continue
        if np.isfinite(values).all():
            rows.append(values)
    if not rows:
        raise BadRequest("the accelerations are not defined at any point tried", fix="say where they are: state={...}")
    stacked = np.vstack(rows)
    _, sizes, vt = np.linalg.svd(stacked)
    rank = int((sizes > ZERO_SINGULAR_VALUE * max(sizes[0], 1e-300)).sum()) if sizes.size and sizes[0] > 0 else 0
    return [[_rational(x) for x in row] for row in _reduced(vt[rank:])]


def _reduced(rows: np.ndarray) -> np.ndarray:
    """The reduced echelon form: the simplest basis of a row space."""
    rows, at = rows.copy(), 0
    for column in range(rows.shape[1]):
        if at == len(rows):
            break
        pivot = at + int(np.abs(rows[at:, column]).argmax())
        if abs(rows[pivot, column]) < 1e-8:
            continue
        rows[[at, pivot]] = rows[[pivot, at]]
        rows[at] /= rows[at, column]
        for other in range(len(rows)):
            if other != at:
                rows[other] -= rows[other, column] * rows[at]
        at += 1
    return rows


def _rational(x: float) -> sp.Expr:
    near = Fraction(x).limit_denominator(1000)
    return sp.Rational(near.numerator, near.denominator) if abs(float(near) - x) < 1e-7 else sp.Float(x)


def _member(matrices: Sequence[sp.Matrix], system: SecondOrder) -> sp.Matrix | None:
    """One that is not singular: the simplest first, then generic combinations."""
    if not matrices:
        return None
    mixed = [
        sum(
            (sp.Integer(p) * g for p, g in zip((1, 2, 3, 5, 7, 11, 13), matrices, strict=False)),
            sp.zeros(len(system.q)),
        )
    ]
    for g in (*matrices, *mixed):
        if not is_zero(g.det(method="berkowitz"), system.points).zero:
            return g.applyfunc(tidied)
    return None
