"""Small faults that a source file could have had: one operator, constant, word or statement changed at a time."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
WORDS = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Assert, ast.Delete)


@dataclass(frozen=True, slots=True)
class Mutation:
    """Bytes `start` to `end` of a file become `new`; `lines` are those whose tests may notice.

    What runs `at_import`, or once and is kept, runs in whichever test comes first: all tests of its module may notice.
    """

    path: Path
    line: int
    lines: tuple[int, ...]
    start: int
    end: int
    new: bytes
    at_import: bool

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new + source[self.end :]

    def change(self, source: bytes) -> tuple[str, str]:
        """The line as it was and as it is, stripped: how a mutation is named in a list."""
        place = source[: self.start].count(b"\n")
        before = source.splitlines()[place].decode().strip()
        return before, self.applied(source).splitlines()[place].decode().strip()


def differs(mutation: Mutation) -> bool:
    """Whether a mutation leaves a program, and another one than before; `zip(strict=...)` is a guard, not a program."""
    source = mutation.path.read_bytes()
    if source[: mutation.start].endswith(b"strict="):
        return False
    try:
        return ast.dump(ast.parse(mutation.applied(source))) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


class Finder:
    """All mutations of one source file."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, path.read_bytes()
        self.tree = ast.parse(self.source)
        self._starts, self._depth = [0], 0
        for line in self.source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def mutations(self) -> Iterator[Mutation]:
        """In the order of the file; `differs` says of one whether it is worth a trial."""
        yield from self._below(self.tree, None)

    def _below(self, node: ast.AST, statement: ast.stmt | None) -> Iterator[Mutation]:
        runs_later = isinstance(node, FUNCTIONS) and not _is_kept(node)
        statement = node if isinstance(node, ast.stmt) else statement
        if statement is not None:
            yield from self._at(node, statement)
        for child in _spoken(node):
            later = runs_later and not _is_of_the_head(child, node)
            self._depth += later
            yield from self._below(child, statement)
            self._depth -= later

    def _at(self, node: ast.AST, statement: ast.stmt) -> Iterator[Mutation]:
        match node:
            case ast.BinOp(left=left, op=op, right=right):
                yield from self._operator(left, op, right, statement)
            case ast.Compare(left=left, ops=ops, comparators=others):
                for a, op, b in zip([left, *others], ops, others, strict=False):
                    yield from self._operator(a, op, b, statement)
            case ast.BoolOp(op=op, values=values):
                for a, b in pairwise(values):
                    yield from self._operator(a, op, b, statement)
            case ast.Constant(value=bool() as value):
                yield self._replaced(node, str(not value), statement)
            case ast.Constant(value=int() | float() as value):
                yield self._replaced(node, f"({value!r} + 1)", statement)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield self._cut(self._place(node)[0], self._place(operand)[0], b"", node, statement)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name) as called) if name in WORDS:
                end = self._place(called)[1]
                yield self._cut(end - len(name), end, WORDS[name].encode(), node, statement)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield self._replaced(value, "None", statement)
            case ast.Expr(value=ast.Call() | ast.Await() | ast.YieldFrom()) | ast.AugAssign() | ast.Raise():
                yield self._replaced(node, "pass", statement)
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Continue() | ast.Break():
                yield self._replaced(node, "pass", statement)

    def _operator(self, left: ast.expr, op: ast.AST, right: ast.expr, statement: ast.stmt) -> Iterator[Mutation]:
        if type(op) not in OPERATORS:
            return
        old, new = OPERATORS[type(op)]
        begin, end = self._place(left)[1], self._place(right)[0]
        at = self.source.find(old.encode(), begin, end)
        if at >= 0:
            yield self._cut(at, at + len(old), new.encode(), left, statement)

    def _replaced(self, node: ast.AST, text: str, statement: ast.stmt) -> Mutation:
        return self._cut(*self._place(node), text.encode(), node, statement)

    def _cut(self, start: int, end: int, new: bytes, node: ast.AST, statement: ast.stmt) -> Mutation:
        line = self.source[:start].count(b"\n") + 1
        whole = statement if isinstance(statement, SIMPLE) else node
        lines = (line, *range(whole.lineno, whole.end_lineno + 1), statement.lineno)
        return Mutation(self.path, line, tuple(dict.fromkeys(lines)), start, end, new, not self._depth)

    def _place(self, node: ast.AST) -> tuple[int, int]:
        return (
            self._starts[node.lineno - 1] + node.col_offset,
            self._starts[node.end_lineno - 1] + node.end_col_offset,
        )


def _spoken(node: ast.AST) -> Iterator[ast.AST]:
    """The children that do something: no annotations, no texts with fields (they have no places), no type checking."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        return
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield child


def _is_of_the_head(child: ast.AST, function: ast.AST) -> bool:
    """Whether part of a function runs where it is defined: defaults of arguments, and decorators."""
    return isinstance(child, ast.arguments) or child in getattr(function, "decorator_list", ())


def _is_kept(node: ast.AST) -> bool:
    """Whether a function is called once for the same arguments, and its result is kept."""
    words = [ast.unparse(word) for word in getattr(node, "decorator_list", ())]
    return any("cache" in word and "property" not in word for word in words)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
