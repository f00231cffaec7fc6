"""Elimination as statements: the solutions are NumPy's, whatever the pattern and the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from holdfast.graph.evaluate import Tape
from holdfast.graph.linear_algebra import (
    factor_general,
    factor_symmetric,
    pivot_order,
    product,
    symmetric_order,
    times,
    transposed,
)
from holdfast.graph.nodes import Graph, operation_count


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
        pivots = Tape(inputs, factor.pivots)([*numbers, *b])
        assert np.prod(pivots) == pytest.approx(np.linalg.det(matrix), rel=1e-9)
        assert min(pivots) > 0


@settings(max_examples=60)
@given(sparse(symmetric=False), st.randoms(use_true_random=False))
def test_general_elimination_solves_with_chosen_pivots(matrix, shake):
    if np.linalg.cond(matrix) > 1e6:
        return
    graph, rows, right, inputs, numbers = as_nodes(matrix)
    b = np.array([shake.uniform(-1, 1) for _ in right])
    order = pivot_order([{j: matrix[i, j] for j in row} for i, row in enumerate(rows)])
    assert not order.rows_left
    x = Tape(inputs, tuple(factor_general(rows, graph, order).solve(right)))([*numbers, *b])
    assert_allclose(x, np.linalg.solve(matrix, b), rtol=1e-7, atol=1e-8)


def test_a_missing_pivot_is_told_by_row_and_column():
    order = pivot_order([{0: 1.0, 1: 2.0}, {0: 2.0, 1: 4.0}])
    assert len(order.places) == 1
    assert len(order.rows_left) == len(order.columns_left) == 1


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
