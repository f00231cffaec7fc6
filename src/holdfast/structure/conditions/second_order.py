"""Equations of the second order, f_i(q, v, a, t) = 0, split into what multiplies the accelerations and the rest.

    f_i = M_ij(q, v, t) a_j + B_i(q, v, t)

They are given as expressions with ``x.rate`` and ``x.acceleration``, or taken from derived equations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from holdfast.equations.equations import Equations
from holdfast.errors import BadExpression, BadRequest, BadStatement, SingularSystem
from holdfast.graph.nodes import Node
from holdfast.problem.quantities import Acceleration, Coordinate, Rate, RateOf, time
from holdfast.problem.types import ByName, Key
from holdfast.problem.vocabulary import KNOWN_FUNCTIONS, by_name, exact, name_of
from holdfast.structure.algebra.zero import Points, enclosures, is_zero


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """f = M a + B in coordinates q, with values of parameters and a place near which it is looked at, if known."""

    coordinates: tuple[Coordinate, ...]
    f: tuple[sp.Expr, ...]
    values: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    near: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)

    @property
    def q(self) -> tuple[Coordinate, ...]:
        return self.coordinates

    @cached_property
    def v(self) -> tuple[Rate, ...]:
        return tuple(x.rate for x in self.q)

    @cached_property
    def a(self) -> tuple[Acceleration, ...]:
        return tuple(x.acceleration for x in self.q)

    @cached_property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """What is neither coordinate, rate, acceleration nor time."""
        free = set().union(*(e.free_symbols for e in self.f)) - {*self.q, *self.v, *self.a, time}
        return tuple(sorted(free, key=lambda symbol: symbol.name))

    @cached_property
    def mass(self) -> sp.Matrix:
        """M = ∂f/∂a."""
        return sp.Matrix([[sp.diff(e, x) for x in self.a] for e in self.f])

    @cached_property
    def rest(self) -> tuple[sp.Expr, ...]:
        """B = f at a = 0."""
        none = dict.fromkeys(self.a, sp.S.Zero)
        return tuple(e.xreplace(none) for e in self.f)

    @cached_property
    def points(self) -> Points:
        """Points at which expressions in these symbols are looked at."""
        return Points(values=self.values, near=self.near)

    def drift(self, e: sp.Expr) -> sp.Expr:
        """Dt e = ∂e/∂t + v·∂e/∂q: the rate with the accelerations left out."""
        return sp.Add(sp.diff(e, time), *(sp.diff(e, x) * u for x, u in zip(self.q, self.v, strict=True)))

    def euler(self, L: sp.Expr, *, accelerations: bool = True) -> list[sp.Expr]:
        """E_i[L] = d/dt ∂L/∂v_i − ∂L/∂q_i; without the accelerations' terms if so wanted."""
        found = []
        for x, u in zip(self.q, self.v, strict=True):
            momentum = sp.diff(L, u)
            terms = [self.drift(momentum), -sp.diff(L, x)]
            if accelerations:
                terms += [sp.diff(momentum, w) * a for w, a in zip(self.v, self.a, strict=True)]
            found.append(sp.Add(*terms))
        return found

    def _is_singular(self) -> bool:
        """Whether M has no inverse at any of the points looked at."""
        n = len(self.q)
        for count, (_, entries) in enumerate(enclosures(list(self.mass), self.points)):
            if all(entry.is_finite() for entry in entries):
                sizes = np.linalg.svd(np.array([float(e.mid()) for e in entries]).reshape(n, n), compute_uv=False)
                if sizes[-1] > 1e-12 * sizes[0]:
                    return False
            if count > 20:
                break
        return True

    def checked(self) -> SecondOrder:
        """This, once it is sure that f is affine in the accelerations and gives all of them."""
        for i, row in enumerate(self.mass.tolist()):
            for j, entry in enumerate(row):
                if entry.has(*self.a) and any(not is_zero(sp.diff(entry, a), self.points).zero for a in self.a):
                    raise BadExpression(
                        f"equation {i + 1} is not linear in the acceleration {self.a[j].name}",
                        where=f"f[{i}], where ∂f/∂{self.a[j].name} = {entry}",
                        fix="solve it for the accelerations first; a Lagrangian gives equations linear in them",
                    )
        if self._is_singular():
            raise SingularSystem(
                "the equations do not determine the accelerations: ∂f/∂a is singular everywhere",
                where=f"∂f/∂a = {self.mass.tolist()}",
                fix="give one independent equation of the second order for each coordinate",
            )
        return self


