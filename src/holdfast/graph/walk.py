"""From SymPy to the graph: each expression is walked once, iteratively, and shared parts become shared nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

import sympy as sp

from holdfast.errors import BadExpression
from holdfast.graph.nodes import Graph, Node
from holdfast.problem.functions import FunctionValue
from holdfast.problem.quantities import RateOf

FUNCTIONS = {
    sp.sin: "sin", sp.cos: "cos", sp.tan: "tan", sp.asin: "asin", sp.acos: "acos", sp.atan: "atan", sp.atan2: "atan2",
    sp.sinh: "sinh", sp.cosh: "cosh", sp.tanh: "tanh", sp.exp: "exp", sp.log: "log", sp.Abs: "abs", sp.sign: "sign",
}  # fmt: skip


Function = Callable[[tuple[int, ...], tuple[Node, ...]], Node]  # orders and operands to the node


PLAIN = frozenset((sp.Add, sp.Mul))  # whose operands are all walked


class Walker:
    """Turns expressions into nodes; `names` gives the node of each symbol.

    `rate` is the total time derivative of a node, for expressions that contain an unevaluated one. `functions` are
    those that are given: what they are on the graph, by orders of derivatives; others stay undetermined.
    """

    def __init__(
        self,
        graph: Graph,
        names: Mapping[str, Node],
        rate: Callable[[Node], Node] | None = None,
        functions: Mapping[str, Function] | None = None,
    ) -> None:
        self.graph, self.names, self._rate, self._functions = graph, dict(names), rate, dict(functions or {})
        self._done: dict[sp.Basic, Node] = {}

    def define(self, name: str, expression: sp.Expr) -> None:
        """Give a name to an expression: it is walked now, and its node is shared by all that use the name."""
        self.names[name] = self(expression)

    def beside(self, names: Mapping[str, Node], rate: Callable[[Node], Node] | None = None) -> Walker:
        """A walker with more names (or other nodes for some), and another rate if one is given; what this one walked
        stays its own.
        """
        return Walker(self.graph, {**self.names, **names}, rate or self._rate, self._functions)

    def __call__(self, expression: sp.Expr) -> Node:
        """The node of an expression (an explicit stack, so that depth does not matter)."""
        done, waiting = self._done, [(expression, False)]
        while waiting:
            part, ready = waiting.pop()
            if not ready:
                if part in done:
                    continue
                missing = []
                for inner in part.args if type(part) in PLAIN else self._operands(part):
                    if inner not in done:
                        if inner.is_Symbol:
                            done[inner] = self._symbol(inner.name)
                        else:
                            missing.append((inner, False))
                if missing:
                    waiting.append((part, True))
                    waiting += missing
                    continue
            done[part] = self._node(part)
        return done[expression]

    def _operands(self, part: sp.Basic) -> tuple[sp.Basic, ...]:
        if isinstance(part, sp.Pow) and part.exp.is_Rational:
            return (part.base,)
        if isinstance(part, sp.Piecewise):
            return tuple(inner for value, condition in part.args for inner in (value, *_comparison(condition)))
        if isinstance(part, sp.Heaviside):
            return (part.args[0],)
        if isinstance(part, FunctionValue):
            return part.of
        return part.args

    def _node(self, part: sp.Basic) -> Node:
        graph, done = self.graph, self._done
        kind = type(part)
        if kind is sp.Mul:  # the commonest first
            return self._product(part)
        if kind is sp.Pow:
            return self._power(part)
        if kind is sp.Add:
            return self._sum([done[arg] for arg in part.args])
        if part.is_Symbol:
            return self._symbol(part.name)
        if isinstance(part, sp.Rational):
            return graph.const(Fraction(int(part.p), int(part.q)))
        if part is sp.pi:
            return graph.pi()
        if part is sp.E:
            return graph.call("exp", graph.one)
        if isinstance(part, sp.Add):
            return self._sum([done[arg] for arg in part.args])
        if isinstance(part, sp.Mul):
            return self._product(part)
        if isinstance(part, sp.Pow):
            return self._power(part)
        return self._call(part)

    def _symbol(self, name: str) -> Node:
        if name not in self.names:
            raise BadExpression(f"unknown name {name!r}", fix="declare it as a coordinate or a parameter")
        return self.names[name]

    def _sum(self, terms: list[Node]) -> Node:
        """Positive terms first, so that a difference is one operation."""
        terms.sort(key=lambda node: node.op == "neg" or _less_than_nothing(node))
        total = terms[0]
        for term in terms[1:]:
            if _less_than_nothing(term):
                total = total - (-term)
            else:
                total = total + term
        return total

    def _product(self, part: sp.Mul) -> Node:
        """Factors with negative exponents are gathered into one division."""
        above = below = self.graph.one
        for factor in part.args:
            if isinstance(factor, sp.Pow) and factor.exp.is_Rational and factor.exp.p < 0:
                below = below * self._root_power(self._done[factor.base], -factor.exp)
            else:
                above = above * self._done[factor]
        return above / below

    def _power(self, part: sp.Pow) -> Node:
        graph = self.graph
        if part.exp.is_Rational:
            base = self._done[part.base]
            return graph.one / self._root_power(base, -part.exp) if part.exp.p < 0 else self._root_power(base, part.exp)
        base, exponent = (self._done[arg] for arg in part.args)
        if part.base is sp.E:
            return graph.call("exp", exponent)
        return graph.call("pow", base, exponent)

    def _root_power(self, base: Node, exponent: sp.Rational) -> Node:
        """base to a positive rational exponent: powers, square roots, and pow for the rest."""
        graph = self.graph
        if exponent.q == 1:
            return graph.power(base, int(exponent.p))
        if exponent.q == 2:
            whole, half = divmod(int(exponent.p), 2)
            return graph.power(base, whole) * graph.call("sqrt", base) if half else graph.power(base, whole)
        return graph.call("pow", base, graph.const(Fraction(int(exponent.p), int(exponent.q))))

    def _call(self, part: sp.Basic) -> Node:
        graph, done = self.graph, self._done
        if isinstance(part, FunctionValue):
            return self._function(part, tuple(done[arg] for arg in part.of))
        if isinstance(part, RateOf) and self._rate is not None:
            return self._rate(done[part.args[0]])
        if isinstance(part, (sp.Min, sp.Max)):
            op, nodes = ("min" if isinstance(part, sp.Min) else "max"), [done[arg] for arg in part.args]
            result = nodes[0]
            for node in nodes[1:]:
                result = graph.call(op, result, node)
            return result
        if isinstance(part, sp.Heaviside):
            return graph.select(done[part.args[0]], graph.one, graph.zero)
        if isinstance(part, sp.Piecewise):
            return self._piecewise(part)
        if isinstance(part, (sp.sec, sp.csc, sp.cot)):
            below = {"sec": "cos", "csc": "sin", "cot": "tan"}[type(part).__name__]
            return graph.one / graph.call(below, done[part.args[0]])
        if type(part) in FUNCTIONS:
            return graph.call(FUNCTIONS[type(part)], *(done[arg] for arg in part.args))
        raise BadExpression(
            f"{part} has no numerical meaning here", fix="use the functions that the problem file knows"
        )

    def _function(self, value: FunctionValue, args: tuple[Node, ...]) -> Node:
        given, table = self._functions.get(value.name), self.graph.tables.get(value.name)
        if given is not None:
            return given(value.orders, args)
        if table is not None:
            return self.graph.table(table, value.orders[0], args[0])
        return self.graph.function(value.name, value.orders, args)

    def _piecewise(self, part: sp.Piecewise) -> Node:
        """The first branch whose condition holds; the last one stands for the rest."""
        done = self._done
        *branches, (last, condition) = part.args
        if condition != sp.true:
            raise BadExpression(f"{part} does not say what holds otherwise", fix="end the Piecewise with (value, True)")
        result = done[last]
        for value, condition in reversed(branches):
            greater, less = _comparison(condition)
            difference = done[greater] - done[less]
            if condition.func in (sp.Gt, sp.Lt):
                result = self.graph.select(difference, done[value], result)
            else:  # greater or equal: the opposite is strictly less
                result = self.graph.select(-difference, result, done[value])
        return result


def _less_than_nothing(node: Node) -> bool:
    """Whether a term is so many times another, and that number is negative."""
    return node.op == "mul" and node.args[0].op == "const" and node.args[0].data.numerator < 0


def _comparison(condition: sp.Basic) -> tuple[sp.Basic, ...]:
    """The greater and the lesser side of an inequality."""
    if condition == sp.true:
        return ()
    if isinstance(condition, (sp.Gt, sp.Ge, sp.Lt, sp.Le)):
        return (condition.gts, condition.lts)
    raise BadExpression(f"the condition {condition} is not an inequality", fix="use one of < <= > >=")
