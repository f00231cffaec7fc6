"""Signs and powers of two moved outwards: less to compute, and the same values to the last bit."""

from fractions import Fraction

import numpy as np
import pytest

from holdfast.engine.emit.body import lowered
from holdfast.errors import InternalError
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.factored import factored
from holdfast.graph.nodes import Graph, Node, ancestors, operation_count


def made(build):
    graph = Graph()
    x, y, z = (graph.input(name) for name in "xyz")
    outputs = build(graph, x, y, z)
    return outputs, (x, y, z)


def both(build):
    outputs, inputs = made(build)
    results, leaves = as_nodes(outputs, inputs)
    return Tape(inputs, tuple(outputs)), Tape(tuple(leaves), tuple(results)), results


def as_nodes(outputs, inputs):
    """What is factored, as nodes of a graph, operation by operation."""
    cores, results, leaves = factored(outputs, inputs)
    graph = Graph()
    graph.clear()
    for number, (op, args, data) in enumerate(zip(cores.ops, cores.args, cores.data, strict=True)):
        graph.nodes.append(Node(graph, number, op, tuple(graph.nodes[arg] for arg in args), data))
    return [graph.nodes[core] for core in results], [graph.nodes[core] for core in leaves]


CASES = {
    "differences": lambda g, x, y, z: [(x - y) * z, (y - x) * z, (x - y) * (y - x)],
    "halves": lambda g, x, y, z: [(2 * x * z + 2 * y * z) / 2, (x * x - z) / 2 + x * z],
    "cancelled": lambda g, x, y, z: [(x - y) * z + (y - x) * z + x, z * ((x - y) + (y - x))],
    "doubled": lambda g, x, y, z: [(x - y) * z - (y - x) * z, x * y + x * y],
    "powers": lambda g, x, y, z: [(2 * x) ** 2 * y, (-(4 * x)) ** 3, (x - y) ** 5 + (y - x) ** 5],
    "quotients": lambda g, x, y, z: [z / (2 * x), (x - y) / (4 * z), 1 / (y - x) + 1 / (x - y)],
    "constants": lambda g, x, y, z: [2 * x + 1, 4 * x - Fraction(1, 3) * z * 3, 3 - 8 * (x - y), -(2 * x) - 2 * y],
    "odd and even": lambda g, x, y, z: [
        g.call("sin", x - y) + g.call("sin", y - x) + z,
        g.call("cos", x - y) * g.call("cos", y - x),
        g.call("abs", 2 * (y - x)) + g.call("abs", x - y),
        g.call("tanh", -(2 * x)),
    ],
    "branches": lambda g, x, y, z: [
        g.call("min", 2 * x, y - x),
        g.call("atan2", y - x, x - y + 1),
        g.select(x - y, 2 * z, -z),
        g.call("sqrt", 4 * x),
    ],
}


@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_no_bit_changes(build):
    before, after, _ = both(build)
    random = np.random.default_rng(3)
    for row in random.uniform(0.1, 2.0, (50, 3)).tolist():
        assert list(after(row)) == list(before(row))


@pytest.mark.parametrize("build", CASES.values(), ids=CASES)
def test_nothing_becomes_longer(build):
    outputs, inputs = made(build)
    results, _ = as_nodes(outputs, inputs)
    assert operation_count(results) <= operation_count(outputs) + len(outputs)


def test_two_differences_are_one():
    _, _, results = both(lambda g, x, y, z: [(x - y) * z, (y - x) * z])
    assert sorted(node.op for node in ancestors(results) if node.args) == ["mul", "neg", "sub"]


def test_factors_that_cancel_are_gone():
    (outputs, inputs) = made(lambda g, x, y, z: [Fraction(1, 2) * z * (2 * x * y + 2 * x * z)])
    body = lowered(dict(enumerate(outputs)), inputs[0].graph.input("t"), inputs, ())
    assert [op for op, _ in body.statements] == ["mul", "fma", "mul"]


def test_what_cancels_is_zero():
    _, _, results = both(lambda g, x, y, z: [(x - y) * z + (y - x) * z])
    assert results[0].is_zero


def test_large_factors_stay_where_they_are():
    outputs, inputs = made(lambda g, x, y, z: [((x * 2**40) * (y * 2**40)) * 2**40, x * 2**200])
    results, leaves = as_nodes(outputs, inputs)
    row = [1.5, 2.5, 1.0]
    assert list(Tape(tuple(leaves), tuple(results))(row)) == list(Tape(inputs, tuple(outputs))(row))


def test_of_two_products_the_later_one_is_fused():
    graph = Graph()
    t, x, y = (graph.input(name) for name in "txy")
    late = 1 / (1 + x) * y
    body = lowered({0: x * y + late * x}, t, (x, y), ())
    op, operands = body.statements[-1]
    assert op == "fma"
    assert body.statements[operands[2] - body.inputs] == ("mul", (1, 2))  # the early product is added


def test_nodes_of_another_graph_are_never_read_by_their_numbers():
    """Both graphs number x alike, and x·y of the one is x − y of the other."""
    (product,), _ = made(lambda g, x, y, z: [x * y])
    _, inputs = made(lambda g, x, y, z: [x - y])
    with pytest.raises(InternalError, match="another"):
        factored([product], inputs)
