"""The same values with signs and powers of two moved outwards, which is exact in doubles: less is left to compute.

    value = ±2ᵏ · core          a − b and b − a share one core, (2 x u + 2 y w)/2 is x u + y w, c − c is 0

No rounding is added and none is changed: what is rounded is a core, and ±2ᵏ moves its exponent only, results that
underflow apart, and cores beyond 2⁹⁶⁰, which may overflow where their values would not. A zero may have another sign,
which nothing that is computed tells apart. So what is proved of the rounding of each operation of the graph holds for
its core as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import compress
from math import frexp
from typing import Any

from holdfast.graph.nodes import EVEN, ODD, Node, counted, require_one_graph

Factored = tuple[int, float]  # a core and its factor ±2ᵏ
LARGEST, SMALLEST = 2.0**64, 2.0**-64  # factors that are kept apart: others would let cores overflow
ZERO, ONE = 0, 1


def factored(outputs: Sequence[Node], inputs: Sequence[Node]) -> tuple[Cores, list[int], list[int]]:
    """Cores, among them those of the outputs, and the leaves in place of the inputs."""
    require_one_graph(outputs, inputs)
    cores = Cores()
    leaves = [cores.leaf() for _ in inputs]
    found: list[Factored] = [(ZERO, 1.0)] * len(inputs[0].graph)  # by the numbers of nodes
    for node, leaf in zip(inputs, leaves, strict=True):
        found[node.index] = leaf, 1.0
    nodes, uses = counted(outputs, {node.index for node in inputs})
    for node in outputs:
        uses[node.index] -= 1  # which uses nothing up
    for node in nodes:
        index, args, rule = node.index, node.args, RULES.get(node.op, Cores._as_it_is)
        if len(args) == 2:  # the commonest
            value = rule(cores, node, found[args[0].index], found[args[1].index])
        else:
            value = rule(cores, node, *[found[arg.index] for arg in args])
        if value[1] not in (1.0, -1.0):
            value = cores.kept(value, shared=uses[index] > 1 and node.op != "const")
        found[index] = value
    return cores, [cores.whole(found[node.index]) for node in outputs], leaves


class Cores:
    """Operations by number, each as it stands: none rewritten but by signs and powers of two.

    Numbers and not nodes, since a million objects take half a second to make and to let go.
    """

    def __init__(self) -> None:
        self.ops: list[str] = []
        self.args: list[tuple[int, ...]] = []
        self.data: list[Any] = []
        self._known: dict[str, dict[Any, int]] = defaultdict(dict)
        for value in (0, 1, -1):
            self._const(Fraction(value))

    def counted(self, outputs: Sequence[int]) -> tuple[list[int], list[int]]:
        """The cores that outputs need, in order, and how often each of all is needed: by others, or as an output."""
        args, uses = self.args, [0] * len(self.ops)
        for core in outputs:
            uses[core] += 1
        for operands in compress(reversed(args), reversed(uses)):  # which sees what is counted on the way
            for arg in operands:
                uses[arg] += 1
        return list(compress(range(len(uses)), uses)), uses

    def leaf(self) -> int:
        return self._append("input", (), None)

    def kept(self, value: Factored, shared: bool) -> Factored:
        """The value with a factor that may stay apart; what is shared is multiplied by its power of two once."""
        core, factor = value
        if not SMALLEST <= abs(factor) <= LARGEST:
            return self.whole(value), 1.0
        if shared and abs(factor) != 1.0:
            return self.whole((core, abs(factor))), 1.0 if factor > 0 else -1.0
        return value

    def whole(self, value: Factored) -> int:
        """The value itself as a core."""
        core, factor = value
        if factor == 1.0 or core == ZERO:
            return core
        if self.ops[core] == "const":
            return self._const(self.data[core] * Fraction(factor))
        return self._make("neg", core) if factor == -1.0 else self._make("mul", self._const(Fraction(factor)), core)

    def _append(self, op: str, args: tuple[int, ...], data: Any) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.data.append(data)
        return len(self.ops) - 1

    def _make(self, op: str, *args: int) -> int:
        known = self._known[op]
        core = known.get(args)
        if core is None:
            known[args] = core = len(self.ops)
            self.ops.append(op)
            self.args.append(args)
            self.data.append(None)
        return core

    def _with_data(self, op: str, args: tuple[int, ...], data: Any, content: object) -> int:
        """The same with data, which are alike where their content is."""
        known, key = self._known[op], (content, *args)
        core = known.get(key)
        if core is None:
            known[key] = core = self._append(op, args, data)
        return core

    def _const(self, value: Fraction) -> int:
        return self._with_data("const", (), value, (value.numerator, value.denominator))

    def _as_it_is(self, node: Node, *args: Factored) -> Factored:
        operands = tuple([self.whole(arg) for arg in args])
        return self._with_data(node.op, operands, node.data, str(node.data)), 1.0

    def _constant(self, node: Node) -> Factored:
        size = abs(node.data)
        if size and size == Fraction(power := 2.0 ** (frexp(size)[1] - 1) if SMALLEST <= size <= LARGEST else 0.0):
            return ONE, power if node.data > 0 else -power
        return self._const(size), -1.0 if node.data < 0 else 1.0

    def _negative(self, _: Node, value: Factored) -> Factored:
        core, factor = value
        return core, -factor

    def _product(self, _: Node, left: Factored, right: Factored) -> Factored:
        (a, s), (b, t) = left, right
        if a == ZERO or b == ZERO:
            return ZERO, 1.0
        if a == ONE:
            return b, s * t
        if b == ONE:
            return a, s * t
        if a == b:
            return self._with_data("power", (a,), 2, 2), s * t
        return self._make("mul", a, b) if a <= b else self._make("mul", b, a), s * t

    def _quotient(self, _: Node, left: Factored, right: Factored) -> Factored:
        (a, s), (b, t) = left, right
        if b == ONE or a == ZERO:
            return a, s / t
        return self._make("div", a, b), s / t

    def _power(self, node: Node, value: Factored) -> Factored:
        core, factor = value
        if abs(factor) != 1.0 and node.data > 2:
            core, factor = self.whole((core, factor)), 1.0
        if core in (ZERO, ONE):
            return core, factor**node.data
        return self._with_data("power", (core,), node.data, node.data), factor**node.data

    def _sum(self, node: Node, left: Factored, right: Factored) -> Factored:
        """s a ± t b = ±s (a ± b), where the larger of two factors is left in its term."""
        (a, s), (b, t) = left, right
        t = t if node.op == "add" else -t
        if a == ZERO or b == ZERO:
            return (b, t) if a == ZERO else (a, s)
        if s != t and s != -t:
            (a, s), (b, t) = self._alike(a, s, b, t)
        elif a == b:
            return (a, 2 * s) if s == t else (ZERO, 1.0)
        if s != t:
            return self._difference(a, b, s) if s > 0 else self._difference(b, a, t)
        return self._make("add", a, b) if a <= b else self._make("add", b, a), s

    def _alike(self, a: int, s: float, b: int, t: float) -> tuple[Factored, Factored]:
        """Two terms whose factors differ, as two whose factors do not, but for their signs."""
        if self.ops[b] != "const" and (self.ops[a] == "const" or abs(t) == 1.0):
            common = abs(t)
            return (self.whole((a, abs(s) / common)), common if s > 0 else -common), (b, t)
        common = abs(s)
        return (a, s), (self.whole((b, abs(t) / common)), common if t > 0 else -common)

    def _difference(self, a: int, b: int, factor: float) -> Factored:
        """a − b, or what b − a is known as."""
        turned = self._known["sub"].get((b, a))
        return (self._make("sub", a, b), factor) if turned is None else (turned, -factor)

    def _size(self, _: Node, value: Factored) -> Factored:
        core, factor = value
        return self._make("abs", core), abs(factor)

    def _function(self, node: Node, value: Factored) -> Factored:
        """A function that is odd or even keeps nothing of a sign."""
        core, factor = value
        odd = factor < 0 and node.op in ODD
        return self._make(node.op, self.whole((core, abs(factor)))), -1.0 if odd else 1.0


RULES: dict[str, Callable[..., Factored]] = {
    "const": Cores._constant,
    "neg": Cores._negative,
    "mul": Cores._product,
    "div": Cores._quotient,
    "power": Cores._power,
    "add": Cores._sum,
    "sub": Cores._sum,
    "abs": Cores._size,
    **dict.fromkeys((ODD | EVEN) - {"abs"}, Cores._function),
}
