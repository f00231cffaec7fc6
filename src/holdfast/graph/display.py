"""What people read: nodes back as SymPy, tidied where that is cheap, and never other than what the graph computes.

A formula is shown in the shorter of its raw and its harmonic form (products of sines and cosines turned into sums,
common factors taken out), when the graph predicts few enough terms: a limit on work, not a clock. Every tidied formula
is checked against the graph in balls at random points; one that fails is shown as it was. What nobody would read
(thousands of parts, or constants that SymPy would search for ever to simplify) is a letter, listed in `letters`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp
from sympy.simplify.fu import TR8

from holdfast.common.limits import allowance
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.nodes import LEAVES, SYSTEMS, Graph, Node, ancestors
from holdfast.graph.squares import squares_joined
from holdfast.graph.walk import FUNCTIONS, Walker
from holdfast.problem.functions import FunctionValue

MOST_TERMS = 600  # in the expanded form: beyond, a formula is shown as it is
SHORT = 5  # nodes of a formula that needs no tidying
MOST_PARTS = 1000  # of a formula with its products of sines and cosines turned into sums: beyond, it stays as it is
ALL_PARTS = 4000  # of all formulas of one problem together: most of a second
MOST_NODES = 3000  # in the tree: beyond, a formula is not written out at all
ALL_NODES = 15_000  # in the trees of all formulas of one problem together: half a second of printing

CONSTANT = 12  # parts of a constant that is not a fraction: SymPy evaluates it at every question, nested ones for ever
MOST_BITS = 4096  # of a number in a formula, 1200 digits: Python refuses to write more than 4300

SYMPY_FUNCTIONS = {op: function for function, op in FUNCTIONS.items()}


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of straight-line computation: a name and the expression it stands for."""

    name: sp.Symbol
    value: sp.Expr


