"""Balls with bounds of rounding: over a box, with operands that are wrong already, nothing true lies beyond them."""

import math
from fractions import Fraction
from itertools import product

import flint
import pytest

from holdfast.graph.arithmetics.balls import ball, ball_between, precision
from holdfast.graph.arithmetics.rounded_balls import FUNCTION, LIBRARY, QUOTIENT, UNIT, rounded_balls, rounded_constant

DOUBLED = {  # operands, and what doubles do
    "add": [(1.5, 2.0), (-1.5, 2.0), (1.5, -1.5)], "sub": [(1.5, 2.0), (-1.5, -2.0), (1.5, 1.5)],
    "mul": [(1.5, 2.0), (-1.5, 2.0), (0.0, 2.0), (0.0, 0.0)], "div": [(1.5, 2.0), (1.5, -2.0), (0.0, 2.0)],
    "neg": [(1.5,), (-1.5,)], "sqrt": [(1.5,), (0.4,)], "exp": [(1.5,), (-1.5,)], "log": [(1.5,), (0.4,)],
    "sin": [(0.0,), (1.5,), (-3.0,)], "cos": [(0.0,), (1.5,), (-3.0,)], "tan": [(0.0,), (0.9,), (-0.9,)],
    "asin": [(0.0,), (0.6,), (-0.6,)], "acos": [(0.0,), (0.6,), (-0.6,)], "atan": [(0.0,), (1.5,), (-1.5,)],
    "sinh": [(0.0,), (1.5,), (-1.5,)], "cosh": [(0.0,), (1.5,), (-1.5,)], "tanh": [(0.0,), (1.5,), (-1.5,)],
    "abs": [(1.5,), (-1.5,), (0.0,)], "sign": [(1.5,), (-1.5,)], "min": [(1.5, 2.0), (1.5, 1.5)],
    "max": [(1.5, 2.0), (1.5, 1.5)], "pow": [(1.5, 2.0), (0.5, -1.5), (1.0, 40.5), (1.0, -40.5)],
    "atan2": [(1.5, 2.0), (-1.5, 2.0), (1.5, -2.0), (-1.5, -2.0), (2.0, 0.0), (-2.0, 0.0)],
    "select": [(1.5, 2.0, -1.0), (-1.5, 2.0, -1.0)],
}  # fmt: skip
CASES = [(op, middles) for op, places in DOUBLED.items() for middles in places]
ROUNDING = {"div": QUOTIENT, **dict.fromkeys(("add", "sub", "mul", "sqrt"), UNIT)}
ROUNDING |= dict.fromkeys(("exp", "log", "sin", "cos"), FUNCTION)
ROUNDING |= dict.fromkeys("tan asin acos atan sinh cosh tanh pow atan2".split(), LIBRARY)


def true(op, *args):
    x, *rest = args
    if op in ("add", "sub", "mul", "div", "pow"):
        return {"add": x + rest[0], "sub": x - rest[0], "mul": x * rest[0], "div": x / rest[0], "pow": x ** rest[0]}[op]
    if op == "atan2":
        return flint.arb.atan2(x, rest[0])
    if op in ("min", "max"):
        return getattr(x, op)(rest[0])
    if op == "select":
        return rest[0] if x > 0 else rest[1]
    if op == "sign":
        return flint.arb(1 if x > 0 else -1)
    return -x if op == "neg" else abs(x) if op == "abs" else getattr(x, op)()


@pytest.mark.parametrize("spread", [0.0, 0.1])
@pytest.mark.parametrize("wrong", [0.0, 1e-9, 0.05])
@pytest.mark.parametrize(("op", "middles"), CASES)
def test_over_a_box_values_and_errors_hold_all_that_is_true(op, middles, wrong, spread):
    with precision(120):
        operands = [(ball_between(x - spread, x + spread), ball(wrong)) for x in middles]
        value, error = rounded_balls().functions[op](*operands)
        signs = list(product((-1, 0, 1), repeat=len(middles)))
        for place in signs:
            exact = [ball(x) + ball(spread) * a for x, a in zip(middles, place, strict=True)]
            truth = true(op, *exact)
            assert value.contains(truth.mid())
            for way in signs:
                moved = true(op, *(x + ball(wrong) * b for x, b in zip(exact, way, strict=True)))
                own = abs(moved) * ball(ROUNDING.get(op, 0.0)) * ball(1 - 1e-6)
                assert not abs(moved - truth) + own > error
                assert error.is_finite()


@pytest.mark.parametrize(
    ("op", "proved", "taken"),
    [("sin", 2.0**30, 2.0**30 + 1), ("cos", -(2.0**30), -1e13), ("exp", 707.0, 709.0), ("log", 1e-307, 1e-309)],
)
def test_where_a_run_asks_the_system_its_unit_counts(op, proved, taken):
    """Ours is proved up to there; a box that reaches beyond counts as if all of it did."""
    with precision(120):
        for operand, unit in ((ball(proved), FUNCTION), (ball(taken), LIBRARY), (ball_between(taken, proved), LIBRARY)):
            value, error = rounded_balls().functions[op]((operand, ball(0)))
            assert float(error) == pytest.approx(float(abs(value).upper()) * unit, rel=1e-6)


