"""Is an expression zero?  Looked at in balls at exact random points, then proved by algebra where that is quick.

A ball that leaves zero out proves that the expression is not zero. Where every ball holds zero, the algebra of
`normal` is asked for a proof, under a limit of work and of time; without one the answer rests on the points, and says
so.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic
from typing import Any

import sympy as sp

from holdfast.errors import HoldfastError
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.generic import generic_value, open_functions
from holdfast.graph.nodes import Graph
from holdfast.graph.walk import Walker
from holdfast.structure.algebra.normal_form import expandable, normal_form
from holdfast.structure.algebra.worker import WORKER, OutOfTime

SYMBOLIC, BY_POINTS, UNDECIDED = "symbolic", "random points", "undecided"
BITS = 192  # 57 digits, so that 30 are left where terms cancel
ENOUGH = 8  # points at which an expression is defined
RANGES = ((0.15, 0.95), (0.15, 0.95), (1.05, 2.9), (-0.9, 0.9), (-0.3, 0.3), (0.01, 0.1), (3.0, 9.0), (-4.0, 4.0))
IN_PROCESS = 250  # operations: what is larger is simplified in the worker
PROOF_LIMIT = 3.0  # seconds for one proof
PROOFS_LIMIT = 12.0  # seconds for all proofs of one question


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether an expression is zero, how that is known, and a point with a value where it is not."""

    zero: bool
    how: str
    point: Mapping[str, Fraction] = field(default_factory=dict)
    value: float = 0.0


@dataclass(frozen=True)
class Points:
    """Exact random points; `near` is a place where things are defined, `values` what parameters are known to be."""

    values: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    near: Mapping[sp.Symbol, sp.Expr] = field(default_factory=dict)
    seed: int = 20240611

    def of(self, symbols: Sequence[sp.Symbol]) -> Iterator[dict[sp.Symbol, Fraction]]:
        """Points for these symbols, the same every time: near the given place first, then in other ranges."""
        shake = random.Random(self.seed)
        for attempt in range(12 * ENOUGH):
            low, high = RANGES[attempt // ENOUGH % len(RANGES)]
            known = attempt % 2 == 1 or attempt >= 4 * ENOUGH  # parameters at their values, or anywhere
            yield {s: self._coordinate(s, shake.uniform(low, high), known, attempt) for s in symbols}

    def _coordinate(self, symbol: sp.Symbol, shaken: float, known: bool, attempt: int) -> Fraction:
        if known and symbol in self.values:
            return _fraction(self.values[symbol])
        if symbol in self.near and attempt < 6 * ENOUGH:
            base = _fraction(self.near[symbol])
            return base + Fraction(round(shaken * 0.3 * 10**6), 10**6) * (1 + abs(base))
        return Fraction(round(shaken * 10**6), 10**6)


def _fraction(value: sp.Expr) -> Fraction:
    number = sp.Rational(value) if value.is_Rational else sp.Rational(str(sp.N(value, 20)))
    return Fraction(int(number.p), int(number.q))


def enclosures(expressions: Sequence[sp.Expr], points: Points) -> Iterator[tuple[dict[sp.Symbol, Fraction], list[Any]]]:
    """The expressions in balls, at points where at least one of them is defined."""
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=lambda s: s.name)
    graph = Graph()
    inputs = {s.name: graph.input(s.name) for s in symbols}
    walk = Walker(graph, inputs)
    outputs = tuple(walk(e) for e in expressions)
    unknown = open_functions(outputs)
    tape = Tape((*inputs.values(), *unknown), outputs)
    with precision(BITS):
        evaluate = tape.compiled(balls())
        for seed, point in enumerate(points.of(symbols)):
            letters = [generic_value(function, seed) for function in unknown]
            try:
                found = evaluate([ball(value) for value in (*point.values(), *letters)])
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
            if any(value.is_finite() for value in found):
                yield point, found


def decisions(expressions: Sequence[sp.Expr], points: Points, *, limit: float = PROOFS_LIMIT) -> list[Decision]:
    """Which of the expressions are zero, each with how it is known."""
    found: dict[int, Decision] = {}
    open_ = []
    for i, e in enumerate(expressions):
        if e.is_zero or e == 0:
            found[i] = Decision(True, SYMBOLIC)
        elif e.is_number and e.is_Rational:
            found[i] = Decision(False, SYMBOLIC, value=float(e))
        else:
            open_.append(i)
    if open_:
        found |= dict(zip(open_, _looked_at([expressions[i] for i in open_], points), strict=True))
    until = monotonic() + limit
    for i in open_:
        if found[i].zero:
            found[i] = _proved(expressions[i], found[i], until)
    return [found[i] for i in range(len(expressions))]


def is_zero(expression: sp.Expr, points: Points | None = None) -> Decision:
    """Whether one expression is zero."""
    return decisions([sp.sympify(expression)], points or Points())[0]


def _looked_at(expressions: Sequence[sp.Expr], points: Points) -> list[Decision]:
    """What the points say: not zero (proved by a ball), zero at enough points, or undecided."""
    seen, verdicts = [0] * len(expressions), [None] * len(expressions)
    found: list[Decision | None] = list(verdicts)
    try:
        for point, values in enclosures(expressions, points):
            for i, value in enumerate(values):
                if found[i] is not None or not value.is_finite():
                    continue
                if not value.contains(0):
                    named = {s.name: x for s, x in point.items()}
                    found[i] = Decision(False, SYMBOLIC, named, float(value.mid()))
                elif value.rad() < 1e-30:
                    seen[i] += 1
            if all(f is not None or seen[i] >= ENOUGH for i, f in enumerate(found)):
                break
    except HoldfastError:  # a function without numbers: only algebra can tell
        pass
    return [f or Decision(True, BY_POINTS if seen[i] >= 3 else UNDECIDED) for i, f in enumerate(found)]


def _proved(expression: sp.Expr, seen: Decision, until: float) -> Decision:
    """The decision with a proof, if algebra finds one in time; undecided expressions without one are not zero."""
    left = min(PROOF_LIMIT, until - monotonic())
    try:
        if sp.count_ops(expression) <= IN_PROCESS and expandable(expression):
            rest = normal_form(expression)
        else:
            rest = WORKER.ask(normal_form, expression, limit=left)
    except (OutOfTime, RuntimeError, ValueError, TypeError, NotImplementedError, sp.PolynomialError):
        rest = None
    if rest == 0:
        return Decision(True, SYMBOLIC)
    return Decision(seen.how != UNDECIDED, seen.how)
