"""Total derivatives of SymPy expressions in one pass, and how large they would be.

`sympy.diff` visits the expression once for every symbol and rebuilds functions slowly; here every part is visited once,
with the sum, product, power and chain rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import sympy as sp

from holdfast.problem.functions import FunctionValue


def _plain(function: Any) -> Callable[[sp.Expr], sp.Expr]:
    return lambda argument: function(argument, evaluate=False)  # the argument is already in SymPy's own form


OUTER: dict[Any, Callable[[sp.Expr], sp.Expr]] = {
    sp.sin: _plain(sp.cos),
    sp.cos: lambda a: -sp.sin(a, evaluate=False),
    sp.tan: lambda a: sp.tan(a, evaluate=False) ** 2 + 1,
    sp.asin: lambda a: 1 / sp.sqrt(1 - a**2),
    sp.acos: lambda a: -1 / sp.sqrt(1 - a**2),
    sp.atan: lambda a: 1 / (1 + a**2),
    sp.sinh: _plain(sp.cosh),
    sp.cosh: _plain(sp.sinh),
    sp.tanh: lambda a: 1 - sp.tanh(a, evaluate=False) ** 2,
    sp.exp: sp.exp,
    sp.log: lambda a: 1 / a,
}  # f'(a) by function f


def derivative(expression: sp.Expr, rate_of: Callable[[sp.Symbol], sp.Expr]) -> sp.Expr:
    """The derivative along a motion in which each symbol changes at its given rate."""
    rates: dict[sp.Basic, sp.Expr] = {}
    for part in parts_first(expression):
        rates[part] = _rate(part, rates, rate_of)
    return rates[expression]


def parts_first(
    expression: sp.Basic, within: Callable[[sp.Basic], tuple[sp.Basic, ...]] = attrgetter("args")
) -> Iterator[sp.Basic]:
    """Every part of an expression once, each after its own parts; without recursion, so that depth is no matter."""
    done: set[sp.Basic] = set()
    stack: list[tuple[sp.Basic, bool]] = [(expression, False)]
    while stack:
        part, ready = stack.pop()
        if part in done:
            continue
        inside = () if ready else within(part)
        if inside:
            stack.append((part, True))
            stack.extend((inner, False) for inner in inside)
        else:
            done.add(part)
            yield part


def kinds_and_symbols(expression: sp.Basic) -> tuple[set[type], set[sp.Symbol]]:
    """What an expression is made of: the classes of its parts but for symbols, and these; each part is met once."""
    kinds: set[type] = set()
    symbols: set[sp.Symbol] = set()
    met: set[int] = set()
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, sp.Symbol):
            symbols.add(part)
            continue
        kinds.add(type(part))
        inside = part.args
        if inside and id(part) not in met:
            met.add(id(part))
            waiting.extend(inside)
    return kinds, symbols


def _rate(part: Any, rates: dict[sp.Basic, sp.Expr], rate_of: Callable[[sp.Symbol], sp.Expr]) -> sp.Expr:
    if isinstance(part, sp.Symbol):
        return rate_of(part)
    inner = [rates[argument] for argument in part.args]
    if not any(inner):
        return sp.S.Zero
    if isinstance(part, FunctionValue):
        return sp.Add(*(part.partial(k) * change for k, change in enumerate(inner[2:])))
    if isinstance(part, sp.Add):
        return sp.Add(*inner)
    if isinstance(part, sp.Mul):
        return sp.Add(*(_product(part.args, i, rate) for i, rate in enumerate(inner) if rate))
    if isinstance(part, sp.Pow):
        return _power(part, *inner)
    if isinstance(part, sp.atan2):
        y, x = part.args
        return (x * inner[0] - y * inner[1]) / (x**2 + y**2)
    if part.func in OUTER:
        return OUTER[part.func](part.args[0]) * inner[0]
    return sp.Add(*(sp.diff(part, symbol) * rate_of(symbol) for symbol in part.free_symbols))


def _product(factors: tuple[sp.Expr, ...], which: int, rate: sp.Expr) -> sp.Expr:
    return sp.Mul(*factors[:which], rate, *factors[which + 1 :])


def _power(power: sp.Pow, base_rate: sp.Expr, exponent_rate: sp.Expr) -> sp.Expr:
    base, exponent = power.args
    terms = []
    if base_rate:
        terms.append(sp.Mul(exponent, sp.Pow(base, exponent - 1), base_rate))
    if exponent_rate:
        terms.append(sp.Mul(power, sp.log(base), exponent_rate))
    return sp.Add(*terms)


def predicted_size(expression: sp.Expr) -> int:
    """About how many parts the derivative would have: products count each factor with all the others."""
    sizes: dict[sp.Basic, int] = {}
    grown: dict[sp.Basic, int] = {}
    for part in parts_first(expression):
        size = 1 + sum(sizes[inner] for inner in part.args)
        moving = [inner for inner in part.args if grown[inner]]
        own = sum(grown[inner] for inner in moving)
        sizes[part] = size
        if not part.args:
            grown[part] = int(isinstance(part, sp.Symbol))
        elif isinstance(part, sp.Add) or not moving:
            grown[part] = own
        else:
            grown[part] = own + size * len(moving)
    return grown[expression]
