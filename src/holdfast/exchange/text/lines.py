"""A body as lines of any language in which an operation is an expression: one line a statement."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.errors import BadRequest

PLAIN = {  # operations that all these languages write alike
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
}
FUNCTIONS = "sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs sign atan2 pow min max select".split()


@dataclass(frozen=True)
class Language:
    """How inputs, constants, operations and tables are written."""

    inputs: Callable[[int, CodeBody], str]  # slot of the time, a state or a parameter
    forms: Mapping[str, str]
    statement: str  # with {name} and {value}
    local: str = "s{}"
    infinite: str | None = None  # an infinite constant, where there is one

    def constant(self, value: float) -> str:
        if not math.isfinite(value):
            if self.infinite is None or math.isnan(value):
                raise BadRequest(f"the constant {value} cannot be written there", where="to")
            return self.infinite if value > 0 else f"(-{self.infinite})"
        return repr(value) if value >= 0 and math.copysign(1.0, value) > 0 else f"({value!r})"

    def operand(self, operand: Operand, body: CodeBody) -> str:
        if isinstance(operand, float):
            return self.constant(operand)
        return self.inputs(operand, body) if operand < body.inputs else self.local.format(operand)

    def lines(self, body: CodeBody) -> Iterator[str]:
        """The statements of a body in order."""
        for number, (op, operands) in enumerate(body.statements, start=body.inputs):
            texts = [self.operand(operand, body) for operand in operands]
            form = PLAIN.get(op) or self.forms.get(op) or f"{op}({{}})"
            yield self.statement.format(name=self.local.format(number), value=form.format(*texts))

    def outputs(self, body: CodeBody) -> list[str]:
        """What the body gives, in the order of its places."""
        return [self.operand(operand, body) for _, operand in sorted(body.outputs)]


def by_letters(slot: int, body: CodeBody) -> str:
    """Inputs as t, x[k] and p[k]."""
    if slot == 0:
        return "t"
    return f"x[{slot - 1}]" if slot <= body.states else f"p[{slot - 1 - body.states}]"
