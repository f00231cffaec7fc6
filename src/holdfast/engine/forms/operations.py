"""Operations of the graph in terms of those of the kernel; what is missing here is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.engine.forms.tape import Recorder, Value

Once = Callable[[str, Any], int]  # a function of a value, recorded once
LIBRARY = ("tan", "sinh", "cosh", "tanh", "pow")  # what a run asks the system for
ONE, TWO, HALF = Fraction(1), Fraction(2), Fraction(1, 2)


def _div(tape: Recorder, once: Once, a: Value, b: Value) -> Value:
    if isinstance(b, Fraction) and b:
        return tape.mul(a, 1 / b) if not tape.rounds else tape.mul(a, once("recip", b))
    return tape.mul(a, once("recip", b))


def _tan(tape: Recorder, once: Once, a: Value) -> Value:
    sine = once("sin", a)
    return tape.mul(sine, once("recip", sine + 1))


def _sinh(tape: Recorder, once: Once, a: Value) -> Value:
    grown = once("exp", a)
    return tape.mul(tape.sub(grown, once("recip", grown)), HALF)


def _cosh(tape: Recorder, once: Once, a: Value) -> Value:
    grown = once("exp", a)
    return tape.mul(tape.add(grown, once("recip", grown)), HALF)


def _tanh(tape: Recorder, once: Once, a: Value) -> Value:
    """1 − 2/(e²ᵃ + 1)."""
    below = tape.add(once("exp", tape.mul(a, TWO)), ONE)
    return tape.sub(ONE, tape.mul(once("recip", below), TWO))


OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda tape, once, a, b: tape.add(a, b),
    "sub": lambda tape, once, a, b: tape.sub(a, b),
    "mul": lambda tape, once, a, b: tape.mul(a, b),
    "neg": lambda tape, once, a: tape.mul(a, Fraction(-1)),
    "div": _div,
    "sqrt": lambda tape, once, a: once("sqrt", a),
    "sin": lambda tape, once, a: once("sin", a),
    "cos": lambda tape, once, a: once("sin", a) + 1,
    "exp": lambda tape, once, a: once("exp", a),
    "log": lambda tape, once, a: once("log", a),
    "tan": _tan,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "pow": lambda tape, once, a, b: once("exp", tape.mul(b, once("log", a))),
}
