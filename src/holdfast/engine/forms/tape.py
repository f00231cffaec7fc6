"""A tape of operations on forms, recorded once and evaluated over many cells.

A value is the number of a virtual register, or an exact Fraction that no register is needed for. What each register can
depend on (variables of the cell, powers of s, residuals of systems) is known when it is recorded, so that the kernel
multiplies nothing that is always zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from holdfast.engine.forms import dispatch
from holdfast.engine.forms.dispatch import FUNCTION, KINDS
from holdfast.engine.forms.monomials import CellMonomials
from holdfast.engine.forms.operations import LIBRARY, OPERATIONS
from holdfast.engine.forms.rounding import LIBRARY_OPERATION
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node, ancestors

Value = int | Fraction
BINARY = (dispatch.ADD, dispatch.SUB, dispatch.MUL, dispatch.SLACK, dispatch.MORE)
OWN = ("const", "pi", "power")  # what is recorded without a table of operations
UNIT = 2.0**-53
RUNNING, SYMBOLS, CARRIED, DIFFERENCE = 1, 2, 3, 4  # ways of carrying rounding, each in a module of its own
PI = 2.0**-51  # more than what the double misses of π


@lru_cache(4096)  # the weights of a scheme, and what a model is made of, come again and again
def enclosed(value: Fraction) -> tuple[float, float]:
    """A double and what it misses of an exact number, at most."""
    near = float(value)
    off = abs(value - Fraction(near))
    return near, 0.0 if not off else math.nextafter(float(off), math.inf)


class Register(NamedTuple):
    """What a value may depend on: variables, whether powers of s, and how many residuals."""

    variables: frozenset[int]
    series: int  # 0: constant in s
    residuals: int


@dataclass(frozen=True, slots=True)
class LinearSystem:
    """A linear system that the tape solves: places and registers of its entries, right sides, unknowns."""

    places: tuple[tuple[int, int], ...]
    entries: tuple[int, ...]
    right: tuple[int, ...]  # −1 for zero
    unknowns: tuple[int, ...]
    errors: tuple[int, ...]  # registers whose rounding is the residual of the run's own elimination; −1 for none
    first: int  # residual


class Recorder:
    """Operations in the order in which they are to be done."""

    def __init__(self, terms: int, monomials: CellMonomials) -> None:
        self.terms, self.monomials = terms, monomials
        self.registers: list[Register] = []
        self.code: list[tuple[int, ...]] = []
        self.constants: list[tuple[float, float]] = []
        self.pairs: list[tuple[int, int, int]] = []
        self.systems: list[LinearSystem] = []
        self.inputs: list[int] = []
        self.exact: dict[int, Fraction] = {}  # registers of numbers that doubles hold
        self.rounds = 0  # how rounding is carried, if it is
        self.symbols = self.most_symbols = 0  # of rounding
        self._tables: dict[tuple[frozenset[int], frozenset[int]], tuple[int, int]] = {}
        self._orders: dict[tuple[tuple[Node, ...], tuple[Node, ...]], list[Node]] = {}

    # ── registers and instructions ────────────────────────────────────────────────────────────────

    def register(self, variables: frozenset[int], series: int, residuals: int = 0) -> int:
        self.registers.append(Register(variables, min(series, self.terms - 1), residuals))
        return len(self.registers) - 1

    def input(self, variables: Sequence[int], series: int = 0) -> int:
        """An input that depends on some variables of the cell."""
        self.inputs.append(self.register(frozenset(variables), series))
        return self.inputs[-1]

    def _pairs(self, a: frozenset[int], b: frozenset[int]) -> tuple[int, int]:
        """Where the pairs of monomials of these variables begin, and how many they are."""
        if (a, b) not in self._tables:
            found = self.monomials.pairs(a, b)
            self._tables[a, b] = len(self.pairs), len(found)
            self.pairs += found
        return self._tables[a, b]

    def _emit(
        self, op: int, a: int, b: int | None = None, *, series: int, constant: tuple[float, float] = (0.0, 0.0),
        table: tuple[int, int] = (0, 0), second: bool = False, plain: bool = False,
    ) -> int:  # fmt: skip
        first, other = self.registers[a], self.registers[a if b is None else b]
        counts = (first.residuals, other.residuals if b is not None else 0)
        residuals = 0 if plain else counts[0] if op in (dispatch.SLACK, dispatch.MORE) else max(counts)
        fresh = self.symbols
        if self.rounds in (SYMBOLS, CARRIED) and op not in (dispatch.PLAIN, dispatch.WIDE):
            residuals = max(counts)
            if self.rounds == SYMBOLS:
                self.symbols += 2 if second else 1
                residuals = self.symbols
        variables = first.variables | other.variables
        result = self.register(variables, series, residuals)
        if second:
            self.register(variables, series, residuals)
        fields = (op, result, result + 1 if second else result, a, a if b is None else b)
        self.code.append((*fields, first.series, other.series, *counts, *table, self.rounds, fresh))
        self.constants.append(constant)
        return result

    def number(self, value: Value, off: float = 0.0) -> int:
        """An exact number as a register."""
        if isinstance(value, int):
            return value
        near, missed = enclosed(value)
        fresh, own = self.symbols, missed + off > 0 and self.rounds == SYMBOLS
        self.symbols += own
        result = self.register(frozenset(), 0, self.symbols if own else 0)
        if not missed + off:
            self.exact[result] = value
        how = CARRIED if self.rounds == SYMBOLS and not own else self.rounds
        self.code.append((dispatch.NUMBER, result, result, result, result, 0, 0, 0, 0, 0, 0, how, fresh))
        self.constants.append((near, missed + off))
        return result

    # ── arithmetic ────────────────────────────────────────────────────────────────────────────────

    def _series(self, *values: int) -> int:
        return max(self.registers[v].series for v in values)

    def add(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction):
            if isinstance(b, Fraction):
                return a + b
            a, b = b, a
        if isinstance(b, Fraction):
            if not b:
                return a
            return self._emit(dispatch.ADD_NUMBER, a, series=self._series(a), constant=enclosed(b))
        return self._emit(dispatch.ADD, a, b, series=self._series(a, b))

    def sub(self, a: Value, b: Value) -> Value:
        if isinstance(b, Fraction):
            return self.add(a, -b)
        if isinstance(a, Fraction):
            return self._emit(dispatch.SUB_FROM, b, series=self._series(b), constant=enclosed(a))
        return self._emit(dispatch.SUB, a, b, series=self._series(a, b))

    def mul(self, a: Value, b: Value) -> Value:
        if isinstance(a, Fraction):
            if isinstance(b, Fraction):
                return a * b
            a, b = b, a
        if isinstance(b, Fraction):
            return self._scaled(a, b)
        if self.registers[b].series == 0 and self.registers[a].series > 0:
            a, b = b, a
        first, second = self.registers[a], self.registers[b]
        table = self._pairs(first.variables, second.variables)
        return self._emit(dispatch.MUL, a, b, series=first.series + second.series, table=table)

    def _scaled(self, a: int, c: Fraction) -> Value:
        if c.denominator == 1 and abs(c.numerator) <= 1:
            if not c:
                return Fraction(0)
            return a if c > 0 else self._emit(dispatch.SUB_FROM, a, series=self._series(a))
        return self._emit(dispatch.SCALE, a, series=self._series(a), constant=enclosed(c))

    def power(self, a: Value, exponent: int) -> Value:
        """By repeated squaring, lowest bit first, as the kernels do it."""
        result: Value | None = None
        while True:
            if exponent & 1:
                result = a if result is None else self.mul(result, a)
            exponent >>= 1
            if not exponent:
                return Fraction(1) if result is None else result
            a = self.mul(a, a)

    def function(self, name: str, a: Value) -> int:
        """1/a, √a, sin a (and cos a in the register after it), eᵃ, log a."""
        a = self.number(a)
        variables = self.registers[a].variables
        series = 0 if self.registers[a].series == 0 else self.terms - 1
        op, table = FUNCTION + KINDS[name], self._pairs(variables, variables)
        return self._emit(op, a, series=series, table=table, second=name == "sin")

    # ── rounding of the run ───────────────────────────────────────────────────────────────────────

    def plain(self, a: Value) -> int:
        """The same without residuals: what they may add is a remainder."""
        a = self.number(a)
        return self._emit(dispatch.PLAIN, a, series=self._series(a), plain=True)

    def wide(self, a: int) -> int:
        """The value with its rounding as a remainder."""
        return self._emit(dispatch.WIDE, a, series=self._series(a), plain=True)

    def slack(self, a: int, b: int, factor: float) -> int:
        """a, with so many times |b| more of rounding."""
        return self._emit(dispatch.SLACK, a, b, series=self._series(a), constant=(factor, 0.0))

    def more(self, a: int, b: int) -> int:
        """a, with the rounding of b added to its own."""
        return self._emit(dispatch.MORE, a, b, series=self._series(a))

    def tally(self, total: int, a: int, b: int, factor: float) -> int:
        """The total, with so many times |a| |b| more of rounding; neither has any of its own."""
        result = self.register(frozenset(), 0)
        self.code.append((dispatch.TALLY, result, b, total, a, 0, 0, 0, 0, 0, 0, 0, 0))
        self.constants.append((factor, 0.0))
        return result

    # ── graphs and systems ────────────────────────────────────────────────────────────────────────

    def graph(self, inputs: Sequence[Node], values: Sequence[Value], outputs: Sequence[Node]) -> list[Value]:
        """Nodes of the graph, from values of its inputs."""
        known = self.whole_graph(inputs, values, outputs)
        return [known[node.index] for node in outputs]

    def whole_graph(self, inputs: Sequence[Node], values: Sequence[Value], outputs: Sequence[Node]) -> dict[int, Value]:
        """The same with all nodes on the way, by their index."""
        known: dict[int, Value] = {node.index: value for node, value in zip(inputs, values, strict=True)}
        shared: dict[tuple[str, Value], int] = {}

        def once(name: str, a: Value) -> int:
            if (name, a) not in shared:
                shared[name, a] = self.function(name, a)
            return shared[name, a]

        key = tuple(inputs), tuple(outputs)  # the same in each stage
        if key not in self._orders:
            self._orders[key] = [node for node in ancestors(outputs, known) if node.index not in known]
        for node in self._orders[key]:
            known[node.index] = self._node(node, [known[x.index] for x in node.args], once)
        return known

    def _node(self, node: Node, args: list[Value], once: object) -> Value:
        if node.op == "const":  # what is run folds no constants that the graph has not folded
            exact: Fraction = node.data
            return self.number(exact) if self.rounds else exact
        if node.op == "pi":
            return self.number(Fraction(math.pi), PI)
        if node.op == "power":
            return self.power(args[0], node.data)
        if node.op not in OPERATIONS:
            raise _unknown(node)
        if self.rounds and node.op in ("mul", "div"):  # by one: doubles do that without rounding
            if self._is_one(args[1]):
                return args[0]
            if node.op == "mul" and self._is_one(args[0]):
                return args[1]
        value: Value = OPERATIONS[node.op](self, once, *args)
        if node.op in LIBRARY and self.rounds in (RUNNING, SYMBOLS):  # which need not compute it as it is done here
            value = self.slack(self.number(value), self.number(value), LIBRARY_OPERATION)
        return value

    def _is_one(self, value: Value) -> bool:
        return value == 1 if isinstance(value, Fraction) else self.exact.get(value) == 1

    def solve(
        self, entries: Mapping[tuple[int, int], Value], right: Sequence[Value], errors: Sequence[int] = ()
    ) -> list[int]:
        """The unknowns of A x = b, by their residuals; `errors` carry what the run's own elimination leaves of it."""
        places = tuple(entries)
        found = tuple(self.number(entries[place]) for place in places)
        known = tuple(-1 if isinstance(b, Fraction) and not b else self.number(b) for b in right)
        used = [*found, *(b for b in known if b >= 0)]
        variables = frozenset[int]().union(*(self.registers[v].variables for v in used))
        series = self.terms - 1 if any(self.registers[v].series for v in used) else 0
        first = sum(len(system.unknowns) for system in self.systems)
        unknowns = tuple(self.register(variables, series, first + len(right)) for _ in right)
        table = self._pairs(variables, variables)
        self.code.append((dispatch.SOLVE, unknowns[0], 0, 0, 0, 0, 0, 0, 0, *table, len(self.systems), 0))
        widest = max(sum(i == row for i, _ in places) for row in range(len(right)))
        term = UNIT * (2**self.monomials.order * self.terms * (widest + 1) + 16)
        self.constants.append((term, 0.0))
        self.systems.append(LinearSystem(places, found, known, unknowns, tuple(errors) or (-1,) * len(right), first))
        return list(unknowns)

    def forget_symbols(self) -> None:
        """Number the symbols of rounding anew: no value that carries the old ones is used any more."""
        self.most_symbols, self.symbols = max(self.most_symbols, self.symbols), 0

    def array(self) -> np.ndarray:
        """The pairs as the kernel reads them."""
        return np.array(self.pairs or [(0, 0, 0)], dtype=np.int64)


def require_known(nodes: Sequence[Node]) -> None:
    """`BadRequest` where a tape could not be recorded, before any is."""
    for node in ancestors(nodes):
        if node.op not in (*OPERATIONS, *OWN, "input"):
            raise _unknown(node)


def _unknown(node: Node) -> BadRequest:
    what = str(node.data) if node.op == "input" else node.op
    return BadRequest(f"Taylor forms in native code do not know {what!r}")
