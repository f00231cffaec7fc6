"""When equations are Lagrange's with a dissipation function: the conditions, and where they fail.

    f_i = E_i[L] + ∂D/∂v_i,     f_i = M_ij a_j + B_i,     A_ij = ∂B_i/∂v_j − ∂B_j/∂v_i

    K1   M_ij = M_ji,  ∂M_ij/∂v_k = ∂M_ik/∂v_j
    K2   ∂A_ij/∂v_k = 2(∂M_ik/∂q_j − ∂M_jk/∂q_i)
    K3   ∂A_ij/∂q_k + ∂A_jk/∂q_i + ∂A_ki/∂q_j = 0
    K5   r_ij = 0 at v = 0

K1 to K3 are necessary and locally sufficient for L and D; with K5, D may be free of terms linear in v (the strict,
Rayleigh sense). Then D_vv = s and ∂²D/∂v_i∂q_j − ∂²D/∂v_j∂q_i = r with

    s_ij = ½(∂B_i/∂v_j + ∂B_j/∂v_i) − Dt M_ij,     r_ij = ∂B_i/∂q_j − ∂B_j/∂q_i − ½ Dt A_ij.

Kielau and Maisser (2003); Mukharlyamov (2024), (4.1)-(4.8), corrected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import sympy as sp

from holdfast.equations.dynamics.bodies.spins import refuse_spins
from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.types import ByName, Expression, Key
from holdfast.structure.algebra.normal_form import tidied
from holdfast.structure.algebra.zero import BY_POINTS, SYMBOLIC, Decision, decisions
from holdfast.structure.conditions.by_values import defects_at_points, too_large
from holdfast.structure.conditions.second_order import SecondOrder, second_order

Entry = tuple[tuple[int, ...], sp.Expr]  # the indices of a condition and what must vanish

MEANINGS = {
    "K1": "the matrix of the accelerations is not symmetric, or its rate derivatives are not",
    "K2": "the curl of the forces in the rates does not fit the mass matrix",
    "K3": "the gyroscopic part is not closed: it has no vector potential",
    "K5": "forces at rest have a curl: they are circulatory, and stand in D as terms linear in the rates",
}


SAYS = {
    "K1": "M is symmetric, and so are its derivatives by the rates",
    "K2": "∂A_ij/∂v_k = 2(∂M_ik/∂q_j - ∂M_jk/∂q_i): the curl A of B in the rates fits M",
    "K3": "∂A_ij/∂q_k + ∂A_jk/∂q_i + ∂A_ki/∂q_j = 0: the gyroscopic part has a vector potential",
    "K5": "forces at rest have no curl, so that D needs no terms linear in the rates",
}
LONGEST_DEFECT = 120  # letters of a defect that is written out


@dataclass(frozen=True)
class Defect:
    """One condition that fails: its number, where (by coordinates), by how much, and what was found at a point."""

    condition: str
    indices: tuple[str, ...]
    value: sp.Expr
    decision: Decision

    def __str__(self) -> str:
        return f"{self.condition} fails at ({', '.join(self.indices)}) by {self.shown}"

    @property
    def shown(self) -> str:
        """By how much, on part of a line: the formula, or its size and its value at a point where it is long."""
        text = str(self.value)
        if len(text) <= LONGEST_DEFECT:
            return text
        return f"a formula of {sp.count_ops(self.value)} operations, {self.decision.value:.3g} at a random state"


@dataclass(frozen=True, eq=False)
class Helmholtz:
    """M, B, A, s, r and the conditions of one system; truthy if L and D exist (K1 to K3 hold)."""

    system: SecondOrder
    found_at_points: tuple[Defect, ...] = ()  # for equations too large to be written out

    @property
    def M(self) -> sp.Matrix:
        return self.system.mass

    @property
    def B(self) -> tuple[sp.Expr, ...]:
        return self.system.rest

    @cached_property
    def A(self) -> sp.Matrix:
        """A_ij = ∂B_i/∂v_j − ∂B_j/∂v_i."""
        B, v, n = self.B, self.system.v, len(self.B)
        above = {(i, j): tidied(sp.diff(B[i], v[j]) - sp.diff(B[j], v[i])) for i, j in combinations(range(n), 2)}
        return sp.Matrix(n, n, lambda i, j: 0 if i == j else above[i, j] if i < j else -above[j, i])

    @cached_property
    def s(self) -> sp.Matrix:
        """s = D_vv, once L and D exist."""
        B, v, n, drift = self.B, self.system.v, len(self.B), self.system.drift
        return sp.Matrix(
            n, n, lambda i, j: tidied((sp.diff(B[i], v[j]) + sp.diff(B[j], v[i])) / 2 - drift(self.M[i, j]))
        )

    @cached_property
    def r(self) -> sp.Matrix:
        """r_ij = D_{v_i q_j} − D_{v_j q_i}, once L and D exist."""
        B, q, n, drift = self.B, self.system.q, len(self.B), self.system.drift
        return sp.Matrix(
            n,
            n,
            lambda i, j: tidied(sp.diff(B[i], q[j]) - sp.diff(B[j], q[i]) - drift(self.A[i, j]) / 2) if i != j else 0,
        )

    # ── the conditions ────────────────────────────────────────────────────────────────────────────

    @cached_property
    def defects(self) -> tuple[Defect, ...]:
        """Everything of K1, K2 and K3 that is not zero."""
        if self.found_at_points:
            return self.found_at_points
        return tuple(d for d in self._basic if not d.decision.zero)

    @cached_property
    def strict_defects(self) -> tuple[Defect, ...]:
        """Everything of K5 that is not zero."""
        if self.found_at_points:
            return ()
        return tuple(d for d in self._at_rest if not d.decision.zero)

    @cached_property
    def evidence(self) -> str:
        """ "symbolic" if every condition that holds was proved, "random points" if some rest on points alone."""
        if self.found_at_points:
            return BY_POINTS
        judged = self._basic if self.defects else (*self._basic, *self._at_rest)
        kinds = {d.decision.how for d in judged if d.decision.zero}
        return SYMBOLIC if kinds <= {SYMBOLIC} else BY_POINTS

    def __bool__(self) -> bool:
        return not self.defects

    @property
    def holds(self) -> dict[str, bool]:
        """Each condition with whether it holds."""
        failing = {d.condition for d in (*self.defects, *self.strict_defects)}
        return {name: name not in failing for name in MEANINGS}

    @cached_property
    def _basic(self) -> tuple[Defect, ...]:
        return self._judged({"K1": self._k1(), "K2": self._k2(), "K3": self._k3()})

    @cached_property
    def _at_rest(self) -> tuple[Defect, ...]:
        return self._judged({"K5": self._k5()})

    def _judged(self, parts: Mapping[str, Sequence[Entry]]) -> tuple[Defect, ...]:
        flat = [(name, place, e) for name, entries in parts.items() for place, e in entries]
        answers = decisions([e for _, _, e in flat], self.system.points)
        names = [x.name for x in self.system.q]
        return tuple(
            Defect(name, tuple(names[k] for k in place), e if answer.zero else tidied(e), answer)
            for (name, place, e), answer in zip(flat, answers, strict=True)
        )

    def _k1(self) -> list[Entry]:
        M, v, n = self.M, self.system.v, len(self.B)
        symmetry: list[Entry] = [((i, j), M[i, j] - M[j, i]) for i, j in combinations(range(n), 2)]
        return symmetry + [
            ((i, j, k), sp.diff(M[i, j], v[k]) - sp.diff(M[i, k], v[j]))
            for i in range(n) for j, k in combinations(range(n), 2)
        ]  # fmt: skip

    def _k2(self) -> list[Entry]:
        M, A, q, v, n = self.M, self.A, self.system.q, self.system.v, len(self.B)
        return [
            ((i, j, k), sp.diff(A[i, j], v[k]) - 2 * (sp.diff(M[i, k], q[j]) - sp.diff(M[j, k], q[i])))
            for i, j in combinations(range(n), 2) for k in range(n)
        ]  # fmt: skip

    def _k3(self) -> list[Entry]:
        A, q, n = self.A, self.system.q, len(self.B)
        return [
            ((i, j, k), sp.diff(A[i, j], q[k]) + sp.diff(A[j, k], q[i]) + sp.diff(A[k, i], q[j]))
            for i, j, k in combinations(range(n), 3)
        ]

    def _k5(self) -> list[Entry]:
        rest = dict.fromkeys(self.system.v, sp.S.Zero)
        at_rest = {(i, j): self.r[i, j].xreplace(rest) for i, j in combinations(range(len(self.B)), 2)}
        return [(place, e) for place, e in at_rest.items() if not e.has(sp.nan, sp.zoo, sp.oo)]

    def printed(self, D: sp.Expr | None = None) -> dict[str, bool]:
        """Whether the paper's own conditions hold, corrected: (4.1) to (4.7), and (4.8) for a given D."""
        from holdfast.structure.conditions.as_printed import printed_conditions

        return printed_conditions(self, D)

    # ── words ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def why(self) -> str:
        """In words: what fails and where, or that nothing does."""
        if self.defects:
            first = self.defects[0]
            others = len({d.condition for d in self.defects} - {first.condition})
            count = len(self.defects) - 1
            more = f"; {count} further defect{'s' if count > 1 else ''}" if count else ""
            return f"{first}: {MEANINGS[first.condition]}{more}" + ("" if not others else " (other conditions too)")
        if self.strict_defects:
            return f"L and D exist; {self.strict_defects[0]}: {MEANINGS['K5']}"
        return "K1, K2, K3 and K5 hold: L and D exist, and D needs no terms linear in the rates"

    def __str__(self) -> str:
        return f"{self.why} [{self.evidence}]"


