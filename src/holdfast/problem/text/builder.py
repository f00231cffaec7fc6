"""One expression from its syntax tree, node by node: what is not listed here is not allowed."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import sympy as sp

from holdfast.common.limits import MORE
from holdfast.common.nearest import did_you_mean
from holdfast.errors import HoldfastError
from holdfast.problem.quantities import FUNCTIONS
from holdfast.problem.text import scalars, vectors
from holdfast.problem.text.magnitude import Magnitude, Refusal, decimal
from holdfast.problem.text.scalars import Scalar
from holdfast.problem.text.spelling import MAX_DEPTH, Unreadable, check_spelling
from holdfast.problem.text.vectors import Parts, Value

if TYPE_CHECKING:
    from holdfast.problem.text.expression import Expressions

T = TypeVar("T")

NUMBER_COST = 40  # nodes: a function of numbers is evaluated, which takes SymPy longer
SLOW_COST = 15  # and so do exp, log, fractional powers and derivatives
VECTOR_FUNCTIONS = ("ddt", "dot", "cross")
PLACE_FUNCTIONS = ("distance", "angle", "omega")  # names that quantities may take from them
ARGUMENTS = {"atan2": 2, "dot": 2, "cross": 2, "distance": 2, "angle": 2, "min": None, "max": None}


class Builder:
    """Builds one expression from its syntax tree."""

    def __init__(self, reader: Expressions, text: str, *, complex_allowed: bool) -> None:
        self.reader, self.complex_allowed = reader, complex_allowed
        self.text = re.sub(r"(?<=[0-9.])i\b", "j", text) if complex_allowed else text  # 2i, as Python writes it
        self.ddt_depth = 0

    def read(self) -> sp.Expr | tuple[sp.Expr, ...]:
        check_spelling(self.text)
        tree = self._tree()
        value = self._value(tree, 0)
        parts = value if isinstance(value, tuple) else (value,)
        if self.reader.constants:
            self._guarded(tree, lambda: [scalars.shadow_of(part.expression, self.reader.constants) for part in parts])
        return tuple(part.expression for part in parts) if isinstance(value, tuple) else value.expression

    def _tree(self) -> ast.expr:
        self.start = len(self.text) - len(self.text.lstrip())
        flat = re.sub(r"\s", " ", self.text)[self.start :]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(flat, mode="eval").body
        except SyntaxError as error:
            raise self._syntax(error) from None
        except (RecursionError, MemoryError, ValueError):
            raise Unreadable(
                "the expression is too long or nested too deeply", self.text, 0, 1, "name its parts in [definitions]"
            ) from None
        self._charge(tree, sum(isinstance(node, ast.expr) for node in ast.walk(tree)))
        return tree

    # ── errors ────────────────────────────────────────────────────────────────────────────────────

    def _error(self, node: ast.AST, what: str, hint: str = "", unknown: str = "") -> Unreadable:
        start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 1)
        return Unreadable(what, self.text, self.start + start, self.start + end, hint, unknown)

    def _syntax(self, error: SyntaxError) -> Unreadable:
        joined = re.search(r"(?<![A-Za-z0-9_.])[0-9][0-9.]*(?=[A-Za-z_])|[\w)\].]\s+(?=[\w(.])|[)\]](?=\w)", self.text)
        if joined:
            return Unreadable("an operation is missing here", self.text, joined.end() - 1, joined.end() + 1,
                              "write products with *, e.g. 2*m*l")  # fmt: skip
        last = len(self.text.rstrip()) - 1
        if self.text[last] in "+-*/.,":
            return Unreadable("the expression ends too early", self.text, last, last + 1, "an operand must follow")
        place = min(self.start + (error.offset or 1) - 1, last)
        return Unreadable("this cannot be read", self.text, place, place + 1, "an operand or an operation is missing")

    def _guarded(self, node: ast.AST, operation: Callable[[], T], *operands: ast.AST) -> T:
        """The result of an operation; a refusal gets the place of the operand it blames, or of the whole."""
        try:
            return operation()
        except Refusal as refusal:
            blamed = (
                node if refusal.operand is None or not operands else operands[min(refusal.operand, len(operands) - 1)]
            )
            raise self._error(blamed, refusal.what, refusal.hint) from None
        except (HoldfastError, Unreadable):
            raise
        except Exception:  # SymPy's own, about constants that it cannot compare or evaluate
            what, hint = "the value of this cannot be made out", "write the number that it stands for"
            raise self._error(node, what, hint) from None

    def _charge(self, node: ast.AST, nodes: int) -> None:
        self.reader.work.nodes -= nodes
        self._check_work(node)

    def _check_work(self, node: ast.AST) -> None:
        if self.reader.work.spent:
            raise self._error(
                node, "the expressions of this problem are too large", f"name repeated parts in [definitions]; {MORE}"
            )

    # ── values ────────────────────────────────────────────────────────────────────────────────────

    def _value(self, node: ast.expr, depth: int) -> Value:
        if depth > MAX_DEPTH:
            raise self._error(
                node, f"the expression is nested more than {MAX_DEPTH} deep", "name its parts in [definitions]"
            )
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name():
                return self._name(node)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
                inner = self._value(node.operand, depth + 1)
                return self._each(node, inner, scalars.negative) if isinstance(node.op, ast.USub) else inner
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node, depth)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._product(node, depth)
            case ast.BinOp(op=ast.Pow()):
                base, exponent = self._scalar(node.left, depth + 1), self._scalar(node.right, depth + 1)
                if not exponent.expression.is_Integer:
                    self._charge(node, SLOW_COST + 4 * base.size)
                return self._guarded(node, lambda: scalars.power(base, exponent), node.left, node.right)
            case ast.Call():
                return self._call(node, depth)
            case ast.Attribute():
                return self._component(node, depth)
            case ast.List():
                return self._vector(node, depth)
        raise self._not_allowed(node)

    def _not_allowed(self, node: ast.expr) -> Unreadable:
        words = {
            ast.Tuple: ("a comma does not belong here", "write decimals with a point, vectors as [a, b]"),
            ast.Subscript: ("there are no indices", "write a component as C.x, C.y or C.z"),
            ast.BinOp: ("this operation is not known", "the operations are + - * / **"),
        }
        return self._error(node, *words.get(type(node), ("this is not allowed in a problem file", "")))

    def _scalar(self, node: ast.expr, depth: int) -> Scalar:
        value = self._value(node, depth)
        if isinstance(value, tuple):
            raise self._error(node, "a vector does not belong here", "take a component such as C.x, or dot(a, b)")
        return value

    def _number(self, node: ast.Constant) -> Scalar:
        literal = self.text[self.start + node.col_offset : self.start + (node.end_col_offset or 0)]
        if self.complex_allowed and isinstance(node.value, complex):
            part = self._guarded(node, lambda: scalars.number(decimal(literal[:-1])))
            return Scalar(part.expression * sp.I, complex=True)
        return self._guarded(node, lambda: scalars.number(decimal(literal)))

    def _name(self, node: ast.Name) -> Value:
        name, reader = node.id, self.reader
        if name in reader.points:
            reader.work.size -= sum(part.size for part in reader.points[name])
            self._check_work(node)
            return reader.points[name]
        if name == "pi":
            return Scalar(sp.pi, 1, Magnitude(float(sp.pi)))
        if name in reader.names:
            reader.work.size -= 1
            return Scalar(reader.names[name], 1, reader.constants.get(name))
        raise self._error(node, *self._about_name(name), unknown=name)

    def _about_name(self, name: str) -> tuple[str, str]:
        if name in FUNCTIONS or name in VECTOR_FUNCTIONS:
            return f"{name!r} is a function", f"write {name}(...)"
        word = self.reader.names.other_word(name)
        if word:
            return (
                f"{name!r} is a {word}, which has no value here",
                "use quantities: coordinates, parameters, definitions",
            )
        own, later = self.reader.later
        if name in later:
            if name == own:
                return f"the definition {own!r} uses itself", "state it by other names"
            return (
                f"the definition {own!r} uses {name!r}, which is defined after it",
                "definitions use earlier ones: put it first; two that use each other define nothing",
            )
        if name == "e":
            return "'e' is not a constant here", "write exp(1)"
        known = [*self.reader.names.names, *self.reader.points, "pi"]
        return f"unknown name {name!r}", did_you_mean(name, known, self.reader.names.suggestion(name))

    # ── sums and products, each chain at once ─────────────────────────────────────────────────────

    def _chain(self, node: ast.expr, kinds: tuple[type[ast.operator], ...]) -> list[tuple[ast.expr, bool]]:
        """The operands of a chain such as a - b + c, and whether each is subtracted (or divides)."""
        found = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
            found.append((node.right, isinstance(node.op, (ast.Sub, ast.Div))))
            node = node.left
        return [(node, False), *reversed(found)]

    def _sum(self, node: ast.BinOp, depth: int) -> Value:
        terms, operands = [], []
        for operand, negative in self._chain(node, (ast.Add, ast.Sub)):
            value = self._value(operand, depth + 1)
            terms.append(self._each(operand, value, scalars.subtracted) if negative else value)
            operands.append(operand)
        return self._guarded(node, lambda: vectors.total(terms), *operands)

    def _product(self, node: ast.BinOp, depth: int) -> Value:
        factors, operands = [], []
        for operand, divides in self._chain(node, (ast.Mult, ast.Div)):
            value = self._value(operand, depth + 1)
            factors.append(self._inverse(operand, value) if divides else value)
            operands.append(operand)
        return self._guarded(node, lambda: vectors.product(factors), *operands)

    def _inverse(self, node: ast.expr, value: Value) -> Scalar:
        return self._guarded(node, lambda: vectors.inverse(value), node)

    def _each(self, node: ast.expr, value: Value, operation: Callable[[Scalar], Scalar]) -> Value:
        return self._guarded(node, lambda: vectors.each(value, operation))

    # ── calls and vectors ─────────────────────────────────────────────────────────────────────────

    def _call(self, node: ast.Call, depth: int) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        of_places = name in PLACE_FUNCTIONS and name not in self.reader.names and name not in self.reader.points
        if name not in FUNCTIONS and name not in VECTOR_FUNCTIONS and not of_places:
            raise self._no_function(node, name)
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self._error(node, "only plain arguments are allowed", f"write {name}(...)")
        wanted = ARGUMENTS.get(name, 1)
        if (wanted is None and not node.args) or (wanted is not None and len(node.args) != wanted):
            count = "at least one argument" if wanted is None else f"{wanted} argument" + "s" * (wanted > 1)
            raise self._error(node, f"{name} takes {count}, not {len(node.args)}", f"write {name}({_example(wanted)})")
        if of_places and name == "omega":
            return self._omega(node.args[0])
        if name in VECTOR_FUNCTIONS or of_places:
            return self._vector_call(node, name, depth)
        arguments = [self._scalar(argument, depth + 1) for argument in node.args]
        if any(argument.magnitude for argument in arguments):
            self._charge(node, NUMBER_COST)
        elif name in ("exp", "log", "sqrt"):
            self._charge(node, SLOW_COST + 4 * arguments[0].size * (name == "sqrt"))
        return self._guarded(node, lambda: scalars.call(name, arguments))

    def _no_function(self, node: ast.Call, name: str) -> Unreadable:
        if not name:
            return self._error(node.func, "this is not a function", "write products with *, e.g. 2*(x + y)")
        if name in self.reader.names or name in self.reader.points or name == "pi":
            return self._error(node.func, f"{name!r} is not a function", f"write products with *, e.g. {name}*(...)")
        near = difflib.get_close_matches(name.lower(), [*FUNCTIONS, *VECTOR_FUNCTIONS, "arcsin"], n=1)
        alias = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "diff": "ddt"}
        guess = alias.get(name.lower()) or (near[0] if near else "")
        hint = f"did you mean {guess!r}?" if guess else "functions: " + " ".join((*FUNCTIONS, *VECTOR_FUNCTIONS))
        return self._error(node.func, f"unknown function {name[:40]!r}", hint)

    def _vector_call(self, node: ast.Call, name: str, depth: int) -> Value:
        if name == "ddt":
            return self._ddt(node, depth)
        a, b = (self._parts(argument, name, depth) for argument in node.args)
        if len(a) != len(b):
            raise self._error(node, f"{name} needs two vectors of equal length, not {len(a)} and {len(b)}")
        if name in PLACE_FUNCTIONS:
            self._charge(node, SLOW_COST + sum(part.size for part in (*a, *b)))
        return self._guarded(node, lambda: vectors.OF_TWO[name](a, b))

    def _omega(self, node: ast.expr) -> Value:
        """The spin of a body in its own axes; in the plane a number."""
        body, names = node.id if isinstance(node, ast.Name) else "", self.reader.names
        spin = [f"{body}_w{c}" for c in "xyz"]
        if names.other_word(body) == "body":
            found = tuple(Scalar(names[name], 1) for name in spin if name in names)
            return found or Scalar(names[f"{body}_w"], 1)
        raise self._error(node, "omega is that of a body", "write omega(arm), with the name of a body")

    def _ddt(self, node: ast.Call, depth: int) -> Value:
        self.ddt_depth += 1
        if self.ddt_depth > 2:
            raise self._error(
                node, "ddt may be nested at most twice", "third derivatives do not occur in equations of motion"
            )
        value = self._value(node.args[0], depth + 1)
        self.ddt_depth -= 1
        made = self._each(node, value, scalars.ddt)
        size = sum(part.size for part in (made if isinstance(made, tuple) else (made,)))
        self.reader.work.size -= size
        self._charge(node, SLOW_COST + size // 4)
        return made

    def _parts(self, node: ast.expr, name: str, depth: int) -> Parts:
        value = self._value(node, depth + 1)
        if isinstance(value, tuple):
            return value
        raise self._error(node, f"{name} needs two vectors", "give points, or vectors such as [a, b]")

    def _component(self, node: ast.Attribute, depth: int) -> Scalar:
        value = self._value(node.value, depth + 1)
        return self._guarded(node, lambda: vectors.component(value, node.attr))

    def _vector(self, node: ast.List, depth: int) -> Parts:
        if len(node.elts) not in (2, 3):
            raise self._error(node, f"a vector has two or three components, not {len(node.elts)}", "write [a, b]")
        return tuple(self._scalar(part, depth + 1) for part in node.elts)


def _example(wanted: int | None) -> str:
    return "a, b" if wanted is None or wanted == 2 else "a"
