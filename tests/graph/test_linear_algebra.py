"""Elimination as statements: the solutions are NumPy's, whatever the pattern and the order."""

import random
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.general_solver import StructurallySingular, block_triangular, factor_general
from holdfast.graph.linear_algebra import (
    DENSE,
    _constant_elimination,
    _elimination,
    factor_symmetric,
    product,
    times,
    transposed,
)
from holdfast.graph.nodes import Graph, operation_count
from holdfast.graph.order.least_fill import symmetric_order


def as_nodes(matrix):
    """The matrix as sparse rows of inputs, with the inputs and their numbers."""
    graph = Graph()
    inputs, numbers, rows = [], [], []
    for i, row in enumerate(matrix):
        rows.append({})
        for j, value in enumerate(row):
            if value:
                rows[-1][j] = graph.input(f"a{i}_{j}")
                inputs.append(rows[-1][j])
                numbers.append(float(value))
    right = [graph.input(f"b{i}") for i in range(len(matrix))]
    return graph, rows, right, (*inputs, *right), numbers


@st.composite
def sparse(draw, symmetric):
    n = draw(st.integers(1, 6))
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if draw(st.booleans()):
                matrix[i, j] = draw(st.integers(-8, 8)) / 8
    if symmetric:
        matrix = matrix @ matrix.T * (np.abs(matrix @ matrix.T) > 1e-12) + np.diag(1 + np.arange(n))
        return matrix
    order = draw(st.permutations(range(n)))
    matrix[np.arange(n), order] = draw(st.sampled_from([4.0, -5.0]))
    return matrix


@settings(max_examples=60)
@given(sparse(symmetric=True), st.randoms(use_true_random=False))
def test_symmetric_elimination_solves_in_any_order(matrix, shake):
    graph, rows, right, inputs, numbers = as_nodes(matrix)
    b = np.array([shake.uniform(-1, 1) for _ in right])
    orders = [None, list(range(len(right)))]
    shake.shuffle(orders[1])
    for order in orders:
        factor = factor_symmetric(rows, graph, order)
        x = Tape(inputs, tuple(factor.solve(right)))([*numbers, *b])
        assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-9, atol=1e-10)
        pivots = Tape(inputs, tuple(pivot.value for pivot in factor.pivots))([*numbers, *b])
        assert np.prod(pivots) == pytest.approx(np.linalg.det(matrix), rel=1e-9)
        assert min(pivots) > 0


@settings(max_examples=60)
@given(sparse(symmetric=False), st.randoms(use_true_random=False))
def test_general_matrices_are_solved_wherever_they_are_regular(matrix, shake):
    if np.linalg.cond(matrix) > 1e6:
        return
    graph, rows, right, inputs, numbers = as_nodes(matrix)
    b = np.array([shake.uniform(-1, 1) for _ in right])
    factor = factor_general(rows, graph, [{j: matrix[i, j] for j in row} for i, row in enumerate(rows)])
    x = Tape(inputs, tuple(factor.solve(right)))([*numbers, *b])
    assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-7, atol=1e-8)
    values = Tape(inputs, tuple(pivot.value for pivot in factor.pivots))([*numbers, *b])
    scales = Tape(inputs, tuple(pivot.scale for pivot in factor.pivots))([*numbers, *b])
    assert (np.abs(values) > 1e-13 * np.abs(scales)).all()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_one_factor_serves_every_regular_matrix_of_its_pattern(size):
    """Turned by any angle, with zeros at any place and columns of any unit: no pivot has to be chosen anew."""
    shake = np.random.default_rng(size)
    graph, rows, right, inputs, _ = as_nodes(np.ones((size, size)))
    solve = Tape(inputs, tuple(factor_general(rows, graph).solve(right)))
    for turn in np.eye(size)[list(map(list, permutations(range(size))))]:
        matrix = turn * 10.0 ** shake.uniform(-11, 11, size)  # one entry a row: each leading pivot vanishes for some
        b = shake.normal(size=size)
        assert_allclose(solve([*matrix.ravel(), *b]), np.linalg.solve(matrix, b), rtol=1e-9)
    for _ in range(200):
        matrix = np.linalg.qr(shake.normal(size=(size, size)))[0] * 10.0 ** shake.uniform(-11, 11, size)
        b = shake.normal(size=size)
        assert_allclose(solve([*matrix.ravel(), *b]), np.linalg.solve(matrix, b), rtol=1e-9)


