"""Slopes of the code's operations: how much the rounding of each moves what is wanted, found from the last one back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers import functions
from holdfast.stability.verifier.numbers.forms import Array, Form, joined, undefined, where
from holdfast.stability.verifier.reading.code import FUNCTIONS, LIBRARY, QUOTIENT, ROUNDED, Code, Rounded, function_unit
from holdfast.stability.verifier.refusal import Refused, Unconfirmed

EXACT = ("neg", "min", "max", "select", "abs", "sign")  # operations that do not round


class CodeSlopes:
    """The operations that some places need, forwards with errors added up, and backwards; from places that are given,
    where these are some of them, which count as inputs."""

    def __init__(self, code: Code, outputs: Sequence[int], given: Collection[int] = ()) -> None:
        self.code, self.outputs, self._given = code, list(outputs), frozenset(given)
        self._first = len(code.inputs)
        needed, waiting = set[int](), list(outputs)
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                waiting += self.arguments(place)
        self.needed = sorted(place for place in needed - self._given if place >= self._first)
        self.places = sorted(needed)  # with inputs, and with those that are given
        self.inputs = {code.inputs[place] for place in needed if place < self._first}

    def arguments(self, place: int) -> list[int]:
        """The places that the operation at a place uses."""
        if place < self._first or place in self._given:
            return []
        op, *args = self.code.operations[place - self._first]
        if op == "table":
            raise Unconfirmed("data are not followed by slopes")
        return [] if op in ("const", "pi") else args[:1] if op == "power" else list(args)

    def followed(self, values: Mapping[str, Rounded], given: Mapping[int, Rounded] | None = None) -> dict[int, Rounded]:
        """The places that are needed over cells, each with a bound of its error."""
        return self.code.followed(values, self.needed, given)

    def moved(self, seeds: Sequence[Form], known: Mapping[int, Rounded], over: int) -> Array:
        """Σ |v̄ f| ε: how far rounding moves each of `over` combinations of the outputs; a bound for each and part."""
        slopes: dict[int, Form] = {}
        for place, seed in zip(self.outputs, seeds, strict=True):
            _add(slopes, place, seed)
        wide = _Wide(known, over)
        total = np.zeros(len(seeds[0].c))
        for place in reversed(self.needed):
            if place not in slopes:
                continue
            op, *args = self.code.operations[place - self._first]
            slope = slopes.pop(place)
            size = slope.bound()[:, 0]
            same = any(known[place] is known[arg] for arg in self.arguments(place))  # by one: nothing is rounded
            unit = np.broadcast_to(0.0 if same else self._unit(op, args, wide), size.shape)
            if unit.any():
                total += np.where(size > 0, size * wide.size(place) * unit, 0.0)
                slope = Form(slope.space, slope.c, slope.r + unit[:, None] * slope.bound())
            for arg, part in self._parts(op, args, place, slope, wide):
                _add(slopes, arg, part)
        return total

    @staticmethod
    def _unit(op: str, args: Sequence[Any], wide: _Wide) -> float | Array:
        """The relative error of one operation, as everywhere (`reading.code`)."""
        if op in EXACT:
            return 0.0
        if op == "const":
            return 0.0 if Fraction(float(args[0])) == args[0] else 2 * ROUNDED
        if op == "power":
            return 1.01 * max(0, int(args[1]) - 1) * ROUNDED  # of all products together: each factor counts once
        if op in ("pow", "atan2"):
            return LIBRARY
        if op in FUNCTIONS:
            return function_unit(op, *wide[args[0]].range())
        return QUOTIENT if op == "div" else 2 * ROUNDED if op == "pi" else ROUNDED

    def _parts(self, op: str, args: Sequence[Any], place: int, slope: Form, wide: _Wide) -> list[tuple[int, Form]]:
        """What each argument gets of the slope of a result."""
        if op in ("const", "pi", "sign"):
            return []
        if op == "power":
            exponent = int(args[1])
            below = slope if exponent == 1 else slope * functions.power(wide[args[0]], exponent - 1)
            return [(args[0], below.scaled(float(exponent)))]
        match op:
            case "add":
                return [(args[0], slope), (args[1], slope)]
            case "sub":
                return [(args[0], slope), (args[1], -slope)]
            case "neg":
                return [(args[0], -slope)]
            case "mul":
                return [(args[0], slope * wide[args[1]]), (args[1], slope * wide[args[0]])]
            case "div":
                share = functions.divided(slope, wide[args[1]])
                return [(args[0], share), (args[1], -(share * wide[place]))]
            case "pow":
                base, part = wide[args[0]], slope * wide[place]
                by_base = functions.divided(part * wide[args[1]], base)
                return [(args[0], by_base), (args[1], part * functions.applied("log", base))]
            case "select":
                low, high = wide[args[0]].range()
                none = Form.constant(slope.space, np.zeros(len(low)))
                lost = undefined(slope)
                first = where(low > 0, slope, where(high <= 0, none, lost))
                return [(args[1], first), (args[2], where(low > 0, none, where(high <= 0, slope, lost)))]
            case "min" | "max":
                low, high = (wide[args[0]] - wide[args[1]]).range()
                smaller, larger = high < 0, low > 0
                none, lost = Form.constant(slope.space, np.zeros(len(low))), undefined(slope)
                one, other = (smaller, larger) if op == "min" else (larger, smaller)
                return [
                    (args[0], where(one, slope, where(other, none, lost))),
                    (args[1], where(one, none, where(other, slope, lost))),
                ]
            case "atan2":
                y, x = wide[args[0]], wide[args[1]]
                share = functions.divided(slope, x * x + y * y)
                return [(args[0], share * x), (args[1], -(share * y))]
        return [(args[0], _of_function(op, slope, wide[args[0]], wide[place]))]


def _of_function(op: str, slope: Form, a: Form, v: Form) -> Form:
    """The slope of v = f(a), times another."""
    one = Form.constant(a.space, np.ones(len(a.c)))
    match op:
        case "sqrt":
            return functions.divided(slope, v).scaled(0.5)
        case "exp":
            return slope * v
        case "log":
            return functions.divided(slope, a)
        case "sin":
            return slope * functions.applied("cos", a)
        case "cos":
            return -(slope * functions.applied("sin", a))
        case "tan":
            return slope * (one + v * v)
        case "asin" | "acos":
            share = functions.divided(slope, functions.applied("sqrt", one - a * a))
            return share if op == "asin" else -share
        case "atan":
            return functions.divided(slope, one + a * a)
        case "sinh" | "cosh":
            return slope * functions.applied("cosh" if op == "sinh" else "sinh", a)
        case "tanh":
            return slope * (one - v * v)
        case "abs":
            low, high = a.range()
            return where(low > 0, slope, where(high < 0, -slope, undefined(slope)))
    raise Refused(f"the operation {op[:30]!r} is not known")


class _Wide:
    """The places of the code with their errors, as often as there are combinations."""

    def __init__(self, known: Mapping[int, Rounded], over: int) -> None:
        self._known, self._over = known, over
        self._made: dict[int, Form] = {}

    def __getitem__(self, place: int) -> Form:
        if place not in self._made:
            one = self._known[place]
            form = Form(one.form.space, one.form.c, one.form.r + one.error[:, None])
            self._made[place] = joined([form] * self._over)
        return self._made[place]

    def size(self, place: int) -> Array:
        one = self._known[place]
        return np.tile(one.size + one.error, self._over)


def _add(slopes: dict[int, Form], place: int, part: Form) -> None:
    slopes[place] = slopes[place] + part if place in slopes else part
