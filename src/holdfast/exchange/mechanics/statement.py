"""What a method of `sympy.physics.mechanics` states, in its own symbols: energies, forces and constraints.

Lagrange:  L, Q and the constraints as they were given.
Kane:      T of the bodies, Q of the loads, with the speeds u replaced by the rates:  q' = K u + k  ⇒  u = K⁻¹(q' − k)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, ReferenceFrame, RigidBody, msubs
from sympy.physics.vector import dynamicsymbols

from holdfast.errors import BadRequest

TIME = dynamicsymbols._t


@dataclass(frozen=True, eq=False)
class MethodEquations:
    """What the method itself has derived: mass · unknowns = forcing, and the accelerations in the unknowns.

    `rates` says what the rates are where the method has speeds of its own.
    """

    mass: sp.Matrix
    forcing: sp.Matrix
    unknowns: tuple[sp.Expr, ...]
    accelerations: tuple[sp.Expr, ...]
    rates: dict[sp.Expr, sp.Expr]

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        return (*self.mass, *self.forcing, *self.accelerations, *self.rates.values())


@dataclass(frozen=True, eq=False)
class MethodStatement:
    """A system by its energies, in SymPy's dynamic symbols; `derived` gives what the method makes of it."""

    coordinates: tuple[sp.Expr, ...]
    kinetic: sp.Expr
    potential: sp.Expr
    forces: tuple[sp.Expr, ...]
    holonomic: tuple[sp.Expr, ...]
    nonholonomic: tuple[sp.Expr, ...]
    derived: Callable[[], MethodEquations]

    @property
    def rates(self) -> tuple[sp.Expr, ...]:
        return tuple(q.diff(TIME) for q in self.coordinates)

    @property
    def expressions(self) -> tuple[sp.Expr, ...]:
        return (self.kinetic, self.potential, *self.forces, *self.holonomic, *self.nonholonomic)


def statement_of(method: Any) -> MethodStatement:
    """The statement of a method that is known here."""
    if isinstance(method, LagrangesMethod):
        return _of_lagrange(method)
    if isinstance(method, KanesMethod):
        return _of_kane(method)
    inner = getattr(method, "eom_method", None)
    if isinstance(inner, LagrangesMethod | KanesMethod):
        return statement_of(inner)
    raise BadRequest(
        f"{type(method).__name__} is no method that is known here",
        where="from_sympy_mechanics(method)",
        fix="a LagrangesMethod, a KanesMethod, or a System whose form_eoms() was called",
    )


def _loads(loads: Iterable[Any], frame: ReferenceFrame) -> list[tuple[Any, Any]]:
    """Velocity and force of each load."""
    found = []
    for where, force in loads or ():
        turning = isinstance(where, ReferenceFrame)
        found.append((where.ang_vel_in(frame) if turning else where.vel(frame), force))
    return found


# ── Lagrange ──────────────────────────────────────────────────────────────────────────────────────


def _of_lagrange(method: LagrangesMethod) -> MethodStatement:
    q, L = tuple(method.q), sp.expand(method._L[0], deep=False)
    rates = {x.diff(TIME) for x in q}
    terms = sp.Add.make_args(L)
    moving = [term for term in terms if term.atoms(sp.Derivative) & rates]
    resting = [term for term in terms if not term.atoms(sp.Derivative) & rates]
    forces = [sp.S.Zero] * len(q)
    if method.forcelist:
        if method.inertial is None:
            raise BadRequest("its forces have no inertial frame", where="LagrangesMethod(frame=...)", fix="give one")
        for velocity, force in _loads(method.forcelist, method.inertial):
            for i, x in enumerate(q):
                forces[i] += velocity.diff(x.diff(TIME), method.inertial).dot(force)
    holonomic = tuple(method._hol_coneqs)
    return MethodStatement(
        q, sp.Add(*moving), -sp.Add(*resting), tuple(forces), holonomic, tuple(method.coneqs)[len(holonomic) :],
        lambda: _lagrange_equations(method),
    )  # fmt: skip


def _lagrange_equations(method: LagrangesMethod) -> MethodEquations:
    """Of the accelerations and the multipliers."""
    method.form_lagranges_equations()
    n = len(method.q)
    accelerations = tuple(q.diff(TIME, 2) for q in method.q)
    mass, forcing = method.mass_matrix_full[n:, n:], method.forcing_full[n:, :]
    return MethodEquations(mass, forcing, (*accelerations, *method.lam_vec), accelerations, {})


