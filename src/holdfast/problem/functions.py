"""Functions that a problem leaves undetermined, or is given later: η(t), f(z, v), and all their derivatives.

    d/dt f(a, b) = f_a a' + f_b b',      f_a = ∂f/∂a, itself a function of (a, b)

A value knows its name, how often it is differentiated by each argument, and its arguments; nothing else is kept, so
copying, substitution and derivatives work unaided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.symbol import Str

from holdfast.errors import BadStatement
from holdfast.problem.data import Data


class FunctionValue(sp.Expr):
    """The value f^(orders)(of) of an undetermined function or of one of its partial derivatives."""

    is_commutative = True
    is_real = True

    def __new__(cls, name: Any, orders: Any, *of: Any) -> FunctionValue:
        counts = sp.Tuple(*(sp.Integer(int(order)) for order in orders))
        made: FunctionValue = super().__new__(cls, Str(str(name)), counts, *(sp.sympify(x) for x in of))
        return made

    @property
    def name(self) -> str:
        return str(self.args[0].name)

    @property
    def orders(self) -> tuple[int, ...]:
        """How often it is differentiated by each argument."""
        return tuple(int(order) for order in self.args[1].args)

    @property
    def of(self) -> tuple[sp.Expr, ...]:
        """The arguments."""
        return tuple(self.args[2:])

    @property
    def itself(self) -> FunctionValue:
        """The function without derivatives."""
        return FunctionValue(self.name, (0,) * len(self.of), *self.of)

    @property
    def rate(self) -> sp.Expr:
        """The total time derivative, by the chain rule."""
        from holdfast.problem.quantities import rate

        result: sp.Expr = rate(self)
        return result

    def partial(self, place: int) -> FunctionValue:
        """The derivative by the argument at a place."""
        orders = [order + (k == place) for k, order in enumerate(self.orders)]
        return FunctionValue(self.name, orders, *self.of)

    def primitive(self, place: int) -> FunctionValue:
        """A function whose derivative by the argument at a place it is; beyond the function itself, its order is -1."""
        orders = [order - (k == place) for k, order in enumerate(self.orders)]
        return FunctionValue(self.name, orders, *self.of)

    def _without_primitives(self) -> FunctionValue:
        return FunctionValue(self.name, [max(0, order) for order in self.orders], *self.of)

    def _eval_derivative(self, symbol: sp.Symbol) -> sp.Expr:
        return sp.Add(*(self.partial(k) * sp.diff(inner, symbol) for k, inner in enumerate(self.of)))

    @property
    def of_time(self) -> bool:
        """Whether time is its only argument: then derivatives are written as rates are."""
        return len(self.of) == 1 and getattr(self.of[0], "name", "") == "t"

    def _sympystr(self, printer: Any) -> str:
        if getattr(printer, "primes", False) and self.of_time and self.orders[0] >= 0:
            return self.name + "'" * self.orders[0]
        if not all(x.is_Symbol for x in self.of):  # at another place than its own arguments
            head = f"D{list(self.orders)}({self.name})" if any(self.orders) else self.name
            return f"{head}({', '.join(printer._print(x) for x in self.of)})"
        if not any(self.orders):
            return self.name
        if min(self.orders) < 0:
            of = [printer._print(x) for x, order in zip(self.of, self.orders, strict=True) if order < 0]
            return f"primitive({self._without_primitives()._sympystr(printer)}, {', '.join(of)})"
        if self.of_time:
            order = self.orders[0]
            return "ddt(" * (order - 2) + self.name + ("_dot" if order == 1 else "_ddot") + ")" * (order - 2)
        by = [printer._print(x) for x, order in zip(self.of, self.orders, strict=True) for _ in range(order)]
        return f"diff({self.name}, {', '.join(by)})"

    _sympyrepr = _sympystr

    def _latex(self, printer: Any) -> str:
        from holdfast.problem.quantities import latex_name

        order = sum(self.orders)
        if not all(x.is_Symbol for x in self.of):  # at another place than its own arguments
            head = rf"D^{{{','.join(map(str, self.orders))}}}" if any(self.orders) else ""
            places = ", ".join(printer._print(x) for x in self.of)
            return rf"{{{head}{latex_name(self.name)}\left({places}\right)}}"
        if not any(self.orders):
            return latex_name(self.name)
        if min(self.orders) < 0:
            by = "".join(rf"\,d{printer._print(x)}" for x, n in zip(self.of, self.orders, strict=True) if n < 0)
            return rf"\left(\int {self._without_primitives()._latex(printer)}{by}\right)"
        if self.of_time and order <= 2:
            return latex_name(self.name + ("_dot" if order == 1 else "_ddot"))
        stem, _, below = latex_name(self.name).partition("_")
        if self.of_time:
            return f"{{{stem}" + (f"_{below}" if below else "") + f"^{{({order})}}}}"  # braces: it may be squared
        by = r"\,".join(printer._print(x) for x, count in zip(self.of, self.orders, strict=True) for _ in range(count))
        return f"{stem}_{{{below.removeprefix('{').removesuffix('}')},{by}}}"

    def _pretty(self, printer: Any) -> Any:
        from sympy.printing.pretty.stringpict import prettyForm

        return prettyForm(str(self))


@dataclass(frozen=True, slots=True)
class StatedFunction:
    """A function as a problem states it: its arguments, and its expression or data; None while it is undetermined."""

    of: tuple[sp.Symbol, ...]
    value: sp.Expr | Data | None = None

    def at(self, name: str) -> FunctionValue:
        """Its value at its own arguments."""
        return FunctionValue(name, (0,) * len(self.of), *self.of)


def functions(*names: str | Iterable[str], of: Any = None) -> Any:
    """Undetermined functions by name, of time unless `of` says otherwise: one for one name, a tuple for several.

    ``eta.rate`` and ``eta.rate.rate`` are their derivatives in time.
    """
    given: Any = names[0] if len(names) == 1 else names
    listed = given.replace(",", " ").split() if isinstance(given, str) else list(given)
    single = isinstance(given, str) and len(listed) == 1 and "," not in given
    if not listed:
        raise BadStatement("no name was given", fix='write the names in one string, e.g. hf.functions("eta zeta")')
    made = tuple(function(name, of=of) for name in listed)
    return made[0] if single else made


def function(name: str, of: Any = None) -> FunctionValue:
    """An undetermined function of one or several quantities: ``hf.function("f_c", of=(z, z.rate))``."""
    from holdfast.problem.quantities import check_name, time

    if not isinstance(name, str):
        raise BadStatement(f"{name!r} is not a name", fix='e.g. hf.function("f_c", of=(z, z.rate))')
    check_name(name)
    arguments: Sequence[Any] = (time,) if of is None else of if isinstance(of, (tuple, list)) else (of,)
    check_arguments(arguments, where=name)
    return FunctionValue(name, (0,) * len(arguments), *arguments)


def check_arguments(arguments: Sequence[Any], *, where: str) -> None:
    """A function depends on named quantities of the motion, each once."""
    if not arguments or any(not isinstance(x, sp.Symbol) for x in arguments):
        raise BadStatement(
            "a function depends on time, coordinates, rates or states", where=where, fix="e.g. of=(z, z.rate)"
        )
    if len(set(arguments)) < len(arguments):
        raise BadStatement("an argument is named twice", where=where, fix="name each argument once")
