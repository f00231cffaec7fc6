"""Perturbation laws: how deviations from a program are to die away.

    dy/dt = w (holonomic),   dw/dt = Y(y, w, q, v, t),   Y(0, 0, ...) = 0

A law is a value in the dialect its user speaks; `law.form(...)` says the same as one expression per constraint.
Numbers become inputs of the equations (named ``law.stiffness.<constraint>`` and so on), so that changing them never
derives or compiles again; expressions in coordinates, rates and time stay in the graph.

    SpringDamper(stiffness=, damping=)        Y = -K y - B w: numbers, by name, matrices, cross terms
    Baumgarte(alpha=, beta=, kappa=)          y'' + 2 alpha y' + beta² y = 0;  w' = -kappa w for velocity constraints
    CriticallyDamped(rate=)                   the double root -rate;  w' = -rate w
    Roots(roots=)                             two roots per holonomic constraint, one per nonholonomic
    LinearLaw({...})                          y^(n) = -c0 y - c1 y' - ...: laws of any order
    Unstabilised()                            Y = 0: the classical equations
    Quadratic(a0=, a1=, a2=)                  Y = -a0 y - a1 w - a2(w, w)
    ExcessEnergies(...)                       Lagrange's equations of the deviations themselves
    GeneralLaw({...})                         anything, with the check Y(0, 0, ...) = 0
    Tuned()                                   gains still to be chosen
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.laws.law import (
    HIGHEST,
    Constraints,
    Gain,
    Law,
    LawForm,
    Linear,
    by_constraint,
    check_constraints,
    frozen_gains,
    single_gains,
)
from holdfast.problem.laws.nonlinear import ExcessEnergies, GeneralLaw, Quadratic
from holdfast.problem.quantities import Deviation, DeviationRate

__all__ = [
    "Baumgarte",
    "Constraints",
    "CriticallyDamped",
    "ExcessEnergies",
    "Gain",
    "GeneralLaw",
    "Law",
    "LawForm",
    "LinearLaw",
    "Quadratic",
    "Roots",
    "SpringDamper",
    "Tuned",
    "Unstabilised",
    "critically_damped",
    "from_roots",
]


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class SpringDamper(Law):
    """Y = -K y - B w, with positive numbers for an attracting law.

    `stiffness` and `damping` are numbers, expressions, mappings by constraint (a pair of names, ``("a", "b")`` or
    ``"a.b"``, couples the row a with the deviation of b), or matrices. A scalar stiffness applies to the holonomic
    constraints, a scalar damping to all.
    """

    stiffness: Any = 0
    damping: Any = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "stiffness", frozen_gains(self.stiffness, "law.stiffness"))
        object.__setattr__(self, "damping", frozen_gains(self.damping, "law.damping"))

    def form(self, constraints: Constraints) -> LawForm:
        constraints.require_usual("a law of stiffness and damping")
        linear = Linear(constraints)
        linear.couple("stiffness", self.stiffness, Deviation)
        linear.couple("damping", self.damping, DeviationRate)
        return linear.form()


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Baumgarte(Law):
    """y'' + 2 alpha y' + beta² y = 0, and w' = -kappa w for velocity constraints (kappa is alpha unless given)."""

    alpha: Any
    beta: Any = None
    kappa: Any = None

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "kappa"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else single_gains(value, name))

    def spring_damper(self, constraints: Constraints) -> SpringDamper:
        check_constraints(self.alpha, constraints.all, "alpha")
        check_constraints(self.beta, constraints.holonomic, "beta")
        check_constraints(self.kappa, constraints.nonholonomic, "kappa")
        stiffness, damping = {}, {}
        for name in constraints.holonomic:
            alpha = _needed(self.alpha, name, "alpha")
            beta = alpha if self.beta is None else _needed(self.beta, name, "beta")
            stiffness[name], damping[name] = beta**2, 2 * alpha
        for name in constraints.nonholonomic:
            damping[name] = _needed(self.alpha if self.kappa is None else self.kappa, name, "kappa")
        return SpringDamper(stiffness=stiffness, damping=damping)

    def form(self, constraints: Constraints) -> LawForm:
        constraints.require_usual("Baumgarte's law")
        return self.spring_damper(constraints).form(constraints)


def _needed(value: Any, constraint: str, kind: str) -> Any:
    found = by_constraint(value, constraint)
    if found is None:
        raise BadStatement(
            f"the law gives no {kind} for constraint {constraint!r}",
            where=f"law.{kind}",
            fix=f"add {constraint!r} to it",
        )
    return found


@clear_arguments
@dataclass(frozen=True, slots=True)
class CriticallyDamped(Law):
    """The root -rate, as often as the order of a constraint: double for holonomic ones, w' = -rate w for nonholonomic
    ones, more often where a control appears later.
    """

    rate: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "rate", single_gains(self.rate, "rate"))

    def spring_damper(self, constraints: Constraints) -> SpringDamper:
        return Baumgarte(alpha=self.rate).spring_damper(constraints)

    def form(self, constraints: Constraints) -> LawForm:
        if not constraints.degrees:
            return self.spring_damper(constraints).form(constraints)
        check_constraints(self.rate, constraints.all, "rate")
        linear = Linear(constraints)
        for name in constraints.all:
            rate, order = _needed(self.rate, name, "rate"), constraints.degree(name)
            linear.chain(name, [sp.binomial(order, k) * rate ** (order - k) for k in range(order)])
        return linear.form()


@dataclass(frozen=True, slots=True)
class Roots(Law):
    """The law with given roots: two per holonomic constraint (real or a conjugate pair), one per nonholonomic one, as
    many as the order of a constraint whose control appears later.

    `roots` is one sequence for all constraints, or sequences by constraint. With one sequence for all, a nonholonomic
    constraint takes the first root.
    """

    roots: Any

    def __post_init__(self) -> None:
        roots = frozen_gains(self.roots, "law.roots")
        for given in roots.values() if isinstance(roots, Frozen) else (roots,):
            _check_roots(given if isinstance(given, tuple) else (given,))
        object.__setattr__(self, "roots", roots)

    def spring_damper(self, constraints: Constraints) -> SpringDamper:
        check_constraints(self.roots, constraints.all, "roots")
        stiffness, damping = {}, {}
        for name in constraints.holonomic:
            first, second = self._pair(name)
            stiffness[name] = sp.expand(first * second)
            damping[name] = sp.expand(-first - second)
        for name in constraints.nonholonomic:
            given = _needed(self.roots, name, "root")
            damping[name] = -(given[0] if isinstance(given, tuple) else given)
        for name, value in (*stiffness.items(), *damping.items()):
            if sp.sympify(value).has(sp.I):
                raise BadStatement(
                    f"the roots of {name!r} are not conjugate", where="law.roots", fix="give both of the pair"
                )
        return SpringDamper(stiffness=stiffness, damping=damping)

    def _pair(self, name: str) -> tuple[sp.Expr, sp.Expr]:
        given = _needed(self.roots, name, "root")
        pair = given if isinstance(given, tuple) else (given,)
        if len(pair) != 2:
            raise BadStatement(f"constraint {name!r} needs two roots", where="law.roots", fix="e.g. (-1, -2)")
        return pair[0], pair[1]

    def stated_degree(self, constraint: str, holonomic: bool) -> int:
        given = by_constraint(self.roots, constraint)
        count = len(given) if isinstance(given, tuple) else 0
        return 0 if given is self.roots and count <= 2 else count  # two for all: of these, a rate takes the first

    def form(self, constraints: Constraints) -> LawForm:
        if not constraints.degrees:
            return self.spring_damper(constraints).form(constraints)
        check_constraints(self.roots, constraints.all, "roots")
        linear = Linear(constraints)
        for name in constraints.all:
            linear.chain(name, self._coefficients(name, constraints.degree(name)))
        return linear.form()

    def _coefficients(self, name: str, order: int) -> list[sp.Expr]:
        """c of Π (s − root) = sᵒʳᵈᵉʳ + ... + c₁ s + c₀."""
        given = _needed(self.roots, name, "root")
        roots = given if isinstance(given, tuple) else (given,)
        if order == 1:
            roots = roots[:1]
        if len(roots) != order:
            raise BadStatement(
                f"constraint {name!r} needs {order} roots, not {len(roots)}",
                where="law.roots",
                fix=f"e.g. {tuple(-k for k in range(1, order + 1))}",
            )
        s = sp.Dummy("s")
        polynomial = sp.Poly(sp.expand(sp.prod(s - root for root in roots)), s)
        found = polynomial.all_coeffs()[:0:-1]
        if any(c.has(sp.I) for c in found):
            raise BadStatement(
                f"the roots of {name!r} are not conjugate", where="law.roots", fix="give both of each pair"
            )
        return list(found)


@clear_arguments
@dataclass(frozen=True, slots=True)
class LinearLaw(Law):
    """Y = −c₀ y − c₁ y' − ... : as many numbers per constraint as its order, the one of y first.

    `coefficients` is one sequence for all constraints, or sequences by constraint; cₖ may be expressions in
    coordinates, rates and time. A nonholonomic constraint, y' = w, has c₀ of w.
    """

    coefficients: Any

    def __post_init__(self) -> None:
        given = frozen_gains(self.coefficients, "law.coefficients")
        for row in given.values() if isinstance(given, Frozen) else (given,):
            if not isinstance(row, tuple) or not row or any(isinstance(c, (tuple, Frozen)) for c in row):
                raise BadStatement(
                    "coefficients are a list of numbers for each constraint",
                    where="law.coefficients",
                    fix="e.g. hf.LinearLaw({\"angle\": (6, 11, 6)}) for y''' = -6 y - 11 y' - 6 y''",
                )
        object.__setattr__(self, "coefficients", given)

    def stated_degree(self, constraint: str, holonomic: bool) -> int:
        given = by_constraint(self.coefficients, constraint)
        return len(given) if given else 0

    def form(self, constraints: Constraints) -> LawForm:
        check_constraints(self.coefficients, constraints.all, "coefficients")
        linear = Linear(constraints)
        for name in constraints.all:
            given, order = _needed(self.coefficients, name, "coefficients"), constraints.degree(name)
            if len(given) != order:
                raise BadStatement(
                    f"constraint {name!r} needs {order} coefficients, not {len(given)}: its law is of order {order}",
                    where="law.coefficients",
                    fix="give that of y first, then those of its rates",
                )
            linear.chain(name, given)
        return linear.form()


@clear_arguments
@dataclass(frozen=True, slots=True)
class Unstabilised(Law):
    """Y = 0: the classical equations, whose deviations stay where they are or drift."""

    def spring_damper(self, constraints: Constraints) -> SpringDamper:
        return SpringDamper(stiffness=0, damping=0)

    def form(self, constraints: Constraints) -> LawForm:
        return _without_gains(self, constraints)


@clear_arguments
@dataclass(frozen=True, slots=True)
class Tuned(Law):
    """Gains still to be chosen for the scheme and step; `holdfast run` and `hf.tuned(problem)` choose them."""

    def form(self, constraints: Constraints) -> LawForm:
        return _without_gains(self, constraints)


def _without_gains(law: Law, constraints: Constraints) -> LawForm:
    """Y = 0, with gains for the usual constraints, so that others take their place without a new derivation."""
    if not constraints.degrees:
        return SpringDamper(stiffness=0, damping=0).form(constraints)
    linear = Linear(constraints)
    for name in constraints.all:
        linear.chain(name, [sp.S.Zero] * constraints.degree(name))
    return linear.form()


@clear_arguments
def critically_damped(rate: Any) -> CriticallyDamped:
    """The law with the double root -rate (w' = -rate w for nonholonomic constraints)."""
    return CriticallyDamped(rate)


def from_roots(*roots: Any) -> Roots:
    """The law with given roots: ``from_roots(-1, -2)`` for all, or ``from_roots({"rod": (-1, -2), "roll": -3})`` by
    name.
    """
    alone = len(roots) == 1 and (isinstance(roots[0], (Mapping, Sequence)) or hasattr(roots[0], "__array__"))
    return Roots(roots[0] if alone else roots)


def _check_roots(roots: tuple[Any, ...]) -> None:
    fix = 'hf.from_roots(-1, -2) for all, or by constraint: hf.from_roots({"rod": (-1, -2), "roll": -3})'
    if not 1 <= len(roots) <= HIGHEST:
        raise BadStatement(
            f"a constraint has one root or more, at most {HIGHEST}, not {len(roots)}", where="law.roots", fix=fix
        )
    if any(isinstance(root, (tuple, Frozen)) for root in roots):
        raise BadStatement("a root is one number, not several", where="law.roots", fix=fix)
