"""Units as dimensions: a small algebra, so that what is added is alike and an element's value fits its domain.

Units are coherent (kg, m, s, A, K and what is made of them), so that a dimension is all there is to check. A word that
is not known is a dimension of its own (``EUR``). Numbers have none: a 9.81 that means m/s^2 must be given a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import sympy as sp

from holdfast.errors import BadStatement
from holdfast.problem.derivative import parts_first
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import Acceleration, Definition, Rate, RateOf, Time

Dimension = Mapping[str, Fraction]

NONE: Dimension = {}


def _made(**powers: int) -> Dimension:
    return {name: Fraction(power) for name, power in powers.items() if power}


KNOWN: dict[str, Dimension] = {
    "1": NONE, "rad": NONE,
    "kg": _made(kg=1), "m": _made(m=1), "s": _made(s=1), "A": _made(A=1), "K": _made(K=1), "mol": _made(mol=1),
    "Hz": _made(s=-1),
    "N": _made(kg=1, m=1, s=-2), "Pa": _made(kg=1, m=-1, s=-2), "J": _made(kg=1, m=2, s=-2),
    "W": _made(kg=1, m=2, s=-3), "C": _made(A=1, s=1), "V": _made(kg=1, m=2, s=-3, A=-1),
    "F": _made(kg=-1, m=-2, s=4, A=2), "H": _made(kg=1, m=2, s=-2, A=-2), "ohm": _made(kg=1, m=2, s=-3, A=-2),
    "Ω": _made(kg=1, m=2, s=-3, A=-2), "Wb": _made(kg=1, m=2, s=-2, A=-1), "T": _made(kg=1, s=-2, A=-1),
}  # fmt: skip
SCALED = re.compile(r"(k|M|G|m|u|µ|n|c|d)(m|g|s|A|K|N|Pa|J|W|C|V|F|H|ohm|Hz)|g|deg|min|h|bar|l|L|rpm")
MULTIPLIED = re.compile(r"\s*(\*(?!\*)|·)")
RAISED = re.compile(r"\s*(?:\^|\*\*)\s*(-?\d+)")
ENERGY, POWER = KNOWN["J"], KNOWN["W"]
TOKEN = re.compile(r"\s*([A-Za-zΩµ%]+|1|\*\*|[*/·()]|\^?-?\d+)")
FORMULA_NUMBERS = frozenset((1, 2, 3, 4, 6, 8, 12))  # numbers of formulas, as against numbers of nature
MAX_UNIT = 200  # characters: a unit is a word or a few
MAX_NESTING = 10  # brackets within brackets
MAX_POWER = 1000  # of a base unit, above and below the line
LONGEST_SHOWN = 60  # parts of an expression that a message still writes out


def dimension(unit: str, *, where: str = "") -> Dimension:
    """The dimension of a unit such as ``N s/m``, ``kg m^2`` or ``rad/(N m)``."""
    if len(unit) > MAX_UNIT:
        raise BadStatement(f"a unit of more than {MAX_UNIT} characters", where=where, fix="e.g. N s/m, kg m^2, 1")
    reader = _UnitReader(unit, where)
    found = reader.product(0)
    if not reader.at_end():
        raise reader.unreadable()
    return found


class _UnitReader:
    """One pass over a unit, from left to right."""

    def __init__(self, text: str, where: str) -> None:
        self.text, self.at, self.where = text, 0, where

    def unreadable(self) -> BadStatement:
        return BadStatement(f"{self.text!r} is not a unit", where=self.where, fix="e.g. N s/m, kg m^2, Pa s^2/m^3, 1")

    def at_end(self) -> bool:
        return not self._ahead()

    def _ahead(self) -> str:
        """The next character that is no space, or nothing."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        match = TOKEN.match(self.text, self.at)
        if not match:
            raise self.unreadable()
        self.at = match.end()
        return match[1]

    def product(self, depth: int) -> Dimension:
        found, sign = self._factor(depth), 1
        while self._ahead() not in ("", ")"):
            if MULTIPLIED.match(self.text, self.at):
                self._next()
            elif self._ahead() == "/":
                self._next()
                sign = -1
            found = _times(found, _power(self._factor(depth), Fraction(sign)))
            sign = 1
        return found

    def _factor(self, depth: int) -> Dimension:
        token = self._next()
        if token == "(" and depth < MAX_NESTING:
            found = self.product(depth + 1)
            if self._next() != ")":
                raise self.unreadable()
        elif token == "1" or token.isalpha() or token == "%":
            found = self._unit(token)
        else:
            raise self.unreadable()
        power = RAISED.match(self.text, self.at)
        if power:
            self.at = power.end()
            found = _power(found, Fraction(int(power[1][:9])))
        if any(abs(each) > MAX_POWER for each in found.values()):
            raise self.unreadable()
        return found

    def _unit(self, word: str) -> Dimension:
        if word in KNOWN:
            return KNOWN[word]
        if SCALED.fullmatch(word):
            raise BadStatement(
                f"the unit {word!r} is not coherent", where=self.where, fix="use kg, m, s, A, K, N, Pa, J, W, V, rad"
            )
        return {word: Fraction(1)}


