"""One exact tape of everything numerical: a hash-consed graph of scalar operations.

A `Node` is an operation on earlier nodes; equal operations on equal nodes are the same node, so sharing is automatic
and `is` compares values. Constants are exact fractions. Nodes are numbered in the order of their making, which is
therefore an order of evaluation. Ordinary operators build nodes (``a * b + 1``), with the few rewritings that never
change a value: 0 and 1 disappear, constants fold exactly while their fractions stay short, signs move outwards.

    leaves      const (a Fraction)   pi   input
    arithmetic  add  sub  mul  div  neg  power (whole exponent, at least 2)
    functions   sqrt exp log sin cos tan asin acos atan sinh cosh tanh atan2 pow
    branches    abs  sign  min  max  select (select(c, a, b) is a where c > 0, else b)
    by name     function (undetermined: a name and how often it is differentiated by each operand)
                table (given by pieces: its data, and how often it is differentiated)
    systems     factor (of a large sparse matrix, by its entries)   solved (by a factor and right sides)
                part (a pivot of a factor or its size, or an unknown of what is solved); see `elimination`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from fractions import Fraction
from hashlib import sha256
from itertools import compress
from typing import Any

from holdfast.errors import InternalError
from holdfast.graph.fronts import Elimination
from holdfast.graph.table import Table, TablePart

UNARY = frozenset("neg sqrt exp log sin cos tan asin acos atan sinh cosh tanh abs sign".split())
BINARY = frozenset("add sub mul div atan2 pow min max".split())
LEAVES = frozenset(("const", "pi", "input"))
SYSTEMS = frozenset(("factor", "solved", "part"))
ODD = frozenset("sin tan asin atan sinh tanh sign".split())  # f(-x) = -f(x)
EVEN = frozenset(("cos", "cosh", "abs"))  # f(-x) = f(x)
MOST_BITS = 1024  # of a folded fraction: a longer one (or one beyond doubles) is computed when it is needed
MANY, MOST_SPARSE = 2000, 64  # nodes, and how much larger a graph may be, from which on it is gone over as a whole
MOST_EXPONENT = 2**16  # of powers of powers: beyond, they stay powers of powers


class Node:
    """One operation. `args` are its operands; `data` is the Fraction of a const, the exponent of a power, the name of
    an input, name and orders of an undetermined function, the part of a table, the elimination of a factor, the
    place of a part.
    """

    __slots__ = ("args", "data", "graph", "index", "op")

    def __init__(self, graph: Graph, index: int, op: str, args: tuple[Node, ...], data: Any) -> None:
        self.graph, self.index, self.op, self.args, self.data = graph, index, op, args, data

    def __add__(self, other: Node | int) -> Node:
        return self.graph.add(self, other if isinstance(other, Node) else self.graph.const(other))

    def __radd__(self, other: int) -> Node:
        return self.graph.add(self.graph.const(other), self)

    def __sub__(self, other: Node | int) -> Node:
        return self.graph.sub(self, other if isinstance(other, Node) else self.graph.const(other))

    def __rsub__(self, other: int) -> Node:
        return self.graph.sub(self.graph.const(other), self)

    def __mul__(self, other: Node | int) -> Node:
        return self.graph.mul(self, other if isinstance(other, Node) else self.graph.const(other))

    def __rmul__(self, other: int) -> Node:
        return self.graph.mul(self.graph.const(other), self)

    def __truediv__(self, other: Node | int) -> Node:
        return self.graph.div(self, other if isinstance(other, Node) else self.graph.const(other))

    def __rtruediv__(self, other: int) -> Node:
        return self.graph.div(self.graph.const(other), self)

    def __neg__(self) -> Node:
        return self.graph.neg(self)

    def __pow__(self, exponent: int) -> Node:
        return self.graph.power(self, exponent)

    def __repr__(self) -> str:
        inside = ", ".join(f"n{arg.index}" for arg in self.args)
        detail = "" if self.data is None else f"[{self.data}]"
        return f"n{self.index}={self.op}{detail}({inside})"

    @property
    def is_zero(self) -> bool:
        return self.op == "const" and not self.data


def bits(value: Fraction) -> int:
    """The bits of a fraction, numerator and denominator together."""
    return value.numerator.bit_length() + value.denominator.bit_length()


def short(value: Fraction) -> bool:
    """Whether a constant is worth folding: few bits, so that arithmetic on it is quick, and within doubles."""
    return value.numerator.bit_length() + value.denominator.bit_length() <= MOST_BITS


class Graph:
    """The maker and keeper of nodes; two graphs never mix."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        # of each operation, by data and operands: where there is no data, by the very tuple that a node keeps of them
        self._known: dict[str, dict[Any, Node]] = defaultdict(dict)
        self.tables: dict[str, Table] = {}
        self.first_system: Node | None = None
        self.zero, self.one = self.const(0), self.const(1)
        self.minus_one = self.const(-1)

    def __len__(self) -> int:
        return len(self.nodes)

    def clear(self) -> None:
        """Let go of all nodes. They and their graph hold each other: without a search for garbage they would stay."""
        self._known.clear()
        self.nodes.clear()

    # ── leaves ────────────────────────────────────────────────────────────────────────────────────

    def _leaf(self, op: str, data: Any) -> Node:
        known = self._known[op]
        node = known.get(data)
        return self._new(known, data, op, (), data) if node is None else node

    def const(self, value: int | Fraction) -> Node:
        exact = value if type(value) is Fraction else Fraction(value)
        known, key = self._known["const"], (exact.numerator, exact.denominator)
        node = known.get(key)
        return self._new(known, key, "const", (), exact) if node is None else node

    def input(self, name: str) -> Node:
        return self._leaf("input", name)

    def pi(self) -> Node:
        return self._leaf("pi", None)

    # ── arithmetic ────────────────────────────────────────────────────────────────────────────────

    def _make(self, op: str, *args: Node) -> Node:
        known = self._known[op]
        node = known.get(args)
        if node is None:
            known[args] = node = Node(self, len(self.nodes), op, args, None)
            self.nodes.append(node)
        return node

    def _new(self, known: dict[Any, Node], key: Any, op: str, args: tuple[Node, ...], data: Any) -> Node:
        """A node that is not known yet."""
        known[key] = node = Node(self, len(self.nodes), op, args, data)
        self.nodes.append(node)
        return node

    def add(self, a: Node, b: Node) -> Node:
        if a is self.zero:
            return b
        if b is self.zero:
            return a
        if b.op == "neg":
            return self.sub(a, b.args[0])
        if a.op == "neg":
            return self.sub(b, a.args[0])
        if a.op == "const" and b.op == "const" and short(folded := a.data + b.data):
            return self.const(folded)
        return self._make("add", a, b) if a.index <= b.index else self._make("add", b, a)

    def sub(self, a: Node, b: Node) -> Node:
        if b is self.zero:
            return a
        if a is b:
            return self.zero
        if a is self.zero:
            return self.neg(b)
        if b.op == "neg":
            return self.add(a, b.args[0])
        if a.op == "neg":
            return self.neg(self.add(a.args[0], b))
        if a.op == "const" and b.op == "const" and short(folded := a.data - b.data):
            return self.const(folded)
        return self._make("sub", a, b)

    def neg(self, a: Node) -> Node:
        if a.op == "const":
            return self.const(-a.data)
        if a.op == "neg":
            return a.args[0]
        if a.op == "sub":
            return self._make("sub", a.args[1], a.args[0])
        if a.op == "mul" and a.args[0].op == "const":
            return self.mul(self.const(-a.args[0].data), a.args[1])
        return self._make("neg", a)

    def mul(self, a: Node, b: Node) -> Node:
        if a is self.zero or b is self.zero:
            return self.zero
        if a is self.one:
            return b
        if b is self.one:
            return a
        if b.op == "const":
            a, b = b, a
        if a.op == "const":
            return self._scale(a, b)
        if a.op == "neg":
            return self.neg(self.mul(a.args[0], b))
        if b.op == "neg":
            return self.neg(self.mul(a, b.args[0]))
        if a is b:
            return self.power(a, 2)
        if a.op == "mul" and a.args[0].op == "const":  # constants travel to the front
            return self._scale(a.args[0], self.mul(a.args[1], b))
        if b.op == "mul" and b.args[0].op == "const":
            return self._scale(b.args[0], self.mul(a, b.args[1]))
        return self._make("mul", a, b) if a.index <= b.index else self._make("mul", b, a)

    def _scale(self, constant: Node, b: Node) -> Node:
        """constant * b, where the constant is neither 0 nor 1 unless b is constant too."""
        if constant is self.one:
            return b
        if b.op == "const" and short(folded := constant.data * b.data):
            return self.const(folded)
        if constant is self.minus_one:
            return self.neg(b)
        if b.op == "neg":
            return self._scale(self.const(-constant.data), b.args[0])
        if b.op == "mul" and b.args[0].op == "const" and short(folded := constant.data * b.args[0].data):
            return self._scale(self.const(folded), b.args[1])
        return self._make("mul", constant, b)

    def div(self, a: Node, b: Node) -> Node:
        if b is self.one:
            return a
        if b.op == "const" and b.data:
            return self.mul(self.const(1 / b.data), a)
        if a is self.zero:
            return a
        if a is b:
            return self.one
        if b.op == "neg":
            return self.neg(self.div(a, b.args[0]))
        if a.op == "neg":
            return self.neg(self.div(a.args[0], b))
        return self._make("div", a, b)

    def power(self, a: Node, exponent: int) -> Node:
        """a to a whole exponent; a negative one is a division."""
        if exponent < 0:
            return self.div(self.one, self.power(a, -exponent))
        if exponent == 0:
            return self.one
        if exponent == 1:
            return a
        if a.op == "const" and bits(a.data) * exponent <= MOST_BITS:
            return self.const(a.data**exponent)
        if a.op == "neg":
            return self.power(a.args[0], exponent) if exponent % 2 == 0 else self.neg(self.power(a.args[0], exponent))
        if a.op == "power" and a.data * exponent <= MOST_EXPONENT:
            return self.power(a.args[0], a.data * exponent)
        if a.op == "sqrt" and exponent % 2 == 0:
            return self.power(a.args[0], exponent // 2)
        known, key = self._known["power"], (a, exponent)
        node = known.get(key)
        return self._new(known, key, "power", (a,), exponent) if node is None else node

    # ── functions and branches ────────────────────────────────────────────────────────────────────

    def call(self, op: str, *args: Node) -> Node:
        """A function of the list at the top of this file, by name."""
        if op == "neg":
            return self.neg(*args)
        if op in ("add", "sub", "mul", "div"):
            return getattr(self, op)(*args)
        if op == "select":
            return self.select(*args)
        if op in UNARY and len(args) == 1:
            return self._unary(op, args[0])
        if op in BINARY and len(args) == 2:
            return args[0] if op in ("min", "max") and args[0] is args[1] else self._make(op, *args)
        raise ValueError(f"no operation {op!r} with {len(args)} operands")

    def _unary(self, op: str, a: Node) -> Node:
        if a is self.zero:
            if op in ODD or op in ("abs", "sqrt"):
                return self.zero
            if op in ("exp", "cos", "cosh"):
                return self.one
        if a is self.one and op in ("sqrt", "abs", "sign"):
            return self.one
        if a is self.one and op == "log":
            return self.zero
        if a.op == "neg":
            if op in ODD:
                return self.neg(self._make(op, a.args[0]))
            if op in EVEN:
                return self._make(op, a.args[0])
        if a.op == "const" and op in ("abs", "sign"):
            return self.const(abs(a.data) if op == "abs" else (a.data > 0) - (a.data < 0))
        return self._make(op, a)

    def select(self, condition: Node, positive: Node, otherwise: Node) -> Node:
        """`positive` where condition > 0, else `otherwise`."""
        if positive is otherwise:
            return positive
        if condition.op == "const":
            return positive if condition.data > 0 else otherwise
        return self._with_data("select", (condition, positive, otherwise), None, ())

    def function(self, name: str, orders: tuple[int, ...], args: tuple[Node, ...]) -> Node:
        """The value of an undetermined function, or of one of its derivatives."""
        return self._with_data("function", args, (name, orders), (name, orders))

    def table(self, table: Table, order: int, x: Node) -> Node:
        """The value of a function by pieces, or of one of its derivatives."""
        self.tables[table.name] = table
        if order > table.degree:
            return self.zero
        return self._with_data("table", (x,), TablePart(table, order), (table.digest, order))

    # ── large systems ─────────────────────────────────────────────────────────────────────────────

    def factor(self, elimination: Elimination, entries: Sequence[Node]) -> Node:
        """L D Lᵀ of a sparse symmetric matrix; its parts are the pivots, then their sizes."""
        made = self._with_data("factor", tuple(entries), elimination, (elimination.digest,))
        self.first_system = self.first_system or made
        return made

    def solved(self, factor: Node, right: Sequence[Node]) -> Node:
        """A⁻¹ b; its parts are the unknowns."""
        return self._with_data("solved", (factor, *right), None, ())

    def part(self, vector: Node, place: int) -> Node:
        """One pivot of a factor, or the size of one, or one unknown of what is solved."""
        return self._with_data("part", (vector,), place, (place,))

    def _with_data(self, op: str, args: tuple[Node, ...], data: Any, content: tuple[Any, ...]) -> Node:
        known, key = self._known[op], (*content, *args)
        node = known.get(key)
        return self._new(known, key, op, args, data) if node is None else node

    # ── sums ──────────────────────────────────────────────────────────────────────────────────────

    def sum(self, terms: Iterable[Node]) -> Node:
        total = self.zero
        for term in terms:
            total = self.add(total, term)
        return total

    def dot(self, left: Sequence[Node], right: Sequence[Node]) -> Node:
        total = self.zero
        for a, b in zip(left, right, strict=True):
            if a is not self.zero and b is not self.zero:
                total = self.add(total, self.mul(a, b))
        return total


def require_one_graph(outputs: Iterable[Node], inputs: Sequence[Node]) -> None:
    """`InternalError` where outputs are on another graph than inputs, whose numbers mean other nodes there."""
    if inputs:
        graph = inputs[0].graph
        if any([node.graph is not graph for node in outputs]):
            raise InternalError("nodes of one graph are asked for by the inputs of another", where="a part of a graph")


def ancestors(outputs: Iterable[Node], known: Container[int] = ()) -> list[Node]:
    """Every node that the outputs need, themselves included, in an order of evaluation; not what is known already."""
    seen: dict[int, Node] = {}
    waiting = []
    for node in outputs:
        if node.index not in seen and node.index not in known:
            seen[node.index] = node
            waiting.append(node)
    while waiting:
        node = waiting.pop()
        for arg in node.args:
            index = arg.index
            if index not in seen and index not in known:
                seen[index] = arg
                if arg.args:
                    waiting.append(arg)
        if len(seen) > MANY and len(seen) * MOST_SPARSE > len(node.graph):
            return _swept(node.graph.nodes, seen, known)
    return [seen[index] for index in sorted(seen)]


def _swept(nodes: Sequence[Node], seen: Iterable[int], known: Container[int]) -> list[Node]:
    """The same where much of a graph is needed: all of it is gone over once, from the last node to the first."""
    mark = bytearray(len(nodes))
    for index in seen:
        mark[index] = 1
    for node in compress(reversed(nodes), reversed(mark)):  # which sees what is marked on the way
        if known and node.index in known:
            mark[node.index] = 0
        else:
            for arg in node.args:
                mark[arg.index] = 1
    return list(compress(nodes, mark))


def counted(outputs: Sequence[Node], known: Container[int] = ()) -> tuple[list[Node], list[int]]:
    """The same as `ancestors` for outputs that need much of their graph, and how often each of its nodes is needed: by
    another, or as an output.
    """
    nodes = outputs[0].graph.nodes if outputs else []
    uses = [0] * len(nodes)
    for node in outputs:
        if node.index not in known:
            uses[node.index] += 1
    for node in compress(reversed(nodes), reversed(uses)):  # which sees what is counted on the way
        if known and node.index in known:
            uses[node.index] = 0
        else:
            for arg in node.args:
                uses[arg.index] += 1
    return list(compress(nodes, uses)), uses


def substitute(
    outputs: Sequence[Node], replacements: dict[Node, Node], needed: Sequence[Node] | None = None
) -> list[Node]:
    """The outputs with some nodes (usually inputs) replaced by others, on the same graph; `needed` are their ancestors,
    where these are known.
    """
    image: dict[int, Node] = {}
    for node in ancestors(outputs) if needed is None else needed:
        image[node.index] = replacements[node] if node in replacements else rebuilt(node, image)
    return [image[node.index] for node in outputs]


def rebuilt(node: Node, image: dict[int, Node]) -> Node:
    """The node over the images of its operands; the node itself when they did not change."""
    args = tuple([image[arg.index] for arg in node.args])
    if args == node.args:  # nodes are equal where they are the same
        return node
    if node.op == "power":
        return node.graph.power(args[0], node.data)
    if node.op == "function":
        name, orders = node.data
        return node.graph.function(name, orders, args)
    if node.op == "table":
        return node.graph.table(node.data.table, node.data.order, args[0])
    if node.op == "factor":
        return node.graph.factor(node.data, args)
    if node.op == "solved":
        return node.graph.solved(args[0], args[1:])
    if node.op == "part":
        return node.graph.part(args[0], node.data)
    return node.graph.call(node.op, *args)


def fingerprint(outputs: Sequence[Node], inputs: Sequence[Node]) -> str:
    """A hash of what is computed, independent of names and of unrelated nodes.

    The inputs are counted, those that nothing uses too: code is compiled for arrays of their number.
    """
    nodes = ancestors(outputs)
    place = [""] * (1 + max([node.index for node in (*inputs, *nodes[-1:])], default=0))
    for k, node in enumerate(inputs):
        place[node.index] = f"i{k}"
    lines = [str(len(inputs))]
    for number, node in enumerate(nodes):
        index = node.index
        if not place[index]:
            args, data = node.args, node.data
            if data is None and len(args) == 2:  # the commonest
                lines.append(f"{node.op}|None|{place[args[0].index]},{place[args[1].index]}")
            else:
                operands = ",".join([place[arg.index] for arg in args])
                lines.append(f"{node.op}|{data if node.op != 'input' else ''}|{operands}")
            place[index] = str(number)
    lines.append(",".join([place[node.index] for node in outputs]))
    return sha256(";".join(lines).encode()).hexdigest()


def operation_count(outputs: Iterable[Node]) -> int:
    """How many operations the outputs take, leaves not counted."""
    return sum(node.op not in LEAVES for node in ancestors(outputs))
