"""L and D of given equations, in which sense they exist, and the proof by substitution.

    f_i = d/dt ∂L/∂v_i − ∂L/∂q_i + ∂D/∂v_i

Four questions are kept apart. *Classical*: is there an L with D = 0, perhaps with an integrating factor? *Wide*: are
there any L and D? (D may then hide forces of position, as terms linear in v: any b(q, t)·v will do.) *Strict*: with
∂D/∂v = 0 at rest, as Rayleigh meant it? *Dissipative*: is the power v·∂D/∂v never negative? Noise is in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.errors import BadRequest
from holdfast.problem.quantities import time
from holdfast.problem.types import ByName, Expression, Key
from holdfast.problem.vocabulary import name_of
from holdfast.structure.algebra.integrals import Clock
from holdfast.structure.algebra.quadrature import function_of
from holdfast.structure.classical import ClassicalForm, classical
from holdfast.structure.conditions.helmholtz import Helmholtz, helmholtz
from holdfast.structure.conditions.second_order import SecondOrder
from holdfast.structure.construction import Construction, constructed
from holdfast.structure.leaf import Leaf, leaves
from holdfast.structure.residual import Residual, residual_of
from holdfast.structure.verdicts import GLOBALLY, LOCALLY, FormVerdict, dissipative

FREEDOM = (
    "L may be changed by dG(q, t)/dt + phi(q, t) and D by v·∂phi/∂q + h(q, t), for any G, phi and h: "
    "the equations stay the same. Otherwise L and D are unique."
)


@dataclass(frozen=True, eq=False)
class LagrangeForm:
    """Whether given equations are Lagrange's with a dissipation function, and which; the verdicts are truthy or not.

    `L` and `D` are SymPy, with unevaluated integrals over [0, 1] where no closed form was found in time (`notes` says
    so, and `functions` evaluates either kind); None where they do not exist.
    """

    conditions: Helmholtz
    construction: Construction | None
    residual: Residual | None
    notes: tuple[str, ...] = ()
    leaf: Leaf | None = None  # L and D of the motions that a program keeps, where the equations as they stand have none

    @property
    def system(self) -> SecondOrder:
        return self.conditions.system

    @property
    def L(self) -> sp.Expr | None:
        return None if self.construction is None else self.construction.L

    @property
    def D(self) -> sp.Expr | None:
        return None if self.construction is None else self.construction.D

    @property
    def exact(self) -> bool:
        """Whether L and D are in closed form."""
        found = self.construction
        return found is not None and not (found.L.has(sp.Integral) or found.D.has(sp.Integral))

    @cached_property
    def classical(self) -> ClassicalForm:
        """The classical question: an L with D = 0, as the equations stand or with an integrating factor."""
        return classical(self.conditions, self.construction)

    # ── verdicts ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def wide(self) -> FormVerdict:
        """L and D exist at all."""
        evidence = self.conditions.evidence
        if self.conditions.defects:
            return FormVerdict(False, f"impossible: {self.conditions.why}")  # a ball without zero is a proof
        assert self.construction is not None
        if self.construction.fluxes:
            why = f"K1, K2 and K3 hold, yet {self.construction.fluxes[0]}: L is not the same on all sides of it"
            return FormVerdict(True, why, scope=LOCALLY, evidence=evidence)
        scope = LOCALLY if self._many_valued(self.L) or self._many_valued(self.D) else GLOBALLY
        return FormVerdict(True, "K1, K2 and K3 hold", scope=scope, evidence=evidence)

    @cached_property
    def strict(self) -> FormVerdict:
        """D without terms linear in the rates."""
        if not self.wide:
            return FormVerdict(False, "there are no L and D at all")
        assert self.construction is not None
        evidence = self.conditions.evidence
        if self.conditions.strict_defects:
            first = self.conditions.strict_defects[0]
            why = f"{first}: circulatory forces stand in D as terms linear in the rates"
            return FormVerdict(False, why, evidence=evidence)
        if self.construction.resting is None:
            return FormVerdict(False, "the equations are not defined at rest", scope=LOCALLY)
        if self.construction.loops:
            why = f"K5 holds, yet {self.construction.loops[0]}: the potential has many values, so D keeps their terms"
            return FormVerdict(True, why, scope=LOCALLY, evidence=evidence)
        return FormVerdict(
            True, "K5 holds: the forces at rest have a potential", scope=self.wide.scope, evidence=evidence
        )

    @cached_property
    def dissipative(self) -> FormVerdict:
        """D only takes power."""
        if not self.wide:
            return FormVerdict(False, "there are no L and D at all")
        assert self.construction is not None
        strict = bool(self.strict) and not self.construction.loops
        return dissipative(self.construction.D, self.conditions.s, self.system, strict=strict)

    def _many_valued(self, e: sp.Expr | None) -> bool:
        calls = () if e is None else e.atoms(sp.atan, sp.atan2, sp.asin, sp.acos)
        return any(call.has(*self.system.q) for call in calls)

    # ── what follows ──────────────────────────────────────────────────────────────────────────────

    @property
    def freedom(self) -> str:
        """What L and D are unique up to."""
        return FREEDOM if self.wide else "There is nothing to be free: no L and D exist."

    @cached_property
    def energy(self) -> sp.Expr | None:
        """v·∂L/∂v − L."""
        if self.L is None:
            return None
        return sp.Add(*(u * sp.diff(self.L, u) for u in self.system.v)) - self.L

    @cached_property
    def energy_rate(self) -> sp.Expr | None:
        """The energy balance: d(energy)/dt = −v·∂D/∂v − ∂L/∂t on every motion."""
        if self.L is None:
            return None
        return -sp.Add(*(u * sp.diff(self.D, u) for u in self.system.v)) - sp.diff(self.L, time)

    def functions(self, parameters: ByName | None = None) -> tuple[Callable[..., float], Callable[..., float]]:
        """L and D as functions (q, v, t) -> number, integrals by quadrature; parameters take their stated values."""
        if self.construction is None:
            raise BadRequest("there are no L and D to evaluate", where="hf.lagrangian", fix=self.wide.why)
        named = {name_of(key): value for key, value in (parameters or {}).items()}
        known = {s: self.system.values[s] for s in self.system.parameters if s in self.system.values}
        known |= {s: sp.sympify(named[s.name]) for s in self.system.parameters if s.name in named}
        made = [
            function_of(e.subs(known), (*self.system.q, *self.system.v, time))
            for e in (self.construction.L, self.construction.D)
        ]

        def taking_states(function: Callable[..., float]) -> Callable[..., float]:
            return lambda q, v, t=0.0: function(*q, *v, t)

        return taking_states(made[0]), taking_states(made[1])

    # ── words ─────────────────────────────────────────────────────────────────────────────────────

    def summary(self) -> str:
        """Verdicts, L, D and residual as text for a terminal."""
        from holdfast.structure.writing import summary

        return summary(self)

    def latex(self) -> str:
        from holdfast.structure.writing import latex

        return latex(self)

    def to_dict(self) -> dict[str, Any]:
        from holdfast.structure.writing import as_data

        return as_data(self)

    def __str__(self) -> str:
        return self.summary()


def lagrangian(
    f: Equations | Sequence[Expression],
    coordinates: Iterable[Key] | None = None,
    *,
    solved: bool = False,
    parameters: ByName | None = None,
    state: ByName | None = None,
    time_limit: float = 20.0,
    closed_forms: bool = True,
) -> LagrangeForm:
    """L and D with f_i = E_i[L] + ∂D/∂v_i, or which condition fails and where.

    `f` is a list of expressions in q, ``q.rate``, ``q.acceleration`` and time, one per coordinate, or derived
    equations: these are taken as M a − h − R = 0, or as a − F = 0 with `solved=True`. `parameters` are values used
    where only a sign is wanted, `state` a place where f is defined. All integrals together may take `time_limit`
    seconds; those that are not found (all of them, without `closed_forms`) are left to quadrature.
    """
    conditions = helmholtz(f, coordinates, solved=solved, parameters=parameters, state=state)
    system, noise = conditions.system, _noise_note(f, solved) if isinstance(f, Equations) else ()
    if conditions.defects:
        leaf = _leaf(f, system, solved, time_limit) if isinstance(f, Equations) else None
        return LagrangeForm(conditions, None, None, noise, leaf)
    clock = Clock(time_limit, each=min(6.0, time_limit / 3), closed_forms=closed_forms)
    found = constructed(conditions, clock)
    notes = [*noise, *(f"{what} was given up after its time limit" for what in dict.fromkeys(clock.stalled))]
    if found.L.has(sp.Integral) or found.D.has(sp.Integral):
        notes.append("L and D contain integrals without a closed form; they are evaluated by quadrature")
    notes += [f"{period}: L keeps no potential for these forces, D keeps them" for period in found.loops]
    return LagrangeForm(conditions, found, residual_of(system, found.L, found.D), tuple(notes))


def _leaf(equations: Equations, system: SecondOrder, solved: bool, time_limit: float) -> Leaf | None:
    """The first leaf on which there are L and D: a kept velocity function taken for its constant."""
    for name, function, value, f in leaves(equations, solved=solved):
        parameters, state = dict(system.values), dict(system.near)
        form = lagrangian(f, system.q, parameters=parameters, state=state, time_limit=time_limit)
        if form.wide:
            return Leaf(name, function, value, f, form)
    return None


def _noise_note(equations: Equations, solved: bool) -> tuple[str, ...]:
    """What noise does: it stands on the right side of Lagrange's equations, and L and D know nothing of it."""
    system = equations.problem.system
    if not system.noise:
        return ()
    words = [
        f"{name}: " + " + ".join(f"({row[name]})*xi_{channel}" for channel, row in system.noise.items() if name in row)
        for name in dict.fromkeys(name for row in system.noise.values() for name in row)
    ]
    side = "M^-1 times these" if solved else "these"
    held = "" if equations.problem.program.controls or not equations.constraints else ", less what reactions answer"
    return (
        "the problem states noise, and L and D are those of the motion without it; under it the equations are "
        f"E_i[L] + ∂D/∂v_i = F_i with {side} forces of white noises xi (Itô){held}: " + "; ".join(words),
    )