class Display:
    """Writes the nodes of one graph in the symbols of a problem."""

    def __init__(self, graph: Graph, symbols: Mapping[str, sp.Symbol]) -> None:
        self._graph, self._symbols = graph, dict(symbols)
        self._inputs = {name: graph.input(name) for name in symbols}
        self.walk = Walker(graph, self._inputs)
        self._raw: dict[int, sp.Expr] = {}
        self._constants: dict[int, int] = {}  # parts of what has no inputs, as far as it is written
        self._ledgers: list[Ledger] = []
        self._shake = random.Random(11)
        self._left, self._room = float(allowance(ALL_PARTS)), float(allowance(ALL_NODES))
        self._tidied: dict[int, sp.Expr] = {}
        self.letters: dict[str, Node] = {}  # what stands for a formula too long to be written

    @property
    def symbols(self) -> dict[str, sp.Symbol]:
        """The symbol of each input."""
        return dict(self._symbols)

    def readable(self, node: Node) -> bool:
        """Whether the node written out is of a size that anyone would read."""
        return tree_size(node) <= MOST_NODES

    def raw(self, node: Node) -> sp.Expr:
        """The node as SymPy, as it stands on the graph."""
        for part in ancestors((node,)):
            if part.index not in self._raw:
                endless = self._parts_of_constant(part) > CONSTANT
                args = [self._raw[arg.index] for arg in part.args]
                self._raw[part.index] = self._letter(part) if endless else self._expression(part, args)
        return self._raw[node.index]

    def _parts_of_constant(self, node: Node) -> int:
        """How many parts a constant is written with, fractions and letters being one; 0 for what depends on inputs."""
        parts = [self._constants[arg.index] for arg in node.args]
        found = 0 if node.op == "input" or not all(parts) else 1 + sum(parts)
        self._constants[node.index] = found if found <= CONSTANT else 1
        return found

    def tidy(self, node: Node) -> sp.Expr:
        """The shorter of the raw and the harmonic form, checked against the graph; a letter for what is too long."""
        if node.index not in self._tidied:
            size = tree_size(node)
            written = self.readable(node) and size <= self._room
            self._room -= size if written else 0
            shown = self._tidy(node, size) if written else None
            self._tidied[node.index] = self._letter(node) if shown is None or _endless(shown) else shown
        return self._tidied[node.index]

    def _tidy(self, node: Node, size: float) -> sp.Expr:
        raw = self.raw(node)
        if size <= SHORT or not raw.free_symbols or expanded_terms(node) > MOST_TERMS:
            return raw
        candidates = [raw]
        if not _has_quotient(node) and self._affordable(harmonic_size(node)):
            expanded = sp.expand(raw)
            sums = [expanded]
            if expanded.has(sp.sin, sp.cos) and (harmonic := sp.expand(TR8(expanded))) != expanded:
                sums = [harmonic, expanded]
            candidates = [expanded, *(common_factors_out(each) for each in sums), raw]
        if raw.has(sp.sin) and (squares := squares_joined(raw)) != raw:
            candidates.append(squares)
        for candidate in sorted(candidates, key=_length):
            if candidate == raw or (not _endless(candidate) and self.agrees(candidate, node)):
                return candidate
        return raw

    def _letter(self, node: Node) -> sp.Symbol:
        """A name for a formula that is not written out."""
        name = next((name for name, known in self.letters.items() if known is node), "")
        while not name or name in self._symbols:
            name = f"formula_{len(self.letters) + 1}" + "_" * (name in self._symbols)
        self.letters[name] = self.walk.names[name] = node
        return sp.Symbol(name, real=True)

    def _affordable(self, size: float) -> bool:
        """Whether a formula that would grow to this size is worth tidying, and what is left of the work allows it."""
        if size > MOST_PARTS or size > self._left:
            return False
        self._left -= size
        return True

    def agrees(self, expression: sp.Expr, node: Node) -> bool:
        """Whether an expression has the node's value, within the width of balls, at three random points."""
        return self.same(self.walk(expression), node)

    def same(self, shown: Node, node: Node) -> bool:
        """Whether two nodes have the same value, within the width of balls, at three random points."""
        if shown is node:
            return True
        agreed = 0
        with precision(160):
            for ledger in self._points():
                ours, theirs = ledger.of([shown, node])
                if ours.is_finite() and theirs.is_finite():
                    if not ours.overlaps(theirs):
                        return False
                    agreed += 1
                    if agreed == 3:
                        return True
        return False

    def _points(self) -> Iterator[Ledger]:
        """Random points, made when first needed; what was computed there is kept for the next formula."""
        for k in range(12):
            if k == len(self._ledgers):
                values = {node: ball(round(self._shake.uniform(0.15, 0.95), 9)) for node in self._inputs.values()}
                self._ledgers.append(Ledger(values, balls(), letters=k))
            yield self._ledgers[k]

    def statements(self, wanted: Mapping[str, Node]) -> tuple[Statement, ...]:
        """The wanted nodes as straight-line computation: what is used more than once gets a name of its own."""
        order = ancestors(wanted.values())
        uses: dict[int, int] = {}
        for node in order:
            for arg in node.args:
                uses[arg.index] = uses.get(arg.index, 0) + 1
        written: dict[int, sp.Expr] = {}
        lines: list[Statement] = []
        for node in order:
            value = self._expression(node, [written[arg.index] for arg in node.args])
            if uses.get(node.index, 0) > 1 and node.op not in LEAVES and node.op != "neg":
                name = sp.Symbol(f"s_{len(lines) + 1}", real=True)
                lines.append(Statement(name, value))
                value = name
            written[node.index] = value
        results = [Statement(sp.Symbol(name, real=True), written[node.index]) for name, node in wanted.items()]
        return (*lines, *results)

    def _expression(self, node: Node, args: Sequence[sp.Expr]) -> sp.Expr:
        op = node.op
        if op in ("power", "pow") and _bits(args[0]) * abs(_exponent(node, args)) > MOST_BITS:
            return self._letter(node)  # SymPy would work the number out
        if op == "const":
            return sp.Rational(node.data.numerator, node.data.denominator)
        if op == "pi":
            return sp.pi
        if op == "input":
            return self._symbols[node.data]
        if op in ("add", "sub", "mul", "div"):
            a, b = args
            return a + b if op == "add" else a - b if op == "sub" else a * b if op == "mul" else a / b
        if op == "neg":
            return -args[0]
        if op == "power":
            return args[0] ** node.data
        if op == "pow":
            return self._letter(node) if args[0].is_number and args[1].is_number else args[0] ** args[1]
        if op == "sqrt":
            return sp.sqrt(args[0])
        if op in ("min", "max"):
            compared = not any(arg.is_number and not arg.is_Rational for arg in args)
            return (sp.Min if op == "min" else sp.Max)(*args, evaluate=compared)
        if op == "function":
            return FunctionValue(*node.data, *args)
        if op == "table":
            return FunctionValue(node.data.table.name, (node.data.order,), *args)
        if op in SYSTEMS:
            return self._letter(node)  # no formula is short enough to be written
        if op == "select":
            return sp.Piecewise((args[1], args[0] > 0), (args[2], True))
        return SYMPY_FUNCTIONS[op](*args)


def tree_size(node: Node) -> float:
    """How many nodes the expression has when nothing is shared."""
    size: dict[int, float] = {}
    for part in ancestors((node,)):
        size[part.index] = 1.0 + sum(size[arg.index] for arg in part.args)
    return size[node.index]


