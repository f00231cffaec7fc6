"""L and D by construction, once the conditions K1 to K3 hold.

    T     with T_vv = M                                              kinetic part
    C     = B − E[T] without accelerations;   A' = curl_v C, a function of q and t
    α     with ∂_jα_i − ∂_iα_j = ½A'_ij                              gyroscopic part, in an axial gauge
    C'    = C − ½A'v − ∂_tα,  curl-free in v
    Ψ     with ∂Ψ/∂v = C'                                            all that is left
    U     with ∂U/∂q = C' at v = 0, as far as that is a gradient      potential

    L = T + α·v − U,      D = Ψ − v·∂U/∂q

Every integral is sought in closed form first. One that is not found in time becomes an unevaluated integral over
[0, 1] along a ray, which `quadrature` evaluates; the rest of the construction goes on in either case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy as sp

from holdfast.problem.quantities import time
from holdfast.structure.algebra.integrals import Clock, homogeneous_potential, potential, primitive, without
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.conditions.helmholtz import Helmholtz
from holdfast.structure.conditions.second_order import SecondOrder
from holdfast.structure.singularities import Flux, Period, fluxes, periods


@dataclass(frozen=True, eq=False)
class Construction:
    """The pieces, and what was found out on the way."""

    kinetic: sp.Expr
    gyroscopic: tuple[sp.Expr, ...]
    potential: sp.Expr
    resting: tuple[sp.Expr, ...] | None  # b = C' at v = 0; None where rest is outside the domain
    loops: tuple[Period, ...]  # closed paths round which b does work although it is closed
    fluxes: tuple[Flux, ...]  # holes from which the gyroscopic field flows: no vector potential goes round them
    L: sp.Expr
    D: sp.Expr


def constructed(conditions: Helmholtz, clock: Clock) -> Construction:
    """L and D of a system that satisfies K1 to K3."""
    system = conditions.system
    T = _kinetic(conditions.M, system, clock)
    C = [tidied(b - e) for b, e in zip(system.rest, system.euler(T, accelerations=False), strict=True)]
    curl = _curl(C, T, conditions)
    alpha = _vector_potential(curl, system, clock)
    n = range(len(alpha))
    rest = [
        tidied(
            C[i]
            - sp.Add(*((sp.diff(alpha[i], system.q[j]) - sp.diff(alpha[j], system.q[i])) * system.v[j] for j in n))
            - sp.diff(alpha[i], time)
        )
        for i in n
    ]
    b = _at_rest(rest, system)
    loops: tuple[Period, ...] = ()
    U: sp.Expr = sp.S.Zero
    if b is not None and any(b):
        closed = not conditions.strict_defects
        loops = periods(b, system) if closed else ()
        if not loops:
            U = _potential(b, system, clock, closed=closed)
    carried = sp.Add(*(a * u for a, u in zip(alpha, system.v, strict=True)))
    D = _dissipation(rest, b, U, conditions, clock)
    return Construction(T, tuple(alpha), U, b, loops, fluxes(curl, system), tidied(T + carried - U), tidied(D))


def _dissipation(
    C: Sequence[sp.Expr], b: tuple[sp.Expr, ...] | None, U: sp.Expr, conditions: Helmholtz, clock: Clock
) -> sp.Expr:
    """Ψ − v·∂U/∂q with ∂Ψ/∂v = C; for a C affine in v, Ψ = b·v + ½vᵀsv."""
    system, s = conditions.system, conditions.s
    q, v, n = system.q, system.v, range(len(C))
    if b is None or any(e.has(sp.Integral) for e in C):
        return _gradient_inverse(C, v, system, clock) - sp.Add(*(sp.diff(U, q[i]) * v[i] for i in n))
    gradient = U != 0 and not conditions.strict_defects  # then b is ∂U/∂q, and nothing linear is left
    linear = sp.Add(*(tidied(b[i] - sp.diff(U, q[i])) * v[i] for i in n)) if not gradient else sp.S.Zero
    if s.has(*v):
        return linear + tidied(_gradient_inverse([C[i] - b[i] for i in n], v, system, clock))
    return linear + tidied(sp.Add(*(s[i, j] * v[i] * v[j] for i in n for j in n)) / 2)


def ray_integral(e: sp.Expr, along: sp.Symbol) -> sp.Expr:
    """∫₀¹ e dλ, left as it stands."""
    return sp.Integral(e, (along, 0, 1))


def _scale(number: int) -> sp.Symbol:
    return sp.Symbol(f"lambda_{number}", positive=True)


def _kinetic(M: sp.Matrix, system: SecondOrder, clock: Clock) -> sp.Expr:
    """T with T_vv = M: ½vᵀMv, or two integrations over the rates; else T = ∫₀¹ (1 − λ) vᵀM(q, λv, t)v dλ."""
    v, n = system.v, len(system.v)
    M = M.applyfunc(tidied)
    if not M.has(*v):
        return tidied(sp.Add(*(M[i, j] * v[i] * v[j] for i in range(n) for j in range(n))) / 2)
    momenta = [potential(list(M.row(i)), v, system.points, clock) for i in range(n)]
    if all(p is not None for p in momenta):
        found = potential(momenta, v, system.points, clock)
        if found is not None:
            return found
    scale = _scale(1)
    slow = {u: scale * u for u in v}
    work = sp.Add(*(v[i] * v[j] * M[i, j].xreplace(slow) for i in range(n) for j in range(n)))
    return ray_integral((1 - scale) * work, scale)


def _curl(C: Sequence[sp.Expr], T: sp.Expr, conditions: Helmholtz) -> sp.Matrix:
    """A'_ij(q, t): the curl of C in the rates, which does not depend on them."""
    system, n = conditions.system, len(C)

    def entry(i: int, j: int) -> sp.Expr:
        if i == j:
            return sp.S.Zero
        if T.has(sp.Integral):  # T and T_v vanish at rest
            found = without(conditions.A[i, j], system.v, system.points)
        else:
            curl = tidied(sp.diff(C[i], system.v[j]) - sp.diff(C[j], system.v[i]))
            found = without(curl, system.v, system.points)
        assert found is not None
        return found

    return sp.Matrix(n, n, entry)


