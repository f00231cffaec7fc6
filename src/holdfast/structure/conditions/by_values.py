"""Equations too large to be written out: the conditions K1 to K3 by their values, derivatives taken on the graph."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import combinations

from holdfast.equations.equations import Equations
from holdfast.equations.values import parameter_vector, state_vector
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.derivatives import jacobian
from holdfast.graph.display import tree_size
from holdfast.graph.linear_algebra import Rows
from holdfast.graph.nodes import Node
from holdfast.structure.algebra.zero import BITS, SYMBOLIC, Decision

LARGEST = 4_000  # nodes of an equation written out: beyond, no symbolic question about it has an answer in time
Entry = tuple[str, tuple[int, ...], Node]

TRIED = 6  # points


def too_large(equations: Equations, *, solved: bool) -> bool:
    """Whether an equation is larger, written out, than what algebra can be asked about."""
    nodes = equations.solution.accelerations if solved else (*equations.held_forces_nodes[0], *equations.dynamics.bias)
    return any(tree_size(node) > LARGEST for node in nodes)


def defects_at_points(equations: Equations, *, solved: bool) -> list[tuple[str, tuple[int, ...], Decision]]:
    """Conditions whose balls leave zero out at some point near the start; each such ball is a proof."""
    entries = _conditions(equations, solved=solved)
    constants = parameter_vector(equations, {})
    start = state_vector(equations, None, dict(zip(equations.parameter_names, constants, strict=True)))
    tape = Tape(equations.field.inputs, tuple(node for _, _, node in entries))
    shake, found = random.Random(20240611), dict[int, Decision]()
    with precision(BITS):
        evaluate = tape.compiled(balls())
        for _ in range(TRIED):
            state = [Fraction(round((x + (1 + abs(x)) * shake.uniform(-0.3, 0.3)) * 10**6), 10**6) for x in start]
            point = [Fraction(round(shake.uniform(0, 1) * 10**6), 10**6), *state, *map(Fraction, constants)]
            for k, value in enumerate(evaluate([ball(x) for x in point])):
                if k not in found and value.is_finite() and not value.contains(0):
                    named = dict(zip(equations.state_names, state, strict=True))
                    found[k] = Decision(False, SYMBOLIC, named, float(value.mid()))
    return [(entries[k][0], entries[k][1], decision) for k, decision in sorted(found.items())]


def _conditions(equations: Equations, *, solved: bool) -> list[Entry]:
    """K1, K2 and K3 as nodes."""
    inputs, solution, dynamics = equations.inputs, equations.solution, equations.dynamics
    graph, q, v, n = inputs.graph, inputs.q, inputs.v, len(inputs.q)
    zero = graph.zero
    if solved:
        mass: Rows = [{i: graph.one} for i in range(n)]
        rest = [-a for a in solution.accelerations]
    else:
        mass, held = dynamics.mass, equations.held_forces_nodes[0]
        rest = [m - h - R for m, h, R in zip(solution.excess_bias, dynamics.bias, held, strict=True)]
    slopes = jacobian(rest, v)
    pairs = list(combinations(range(n), 2))
    curl = {(i, j): slopes[i].get(j, zero) - slopes[j].get(i, zero) for i, j in pairs}
    flat = [mass[i].get(j, zero) for i in range(n) for j in range(n)]
    by_place, by_rate = jacobian(flat, q), jacobian(flat, v)
    curl_places = dict(zip(pairs, jacobian(list(curl.values()), q), strict=True))
    curl_rates = dict(zip(pairs, jacobian(list(curl.values()), v), strict=True))
    entries: list[Entry] = [("K1", (i, j), flat[i * n + j] - flat[j * n + i]) for i, j in pairs]
    entries += [
        ("K1", (i, j, k), by_rate[i * n + j].get(k, zero) - by_rate[i * n + k].get(j, zero))
        for i in range(n) for j, k in pairs
    ]  # fmt: skip
    two = graph.const(Fraction(2))
    for i, j in pairs:
        for k in range(n):
            fitting = by_place[i * n + k].get(j, zero) - by_place[j * n + k].get(i, zero)
            entries.append(("K2", (i, j, k), curl_rates[i, j].get(k, zero) - two * fitting))
    for i, j, k in combinations(range(n), 3):
        around = curl_places[i, j].get(k, zero) + curl_places[j, k].get(i, zero) - curl_places[i, k].get(j, zero)
        entries.append(("K3", (i, j, k), around))
    return [entry for entry in entries if not entry[2].is_zero]
