"""Large systems as one operation: the same numbers as statements give, in every arithmetic and from native code."""

import numpy as np
import pytest

from holdfast.engine.kernel import compiled
from holdfast.errors import BadRequest, Undecided
from holdfast.graph.arithmetics.balls import ball, balls, precision
from holdfast.graph.arithmetics.floats import FLOATS
from holdfast.graph.arithmetics.rounded_balls import rounded_balls
from holdfast.graph.arithmetics.tape import Ledger, Tape
from holdfast.graph.derivatives import directional, jacobian
from holdfast.graph.elimination import factor as factors
from holdfast.graph.elimination import saddle
from holdfast.graph.elimination.values import ColumnFactor
from holdfast.graph.field import Field
from holdfast.graph.fronts import elimination_in, least_degree
from holdfast.graph.linear_algebra import factor_symmetric
from holdfast.graph.nodes import Graph, fingerprint, substitute
from holdfast.schemes.tableaus.euler import EULER


def grid(side, random):
    """A matrix with the pattern of a square net: dominant, and so definite."""
    size = side * side
    matrix = np.zeros((size, size))
    for k in range(size):
        for other in ([k + 1] if (k + 1) % side else []) + ([k + side] if k + side < size else []):
            matrix[k, other] = matrix[other, k] = random.normal()
    return matrix + np.diag(np.abs(matrix).sum(axis=1) + random.uniform(0.1, 1.0, size))


def written(matrix, graph, name="a"):
    """The matrix as nodes: an input for each entry of its lower triangle."""
    places = [(i, j) for i, j in np.argwhere(matrix) if j <= i]
    nodes = {place: graph.input(f"{name}{place[0]}_{place[1]}") for place in places}
    rows = [{int(j): nodes[max(i, j), min(i, j)] for j in np.nonzero(matrix[i])[0]} for i in range(len(matrix))]
    return rows, {node: float(matrix[place]) for place, node in nodes.items()}


@pytest.fixture
def tables(monkeypatch):
    """Every system by tables."""
    for module in (factors, saddle):
        monkeypatch.setattr(module, "MANY_ROWS", 1)
        monkeypatch.setattr(module, "FILLED", 0)


def by_tables(matrix, tables):
    """Graph, factor, right sides and the values of all inputs."""
    graph, size = Graph(), len(matrix)
    rows, values = written(matrix, graph)
    right = [graph.input(f"b{i}") for i in range(size)]
    random = np.random.default_rng(7)
    values |= dict(zip(right, random.normal(size=size).tolist(), strict=True))
    return graph, rows, factors.factor_sparse(rows, graph), right, values


@pytest.mark.parametrize("side", [1, 2, 5, 9])
def test_fronts_hold_every_row_once_and_hand_on_to_their_parents(side):
    matrix = grid(side, np.random.default_rng(side))
    pattern = tuple(tuple(np.nonzero(row)[0].tolist()) for row in matrix)
    found = elimination_in(pattern, least_degree(pattern))
    assert sorted(found.place) == list(range(side * side))
    assert [k for front in found.fronts for k in front.rows[: front.width]] == list(range(side * side))
    for number, front in enumerate(found.fronts):
        assert front.parent > number or (front.parent == -1 and not front.below)
        assert front.parent < 0 or set(front.rows[front.width :]) <= set(found.fronts[front.parent].rows)


@pytest.mark.parametrize("side", [1, 3, 6])
def test_solutions_and_pivots_are_those_of_the_matrix(side, tables):
    matrix = grid(side, np.random.default_rng(side))
    graph, rows, factor, right, values = by_tables(matrix, tables)
    known = Ledger(values)
    found = known.of(factor.solve(right))
    assert matrix @ found == pytest.approx([values[b] for b in right], rel=1e-12, abs=1e-12)
    order = sorted(range(side * side), key=lambda i: factor.elimination.place[i])
    straight = factor_symmetric(rows, graph, order)
    pivots = {order[k]: pivot for k, pivot in enumerate(straight.pivots)}
    for i, pivot in enumerate(factor.pivots):
        value, scale, usual, size = known.of([pivot.value, pivot.scale, pivots[i].value, pivots[i].scale])
        assert (value, scale) == (pytest.approx(usual, rel=1e-12), pytest.approx(size, rel=1e-12))


def test_every_arithmetic_eliminates_alike(tables):
    _, _, factor, right, values = by_tables(grid(3, np.random.default_rng(3)), tables)
    outputs = [*factor.solve(right), *(node for pivot in factor.pivots for node in (pivot.value, pivot.scale))]
    usual = Ledger(values).of(outputs)
    columns = ColumnFactor(factor.elimination, [values[node] for node in factor.entries], FLOATS.functions)
    assert columns.parts == pytest.approx(usual[9::2] + usual[10::2], rel=1e-13)
    with precision(128):
        enclosed = Ledger({node: ball(x) for node, x in values.items()}, balls()).of(outputs)
        assert all(float(x.mid()) == pytest.approx(y, rel=1e-12) for x, y in zip(enclosed, usual, strict=True))
        pairs = [(ball(x), ball(0)) for x in values.values()]
        with pytest.raises(Undecided, match="rounding"):  # native code takes another order
            Tape(tuple(values), tuple(outputs)).compiled(rounded_balls())(pairs)


