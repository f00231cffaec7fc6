"""An expression without its names: how it is put together, to be filled with others.

SymPy orders sums and products by the names in them. Where other symbols are of the same kinds and come in the same
order of the alphabet (`alphabet`), what a pattern makes of them is, part by part, what SymPy would make.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.basic import Basic

from holdfast.problem.derivative import parts_first
from holdfast.problem.quantities import REAL, NamedSymbol

ORDERED = frozenset((sp.Add, sp.Mul, sp.Pow))
CALLED = frozenset((sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.atan2, sp.sinh, sp.cosh, sp.tanh, sp.exp,
                    sp.log, sp.Abs, sp.sign))  # fmt: skip


def plain(symbol: NamedSymbol) -> bool:
    """Whether nothing more is assumed of a symbol than that it is real."""
    return bool(symbol._assumptions0 == REAL._assumptions0)


def alphabet(symbols: Sequence[NamedSymbol]) -> tuple[tuple[type, ...], tuple[int, ...]]:
    """The kinds of symbols, and in which order their names come."""
    names = [symbol.name for symbol in symbols]
    return tuple(map(type, symbols)), tuple(sorted(range(len(names)), key=names.__getitem__))


class Pattern:
    """How an expression is put together; `factor` is a part of its coefficient that may be another one too."""

    def __init__(self, expression: sp.Expr, symbols: Sequence[NamedSymbol], factor: Fraction | None = None) -> None:
        self.scale = sp.S.One
        if factor is not None:
            coefficient, expression = expression.as_coeff_Mul()
            self.scale = coefficient / sp.Rational(factor.numerator, factor.denominator)
        places: dict[Basic, int] = {symbol: k for k, symbol in enumerate(symbols)}
        parts = [part for part in parts_first(expression) if part not in places]
        self.sound = all(not part.args or type(part) in ORDERED | CALLED for part in parts)
        self.sound = self.sound and not expression.is_number  # whose coefficient is the whole of it
        self.constants = [part for part in parts if not part.args]
        places |= {part: len(symbols) + k for k, part in enumerate(self.constants)}
        self.steps: list[tuple[type[Basic], tuple[int, ...]]] = []
        for part in parts:
            if part.args:
                self.steps.append((type(part), tuple(places[inner] for inner in part.args)))
                places[part] = len(places)
        self.last = places[expression]

    def filled(self, symbols: Sequence[NamedSymbol], factor: Fraction | None = None) -> sp.Expr:
        """The expression with other symbols, and another factor, in it."""
        values: list[Any] = [*symbols, *self.constants]
        for kind, places in self.steps:
            values.append(_made(kind, tuple([values[k] for k in places])))
        found: sp.Expr = values[self.last]
        return found if factor is None else self._scaled(found, factor)

    def _scaled(self, product: sp.Expr, factor: Fraction) -> sp.Expr:
        coefficient = self.scale * sp.Rational(factor.numerator, factor.denominator)
        if coefficient is sp.S.One:
            return product
        factors = product.args if isinstance(product, sp.Mul) else (product,)
        return sp.Mul._from_args((coefficient, *factors), True)


def _made(kind: type[Basic], args: tuple[Any, ...]) -> Any:
    """A sum, product, power or function of operands that are in order already."""
    if kind is sp.Add or kind is sp.Mul:
        return kind._from_args(args, True)
    if kind is sp.Pow:
        power: Any = sp.Expr.__new__(sp.Pow, *args)
        power.is_commutative = True
        return power
    return kind(*args, evaluate=False)
