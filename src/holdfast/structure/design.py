"""Stabilised systems that are in Lagrange form by construction, for curved constraints too.

The least accelerations that hold a curved constraint have no Lagrangian (only flat ones do). Two constructions have:

*Adapted metric.*  Complete y to coordinates (y, z) and take
    L = ½ẏᵀẏ − ½yᵀK y + L_T(z, ż),   D = ½ẏᵀB ẏ        ⇒   ÿ = −K y − B ẏ exactly; strict, dissipative if B ⪰ 0.

*Cubic D.*  Keep L = ½|v|² − W(q) and let D have a part of third degree; ω = G Gᵀ, n_μ = Gᵀω⁻¹e_μ, v_T = v − ẏ^μ n_μ,
    D₃ = ẏ^ν v_Tᵀ Ĥ_ν v_T + ẏ^νẏ^κ v_TᵀĤ_ν n_κ + ⅓ẏ^νẏ^κẏ^λ n_κᵀĤ_ν n_λ,     Ĥ_ν = (ω⁻¹)_νμ Hess y^μ,
    D = D₃ + ½ẏᵀω⁻¹B ẏ + b·v,      g^μ·(∂W/∂q + b) = (K y)^μ                 ⇒   ÿ = −K y − B ẏ exactly.
It exists if the gradients of the constraints commute, Hess(y^μ)∇y^ν = Hess(y^ν)∇y^μ; D₃ does no work on the program.

The first holds for moving constraints y(q, t) as it stands. The second holds for *one* moving or velocity constraint,
w = g(q, t)·v + a(q, t), too, since D₃ asks for no potential of g: with H = sym ∂g/∂q in place of Hess y and g·v of ẏ,
    D = D₃ + ½vᵀS v + b·v,   S = (u gᵀ + g uᵀ)/|g|² − (g·u) g gᵀ/|g|⁴,
    u = ∂g/∂t + ∇a + β g,    b = g (k y + β a + ∂a/∂t)/|g|².
A velocity constraint is no coordinate, so that it has no adapted metric; several of them have no such S in general.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.equations.derive import derive
from holdfast.equations.equations import Equations
from holdfast.equations.forms.family import family
from holdfast.errors import BadRequest, BadStatement
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.quantities import Coordinate, rate, time
from holdfast.problem.system import System
from holdfast.problem.types import ByName, Key
from holdfast.problem.vocabulary import exact, name_of
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.algebra.zero import Points, is_zero


@dataclass(frozen=True, eq=False)
class Design:
    """L and D of a stabilised system, its equations (the held forces in them are zero), and what is known about it."""

    L: sp.Expr
    D: sp.Expr
    coordinates: tuple[Coordinate, ...]
    equations: Equations
    strict: bool
    dissipative: bool
    notes: tuple[str, ...] = ()

    @property
    def f(self) -> list[sp.Expr]:
        """E_i[L] + ∂D/∂v_i, the equations of motion."""
        return [rate(sp.diff(self.L, x.rate)) - sp.diff(self.L, x) + sp.diff(self.D, x.rate) for x in self.coordinates]


@dataclass(frozen=True, eq=False)
class _StatedEnergies:
    """What both constructions start from: y as expressions, the law's matrices, and the words they are in."""

    program: Program
    q: tuple[Coordinate, ...]
    y: list[sp.Expr]
    stiffness: sp.Matrix
    damping: sp.Matrix
    parameters: Mapping[Any, Any]
    start: Mapping[Any, Any]
    w: list[sp.Expr]  # velocity constraints

    @property
    def moving(self) -> bool:
        """Whether some y depends on time."""
        return any(sp.diff(e, time) != 0 for e in self.y)

    @property
    def points(self) -> Points:
        given = {name_of(s): value for s, value in self.start.items()}
        return Points(near={x: exact(given[x.name]) for x in self.q if x.name in given})