@pytest.mark.parametrize("units", [1e-12, 1e3, 1e12])
def test_rows_of_any_unit_are_solved_to_the_last_digits(units):
    """Rows in metres and micrometres: brought together by powers of two, where their sizes are known."""
    shake = np.random.default_rng(8)
    matrix = np.linalg.qr(shake.normal(size=(4, 4)))[0] * np.array([1, units, 1, 1 / units])[:, None]
    wanted = shake.normal(size=4)
    graph, rows, right, inputs, numbers = as_nodes(matrix)
    factor = factor_general(rows, graph, [{j: matrix[i, j] for j in row} for i, row in enumerate(rows)])
    x = Tape(inputs, tuple(factor.solve(right)))([*numbers, *(matrix @ wanted)])
    assert_allclose(x, wanted, rtol=1e-13)


def test_pivots_of_a_nearly_dependent_matrix_vanish_beside_their_scales():
    shake = np.random.default_rng(1)
    for size in (2, 3, 4):
        graph, rows, _, inputs, _ = as_nodes(np.ones((size, size)))
        factor = factor_general(rows, graph)
        tape = Tape(inputs, tuple(node for pivot in factor.pivots for node in (pivot.value, pivot.scale)))
        matrix = shake.normal(size=(size, size))
        matrix[:, 0] = matrix[:, 1:].sum(axis=1)
        values = np.array(tape([*matrix.ravel(), *[0.0] * size])).reshape(-1, 2)
        assert (np.abs(values[:, 0]) <= 1e-13 * np.abs(values[:, 1])).any()


def test_a_matrix_without_enough_entries_is_refused_by_its_rows():
    graph = Graph()
    a, b, c = (graph.input(name) for name in "abc")
    with pytest.raises(StructurallySingular) as refused:
        factor_general([{0: a}, {0: b}, {0: c, 1: a, 2: b}], graph)
    assert refused.value.rows == (0, 1)


def test_blocks_need_only_columns_of_their_own_and_of_earlier_ones():
    graph = Graph()
    one = graph.one
    rows = [{0: one, 3: one}, {1: one}, {2: one, 0: one}, {0: one, 1: one, 3: one}]
    seen = set()
    for block, columns in block_triangular(rows):
        seen |= set(columns)
        assert all(set(rows[i]) <= seen for i in block)
    assert [len(block) for block, _ in block_triangular(rows)] == [1, 2, 1]


def greedy_order(joined):
    """Least fill first, then the shortest chain of earlier eliminations, then the first: counted anew at each turn."""
    near = {i: {j for j in range(len(joined)) if joined[i, j] and j != i} for i in range(len(joined))}
    depth, order = dict.fromkeys(near, 0), []
    while near:
        fill = {i: sum(b not in near[a] for a, b in combinations(near[i], 2)) for i in near}
        best = min(near, key=lambda i: (fill[i], depth[i], i))
        around = near.pop(best)
        for i in around:
            near[i] = (near[i] | around) - {i, best}
            depth[i] = max(depth[i], depth[best] + 1)
        order.append(best)
    return order


def filled(joined, order):
    """How many entries an order adds."""
    near = {i: {j for j in range(len(joined)) if joined[i, j] and j != i} for i in range(len(joined))}
    total = 0
    for best in order:
        around = near.pop(best)
        total += sum(b not in near[a] for a, b in combinations(around, 2))
        for i in around:
            near[i] = (near[i] | around) - {i, best}
    return total


def test_the_order_of_elimination_fills_as_little_as_the_greedy_one():
    shake, one, found, greedy = np.random.default_rng(4), Graph().one, 0, 0
    for _ in range(300):
        size = shake.integers(1, 10)
        joined = shake.random((size, size)) < shake.uniform(0.1, 1.0)
        joined = joined | joined.T | np.eye(size, dtype=bool)
        rows = [{j: one for j in range(size) if joined[i, j]} for i in range(size)]
        order = symmetric_order(rows)
        assert sorted(order) == list(range(size))
        found, greedy = found + filled(joined, order), greedy + filled(joined, greedy_order(joined))
    assert 0 < found <= 1.05 * greedy


