"""Symbols of SymPy's mechanics in ours: q(t) a coordinate, other functions of time ours, symbols parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

import holdfast.problem.quantities as ours
from holdfast.common.frozen import Frozen
from holdfast.errors import BadRequest
from holdfast.exchange.mechanics.statement import TIME, MethodStatement
from holdfast.problem.functions import functions
from holdfast.problem.laws.linear import Law, Unstabilised
from holdfast.problem.problem import Problem
from holdfast.problem.program import Program
from holdfast.problem.system import System


class Translation:
    """The symbols of a statement, each with ours; `still` takes given functions of time for constants."""

    def __init__(self, stated: MethodStatement, *, still: bool = False) -> None:
        self.stated = stated
        self.table: dict[sp.Expr, sp.Expr] = {TIME: ours.time}
        self.coordinates = [ours.coordinates(_name(q)) for q in stated.coordinates]
        for q, own in zip(stated.coordinates, self.coordinates, strict=True):
            self.table |= {q: own, q.diff(TIME): own.rate}
        atoms: set[sp.Expr] = set()
        for e in stated.expressions:
            atoms |= e.free_symbols | e.atoms(AppliedUndef, sp.Derivative)
        self.given = sorted((a for a in atoms if isinstance(a, AppliedUndef) and a not in self.table), key=str)
        for function in self.given:
            _refuse_other_arguments(function)
            self.table[function] = ours.parameters(_name(function)) if still else functions(_name(function))
        for derivative in (a for a in atoms if isinstance(a, sp.Derivative) and a not in self.table):
            self.table[derivative] = sp.S.Zero if still else self._rate(derivative)
        self.parameters = sorted((a for a in atoms if isinstance(a, sp.Symbol) and a != TIME), key=str)
        self.table |= {symbol: ours.parameters(symbol.name) for symbol in self.parameters}

    def _rate(self, derivative: sp.Derivative) -> sp.Expr:
        base, (variable, count) = derivative.expr, derivative.variable_count[0]
        if base not in self.given or variable != TIME or len(derivative.variable_count) > 1:
            raise BadRequest(
                f"{derivative} has no place in energies, forces and constraints",
                where="from_sympy_mechanics(method)",
                fix="coordinates, their first rates, and functions of time",
            )
        found = self.table[base]
        for _ in range(int(count)):
            found = found.rate
        return found

    def __call__(self, expression: sp.Expr) -> sp.Expr:
        return sp.sympify(expression).xreplace(self.table)

    def key(self, given: Any) -> Any:
        """A key of the caller: one of SymPy's symbols, or one of ours, or a name."""
        return self.table.get(given, given) if isinstance(given, sp.Basic) else given

    def _rows(self, letter: str, rows: Sequence[sp.Expr]) -> Frozen[sp.Expr]:
        """Constraints by a letter and their number, with underscores where something else is called so."""
        taken = {getattr(own, "name", "") for own in self.table.values()}
        named = {}
        for number, row in enumerate(rows, start=1):
            name = f"{letter}{number}"
            while name in taken:
                name += "_"
            named[name] = self(row)
        return Frozen(named)

    def problem(self, parameters: Mapping[Any, Any], start: Mapping[Any, Any], law: Law | None, title: str) -> Problem:
        """The statement as a problem."""
        stated = self.stated
        forces = {q: self(Q) for q, Q in zip(self.coordinates, stated.forces, strict=True) if Q != 0}
        values = {self.key(name): value for name, value in parameters.items()}
        system = System(
            coordinates=tuple(self.coordinates),
            kinetic=self(stated.kinetic),
            potential=self(stated.potential),
            forces=Frozen(forces),
            parameters=Frozen(values),
        )
        program = Program(
            holonomic=self._rows("c", stated.holonomic),
            nonholonomic=self._rows("n", stated.nonholonomic),
            law=law if law is not None else Unstabilised(),
        )
        begun = {self.key(name): value for name, value in start.items()}
        return Problem(system, program, start=Frozen(begun), title=title)


def _name(function: sp.Expr) -> str:
    return str(function.func.__name__ if isinstance(function, AppliedUndef) else function)


def _refuse_other_arguments(function: sp.Expr) -> None:
    if function.args != (TIME,):
        raise BadRequest(f"{function} is no function of time", where="from_sympy_mechanics(method)", fix="write it out")
