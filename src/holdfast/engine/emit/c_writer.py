"""C99 as text: the driver language's primitive operations, one lane to a Real.

Compile with contraction off (`-std=c99` does that with gcc) to have exactly the roundings that are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.engine.emit.target import Target, Value

TYPES = {"i": "int64_t", "w": "int64_t", "b": "int", "m": "int", "": "void"}  # "d" and "r" are what the writer says
FUNCTIONS = {"fma": "fma", "absolute": "fabs", "square_root": "sqrt", "copy_sign": "copysign", "power": "pow"}
FUNCTIONS |= {"smaller": "hf_smaller", "larger": "hf_larger", "bits": "hf_bits", "of_bits": "hf_of_bits"}

PREAMBLE = """#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef FP_FAST_FMA
#define FUSED(a, b, c) fma(a, b, c)
#else
#define FUSED(a, b, c) ((a) * (b) + (c))
#endif

static inline double hf_smaller(double a, double b) { return a < b || a != a || (a == b && signbit(a)) ? a : b; }
static inline double hf_larger(double a, double b) { return a > b || a != a || (a == b && !signbit(a)) ? a : b; }
static inline int64_t hf_bits(double a) { int64_t w; memcpy(&w, &a, sizeof w); return w; }
static inline double hf_of_bits(int64_t w) { double a; memcpy(&a, &w, sizeof a); return a; }
"""


def literal(value: float) -> str:
    """A double that C reads back bit for bit."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(float(value))
    return f"({text})" if value < 0 else text


class CWriter(Target):
    """The text of a translation unit under construction; its functions are called hf_NAME."""

    lanes = 1
    number = "double"  # the type of Numbers and Reals
    linkage = ""  # of functions without a hint

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.declared: list[str] = []
        self.depth = 1

    def type(self, kind: str) -> str:
        return f"{self.type(kind[1])} *" if kind.startswith("p") else TYPES.get(kind, self.number)

    def literal(self, value: float) -> str:
        """A constant Number."""
        return literal(value)

    def library(self, name: str) -> str:
        """A function of <math.h> for Numbers."""
        return name

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None:
        listed = ", ".join(f"{self.type(kind)} {argument}" for argument, kind in arguments)
        linkage = "static inline " if hint else self.linkage
        self.header = f"{linkage}{self.type(returns)} hf_{name}({listed or 'void'})\n{{"
        self.lines, self.declared, self.depth = [], [], 1

    def end(self) -> None:
        self.functions.append("\n".join([self.header, *self.declared, *self.lines, "}\n"]))

    def argument(self, name: str, kind: str) -> Value:
        return Value(kind, name)

    def constant(self, kind: str, value: float) -> Value:
        return Value(kind, f"INT64_C({value})" if kind == "i" else self.literal(value))

    def declare(self, name: str, kind: str) -> None:
        self.declared.append(f"    {self.type(kind)} {name};")

    def assign(self, name: str, value: Value) -> None:
        self.line(f"{name} = {value.text};")

    def read(self, name: str, kind: str) -> Value:
        return Value(kind, name)

    def part(self, array: Value, index: Value) -> Value:
        return Value(array.kind, f"({array.text} + {index.text})")

    def as_integers(self, array: Value) -> Value:
        return Value("pi", f"((int64_t *)(void *){array.text})")

    def load(self, array: Value, index: Value) -> Value:
        return Value(array.kind[1], f"{array.text}[{index.text}]")

    def store(self, array: Value, index: Value, value: Value) -> None:
        self.line(f"{array.text}[{index.text}] = {value.text};")

    def binary(self, op: str, a: Value, b: Value) -> Value:
        if op == "<<":  # of a negative number only unsigned shifts are defined
            return Value(a.kind, f"(int64_t)((uint64_t){a.text} << {b.text})")
        if a.kind == "w" and op in "+-":
            return Value(a.kind, f"(int64_t)((uint64_t){a.text} {op} (uint64_t){b.text})")
        return Value(a.kind, f"({a.text} {'/' if op == '//' else op} {b.text})")

    def negate(self, a: Value) -> Value:
        return Value(a.kind, f"(-{a.text})")

    def compare(self, op: str, a: Value, b: Value) -> Value:
        return Value("m" if a.kind in "rw" else "b", f"({a.text} {op} {b.text})")

    def logical(self, op: str, a: Value, b: Value) -> Value:
        if op == "not":
            return Value(a.kind, f"(!{a.text})")
        return Value(a.kind, f"({a.text} {'&&' if op == 'and' else '||'} {b.text})")

    def widen(self, value: Value) -> Value:
        return Value({"d": "r", "b": "m", "i": "w"}[value.kind], value.text)

    def builtin(self, name: str, values: list[Value]) -> Value:
        texts, kind = [value.text for value in values], values[0].kind
        if name == "select":
            return Value(values[1].kind, f"({texts[0]} ? {texts[1]} : {texts[2]})")
        if name in ("any_lane", "rarely"):
            return Value("b", texts[0])
        if name == "quotient":
            return self.binary("/", *values)
        if name == "fused":
            return Value(kind, f"FUSED({', '.join(texts)})")
        if name == "number":
            return Value("d", f"({self.number}){texts[0]}")
        if name == "real":
            return values[0]
        result = {"bits": "w", "of_bits": "r", "power": "d"}.get(name, kind)
        called = FUNCTIONS[name]
        called = called if called.startswith("hf_") else self.library(called)
        return Value(result, f"{called}({', '.join(texts)})")

    def call(self, name: str, values: list[Value], returns: str) -> Value:
        called = self.library(name.removeprefix("library_")) if name.startswith("library_") else f"hf_{name}"
        text = f"{called}({', '.join(value.text for value in values)})"
        if not returns:
            self.line(f"{text};")
        return Value(returns, text)

    def ignore(self, value: Value) -> None:
        if value.kind:
            self.line(f"(void){value.text};")

    @contextmanager
    def loop(self, name: str, start: Value, stop: Value) -> Iterator[None]:
        self.line(f"for ({name} = {start.text}; {name} < {stop.text}; {name}++) {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    @contextmanager
    def repeat(self, condition: Callable[[], Value]) -> Iterator[None]:
        self.line(f"while ({condition().text}) {{")
        self.depth += 1
        yield
        self.depth -= 1
        self.line("}")

    def branch(self, condition: Value, yes: Callable[[], None], no: Callable[[], None] | None) -> None:
        self.line(f"if ({condition.text}) {{")
        self.depth += 1
        yes()
        self.depth -= 1
        if no:
            self.line("} else {")
            self.depth += 1
            no()
            self.depth -= 1
        self.line("}")

    def leave(self) -> None:
        self.line("break;")

    def give(self, value: Value | None) -> None:
        self.line("return;" if value is None else f"return {value.text};")
