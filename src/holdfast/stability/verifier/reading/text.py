"""Expressions of a problem text, read into nodes by a small parser of its own.

    sum      = product (("+" | "-") product)*
    product  = signed (("*" | "/") signed)*
    signed   = ("+" | "-") signed | raised
    raised   = part ("**" signed)?
    part     = number | name | function "(" sum ("," sum)* ")" | "(" sum ")" | "[" sum ("," sum)* "]"   then (".x")*

Numbers are exact: 0.1 is 1/10. Values are scalars (nodes) or vectors (tuples of them).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from holdfast.stability.verifier.numbers.dag import BINARY, UNARY, Dag, Node
from holdfast.stability.verifier.refusal import Refused

Value = Node | tuple[Node, ...]
WORD = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z]\w*)|(\*\*|[-+*/(),.\[\]]))")
LONGEST, DEEPEST, LARGEST_EXPONENT = 20_000, 60, 400


class Expression:
    """One expression being read. `names` gives the meaning of words, `rate` the total time derivative of a node."""

    def __init__(
        self, text: str, dag: Dag, names: Mapping[str, Value], rate: Callable[[Node], Node], where: str
    ) -> None:
        self.dag, self.names, self.rate, self.where = dag, names, rate, where
        self.words, self.place = self._words(text), 0

    def _fail(self, what: str) -> Refused:
        return Refused(f"the problem text cannot be read: {what} in {self.where}")

    def _words(self, text: str) -> list[tuple[str, str]]:
        if len(text) > LONGEST:
            raise self._fail("an expression is too long")
        found, place, end = [], 0, len(text.rstrip())
        while place < end:
            match = WORD.match(text, place)
            if match is None:
                raise self._fail(f"{text[place : place + 10]!r}")
            kind = ("number", "name", "sign")[(match.lastindex or 1) - 1]
            found.append((kind, match.group(match.lastindex or 1)))
            place = match.end()
        return found

    def value(self) -> Value:
        found = self._sum(0)
        if self.place != len(self.words):
            raise self._fail(f"{self.words[self.place][1]!r}")
        return found

    def scalar(self) -> Node:
        return self._scalar(self.value())

    def _scalar(self, value: Value) -> Node:
        if isinstance(value, tuple):
            raise self._fail("a vector in the place of a number")
        return value

    def _take(self, *signs: str) -> str | None:
        if self.place < len(self.words) and self.words[self.place] in [("sign", sign) for sign in signs]:
            self.place += 1
            return self.words[self.place - 1][1]
        return None

    def _need(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._fail(f"a missing {sign!r}")

    def _sum(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise self._fail("an expression that is nested too deeply")
        total = self._product(depth)
        while sign := self._take("+", "-"):
            other = self._product(depth)
            total = self._each(total, other, self.dag.add if sign == "+" else self.dag.sub)
        return total

    def _each(self, a: Value, b: Value, operation: Callable[[Node, Node], Node]) -> Value:
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return tuple(operation(x, y) for x, y in zip(a, b, strict=True))
        return operation(self._scalar(a), self._scalar(b))

    def _product(self, depth: int) -> Value:
        total = self._signed(depth)
        while sign := self._take("*", "/"):
            total = self._times(total, self._signed(depth), sign)
        return total

    def _times(self, a: Value, b: Value, sign: str) -> Value:
        if sign == "/":
            divisor = self._scalar(b)
            parts = a if isinstance(a, tuple) else (a,)
            found = tuple(self.dag.div(x, divisor) for x in parts)
            return found if isinstance(a, tuple) else found[0]
        if isinstance(b, tuple):
            a, b = b, a
        factor = self._scalar(b)
        return tuple(self.dag.mul(x, factor) for x in a) if isinstance(a, tuple) else self.dag.mul(a, factor)

    def _signed(self, depth: int) -> Value:
        if depth > DEEPEST:
            raise self._fail("an expression that is nested too deeply")
        if self._take("+"):
            return self._signed(depth + 1)
        if self._take("-"):
            return self._times(self._signed(depth + 1), self.dag.const(-1), "*")
        base = self._part(depth)
        if self._take("**"):
            return self.dag.raised(self._scalar(base), self._scalar(self._signed(depth + 1)))
        return base

    def _part(self, depth: int) -> Value:
        if self.place >= len(self.words):
            raise self._fail("an early end")
        kind, word = self.words[self.place]
        self.place += 1
        if kind == "number":
            found: Value = self._number(word)
        elif kind == "name":
            found = self._call(word, depth) if self._take("(") else self._name(word)
        elif word == "(":
            found = self._sum(depth + 1)
            self._need(")")
        elif word == "[":
            found = tuple(self._scalar(part) for part in self._list(depth, "]"))
        else:
            raise self._fail(f"{word!r}")
        while self._take("."):
            kind, word = self.words[self.place] if self.place < len(self.words) else ("", "")
            index = "xyz".find(word) if kind == "name" and len(word) == 1 else -1
            if not isinstance(found, tuple) or not 0 <= index < len(found):
                raise self._fail(f"the component {word!r}")
            self.place += 1
            found = found[index]
        return found

    def _number(self, word: str) -> Node:
        _, _, exponent = word.lower().partition("e")
        if exponent and abs(int(exponent)) > LARGEST_EXPONENT:
            raise self._fail("a number out of range")
        return self.dag.const(Fraction(word))

    def _name(self, word: str) -> Value:
        if word == "pi":
            return self.dag.node("pi")
        if word not in self.names:
            raise self._fail(f"the unknown name {word[:40]!r}")
        return self.names[word]

    def _list(self, depth: int, end: str) -> list[Value]:
        found = [self._sum(depth + 1)]
        while self._take(","):
            found.append(self._sum(depth + 1))
        self._need(end)
        return found

    def _call(self, name: str, depth: int) -> Value:
        args = self._list(depth, ")")
        if name == "ddt" and len(args) == 1:
            return tuple(map(self.rate, args[0])) if isinstance(args[0], tuple) else self.rate(args[0])
        if name in ("dot", "cross") and len(args) == 2:
            a, b = args
            if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)):
                raise self._fail(f"{name}() of what are not two vectors")
            return self._dot(a, b) if name == "dot" else self._cross(a, b)
        scalars = [self._scalar(arg) for arg in args]
        if name in UNARY and len(scalars) == 1:
            return self.dag.call(name, *scalars)
        if name == "atan2" and len(scalars) == 2:
            return self.dag.call(name, *scalars)
        if name in BINARY and name != "atan2" and len(scalars) >= 2:
            total = scalars[0]
            for other in scalars[1:]:
                total = self.dag.call(name, total, other)
            return total
        raise self._fail(f"{name}(...)")

    def _dot(self, a: tuple[Node, ...], b: tuple[Node, ...]) -> Node:
        return self.dag.sum(self.dag.mul(x, y) for x, y in zip(a, b, strict=True))

    def _cross(self, a: tuple[Node, ...], b: tuple[Node, ...]) -> Value:
        dag = self.dag

        def minor(i: int, j: int) -> Node:
            return dag.sub(dag.mul(a[i], b[j]), dag.mul(a[j], b[i]))

        if len(a) == 2:
            return minor(0, 1)
        if len(a) == 3:
            return minor(1, 2), minor(2, 0), minor(0, 1)
        raise self._fail("cross() of these vectors")
