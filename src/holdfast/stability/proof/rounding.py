"""Rounding of one step, bounded over a box: what doubles add to the deviations beside the scheme.

Each operation of the graph is taken to be wrong by at most 2⁻⁵¹ of its result (a quotient may be made of two
operations), each elementary function by four times that, and errors are carried through by the slopes of the
operations over the box. The pairs (value, error) are an arithmetic like any other, so the step is evaluated on the
same graph, with parameters as the inputs they are in the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from holdfast.equations.equations import Equations
from holdfast.errors import Undecided
from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.balls import JUMPING, ball, balls, continuous_balls
from holdfast.graph.derivatives import jacobian
from holdfast.graph.evaluate import Tape
from holdfast.graph.nodes import ancestors
from holdfast.schemes.kinds.runge_kutta import RungeKutta
from holdfast.stability.proof.enclosure import Ball, ball_matrix, column, entries, norm, symmetric

UNIT = 2.0**-51
FUNCTION = 4 * UNIT
LEAST = 2.0**-1000  # for results that underflow

Pair = tuple[Any, Any]  # the value over the box and a bound of its error, both balls


def _size(value: Ball) -> Ball:
    return value.abs_upper()


def _made(value: Ball, carried: Ball, unit: float = UNIT) -> Pair:
    """A result with its carried error and its own rounding."""
    return value, carried + (_size(value) + carried) * unit + LEAST


def _add(a: Pair, b: Pair) -> Pair:
    return _made(a[0] + b[0], a[1] + b[1])


def _sub(a: Pair, b: Pair) -> Pair:
    return _made(a[0] - b[0], a[1] + b[1])


def _mul(a: Pair, b: Pair) -> Pair:
    return _made(a[0] * b[0], _size(a[0]) * b[1] + _size(b[0]) * a[1] + a[1] * b[1])


def _div(a: Pair, b: Pair) -> Pair:
    least = b[0].abs_lower() - b[1]
    if not least > 0:
        return a[0] / b[0], ball(1) / ball(0)
    value = a[0] / b[0]
    return _made(value, (a[1] + _size(value) * b[1]) / least)


def _neg(a: Pair) -> Pair:
    return -a[0], a[1]


def _power(a: Pair, exponent: int) -> Pair:
    """As the kernels do it: repeated squaring, lowest bit first."""
    result: Pair | None = None
    while True:
        if exponent & 1:
            result = a if result is None else _mul(result, a)
        exponent >>= 1
        if not exponent:
            return result if result is not None else (ball(1), ball(0))
        a = _mul(a, a)


def _smooth(name: str, slope: Callable[[Ball], Ball]) -> Callable[[Pair], Pair]:
    """A function of one operand with the size of its slope over a widened box."""
    function = balls().functions[name]

    def value(a: Pair) -> Pair:
        wide = a[0] + a[1] * symmetric(1.0)
        return _made(function(a[0]), _size(slope(wide)) * a[1], FUNCTION)

    return value


def _atan2(y: Pair, x: Pair) -> Pair:
    import flint

    up, right = (value + error * symmetric(1.0) for value, error in (y, x))
    if not right > 0 and up.contains(0):  # the angle jumps there
        return flint.arb.atan2(y[0], x[0]), ball(7)
    square = (right * right + up * up).abs_lower()
    carried = (_size(x[0]) * y[1] + _size(y[0]) * x[1]) / square
    return _made(flint.arb.atan2(y[0], x[0]), 2 * carried, FUNCTION)


def _pow(a: Pair, b: Pair) -> Pair:
    value = a[0] ** b[0]
    carried = _size(value) * (_size(b[0]) * a[1] / a[0].abs_lower() + _size(a[0].log()) * b[1])
    return _made(value, 2 * carried, FUNCTION)


def _select(c: Pair, a: Pair, b: Pair) -> Pair:
    wide = c[0] + c[1] * symmetric(1.0)
    if wide > 0:
        return a
    if wide <= 0:
        return b
    both = a[0].union(b[0])
    return both, a[1].max(b[1]) + _size(a[0] - b[0])


def _sign(a: Pair) -> Pair:
    wide = a[0] + a[1] * symmetric(1.0)
    return a[0].sgn(), ball(0) if wide > 0 or wide < 0 else ball(2)


@cache
def rounded_balls() -> Arithmetic:
    """Values over a box together with bounds of their rounding."""
    one = ball(1)
    slopes: dict[str, Callable[[Ball], Ball]] = {
        "sqrt": lambda a: one / (2 * a.sqrt()),
        "exp": lambda a: a.exp(),
        "log": lambda a: one / a,
        "sin": lambda a: one,
        "cos": lambda a: one,
        "tan": lambda a: 1 + a.tan() ** 2,
        "asin": lambda a: one / (1 - a**2).sqrt(),
        "acos": lambda a: one / (1 - a**2).sqrt(),
        "atan": lambda a: one,
        "sinh": lambda a: a.cosh(),
        "cosh": lambda a: a.sinh(),
        "tanh": lambda a: one,
    }
    functions: dict[str, Callable[..., Any]] = {name: _smooth(name, slope) for name, slope in slopes.items()}
    functions |= {
        "add": _add, "sub": _sub, "mul": _mul, "div": _div, "neg": _neg, "power": _power, "pow": _pow, "atan2": _atan2,
        "abs": lambda a: (abs(a[0]), a[1]), "sign": _sign, "select": _select,
        "min": lambda a, b: (a[0].min(b[0]), a[1].max(b[1])), "max": lambda a, b: (a[0].max(b[0]), a[1].max(b[1])),
    }  # fmt: skip
    return Arithmetic("rounded balls", functions, constant=_constant, pi=lambda: _made(balls().pi(), ball(0)), infix={})


def _constant(value: Fraction) -> Pair:
    exact = Fraction(float(value)) == value if abs(value) < 10**300 else False
    return (ball(value), ball(0)) if exact else _made(ball(value), ball(0))


class RoundingModel:
    """Bounds ‖Lᵀ(error of ψ)‖ that the rounding of one step causes, over boxes of the whole state."""

    def __init__(
        self,
        equations: Equations,
        places: Sequence[int],
        scheme: RungeKutta,
        step: float,
        factor: np.ndarray,
        parameters: Sequence[float],
        moment: float,
    ) -> None:
        field = equations.field
        self._clock = ball(float(moment)) * 4 * UNIT  # of t = begin + count·step, and of the stages within
        self._scheme, self._step = scheme, step
        self._factor = ball_matrix(factor.T)
        self._rates = Tape(field.inputs, field.rates).compiled(rounded_balls())
        psi = [*equations.deviations.y, *equations.deviations.w]
        own = [psi[i] for i in places]
        rows = jacobian(own, (field.time, *field.state))
        self._places = [list(row) for row in rows]
        self._slopes = Tape(field.inputs, tuple(node for row in rows for node in row.values())).compiled(balls())
        self._parameters = [(ball(float(p)), ball(0)) for p in parameters]
        jumps = any(node.op in JUMPING for node in ancestors(own))
        self._own = Tape(field.inputs, tuple(own)).compiled(continuous_balls()) if jumps else None

    def _steady(self, place: Sequence[Ball]) -> bool:
        """Whether no deviation may jump between the exact state after a step and the rounded one."""
        if self._own is None:
            return True
        try:
            self._own(place)
        except Undecided:
            return False
        return True

    def bound(self, time: Ball, state: Sequence[Ball]) -> float:
        """Over one box: stages with errors, the new state with its error, and what that does to ψ."""
        step = (ball(self._step), ball(0))
        clock = self._clock
        x: list[Pair] = [(value, ball(0)) for value in state]
        stages: list[list[Pair]] = []
        for node, row in zip(self._scheme.nodes, self._scheme.stages, strict=True):
            place = _advanced(x, step, row, stages)
            stages.append(self._rates([(time + ball(node) * step[0], clock), *place, *self._parameters]))
        after = _advanced(x, step, self._scheme.weights, stages)
        wide = [*(v + e * symmetric(1.0) for v, e in ((time + step[0], clock), *after))]
        wide += [p for p, _ in self._parameters]
        if not self._steady(wide):
            return math.inf
        values = self._slopes(wide)
        flat = iter(values)
        moved = []
        for columns in self._places:
            total = ball(0)
            for j in columns:
                total = total + _size(next(flat)) * (clock if j == 0 else after[j - 1][1])
            moved.append(total * symmetric(1.0))
        return norm(entries(self._factor * column(moved)))


def _advanced(x: list[Pair], step: Pair, weights: Sequence[Any], stages: list[list[Pair]]) -> list[Pair]:
    """x + step Σ b K with the rounding of a driver that adds the terms one by one, in any order."""
    used = [(_constant(Fraction(b)), stage) for b, stage in zip(weights, stages, strict=False) if b]
    result = []
    for i, value in enumerate(x):
        total = value
        for weight, stage in used:
            total = _add(total, _mul(_mul(step, weight), stage[i]))
        moved = sum((_size(weight[0]) * _size(stage[i][0]) for weight, stage in used), ball(0)) * step[0]
        carried = total[1] + (len(used) + 2) * UNIT * moved
        result.append((total[0], carried))
    return result
