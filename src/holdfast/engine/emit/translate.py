"""From the driver language to statements of a target: one walk over Python's syntax tree, typed as it goes.

A target (`llvm_writer`, `c_writer`) supplies the primitive operations. Numbers become Reals where they meet one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from holdfast.engine.emit.target import Signature, Target, Value

TYPES = {
    "Integer": "i",
    "Number": "d",
    "Real": "r",
    "Word": "w",
    "Integers": "pi",
    "Numbers": "pd",
    "Reals": "pr",
    "None": "",
}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}
ARITHMETIC |= {ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


# builtin functions: what they take and give; "r" of a result follows its arguments ("d" of numbers only)
BUILTINS: dict[str, tuple[str, str]] = {
    "number": ("i", "d"),
    "real": ("r", "r"),
    "fma": ("xxx", "x"),
    "fused": ("xxx", "x"),
    "absolute": ("x", "x"),
    "square_root": ("x", "x"),
    "smaller": ("xx", "x"),
    "larger": ("xx", "x"),
    "copy_sign": ("xx", "x"),
    "quotient": ("xx", "x"),
    "power": ("dd", "d"),
    "bits": ("r", "w"),
    "of_bits": ("w", "r"),
}


FUNCTION = re.compile(r"^def (\w+)\(.*\n(?:[ )].*\n|\n)*", re.MULTILINE)  # its lines are indented, or close its head
HEAD = re.compile(r"^def \w+\(.*?\) -> [^:]*:", re.MULTILINE | re.DOTALL)


def source_of(function: Callable[..., object]) -> str:
    """The text of a function of the language."""
    return _functions(function.__code__.co_filename)[function.__name__]


@cache
def text_of(file: str) -> str:
    """The text of a source file as it was when it was first asked for; later changes are those of another version."""
    return Path(file).read_text(encoding="utf-8")


@cache
def _functions(file: str) -> dict[str, str]:
    """The texts of all functions of a file."""
    text = text_of(file)
    return {match[1]: match[0].rstrip() + "\n" for match in FUNCTION.finditer(text)}


def translate(
    text: str, target: Target, constants: Mapping[str, float], known: dict[str, Signature], hint: str = ""
) -> None:
    """Write every function of the text to the target and add its signature to the known ones."""
    for node in functions_in(text):
        known[node.name] = _signature(node)
        _Function(node, target, constants, known).write(hint)


@cache
def functions_in(text: str) -> tuple[ast.FunctionDef, ...]:
    """The functions of a text, parsed once: two threads that parse at the same time may both fail (CPython 106905)."""
    functions = ast.parse(text).body
    return tuple(node for node in functions if isinstance(node, ast.FunctionDef))


def signatures(texts: Iterable[str]) -> dict[str, Signature]:
    """What the functions of these texts take and give."""
    return {name: signature for text in texts for name, signature in _signatures(text).items()}


@cache
def _signatures(text: str) -> dict[str, Signature]:
    """Read off the heads alone: with a warm cache nothing else of the text is needed."""
    heads = "\n".join(f"{match[0]} ..." for match in HEAD.finditer(text))
    return {node.name: _signature(node) for node in ast.parse(heads).body if isinstance(node, ast.FunctionDef)}


def _signature(node: ast.FunctionDef) -> Signature:
    arguments = tuple(TYPES[_name(argument.annotation)] for argument in node.args.args)
    return Signature(arguments, TYPES[_name(node.returns)])


def _name(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant):
        return str(annotation.value)
    assert isinstance(annotation, ast.Name)
    return annotation.id


class _Function:
    """One function on its way to a target."""

    def __init__(
        self, node: ast.FunctionDef, target: Target, constants: Mapping[str, float], known: Mapping[str, Signature]
    ) -> None:
        self.node, self.target, self.constants, self.known = node, target, constants, known
        self.signature = known[node.name]
        self.fixed: dict[str, Value] = {}  # arguments and arrays, which never change
        self.variables: dict[str, str] = {}

    def write(self, hint: str) -> None:
        names = [argument.arg for argument in self.node.args.args]
        arguments = list(zip(names, self.signature.arguments, strict=True))
        self.target.begin(self.node.name, arguments, self.signature.returns, hint)
        self.fixed = {name: self.target.argument(name, kind) for name, kind in arguments}
        self.block(self.node.body)
        self.target.end()

    # ── statements ────────────────────────────────────────────────────────────────────────────────

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, "do_" + type(statement).__name__)(statement)

    def do_Expr(self, statement: ast.Expr) -> None:
        if not isinstance(statement.value, ast.Constant):  # a docstring says nothing to a machine
            self.target.ignore(self.value(statement.value))

    def do_Assign(self, statement: ast.Assign) -> None:
        self.assign(statement.targets[0], self.value(statement.value))

    def do_AugAssign(self, statement: ast.AugAssign) -> None:
        old = ast.copy_location(ast.BinOp(statement.target, statement.op, statement.value), statement)
        self.assign(statement.target, self.value(old))

    def assign(self, place: ast.expr, value: Value) -> None:
        if isinstance(place, ast.Subscript):
            array, index = self.value(place.value), self.value(place.slice)
            self.target.store(array, index, self.fitted(value, array.kind[1]))
            return
        assert isinstance(place, ast.Name)
        if value.kind.startswith("p"):
            self.fixed[place.id] = value
            return
        if place.id not in self.variables:
            self.variables[place.id] = value.kind
            self.target.declare(place.id, value.kind)
        self.target.assign(place.id, self.fitted(value, self.variables[place.id]))

    def do_For(self, statement: ast.For) -> None:
        assert isinstance(statement.target, ast.Name)
        assert isinstance(statement.iter, ast.Call)
        bounds = [self.value(bound) for bound in statement.iter.args]
        start = bounds[0] if len(bounds) == 2 else self.target.constant("i", 0)
        name = statement.target.id
        if name not in self.variables:
            self.variables[name] = "i"
            self.target.declare(name, "i")
        with self.target.loop(name, start, bounds[-1]):
            self.block(statement.body)

    def do_While(self, statement: ast.While) -> None:
        with self.target.repeat(lambda: self.value(statement.test)):
            self.block(statement.body)

    def do_If(self, statement: ast.If) -> None:
        otherwise = (lambda: self.block(statement.orelse)) if statement.orelse else None
        self.target.branch(self.value(statement.test), lambda: self.block(statement.body), otherwise)

    def do_Break(self, statement: ast.Break) -> None:
        self.target.leave()

    def do_Return(self, statement: ast.Return) -> None:
        if statement.value is None:
            self.target.give(None)
        else:
            self.target.give(self.fitted(self.value(statement.value), self.signature.returns))

    # ── expressions ───────────────────────────────────────────────────────────────────────────────

    def value(self, expression: ast.expr) -> Value:
        result: Value = getattr(self, "of_" + type(expression).__name__)(expression)
        return result

    def fitted(self, value: Value, kind: str) -> Value:
        """The value as this kind: a Number becomes a Real in every lane, one condition a condition per lane."""
        if value.kind == kind:
            return value
        if self.target.lanes == 1 and (value.kind, kind) in (("r", "d"), ("m", "b")):
            return Value(kind, value.text)
        if (value.kind, kind) in (("d", "r"), ("b", "m"), ("i", "w")):
            return self.target.widen(value)
        raise TypeError(f"{self.node.name}: a value of kind {value.kind!r} stands where {kind!r} is needed")

    def pair(self, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
        a, b = self.value(left), self.value(right)
        if a.kind == b.kind:
            return a, b
        for kind in ("r", "m", "w"):
            if kind in (a.kind, b.kind):
                return self.fitted(a, kind), self.fitted(b, kind)
        raise TypeError(f"{self.node.name}: {ast.unparse(left)} and {ast.unparse(right)} do not meet")

    def of_Constant(self, expression: ast.Constant) -> Value:
        assert isinstance(expression.value, int | float)
        return self.target.constant("i" if isinstance(expression.value, int) else "d", expression.value)

    def of_Name(self, expression: ast.Name) -> Value:
        name = expression.id
        if name in self.fixed:
            return self.fixed[name]
        if name in self.variables:
            return self.target.read(name, self.variables[name])
        constant = self.constants[name]
        return self.target.constant("i" if isinstance(constant, int) else "d", constant)

    def of_BinOp(self, expression: ast.BinOp) -> Value:
        a, b = self.pair(expression.left, expression.right)
        return self.target.binary(ARITHMETIC[type(expression.op)], a, b)

    def of_UnaryOp(self, expression: ast.UnaryOp) -> Value:
        if isinstance(expression.operand, ast.Constant) and isinstance(expression.op, ast.USub):
            return self.of_Constant(ast.Constant(-expression.operand.value))  # type: ignore[operator]
        value = self.value(expression.operand)
        if isinstance(expression.op, ast.Not):
            return self.target.logical("not", value, value)
        return self.target.negate(value)

    def of_Compare(self, expression: ast.Compare) -> Value:
        a, b = self.pair(expression.left, expression.comparators[0])
        return self.target.compare(COMPARISONS[type(expression.ops[0])], a, b)

    def of_BoolOp(self, expression: ast.BoolOp) -> Value:
        op = "and" if isinstance(expression.op, ast.And) else "or"
        result = self.value(expression.values[0])
        for other in expression.values[1:]:
            value = self.value(other)
            if "m" in (result.kind, value.kind):
                result, value = self.fitted(result, "m"), self.fitted(value, "m")
            result = self.target.logical(op, result, value)
        return result

    def of_Subscript(self, expression: ast.Subscript) -> Value:
        return self.target.load(self.value(expression.value), self.value(expression.slice))

    def of_Call(self, expression: ast.Call) -> Value:
        assert isinstance(expression.func, ast.Name)
        name, values = expression.func.id, [self.value(argument) for argument in expression.args]
        if name == "part":
            return self.target.part(*values)
        if name == "as_integers":
            return self.target.as_integers(values[0])
        if name in ("any_lane", "rarely"):
            return self.target.builtin(name, values)
        if name == "select":
            return self.select(values)
        if name in BUILTINS:
            return self.builtin(name, values)
        signature = self.known[name]
        fitted = [self.fitted(value, kind) for value, kind in zip(values, signature.arguments, strict=True)]
        return self.target.call(name, fitted, signature.returns)

    def select(self, values: list[Value]) -> Value:
        condition, yes, no = values
        kind = "r" if "m" in condition.kind or "r" in (yes.kind, no.kind) else yes.kind
        if "w" in (yes.kind, no.kind):
            kind = "w"
        return self.target.builtin("select", [condition, self.fitted(yes, kind), self.fitted(no, kind)])

    def builtin(self, name: str, values: list[Value]) -> Value:
        takes, _ = BUILTINS[name]
        kind = "r" if any(value.kind == "r" for value in values) else "d"
        wanted = [kind if letter == "x" else letter for letter in takes]
        return self.target.builtin(name, [self.fitted(v, k) for v, k in zip(values, wanted, strict=True)])
