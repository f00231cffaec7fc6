"""A few states at which the equations are looked at before they are solved: the start, and two states beside it."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import sympy as sp

from holdfast.equations.dynamics.inputs import Inputs
from holdfast.errors import BadStatement
from holdfast.graph.arithmetics.balls import ball, balls
from holdfast.graph.arithmetics.tape import Ledger
from holdfast.graph.generic import generic_number
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Graph, Node, ancestors
from holdfast.graph.walk import Walker
from holdfast.problem.bodies.start import quaternions_at_rest
from holdfast.problem.derivative import parts_first
from holdfast.problem.laws.linear import LawForm
from holdfast.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Sample:
    """The numbers of all inputs at one state; `seed` chooses those of functions that are not given."""

    values: dict[Node, float]
    seed: int = 0

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self.values, letters=self.seed)

    def with_more(self, more: Mapping[Node, float]) -> Sample:
        """The same state with the numbers of inputs that had none; what was computed is so still."""
        found = Sample({**self.values, **more}, self.seed)
        found._ledger.take(self._ledger)
        return found

    def beside(self, more: Mapping[Node, float]) -> Ledger:
        """The same numbers and some more."""
        return Ledger({**self.values, **more}, letters=self.seed)

    def in_balls(self) -> Ledger:
        """The same numbers, exactly, as balls of the precision that is set."""
        return Ledger({node: ball(value) for node, value in self.values.items()}, balls(), letters=self.seed)

    def of(self, nodes: Sequence[Node]) -> list[float]:
        return self._ledger.of(nodes)

    def rows(self, matrix: Rows) -> list[dict[int, float]]:
        """A sparse matrix of nodes as numbers."""
        flat = iter(self.of([node for row in matrix for node in row.values()]))
        return [{j: next(flat) for j in row} for row in matrix]

    def dense(self, matrix: Rows, columns: int) -> np.ndarray:
        result = np.zeros((len(matrix), columns))
        for i, row in enumerate(self.rows(matrix)):
            for j, value in row.items():
                result[i, j] = value
        return result


SIZES = (0.0, 1e-2, 0.1)  # how far the samples lie from the start, in units of its size
SIZES_WITH_LETTERS = (0.1, 0.3, 1.0)  # where nothing says that the start is a state of its own

EMPTY: Mapping[str, sp.Expr] = {}


def constant_value(
    expression: sp.Expr,
    parameters: Mapping[str, float],
    *,
    where: str,
    definitions: Mapping[str, sp.Expr] = EMPTY,
) -> float:
    """The number that a constant expression in parameters, and in definitions made of them, stands for."""
    if expression.is_Rational:
        return float(expression)
    if (short := _multiple(expression, parameters)) is not None:
        return short
    if any(symbol.name not in parameters for symbol in expression.free_symbols):
        parameters = _with_definitions(parameters, definitions, where)
    values = {symbol: sp.Float(parameters[symbol.name], 17) for symbol in expression.free_symbols}
    value = sp.N(expression.xreplace(values), 17) if _within_doubles(expression, parameters) else sp.nan
    if not value.is_real or not value.is_finite:
        raise BadStatement(f"{expression} is not a real number here", where=where, fix="check the parameters it uses")
    return float(value)


def _multiple(expression: sp.Expr, parameters: Mapping[str, float]) -> float | None:
    """The value of so many times a parameter, as places along a chain are stated; None for anything else."""
    number, symbol = expression.as_coeff_Mul()
    if not isinstance(symbol, sp.Symbol) or symbol.name not in parameters or not number.is_Rational:
        return None
    value = float(_long(parameters[symbol.name]) * number)
    return value if math.isfinite(value) else None


@lru_cache(maxsize=64)
def _long(value: float) -> sp.Float:
    """A number as SymPy takes it: most places along a chain are multiples of the same few."""
    return sp.Float(value, 17)


def _within_doubles(expression: sp.Expr, parameters: Mapping[str, float]) -> bool:
    """Whether every part of a constant is finite as a double; SymPy would work out 2**exp(10**9) to all its bits."""
    graph = Graph()
    inputs = {symbol.name: graph.input(symbol.name) for symbol in expression.free_symbols}
    parts = ancestors([Walker(graph, inputs)(expression)])
    found = Ledger({node: parameters[name] for name, node in inputs.items()}).of(parts)
    return all(math.isfinite(value) for value in found)


def _with_definitions(
    parameters: Mapping[str, float], definitions: Mapping[str, sp.Expr], where: str
) -> dict[str, float]:
    """The parameters, and every definition that is a constant; each uses only those before it."""
    known = dict(parameters)
    for name, expression in definitions.items():
        if all(symbol.name in known for symbol in expression.free_symbols):
            known[name] = constant_value(expression, known, where=where)
    return known


def symbols_within(expression: sp.Expr, definitions: Mapping[str, sp.Expr]) -> set[str]:
    """The names that an expression depends on, through its definitions too."""

    def within(part: sp.Basic) -> tuple[sp.Basic, ...]:
        return (definitions[part.name],) if part.is_Symbol and part.name in definitions else part.args

    return {part.name for part in parts_first(expression, within) if part.is_Symbol}


def start_values(problem: Problem, parameters: Mapping[str, float]) -> dict[str, float]:
    """Start values of coordinates, rates and states by name; what is not stated is 0."""
    system = problem.system
    names = [
        *(c.name for c in system.coordinates),
        *(c.rate.name for c in system.coordinates),
        *system.states,
    ]
    given = problem.start
    stated = {
        name: constant_value(value, parameters, where=f"start.{name}", definitions=system.definitions)
        for name, value in given.items()
    }
    usual = quaternions_at_rest(system, stated)
    return {name: stated.get(name, usual.get(name, 0.0)) for name in names}


def samples_of(
    problem: Problem, form: LawForm, inputs: Inputs, deviations: Sequence[Node], extended: Sequence[Node] = ()
) -> list[Sample]:
    """The start, and two generic states near it (the same ones every time).

    `deviations` are the nodes that stand for the inputs y and w, in their order; `extended` are states of extensions,
    which start at 0. Letters have other random values in
    each sample, and the start is then as arbitrary as they are.
    """
    gains = {node: float(form.gains[name]) for name, node in inputs.gains.items()}
    shake = random.Random(20240611)
    sizes = SIZES_WITH_LETTERS if problem.open_letters else SIZES
    parameters = sampled_parameters(problem, 0)
    start = start_values(problem, parameters)
    own, extended = inputs.s[: len(problem.system.states)], (*extended, *inputs.s[len(problem.system.states) :])
    moving = dict(zip((*inputs.q, *inputs.v, *own), start.values(), strict=True))
    reach = {node: size for group in (inputs.q, inputs.v, own) for node, size in _reaches(group, moving).items()}
    samples = []
    for seed, size in enumerate(sizes):
        parameters = sampled_parameters(problem, seed) if problem.system.letters and seed else parameters
        values = {inputs.time: problem.run.begin + size}
        values |= {node: x + size * reach[node] * shake.uniform(-1, 1) for node, x in moving.items()}
        for ball_joint in inputs.balls:  # a quaternion has length 1
            length = math.hypot(*(values[part] for part in ball_joint.quaternion)) or 1.0
            values |= {part: values[part] / length for part in ball_joint.quaternion}
        values |= {node: size * shake.uniform(-1, 1) for node in extended}
        values |= {node: parameters[name] for name, node in inputs.parameters.items()} | gains
        state = Sample(values, seed)
        deviating = zip((*inputs.y.values(), *inputs.w.values()), state.of(deviations), strict=True)
        samples.append(state.with_more(dict(deviating)))
    return samples


def sampled_parameters(problem: Problem, seed: int) -> dict[str, float]:
    """The values of all parameters, with random ones for the letters."""
    values = {name: float(value) for name, value in problem.system.parameters.items()}
    for letter in problem.system.letters:
        number = float(generic_number(letter.name, seed))
        values[letter.name] = -number if letter.is_nonpositive else number
    return values


def _reaches(group: Sequence[Node], start: Mapping[Node, float]) -> dict[Node, float]:
    """How far each quantity of a kind may be moved: by its own size, or that of the largest where it starts at 0."""
    largest = max((abs(start[node]) for node in group), default=0.0) or 1.0
    return {node: abs(start[node]) or largest for node in group}