def test_a_chain_is_eaten_from_both_ends_without_fill():
    n = 40
    graph = Graph()
    rows = [{j: graph.input(f"a{min(i, j)}_{max(i, j)}") for j in (i - 1, i, i + 1) if 0 <= j < n} for i in range(n)]
    order = symmetric_order(rows)
    assert sorted(order) == list(range(n))
    depth, place = {}, {i: k for k, i in enumerate(order)}
    for i in order:
        depth[i] = 1 + max((depth[j] for j in (i - 1, i + 1) if j in place and place[j] < place[i]), default=0)
    assert max(depth.values()) <= n // 2 + 1
    factor = factor_symmetric(rows, graph)
    assert sum(len(column) for column in factor.columns) == n - 1  # no fill


def test_the_cost_of_a_band_grows_with_its_length_only():
    def cost(n):
        graph = Graph()
        rows = [
            {j: graph.input(f"a{min(i, j)}_{max(i, j)}") for j in (i - 1, i, i + 1) if 0 <= j < n} for i in range(n)
        ]
        return operation_count(factor_symmetric(rows, graph).solve([graph.input(f"b{i}") for i in range(n)]))

    assert cost(80) < 2.1 * cost(40)


def test_products_and_transposes_are_those_of_numpy():
    a, b = np.array([[1.0, 0, 2], [0, 3, 0]]), np.array([[0, 1.0], [4, 0], [0, 5.0]])
    graph = Graph()

    def rows(matrix):
        return [{j: graph.const(int(v)) for j, v in enumerate(row) if v} for row in matrix]

    def dense(matrix, columns):
        return [[float(row[j].data) if j in row else 0.0 for j in range(columns)] for row in matrix]

    assert dense(product(rows(a), rows(b)), 2) == (a @ b).tolist()
    assert dense(transposed(rows(a), 3), 2) == a.T.tolist()
    vector = [graph.const(k) for k in (1, 2, 3)]
    assert [float(node.data) for node in times(rows(a), vector, graph)] == (a @ [1, 2, 3]).tolist()


@pytest.mark.parametrize("kind", ["definite", "indefinite", "with zeros", "singular"])
def test_constants_eliminated_in_whole_numbers_are_those_of_fractions(kind):
    size, shake = DENSE + 4, random.Random(5)
    values = [[Fraction(shake.randrange(-9, 10), shake.randrange(1, 7)) for _ in range(size)] for _ in range(size)]
    for i in range(size):
        for j in range(i):
            values[i][j] = values[j][i] = Fraction(0) if kind == "with zeros" and (i + j) % 3 == 0 else values[j][i]
        values[i][i] += 60 if kind != "indefinite" else 0
    if kind == "singular":
        values[0] = [Fraction(0)] * size
        for row in values:
            row[0] = Fraction(0)
    graph = Graph()
    columns = [{r: graph.const(values[r][k]) for r in range(k, size) if values[r][k]} for k in range(size)]
    found = _constant_elimination([dict(column) for column in columns], graph)
    if kind == "singular":
        assert found is None
        return
    for one, other in zip(found, _elimination([dict(column) for column in columns], graph), strict=True):
        assert [_without_zeros(part) for part in one] == [_without_zeros(part) for part in other]


def _without_zeros(part):
    return {r: node for r, node in part.items() if not node.is_zero} if isinstance(part, dict) else part


def test_an_entry_whose_mirror_image_is_plainly_zero_is_zero():
    """The graph may see of one of the two alone that its terms cancel."""
    graph = Graph()
    a, b, c = (graph.input(name) for name in "abc")
    hidden = a * (b * c) - b * (a * c)
    assert not hidden.is_zero
    for rows in ([{0: a}, {0: hidden, 1: b}], [{0: a, 1: hidden}, {1: b}]):
        solved = factor_symmetric(rows, graph).solve([c, c])
        assert Tape((a, b, c), tuple(solved))([2.0, 4.0, 3.0]) == [1.5, 0.75]
