"""All first-order systems with given integrals (Erugin).

    ω' = Φ(ω, x, t)     ⇔     G X = Φ − ω_t,     G = ∂ω/∂x

so that x' = X is one of X = K(Φ − ω_t) + P u, K = Gᵀ(G Gᵀ)⁻¹, P = I − K G, or K(Φ − ω_t) + c₀ [g¹ ... gᵐ c ... c]: the
algebra of `family` one order lower. Φ(0, ·) = 0 makes ω partial integrals, Φ = 0 (`Unstabilised`) first integrals.

States are taken for the rates of coordinates of their own, x = d(integral_x)/dt, and ω for velocity constraints. Then
everything that is known of equations of motion (runs, certificates, tuning, the page) holds of first-order systems too;
the coordinates are integrals ∫x dt, which nothing depends on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import sympy as sp

from holdfast.common.frozen import Frozen
from holdfast.equations.equations import Equations
from holdfast.equations.forms.criterion import Criterion, LeastEffort, Nearest
from holdfast.equations.forms.family import Family
from holdfast.equations.writing.text import text
from holdfast.errors import BadStatement
from holdfast.graph.nodes import Node
from holdfast.problem.laws.linear import Gain, GeneralLaw, Law, Quadratic, SpringDamper
from holdfast.problem.program import Program, counted
from holdfast.problem.quantities import Coordinate, Rate
from holdfast.problem.run import Run
from holdfast.problem.types import ByName
from holdfast.problem.vocabulary import by_name, exact, name_of

INTEGRAL = "integral_"  # of a state, its coordinate


@dataclass(frozen=True, eq=False, repr=False)
class StateFamily(Family):
    """One first-order system x' = X(x, t) of all that have the given integrals; runs have the columns x and x'."""

    @property
    def states(self) -> tuple[str, ...]:
        return tuple(name.removeprefix(INTEGRAL) for name in self.coordinates)

    @cached_property
    def observables(self) -> dict[str, Node]:
        """What any run shows, and the states by their own names."""
        return {**super().observables, **dict(zip(self.states, self.inputs.v, strict=True))}

    @cached_property
    def observable_names(self) -> tuple[str, ...]:
        return (*super().observable_names, *self.states)

    @cached_property
    def rates(self) -> sp.Matrix:
        """X of x' = X(x, t) as a formula, the integrals and the gains written out by name."""
        K, wanted = self.formula()
        u = sp.Matrix(self.tangential)
        X = K * wanted + u - K * (self.jacobian * u)
        values = dict(zip(self._deviations, self.deviation_rate, strict=True))
        return self.in_states(X.subs(values)).applyfunc(sp.factor)

    @property
    def _deviations(self) -> tuple[sp.Symbol, ...]:
        shown = self.display.symbols
        return tuple(shown[f"w_{name}"] for name in self.constraints)

    def in_states(self, formula: Any) -> Any:
        """A formula with x for the rate of its integral."""
        own = {Coordinate(f"{INTEGRAL}{name}").rate: sp.Symbol(name, real=True) for name in self.states}
        return formula.xreplace(own)

    def by_state_name(self, given: Mapping[Any, Any], *, where: str) -> dict[str, Any]:
        return renamed(given, self.states, where=where)

    def with_law(self, law: Law) -> Equations:
        return super().with_law(first_order_law(law))

    def summary(self) -> str:
        """The system as text for a terminal."""
        rates = [f"  {name}' = {text(X)}" for name, X in zip(self.states, self.rates, strict=True)]
        shown = zip(self.constraints, self.in_states(self.deviation_rate), strict=True)
        kept = [f"  {name}: {text(omega)}" for name, omega in shown]
        law = [f"  {name}' = {text(Y)}" for name, Y in zip(self.constraints, self._law, strict=True)]
        gains = ", ".join(f"{Gain(name).letter} = {float(value):.12g}" for name, value in self.form.gains.items())
        lines = ["First-order system", *rates, "", "Integrals", *kept, "", "Law", *law]
        return "\n".join([*lines, *([f"  with {gains}"] if gains else [])]) + "\n"

    @property
    def _law(self) -> list[sp.Expr]:
        """Φ, each integral by its own name."""
        own = {w: sp.Symbol(name) for w, name in zip(self._deviations, self.constraints, strict=True)}
        return [self.in_states(Y.xreplace(own)) for Y in self.demand]

    def latex(self) -> str:
        """The system as LaTeX."""
        names = [sp.latex(Coordinate(name)) for name in self.states]
        lines = [rf"\dot{{{name}}} = {sp.latex(X)}" for name, X in zip(names, self.rates, strict=True)]
        return "\n".join(rf"\[ {line} \]" for line in lines) + "\n"

    def to_dict(self) -> dict[str, Any]:
        shown = dict(zip(self.states, (str(X) for X in self.rates), strict=True))
        return {**super().to_dict(), "first_order": {"rates": shown}}

    def explain(self) -> str:
        """In words: how large the family is."""
        n, m, k = len(self.states), len(self.constraints), self.freedom
        lines = [
            f"{counted(n, 'rate')}, {counted(m, 'equation')} G x' = Phi - omega_t: first-order systems with"
            f" {counted(m, 'given integral')}, an affine space of dimension {k} at each state.",
            self._rank(),
        ]
        if k == 0:
            return "\n".join([*lines, "Nothing is left free: x' = G^-1 (Phi - omega_t)."])
        more = f"Null-space form: x' = K(Phi - omega_t) + N u, with {counted(k, 'function')} u(x, t)."
        cross = f"Cross-product form: c0 [g ... c ...] with {n - 1 - m} vectors c and c0."
        return "\n".join([*lines, more, cross])


