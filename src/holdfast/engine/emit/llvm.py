"""Bodies as LLVM IR: one function of straight-line statements, or several that hand values on through memory.

    void NAME(double t, Reals x, Reals p, Reals out, Reals scratch)

A body above the ceiling is cut into pieces of a few hundred statements, so that compile time stays linear in its size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.engine.emit.body import Body, Operand
from holdfast.engine.emit.elementary import CONSTANTS, LIBRARY, NEEDS
from holdfast.engine.emit.llvm_writer import LLVMWriter
from holdfast.engine.emit.tables import llvm_table_call, write_llvm_tables
from holdfast.engine.emit.target import Signature, Value
from holdfast.engine.emit.translate import source_of, translate

UNROLLED_CEILING = 2_000  # above it pieces compile twice as fast, and run no slower: fewer values wait for registers
PIECE = 500
INLINED_CALLS = 64
BODY_SIGNATURE = Signature(("d", "pr", "pr", "pr", "pr"), "")

PLAIN = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "min": "minimum", "max": "maximum"}
OWN = {"exp": "exponential", "log": "logarithm", "pow": "general_power"}
OWN |= {"sinh": "hyperbolic_sine", "cosh": "hyperbolic_cosine", "tanh": "hyperbolic_tangent"}


def write_elementary(writer: LLVMWriter, bodies: Iterable[Body], known: dict[str, Signature]) -> None:
    """The elementary functions and the tables that the bodies call, each written once."""
    bodies = list(bodies)
    write_llvm_tables(writer, bodies)
    write_functions(writer, [op for body in bodies for op, _ in body.statements], known)


def write_functions(writer: LLVMWriter, operations: Sequence[str], known: dict[str, Signature]) -> None:
    """The elementary functions that these operations call, each written once."""
    wanted = sorted(set(operations) & (set(LIBRARY) | set(NEEDS)))
    for name in sorted(LIBRARY):
        known[f"library_{name}"] = Signature(("r",) * LIBRARY[name], "r")
    for name in sorted({name for op in wanted for name in _library_calls(op)}):
        _write_library(writer, name)
    calls = sum(op in wanted for op in operations)
    hint = "alwaysinline" if calls <= INLINED_CALLS else "noinline"
    written = set()
    for op in wanted:
        for function in NEEDS.get(op, ()):
            if function not in written:
                written.add(function)
                translate(source_of(function), writer, CONSTANTS, known, hint=hint)


def _library_calls(op: str) -> tuple[str, ...]:
    if op in ("sin", "cos"):
        return ("sin", "cos")
    return {"sinh": ("sinh", "exp"), "cosh": ("cosh", "exp"), "tanh": ("exp",)}.get(op, (op,))


def _write_library(writer: LLVMWriter, name: str) -> None:
    arguments = [(letter, "r") for letter in "xy"[: LIBRARY[name]]]
    writer.begin(f"library_{name}", arguments, "r", "noinline")
    writer.give(Value("r", writer.library(name, "r", *(f"%{letter}" for letter, _ in arguments))))
    writer.end()


def scratch_size(body: Body) -> int:
    """How many Reals a body needs for values on their way from one piece to the next."""
    return len(_crossing(body, _pieces(body)))


def write_body(writer: LLVMWriter, name: str, body: Body, *, fused: bool) -> None:
    """The body as a function of the module; `fused` says whether this machine has fused products."""
    pieces = _pieces(body)
    crossing = _crossing(body, pieces)
    names = [name] if len(pieces) == 1 else [f"{name}.{k}" for k in range(len(pieces))]
    for number, (piece_name, (start, stop)) in enumerate(zip(names, pieces, strict=True)):
        last = number == len(pieces) - 1
        _CodePiece(writer, body, crossing, fused=fused).write(piece_name, start, stop, last=last)
    if len(pieces) > 1:
        arguments = _arguments()
        writer.begin(name, arguments, "", "noinline")
        for piece_name in names:
            writer.call(piece_name, [Value(kind, f"%{argument}") for argument, kind in arguments], "")
        writer.end()


def _arguments() -> list[tuple[str, str]]:
    return list(zip(("t", "x", "p", "out", "scratch"), BODY_SIGNATURE.arguments, strict=True))


def _pieces(body: Body) -> list[tuple[int, int]]:
    count = len(body.statements)
    if count <= UNROLLED_CEILING:
        return [(0, count)]
    return [(start, min(start + PIECE, count)) for start in range(0, count, PIECE)]


def _crossing(body: Body, pieces: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Slots needed in a later piece than their own, with their places in the scratch memory."""
    if len(pieces) == 1:
        return {}
    crossing: dict[int, int] = {}
    for number, (_, operands) in enumerate(body.statements):
        for operand in operands:
            if isinstance(operand, int) and operand >= body.inputs:
                own = (operand - body.inputs) // PIECE
                if own != number // PIECE and operand not in crossing:
                    crossing[operand] = len(crossing)
    return crossing


class _CodePiece:
    """One function of statements; values are loaded when first needed."""

    def __init__(self, writer: LLVMWriter, body: Body, crossing: dict[int, int], *, fused: bool) -> None:
        self.writer, self.body, self.crossing, self.fused = writer, body, crossing, fused
        self.texts: dict[int, str] = {}
        self.sines: dict[str, tuple[str, str]] = {}

    def write(self, name: str, start: int, stop: int, *, last: bool) -> None:
        writer, body = self.writer, self.body
        writer.begin(name, _arguments(), "", "noinline")
        places: dict[int, list[int]] = {}
        for place, operand in body.outputs:
            if isinstance(operand, int) and operand >= body.inputs:
                places.setdefault(operand, []).append(place)
        for number in range(start, stop):
            slot = body.inputs + number
            text = self.texts[slot] = self.statement(*body.statements[number])
            for place in places.get(slot, ()):
                self.store("out", place, text)
            if slot in self.crossing:
                self.store("scratch", self.crossing[slot], text)
        if last:
            for place, operand in body.outputs:
                if not isinstance(operand, int) or operand < body.inputs:
                    self.store("out", place, self.text(operand))
        writer.end()

    def store(self, array: str, place: int, text: str) -> None:
        self.writer.store(Value("pr", f"%{array}"), Value("i", str(place)), Value("r", text))

    def load(self, array: str, place: int) -> str:
        return self.writer.load(Value("pr", f"%{array}"), Value("i", str(place))).text

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
            pair = f"%pair{len(self.sines)}"
            writer.entry.append(f"  {pair} = alloca [2 x {writer.type('r')}]")
            array = Value("pr", pair)
            writer.call("sine_cosine", [Value("r", text), array], "")
            first, second = (writer.load(array, Value("i", place)).text for place in "01")
            self.sines[text] = (first, second)
        return self.sines[text][op == "cos"]