def design(
    program: Program,
    coordinates: Iterable[Key],
    method: str = "adapted metric",
    *,
    complete: Sequence[Any] | None = None,
    tangential: Any = None,
    parameters: ByName | None = None,
    start: ByName | None = None,
) -> Design:
    """A stabilised system in Lagrange form from a program with a linear law; what has none is refused with the reason.

    "adapted metric" (the default) is for holonomic constraints, moving ones too. It takes `complete`, functions z that
    complete the constraints to coordinates (chosen among the coordinates if not given), and `tangential`, L_T in z and
    rate(z) (½ż² if not given). "cubic" keeps L = ½|v|² − W, for commuting constraints at rest, or for one that moves or
    is of velocities.
    """
    stated = _stated(program, coordinates, parameters or {}, start or {})
    if method == "adapted metric":
        return _adapted(stated, complete, tangential)
    if method == "cubic":
        return _moving_cubic(stated) if stated.moving or stated.w else _cubic(stated)
    raise BadRequest(f"there is no construction {method!r}", where="design", fix='"adapted metric" or "cubic"')


def _stated(
    program: Program, coordinates: Iterable[Key], parameters: Mapping[Any, Any], start: Mapping[Any, Any]
) -> _StatedEnergies:
    """The constraints and the constant matrices of their linear law; other laws are refused."""
    q = tuple(Coordinate(name_of(c)) for c in coordinates)
    if not program.constraints:
        raise BadStatement("there is nothing to hold: the program has no constraints", where="program")
    made = family(program, q, parameters=parameters, start=start)
    y, w = list(made.problem.program.holonomic.values()), list(made.problem.program.nonholonomic.values())
    if not made.demand_law.is_linear or made.deviation_matrix.has(*q, *(x.rate for x in q), time):
        raise BadStatement("the constructions need a linear law with constant gains", where="program.law")
    m = len(y)
    numbers = {s: made.form.gains[s.name] for s in made.deviation_matrix.free_symbols if s.name in made.form.gains}
    law = -made.deviation_matrix[m:, :].subs(numbers)
    return _StatedEnergies(program, q, y, law[:, :m], law[:, m:], parameters, start, w)


def _adapted(stated: _StatedEnergies, complete: Sequence[Any] | None, tangential: Any) -> Design:
    """Construction by a metric in which constraints and completing functions are Cartesian."""
    q, y, m = stated.q, stated.y, len(stated.y)
    if stated.w:
        raise BadStatement(
            "a velocity constraint is no coordinate: no metric is adapted to it",
            where="program.nonholonomic",
            fix='method="cubic" holds one of them' if len(stated.w) == 1 and not y else "hold only holonomic ones",
        )
    for name, matrix in (("stiffness", stated.stiffness), ("damping", stated.damping)):
        if matrix != matrix.T:
            raise BadStatement(
                f"the {name} of the law is not symmetric", where="program.law", fix="couple both ways alike"
            )
    z = [exact(e, where="complete") for e in complete] if complete is not None else _completed(stated)
    if len(z) != len(q) - m:
        raise BadStatement(f"{len(q) - m} functions complete {m} constraints, not {len(z)}", where="complete")
    J = sp.Matrix([[sp.diff(e, x) for x in q] for e in (*y, *z)])
    if is_zero(J.det(method="berkowitz"), stated.points).zero:
        raise BadStatement(
            "constraints and completing functions depend on each other", where="complete", fix="choose others"
        )
    yd, zd = sp.Matrix([rate(e) for e in y]), [rate(e) for e in z]
    place = sp.Matrix(y)
    along = exact(tangential, where="tangential") if tangential is not None else sp.Add(*(u**2 for u in zd)) / 2
    P = (place.T * stated.stiffness * place)[0] / 2
    D = (yd.T * stated.damping * yd)[0] / 2
    kinetic = (yd.T * yd)[0] / 2 + along
    system = System(coordinates=q, kinetic=kinetic, potential=P, dissipation=D, parameters=stated.parameters)  # type: ignore[arg-type]
    equations = derive(Problem(system, stated.program, start=stated.start))  # type: ignore[arg-type]
    definite = all(bool(v >= 0) for v in stated.damping.eigenvals(multiple=True) if v.is_number and v.is_real)
    if stated.moving:
        note = "the program moves: D is a function of its rates y', and terms linear in the rates stand in it"
        return Design(kinetic - P, D, q, equations, D == 0, D == 0, () if D == 0 else (note,))
    return Design(kinetic - P, D, q, equations, True, definite)