# ── Kane ──────────────────────────────────────────────────────────────────────────────────────────


def _of_kane(method: KanesMethod) -> MethodStatement:
    _refuse_kane(method)
    frame, q, u = method._inertial, tuple(method.q), list(method.u)
    rates = [x.diff(TIME) for x in q]
    mapped = method.kindiffdict()
    slopes = sp.Matrix([mapped[rate] for rate in rates]).jacobian(u)
    rest = sp.Matrix([mapped[rate] for rate in rates]).xreplace(dict.fromkeys(u, sp.S.Zero))
    inverse = slopes.inv()
    speeds = dict(zip(u, inverse * (sp.Matrix(rates) - rest), strict=True))

    def in_rates(expression: sp.Expr) -> sp.Expr:
        return expression.xreplace(mapped).xreplace(speeds)

    kinetic = sp.Add(*(body.kinetic_energy(frame) for body in method.bodies))
    by_speed = [sp.S.Zero] * len(u)
    for moving, force in _loads(method.loads, frame):
        partials = msubs(moving, mapped)
        for j, speed in enumerate(u):
            by_speed[j] += partials.diff(speed, frame, var_in_dcm=False).dot(force)
    forces = [in_rates(e) for e in inverse.T * sp.Matrix(by_speed)]
    rows = list(method._k_nh * sp.Matrix(u) + method._f_nh) if method._k_nh else []
    holonomic = tuple(method._f_h)
    velocity = _further(holonomic, [in_rates(row) for row in rows], rates)
    return MethodStatement(
        q, in_rates(kinetic), sp.S.Zero, tuple(forces), holonomic, velocity,
        lambda: _kane_equations(method, mapped, rates),
    )  # fmt: skip


def _refuse_kane(method: KanesMethod) -> None:
    where = "KanesMethod"
    if method._fr is None or not method.bodies:
        raise BadRequest("its equations are not formed", where=where, fix="call kanes_equations(bodies, loads) first")
    if method._uaux:
        raise BadRequest("auxiliary speeds have no place among rates", where=where, fix="leave them out")
    if len(method.q) != len(method.u):
        raise BadRequest(
            f"{len(method.u)} speeds cannot be told from {len(method.q)} rates",
            where=where,
            fix="as many coordinates as speeds: add those whose rates the others are",
        )
    for body in method.bodies:
        if not isinstance(body, Particle | RigidBody):
            raise BadRequest(f"a body of the kind {type(body).__name__} has no energy here", where=where)


def _further(holonomic: Sequence[sp.Expr], rows: Sequence[sp.Expr], rates: Sequence[sp.Expr]) -> tuple[sp.Expr, ...]:
    """The velocity constraints that are not just the rates of the holonomic ones."""
    if not holonomic:
        return tuple(rows)
    known = sp.Matrix([row.diff(TIME) for row in holonomic])
    found: list[sp.Expr] = []
    for row in rows:
        wider = sp.Matrix([*known, *found, row])
        if _rank(wider, rates) == len(wider):
            found.append(row)
    return tuple(found)


def _rank(rows: sp.Matrix, rates: Sequence[sp.Expr]) -> int:
    """The rank of ∂rows/∂rates at a place of no meaning."""
    jacobian = rows.jacobian(rates)
    atoms = sorted(jacobian.free_symbols | jacobian.atoms(sp.core.function.AppliedUndef, sp.Derivative), key=str)
    place = {x: sp.Rational(7 * k % 11 + 3, 13 + k) for k, x in enumerate(atoms)}
    return int(sp.Matrix(jacobian.xreplace(place)).evalf(30).rank(iszerofunc=lambda x: abs(x) < 1e-12))


def _kane_equations(method: KanesMethod, mapped: dict[sp.Expr, sp.Expr], rates: Sequence[sp.Expr]) -> MethodEquations:
    """Of the rates and the rates of the speeds."""
    unknowns = (*rates, *(u.diff(TIME) for u in method.u))
    accelerations = tuple(mapped[rate].diff(TIME).xreplace(mapped) for rate in rates)
    return MethodEquations(method.mass_matrix_full, method.forcing_full, unknowns, accelerations, mapped)