@pytest.mark.parametrize("target", ["native", "python"])
def test_native_code_and_python_solve_by_the_tables(target, tables):
    """Two systems after each other: the right side of the second are unknowns of the first."""
    matrix = grid(6, np.random.default_rng(1))
    graph, _, factor, right, values = by_tables(matrix, tables)
    x = factor.solve([b * 2 for b in right])
    again = factor.solve([a * b + right[0] for a, b in zip(x, right, strict=True)])
    outputs = [p - q for p, q in zip(again, x, strict=True)]
    parameters = tuple(node for node in values if node not in right)
    watched = [(p.value, p.scale) for p in factor.pivots]
    field = Field(
        graph.input("t"), tuple(right), parameters, tuple(outputs),
        tuple(p for p, _ in watched), tuple(s for _, s in watched),
    )  # fmt: skip
    kernel = compiled(field, EULER, target=target)
    state, constants = [values[b] for b in right], [values[p] for p in parameters]
    found, margin = kernel.rates_and_margin(0.0, state, constants)
    first = 2 * np.linalg.solve(matrix, state)
    assert found == pytest.approx(np.linalg.solve(matrix, first * state + state[0]) - first, rel=1e-11, abs=1e-11)
    shares = np.array(Ledger(values).of([p.value / p.scale for p in factor.pivots]))
    assert margin == pytest.approx(np.abs(shares).min(), rel=1e-12)


def test_a_pivot_of_zero_gives_no_numbers(tables):
    matrix = grid(3, np.random.default_rng(3))
    _, _, factor, right, values = by_tables(matrix, tables)
    places = {node: place for place, node in zip(factor.elimination.entries, factor.entries, strict=True)}
    nothing = {node: 0.0 if node in places else value for node, value in values.items()}
    found = Ledger(nothing).of([*factor.solve(right), factor.pivots[0].value])
    assert found[-1] == 0.0
    assert not np.isfinite(found[:-1]).any()


def test_a_solution_moves_as_its_slope_says(tables):
    matrix = grid(4, np.random.default_rng(5))
    graph, _, factor, right, values = by_tables(matrix, tables)
    random = np.random.default_rng(6)
    along = {node: float(x) for node, x in zip(values, random.normal(size=len(values)), strict=True)}
    directions = {node: graph.input(f"d{k}") for k, node in enumerate(values)}
    slopes = directional(factor.solve(right), directions)
    stated = Ledger(values | {directions[node]: x for node, x in along.items()}).of(slopes)
    ahead, behind = (
        Ledger({node: x + sign * 1e-6 * along[node] for node, x in values.items()}).of(factor.solve(right))
        for sign in (1, -1)
    )
    assert stated == pytest.approx((np.array(ahead) - behind) / 2e-6, rel=1e-6, abs=1e-6)


def test_full_jacobians_are_refused_by_name(tables):
    _, _, factor, right, _ = by_tables(grid(3, np.random.default_rng(3)), tables)
    with pytest.raises(BadRequest, match="9 unknowns are found together, by tables"):
        jacobian(factor.solve(right), right)


def test_systems_are_rebuilt_and_told_apart(tables):
    graph, _, factor, right, values = by_tables(grid(3, np.random.default_rng(3)), tables)
    x = factor.solve(right)
    other = substitute(x, {right[0]: graph.const(2)})
    assert Ledger(values).of(other) == pytest.approx(Ledger(values | {right[0]: 2.0}).of(x), rel=1e-14)
    inputs = tuple(values)
    assert fingerprint(x, inputs) != fingerprint(other, inputs)
    assert factor.solve([graph.zero] * 9) == [graph.zero] * 9
    assert factor.solve_sparse({0: right[0]})[3] is factor.solve([right[0], *[graph.zero] * 8])[3]


def test_coordinates_are_eliminated_before_the_reactions_that_meet_them(tables):
    """With masses that couple coordinates in pairs, and a coordinate that nothing holds."""
    random, graph = np.random.default_rng(2), Graph()
    mass = np.kron(np.eye(4), [[2.0, 0.5], [0.5, 1.0]])
    slopes = np.where(random.uniform(size=(4, 8)) < 0.4, random.normal(size=(4, 8)), 0.0) + np.eye(4, 8)
    slopes[:, 7] = 0.0
    rows, values = written(mass, graph, "m")
    held = [{int(j): graph.input(f"j{i}_{j}") for j in np.nonzero(row)[0]} for i, row in enumerate(slopes)]
    values |= {node: float(slopes[i, j]) for i, row in enumerate(held) for j, node in row.items()}
    solver = saddle.table_solver(rows, held, graph)
    place = solver.elimination.place
    assert all(place[j] < place[8 + k] for k, row in enumerate(held) for j in row)
    forces, demand = [graph.const(k) for k in range(8)], [graph.const(k - 2) for k in range(4)]
    a, mu = (np.array(Ledger(values).of(part)) for part in solver(forces, demand))
    assert mass @ a - slopes.T @ mu == pytest.approx(np.arange(8), abs=1e-12)
    assert slopes @ a == pytest.approx(np.arange(4) - 2, abs=1e-12)
    strength = slopes @ np.linalg.solve(mass, slopes.T)
    sizes = Ledger(values).of([pivot.scale for pivot in solver.pivots])
    assert sizes[8:] == pytest.approx(np.diag(strength), rel=1e-12)
    assert sizes[:8] == pytest.approx(np.diag(mass), rel=1e-12)
