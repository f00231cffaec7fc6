"""Laws beyond stiffness and damping: quadratic, general, and those that come from excess energies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from holdfast.common.arguments import clear_arguments
from holdfast.common.frozen import Frozen
from holdfast.errors import BadStatement
from holdfast.problem.laws.law import (
    Constraints,
    Coupling,
    Law,
    LawForm,
    Linear,
    by_constraint,
    check_constraints,
    constraint_hint,
    frozen_gains,
)
from holdfast.problem.quantities import Deviation, DeviationRate, NamedSymbol
from holdfast.problem.vocabulary import LAW


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class Quadratic(Law):
    """Y^μ = -a0 y - a1 w - Σ a2^μ_κσ w^κ w^σ.

    a0 and a1 are given like stiffness and damping; a2 by constraint: a number for its own w², or ``{"kappa.sigma":
    number}``.
    """

    a0: Any = 0
    a1: Any = 0
    a2: Any = 0

    def __post_init__(self) -> None:
        for name in ("a0", "a1", "a2"):
            object.__setattr__(self, name, frozen_gains(getattr(self, name)))

    def form(self, constraints: Constraints) -> LawForm:
        constraints.require_usual("a quadratic law")
        linear = Linear(constraints)
        linear.couple("stiffness", self.a0, Deviation)
        linear.couple("damping", self.a1, DeviationRate)
        check_constraints(self.a2, constraints.all, "a2")
        for row in constraints.all:
            for (kappa, sigma), number in self._products(row, constraints):
                places = (row,) if kappa == sigma == row else (row, kappa, sigma)
                gain = linear.number("quadratic", places, number)
                linear.subtract(row, gain * DeviationRate(f"w_{kappa}") * DeviationRate(f"w_{sigma}"))
        return linear.form()

    def _products(self, row: str, constraints: Constraints) -> Iterator[tuple[tuple[str, str], sp.Expr]]:
        value = by_constraint(self.a2, row)
        if value is None:
            return
        if not isinstance(value, Frozen):
            yield (row, row), value
            return
        for key, number in value.items():
            pair = key.split(".")
            if len(pair) != 2 or not set(pair) <= set(constraints.all):
                raise BadStatement(f"{key!r} is not a pair of constraints", where="law.a2", fix='e.g. {"a.b": 1}')
            yield (pair[0], pair[1]), number


@clear_arguments
@dataclass(frozen=True, slots=True)
class GeneralLaw(Law):
    """dw/dt by constraint as expressions in deviations (`hf.deviations`), coordinates, rates, time and parameters.

    The program must be a solution: Y(0, 0, q, v, t) = 0, which is checked when the equations are derived.
    """

    demand: Any

    def __post_init__(self) -> None:
        if not isinstance(self.demand, Mapping):
            raise BadStatement(
                "a general law maps constraints to expressions", where="law", fix='{"rod": -4*y - 3*y.rate}'
            )
        object.__setattr__(self, "demand", frozen_gains(self.demand))

    def stated_degree(self, constraint: str, holonomic: bool) -> int:
        """As far as its expressions go: w3 is the third rate of a deviation y, the second of a deviation w."""
        used = {s.name for e in self.demand.values() if isinstance(e, sp.Expr) for s in e.free_symbols}
        found = [int(m[1]) for name in used if (m := re.fullmatch(rf"w(\d+)_{re.escape(constraint)}", name))]
        return max(found) + holonomic if found else 0

    def form(self, constraints: Constraints) -> LawForm:
        missing = [name for name in constraints.all if name not in self.demand]
        unknown = [name for name in self.demand if name not in constraints.all]
        if missing or unknown:
            word, name = ("an expression for the unknown", unknown[0]) if unknown else ("no expression for", missing[0])
            hint = constraint_hint(name, constraints.all) if unknown else f"add {name!r} to it"
            raise BadStatement(f"the law has {word} constraint {name!r}", where="law", fix=hint)
        admit = constraints.vocabulary.admit
        demand = {name: admit(self.demand[name], LAW, where=f"law.{name}") for name in constraints.all}
        return LawForm(demand=Frozen(demand))


@clear_arguments
@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessEnergies(Law):
    """Lagrange's equations of the deviations themselves: energies that vanish, with first derivatives, on the program.

        d/dt ∂T/∂w − ∂T/∂y = −∂P/∂y − ∂D/∂w,     2T = wᵀ a w,  2P = yᵀ k y,  2D = wᵀ c w  (+ terms of higher degree)

    Either `kinetic`, `potential`, `dissipation` as expressions in deviations, or `inertia` a, `damping` c and
    `stiffness` k as numbers, by name, or matrices; both may depend on q, v and t. Cubic and higher terms go through
    the exact block system.
    """

    kinetic: Any = None
    potential: Any = None
    dissipation: Any = None
    inertia: Any = None
    damping: Any = None
    stiffness: Any = None

    def __post_init__(self) -> None:
        energies = (self.kinetic, self.potential, self.dissipation)
        if any(e is not None for e in energies) and any(
            c is not None for c in (self.inertia, self.damping, self.stiffness)
        ):
            raise BadStatement("excess energies are given twice", where="law", fix="energies or coefficients, not both")
        for name in ("kinetic", "potential", "dissipation", "inertia", "damping", "stiffness"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else frozen_gains(value))

    @property
    def by_coefficients(self) -> bool:
        return self.kinetic is None and self.potential is None and self.dissipation is None

    def form(self, constraints: Constraints) -> LawForm:
        constraints.require_usual("a law of excess energies")
        linear = Linear(constraints)
        energies = self._from_coefficients(linear) if self.by_coefficients else self._from_energies(constraints)
        return LawForm(demand=Frozen(), gains=Frozen(linear.gains), excess=Frozen(energies))

    def _from_energies(self, constraints: Constraints) -> dict[str, sp.Expr]:
        admit = constraints.vocabulary.admit
        kinetic = sum(DeviationRate(f"w_{name}") ** 2 for name in constraints.all) / sp.Integer(2)
        given = {"kinetic": self.kinetic, "potential": self.potential, "dissipation": self.dissipation}
        fallback = {"kinetic": kinetic, "potential": sp.S.Zero, "dissipation": sp.S.Zero}
        stated = {name: fallback[name] if value is None else value for name, value in given.items()}
        return {name: admit(value, LAW, where=f"law.{name}") for name, value in stated.items()}

    def _from_coefficients(self, linear: Linear) -> dict[str, sp.Expr]:
        names = linear.constraints

        def half_square(kind: str, value: Any, on: type[NamedSymbol]) -> sp.Expr:
            columns = names.holonomic if on is Deviation else names.all
            total = sp.S.Zero
            entries = list(Coupling(kind, value, columns, columns, columns).entries())
            given = {(row, column) for row, column, _ in entries}
            for row, column, number in entries:  # a pair given once stands for both of its places
                a, b = (Deviation(n) if on is Deviation else DeviationRate(f"w_{n}") for n in (row, column))
                share = a * b / 2 if (column, row) in given else a * b
                total += linear.number(kind, (row, column), number) * share
            return total

        return {
            "kinetic": half_square("inertia", sp.S.One if self.inertia is None else self.inertia, DeviationRate),
            "potential": half_square("stiffness", self.stiffness or sp.S.Zero, Deviation),
            "dissipation": half_square("damping", self.damping or sp.S.Zero, DeviationRate),
        }
