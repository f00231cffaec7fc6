"""The statements of a body as LLVM IR."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from holdfast.engine.emit.body import CodeBody, Operand
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.order.staggered import staggered
from holdfast.engine.emit.tables import llvm_table_call
from holdfast.engine.emit.target import Signature, Value

BODY_SIGNATURE = Signature(("d", "pr", "pr", "pr", "pr"), "")

PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "min": "minimum", "max": "maximum"}
OWN = {"exp": "exponential", "log": "logarithm", "pow": "general_power"}
OWN |= {"sinh": "hyperbolic_sine", "cosh": "hyperbolic_cosine", "tanh": "hyperbolic_tangent"}


def body_arguments() -> list[tuple[str, str]]:
    """t, x, p, out and scratch."""
    return list(zip(("t", "x", "p", "out", "scratch"), BODY_SIGNATURE.arguments, strict=True))


def unless_in_place(writer: LLVMWriter, body: CodeBody, copy: Callable[[], None]) -> None:
    """What a body does to repeat parts of the state in its result, unless the result begins where they stand."""
    if body.repeated:
        place, operand = body.repeated[0]
        there = writer.part(Value("pr", "%x"), Value("i", str(operand - 1 - place))).text
        writer.branch(Value("b", writer.let(f"icmp ne ptr %out, {there}")), copy, None)


def write_in_parts(writer: LLVMWriter, name: str, body: CodeBody, parts: int, *, fused: bool) -> None:
    """A function of all statements for parts of the lanes, each behind the one before."""
    writer.begin(name, body_arguments(), "", "noinline")
    with writer.in_parts(parts):
        pieces = [CodePiece(writer, body, {}, fused=fused, part=part, parts=parts) for part in range(parts)]
        for part, number in staggered(len(body.statements), parts):
            pieces[part].take(number)
    CodePiece(writer, body, {}, fused=fused).hand_on_inputs()
    writer.end()


class CodePiece:
    """One function of statements; values are loaded when first needed."""

    def __init__(
        self,
        writer: LLVMWriter,
        body: CodeBody,
        crossing: dict[int, int],
        *,
        fused: bool,
        part: int = 0,
        parts: int = 1,
    ) -> None:
        """Of all lanes, or of one of several parts of them that lie side by side in memory."""
        self.writer, self.body, self.crossing, self.fused = writer, body, crossing, fused
        self.part, self.parts = part, parts
        self.texts: dict[int, str] = {}
        self.sines: dict[str, tuple[str, str]] = {}

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """Where values are given out; a piece of rolled code gives out none, and there are thousands."""
        found: dict[int, list[int]] = {}
        for place, operand in self.body.outputs:
            if isinstance(operand, int) and operand >= self.body.inputs:
                found.setdefault(operand, []).append(place)
        return found

    def write(self, name: str, start: int, stop: int, *, last: bool) -> None:
        self.writer.begin(name, body_arguments(), "", "noinline")
        for number in range(start, stop):
            self.take(number)
        if last:
            self.hand_on_inputs()
        self.writer.end()

    def take(self, number: int) -> None:
        """One statement, and its value wherever it goes."""
        slot = self.body.inputs + number
        text = self.texts[slot] = self.statement(*self.body.statements[number])
        for place in self.places.get(slot, ()):
            self.store("out", place, text)
        if slot in self.crossing:
            self.store("scratch", self.crossing[slot], text)

    def hand_on_inputs(self) -> None:
        """Results that are numbers or inputs."""
        body, repeated = self.body, set(self.body.repeated)
        for place, operand in body.outputs:
            if (isinstance(operand, float) or operand < body.inputs) and (place, operand) not in repeated:
                self.store("out", place, self.text(operand))
        unless_in_place(self.writer, body, self.repeat_state)

    def repeat_state(self) -> None:
        """Copy what the result repeats of the state; loaded anew, since no register shall hold it until here."""
        for place, operand in self.body.repeated:
            at = self.writer.part(Value("pr", "%x"), Value("i", str(operand - 1))).text
            self.store("out", place, self.writer.let(f"load volatile {self.writer.type('r')}, ptr {at}, align 8"))

    def store(self, array: str, place: int, text: str) -> None:
        self.writer.store(Value("pr", f"%{array}"), self.index(place), Value("r", text))

    def load(self, array: str, place: int) -> str:
        return self.writer.load(Value("pr", f"%{array}"), self.index(place)).text

    def index(self, place: int) -> Value:
        """Where a value lies in an array, in parts of lanes."""
        return Value("i", str(place * self.parts + self.part))

    def text(self, operand: Operand) -> str:
        """The operand as IR, loaded once in each piece."""
        if isinstance(operand, float):
            return self.writer.splat(operand)
        if operand not in self.texts:
            body = self.body
            if operand == 0:
                self.texts[0] = self.writer.widen(Value("d", "%t")).text
            elif operand <= body.states:
                self.texts[operand] = self.load("x", operand - 1)
            elif operand < body.inputs:
                self.texts[operand] = self.load("p", operand - 1 - body.states)
            else:
                self.texts[operand] = self.load("scratch", self.crossing[operand])
        return self.texts[operand]

    def statement(self, op: str, operands: tuple[Operand, ...]) -> str:
        writer = self.writer
        real = writer.type("r")
        if op in ("sin", "cos"):
            return self.sine_or_cosine(op, operands[0])
        texts = [self.text(operand) for operand in operands]
        if op in PLAIN:
            return writer.let(f"{PLAIN[op]} {real} {texts[0]}, {texts[1]}")
        if op in ("fma", "fms", "fnma"):
            return self.fused_sum(op, *texts)
        if op == "neg":
            return writer.let(f"fneg {real} {texts[0]}")
        if op in INTRINSIC:
            return writer.intrinsic(INTRINSIC[op], "r", *texts)
        if op in ("sign", "select"):
            return self.choice(op, texts)
        if op in self.body.tables:
            return llvm_table_call(writer, op, texts[0])
        name = OWN.get(op, f"library_{op}")
        return writer.call(name, [Value("r", text) for text in texts], "r").text

    def fused_sum(self, op: str, a: str, b: str, c: str) -> str:
        """a b + c, a b - c or c - a b, with one rounding where the machine has it."""
        writer, real = self.writer, self.writer.type("r")
        if not self.fused:
            product = writer.let(f"fmul {real} {a}, {b}")
            pair = f"{c}, {product}" if op == "fnma" else f"{product}, {c}"
            return writer.let(f"{'fadd' if op == 'fma' else 'fsub'} {real} {pair}")
        if op == "fnma":
            a = writer.let(f"fneg {real} {a}")
        if op == "fms":
            c = writer.let(f"fneg {real} {c}")
        return writer.intrinsic("fma", "r", a, b, c)

    def choice(self, op: str, texts: list[str]) -> str:
        writer, zero = self.writer, Value("r", self.writer.splat(0.0))
        values = [Value("r", text) for text in texts]
        above = writer.compare(">", values[0], zero)
        if op == "select":
            return writer.builtin("select", [above, values[1], values[2]]).text
        one, minus = Value("r", writer.splat(1.0)), Value("r", writer.splat(-1.0))
        below = writer.builtin("select", [writer.compare("<", values[0], zero), minus, values[0]])
        return writer.builtin("select", [above, one, below]).text  # a zero and nan stay themselves

    def sine_or_cosine(self, op: str, angle: Operand) -> str:
        text = self.text(angle)
        if text not in self.sines:
            writer = self.writer
            pair = f"%pair{len(writer.entry)}"
            writer.entry.append(f"  {pair} = alloca [2 x {writer.type('r')}]")
            array = Value("pr", pair)
            writer.call("sine_cosine", [Value("r", text), array], "")
            first, second = (writer.load(array, Value("i", place)).text for place in "01")
            self.sines[text] = (first, second)
        return self.sines[text][op == "cos"]
