"""Floats answer as the machine does; balls take both branches; series refuse what they cannot decide."""

import math
import threading
from fractions import Fraction

import flint
import pytest

from holdfast.errors import Undecided
from holdfast.graph.arithmetics.arrays import ARRAYS
from holdfast.graph.arithmetics.balls import ball, ball_series, balls, precision
from holdfast.graph.arithmetics.every import ALL_ARITHMETICS
from holdfast.graph.arithmetics.floats import FLOATS, float_power
from holdfast.graph.arithmetics.tape import UNWRITTEN, Tape
from holdfast.graph.nodes import Graph

f = FLOATS.functions
nan, inf = math.nan, math.inf


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        ("div", (1.0, 0.0), inf),
        ("div", (-1.0, 0.0), -inf),
        ("div", (1.0, -0.0), -inf),
        ("div", (0.0, 0.0), nan),
        ("sqrt", (-1.0,), nan),
        ("log", (0.0,), -inf),
        ("log", (-1.0,), nan),
        ("exp", (1e4,), inf),
        ("sinh", (-1e4,), -inf),
        ("cosh", (-1e4,), inf),
        ("asin", (2.0,), nan),
        ("sin", (inf,), nan),
        ("pow", (-8.0, 1 / 3), nan),
        ("pow", (0.0, -1.0), inf),
        ("pow", (-2.0, 3.0), -8.0),
        ("pow", (1e200, 2.5), inf),
        ("pow", (1e200, 3.0), inf),
        ("pow", (-1e200, 3.0), -inf),
        ("pow", (-1e200, 2.0), inf),
        ("pow", (0.0, -3.0), inf),
        ("pow", (-0.0, -3.0), -inf),
        ("pow", (-0.0, -2.0), inf),
        ("pow", (2.0, inf), inf),
        ("min", (nan, 1.0), nan),
        ("max", (1.0, nan), nan),
        ("min", (1.0, 2.0), 1.0),
        ("sign", (-3.0,), -1.0),
        ("sign", (0.0,), 0.0),
        ("sign", (nan,), nan),
        ("select", (0.0, 1.0, 2.0), 2.0),
        ("select", (1e-300, 1.0, 2.0), 1.0),
        ("select", (nan, 1.0, 2.0), 2.0),
    ],
)
def test_floats_give_nan_and_inf_where_python_would_raise(op, operands, expected):
    value = f[op](*operands)
    assert (value == expected) or (math.isnan(value) and math.isnan(expected))


@pytest.mark.parametrize("exponent", [2, 3, 5, 7, 13, 30])
def test_whole_powers_multiply_lowest_bit_first(exponent):
    result, base, left = 1.0, 1.1, exponent
    while left:
        if left & 1:
            result *= base
        base, left = base * base, left >> 1
    assert float_power(1.1, exponent) == result


def test_undecided_branches_of_balls_contain_both_sides():
    b = balls().functions
    around = flint.arb(0, 1)
    one, two = flint.arb(1), flint.arb(2)
    assert b["select"](around, one, two).contains(one)
    assert b["select"](around, one, two).contains(two)
    assert b["sign"](around).contains(flint.arb(-1))
    assert b["sign"](around).contains(flint.arb(1))
    assert b["abs"](flint.arb(-1, 2)).contains(flint.arb(3))
    assert b["min"](flint.arb(0, 2), one).contains(flint.arb(-2))
    assert b["select"](flint.arb(2, 1) / 4, one, two) == one


@pytest.mark.parametrize("op", ["abs", "sign"])
def test_series_refuse_a_corner_inside_the_box(op):
    with precision(80, 4):
        around = flint.arb_series([flint.arb(0, 1), 1])
        with pytest.raises(Undecided):
            ball_series().functions[op](around)


@pytest.mark.parametrize(
    ("op", "head"), [("sqrt", (0, 1)), ("log", (0, 1)), ("div", (0, 1)), ("pow", (0, 1))], ids=lambda x: str(x)
)
def test_series_at_a_pole_are_refused_or_not_finite(op, head):
    with precision(80, 4):
        around = flint.arb_series([flint.arb(*head), 1])
        operands = {"div": (flint.arb_series([1]), around), "pow": (around, flint.arb("0.3"))}.get(op, (around,))
        try:
            value = ball_series().functions[op](*operands)
        except Undecided:
            return
        assert not all(value[k].is_finite() for k in range(4))


def test_series_of_an_angle_turn_with_it():
    """atan2(sin s, cos s) = s in every quadrant, beyond the cut of a quotient."""
    with precision(120, 6):
        for start in (0.5, 1.5, 2.5, -2.5, -1.6):
            s = flint.arb_series([ball(start), 1])
            angle = ball_series().functions["atan2"](s.sin(), s.cos())
            for k, expected in enumerate((start, 1, 0, 0, 0)):
                assert angle[k].overlaps(flint.arb(expected)), (start, k, angle)


def test_hyperbolic_series_are_those_of_flint_numbers():
    with precision(120, 5):
        for name in ("sinh", "cosh", "tanh"):
            series = ball_series().functions[name](flint.arb_series([ball(0.7), 1]))
            assert series[0].overlaps(getattr(ball(0.7), name)())
        slope = ball_series().functions["tanh"](flint.arb_series([ball(0.7), 1]))[1]
        assert slope.overlaps(1 - ball(0.7).tanh() ** 2)


def test_precision_is_set_inside_and_restored_after():
    before = flint.ctx.prec, flint.ctx.cap
    with precision(333, 7):
        assert (flint.ctx.prec, flint.ctx.cap) == (333, 7)
        with precision(99):
            assert flint.ctx.prec == 99
        assert flint.ctx.prec == 333
    assert (flint.ctx.prec, flint.ctx.cap) == before
    with pytest.raises(ZeroDivisionError), precision(64):
        raise ZeroDivisionError
    assert (flint.ctx.prec, flint.ctx.cap) == before


def test_one_thread_at_a_time_uses_balls():
    seen = []

    def work(bits):
        for _ in range(50):
            with precision(bits):
                seen.append(flint.ctx.prec == bits)

    threads = [threading.Thread(target=work, args=(bits,)) for bits in (64, 128, 256)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 150
    assert all(seen)


def test_constants_are_exact_until_the_arithmetic_takes_them():
    with precision(200):
        assert balls().constant(Fraction(1, 3)).contains(flint.arb(flint.fmpq(1, 3)))
    assert FLOATS.constant(Fraction(1, 10)) == 0.1


@pytest.mark.parametrize("sign", [1, -1])
def test_constants_beyond_doubles_are_infinite(sign):
    for arithmetic in (FLOATS, ARRAYS):
        assert float(arithmetic.constant(Fraction(sign * 10**400))) == sign * inf


@pytest.mark.parametrize("name", ALL_ARITHMETICS)
def test_a_tape_says_the_same_looked_up_and_written_out(name):
    graph, arithmetic = Graph(), ALL_ARITHMETICS[name]()
    a, b = graph.input("a"), graph.input("b")
    chosen = graph.select(a - b, graph.call("sin", a), a / b)
    nodes = (chosen, -(a**3) + graph.const(Fraction(1, 3)) * graph.call("sqrt", b), a, graph.const(Fraction(2)))
    evaluate = Tape((a, b), nodes).compiled(arithmetic)
    given = [arithmetic.constant(Fraction(3, 4)), arithmetic.constant(Fraction(1, 2))]
    told = [[str(x) for x in evaluate(given)] for _ in range(UNWRITTEN + 1)]
    assert told[0] == told[-1]
