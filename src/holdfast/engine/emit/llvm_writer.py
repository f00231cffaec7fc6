"""LLVM IR as text: the driver language's primitive operations, with `lanes` doubles to a Real.

No fast-math flag ever appears: what is written is what every tier computes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.engine.emit.target import Target, Value

FLOAT_OPS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
INTEGER_OPS = {"+": "add", "-": "sub", "*": "mul", "//": "sdiv", "%": "srem", "&": "and", "<<": "shl", ">>": "ashr"}
FLOAT_TESTS = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}
INTEGER_TESTS = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
INTRINSICS = {"fma": "fma", "absolute": "fabs", "square_root": "sqrt", "copy_sign": "copysign"}
INTRINSICS |= {"smaller": "minimum", "larger": "maximum"}
LINE = 64  # bytes in a line of the cache: lanes that wait on the stack must not lie across two


def hexadecimal(value: float) -> str:
    """A double as LLVM reads it back bit for bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


class LLVMWriter(Target):
    """The text of a module under construction."""

    def __init__(self, lanes: int = 1, *, fused: bool = True, register: int | None = None) -> None:
        """`fused` says whether this machine has fused products, `register` how many lanes fill a register, where that
        is to be heeded.
        """
        self.lanes, self.fused = lanes, fused
        self.register = register if register and lanes % register == 0 else lanes
        self.functions: list[str] = []
        self.declarations: set[str] = set()
        self.marks: list[str] = []
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.count = 0
        self.exits: list[str] = []
        self.returns = ""

    @property
    def module(self) -> str:
        return "\n".join([*sorted(self.declarations), *self.functions, *self.marks]) + "\n"

    def mark(self, content: str) -> str:
        """A mark of the module that instructions can bear; `@` in its content stands for the mark itself."""
        name = f"!{len(self.marks)}"
        self.marks.append(f"{name} = distinct !{{{content.replace('@', name)}}}")
        return name

    def type(self, kind: str) -> str:
        """The LLVM type of a kind of value."""
        if kind.startswith("p"):
            return "ptr"
        scalar = {"i": "i64", "d": "double", "b": "i1", "r": "double", "w": "i64", "m": "i1", "": "void"}[kind]
        return f"<{self.lanes} x {scalar}>" if kind in "rwm" and kind and self.lanes > 1 else scalar

    @contextmanager
    def in_parts(self, parts: int) -> Iterator[None]:
        """Write for one of so many parts of the lanes meanwhile."""
        whole, self.lanes = self.lanes, self.lanes // parts
        yield
        self.lanes = whole

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"

    def label(self) -> str:
        self.count += 1
        return f"b{self.count}"

    def open(self, label: str) -> None:
        self.lines.append(f"{label}:")

    def go(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    # ── functions ─────────────────────────────────────────────────────────────────────────────────

    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None:
        apart = " noalias" if hint.startswith("noinline") else ""  # the arrays of a body never overlap
        listed = ", ".join(
            f"{self.type(kind)}{apart if kind.startswith('p') else ''} %{argument}" for argument, kind in arguments
        )
        linkage = "internal " if hint == "alwaysinline" else ""
        whole = "" if linkage or self.lanes == 1 else f" alignstack({LINE})"
        self.header = f"define {linkage}{self.type(returns)} @{name}({listed}) {hint}{whole} {{"
        self.lines, self.entry, self.exits, self.returns = [], [], [], returns

    def end(self) -> None:
        self.lines.append("  ret void" if not self.returns else "  unreachable")
        self.functions.append("\n".join([self.header, "entry:", *self.entry, *self.lines, "}"]))

    def argument(self, name: str, kind: str) -> Value:
        return Value(kind, f"%{name}")

    def constant(self, kind: str, value: float) -> Value:
        return Value(kind, str(value) if kind == "i" else hexadecimal(value))

    def splat(self, value: float) -> str:
        """A constant Real."""
        return f"splat (double {hexadecimal(value)})" if self.lanes > 1 else hexadecimal(value)

    # ── variables and memory ──────────────────────────────────────────────────────────────────────

    def declare(self, name: str, kind: str) -> None:
        self.entry.append(f"  %at.{name} = alloca {self.type(kind)}")

    def assign(self, name: str, value: Value) -> None:
        self.lines.append(f"  store {self.type(value.kind)} {value.text}, ptr %at.{name}")

    def read(self, name: str, kind: str) -> Value:
        return Value(kind, self.let(f"load {self.type(kind)}, ptr %at.{name}"))

    def part(self, array: Value, index: Value) -> Value:
        element = self.type(array.kind[1])
        return Value(array.kind, self.let(f"getelementptr {element}, ptr {array.text}, i64 {index.text}"))

    def as_integers(self, array: Value) -> Value:
        return Value("pi", array.text)

    def load(self, array: Value, index: Value) -> Value:
        kind = array.kind[1]
        return Value(kind, self.let(f"load {self.type(kind)}, ptr {self.part(array, index).text}, align 8"))

    def store(self, array: Value, index: Value, value: Value) -> None:
        place = self.part(array, index).text
        self.lines.append(f"  store {self.type(value.kind)} {value.text}, ptr {place}, align 8")

    # ── operations ────────────────────────────────────────────────────────────────────────────────

    def binary(self, op: str, a: Value, b: Value) -> Value:
        name = FLOAT_OPS[op] if a.kind in "dr" else INTEGER_OPS[op]
        return Value(a.kind, self.let(f"{name} {self.type(a.kind)} {a.text}, {b.text}"))

    def negate(self, a: Value) -> Value:
        if a.kind in "dr":
            return Value(a.kind, self.let(f"fneg {self.type(a.kind)} {a.text}"))
        return Value(a.kind, self.let(f"sub {self.type(a.kind)} 0, {a.text}"))

    def compare(self, op: str, a: Value, b: Value) -> Value:
        test = f"fcmp {FLOAT_TESTS[op]}" if a.kind in "dr" else f"icmp {INTEGER_TESTS[op]}"
        kind = "m" if a.kind in "rw" else "b"
        return Value(kind, self.let(f"{test} {self.type(a.kind)} {a.text}, {b.text}"))

    def logical(self, op: str, a: Value, b: Value) -> Value:
        if op == "not":
            ones = "true" if self.type(a.kind) == "i1" else "splat (i1 true)"
            return Value(a.kind, self.let(f"xor {self.type(a.kind)} {a.text}, {ones}"))
        return Value(a.kind, self.let(f"{op} {self.type(a.kind)} {a.text}, {b.text}"))

    def widen(self, value: Value) -> Value:
        kind = {"d": "r", "b": "m", "i": "w"}[value.kind]
        if self.lanes == 1:
            return Value(kind, value.text)
        if not value.text.startswith("%"):
            return Value(kind, f"splat ({self.type(value.kind)} {value.text})")
        vector = self.type(kind)
        first = self.let(f"insertelement {vector} poison, {self.type(value.kind)} {value.text}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return Value(kind, self.let(f"shufflevector {vector} {first}, {vector} poison, {mask}"))

    def intrinsic(self, name: str, kind: str, *texts: str) -> str:
        """A call of an LLVM intrinsic on doubles or lanes of them."""
        type_ = self.type(kind)
        suffix = "f64" if type_ == "double" else f"v{self.lanes}f64"
        self.declarations.add(f"declare {type_} @llvm.{name}.{suffix}({', '.join([type_] * len(texts))})")
        listed = ", ".join(f"{type_} {text}" for text in texts)
        return self.let(f"call {type_} @llvm.{name}.{suffix}({listed})")

    def library(self, name: str, kind: str, *texts: str) -> str:
        """A call of the system's mathematical library, lane by lane, never folded or guessed by a pass."""
        self.declarations.add(f"declare double @{name}({', '.join(['double'] * len(texts))}) nobuiltin")
        if self.type(kind) == "double":
            listed = ", ".join(f"double {text}" for text in texts)
            return self.let(f"call double @{name}({listed}) nobuiltin")
        result = "poison"
        for lane in range(self.lanes):
            parts = [self.let(f"extractelement {self.type(kind)} {text}, i64 {lane}") for text in texts]
            value = self.let(f"call double @{name}({', '.join(f'double {p}' for p in parts)}) nobuiltin")
            result = self.let(f"insertelement {self.type(kind)} {result}, double {value}, i64 {lane}")
        return result

    def builtin(self, name: str, values: list[Value]) -> Value:
        texts, kind = [value.text for value in values], values[0].kind
        if name in INTRINSICS:
            return Value(kind, self.intrinsic(INTRINSICS[name], kind, *texts))
        if name == "fused":
            return self.fused_sum(*values)
        if name == "quotient":
            return self.binary("/", *values)
        if name == "select":
            condition, yes, no = values
            pick = f"{self.type(condition.kind)} {condition.text}, {self.type(yes.kind)} {yes.text}"
            return Value(yes.kind, self.let(f"select {pick}, {self.type(no.kind)} {no.text}"))
        if name == "any_lane":
            return self.any_lane(values[0])
        if name == "rarely":
            self.declarations.add("declare i1 @llvm.expect.i1(i1, i1)")
            return Value("b", self.let(f"call i1 @llvm.expect.i1(i1 {self.any_lane(values[0]).text}, i1 false)"))
        if name == "power":
            return Value("d", self.library("pow", "d", *texts))
        if name == "number":
            return Value("d", self.let(f"sitofp i64 {texts[0]} to double"))
        if name == "real":
            return values[0]
        return self.cast(name, values[0])

    def cast(self, name: str, value: Value) -> Value:
        kind = "w" if name == "bits" else "r"
        return Value(kind, self.let(f"bitcast {self.type(value.kind)} {value.text} to {self.type(kind)}"))

    def fused_sum(self, a: Value, b: Value, c: Value) -> Value:
        if self.fused:
            return Value(a.kind, self.intrinsic("fma", a.kind, a.text, b.text, c.text))
        return self.binary("+", self.binary("*", a, b), c)

    def any_lane(self, value: Value) -> Value:
        if self.type(value.kind) == "i1":
            return Value("b", value.text)
        together = self.let(f"bitcast {self.type('m')} {value.text} to i{self.lanes}")
        return Value("b", self.let(f"icmp ne i{self.lanes} {together}, 0"))

    def call(self, name: str, values: list[Value], returns: str) -> Value:
        listed = ", ".join(f"{self.type(value.kind)} {value.text}" for value in values)
        text = f"call {self.type(returns)} @{name}({listed})"
        if returns:
            return Value(returns, self.let(text))
        self.lines.append(f"  {text}")
        return Value("", "")

    def ignore(self, value: Value) -> None:
        """Every value is computed where it stands."""

    # ── the flow ──────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def loop(self, name: str, start: Value, stop: Value) -> Iterator[None]:
        self.assign(name, start)
        with self.repeat(lambda: self.compare("<", self.read(name, "i"), stop)):
            yield
            after = self.binary("+", self.read(name, "i"), Value("i", "1"))
            self.assign(name, after)

    @contextmanager
    def repeat(self, condition: Callable[[], Value]) -> Iterator[None]:
        head, inside, after = self.label(), self.label(), self.label()
        self.go(head)
        self.open(head)
        self.lines.append(f"  br i1 {condition().text}, label %{inside}, label %{after}")
        self.open(inside)
        self.exits.append(after)
        yield
        self.exits.pop()
        self.go(head)
        self.open(after)

    def branch(self, condition: Value, yes: Callable[[], None], no: Callable[[], None] | None) -> None:
        first, second, after = self.label(), self.label(), self.label()
        self.lines.append(f"  br i1 {condition.text}, label %{first}, label %{second if no else after}")
        self.open(first)
        yes()
        self.go(after)
        if no:
            self.open(second)
            no()
            self.go(after)
        self.open(after)

    def leave(self) -> None:
        self.go(self.exits[-1])
        self.open(self.label())  # what follows in the source is never reached

    def give(self, value: Value | None) -> None:
        self.lines.append("  ret void" if value is None else f"  ret {self.type(value.kind)} {value.text}")
        self.open(self.label())