def second_order(
    given: Equations | Sequence[Any],
    coordinates: Iterable[Key] | None = None,
    *,
    solved: bool = False,
    parameters: ByName | None = None,
    near: Mapping[Any, Any] | None = None,
) -> SecondOrder:
    """The door: a list of expressions in `coordinates`, or derived equations.

    Derived equations are taken as M a − h − R = 0, or as a − F = 0 with `solved=True`. `parameters` are values used
    only where a sign or a number is wanted; `near` is a place where f is defined, if zero is not one.
    """
    if isinstance(given, Equations):
        return _from_equations(given, solved=solved, near=near)
    if isinstance(given, (str, sp.Basic)) or not isinstance(given, Iterable):
        raise BadRequest(
            f"{type(given).__name__} is not a list of equations", fix="give [f1, f2, ...] and coordinates=(x, ...)"
        )
    if coordinates is None:
        raise BadRequest(
            "the equations need to know their coordinates", fix="hf.lagrangian([f1, f2], coordinates=(x, y))"
        )
    listed = tuple(coordinates) if isinstance(coordinates, Iterable) else (coordinates,)
    q = tuple(Coordinate(name_of(c)) for c in listed)
    expressions = [_admitted(e, q, f"f[{i}]") for i, e in enumerate(given)]
    if len(expressions) != len(q):
        raise BadStatement(
            f"{len(q)} coordinates need {len(q)} equations, not {len(expressions)}",
            where="f",
            fix="give one equation f_i(q, v, a, t) for each coordinate",
        )
    made = SecondOrder(q, tuple(expressions))
    return SecondOrder(q, made.f, _values(parameters, made), _values(near, made)).checked()


def _admitted(value: Any, q: tuple[Coordinate, ...], where: str) -> sp.Expr:
    """An exact expression in which names that belong to the coordinates are the coordinates' own symbols."""
    expression = exact(value, where=where)
    known = {s.name: s for x in q for s in (x, x.rate, x.acceleration)} | {"t": time}
    stray = [
        s for s in expression.free_symbols if isinstance(s, (Coordinate, Rate, Acceleration)) and s.name not in known
    ]
    if stray:
        raise BadExpression(
            f"{stray[0].name!r} belongs to no coordinate of this system", where=where, fix="add it to coordinates="
        )
    for call in expression.atoms(sp.Function):
        if not isinstance(call, KNOWN_FUNCTIONS):
            raise BadExpression(
                f"the function {call.func.__name__!r} is not known",
                where=where,
                fix="state it by sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh",
            )
    if expression.has(sp.Abs, sp.sign, sp.Min, sp.Max, sp.Heaviside, sp.Piecewise, RateOf):
        raise BadExpression(
            "the question has no answer for equations with branches (abs, sign, min, max)",
            where=where,
            fix="ask it for each branch by itself",
        )
    return expression.xreplace({s: known[s.name] for s in expression.free_symbols if s.name in known})


def _values(given: Mapping[Any, Any] | None, system: SecondOrder) -> dict[sp.Symbol, sp.Expr]:
    """Numbers by the symbols of the system, from numbers by symbol or name."""
    symbols = {s.name: s for s in (*system.q, *system.v, *system.a, *system.parameters, time)}
    stated = {name: exact(value, where=name) for name, value in by_name(given or {}, where="parameters").items()}
    for name, value in stated.items():
        if value.free_symbols:
            raise BadRequest(
                f"{value} is not a number", where=name, fix="give numbers for parameters and for the state"
            )
    return {symbols[name]: value for name, value in stated.items() if name in symbols}


def _from_equations(equations: Equations, *, solved: bool, near: Mapping[Any, Any] | None) -> SecondOrder:
    """M a − h + m₂ − R (or a − F) in the problem's own symbols, parameters and gains by name."""
    system, display = equations.problem.system, equations.display
    if system.states:
        raise BadRequest(
            "first-order states have no Lagrangian of their own",
            where="system.states",
            fix="ask for the equations without them",
        )
    q, parts, dynamics = system.coordinates, equations.solution, equations.dynamics
    held = equations.held_forces_nodes[0]

    def written(node: Node) -> sp.Expr:
        return _admitted(display.tidy(node), q, "equations")

    f = []
    for i, x in enumerate(q):
        if solved:
            f.append(x.acceleration - written(parts.accelerations[i]))
        else:
            inertia = sp.Add(*(written(node) * q[j].acceleration for j, node in dynamics.mass[i].items()))
            f.append(inertia - written(dynamics.bias[i] - parts.excess_bias[i]) - written(held[i]))
    made = SecondOrder(q, tuple(f))
    start = {name: value for name, value in equations.problem.start.items() if not value.free_symbols}
    values = _values({**system.parameters, **equations.form.gains}, made)
    return SecondOrder(q, made.f, values, _values(start if near is None else near, made)).checked()