def renamed(given: Mapping[Any, Any], states: tuple[str, ...], *, where: str = "start") -> dict[str, Any]:
    """A start or state by name, with the rate of its integral for each state."""
    return {f"{INTEGRAL}{k}_dot" if k in states else k: v for k, v in by_name(given, where=where).items()}


class FirstOrderStatement:
    """The states of a first-order system, and what is stated in them said in the rates of their integrals."""

    def __init__(self, states: tuple[Any, ...]) -> None:
        self.names = tuple(name_of(state) for state in states)
        twice = {name for name in self.names if self.names.count(name) > 1}
        if twice or not self.names:
            what = f"the state {twice.pop()!r} is given twice" if twice else "no states are given"
            raise BadStatement(what, where="family.states", fix='e.g. states=hf.states("x y")')
        self.coordinates = tuple(Coordinate(f"{INTEGRAL}{name}") for name in self.names)
        self._rates: dict[str, Rate] = {c.rate.name: c.rate for c in self.coordinates}

    def said(self, value: Any) -> Any:
        """An expression in the rates of the integrals; the rate of a state may not occur in it."""
        if not isinstance(value, sp.Expr):
            return value
        used = value.free_symbols
        own = {symbol: self._rates[f"{INTEGRAL}{symbol.name}_dot"] for symbol in used if symbol.name in self.names}
        for symbol in used:
            if symbol.name.removesuffix("_dot") in self.names and symbol.name.endswith("_dot"):
                raise BadStatement(
                    f"the rate of the first-order state {symbol.name.removesuffix('_dot')!r} may not occur here",
                    where="family",
                    fix="integrals are functions of states and time; for second-order systems give coordinates=",
                )
        return value.xreplace(own)

    def by_name(self, given: ByName | None, where: str) -> dict[str, Any]:
        """Expressions by name, said in the rates."""
        return {name: self.said(value) for name, value in by_name(given or {}, where=where).items()}

    def directed(self, given: ByName | None) -> dict[str, Any]:
        """u by coordinate, from u by state."""
        said = self.by_name(given, "family.tangential")
        for name in said:
            if name not in self.names:
                raise BadStatement(f"{name!r} is not a state", where="family.tangential", fix="give u by state")
        return {f"{INTEGRAL}{name}": value for name, value in said.items()}

    def matrix(self, given: Any) -> Any:
        """Rows of expressions, said in the rates."""
        if given is None or isinstance(given, str):
            return given
        rows = given.tolist() if hasattr(given, "tolist") else given
        return [[self.said(entry) for entry in row] for row in rows]

    def metric(self, given: Any) -> Any:
        rows = self.matrix(given)
        for entry in (e for row in rows or () for e in row if isinstance(e, sp.Expr)):
            if any(symbol.name in self._rates for symbol in entry.free_symbols):
                raise BadStatement(
                    "the metric of a first-order family does not depend on the states",
                    where="family.metric",
                    fix="another metric changes only the tangential part: give it as tangential=",
                )
        return rows

    def criterion(self, given: Criterion | None) -> Criterion | None:
        """The criterion with its fields by coordinate."""
        if isinstance(given, Nearest):
            return Nearest(wanted=self.directed(given.wanted), weights=given.weights)
        if isinstance(given, LeastEffort):
            return LeastEffort(free=self.directed(given.free), mass=given.mass, weights=given.weights)
        return given

    @staticmethod
    def run(run: Run | None) -> Run:
        """How to run it: a start off the integrals is kept as it is, for the law to bring it back."""
        stated = run or Run()
        return stated if stated.start_policy else replace(stated, start_policy="keep")

    def program(self, program: Program) -> Program:
        """The integrals as velocity constraints, under the first-order law."""
        if program.controls or program.reactions:
            raise BadStatement(
                "a first-order family has no controls or reactions", where="program.controls", fix="leave them out"
            )
        functions = {**program.holonomic, **program.nonholonomic}
        said = {name: self.said(exact(e, where=f"program.{name}")) for name, e in functions.items()}
        law = first_order_law(program.law)
        if isinstance(law, GeneralLaw):
            law = GeneralLaw({name: self.said(e) for name, e in law.demand.items()})
        return Program(nonholonomic=Frozen(said), law=law)


def first_order_law(law: Law) -> Law:
    """Φ(ω) from a law: y and w both mean ω; a stiffness has nothing to act on."""
    if isinstance(law, (SpringDamper, Quadratic)):
        gain, other = ("stiffness", "damping") if isinstance(law, SpringDamper) else ("a0", "a1")
        if getattr(law, gain) not in (0, None):
            raise BadStatement(
                f"the law of a first-order family is omega' = Phi(omega): it has no {gain}",
                where=f"program.law.{gain}",
                fix=f"give the rate of decay as {other}, e.g. hf.SpringDamper(damping=1.5)",
            )
    if isinstance(law, GeneralLaw):
        renaming = {
            symbol: sp.Symbol("w_" + symbol.name.removeprefix("y_"), real=True)
            for e in law.demand.values()
            if isinstance(e, sp.Expr)
            for symbol in e.free_symbols
            if symbol.name.startswith("y_")
        }
        return replace(law, demand={n: e.xreplace(renaming) if renaming else e for n, e in law.demand.items()})
    return law
