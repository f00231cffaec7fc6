"""Bodies as straight-line Python, drivers as they stand: the reference, and the target where LLVM is missing.

Python raises where a machine gives nan or an infinity; the functions below give what the machine gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.engine.drivers import language
from holdfast.engine.emit.body import Body, Operand

FORMS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "quotient({}, {})",
    "neg": "-{}",
    "fma": "{} * {} + {}",
    "fms": "{} * {} - {}",
    "fnma": "{2} - {0} * {1}",
    "sqrt": "square_root({})",
    "abs": "abs({})",
    "min": "smaller({}, {})",
    "max": "larger({}, {})",
    "select": "({1} if {0} > 0.0 else {2})",
}


def _machine(function: Callable[..., float], beyond: float = math.inf) -> Callable[..., float]:
    """The function with nan for what it refuses and `beyond` for what is too large."""

    def safe(*arguments: float) -> float:
        try:
            return function(*arguments)
        except ValueError:
            return math.nan
        except OverflowError:
            return beyond

    return safe


def _log(a: float) -> float:
    return -math.inf if a == 0 else math.log(a) if a > 0 else math.nan


def _sinh(a: float) -> float:
    return math.sinh(a) if abs(a) < 710.4 else math.copysign(math.inf, a) if a == a else a


def _pow(a: float, b: float) -> float:
    """C's pow: (-8)**(1/3) is nan, 0**-1 infinite, large results overflow with the sign of an odd power."""
    odd = math.isfinite(b) and b % 2.0 == 1.0
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and odd else math.inf
    except ValueError:
        if a == 0.0:
            return math.copysign(math.inf, a) if odd else math.inf
        return math.nan


def _sign(a: float) -> float:
    return 1.0 if a > 0 else -1.0 if a < 0 else a


FUNCTIONS: dict[str, Callable[..., float]] = {
    name: _machine(getattr(math, name)) for name in "exp sin cos tan asin acos atan cosh tanh atan2".split()
}
FUNCTIONS |= {"log": _log, "sinh": _sinh, "pow": _pow, "sign": _sign}


def python_body(name: str, body: Body) -> str:
    """The body as the source of NAME(t, x, p, out, scratch)."""

    def text(operand: Operand) -> str:
        if isinstance(operand, float):
            return repr(operand) if math.isfinite(operand) else f"({'-' if operand < 0 else ''}inf)"
        if operand == 0:
            return "t"
        if operand <= body.states:
            return f"x{operand - 1}"
        return f"p{operand - 1 - body.states}" if operand < body.inputs else f"s{operand}"

    lines = [f"def {name}(t, x, p, out, scratch):"]
    for letter, count in (("x", body.states), ("p", body.parameters)):
        lines += [f"    {letter}{k} = {letter}[{k}]" for k in range(count)]
    for number, (op, operands) in enumerate(body.statements, start=body.inputs):
        form = FORMS.get(op) or f"{op}(" + ", ".join(["{}"] * len(operands)) + ")"
        lines.append(f"    s{number} = {form.format(*map(text, operands))}")
    lines += [f"    out[{place}] = {text(operand)}" for place, operand in body.outputs]
    return "\n".join(lines) + "\n    return None\n"


def python_functions(
    bodies: Mapping[str, Body], sources: Sequence[str], constants: Mapping[str, float]
) -> dict[str, Callable[..., Any]]:
    """Every body and driver as a Python function, by name."""
    scope: dict[str, Any] = {name: value for name, value in vars(language).items() if not name.startswith("_")}
    scope |= FUNCTIONS | dict(constants) | {"inf": math.inf}
    for name, body in bodies.items():
        exec(compile(python_body(name, body), f"<body {name}>", "exec"), scope)
    for source in sources:
        exec(compile(source, "<driver>", "exec", dont_inherit=True), scope)
    return scope
