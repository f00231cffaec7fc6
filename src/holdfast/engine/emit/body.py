"""The straight-line body of a function: what every target writes down, decided once for all of them.

Here, and nowhere later, it is decided which products are fused with a sum, which quotients share one reciprocal and
how a whole power is multiplied out. So every tier, lane width and thread computes the same bits.

    a − b, b − a   one difference; signs and powers of two move outwards (`graph.factored`)
    a b + c        one rounding (`fma`) where the product is used only there
    a/d, b/d, c/d  1/d once, then products, from three quotients on
    atan2(y, x)    of y + 0 and x + 0: π on the cut, whatever the sign of a zero
    a**5           a² = a a, a⁴ = a² a², a⁵ = a⁴ a

A value is a slot: 0 is the time, then come the state, the parameters and the results of the statements. A constant
operand is a float.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from holdfast.engine.emit.rolling import RolledBody, rolled
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.floats import nearest_double
from holdfast.graph.factored import factored
from holdfast.graph.nodes import SYSTEMS, Node, counted
from holdfast.graph.table import TablePart

Operand = int | float
Statement = tuple[str, tuple[Operand, ...]]

SHARED_QUOTIENTS = 3
# how long until a result is there, on processors of 2020 to 2025 (Fog, Instruction tables); other functions are calls
CYCLES = {"add": 4, "sub": 4, "mul": 4, "fma": 4, "fms": 5, "fnma": 5, "neg": 1, "abs": 1, "div": 13, "sqrt": 20}
CYCLES |= {"power": 4}  # of the graph; most are squares
CALL = 60
PIPES = 4  # floating-point instructions that such a processor begins in a cycle, at most
HARD_CEILING = 2_000_000


@dataclass(frozen=True, eq=False)
class CodeBody:
    """Statements in order; statement k fills slot `inputs + k`. An output is a place in the result and its operand."""

    states: int
    parameters: int
    statements: tuple[Statement, ...]
    outputs: tuple[tuple[int, Operand], ...]
    tables: Mapping[str, TablePart] = field(default_factory=dict)  # functions by pieces, by operation
    stage: bool = False  # of a body with eliminations between its stages

    @property
    def inputs(self) -> int:
        return 1 + self.states + self.parameters

    @cached_property
    def repeated(self) -> tuple[tuple[int, int], ...]:
        """Outputs that are a part of the state as it stands: all of them as many places further on as the first."""
        states = [(place, slot) for place, slot in self.outputs if isinstance(slot, int) and 0 < slot <= self.states]
        return tuple((place, slot) for place, slot in states if slot - place == states[0][1] - states[0][0])

    def in_order(self, order: Iterable[int]) -> CodeBody:
        """The same body with its statements in another order, in which each comes after those it uses."""
        places: dict[int, int] = {}  # old slots to new ones

        def moved(operand: Operand) -> Operand:
            return operand if isinstance(operand, float) or operand < self.inputs else places[operand]

        statements = list[Statement]()
        for number in order:
            op, operands = self.statements[number]
            statements.append((op, tuple(map(moved, operands))))
            places[self.inputs + number] = self.inputs + len(statements) - 1
        outputs = tuple((place, moved(operand)) for place, operand in self.outputs)
        return replace(self, statements=tuple(statements), outputs=outputs)

    @cached_property
    def urgent_first(self) -> CodeBody:
        """The same body, those statements first that the longest chain of others waits for.

        A processor looks some hundred instructions ahead: what it meets late it begins late. No bit changes. (RK4 step
        of ten links 0.48 → 0.42 us, of a four-bar 0.33 → 0.28.) Where there are more statements than can be begun while
        that chain runs, it is not what one waits for, and values are used soonest in the order they were derived in (a
        platform on six legs 2.8 us, else 3.9).
        """
        waiting, count = self.waiting, len(self.statements)
        if count > PIPES * max(waiting, default=0):
            return self
        return self.in_order(sorted(range(count), key=lambda number: -waiting[number]))

    @cached_property
    def waiting(self) -> list[int]:
        """Cycles from the begin of each statement to the end of the last that waits for it."""
        first, found = self.inputs, [0] * len(self.statements)
        for number in reversed(range(len(found))):
            op, operands = self.statements[number]
            found[number] += CYCLES.get(op, CALL)
            for slot in operands:
                if not isinstance(slot, float) and slot >= first:
                    found[slot - first] = max(found[slot - first], found[number])
        return found

    @cached_property
    def rolled(self) -> RolledBody | None:
        """The same as loops over like parts; None where there are too few."""
        return rolled(self)


def lowered(outputs: Mapping[int, Node], time: Node, state: Sequence[Node], parameters: Sequence[Node]) -> CodeBody:
    """The body that fills the places of `outputs` from t, x and p; the state may be any values that are known."""
    results, leaves = factored(tuple(outputs.values()), (time, *state, *parameters))
    nodes, uses = counted(results)
    if len(nodes) > HARD_CEILING:
        raise BadRequest(
            f"the equations take {len(nodes)} operations; at most {HARD_CEILING} can be compiled",
            where="compiled(field, scheme)",
            fix="describe the system with fewer bodies, or with joint coordinates instead of constraints",
        )
    slots: dict[int, Operand] = {leaf.index: slot for slot, leaf in enumerate(leaves)}
    lowering = _Lowering(len(leaves), slots, uses, nodes)
    lowering.take_all(nodes)
    places = tuple((place, slots[node.index]) for place, node in zip(outputs, results, strict=True))
    leaves[0].graph.clear()  # what comes next takes its memory
    return CodeBody(len(state), len(parameters), tuple(lowering.statements), places, lowering.tables)


class _Lowering:
    """The bookkeeping of `lowered`: slots by node index, and which products wait to be fused."""

    def __init__(self, first: int, slots: dict[int, Operand], uses: list[int], nodes: Sequence[Node]) -> None:
        self.first, self.slots, self.uses = first, slots, uses
        self.statements: list[Statement] = []
        self.tables: dict[str, TablePart] = {}
        self.reciprocals = _shared_denominators(nodes)
        self.factors: dict[int, tuple[Operand, Operand]] = {}
        self.fused = self._choose_fused(nodes)

    def _choose_fused(self, nodes: Sequence[Node]) -> set[int]:
        """Products that are used once, in a sum; of two in one sum the one that is there later, which then waits less.

        (Ten links: a back substitution of 4 cycles a link in place of 8.)
        """
        chosen: set[int] = set()
        alone = bytearray(len(self.uses))  # which are products that one other needs
        ready = [0] * len(self.uses)  # cycles until a value is there
        for node in nodes:
            op, args, index = node.op, node.args, node.index
            if op == "add" or op == "sub":
                left, right = args[0].index, args[1].index
                first, last = (left, right) if ready[left] < ready[right] else (right, left)
                term = last if alone[last] else first if alone[first] else None
                if term is None:
                    ready[index] = ready[last] + CYCLES[op]
                else:
                    chosen.add(term)
                    ready[index] = max(ready[last], ready[first] + CYCLES["fma"])
            elif args:
                alone[index] = self.uses[index] == 1 and self._is_product(node)
                ready[index] = max([ready[arg.index] for arg in args]) + CYCLES.get(op, CALL)
        return chosen

    def _is_product(self, node: Node) -> bool:
        if node.op == "div":
            return node.args[1].index in self.reciprocals and node.args[0] is not node.graph.one
        return node.op == "mul" or (node.op == "power" and node.data == 2)

    def emit(self, op: str, *operands: Operand) -> Operand:
        self.statements.append((op, operands))
        return self.first + len(self.statements) - 1

    def take_all(self, nodes: Sequence[Node]) -> None:
        """All nodes in order; products, half of them, without a detour."""
        slots, fused, statements = self.slots, self.fused, self.statements
        for node in nodes:
            index = node.index
            if index in slots:
                continue
            if node.op == "mul":
                operands = (slots[node.args[0].index], slots[node.args[1].index])
                if index in fused:
                    self.factors[index] = operands
                else:
                    statements.append(("mul", operands))
                    slots[index] = self.first + len(statements) - 1
            elif node.op == "add" or node.op == "sub":
                slots[index] = self._sum(node)
            else:
                self.take(node)

    def take(self, node: Node) -> None:
        index = node.index
        if index in self.fused:
            self.factors[index] = self._factors(node)
            return
        if node.op == "input":
            raise BadRequest(
                f"the equations depend on {node.data!r}, which is neither time, state nor parameter",
                where="compiled(field, scheme)",
                fix="list it among the field's inputs",
            )
        if node.op in SYSTEMS:
            raise BadRequest(
                "this code is straight, and reactions of the system are found by tables: it has too many",
                where="compiled(field, scheme)",
                fix="simulate it here; native code has the tables",
            )
        if node.op == "function":
            raise BadRequest(
                f"the equations depend on the function {node.data[0]!r}, which is not given",
                where="compiled(field, scheme)",
                fix="problem.with_values({...}) gives it an expression or data",
            )
        self.slots[index] = self._value(node)

    def _factors(self, node: Node) -> tuple[Operand, Operand]:
        a = self.slots[node.args[0].index]
        if node.op == "power":
            return a, a
        if node.op == "div":
            return a, self._reciprocal(node.args[1])
        return a, self.slots[node.args[1].index]

    def _reciprocal(self, denominator: Node) -> Operand:
        known = self.reciprocals[denominator.index]
        if known is None:
            known = self.emit("div", 1.0, self.slots[denominator.index])
            self.reciprocals[denominator.index] = known
        return known

    def _value(self, node: Node) -> Operand:
        if node.op == "const":
            return _double(node)
        if node.op == "pi":
            return math.pi
        if node.op == "table":
            name = f"table_{node.data.table.digest[:24]}_{node.data.order}"
            self.tables[name] = node.data
            return self.emit(name, self.slots[node.args[0].index])
        if node.op == "power":
            return self._power(self.slots[node.args[0].index], node.data)
        if node.op == "div" and node.args[1].index in self.reciprocals:
            inverse = self._reciprocal(node.args[1])
            if node.args[0] is node.graph.one:
                return inverse
            return self.emit("mul", self.slots[node.args[0].index], inverse)
        if node.op == "atan2":  # which alone tells −0 from 0, and signs of zeros are not kept
            return self.emit("atan2", *(self.emit("add", self.slots[arg.index], 0.0) for arg in node.args))
        return self.emit(node.op, *(self.slots[arg.index] for arg in node.args))

    def _sum(self, node: Node) -> Operand:
        """a b + c: fma, a b - c: fms, c - a b: fnma, and the plain sums."""
        left, right = node.args
        if left.index in self.factors:
            op = "fma" if node.op == "add" else "fms"
            return self.emit(op, *self.factors[left.index], self.slots[right.index])
        if right.index in self.factors:
            op = "fma" if node.op == "add" else "fnma"
            return self.emit(op, *self.factors[right.index], self.slots[left.index])
        return self.emit(node.op, self.slots[left.index], self.slots[right.index])

    def _power(self, base: Operand, exponent: int) -> Operand:
        result: Operand | None = None
        while True:
            if exponent & 1:
                result = base if result is None else self.emit("mul", result, base)
            exponent >>= 1
            if not exponent:
                assert result is not None
                return result
            base = self.emit("mul", base, base)


def _shared_denominators(nodes: Sequence[Node]) -> dict[int, Operand | None]:
    count: dict[int, int] = {}
    for node in nodes:
        if node.op == "div":
            count[node.args[1].index] = count.get(node.args[1].index, 0) + 1
    return {index: None for index, times in count.items() if times >= SHARED_QUOTIENTS}


def _double(node: Node) -> float:
    return nearest_double(node.data)
