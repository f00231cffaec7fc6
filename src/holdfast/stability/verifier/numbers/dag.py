"""Expressions as shared nodes, with exact constants and their derivatives.

A node is an operation on earlier nodes; equal operations are the same node. Operations: const, input, pi, add, mul,
div, power (whole exponent), pow, table (a derivative of a function by data), and the functions of the problem file by
name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from holdfast.stability.verifier.numbers.pieces import Data
from holdfast.stability.verifier.refusal import Refused

UNARY = ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "abs", "sign")
BINARY = ("atan2", "min", "max")
JUMPS = frozenset({"sign"})
MOST_NODES = 60_000  # of one problem with all its derivatives
MOST_BITS = 4000  # of a constant


class Node:
    """One operation; `data` is a constant, an input's name, a whole exponent, or data and which derivative."""

    __slots__ = ("args", "data", "index", "op")

    def __init__(self, index: int, op: str, args: tuple[Node, ...], data: object) -> None:
        self.index, self.op, self.args, self.data = index, op, args, data


class Dag:
    """Makes nodes, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Node] = {}
        self.zero, self.one = self.const(0), self.const(1)

    def node(self, op: str, *args: Node, data: object = None) -> Node:
        key = (op, data, *(arg.index for arg in args))
        if key not in self._known:
            if len(self._known) >= MOST_NODES:
                raise Refused("the problem is too large to be re-checked")
            self._known[key] = Node(len(self._known), op, args, data)
        return self._known[key]

    def const(self, value: Fraction | int) -> Node:
        number = Fraction(value)
        if max(number.numerator.bit_length(), number.denominator.bit_length()) > MOST_BITS:
            raise Refused("a number of the problem is too large to be re-checked")
        return self.node("const", data=number)

    def input(self, name: str) -> Node:
        return self.node("input", data=name)

    def add(self, a: Node, b: Node) -> Node:
        if a.op == "const" and b.op == "const":
            return self.const(_number(a) + _number(b))
        if a is self.zero:
            return b
        return a if b is self.zero else self.node("add", *_ordered(a, b))

    def neg(self, a: Node) -> Node:
        return self.mul(self.const(-1), a)

    def sub(self, a: Node, b: Node) -> Node:
        return self.zero if a is b else self.add(a, self.neg(b))

    def mul(self, a: Node, b: Node) -> Node:
        if a.op == "const" and b.op == "const":
            return self.const(_number(a) * _number(b))
        if a is self.zero or b is self.zero:
            return self.zero
        if a is self.one:
            return b
        if b is self.one:
            return a
        a, b = (b, a) if b.op == "const" else (a, b)
        if a.op == "const" and b.op == "mul" and b.args[0].op == "const":
            return self.mul(self.const(_number(a) * _number(b.args[0])), b.args[1])
        return self.power(a, 2) if a is b else self.node("mul", *((a, b) if a.op == "const" else _ordered(a, b)))

    def div(self, a: Node, b: Node) -> Node:
        if b.op == "const":
            if not b.data:
                raise Refused("the problem divides by zero")
            return self.mul(self.const(1 / _number(b)), a)
        return self.zero if a is self.zero else self.node("div", a, b)

    def power(self, a: Node, exponent: int) -> Node:
        if exponent < 0:
            return self.div(self.one, self.power(a, -exponent))
        if exponent == 0:
            return self.one
        if exponent == 1:
            return a
        if a.op == "const":
            if abs(exponent) * max(_number(a).numerator.bit_length(), _number(a).denominator.bit_length()) > MOST_BITS:
                raise Refused("a number of the problem is too large to be re-checked")
            return self.const(_number(a) ** exponent)
        return self.node("power", a, data=exponent)

    def raised(self, a: Node, b: Node) -> Node:
        """a ** b of the problem file."""
        if b.op == "const" and _number(b).denominator == 1 and abs(_number(b)) < 10_000:
            return self.power(a, int(_number(b)))
        if b.op == "const" and _number(b) == Fraction(1, 2):
            return self.call("sqrt", a)
        return self.node("pow", a, b)

    def call(self, name: str, *args: Node) -> Node:
        if args[0] is self.zero and name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "sqrt", "abs", "sign"):
            return self.zero
        if args[0] is self.zero and name in ("exp", "cos", "cosh"):
            return self.one
        return self.node(name, *args)

    def table(self, data: Data, order: int, at: Node) -> Node:
        """A derivative of a function by data."""
        return self.zero if order > data.degree else self.node("table", at, data=(data, order))

    def sum(self, terms: Iterable[Node]) -> Node:
        total = self.zero
        for term in terms:
            total = self.add(total, term)
        return total

    # ── derivatives ───────────────────────────────────────────────────────────────────────────────

    def derivatives(self, nodes: Iterable[Node], along: Mapping[Node, Node]) -> list[Node]:
        """Σ ∂node/∂x · along[x]: with one entry of 1 a partial, with all rates the rate along a motion."""
        nodes = list(nodes)
        found: dict[int, Node] = {}
        for node in ordered(nodes):
            found[node.index] = along.get(node, self.zero) if node.op == "input" else self._derived(node, found)
        return [found[node.index] for node in nodes]

    def partials(self, nodes: Iterable[Node], by: Iterable[Node]) -> list[list[Node]]:
        """Rows of partials, one row a node."""
        nodes, columns = list(nodes), []
        for x in by:
            columns.append(self.derivatives(nodes, {x: self.one}))
        return [[column[i] for column in columns] for i in range(len(nodes))]

    def _derived(self, node: Node, found: Mapping[int, Node]) -> Node:
        slopes = [found[arg.index] for arg in node.args]
        if all(slope is self.zero for slope in slopes):
            return self.zero
        if node.op == "add":
            return self.add(*slopes)
        if node.op == "mul":
            a, b = node.args
            return self.add(self.mul(slopes[0], b), self.mul(a, slopes[1]))
        if node.op == "div":
            a, b = node.args
            return self.div(self.sub(slopes[0], self.mul(node, slopes[1])), b)
        if node.op in ("min", "max"):
            a, b = node.args
            sign = self.call("sign", self.sub(a, b) if node.op == "max" else self.sub(b, a))
            half = self.const(Fraction(1, 2))
            upper, lower = self.mul(half, self.add(self.one, sign)), self.mul(half, self.sub(self.one, sign))
            return self.add(self.mul(upper, slopes[0]), self.mul(lower, slopes[1]))
        if node.op == "atan2":
            y, x = node.args
            square = self.add(self.power(x, 2), self.power(y, 2))
            return self.div(self.sub(self.mul(x, slopes[0]), self.mul(y, slopes[1])), square)
        if node.op == "pow":
            a, b = node.args
            inner = self.mul(b, self.div(slopes[0], a)) if slopes[0] is not self.zero else self.zero
            return self.mul(node, self.add(inner, self.mul(slopes[1], self.call("log", a))))
        if node.op == "table":
            return self.mul(self.table(*read(node, further=1), node.args[0]), slopes[0])
        return self.mul(self._slope(node), slopes[0])

    def _slope(self, node: Node) -> Node:
        """The derivative of a function of one operand."""
        (a,) = node.args
        one = self.one
        match node.op:
            case "power":
                n = int(str(node.data))
                return self.mul(self.const(n), self.power(a, n - 1))
            case "sqrt":
                return self.div(self.const(Fraction(1, 2)), node)
            case "exp":
                return node
            case "log":
                return self.div(one, a)
            case "sin":
                return self.call("cos", a)
            case "cos":
                return self.neg(self.call("sin", a))
            case "tan":
                return self.add(one, self.power(node, 2))
            case "asin" | "acos":
                slope = self.div(one, self.call("sqrt", self.sub(one, self.power(a, 2))))
                return slope if node.op == "asin" else self.neg(slope)
            case "atan":
                return self.div(one, self.add(one, self.power(a, 2)))
            case "sinh":
                return self.call("cosh", a)
            case "cosh":
                return self.call("sinh", a)
            case "tanh":
                return self.sub(one, self.power(node, 2))
            case "abs":
                return self.call("sign", a)
            case "sign":
                return self.zero
        raise Refused(f"{node.op} cannot be differentiated")

    def substituted(self, nodes: Iterable[Node], values: Mapping[Node, Node]) -> list[Node]:
        """The nodes with some of them, inputs most often, replaced."""
        nodes = list(nodes)
        image: dict[int, Node] = {}
        for node in ordered(nodes):
            args = [image[arg.index] for arg in node.args]
            if node in values:
                image[node.index] = values[node]
            elif node.op == "table":
                image[node.index] = self.node("table", *args, data=node.data)
            elif node.op in ("input", "const", "pi"):
                image[node.index] = node
            elif node.op == "power":
                image[node.index] = self.power(args[0], int(str(node.data)))
            elif node.op == "pow":
                image[node.index] = self.raised(*args)
            elif node.op in ("add", "mul", "div"):
                image[node.index] = getattr(self, node.op)(*args)
            else:
                image[node.index] = self.call(node.op, *args)
        return [image[node.index] for node in nodes]


def read(node: Node, further: int = 0) -> tuple[Data, int]:
    """The data that a node reads, and in which derivative."""
    assert isinstance(node.data, tuple)
    data, order = node.data
    return data, order + further


def _number(node: Node) -> Fraction:
    assert isinstance(node.data, Fraction)
    return node.data


def _ordered(a: Node, b: Node) -> tuple[Node, Node]:
    return (a, b) if a.index <= b.index else (b, a)


def ordered(nodes: Iterable[Node]) -> list[Node]:
    """The nodes and all they need, operands first."""
    seen: dict[int, Node] = {}
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.index not in seen:
            seen[node.index] = node
            waiting.extend(node.args)
    return [seen[index] for index in sorted(seen)]


def inputs_of(nodes: Iterable[Node]) -> set[str]:
    """The names of the inputs on which nodes depend."""
    return {str(node.data) for node in ordered(nodes) if node.op == "input"}
