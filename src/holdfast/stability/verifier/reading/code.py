"""The operations that are run, as the certificate lists them: what they compute, and what doubles do to it.

Each operation is rounded to nearest: it is wrong by at most 2⁻⁵³ of its result, and a fused product rounds less. A
quotient counts twice, for it may be made of a reciprocal and a product; by one, neither rounds. Sine, cosine,
exponential and logarithm count eight times, the library's functions sixteen. Errors are carried through by the slopes
of the operations over the cell (running error analysis).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers import functions
from holdfast.stability.verifier.numbers.evaluate import ball_function, ball_power, between
from holdfast.stability.verifier.numbers.forms import GROWTH, Array, Form, undefined, where
from holdfast.stability.verifier.numbers.pieces import Pieces
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.schemes import Tableau

ROUNDED = 2.0**-53
QUOTIENT = 2.01 * ROUNDED
FUNCTION = 2.0**-50
LIBRARY = 2.0**-49
ANGLES, EXPONENTS, NORMAL = 2.0**30, 708.0, 2.0**-1022  # of sin and cos, exp, log: beyond these a run asks the library
ENDS = 2.0**-49  # of ends that are computed from others: more than a few roundings
LEAST = 2.0**-1000
TRUSTED = 1 + 1e-6  # numpy's functions are trusted to one part in 10⁶ where they bound slopes
ARITHMETIC = {"add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "pow": 2, "atan2": 2, "min": 2, "max": 2, "select": 3}
FUNCTIONS = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "abs", "sign")
ARITY = ARITHMETIC | dict.fromkeys(FUNCTIONS, 1)


def clock_error(begin: float, low: float, high: float, step: float, tableau: Tableau) -> float:
    """How wrong a time may be in steps that begin between two: row k lies at k step from where the run began, which is
    at the latest among them. One rounding of k step and one of the sum, both at each end of a step; the time of a stage
    is made from that of its row by three.
    """
    first, last = min(begin, low), max(begin, high)
    reach = step * max(1.0, *(abs(float(node)) for node in tableau.nodes))
    return 2.01 * ROUNDED * (max(abs(first), abs(last)) + last - first + 2 * reach)


@dataclass(frozen=True)
class Passes:
    """How rows that may repeat each other are met: W, the places of (a, λ) after each pass but the last, whose a are
    rates, and those of (r₂, δ), what the pass before leaves unmet and what a pass adds to a, of each."""

    weights: tuple[Fraction, ...]
    results: tuple[tuple[int, ...], ...]
    changes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Code:
    """Rates of the state from inputs by a list of operations; an operation names earlier places."""

    inputs: tuple[str, ...]
    operations: tuple[tuple[Any, ...], ...]
    rates: tuple[int, ...]
    tables: Mapping[str, Pieces] = field(default_factory=dict)  # of data that it reads
    noise: tuple[tuple[int, ...], ...] = ()  # the places of intensities, by channel and coordinate
    passes: Passes | None = None

    def balls(self, values: Mapping[str, Any]) -> list[Any]:
        """The rates in balls at one point."""
        known = self.known(values)
        return [known[k] for k in self.rates]

    def known(self, values: Mapping[str, Any], instead: Mapping[int, Any] | None = None) -> list[Any]:
        """Inputs and all operations in balls at one point; those after a place take what is given `instead` of it."""
        import flint

        known = [values[name] for name in self.inputs]
        found = list(known)
        for place, (op, *args) in enumerate(self.operations, len(known)):
            if op == "const":
                found.append(flint.arb(flint.fmpq(args[0].numerator, args[0].denominator)))
            elif op == "pi":
                found.append(flint.arb.pi())
            elif op == "power":
                found.append(ball_power(known[args[0]], args[1]))
            elif op == "table":
                found.append(args[2].ball(args[1], known[args[0]], flint))
            else:
                found.append(_ball(op, [known[k] for k in args], flint))
            known.append(found[-1] if instead is None else instead.get(place, found[-1]))
        return found

    def rounded(self, values: Mapping[str, Rounded]) -> list[Rounded]:
        """The rates over cells, each with a bound of its rounding error."""
        first = len(self.inputs)
        known = self.followed(values, range(first, first + len(self.operations)))
        return [known[k] for k in self.rates]

    def followed(
        self, values: Mapping[str, Rounded], places: Iterable[int], given: Mapping[int, Rounded] | None = None
    ) -> dict[int, Rounded]:
        """Inputs and some operations, in their order, over cells, each with a bound of its error; some are `given`."""
        known = {k: values[name] for k, name in enumerate(self.inputs) if name in values} | dict(given or {})
        like = known[0]
        for place in places:
            if place in known:
                continue
            op, *args = self.operations[place - len(self.inputs)]
            if op == "const":
                known[place] = constant(args[0], like.form)
            elif op == "pi":
                known[place] = _made(Form.constant(like.form.space, np.full(like.cells, np.pi), 2e-16), 0.0)
            elif op == "power":
                known[place] = _power(known[args[0]], args[1])
            elif op == "table":
                known[place] = tabled(known[args[0]], *args[1:])
            else:
                known[place] = _applied(op, [known[k] for k in args])
        return known


def _ball(op: str, args: list[Any], flint: Any) -> Any:
    match op:
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1]
        case "neg":
            return -args[0]
        case "pow":
            return args[0] ** args[1]
        case "select":
            return args[1] if args[0] > 0 else args[2] if args[0] <= 0 else args[1].union(args[2])
    return ball_function(op, args, flint)


@dataclass(eq=False)
class Rounded:
    """A value over cells, and a bound of the error of its double."""

    form: Form
    error: Array

    @property
    def cells(self) -> int:
        return len(self.error)

    @property
    def size(self) -> Array:
        return self.form.bound()[:, 0]

    def widened(self) -> tuple[Array, Array]:
        """The range of the double."""
        low, high = self.form.range()
        return low - self.error * GROWTH, high + self.error * GROWTH


def _made(form: Form, carried: Array | float, unit: Array | float = ROUNDED) -> Rounded:
    error = (carried + (form.bound()[:, 0] + carried) * unit) * GROWTH + LEAST
    return Rounded(form, np.where(np.isfinite(error), error, inf))


def constant(value: Fraction, like: Form) -> Rounded:
    near = float(value)
    exact = Fraction(near) == value
    form = Form.constant(like.space, np.full(len(like.c), near), 0.0 if exact else ROUNDED * abs(near))
    return Rounded(form, np.zeros(len(like.c))) if exact else _made(form, 0.0)


def narrowed(form: Form, low: Array, high: Array) -> Form:
    """The form, or plain numbers between two ends (of doubles, padded here) where that says more.

    Numbers have forgotten what they depend on, which an elimination does not forgive: a space may do without them.
    """
    if not form.space.narrows:
        return form
    pad = ENDS * np.maximum(np.abs(low), np.abs(high)) + LEAST
    low, high = low - pad, high + pad
    lowest, highest = form.range()
    flat = Form.constant(form.space, (low + high) / 2, (high - low) / 2 * GROWTH + pad)
    return where(np.isfinite(low + high) & ~(highest - lowest <= high - low), flat, form)


def add(a: Rounded, b: Rounded) -> Rounded:
    return _made(a.form + b.form, a.error + b.error)


def mul(a: Rounded, b: Rounded) -> Rounded:
    (low_a, high_a), (low_b, high_b) = a.form.range(), b.form.range()
    ends = np.stack([low_a * low_b, low_a * high_b, high_a * low_b, high_a * high_b])
    low, high = ends.min(axis=0), ends.max(axis=0)
    if a is b:
        low = np.where((low_a <= 0) & (high_a >= 0), 0.0, np.minimum(low_a**2, high_a**2))
    form = narrowed(a.form * b.form, low, high)
    return _made(form, a.size * b.error + b.size * a.error + a.error * b.error)


def _power(a: Rounded, exponent: int) -> Rounded:
    """By repeated squaring, lowest bit first, as it is run."""
    result: Rounded | None = None
    while True:
        if exponent & 1:
            result = a if result is None else mul(result, a)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        a = mul(a, a)


def tabled(a: Rounded, order: int, pieces: Pieces) -> Rounded:
    """A function by data: at a knot, doubles may read the piece on the other side."""
    low, high = a.widened()
    least, most = pieces.ranges(order + 1, low, high)
    slope = np.maximum(np.abs(least), np.abs(most))
    carried = np.where(a.error > 0, slope * a.error, 0.0) + pieces.jumps(order, low, high)
    one_knot = 2 * a.error < np.diff(pieces.ends).min()
    error = (carried + pieces.noise(order, low, high)) * GROWTH + LEAST
    form = between(a.form.space, *pieces.ranges(order, low, high))
    return Rounded(form, np.where(one_knot & np.isfinite(error), error, inf))


def _applied(op: str, args: list[Rounded]) -> Rounded:
    if op in ("mul", "div") and _is_one(args[1]):
        return args[0]
    if op == "mul" and _is_one(args[0]):
        return args[1]
    with np.errstate(all="ignore"):
        match op:
            case "add":
                return add(*args)
            case "sub":
                return add(args[0], Rounded(-args[1].form, args[1].error))
            case "neg":
                return Rounded(-args[0].form, args[0].error)
            case "mul":
                return mul(*args)
            case "div":
                return _quotient(*args)
            case "pow":
                return _raised(*args)
            case "select":
                return _selected(*args)
            case "min" | "max":
                form = functions.applied(op, *(arg.form for arg in args))
                return Rounded(form, np.maximum(args[0].error, args[1].error))
            case "atan2":
                return _angle(*args)
            case "abs" | "sign":
                low, high = args[0].widened()
                sure = (low > 0) | (high < 0)
                error = args[0].error if op == "abs" else np.zeros(args[0].cells)
                return Rounded(functions.applied(op, args[0].form), np.where(sure, error, inf))
        return _function(op, args[0])


def _is_one(a: Rounded) -> bool:
    """Whether a value is 1 in all cells and nothing else: doubles multiply and divide by that without rounding."""
    form = a.form
    known = not a.error.any() and not form.r.any() and not form.c[:, 1:].any() and not form.c[:, 0, 1:].any()
    return bool(known and (form.c[:, 0, 0] == 1).all())


def _quotient(a: Rounded, b: Rounded) -> Rounded:
    low, high = b.widened()
    least = np.where(low > 0, low, np.where(high < 0, -high, 0.0))
    (low_a, high_a), (low_b, high_b) = a.form.range(), b.form.range()
    ends = np.stack([low_a / low_b, low_a / high_b, high_a / low_b, high_a / high_b])
    defined = (low_b > 0) | (high_b < 0)
    low, high = (np.where(defined, end, np.nan) for end in (ends.min(axis=0), ends.max(axis=0)))
    form = narrowed(functions.divided(a.form, b.form), low, high)
    carried = np.where(least > 0, (a.error + form.bound()[:, 0] * b.error) / least, inf)
    return _made(form, carried, QUOTIENT)


def _raised(a: Rounded, b: Rounded) -> Rounded:
    """By the slopes over all that both doubles may be: y log x is largest at a corner."""
    (low, high), exponents = a.widened(), b.widened()
    logarithms = np.log(np.where(low > 0, low, np.nan)), np.log(high)
    size = np.exp(np.max([y * z for y in exponents for z in logarithms], axis=0))
    by_base = np.max(np.abs(exponents), axis=0) / low
    carried = size * (by_base * a.error + np.max(np.abs(logarithms), axis=0) * b.error) * TRUSTED
    return _made(functions.raised(a.form, b.form), np.where(np.isfinite(carried), carried, inf), LIBRARY)


def _selected(c: Rounded, a: Rounded, b: Rounded) -> Rounded:
    low, high = c.widened()
    form = where(low > 0, a.form, where(high <= 0, b.form, undefined(a.form)))
    return Rounded(form, np.where(low > 0, a.error, np.where(high <= 0, b.error, inf)))


def _angle(y: Rounded, x: Rounded) -> Rounded:
    (low_y, high_y), (low_x, high_x) = y.widened(), x.widened()
    square = sum(
        np.where(low > 0, low, np.where(high < 0, high, 0.0)) ** 2 for low, high in ((low_y, high_y), (low_x, high_x))
    )
    carried = (x.size * y.error + y.size * x.error) / np.where(square > 0, square, np.nan)
    return _made(functions.applied("atan2", y.form, x.form), np.where(np.isfinite(carried), 2 * carried, inf), LIBRARY)


def _function(op: str, a: Rounded) -> Rounded:
    form = functions.applied(op, a.form)
    if op in ("sin", "cos"):
        form = narrowed(form, *_wave(op, *a.form.range()))
    low, high = a.widened()
    slope = _slope(op, low, high) * TRUSTED
    return _made(form, np.where(np.isfinite(slope), slope * a.error, inf), function_unit(op, low, high))


def function_unit(op: str, low: Array, high: Array) -> Array:
    """The most that a function is wrong by, beside its result, between two ends of its argument."""
    most = np.maximum(np.abs(low), np.abs(high))
    if op == "sqrt":
        return np.full(most.shape, ROUNDED)
    shown = {"sin": most <= ANGLES, "cos": most <= ANGLES, "exp": most < EXPONENTS, "log": low >= NORMAL}
    return np.where(shown.get(op, np.zeros(most.shape, bool)), FUNCTION, LIBRARY)


def _wave(op: str, low: Array, high: Array) -> tuple[Array, Array]:
    """The range of sin or cos between two ends, from numpy's values with a margin of 10⁻¹²."""
    shift = 0.25 if op == "sin" else 0.0  # maxima lie at whole turns beyond it, minima half a turn later
    a, b = low / (2 * np.pi) - shift, high / (2 * np.pi) - shift
    ends = np.stack([np.sin(low), np.sin(high)] if op == "sin" else [np.cos(low), np.cos(high)])
    near = 1e-9 * (1 + np.abs(a) + np.abs(b))
    summit = np.floor(b + near) >= np.ceil(a - near)
    bottom = np.floor(b - 0.5 + near) >= np.ceil(a - 0.5 - near)
    return np.where(bottom, -1.0, ends.min(axis=0) - 1e-12), np.where(summit, 1.0, ends.max(axis=0) + 1e-12)


