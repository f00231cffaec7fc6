"""Evaluation: the graph written out as straight-line Python, once per arithmetic.

The text holds numbers of nodes only, never names from a problem, so nothing that a user wrote is ever executed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast.graph.arithmetics.arithmetic import Arithmetic
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.elimination.values import system_value
from holdfast.graph.generic import generic_value
from holdfast.graph.nodes import LEAVES, SYSTEMS, Node, ancestors, fingerprint, operation_count, require_one_graph

OPERATORS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
Evaluator = Callable[[Sequence[Any]], list[Any]]
UNWRITTEN = 64  # calls by looking: Python takes as long to compile a text (60 to 600 measured)
LONGEST = (
    200_000  # operations of a text that is worth writing: Python takes as long to compile it as to look fifty times
)


@dataclass(frozen=True, eq=False)
class Tape:
    """Outputs as functions of inputs: a part of the graph that can be evaluated in any arithmetic."""

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def __post_init__(self) -> None:
        require_one_graph(self.outputs, self.inputs)

    def __call__(self, values: Sequence[float]) -> list[float]:
        """The outputs as Python floats, with nan and inf as the compiled kernels give them."""
        return self._floats(values)

    @cached_property
    def _floats(self) -> Evaluator:
        return _Floats(self)

    def compiled(self, arithmetic: Arithmetic) -> Evaluator:
        """An evaluator in the given arithmetic (balls take the precision that is set when it is made and called)."""
        return TapeEvaluator(self, arithmetic)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.outputs, self.inputs)

    @cached_property
    def operations(self) -> int:
        return operation_count(self.outputs)


class _Floats:
    """A tape in floats: the first time by a look at the graph, for often there is no second and to prepare for it takes
    three times as long.
    """

    def __init__(self, tape: Tape) -> None:
        self._tape, self._called = tape, False

    def __call__(self, values: Sequence[float]) -> list[float]:
        if self._called:
            return self._prepared(values)
        self._called = True
        return Ledger(dict(zip(self._tape.inputs, values, strict=False))).of(self._tape.outputs)

    @cached_property
    def _prepared(self) -> Evaluator:
        return self._tape.compiled(FLOATS)


class TapeEvaluator:
    """A tape in one arithmetic: looked up operation by operation at first, written out as code once that pays."""

    def __init__(self, tape: Tape, arithmetic: Arithmetic) -> None:
        self._tape, self._arithmetic, self._calls = tape, arithmetic, 0
        self._order = ancestors(tape.outputs)
        places = {node.index: k for k, node in enumerate(tape.inputs)}
        self._slots = {node.index: slot for slot, node in enumerate(self._order)}
        self._given = [(slot, places[node.index]) for slot, node in enumerate(self._order) if node.index in places]
        self._constants = [self._constant(node) if node.index not in places else None for node in self._order]
        self._inputs = places
        self._written: Evaluator | None = None

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        if self._written is None:
            self._calls += 1
            if self._calls <= UNWRITTEN or len(self._order) > LONGEST:
                return self._looked_up(values)
            self._written = self._code()
            del self._steps
        return self._written(values)

    def _constant(self, node: Node) -> Any:
        """The value of a constant; None for what is computed."""
        if node.op == "input":
            raise ValueError(f"the tape needs the input {node.data!r}")
        if node.op == "function":
            raise ValueError(f"the tape needs the function {node.data[0]!r}")
        if node.op not in LEAVES:
            return None
        return self._arithmetic.pi() if node.op == "pi" else self._arithmetic.constant(node.data)

    @cached_property
    def _steps(self) -> list[tuple[int, Callable[..., Any], int, int, Any]]:
        """Of what is computed: its slot, the function, two slots (−1 for none), and what else it takes."""
        found, slots, functions = [], self._slots, dict[str, Callable[..., Any]]()
        for slot, node in enumerate(self._order):
            op, args = node.op, node.args
            if op in LEAVES or node.index in self._inputs:
                continue
            function = functions.get(op)
            if function is None:
                function = _function(node, self._arithmetic)
                if op not in SYSTEMS:  # which have one each
                    functions[op] = function
            places = [slots[arg.index] for arg in args]
            first, second = places[0], places[1] if len(places) > 1 else -1
            found.append((slot, function, first, second, (node.data,) if op in ("power", "table") else places[2:]))
        return found

    def _looked_up(self, given: Sequence[Any]) -> list[Any]:
        values = self._constants.copy()
        for slot, place in self._given:
            values[slot] = given[place]
        for slot, function, a, b, more in self._steps:
            if more:
                rest = more if b < 0 else (values[b], *(values[k] for k in more))
                values[slot] = function(values[a], *rest)
            else:
                values[slot] = function(values[a]) if b < 0 else function(values[a], values[b])
        return [values[self._slots[node.index]] for node in self._tape.outputs]

    def _code(self) -> Evaluator:
        """The same as straight-line Python."""
        arithmetic = self._arithmetic
        namespace: dict[str, Any] = {f"f_{name}": function for name, function in arithmetic.functions.items()}
        lines = ["def evaluate(x):"]
        for node, constant in zip(self._order, self._constants, strict=True):
            if node.index in self._inputs:
                lines.append(f" n{node.index}=x[{self._inputs[node.index]}]")
            elif node.op in LEAVES:
                namespace[f"n{node.index}"] = constant
            elif node.op == "table":
                namespace[f"t{node.index}"] = node.data
                lines.append(f" n{node.index}=f_table(n{node.args[0].index},t{node.index})")
            elif node.op in SYSTEMS:
                namespace[f"t{node.index}"] = _function(node, arithmetic)
                lines.append(f" n{node.index}=t{node.index}({','.join(f'n{arg.index}' for arg in node.args)})")
            else:
                lines.append(f" n{node.index}={_statement(node, arithmetic)}")
        lines.append(" return [" + ",".join(f"n{node.index}" for node in self._tape.outputs) + "]")
        exec(compile("\n".join(lines), "<graph>", "exec"), namespace)
        written: Evaluator = namespace["evaluate"]
        return written


class Ledger:
    """The values of nodes at one point, each computed once and remembered: for a few looks, without writing code.

    With `letters`, a seed, undetermined functions have random values; otherwise they are refused.
    """

    def __init__(
        self, values: Mapping[Node, Any], arithmetic: Arithmetic = FLOATS, *, letters: int | None = None
    ) -> None:
        self._known = {node.index: value for node, value in values.items()}
        self._arithmetic, self._letters = arithmetic, letters

    def take(self, other: Ledger) -> None:
        """What another one of the same point knows."""
        self._known |= other._known

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


def _function(node: Node, arithmetic: Arithmetic) -> Callable[..., Any]:
    """What computes a node from its operands."""
    if node.op in SYSTEMS:
        return lambda *operands: system_value(node.op, node.data, operands, arithmetic)
    if node.op in arithmetic.infix:
        return OPERATORS[node.op]
    return operator.neg if node.op == "neg" and "neg" not in arithmetic.functions else arithmetic.functions[node.op]


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