def helmholtz(
    f: Equations | Sequence[Expression],
    coordinates: Iterable[Key] | None = None,
    *,
    solved: bool = False,
    parameters: ByName | None = None,
    state: ByName | None = None,
) -> Helmholtz:
    """The conditions for f_i = E_i[L] + ∂D/∂v_i, for expressions or for derived equations (see `hf.lagrangian`)."""
    if isinstance(f, Equations):
        f.require_given_forces("a Lagrange function")
        refuse_spins(f.inputs, "a Lagrange function")
    if isinstance(f, Equations) and too_large(f, solved=solved):
        return _at_points(f, solved=solved)
    return Helmholtz(second_order(f, coordinates, solved=solved, parameters=parameters, near=state))


def _at_points(equations: Equations, *, solved: bool) -> Helmholtz:
    """The conditions of equations too large to be written out, by value; where all hold, L and D stay unknown."""
    found = defects_at_points(equations, solved=solved)
    if not found:
        raise BadRequest(
            "K1, K2 and K3 hold at random points, but the equations are too large for L and D to be written",
            where=f"{len(equations.coordinates)} coordinates, {len(equations.constraints)} constraints",
            fix="ask for fewer constraints at a time, or for the unheld system",
        )
    system = SecondOrder(equations.problem.system.coordinates, ())
    names = equations.coordinates
    return Helmholtz(
        system,
        tuple(
            Defect(name, tuple(names[k] for k in place), sp.Float(decision.value, 6), decision)
            for name, place, decision in found
        ),
    )
