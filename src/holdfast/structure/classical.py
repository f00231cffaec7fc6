"""The classical inverse problem: an L with D = 0, for the equations as they stand or times an integrating factor.

    f_i = d/dt ∂L/∂v_i − ∂L/∂q_i                        as they stand: K1 to K3 hold, and s = r = 0
    g(a − F) = d/dt ∂L/∂v − ∂L/∂q,   det g ≠ 0          with a matrix g(q, v, t), sought in a basis of functions

The default basis: 1, t, the coordinates, the entries of M, and what takes the damping of one coordinate away,
φ_i = exp(−∫β dt − ∫α dq_i) where ∂F_i/∂v_i = α(q_i) v_i + β(t), alone and times the entries of M. An L that is found is
proved by substitution; that none is found says so for this basis only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.errors import HoldfastError
from holdfast.problem.quantities import time
from holdfast.structure.algebra.integrals import Clock
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.algebra.zero import is_zero
from holdfast.structure.conditions.helmholtz import Helmholtz, helmholtz
from holdfast.structure.conditions.second_order import SecondOrder
from holdfast.structure.construction import Construction, constructed
from holdfast.structure.multiplier_search import multiplier_search
from holdfast.structure.residual import residual_of

LONGEST = 400  # operations of F up to which integrating factors are sought: the search takes some seconds there
WIDEST = 3  # coordinates up to which they are sought: a basis of k functions makes k n(n+1)/2 trials
SECONDS = 10.0  # for the integrals of L


@dataclass(frozen=True, eq=False)
class ClassicalForm:
    """Whether an L with D = 0 was found; truthy if so. `multiplier` is g of g(a − F), None for f as it stands."""

    L: sp.Expr | None
    multiplier: sp.Matrix | None
    basis: tuple[sp.Expr, ...]
    why: str

    def __bool__(self) -> bool:
        return self.L is not None

    def __str__(self) -> str:
        return f"{'yes' if self else 'none found'}: {self.why}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": bool(self),
            "L": None if self.L is None else str(self.L),
            "multiplier": None
            if self.multiplier is None
            else [[str(e) for e in row] for row in self.multiplier.tolist()],
            "basis": [str(e) for e in self.basis],
            "why": self.why,
        }


def classical(conditions: Helmholtz, construction: Construction | None) -> ClassicalForm:
    """The answer for given equations, whose conditions are known and whose L and D are made if they exist."""
    system = conditions.system
    if construction is not None and _variational(conditions) and is_zero(construction.D, system.points).zero:
        return ClassicalForm(construction.L, None, (), "the equations as they stand, with this L")
    failing = _reason(conditions)
    F = None if conditions.found_at_points else _accelerations(system)
    if F is None:
        why = f"{failing}; they are too long, or too many, for a search for integrating factors"
        return ClassicalForm(None, None, (), why)
    basis = default_basis(system, F)
    return _with_multiplier(system, F, basis, failing)


def _variational(conditions: Helmholtz) -> bool:
    """Whether s = r = 0."""
    points = conditions.system.points
    return all(is_zero(sp.sympify(e), points).zero for e in (*conditions.s, *conditions.r))


def _reason(conditions: Helmholtz) -> str:
    """What keeps the equations as they stand from having an L with D = 0."""
    if conditions.defects:
        return f"as the equations stand {conditions.defects[0].condition} fails"
    parts = [name for name, e in (("s", conditions.s), ("r", conditions.r)) if not e.is_zero_matrix]
    return f"as the equations stand {' and '.join(parts) or 'D'} would have to vanish"


def _accelerations(system: SecondOrder) -> list[sp.Expr] | None:
    """F of a = F, where it is short enough to be searched."""
    if len(system.q) > WIDEST or sum(sp.count_ops(e) for e in system.f) > LONGEST:
        return None
    F = [tidied(e) for e in -system.mass.LUsolve(sp.Matrix(system.rest))]
    return F if sum(sp.count_ops(e) for e in F) <= LONGEST else None


def default_basis(system: SecondOrder, F: list[sp.Expr]) -> tuple[sp.Expr, ...]:
    """The functions of which the entries of an integrating factor are sought."""
    masses = [sp.S.One, *(e for e in system.mass if e != 0 and not e.is_number and not e.has(*system.v))]
    factors = [sp.S.One, *(_factor(system, F, i) for i in range(len(F)))]
    products = [m * f for m in dict.fromkeys(masses) for f in dict.fromkeys(factors)]
    return tuple(dict.fromkeys([*products, time, *system.q]))


def _factor(system: SecondOrder, F: list[sp.Expr], i: int) -> sp.Expr:
    """exp(−∫β dt − ∫α dq_i) for ∂F_i/∂v_i = α(q_i) v_i + β(t); 1 where it is not of this form."""
    x, u = system.q[i], system.v[i]
    slope = sp.expand(sp.diff(F[i], u))
    alpha, beta = tidied(sp.diff(slope, u)), tidied(slope.subs(u, 0))
    other = {*system.q, *system.v, time}
    if alpha.free_symbols & (other - {x}) or beta.free_symbols & (other - {time}):
        return sp.S.One
    made = sp.exp(-sp.integrate(beta, time) - sp.integrate(alpha, x))
    return sp.S.One if made.has(sp.Integral) else sp.powsimp(sp.simplify(made))


def _with_multiplier(system: SecondOrder, F: list[sp.Expr], basis: tuple[sp.Expr, ...], failing: str) -> ClassicalForm:
    """The search over the basis, and L of what it finds, proved by substitution."""
    ansatz = ", ".join(str(e) for e in basis)
    none = f"{failing}, and no integrating factor g(a - F) has entries in the span of {ansatz}"
    values = {s.name: value for s, value in system.values.items()}
    near = {s.name: value for s, value in system.near.items()}
    try:
        found = multiplier_search(F, system.coordinates, basis=basis, dissipation=False, parameters=values, state=near)
        if not found or found.member is None:
            return ClassicalForm(None, None, basis, none)
        conditions = helmholtz(found.f, system.coordinates, parameters=values, state=near)
        made = constructed(conditions, Clock(SECONDS, each=SECONDS / 3))
    except HoldfastError as error:
        return ClassicalForm(None, None, basis, f"{failing}; the search for integrating factors ended: {error.what}")
    left = residual_of(conditions.system, made.L, sp.S.Zero)
    if left or left.size != left.size:
        return ClassicalForm(None, None, basis, none)
    why = f"for g(a - F), with this integrating factor g and this L; by substitution they differ by {left}"
    return ClassicalForm(made.L, found.member, basis, why)
