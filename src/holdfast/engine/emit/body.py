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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from holdfast.engine.emit.rolling import RolledBody, rolled
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.floats import nearest_double
from holdfast.graph.factored import ONE, Cores, factored
from holdfast.graph.nodes import SYSTEMS, Node
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
    cores, results, leaves = factored(tuple(outputs.values()), (time, *state, *parameters))
    needed, uses = cores.counted(results)
    if len(needed) > HARD_CEILING:
        raise BadRequest(
            f"the equations take {len(needed)} operations; at most {HARD_CEILING} can be compiled",
            where="compiled(field, scheme)",
            fix="describe the system with fewer bodies, or with joint coordinates instead of constraints",
        )
    lowering = _Lowering(cores, leaves, uses, needed)
    lowering.take_all(needed)
    places = tuple((place, lowering.slots[core]) for place, core in zip(outputs, results, strict=True))
    return CodeBody(len(state), len(parameters), tuple(lowering.statements), places, lowering.tables)


class _Lowering:
    """The bookkeeping of `lowered`: slots by core, and which products wait to be fused."""

    def __init__(self, cores: Cores, leaves: Sequence[int], uses: list[int], needed: Sequence[int]) -> None:
        self.ops, self.args, self.data = cores.ops, cores.args, cores.data
        self.first, self.uses = len(leaves), uses
        self.slots: list[Any] = [None] * len(self.ops)  # until they are known: nothing can be written of None
        for slot, leaf in enumerate(leaves):
            self.slots[leaf] = slot
        self.statements: list[Statement] = []
        self.tables: dict[str, TablePart] = {}
        self.reciprocals = self._shared_denominators(needed)
        self.factors: dict[int, tuple[Operand, Operand]] = {}
        self.fused = self._choose_fused(needed)

    def _shared_denominators(self, needed: Sequence[int]) -> dict[int, Operand | None]:
        count = Counter(self.args[core][1] for core in needed if self.ops[core] == "div")
        return {core: None for core, times in count.items() if times >= SHARED_QUOTIENTS}

    def _choose_fused(self, needed: Sequence[int]) -> set[int]:
        """Products that are used once, in a sum; of two in one sum the one that is there later, which then waits less.

        (Ten links: a back substitution of 4 cycles a link in place of 8.)
        """
        chosen: set[int] = set()
        ops, operands, uses = self.ops, self.args, self.uses
        alone = bytearray(len(uses))  # which are products that one other needs
        ready = [0] * len(uses)  # cycles until a value is there
        for core in needed:
            op, args = ops[core], operands[core]
            if op == "mul":  # half of all, without a detour
                left, right = args
                alone[core] = uses[core] == 1
                ready[core] = (ready[right] if ready[left] < ready[right] else ready[left]) + CYCLES["mul"]
            elif op == "add" or op == "sub":
                left, right = args
                first, last = (left, right) if ready[left] < ready[right] else (right, left)
                term = last if alone[last] else first if alone[first] else None
                if term is None:
                    ready[core] = ready[last] + CYCLES[op]
                else:
                    chosen.add(term)
                    ready[core] = max(ready[last], ready[first] + CYCLES["fma"])
            elif args:
                alone[core] = uses[core] == 1 and self._is_product(core)
                ready[core] = max([ready[arg] for arg in args]) + CYCLES.get(op, CALL)
        return chosen

    def _is_product(self, core: int) -> bool:
        """Of what is no "mul"."""
        op, args = self.ops[core], self.args[core]
        if op == "div":
            return args[1] in self.reciprocals and args[0] != ONE
        return op == "power" and self.data[core] == 2

    def emit(self, op: str, *operands: Operand) -> Operand:
        self.statements.append((op, operands))
        return self.first + len(self.statements) - 1

    def take_all(self, needed: Sequence[int]) -> None:
        """All cores in order; products, half of them, without a detour."""
        ops, args, slots, fused, statements = self.ops, self.args, self.slots, self.fused, self.statements
        for core in needed:
            op = ops[core]
            if op == "mul":
                left, right = args[core]
                operands = (slots[left], slots[right])
                if core in fused:
                    self.factors[core] = operands
                else:
                    statements.append(("mul", operands))
                    slots[core] = self.first + len(statements) - 1
            elif op == "add" or op == "sub":
                statements.append(self._sum(op, *args[core]))
                slots[core] = self.first + len(statements) - 1
            else:
                self.take(core)

    def take(self, core: int) -> None:
        if core in self.fused:
            self.factors[core] = self._factors(core)
            return
        op, data = self.ops[core], self.data[core]
        if op == "input" and data is None:  # a leaf: its slot is known
            return
        if op == "input":
            raise BadRequest(
                f"the equations depend on {data!r}, which is neither time, state nor parameter",
                where="compiled(field, scheme)",
                fix="list it among the field's inputs",
            )
        if op in SYSTEMS:
            raise BadRequest(
                "this code is straight, and reactions of the system are found by tables: it has too many",
                where="compiled(field, scheme)",
                fix="simulate it here; native code has the tables",
            )
        if op == "function":
            raise BadRequest(
                f"the equations depend on the function {data[0]!r}, which is not given",
                where="compiled(field, scheme)",
                fix="problem.with_values({...}) gives it an expression or data",
            )
        self.slots[core] = self._value(op, self.args[core], data)

    def _factors(self, core: int) -> tuple[Operand, Operand]:
        args = self.args[core]
        a = self.slots[args[0]]
        if self.ops[core] == "power":
            return a, a
        return a, self._reciprocal(args[1]) if self.ops[core] == "div" else self.slots[args[1]]

    def _reciprocal(self, denominator: int) -> Operand:
        known = self.reciprocals[denominator]
        if known is None:
            known = self.emit("div", 1.0, self.slots[denominator])
            self.reciprocals[denominator] = known
        return known

    def _value(self, op: str, args: tuple[int, ...], data: Any) -> Operand:
        if op == "const":
            return nearest_double(data)
        if op == "pi":
            return math.pi
        operands = [self.slots[arg] for arg in args]
        if op == "table":
            name = f"table_{data.table.digest[:24]}_{data.order}"
            self.tables[name] = data
            return self.emit(name, *operands)
        if op == "power":
            return self._power(operands[0], data)
        if op == "div" and args[1] in self.reciprocals:
            inverse = self._reciprocal(args[1])
            return inverse if args[0] == ONE else self.emit("mul", operands[0], inverse)
        if op == "atan2":  # which alone tells −0 from 0, and signs of zeros are not kept
            operands = [self.emit("add", operand, 0.0) for operand in operands]
        return self.emit(op, *operands)

    def _sum(self, op: str, left: int, right: int) -> Statement:
        """a b + c: fma, a b - c: fms, c - a b: fnma, and the plain sums."""
        if left in self.factors:
            return "fma" if op == "add" else "fms", (*self.factors[left], self.slots[right])
        if right in self.factors:
            return "fma" if op == "add" else "fnma", (*self.factors[right], self.slots[left])
        return op, (self.slots[left], self.slots[right])

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