def expanded_terms(node: Node) -> float:
    """How many terms the expression has at most when it is multiplied out."""
    terms: dict[int, float] = {}
    for part in ancestors((node,)):
        inner = [terms[arg.index] for arg in part.args]
        if part.op in ("add", "sub"):
            count = inner[0] + inner[1]
        elif part.op in ("mul", "div"):
            count = inner[0] * inner[1]
        elif part.op == "power":
            count = inner[0] ** min(part.data, 64)
        else:
            count = inner[0] if part.op == "neg" else max([1.0, *inner])
        terms[part.index] = min(count, 1e12)
    return terms[node.index]


def harmonic_size(node: Node) -> float:
    """About how many parts the harmonic form has: everything multiplied out, inside functions too.

    A product of sums has the product of their terms, and twice as many where both factors contain sines or cosines.
    """
    terms: dict[int, float] = {}
    length: dict[int, float] = {}  # of one term
    waves: dict[int, bool] = {}  # whether sines or cosines are among the factors
    for part in ancestors((node,)):
        inner = [arg.index for arg in part.args]
        wave = any(waves[arg] for arg in inner)
        if part.op in ("add", "sub"):
            count = terms[inner[0]] + terms[inner[1]]
            size = (terms[inner[0]] * length[inner[0]] + terms[inner[1]] * length[inner[1]]) / count
        elif part.op in ("mul", "div"):
            both = all(waves[arg] for arg in inner)
            count, size = terms[inner[0]] * terms[inner[1]] * (1 + both), length[inner[0]] + length[inner[1]]
        elif part.op == "power":
            times = min(part.data, 64)
            count, size = (terms[inner[0]] * (1 + wave)) ** times / (1 + wave), length[inner[0]] * times
        elif part.op == "neg":
            count, size = terms[inner[0]], length[inner[0]]
        else:
            count, size = 1.0, 1.0 + sum(terms[arg] * length[arg] for arg in inner)
            wave = part.op in ("sin", "cos")
        terms[part.index], length[part.index], waves[part.index] = min(count, 1e12), min(size, 1e12), wave
    return terms[node.index] * length[node.index]


def _bits(expression: sp.Expr) -> int:
    """Of the number in front of an expression."""
    number = expression.as_coeff_Mul()[0]
    return number.p.bit_length() + number.q.bit_length() if number.is_Rational else 0


def _exponent(node: Node, args: Sequence[sp.Expr]) -> float:
    """The exponent of a power, where it is a number; 0 elsewhere."""
    if node.op == "power":
        return float(node.data)
    return float(args[1].p) / args[1].q if args[1].is_Rational else 0.0


def _endless(expression: sp.Expr) -> bool:
    """Whether a number is in it that nobody would read."""
    return any(_bits(number) > MOST_BITS for number in expression.atoms(sp.Rational))


def common_factors_out(expanded: sp.Expr) -> sp.Expr:
    """A sum of products with what all of them share taken out; SymPy's own `factor_terms` takes five times as long.

    A common denominator stays inside where some term has none: x/2 + y, but (x + 3 y)/2. A sign of all goes out.
    """
    if not expanded.is_Add:
        return expanded
    content, primitive = expanded.primitive()
    terms = [term.as_coeff_Mul() for term in primitive.args]
    if any(coefficient % content.q == 0 for coefficient, _ in terms):
        content, terms = sp.Integer(content.p), [(coefficient / content.q, rest) for coefficient, rest in terms]
    if all(coefficient < 0 for coefficient, _ in terms):
        content, terms = -content, [(-coefficient, rest) for coefficient, rest in terms]
    powers = [rest.as_powers_dict() for _, rest in terms]
    shared = {base: _shared_exponent([each.get(base, sp.S.Zero) for each in powers]) for base in powers[0]}
    factor = sp.Mul(*(base**exponent for base, exponent in shared.items()))
    total = sp.Add(*(coefficient * (rest / factor) for coefficient, rest in terms))
    if factor == 1 and content != 1:
        return sp.Mul(content, total, evaluate=False)  # else a number alone would be multiplied in again
    return sp.Mul(content, factor, total)


def _shared_exponent(exponents: list[sp.Expr]) -> sp.Expr:
    """What powers of one base have in common: the smallest in size of one sign, or what is the same in all."""
    if all(exponent == exponents[0] for exponent in exponents):
        return exponents[0]
    if not all(exponent.is_Rational for exponent in exponents):
        return sp.S.Zero
    return max(min(exponents), sp.S.Zero) + min(max(exponents), sp.S.Zero)


def _has_quotient(node: Node) -> bool:
    """A division by something that is not a product of inputs and constants, or a power that SymPy is slow at."""
    return any(
        part.op == "pow" or (part.op == "div" and expanded_terms(part.args[1]) > 1) for part in ancestors((node,))
    )


def _length(expression: sp.Expr) -> int:
    return int(sp.count_ops(expression, visual=False))
