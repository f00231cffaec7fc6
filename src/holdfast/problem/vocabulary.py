"""The door: every expression of a problem passes here, and comes out exact, with declared symbols only.

Within a problem a symbol *is* its name: a free symbol is replaced by the declared one of that name, or refused. A
float means its shortest decimal (0.1 is 1/10). What an expression may depend on is judged through definitions and
rates.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from holdfast.common.nearest import did_you_mean
from holdfast.errors import BadExpression, BadStatement, HoldfastError
from holdfast.problem.derivative import kinds_and_symbols
from holdfast.problem.functions import FunctionValue, StatedFunction
from holdfast.problem.quantities import (
    Acceleration,
    Control,
    Coordinate,
    Definition,
    Deviation,
    DeviationRate,
    Multiplier,
    NamedSymbol,
    Parameter,
    Rate,
    RateOf,
    Result,
    State,
    Time,
    check_name,
    deviation_chain,
    plain_symbols,
    time,
)

Kinds = tuple[type[NamedSymbol], ...]
CONSTANT: Kinds = (Parameter,)
POSITION: Kinds = (Parameter, Time, Coordinate, State)
MOTION: Kinds = (Parameter, Time, Coordinate, State, Rate)
FORCE: Kinds = (*MOTION, Multiplier)
STATE_RATE: Kinds = (*MOTION, Control)
RESULT: Kinds = (*MOTION, Acceleration, Result, Multiplier)
LAW: Kinds = (Parameter, Time, Coordinate, State, Rate, Deviation, DeviationRate)

WORDS = {
    Coordinate: "coordinate",
    Rate: "rate",
    Acceleration: "acceleration",
    Result: "result",
    Time: "time",
    State: "state",
    Parameter: "parameter",
    Deviation: "deviation",
    DeviationRate: "deviation rate",
    Definition: "definition",
    Control: "control",
    Multiplier: "multiplier",
}

COLUMNS = frozenset(
    "kinetic potential energy power_forces power_dissipation power_held power_correction power_explicit power_added "
    "deviation_norm".split()
)  # of every run
QUANTITIES = (
    "coordinate",
    "state",
    "parameter",
    "definition",
    "control",
)  # that a run has columns of, or could be asked

KNOWN_FUNCTIONS = (
    sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.atan2, sp.sinh, sp.cosh, sp.tanh, sp.exp, sp.log,
    sp.Abs, sp.sign, sp.Min, sp.Max, sp.Heaviside, sp.Piecewise, RateOf, sp.sec, sp.csc, sp.cot,
)  # fmt: skip

PLAIN = frozenset((
    sp.Add, sp.Mul, sp.Pow, sp.Integer, sp.Rational, type(sp.pi), type(sp.E), *map(type, (sp.S.Zero, sp.S.One)),
    *map(type, (sp.S.NegativeOne, sp.S.Half)), *(f for f in KNOWN_FUNCTIONS if f not in (RateOf, sp.Piecewise)),
))  # fmt: skip


class Vocabulary:
    """The names of a system or of a problem and what each stands for; closed once they are all declared."""

    def __init__(self) -> None:
        self._closed = False
        self._symbols: dict[str, NamedSymbol] = {"t": time}
        self._depends: dict[str, frozenset[NamedSymbol]] = {}  # of definitions, and of the rates of states
        self._functions: dict[str, FunctionValue] = {}  # functions of the motion, those of time with their rates
        self._other: dict[str, str] = {}  # constraints, controls, points: names that are no symbols
        self._points: dict[str, tuple[sp.Expr, ...]] = {}

    def closed(self) -> Vocabulary:
        """This vocabulary; from now on it takes no more names."""
        self._closed = True
        return self

    def copy(self) -> Vocabulary:
        """An open one with the same names."""
        other = Vocabulary()
        other._symbols, other._depends, other._other = dict(self._symbols), dict(self._depends), dict(self._other)
        other._functions, other._points = dict(self._functions), dict(self._points)
        return other

    # ── declaring ─────────────────────────────────────────────────────────────────────────────────

    def declare(self, symbol: NamedSymbol, *, where: str) -> None:
        self._claim(symbol.name, WORDS[type(symbol)], where)
        self._symbols[symbol.name] = symbol
        if isinstance(symbol, Coordinate):
            self._symbols[symbol.rate.name] = symbol.rate
            self._symbols[symbol.acceleration.name] = symbol.acceleration

    def declare_name(self, name: str, word: str, *, where: str) -> None:
        """A constraint, control or point: it takes a name, but is not a quantity in expressions."""
        if word == "control" and name not in self._other and isinstance(self._symbols.get(name), Control):
            self._other[name] = word  # a state has announced it
            return
        self._claim(name, word, where)
        self._other[name] = word

    def announce(self, multiplier: Multiplier) -> None:
        """A multiplier of the program to come, which forces or losses use."""
        self._symbols[multiplier.name] = multiplier

    def declare_function(self, name: str, stated: StatedFunction, *, where: str) -> None:
        """A function of declared quantities; one of time is known with its first two rates."""
        self._claim(name, "function", where)
        value = stated.at(name)
        self._functions[name] = value
        if value.of_time:
            self._functions |= {f"{name}_dot": value.partial(0), f"{name}_ddot": value.partial(0).partial(0)}

    def define(self, name: str, expression: sp.Expr, *, where: str) -> None:
        """A definition: a name for an expression that has already been admitted."""
        self.declare(Definition(name), where=where)
        self.define_depends(name, expression)

    def define_depends(self, name: str, expression: sp.Expr) -> None:
        """What a declared definition depends on."""
        self._depends[name] = frozenset(self.dependence(expression))

    def declare_rate(self, state: str, rate: sp.Expr) -> None:
        """What the rate of a first-order state depends on, once it has been admitted."""
        self._depends[state] = frozenset(self.dependence(rate))

    def with_deviations(
        self, holonomic: Iterable[str], nonholonomic: Iterable[str], degrees: Mapping[str, int] | None = None
    ) -> Vocabulary:
        """This vocabulary and the deviations that a law may speak of; `degrees` are those above the usual."""
        wider = self.copy()
        for constraint in holonomic:
            wider._symbols[f"y_{constraint}"] = Deviation(constraint)
        for constraint in (*holonomic, *nonholonomic):
            wider._symbols[f"w_{constraint}"] = DeviationRate(f"w_{constraint}")
        for constraint, degree in (degrees or {}).items():
            for name in deviation_chain(constraint, constraint in holonomic, degree)[1:]:
                if name in self:
                    raise BadStatement(
                        f"the name {name!r} is given twice: {constraint!r} is of degree {degree}, and a rate of its "
                        "deviation is called so",
                        where=name,
                        fix="rename it",
                    )
                wider._symbols[name] = DeviationRate(name)
        return wider.closed()

    def with_results(self, names: Iterable[str]) -> Vocabulary:
        """This vocabulary and the names of what a run shows: forces, deviations, energies, accelerations."""
        wider = self.copy()
        for name in names:
            if not isinstance(wider._symbols.get(name), (Coordinate, Rate, State, Parameter)):
                wider._symbols[name] = Result(name)
        return wider.closed()

    def _claim(self, name: str, word: str, where: str) -> None:
        assert not self._closed, f"{name!r} comes after the vocabulary was closed"
        check_name(name, where=where)
        if name in COLUMNS and word in QUANTITIES:
            fix = f"call it something else, e.g. {name}0"
            raise BadStatement(f"the name {name!r} is kept for a result of every run", where=where, fix=fix)
        taken = self._other.get(name) or (WORDS[type(self._symbols[name])] if name in self._symbols else "")
        taken = taken or ("function" if name in self._functions else "")
        if taken:
            raise BadStatement(
                f"the {word} {name!r} is given twice"
                if taken == word
                else f"the name {name!r} is given twice: as {a(taken)} and as {a(word)}",
                where=where,
                fix="names are unique within a problem: rename one of them",
            )

    # ── looking up ────────────────────────────────────────────────────────────────────────────────

    def __contains__(self, name: str) -> bool:
        return name in self._symbols or name in self._functions

    def __getitem__(self, name: str) -> NamedSymbol | FunctionValue:
        return self._symbols[name] if name in self._symbols else self._functions[name]

    def symbol(self, name: str) -> NamedSymbol | None:
        """The symbol of a name; None if it has none, or is the name of a function."""
        return self._symbols.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self._symbols, *self._functions)

    def other_word(self, name: str) -> str:
        """What a name stands for that is no quantity: "constraint", "control", "point"; empty if it is not taken so."""
        return self._other.get(name, "")

    def suggestion(self, name: str, kinds: Kinds = ()) -> str:
        """A hint for a name that is not known: the nearest known one (of these kinds, if given), or the list."""
        known = [other for other, symbol in self._symbols.items() if not kinds or isinstance(symbol, kinds)]
        known += [] if kinds else list(self._functions)
        shown = [other for other in known if not other.endswith("_ddot")]
        listed = "known names: " + ", ".join(shown[:24]) + (", ..." if len(shown) > 24 else "")
        return did_you_mean(name, known, listed)

    def find(self, key: Any, kinds: Kinds, *, where: str) -> NamedSymbol:
        """The declared symbol that a key (a symbol or a name) means, if it is of one of these kinds."""
        name = key if isinstance(key, str) else getattr(key, "name", None)
        if not isinstance(name, str) or name not in self._symbols:
            raise BadStatement(f"unknown name {str(key)!r}", where=where, fix=self.suggestion(name or str(key), kinds))
        symbol = self._symbols[name]
        if not isinstance(symbol, kinds):
            wanted = " or ".join(WORDS[kind] for kind in kinds)
            raise BadStatement(f"{name!r} is {a(WORDS[type(symbol)])}", where=where, fix=f"{a(wanted)} belongs here")
        return symbol

    # ── admitting ─────────────────────────────────────────────────────────────────────────────────

    def admit(self, value: Any, allowed: Kinds, *, where: str) -> sp.Expr:
        """The expression, or its text, exact and in declared symbols, if it depends only on what is allowed here."""
        if isinstance(value, sp.Expr) and self._plainly_allowed(value, allowed):
            return value
        expression = exact(self._read(value, where) if isinstance(value, str) else value, where=where)
        if expression.has(AppliedUndef, sp.Derivative):
            moving = [name for name, symbol in self._symbols.items() if isinstance(symbol, Coordinate)]
            expression = plain_symbols(expression, moving)
        replacements = {}
        for symbol in expression.free_symbols:
            declared = self._symbols.get(symbol.name)
            if declared is None:
                raise self._unknown(symbol, where)
            if declared != symbol:
                replacements[symbol] = declared
        if replacements:
            expression = expression.xreplace(replacements)
        for value in expression.atoms(FunctionValue):
            self._check_function(value, where)
        self._judge(expression, allowed, where)
        return expression

    def _plainly_allowed(self, expression: sp.Expr, allowed: Kinds) -> bool:
        """Whether one look shows that nothing of an expression is to be changed or refused: ordinary operations on
        exact numbers and declared symbols.
        """
        kinds, symbols = kinds_and_symbols(expression)
        if not kinds <= PLAIN:
            return False
        return all(
            self._symbols.get(symbol.name) == symbol
            and (
                all(isinstance(other, allowed) for other in self._depends.get(symbol.name, ()))
                if isinstance(symbol, Definition)
                else isinstance(symbol, allowed)
            )
            for symbol in symbols
        )

    def add_point(self, name: str, position: tuple[sp.Expr, ...]) -> None:
        """A point whose components texts may speak of: ``tip.x``."""
        self._points[name] = position

    def _read(self, text: str, where: str) -> sp.Expr:
        """The text of an expression, as problem files have it; nothing in it is ever run."""
        from holdfast.problem.text.expression import parse

        try:
            found = parse(text, self, self._points)
        except HoldfastError as error:
            raise BadExpression(f"{error.what}, in {text[:60]!r}", where=where, fix=error.fix) from None
        if not isinstance(found, sp.Expr):
            raise BadExpression(f"{text[:60]!r} is a vector", where=where, fix="take a component: tip.x")
        return found

    def _check_function(self, value: FunctionValue, where: str) -> None:
        known = self._functions.get(value.name)
        if known is None:
            raise BadExpression(
                f"the function {value.name!r} is not declared", where=where, fix=self.suggestion(value.name)
            )
        if min(value.orders) < 0:
            raise BadExpression(
                f"a primitive of {value.name!r} has no value", where=where, fix="state the primitive as a function"
            )
        if known.of != value.of:
            ours, theirs = (", ".join(map(str, arguments)) for arguments in (known.of, value.of))
            raise BadExpression(
                f"{value.name!r} is a function of {ours}, and of {theirs} here",
                where=where,
                fix="give functions of different arguments different names",
            )

    def _unknown(self, symbol: sp.Symbol, where: str) -> BadExpression:
        name, word = symbol.name, self._other.get(symbol.name)
        if isinstance(symbol, Parameter):
            return BadExpression(
                f"the parameter {name!r} is not one of this problem",
                where=where,
                fix=f"use it in the system, the program or the law, or declare it: parameters={{{name}: None}}",
            )
        what = f"{name!r} is {a(word)}, not a quantity" if word else f"unknown name {name!r}"
        return BadExpression(what, where=where, fix=self.suggestion(name))

    def _judge(self, expression: sp.Expr, allowed: Kinds, where: str) -> None:
        for call in expression.atoms(sp.Function):
            if not isinstance(call, KNOWN_FUNCTIONS):
                raise BadExpression(
                    f"the function {call.func.__name__!r} is not known",
                    where=where,
                    fix="sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh abs sign min max, Piecewise",
                )
        for call in expression.atoms(RateOf) if Result not in allowed else ():
            if any(isinstance(symbol, Multiplier) for symbol in self.dependence(call.args[0])):
                raise BadExpression("the rate of a multiplier is not known", where=where, fix="use its value")
        for symbol in sorted(self.dependence(expression), key=lambda s: s.name):
            if not isinstance(symbol, allowed):
                wanted = ", ".join(WORDS[kind] + "s" if kind is not Time else "time" for kind in allowed)
                raise BadExpression(
                    f"{symbol.name!r} is {a(WORDS[type(symbol)])} and may not occur here",
                    where=where,
                    fix=f"this expression may depend on {wanted}" + _elsewhere(symbol, where),
                )

    def dependence(self, expression: sp.Expr) -> set[NamedSymbol]:
        """The declared quantities that an expression depends on, through definitions and rates."""
        found: set[NamedSymbol] = set()
        for symbol in expression.free_symbols:
            found |= self._depends.get(symbol.name, frozenset()) if isinstance(symbol, Definition) else {symbol}
        for call in expression.atoms(RateOf):
            inside = self.dependence(call.args[0])
            found |= {s.rate for s in inside if isinstance(s, (Coordinate, Rate))}
            found |= {d for s in inside if isinstance(s, State) for d in self._depends.get(s.name, frozenset())}
        return found


def a(word: str) -> str:
    """A word with its article."""
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def _elsewhere(symbol: NamedSymbol, where: str) -> str:
    """Where a rate in a holonomic function belongs instead."""
    moved = isinstance(symbol, Rate) and where.startswith("program.holonomic")
    return "; a function of rates belongs to nonholonomic" if moved else ""


def exact(value: Any, *, where: str = "") -> sp.Expr:
    """A number or expression with every float replaced by its shortest decimal; strings are refused, never parsed."""
    if isinstance(value, sp.Rational):
        return value
    if isinstance(value, sp.Expr):
        expression = value
    elif isinstance(value, bool) or not isinstance(value, (int, float, Fraction, numbers.Real)):
        hint = (
            "write it with symbols, not in quotes" if isinstance(value, str) else "give a number or a SymPy expression"
        )
        raise BadExpression(f"{value!r} is not an expression", where=where, fix=hint)
    else:
        expression = _exact_number(value, where)
    floats = expression.atoms(sp.Float)
    if floats:
        expression = expression.xreplace({f: _exact_number(float(f), where) for f in floats})
    for bad in (sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
        if expression.has(bad):
            raise BadExpression(f"the expression contains {bad}", where=where, fix="values must be finite and real")
    return expression


def _exact_number(value: Any, where: str) -> sp.Expr:
    if isinstance(value, numbers.Rational):
        return sp.Rational(int(value.numerator), int(value.denominator))
    number = float(value)
    if not math.isfinite(number):
        raise BadExpression(f"{number} is not a finite number", where=where, fix="values must be finite and real")
    fraction = Fraction(repr(number))
    return sp.Rational(fraction.numerator, fraction.denominator)


def name_of(key: Any) -> str:
    """The name that a key stands for: a symbol's, or the text itself."""
    return key if isinstance(key, str) else str(getattr(key, "name", key))


def by_name(given: Mapping[Any, Any], *, where: str) -> dict[str, Any]:
    """A mapping with names for keys, from one whose keys are symbols or names; a key given twice is refused."""
    if not isinstance(given, Mapping):
        raise BadStatement(f"expected a mapping, got {type(given).__name__}", where=where, fix="write {name: value}")
    named: dict[str, Any] = {}
    for key, value in given.items():
        name = name_of(key)
        if name in named:
            raise BadStatement(f"{name!r} is given twice", where=where, fix="keep one of the two")
        named[name] = value
    return named
