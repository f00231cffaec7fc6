"""Evaluation: the graph written out as straight-line Python, once per arithmetic.

The text holds numbers of nodes only, never names from a problem, so nothing that a user wrote is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.elimination.values import system_value
from holdfast.graph.generic import generic_value
from holdfast.graph.nodes import LEAVES, SYSTEMS, Node, ancestors, fingerprint, operation_count

Evaluator = Callable[[Sequence[Any]], list[Any]]
LONG, UNWRITTEN = 5000, 10  # operations, and calls by looking: Python takes as long to compile a text
UNWRITTEN_FROM = 200_000  # operations: Python takes as long to compile such a text as to look some fifty times


@dataclass(frozen=True, eq=False)
class Tape:
    """Outputs as functions of inputs: a part of the graph that can be evaluated in any arithmetic."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def __call__(self, values: Sequence[float]) -> list[float]:
        """The outputs as Python floats, with nan and inf as the compiled kernels give them."""
        if "_floats" not in vars(self) and self._soon_written():
            return Ledger(dict(zip(self.inputs, values, strict=True))).of(self.outputs)
        return self._floats(values)

    def _soon_written(self) -> bool:
        """Whether a long tape is called for one of the first times: to write code for it would take longer."""
        calls = vars(self)["_calls"] = vars(self).get("_calls", 0) + 1
        return calls <= UNWRITTEN and self.operations > LONG

    @cached_property
    def _floats(self) -> Evaluator:
        return self.compiled(FLOATS)

    def compiled(self, arithmetic: Arithmetic) -> Evaluator:
        """An evaluator in the given arithmetic (balls take the precision that is set when it is made and called)."""
        order = ancestors(self.outputs)
        if len(order) > UNWRITTEN_FROM:
            return lambda values: Ledger(dict(zip(self.inputs, values, strict=True)), arithmetic).of(self.outputs)
        place = {node.index: k for k, node in enumerate(self.inputs)}
        namespace: dict[str, Any] = {f"f_{name}": function for name, function in arithmetic.functions.items()}
        lines = ["def evaluate(x):"]
        for node in order:
            if node.index in place:
                lines.append(f" n{node.index}=x[{place[node.index]}]")
            elif node.op == "input":
                raise ValueError(f"the tape needs the input {node.data!r}")
            elif node.op == "function":
                raise ValueError(f"the tape needs the function {node.data[0]!r}")
            elif node.op in LEAVES:
                value = arithmetic.pi() if node.op == "pi" else arithmetic.constant(node.data)
                namespace[f"n{node.index}"] = value
            elif node.op == "table":
                namespace[f"t{node.index}"] = node.data
                lines.append(f" n{node.index}=f_table(n{node.args[0].index},t{node.index})")
            elif node.op in SYSTEMS:
                namespace[f"t{node.index}"] = partial(system_value, node.op, node.data, arithmetic=arithmetic)
                operands = ",".join(f"n{arg.index}" for arg in node.args)
                lines.append(f" n{node.index}=t{node.index}(({operands},))")
            else:
                lines.append(f" n{node.index}={_statement(node, arithmetic)}")
        lines.append(" return [" + ",".join(f"n{node.index}" for node in self.outputs) + "]")
        exec(compile("\n".join(lines), "<graph>", "exec"), namespace)
        return namespace["evaluate"]

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.outputs, self.inputs)

    @cached_property
    def operations(self) -> int:
        return operation_count(self.outputs)


class Ledger:
    """The values of nodes at one point, each computed once and remembered: for a few looks, without writing code.

    With `letters`, a seed, undetermined functions have random values; otherwise they are refused.
    """

    def __init__(
        self, values: Mapping[Node, Any], arithmetic: Arithmetic = FLOATS, *, letters: int | None = None
    ) -> None:
        self._known = {node.index: value for node, value in values.items()}
        self._arithmetic, self._letters = arithmetic, letters

    def of(self, nodes: Sequence[Node]) -> list[Any]:
        known, arithmetic = self._known, self._arithmetic
        for node in ancestors(nodes, known):
            op, args = node.op, node.args
            if op == "mul":  # the commonest first: this loop is most of a derivation's looks
                known[node.index] = known[args[0].index] * known[args[1].index]
            elif op == "add":
                known[node.index] = known[args[0].index] + known[args[1].index]
            elif op == "sub":
                known[node.index] = known[args[0].index] - known[args[1].index]
            elif op == "neg":
                known[node.index] = -known[args[0].index]
            elif op == "power":
                known[node.index] = arithmetic.functions[op](known[args[0].index], node.data)
            elif op == "input":
                raise ValueError(f"the value of {node.data!r} is needed")
            elif op == "function":
                if self._letters is None:
                    raise ValueError(f"the function {node.data[0]!r} is needed")
                known[node.index] = arithmetic.constant(generic_value(node, self._letters))
            elif op == "table":
                known[node.index] = arithmetic.functions[op](known[args[0].index], node.data)
            elif op in SYSTEMS:
                operands = [known[arg.index] for arg in args]
                known[node.index] = system_value(op, node.data, operands, arithmetic)
            elif op in LEAVES:
                known[node.index] = arithmetic.pi() if op == "pi" else arithmetic.constant(node.data)
            else:
                known[node.index] = arithmetic.functions[op](*(known[arg.index] for arg in args))
        return [known[node.index] for node in nodes]


def _statement(node: Node, arithmetic: Arithmetic) -> str:
    operands = [f"n{arg.index}" for arg in node.args]
    if node.op in arithmetic.infix:
        return arithmetic.infix[node.op].join(operands)
    if node.op == "neg" and "neg" not in arithmetic.functions:
        return f"-{operands[0]}"
    if node.op == "power":
        if node.data == 2 and arithmetic is FLOATS:
            return f"{operands[0]}*{operands[0]}"
        return f"f_power({operands[0]},{node.data})"
    return f"f_{node.op}({','.join(operands)})"
