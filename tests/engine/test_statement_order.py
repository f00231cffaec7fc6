"""Statements in the order of how much waits for them, or of how few values are held: another order, the same values."""

from collections import Counter

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.code.kernel_source import stepping
from holdfast.engine.emit.body import CodeBody, lowered
from holdfast.engine.emit.order.few_held import few_held, ordered_for_lanes, values_held
from holdfast.engine.emit.order.staggered import separable, staggered
from holdfast.engine.emit.python import python_functions
from holdfast.graph.nodes import Graph
from tests.engine import fields


def bodies():
    for make in (fields.pendulum, fields.forced_oscillator, fields.blow_up, fields.losing_rank):
        yield pytest.param(stepping(make(), hf.RK4).bodies["rates"], id=make.__name__)
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + 3 * y.rate**2) / 2, potential=9 * y)
    program = hf.Program(holonomic={"rod": x**2 + y**2 - 1}, law=hf.SpringDamper(stiffness=4, damping=4))
    equations = hf.derive(hf.Problem(system, program, start={x: 1.0}))
    yield pytest.param(stepping(equations.field, hf.RK4).bodies["rates"], id="rod")


def values(body, seed=0):
    random = np.random.default_rng(seed)
    x, p, out = random.uniform(0.5, 1.5, body.states), random.uniform(0.5, 1.5, body.parameters), {}
    python_functions({"rates": body}, (), {})["rates"](0.3, x.tolist(), p.tolist(), out, [])
    return out


ORDERS = pytest.mark.parametrize("ordered", [lambda body: body.urgent_first, few_held], ids=["urgent", "few held"])


@ORDERS
@pytest.mark.parametrize("body", list(bodies()))
def test_the_order_changes_no_bit(body, ordered):
    other = ordered(body)
    assert Counter(op for op, _ in other.statements) == Counter(op for op, _ in body.statements)
    assert values(other) == values(body)


@ORDERS
@pytest.mark.parametrize("body", list(bodies()))
def test_each_statement_comes_after_those_it_uses(body, ordered):
    for number, (_, operands) in enumerate(ordered(body).statements, start=body.inputs):
        assert all(isinstance(operand, float) or operand < number for operand in operands)


def test_what_the_longest_chain_waits_for_comes_first():
    g = Graph()
    t, x, y = (g.input(name) for name in "txy")
    side = [x * (k + 2) + y for k in range(5)]
    chain = y
    for _ in range(4):
        chain = x / (chain + 1)
    body = lowered(dict(enumerate((*side, chain))), t, (x, y), ())
    places = {op: k for k, (op, _) in reversed(list(enumerate(body.urgent_first.statements)))}
    assert body.statements[0][0] != "div"
    assert places["add"] == 0
    assert places["div"] == 1


def test_lanes_hold_fewer_values_where_registers_do_not_hold_all():
    body = stepping(fields.chain(10)[0], hf.RK4).bodies["rates"]
    assert values_held(ordered_for_lanes(body)) < values_held(body.urgent_first) - 10
    small = stepping(fields.pendulum(), hf.RK4).bodies["rates"]
    assert ordered_for_lanes(small) is small.urgent_first


def test_parts_of_lanes_stand_half_a_body_apart_each_in_its_own_order():
    turns = staggered(10, 2)
    assert [number for part, number in turns if part == 0] == list(range(10))
    assert [number for part, number in turns if part == 1] == list(range(10))
    assert turns[:7] == [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 0)]


def test_lanes_are_not_taken_apart_where_functions_are_called():
    g = Graph()
    t, x = g.input("t"), g.input("x")
    assert separable(lowered({0: x * x + 1}, t, (x,), ()))
    assert not separable(lowered({0: g.call("sin", x)}, t, (x,), ()))


def test_a_body_without_statements_stays():
    empty = CodeBody(1, 0, (), ((0, 1),))
    assert empty.urgent_first.outputs == ((0, 1),)
