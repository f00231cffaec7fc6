"""All systems that keep a program, from the constraints and the law alone: no energies are needed.

    G a = Y − γ        ⇒        a = K(Y − γ) + P u,      K = Gᵀ(G Gᵀ)⁻¹,   P = I − K G

where G = ∂w/∂v, γ is the rate of w with v held, Y the law, and u(q, v, t) any field of accelerations: only its
tangential part P u matters. The same family in other words:

    null space       a = K(Y − γ) + N u', the columns of N spanning ker G
    cross product    a = K(Y − γ) + c₀ [g¹ ... gᵐ c ... c],   with n − 1 − m vectors c and a number c₀
    mass-weighted    a = K_M(Y − γ) + P_M u,   K_M = M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹
    by controls      a = K_E(Y − γ) + P_E u,   K_E = M⁻¹E(G M⁻¹E)⁻¹: u is what the system does by itself, controls the
                     rest, along their directions E

Mukharlyamov (2024), (2.13), (2.14).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.derive import derive, derived_again
from holdfast.equations.equations import Equations
from holdfast.equations.forms.criterion import Criterion, member
from holdfast.equations.writing.short import difference, short
from holdfast.errors import BadRequest, BadStatement
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program, counted
from holdfast.problem.quantities import Coordinate, State, rate
from holdfast.problem.run import Run
from holdfast.problem.system import System
from holdfast.problem.types import ByName, Key, StateLike
from holdfast.problem.vocabulary import by_name, exact, name_of


@dataclass(frozen=True, eq=False)
class GeneralSolution:
    """All accelerations at one state: `particular` + `tangent` @ u for any u; by QR, never through (G Gᵀ)⁻¹."""

    particular: np.ndarray  # K(Y − γ), the least of all
    tangent: np.ndarray  # an orthonormal basis of ker G, as columns; not continuous in the state, only its span is
    rank: int
    smallest: float  # σ_min(G)
    residual: float  # of G a = Y − γ; not zero where dependent constraints contradict each other


@dataclass(frozen=True, eq=False, repr=False)
class Family(Equations):
    """One member of the family, which knows the others; in everything else `Equations` like any others."""

    tangential: tuple[sp.Expr, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        plain = Equations(**{field.name: getattr(self, field.name) for field in fields(Equations) if field.init})
        return _again, (self.problem, self.second_order, plain.fingerprint, self.tangential, type(self))

    @property
    def freedom(self) -> int:
        """n − m: how many numbers may be chosen at each state."""
        return len(self.coordinates) - len(self.constraints)

    def general_solution(self, state: StateLike | None = None, time: float | None = None) -> GeneralSolution:
        """All accelerations that keep the law at one state, with rank and smallest singular value of G."""
        at = self.evaluate(state, time)
        G, demand = at.jacobian, at.demand - at.drift_term
        n = G.shape[1]
        sizes = np.linalg.svd(G, compute_uv=False) if len(G) else np.zeros(0)
        rank = int((sizes > 1e-12 * sizes[0]).sum()) if sizes.size else 0
        if rank == len(G):
            Q, R = np.linalg.qr(G.T, mode="complete")  # Gᵀ = Q [R ; 0]
            particular = Q[:, :rank] @ np.linalg.solve(R[:rank].T, demand) if rank else np.zeros(n)
            tangent = Q[:, rank:]
        else:
            particular, tangent = np.linalg.pinv(G, rcond=1e-12) @ demand, at.tangent_basis
        left = float(np.abs(G @ particular - demand).max()) if len(G) else 0.0
        return GeneralSolution(particular, tangent, rank, float(sizes[-1]) if sizes.size else 0.0, left)

    def cross_product_form(
        self, acceleration: Sequence[float], state: StateLike | None = None
    ) -> tuple[float, np.ndarray]:
        """c₀ and vectors c (rows) with c₀ [g¹ ... gᵐ c ...] equal to the tangential part of an acceleration."""
        at = self.evaluate(state)
        basis = self.general_solution(state).tangent
        u = basis @ (basis.T @ np.asarray(acceleration, float))
        if not self.freedom:
            return 0.0, np.zeros((0, len(u)))
        direction = np.vstack([at.jacobian, u]) if np.linalg.norm(u) > 0 else np.vstack([at.jacobian, basis[:, 0]])
        rows = np.linalg.svd(direction)[2][len(direction) :]  # orthogonal to all g and to u
        w = at.cross_product(*rows)
        return float(u @ w / (w @ w)), rows

    def formula(self) -> tuple[sp.Matrix, sp.Matrix]:
        """K (with a metric or controls, K_M or K_E) and Y − γ as formulas, the deviations written y and w.

        a = K(Y − γ) + (I − K G) u
        """
        if not len(self.constraints):
            return sp.zeros(len(self.coordinates), 0), sp.zeros(0, 1)
        response = self.mass_matrix.inv() * self.holder_matrix  # M⁻¹Gᵀ, or M⁻¹E
        wanted = [difference(y, d) for y, d in zip(self.demand, self.drift_term, strict=True)]
        return (response * (self.jacobian * response).inv()).applyfunc(short), sp.Matrix(wanted)

    def cross_product(self, *vectors: Sequence[Any]) -> sp.Matrix:
        """[g¹ ... gᵐ c ...] as a formula, for n − 1 − m vectors c."""
        return cross_product([*self.jacobian.tolist(), *(list(vector) for vector in vectors)], len(self.coordinates))

    def explain(self) -> str:
        """In words: how large the family is, and why its forms say the same."""
        n, m, k = len(self.coordinates), len(self.constraints), self.freedom
        controls = ", ".join(self.problem.program.controls)
        lines = [
            f"{counted(n, 'acceleration')}, {counted(m, 'equation')} G a = Y - gamma: the solutions are an affine space"
            f" of dimension {k}.",
            self._rank(),
        ]
        if k == 0:
            lines.append("No tangential freedom is left: a = G^-1 (Y - gamma), and c0, c and u have nothing to choose.")
        else:
            lines += [
                f"Null-space form: a = K(Y - gamma) + N u, with {counted(k, 'function')} u(q, v, t); K(Y - gamma) is"
                " the least.",
                f"Cross-product form: c0 [g ... c ...] with {n - 1 - m} vectors c and c0, {(n - 1 - m) * n + 1} numbers"
                f" in place of {k}. For fixed c it sweeps one line of ker G (none where the vectors are dependent);"
                " over all c it fills ker G: for u in ker G take the c's orthogonal to G and u, and c0 = u.w/w.w.",
                "Mass-weighted form: K_M(Y - gamma) - K(Y - gamma) is in ker G: a metric changes the tangential part.",
            ]
        if controls:
            lines.append(
                f"This member is held by the controls {controls}: a = K_E(Y - gamma) + (I - K_E G) u, where K_E = "
                "M^-1 E (G M^-1 E)^-1 and E are their directions."
            )
        return "\n".join(lines)

    def _rank(self) -> str:
        if self.letters:  # derive refuses constraints that depend on each other
            return f"At random values of {', '.join(self.letters)} G has rank {len(self.constraints)}."
        at = self.general_solution()
        return f"At the start G has rank {at.rank}, its smallest singular value is {at.smallest:.6g}."


def cross_product(rows: Sequence[Sequence[Any]], n: int) -> sp.Matrix:
    """w_i = det(e_i ; rows) of n − 1 rows: orthogonal to all of them, with |w|² = det(R Rᵀ)."""
    R = sp.Matrix(rows) if rows else sp.zeros(0, n)
    if R.shape != (n - 1, n):
        raise BadRequest(f"the product in {n} dimensions needs {n - 1} vectors, not {len(rows)}", where="cross_product")

    def without(i: int) -> sp.Matrix:
        return R.extract(list(range(n - 1)), [j for j in range(n) if j != i])

    return sp.Matrix([(-1) ** i * without(i).det(method="berkowitz") if n > 1 else 1 for i in range(n)])


def family(
    program: Program,
    coordinates: Iterable[Key] | None = None,
    tangential: ByName | None = None,
    *,
    states: Iterable[Key] | None = None,
    c0: Any = None,
    vectors: Sequence[Sequence[Any]] = (),
    metric: Any = None,
    criterion: Criterion | None = None,
    parameters: ByName | None = None,
    definitions: ByName | None = None,
    functions: ByName | None = None,
    start: ByName | None = None,
    run: Run | None = None,
    title: str = "",
) -> Family:
    """The member a = K(Y − γ) + P u of all systems that keep the program under its law.

    `tangential` is u by coordinate (accelerations; only the part along the program acts), or give `c0` and `vectors`
    for the cross-product form. `metric` is a symmetric positive matrix M, as rows, for K_M and P_M in place of K and P.
    Controls of the program choose the member in which they hold it: u is then all that the system does without them.

    A `criterion` (`Nearest`, `LeastEffort`) chooses the member that is best by it at each state, in place of all these.

    With `states` in place of coordinates: the first-order systems x' = X(x, t) that have the functions of the program
    as integrals, under the law ω' = Φ(ω); a `StateFamily`.
    """
    if not isinstance(program, Program):
        raise BadRequest(f"family() takes a Program, not {type(program).__name__}", fix="hf.Program(holonomic={...})")
    if states is not None:
        if coordinates is not None:
            raise BadRequest("give either coordinates or states, not both", where="family")
        from holdfast.equations.forms.state_family import FirstOrderStatement, StateFamily, renamed

        said = FirstOrderStatement(_listed(states))
        first = family(
            said.program(program), said.coordinates, said.directed(tangential) if tangential else None,
            c0=said.said(c0), vectors=said.matrix(vectors), metric=said.metric(metric),
            criterion=said.criterion(criterion), parameters=parameters,
            definitions=said.by_name(definitions, "definitions"), functions=functions,
            start=renamed(start or {}, said.names), run=said.run(run), title=title,
        )  # fmt: skip
        return _as_family(first, first.tangential, StateFamily)
    q = _coordinates(coordinates)
    if criterion is not None:
        tangential, metric = member(criterion, len(q), tangential=tangential, c0=c0, vectors=vectors, metric=metric)
    u = _field(program, q, tangential, c0, vectors)
    M = _metric(metric, len(q))
    v = sp.Matrix([x.rate for x in q])
    kinetic = (v.T * M * v)[0] / 2
    inertia = [rate(sp.diff(kinetic, x.rate)).subs({y.acceleration: 0 for y in q}) - sp.diff(kinetic, x) for x in q]
    forces = M * sp.Matrix(u) + sp.Matrix(inertia)  # so that M a = M u + held forces exactly
    system = System(
        coordinates=q,
        kinetic=kinetic,
        forces={x: force for x, force in zip(q, forces, strict=True) if force != 0},  # type: ignore[arg-type]
        parameters=parameters or {},  # type: ignore[arg-type]
        definitions=definitions or {},  # type: ignore[arg-type]
        functions=functions or {},  # type: ignore[arg-type]
    )
    made = derive(Problem(system, program, start=start or {}, run=run or Run(), title=title))  # type: ignore[arg-type]
    return _as_family(made, tuple(u))


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _coordinates(given: Any) -> tuple[Coordinate, ...]:
    """The coordinates of a family of the second order; first-order states are refused."""
    if given is None:
        raise BadRequest("family() needs coordinates, or states", fix="hf.family(program, coordinates=(x, y))")
    for key in _listed(given):
        if isinstance(key, State):
            raise BadRequest(
                f"{key.name!r} is a first-order state, and coordinates have second-order equations",
                where="family.coordinates",
                fix=f"for first-order systems: hf.family(program, states=({key.name}, ...))",
            )
    return tuple(Coordinate(name_of(c)) for c in _listed(given))


def _as_family(made: Equations, tangential: tuple[sp.Expr, ...], kind: type[Family] = Family) -> Family:
    parts = {field.name: getattr(made, field.name) for field in fields(Equations) if field.init}
    return kind(**parts, tangential=tangential)


def _again(
    problem: Problem, second_order: bool, fingerprint: str, tangential: tuple[sp.Expr, ...], kind: type[Family]
) -> Family:
    """A family that was pickled; what it computes is compared as equations, before its own names are added."""
    return _as_family(derived_again(problem, second_order, fingerprint), tangential, kind)


def _field(
    program: Program, q: tuple[Coordinate, ...], tangential: ByName | None, c0: Any, vectors: Sequence[Any]
) -> list[sp.Expr]:
    """u by coordinate, from accelerations or from the cross product."""
    if c0 is None:
        if vectors:
            raise BadStatement("vectors c need a c0", where="family.vectors", fix="give c0 as well")
        given = by_name(tangential or {}, where="family.tangential")
        unknown = set(given) - {x.name for x in q}
        if unknown:
            raise BadStatement(
                f"{unknown.pop()!r} is not a coordinate", where="family.tangential", fix="give u by coordinate"
            )
        return [exact(given.get(x.name, 0), where="family.tangential") for x in q]
    if tangential:
        raise BadStatement("give either tangential or c0 and vectors, not both", where="family")
    needed = len(q) - 1 - len(program.constraints)
    if len(vectors) != max(needed, 0) or needed < 0:
        raise BadStatement(
            f"the cross product of {len(program.constraints)} constraints in {len(q)} coordinates takes "
            + (f"{needed} vectors c, not {len(vectors)}" if needed >= 0 else "no c0: nothing is left free"),
            where="family.vectors",
            fix="give n - 1 - m vectors of n components" if needed >= 0 else "leave c0 out",
        )
    names = {s.name: s for x in q for s in (x, x.rate)}
    rates = [rate(exact(e, where="program")) for e in program.holonomic.values()]
    rates += [exact(e, where="program") for e in program.nonholonomic.values()]
    own = [e.xreplace({s: names[s.name] for s in e.free_symbols if s.name in names}) for e in rates]
    rows = [[sp.diff(e, x.rate) for x in q] for e in own]
    w = cross_product([*rows, *(list(vector) for vector in vectors)], len(q))
    return [exact(c0, where="family.c0") * component for component in w]


def _metric(given: Any, n: int) -> sp.Matrix:
    if given is None:
        return sp.eye(n)
    try:
        M = sp.Matrix(given).applyfunc(exact)
    except (TypeError, ValueError) as error:
        raise BadStatement(
            "the metric is not a matrix", where="family.metric", fix="give n rows of n entries"
        ) from error
    if M.shape != (n, n) or not (M - M.T).applyfunc(sp.expand).is_zero_matrix:
        raise BadStatement(f"the metric is not a symmetric {n} by {n} matrix", where="family.metric")
    for symbol in M.free_symbols:
        if symbol.name.endswith("_dot"):
            raise BadStatement(
                f"the metric depends on the rate {symbol.name!r}",
                where="family.metric",
                fix="a metric depends on coordinates and time; rates may stand in tangential",
            )
    return M