def test_a_power_has_no_bound_where_doubles_may_make_its_base_0():
    with precision(120):
        _, error = rounded_balls().functions["pow"]((ball(1e-9), ball(2e-9)), (ball(2.5), ball(0)))
        assert not error.is_finite()


@pytest.mark.parametrize(("op", "middles"), CASES)
def test_errors_are_about_as_large_as_what_they_bound(op, middles):
    with precision(120):
        wrong = 1e-9
        _, error = rounded_balls().functions[op](*((ball(x), ball(wrong)) for x in middles))
        truth, worst = true(op, *map(ball, middles)), 0.0
        for way in product((-1, 1), repeat=len(middles)):
            moved = true(op, *(ball(x) + ball(wrong) * b for x, b in zip(middles, way, strict=True)))
            worst = max(worst, float(abs(moved - truth).mid()))
        assert float(error) <= 4 * worst + 1e-14 + 2 * wrong * (op in ("sin", "cos", "tanh", "atan", "asin", "acos"))


@pytest.mark.parametrize("exponent", [2, 3, 5, 8, 13])
def test_a_power_rounds_once_for_each_product(exponent):
    """By repeated squaring: as many products as bits and ones, and what is wrong already counts n times."""
    with precision(120):
        value, error = rounded_balls().functions["power"]((ball(1.5), ball(0)), exponent)
        assert value == ball(1.5) ** exponent
        assert float(error) / float(value) >= UNIT * math.floor(math.log2(exponent))
        assert float(error) / float(value) <= UNIT * (2 * exponent)
        _, carried = rounded_balls().functions["power"]((ball(1.5), ball(1e-9)), exponent)
        true_change = (1.5 + 1e-9) ** exponent - 1.5**exponent
        assert 0.999 * true_change <= float(carried) <= 1.01 * true_change


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("div", ((1.0, 0.0, 0.0), (0.0, 0.5, 0.0))),  # middle, spread, error
        ("div", ((1.0, 0.0, 0.0), (0.5, 0.3, 0.2))),
        ("div", ((1.0, 0.0, 0.0), (-0.5, 0.3, 0.2))),
        ("sqrt", ((0.5, 0.3, 0.3),)),
        ("log", ((0.5, 0.3, 0.3),)),
        ("asin", ((0.5, 0.3, 0.3),)),
        ("acos", ((-0.5, 0.3, 0.3),)),
        ("tan", ((math.pi / 2, 0.1, 0.0),)),
        ("tan", ((1.4, 0.1, 0.1),)),
        ("pow", ((0.0, 0.1, 1e-9), (0.5, 0.0, 0.0))),
    ],
)
def test_where_a_double_may_be_anything_no_error_is_finite(op, operands):
    with precision(120):
        boxes = [(ball_between(x - s, x + s), ball(e)) for x, s, e in operands]
        value, error = rounded_balls().functions[op](*boxes)
        assert not (value.is_finite() and error.is_finite())


def test_a_divisor_that_stays_clear_of_zero_has_a_bound():
    with precision(120):
        for low, high in ((0.3, 0.7), (-0.7, -0.3)):
            _, error = rounded_balls().functions["div"]((ball(1), ball(0)), (ball_between(low, high), ball(0.2)))
            assert 1 / 0.1 - 1 / 0.3 <= float(error) < 100


@pytest.mark.parametrize(
    ("middle", "wrong", "decided"), [(1.0, 0.5, True), (-1.0, 0.5, True), (0.3, 0.5, False), (-0.3, 0.5, False)]
)
def test_a_branch_that_rounding_may_turn_counts_as_a_jump(middle, wrong, decided):
    with precision(120):
        f = rounded_balls().functions
        condition = (ball(middle), ball(wrong))
        _, error = f["sign"](condition)
        assert float(error) == (0.0 if decided else 2.0)
        value, error = f["select"](condition, (ball(5), ball(1e-9)), (ball(1), ball(1e-3)))
        if decided:
            assert (value, float(error)) == ((ball(5), 1e-9) if middle > 0 else (ball(1), 1e-3))
        else:
            assert value.contains(5)
            assert value.contains(1)
            assert float(error) >= 4 + 1e-3


def test_numbers_that_are_no_doubles_are_rounded_once():
    with precision(120):
        for value in (Fraction(1, 3), Fraction(10**30 + 1), Fraction(10**400), Fraction(-1, 10)):
            _, error = rounded_constant(value)
            assert error >= ball(abs(value)) * ball(UNIT) * ball(1 - 1e-9)
        for value in (Fraction(0), Fraction(1, 2), Fraction(-3), Fraction(2**60)):
            assert rounded_constant(value) == (ball(value), ball(0))
        value, error = rounded_balls().pi()
        assert value.contains(flint.arb.pi())
        assert float(error) >= abs(math.pi * UNIT)
