"""Slopes over a cell, from the last operation back: how much what is wanted moves with each result on the way to it.

v̄ = Σ w̄ ∂w/∂v    over the operations w that use v
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from holdfast.engine.forms.operations import LIBRARY
from holdfast.engine.forms.rounding import ELEMENTARY_OPERATION, LIBRARY_OPERATION, OPERATION
from holdfast.engine.forms.tape import Recorder, Value
from holdfast.errors import BadRequest
from holdfast.graph.nodes import Node, ancestors

Slopes = list[Value]  # of one value, by each combination that is wanted
NOTHING, ONE, MINUS_ONE = Fraction(0), Fraction(1), Fraction(-1)
EXACT = ("input", "neg")  # what does not round
ROUNDED_ONCE = ("add", "sub", "mul", "sqrt", "const", "pi")


def unit_of(node: Node) -> float:
    """The most that an operation is wrong by, beside its result (theory 3.5)."""
    if node.op in EXACT or (node.op == "const" and Fraction(float(node.data)) == node.data):
        return 0.0
    if node.op == "power":
        return 1.01 * (int(node.data) - 1) * OPERATION  # of all products together: each factor counts once
    if node.op == "div":
        return 2.01 * OPERATION  # it may be a reciprocal and a product
    if node.op in ROUNDED_ONCE:
        return OPERATION
    return LIBRARY_OPERATION if node.op in LIBRARY else ELEMENTARY_OPERATION


def tallied(tape: Recorder, totals: Sequence[int], slopes: Slopes, size: int, unit: float) -> list[int]:
    """The totals with unit |slope| |size| more, where a slope is not 0."""
    found = list(totals)
    for k, slope in enumerate(slopes):
        if isinstance(slope, int) or slope:
            found[k] = tape.tally(found[k], tape.number(slope), size, unit)
    return found


class Sweep:
    """Goes back over the operations of some outputs, whose values over a cell are there.

    With `rounded`, values carry bounds of their errors, which are taken for a part of where they may lie.
    """

    def __init__(
        self, tape: Recorder, outputs: Sequence[Node], known: Mapping[int, Value], ends: Sequence[Node], *,
        rounded: bool,
    ) -> None:  # fmt: skip
        self._tape, self._known, self._rounded = tape, known, rounded
        self._outputs, self._ends, self._moving = outputs, ends, {node.index for node in ends}
        self._order = [node for node in ancestors(outputs, set(self._moving)) if node.index not in self._moving]
        for node in self._order:
            if any(arg.index in self._moving for arg in node.args) or (rounded and self._unit(node)):
                self._moving.add(node.index)
        self._places: dict[int, Value] = {}
        self._shared: dict[tuple[str, int], Value] = {}

    def _unit(self, node: Node) -> float:
        """The most that an operation is wrong by: nothing where its result is an operand, as by a factor of one."""
        value = self._known[node.index]
        if isinstance(value, int) and (value in self._tape.exact or value in self._registers_of(node)):
            return 0.0
        return unit_of(node)

    def _registers_of(self, node: Node) -> list[int]:
        values = (self._known[arg.index] for arg in node.args)
        return [value for value in values if isinstance(value, int)]

    def back(self, seeds: Sequence[Slopes], totals: list[int]) -> tuple[list[Slopes], list[int]]:
        """Slopes by the ends, from those by the outputs; totals with |v̄| |v| unit more for each operation."""
        tape, slopes = self._tape, dict[int, Slopes]()
        for node, seed in zip(self._outputs, seeds, strict=True):
            self._put(slopes, node, seed)
        for node in reversed(self._order):
            own = slopes.pop(node.index, None)
            if own is None:
                continue
            unit = self._unit(node) if self._rounded else 0.0
            if unit:
                totals = tallied(tape, totals, own, tape.number(self.place(node)), unit)
            for k, arg in enumerate(node.args):
                if arg.index in self._moving:
                    partial = self._partial(node, k)
                    self._put(slopes, arg, [tape.mul(slope, partial) for slope in own])
        nothing: Slopes = [NOTHING] * len(seeds[0])
        return [slopes.get(node.index, nothing) for node in self._ends], totals

    def _put(self, slopes: dict[int, Slopes], node: Node, more: Slopes) -> None:
        """Add slopes by a node to those that are known."""
        before = slopes.get(node.index)
        add = self._tape.add
        slopes[node.index] = list(more) if before is None else [add(a, b) for a, b in zip(before, more, strict=True)]

    def place(self, node: Node) -> Value:
        """Where a value may lie, its error included."""
        if node.index not in self._places:
            value = self._known[node.index]
            wide = self._rounded and isinstance(value, int)
            self._places[node.index] = self._tape.wide(value) if wide and isinstance(value, int) else value
        return self._places[node.index]

    def _once(self, name: str, node: Node) -> Value:
        """A function of a node's value."""
        if (name, node.index) not in self._shared:
            self._shared[name, node.index] = self._tape.function(name, self.place(node))
        return self._shared[name, node.index]

    def _partial(self, node: Node, k: int) -> Value:
        tape, args, a = self._tape, node.args, node.args[0]
        match node.op:
            case "add":
                return ONE
            case "sub":
                return MINUS_ONE if k else ONE
            case "neg":
                return MINUS_ONE
            case "mul":
                return self.place(args[1 - k])
            case "div":
                share = self._once("recip", args[1])
                return tape.mul(tape.mul(share, self.place(node)), MINUS_ONE) if k else share
            case "power":
                return tape.mul(tape.power(self.place(a), int(node.data) - 1), Fraction(node.data))
            case "sqrt":
                return tape.mul(self._once("recip", node), Fraction(1, 2))
            case "exp":
                return self.place(node)
            case "log":
                return self._once("recip", a)
            case "sin":
                return self._sine(a)[1]
            case "cos":
                return tape.mul(self._sine(a)[0], MINUS_ONE)
            case "tan":
                return tape.add(tape.power(self.place(node), 2), ONE)
            case "tanh":
                return tape.sub(ONE, tape.power(self.place(node), 2))
            case "sinh" | "cosh":
                grown = self._once("exp", a)
                less = tape.function("recip", grown)
                both = tape.add(grown, less) if node.op == "sinh" else tape.sub(grown, less)
                return tape.mul(both, Fraction(1, 2))
            case "pow":
                if k:
                    return tape.mul(self.place(node), self._once("log", a))
                return tape.mul(tape.mul(self.place(node), self.place(args[1])), self._once("recip", a))
        raise BadRequest(f"the slopes of {node.op!r} are not followed over cells")

    def _sine(self, node: Node) -> tuple[Value, Value]:
        sine = self._once("sin", node)
        assert isinstance(sine, int)
        return sine, sine + 1
