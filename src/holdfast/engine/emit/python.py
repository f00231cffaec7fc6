"""Bodies as straight-line Python, drivers as they stand: the reference, and the target where LLVM is missing.

Python raises where a machine gives nan or an infinity; the functions below give what the machine gives.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holdfast.engine.drivers import fronts, language
from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.engine.emit.stages.body import StagedBody, straight
from holdfast.graph.arithmetics.floats import FLOATS

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


FUNCTIONS = {
    name: FLOATS.functions[name] for name in "exp log sin cos tan asin acos atan sinh cosh tanh atan2 pow sign".split()
}


def python_body(name: str, body: CodeBody) -> str:
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
    bodies: Mapping[str, CodeBody | StagedBody], sources: Sequence[str], constants: Mapping[str, float]
) -> dict[str, Callable[..., Any]]:
    """Every body and driver as a Python function, by name."""
    scope: dict[str, Any] = {name: value for name, value in vars(language).items() if not name.startswith("_")}
    scope |= FUNCTIONS | dict(constants) | {"inf": math.inf}
    scope |= {name: part.at for body in straight(bodies.values()) for name, part in body.tables.items()}
    for name, body in bodies.items():
        if isinstance(body, StagedBody):
            scope[name] = _staged(body, [_function(f"{name}_{k}", s, scope) for k, s in enumerate(body.stages)])
        else:
            _function(name, body, scope)
    for source in sources:
        exec(compile(source, "<driver>", "exec", dont_inherit=True), scope)
    return scope


def _function(name: str, body: CodeBody, scope: dict[str, Any]) -> Callable[..., Any]:
    exec(compile(python_body(name, body), f"<body {name}>", "exec"), scope)
    function: Callable[..., Any] = scope[name]
    return function


def _staged(body: StagedBody, stages: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """The stages, and the eliminations between them, as one function."""
    tables = {name: memoryview(array("q", table.numbers)) for name, table in body.tables.items()}

    def call(t: float, x: Any, p: Any, out: Any, scratch: Any) -> None:
        for number, stage in enumerate(stages):
            last = number == len(body.turns)
            stage(t, scratch if number else x, p, out if last else scratch, scratch[body.scratch_begin :])
            for turn in () if last else body.turns[number]:
                places = (scratch[place:] for place in (turn.reads, turn.gives, turn.work))
                getattr(fronts, turn.name)(tables[turn.array], *places)

    return call