def _vector_potential(A: sp.Matrix, system: SecondOrder, clock: Clock) -> list[sp.Expr]:
    """α with ∂_jα_i − ∂_iα_j = ½A_ij: α_n = 0, α_i = ½∫A_in dq_n, and the same again on q_n = const."""
    if A.is_zero_matrix:
        return [sp.S.Zero] * A.rows
    for order in ([*range(A.rows)], [*reversed(range(A.rows))]):
        found = _axial_gauge(A, system, order, clock)
        if found is not None:
            return found
    scale, q, n = _scale(2), system.q, range(A.rows)
    centre = {x: system.near.get(x, sp.S.Zero) for x in q}
    away = {x: centre[x] + scale * (x - centre[x]) for x in q}
    return [
        ray_integral(sp.Add(*(scale * A[i, j].xreplace(away) * (q[j] - centre[q[j]]) for j in n)) / 2, scale) for i in n
    ]


def _axial_gauge(A: sp.Matrix, system: SecondOrder, order: list[int], clock: Clock) -> list[sp.Expr] | None:
    q, alpha = system.q, [sp.S.Zero] * A.rows
    left, gone = A, []
    for last in range(len(order) - 1, 0, -1):
        k, gained = order[last], [sp.S.Zero] * A.rows
        for i in order[:last]:
            if left[i, k] == 0:
                continue
            step = primitive(left[i, k] / 2, q[k], system.points, clock)
            if step is None:
                return None
            gained[i] = step
            alpha[i] += step
        gone.append(q[k])

        def remaining(i: int, j: int, left: sp.Matrix = left, gained: list[sp.Expr] = gained) -> sp.Expr:
            return tidied(left[i, j] - 2 * (sp.diff(gained[i], q[j]) - sp.diff(gained[j], q[i])))

        kept, entries = order[:last], {}
        for i in kept:
            for j in kept:
                found = without(remaining(i, j), gone, system.points)
                if found is None:
                    return None
                entries[i, j] = found
        left = sp.Matrix(A.rows, A.rows, lambda i, j, entries=entries: entries.get((i, j), sp.S.Zero))
    return [tidied(a) for a in alpha]


def _gradient_inverse(C: Sequence[sp.Expr], v: Sequence[sp.Symbol], system: SecondOrder, clock: Clock) -> sp.Expr:
    """Ψ with ∂Ψ/∂v = C for a C without curl in v; else ∫₀¹ v·C(q, λv, t) dλ as it stands."""
    found = None if any(e.has(sp.Integral) for e in C) else potential(C, v, system.points, clock)
    if found is not None:
        return found
    scale = _scale(3)
    slow = {u: scale * u for u in v}
    return ray_integral(sp.Add(*(u * e.subs(slow, simultaneous=True) for u, e in zip(v, C, strict=True))), scale)


def _at_rest(C: Sequence[sp.Expr], system: SecondOrder) -> tuple[sp.Expr, ...] | None:
    """b = C at v = 0, where that is defined."""
    still = dict.fromkeys(system.v, sp.S.Zero)
    values = [tidied(e.subs(still)) if e.has(sp.Integral) else tidied(e.xreplace(still)) for e in C]
    values = [e.doit() if e.has(sp.Integral) else e for e in values]
    return None if any(e.has(sp.nan, sp.zoo, sp.oo) for e in values) else tuple(values)


def _potential(b: Sequence[sp.Expr], system: SecondOrder, clock: Clock, *, closed: bool) -> sp.Expr:
    """U for a closed b; for others the part that does work along rays, or nothing: any U is admissible."""
    if not closed:
        found = homogeneous_potential(b, system.q)
        if found is None:
            return sp.S.Zero
        lacking = [tidied(e - sp.diff(found, x)) for e, x in zip(b, system.q, strict=True)]
        longer = sp.count_ops(found) + sum(map(sp.count_ops, lacking)) > 2 * sum(map(sp.count_ops, b))
        return sp.S.Zero if longer else found
    found = potential(b, system.q, system.points, clock)
    if found is not None:
        return found
    scale, q = _scale(4), system.q
    centre = {x: system.near.get(x, sp.S.Zero) for x in q}
    away = {x: centre[x] + scale * (x - centre[x]) for x in q}
    work = sp.Add(*((x - centre[x]) * e.xreplace(away) for x, e in zip(q, b, strict=True)))
    return ray_integral(work, scale)
