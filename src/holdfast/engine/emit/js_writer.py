"""JavaScript as text: the driver language's primitive operations, in doubles, one case at a time.

Numbers are shortest decimals, which JavaScript reads back bit for bit. It has no fused product: a b + c is rounded
twice, and elementary functions are those of the browser, so that results agree with the kernels to rounding only.
Every name is our own; none of a problem's reaches the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.engine.emit.target import Target, Value

FUNCTIONS = {
    "absolute": "Math.abs",
    "square_root": "Math.sqrt",
    "smaller": "Math.min",
    "larger": "Math.max",
    "power": "Math.pow",
}
WORDS = frozenset("new let const var function this delete typeof void in of switch case default".split())


def own(name: str) -> str:
    """A name of the driver language that is no word of JavaScript."""
    return f"{name}_" if name in WORDS else name


def literal(value: float) -> str:
    """A double that JavaScript reads back bit for bit."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(float(value)).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


class JSWriter(Target):
    """The text of a module under construction; its functions are called hf_NAME."""

    lanes = 1

    def __init__(self) -> None:
        self.functions: list[str] = []
        self.lines: list[str] = []
        self.declared: list[str] = []
        self.depth, self.parts = 1, 0

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def begin(self, name: str, arguments: list[tuple[str, str]], returns: str, hint: str) -> None:
        listed = ", ".join(own(argument) for argument, _ in arguments)
        self.header = f"function hf_{name}({listed}) {{"
        self.lines, self.declared, self.depth, self.parts = [], [], 1, 0

    def end(self) -> None:
        names = f"  let {', '.join(self.declared)};" if self.declared else None
        self.functions.append("\n".join([self.header, *filter(None, [names]), *self.lines, "}\n"]))

    def argument(self, name: str, kind: str) -> Value:
        return Value(kind, own(name))

    def constant(self, kind: str, value: float) -> Value:
        return Value(kind, str(value) if kind == "i" else literal(value))

    def declare(self, name: str, kind: str) -> None:
        self.declared.append(own(name))

    def assign(self, name: str, value: Value) -> None:
        self.line(f"{own(name)} = {value.text};")

    def read(self, name: str, kind: str) -> Value:
        return Value(kind, own(name))

    def part(self, array: Value, index: Value) -> Value:
        """A view, made once where the part is named."""
        if index.text == "0":
            return array
        self.parts += 1
        self.line(f"const part{self.parts} = {array.text}.subarray({index.text});")
        return Value(array.kind, f"part{self.parts}")

    def as_integers(self, array: Value) -> Value:
        return Value("pi", array.text)

    def load(self, array: Value, index: Value) -> Value:
        return Value(array.kind[1], f"{array.text}[{index.text}]")

    def store(self, array: Value, index: Value, value: Value) -> None:
        self.line(f"{array.text}[{index.text}] = {value.text};")

    def binary(self, op: str, a: Value, b: Value) -> Value:
        if op == "//":
            return Value(a.kind, f"Math.floor({a.text} / {b.text})")
        return Value(a.kind, f"({a.text} {op} {b.text})")

    def negate(self, a: Value) -> Value:
        return Value(a.kind, f"(-{a.text})")

    def compare(self, op: str, a: Value, b: Value) -> Value:
        strict = {"==": "===", "!=": "!=="}.get(op, op)
        return Value("m" if a.kind in "rw" else "b", f"({a.text} {strict} {b.text})")

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
        if name in ("fma", "fused"):
            return Value(kind, f"({texts[0]} * {texts[1]} + {texts[2]})")
        if name in ("number", "real"):
            return Value({"number": "d", "real": "r"}[name], texts[0])
        return Value("d" if name == "power" else kind, f"{FUNCTIONS[name]}({', '.join(texts)})")

    def call(self, name: str, values: list[Value], returns: str) -> Value:
        text = f"hf_{name}({', '.join(value.text for value in values)})"
        if not returns:
            self.line(f"{text};")
        return Value(returns, text)

    def ignore(self, value: Value) -> None:
        if value.kind:
            self.line(f"{value.text};")

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