def _times(a: Dimension, b: Dimension) -> Dimension:
    total = {name: a.get(name, Fraction(0)) + b.get(name, Fraction(0)) for name in {*a, *b}}
    return {name: power for name, power in total.items() if power}


def _power(a: Dimension, exponent: Fraction) -> Dimension:
    return {name: power * exponent for name, power in a.items() if power * exponent}


def text_of(found: Dimension) -> str:
    """A dimension in its shortest known unit, or in base units."""
    for unit, known in KNOWN.items():
        if dict(known) == dict(found):
            return unit
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in sorted(found.items()))


class Dimensions:
    """The dimensions of expressions, from the units of names; what has no unit is left open and fits anything.

    Each part is looked at once: what was found is kept by expression, and definitions are followed in the order in
    which they use each other, however long their chain.
    """

    def __init__(self, units: Mapping[str, str], definitions: Mapping[str, sp.Expr] | None = None) -> None:
        self.names = {name: dimension(unit, where=f"units.{name}") for name, unit in units.items()}
        self.definitions = definitions or {}
        self._found: dict[sp.Basic, Dimension | None] = {}

    def of(self, expression: sp.Expr, *, where: str) -> Dimension | None:
        """The dimension, or nothing where a name in it has no unit; what does not fit together is refused."""
        if expression not in self._found:
            for part in parts_first(expression, self._within):
                if part not in self._found and isinstance(part, sp.Expr):
                    self._found[part] = self._judged(part, where)
        return self._found[expression]

    def _within(self, part: sp.Basic) -> tuple[sp.Basic, ...]:
        """The parts of a part; of a definition without a unit of its own, what it stands for."""
        if isinstance(part, Definition) and part.name not in self.names and part.name in self.definitions:
            return (self.definitions[part.name],)
        return part.args

    def _function(self, value: FunctionValue) -> Dimension | None:
        """The unit of the function over those of the arguments it is differentiated by."""
        found = self.names.get(value.name)
        for argument, order in zip(value.of, value.orders, strict=True):
            by = self._found[argument]
            if order and found is not None:
                found = None if by is None else _times(found, _power(by, Fraction(-order)))
        return found

    def _judged(self, expression: sp.Expr, where: str) -> Dimension | None:
        """The dimension of a part whose own parts are known."""
        if expression.is_Symbol:
            return self._symbol(expression)
        if expression.is_number:
            return NONE if _plain(expression) else None
        if isinstance(expression, (sp.Add, sp.Min, sp.Max)):
            return self._alike(expression.args, expression, where)
        if isinstance(expression, sp.Mul):
            return self._product(expression.args)
        if isinstance(expression, sp.Pow):
            return self._raised(expression, where)
        if isinstance(expression, FunctionValue):
            return self._function(expression)
        if isinstance(expression, RateOf):
            inner = self._found[expression.args[0]]
            return None if inner is None else _times(inner, KNOWN["Hz"])
        if isinstance(expression, sp.Piecewise):
            return self._alike([value for value, _ in expression.args], expression, where)
        if isinstance(expression, sp.Abs):
            return self._found[expression.args[0]]
        if isinstance(expression, sp.atan2):
            self._alike(expression.args, expression, where)
            return NONE
        for argument in expression.args:
            if not isinstance(expression, sp.sign):
                self._pure(argument, expression, where)
        return NONE

    def _symbol(self, symbol: sp.Symbol) -> Dimension | None:
        if isinstance(symbol, Time):
            return KNOWN["s"]
        if symbol.name in self.names:
            return self.names[symbol.name]
        if isinstance(symbol, (Rate, Acceleration)):
            place = self.names.get(symbol.coordinate.name)
            return None if place is None else _times(place, _made(s=-1 if isinstance(symbol, Rate) else -2))
        if isinstance(symbol, Definition) and symbol.name in self.definitions:
            return self._found[self.definitions[symbol.name]]
        return None

    def _alike(self, parts: object, whole: sp.Expr, where: str) -> Dimension | None:
        found: Dimension | None = None
        complete = True
        for part in parts:  # type: ignore[attr-defined]
            if part == 0:
                continue
            here = self._found[part]
            complete = complete and here is not None
            if here is not None and found is not None and dict(here) != dict(found):
                raise BadStatement(
                    f"{text_of(found)} and {text_of(here)} are added in {_shown(whole)}",
                    where=where,
                    fix="correct the expression or the units; a number that has a unit must be given a name",
                )
            found = here if found is None else found
        return found if complete or found is not None else None

    def _product(self, parts: object) -> Dimension | None:
        total: Dimension | None = NONE
        for part in parts:  # type: ignore[attr-defined]
            here = self._found[part]
            total = None if here is None or total is None else _times(total, here)
        return total

    def _raised(self, power: sp.Pow, where: str) -> Dimension | None:
        if power.exp.is_Rational:
            base = self._found[power.base]
            return None if base is None else _power(base, Fraction(int(power.exp.p), int(power.exp.q)))
        self._pure(power.exp, power, where)
        self._pure(power.base, power, where)
        return NONE

    def _pure(self, argument: sp.Expr, whole: sp.Expr, where: str) -> None:
        found = self._found[argument]
        if found:
            raise BadStatement(
                f"a quantity in {text_of(found)} stands where a pure number belongs, in {_shown(whole)}",
                where=where,
                fix="divide it by a quantity of the same unit",
            )

    def expect(self, expression: sp.Expr, wanted: Dimension, what: str, *, where: str) -> None:
        """Refuse an expression whose dimension is known and another one."""
        found = None if expression == 0 else self.of(expression, where=where)
        if found is not None and dict(found) != dict(wanted):
            raise BadStatement(
                f"{what} is in {text_of(found) or '1'}, and belongs in {text_of(wanted) or '1'}",
                where=where,
                fix="correct the expression or the units",
            )


def _shown(expression: sp.Expr) -> str:
    """An expression in a message: as it is while it is short."""
    parts = sum(1 for _ in zip(parts_first(expression), range(LONGEST_SHOWN + 1), strict=False))
    return str(expression)[:300] if parts <= LONGEST_SHOWN else "a long expression"


def _plain(number: sp.Expr) -> bool:
    """Whether a number is one of a formula (1/2, 3, pi), not a quantity of nature written without its unit."""
    rational = number.as_coeff_Mul()[0]
    return bool(rational.is_Rational and abs(int(rational.p)) in FORMULA_NUMBERS and int(rational.q) in FORMULA_NUMBERS)