def _slope(op: str, low: Array, high: Array) -> Array:
    """The largest slope between two ends."""
    most = np.maximum(np.abs(low), np.abs(high))
    match op:
        case "sin" | "cos" | "atan" | "tanh":
            return np.ones_like(low)
        case "sqrt":
            return np.where(low > 0, 0.5 / np.sqrt(low), inf)
        case "log":
            return np.where(low > 0, 1 / low, inf)
        case "exp":
            return np.exp(high)
        case "sinh" | "cosh":
            return np.cosh(most)
        case "asin" | "acos":
            return np.where(most < 1, 1 / np.sqrt(1 - most**2), inf)
        case "tan":
            same = np.floor(low / np.pi + 0.5) == np.floor(high / np.pi + 0.5)
            return np.where(same, 1 + np.maximum(np.tan(low) ** 2, np.tan(high) ** 2), inf)
    raise Refused(f"the operation {op[:30]!r} is not known")


def advanced(
    x: Sequence[Rounded], step: Rounded, weights: Sequence[Fraction], stages: Sequence[Sequence[Rounded]]
) -> list[Rounded]:
    """x + step Σ b K: a driver sums the terms in any order, multiplies the sum by the step, and adds that to x."""
    used = [(b, stage) for b, stage in zip(weights, stages, strict=False) if b]
    return [add(value, mul(step, _summed(used, i))) if used else value for i, value in enumerate(x)]


def _summed(used: Sequence[tuple[Fraction, Sequence[Rounded]]], i: int) -> Rounded:
    """Σ b K of one state; each of its sums is wrong by at most a rounding of all terms together."""
    terms = [mul(constant(b, stage[i].form), stage[i]) for b, stage in used]
    whole = terms[0].form
    for term in terms[1:]:
        whole = whole + term.form
    most = sum(term.size + term.error for term in terms)
    error = sum(term.error for term in terms) + len(terms) * ROUNDED * most
    return Rounded(whole, error * GROWTH)