def _completed(stated: _StatedEnergies) -> list[sp.Expr]:
    """Coordinates that complete the constraints, chosen one after the other."""
    rows = [[sp.diff(e, x) for x in stated.q] for e in stated.y]
    chosen: list[sp.Expr] = []
    for x in stated.q:
        if len(chosen) == len(stated.q) - len(stated.y):
            break
        trial = sp.Matrix([*rows, [sp.Integer(int(x == u)) for u in stated.q]])
        if not is_zero((trial * trial.T).det(method="berkowitz"), stated.points).zero:
            rows, chosen = trial.tolist(), [*chosen, x]
    return chosen


# ── cubic D ───────────────────────────────────────────────────────────────────────────────────────


def _moving_cubic(stated: _StatedEnergies) -> Design:
    """Construction with the Cartesian metric for one constraint w = g·v + a(q, t), moving or of velocities."""
    q, v = stated.q, sp.Matrix([x.rate for x in stated.q])
    rates = [*(rate(e) for e in stated.y), *stated.w]
    if len(rates) > 1:
        raise BadStatement(
            "several constraints that move or are of velocities have no cubic D in general",
            where="program",
            fix='hold one, or holonomic ones by method="adapted metric"',
        )
    g = sp.Matrix([sp.diff(rates[0], u) for u in v])
    if g.has(*v):
        raise BadStatement("the constraint is not linear in the rates: no cubic D", where="program.nonholonomic")
    a = tidied(rates[0].subs(dict.fromkeys(v, 0)))
    slope = sp.Matrix([[sp.diff(e, x) for x in q] for e in g])
    H, size, beta = (slope + slope.T) / 2, tidied((g.T * g)[0]), stated.damping[0]
    place = stated.stiffness[0] * stated.y[0] if stated.y else sp.S.Zero
    u = sp.diff(g, time) + sp.Matrix([sp.diff(a, x) for x in q]) + beta * g
    eta, n = (g.T * v)[0], g / size
    along = v - eta * n
    third = (along.T * H * along)[0] * eta + (along.T * H * n)[0] * eta**2 + (n.T * H * n)[0] * eta**3 / 3
    S = ((u * g.T + g * u.T) / size - (g.T * u)[0] * g * g.T / size**2).applyfunc(tidied)
    b = (n * (place + beta * a + sp.diff(a, time))).applyfunc(tidied)
    D = third / size + (v.T * S * v)[0] / 2 + (b.T * v)[0]
    equations = family(
        stated.program, q, {x: -sp.diff(D, x.rate) for x in q}, parameters=stated.parameters, start=stated.start
    )
    flat = H.applyfunc(tidied).is_zero_matrix
    strict = b.is_zero_matrix
    only_takes = strict and flat and all(is_zero(e, stated.points).zero for e in u - beta * g) and bool(beta >= 0)
    notes = [] if flat else ["D has a part of third degree: its power changes sign"]
    notes += [] if strict else ["forces at rest stand in D as terms linear in the rates"]
    return Design((v.T * v)[0] / 2, D, q, equations, strict, only_takes, tuple(notes))


