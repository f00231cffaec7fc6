"""Nodes evaluated: in Taylor forms over many cells, and in balls at single points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import pi
from typing import Any

import numpy as np

from holdfast.stability.verifier.numbers import functions
from holdfast.stability.verifier.numbers.dag import Node, ordered, read
from holdfast.stability.verifier.numbers.forms import GROWTH, LEAST, UNIT, Array, Form, Space
from holdfast.stability.verifier.refusal import Refused, Unconfirmed


class Forms:
    """Evaluates nodes in one space over one batch of cells; what was evaluated is remembered."""

    def __init__(self, space: Space, cells: int, values: Mapping[str, Form]) -> None:
        self.space, self.cells, self._values = space, cells, values
        self._known: dict[int, Form | Fraction] = {}

    def of(self, nodes: Sequence[Node]) -> list[Form]:
        return [self._form(x) for x in self.raw(nodes)]

    def raw(self, nodes: Sequence[Node]) -> list[Form | Fraction]:
        """The same, with exact numbers left as numbers."""
        for node in ordered(nodes):
            if node.index not in self._known:
                self._known[node.index] = self._applied(node, [self._known[arg.index] for arg in node.args])
        return [self._known[node.index] for node in nodes]

    def beside(self, more: Mapping[str, Form], nodes: Sequence[Node]) -> Forms:
        """The same cells with values of further inputs; what nodes need and these inputs do not change is kept."""
        changed = set[int]()
        for node in ordered(nodes):
            open_input = node.op == "input" and (node.data in more or node.data not in self._values)
            if open_input or any(arg.index in changed for arg in node.args):
                changed.add(node.index)
            elif node.index not in self._known:
                self._known[node.index] = self._applied(node, [self._known[arg.index] for arg in node.args])
        found = Forms(self.space, self.cells, {**self._values, **more})
        found._known = {index: form for index, form in self._known.items() if index not in changed}
        return found

    def _form(self, value: Form | Fraction) -> Form:
        if isinstance(value, Form):
            return value
        near = float(value)
        off = 0.0 if Fraction(near) == value else UNIT * abs(near)
        return Form.constant(self.space, np.full(self.cells, near), off)

    def _applied(self, node: Node, args: list[Form | Fraction]) -> Form | Fraction:
        match node.op:
            case "const":
                assert isinstance(node.data, Fraction)
                return node.data
            case "pi":
                return Form.constant(self.space, np.full(self.cells, pi), 2e-16)
            case "input":
                return self._values[str(node.data)]
            case "add":
                return self._form(args[0]) + self._form(args[1])
            case "mul":
                return times(args[0], args[1])
            case "power":
                return functions.power(self._form(args[0]), int(str(node.data)))
        forms = [self._form(arg) for arg in args]
        if node.op == "table":
            return self._tabled(node, forms[0])
        if node.op == "div":
            return functions.divided(*forms)
        return functions.raised(*forms) if node.op == "pow" else functions.applied(node.op, *forms)

    def _tabled(self, node: Node, at: Form) -> Form:
        """Data over all pieces that a cell meets: of values alone, for series end at knots."""
        data, order = read(node)
        if self.space.terms > 1:
            raise Unconfirmed(f"{data.name!r} is given by data, and enters what is not affine in them")
        low, high = data.pieces.ranges(order, *at.range())
        return between(self.space, low, high)


def between(space: Space, low: Array, high: Array) -> Form:
    """A number between two ends, cell by cell."""
    with np.errstate(all="ignore"):
        middle = (low + high) / 2
        return Form.constant(space, middle, (high - low) / 2 * GROWTH + UNIT * np.abs(middle) + LEAST)


def times(a: Form | Fraction, b: Form | Fraction) -> Form | Fraction:
    """A product, cheap where a factor is a number."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    if isinstance(b, Fraction):
        a, b = b, a
    if isinstance(a, Fraction):
        assert isinstance(b, Form)
        near = float(a)
        return b.scaled(near, 0.0 if Fraction(near) == a else UNIT * abs(near))
    assert isinstance(b, Form)
    return a * b


def ball_values(nodes: Sequence[Node], values: Mapping[str, Any]) -> list[Any]:
    """The nodes in python-flint's balls, at values of their inputs; the precision is the caller's."""
    import flint

    known: dict[int, Any] = {}
    for node in ordered(nodes):
        args = [known[arg.index] for arg in node.args]
        known[node.index] = _ball(node, args, values, flint)
    return [known[node.index] for node in nodes]


def _ball(node: Node, args: list[Any], values: Mapping[str, Any], flint: Any) -> Any:
    match node.op:
        case "const":
            assert isinstance(node.data, Fraction)
            return flint.arb(flint.fmpq(node.data.numerator, node.data.denominator))
        case "pi":
            return flint.arb.pi()
        case "input":
            return values[str(node.data)]
        case "add":
            return args[0] + args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1]
        case "power":
            return ball_power(args[0], int(str(node.data)))
        case "pow":
            return args[0] ** args[1]
        case "table":
            data, order = read(node)
            return data.pieces.ball(order, args[0], flint)
    return ball_function(node.op, args, flint)


def ball_power(base: Any, exponent: int) -> Any:
    """A whole power; by products where the ball lies round 0 exactly, of which flint's own power knows nothing."""
    if base.mid() != 0:
        return base**exponent
    found = base
    for _ in range(exponent - 1):
        found = found * base
    return found


def ball_function(name: str, args: list[Any], flint: Any) -> Any:
    """An elementary function of balls."""
    if name == "atan2":
        return flint.arb.atan2(*args)
    if name in ("min", "max"):
        return getattr(args[0], name)(args[1])
    if name == "abs":
        return abs(args[0])
    if name == "sign":
        return args[0].sgn()
    if name in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"):
        return getattr(args[0], name)()
    raise Refused(f"the function {name[:30]!r} is not known")


def double_values(nodes: Sequence[Node], values: Mapping[str, np.ndarray], count: int) -> list[np.ndarray]:
    """The nodes in doubles at many points: for looking, not for proving."""
    known: dict[int, np.ndarray] = {}
    for node in ordered(nodes):
        args = [known[arg.index] for arg in node.args]
        match node.op:
            case "const":
                assert isinstance(node.data, Fraction)
                known[node.index] = np.full(count, float(node.data))
            case "pi":
                known[node.index] = np.full(count, pi)
            case "input":
                known[node.index] = np.asarray(values[str(node.data)], float)
            case "add":
                known[node.index] = args[0] + args[1]
            case "mul":
                known[node.index] = args[0] * args[1]
            case "div":
                known[node.index] = args[0] / args[1]
            case "power":
                known[node.index] = args[0] ** int(str(node.data))
            case "pow":
                known[node.index] = args[0] ** args[1]
            case "table":
                data, order = read(node)
                known[node.index] = data.pieces.doubles(order, args[0])
            case _:
                known[node.index] = _NUMPY[node.op](*args)
    return [known[node.index] for node in nodes]


_NUMPY: dict[str, Any] = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "min": np.minimum, "max": np.maximum,
    **{name: getattr(np, name) for name in "sqrt exp log sin cos tan sinh cosh tanh abs sign".split()},
}  # fmt: skip