def _cubic(stated: _StatedEnergies) -> Design:
    """Construction with the Cartesian metric and a part of third degree in D."""
    q, y, m = stated.q, stated.y, len(stated.y)
    v, yd = sp.Matrix([x.rate for x in q]), sp.Matrix([rate(e) for e in y])
    G = sp.Matrix([[sp.diff(e, x) for x in q] for e in y])
    hessians = [sp.hessian(e, q) for e in y]
    _refuse_non_commuting(stated, G, hessians)
    inverse = (G * G.T).inv().applyfunc(tidied)
    quadratic = (inverse * stated.damping).applyfunc(tidied)
    if any(not is_zero(e, stated.points).zero for e in quadratic - quadratic.T):
        raise BadStatement(
            "with these gains the damping has no Rayleigh function",
            where="program.law",
            fix="give all constraints the same damping, or make their gradients orthogonal",
        )
    W, b, notes = _position_part(stated, G, inverse)
    n = G.T * inverse  # columns n_μ
    along = v - n * yd
    cubic = sp.S.Zero
    for nu in range(m):
        H = sp.zeros(len(q), len(q))
        for mu in range(m):
            H += inverse[nu, mu] * hessians[mu]
        pushed = n * yd
        cubic += yd[nu] * ((along.T * H * along)[0] + (along.T * H * pushed)[0] + (pushed.T * H * pushed)[0] / 3)
    D = cubic + (yd.T * quadratic * yd)[0] / 2 + (b.T * v)[0]
    forces = {x: -sp.diff(D, x.rate) - sp.diff(W, x) for x in q}
    equations = family(stated.program, q, forces, parameters=stated.parameters, start=stated.start)
    flat = all(is_zero(e, stated.points).zero for H in hessians for e in H)
    notes = (
        notes if flat else (*notes, "D has a part of third degree: its power changes sign, and vanishes on the program")
    )
    return Design((v.T * v)[0] / 2 - W, D, q, equations, not any(b), flat and not any(b), notes)


def _refuse_non_commuting(stated: _StatedEnergies, G: sp.Matrix, hessians: Sequence[sp.Matrix]) -> None:
    names = list(stated.program.holonomic)
    for mu in range(len(names)):
        for nu in range(mu):
            difference = hessians[mu] * G.row(nu).T - hessians[nu] * G.row(mu).T
            if any(not is_zero(e, stated.points).zero for e in difference):
                raise BadStatement(
                    f"the gradients of {names[nu]!r} and {names[mu]!r} do not commute: no cubic D exists",
                    where=f"Hess·grad differs by {[tidied(e) for e in difference]}",
                    fix='use method="adapted metric"',
                )


def _position_part(
    stated: _StatedEnergies, G: sp.Matrix, inverse: sp.Matrix
) -> tuple[sp.Expr, sp.Matrix, tuple[str, ...]]:
    """W with ∇y·∇W = k y where |∇y|² is an affine function of y, or else b = K k y in D."""
    y, n = stated.y, len(stated.q)
    if len(y) == 1:
        k, square = stated.stiffness[0], tidied((G * G.T)[0])
        slope = tidied(sp.Add(*(sp.diff(square, x) * g for x, g in zip(stated.q, G, strict=True))) / square)
        constant = tidied(sp.expand(square - slope * y[0]))
        if not slope.has(*stated.q) and all(is_zero(sp.diff(constant, x), stated.points).zero for x in stated.q):
            constant = constant.subs({x: stated.points.near.get(x, sp.S.One) for x in stated.q})
            if slope == 0:
                return k * y[0] ** 2 / (2 * constant), sp.zeros(n, 1), ()
            size = slope * y[0] + constant
            return k * (y[0] / slope - constant / slope**2 * sp.log(size)), sp.zeros(n, 1), ()
    b = (G.T * inverse * stated.stiffness * sp.Matrix(y)).applyfunc(tidied)
    if len(y) > 1 and _diagonal_unit(stated, G):
        W = (sp.Matrix(y).T * stated.stiffness * sp.Matrix(y))[0] / 2
        return W, sp.zeros(n, 1), ()
    return sp.S.Zero, b, ("the forces at rest stand in D as terms linear in the rates: strict only in the wide sense",)


def _diagonal_unit(stated: _StatedEnergies, G: sp.Matrix) -> bool:
    """Whether the gradients are orthonormal, so that W = ½yᵀK y serves."""
    product = G * G.T - sp.eye(G.rows)
    return stated.stiffness == stated.stiffness.T and all(is_zero(e, stated.points).zero for e in product)
