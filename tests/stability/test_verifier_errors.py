"""Large errors through the operations of the verifier: at the corners, where products of errors count."""

import itertools
import math

import flint
import numpy as np
import pytest

from holdfast.stability.verifier.numbers.forms import Form
from holdfast.stability.verifier.reading.code import Code, Rounded, add, mul
from tests.stability.test_verifier_code import CHOSEN, ONE, TWO

SHARES = (0.0, 0.02, 0.2)  # of 1: how wrong the inputs are


def number(value, error):
    c = np.zeros((1, CHOSEN.size, 1))
    c[:, 0, 0] = value
    return Rounded(Form(CHOSEN, c, np.zeros((1, 1))), np.array([error]))


def bound(op, values, errors):
    inputs = {name: number(*pair) for name, pair in zip("xy", zip(values, errors, strict=True), strict=True)}
    operation = (op, 0, 1) if op in TWO else (op, 0)
    (made,) = Code(("x", "y"), (operation,), (2,)).rounded(inputs)
    return float(made.error[0])


PLACES = [(op, (x, 1.0)) for op, (places, *_) in ONE.items() for x in places if op != "sign"]
PLACES += [(op, place) for op, (places, *_) in TWO.items() for place in places]


@pytest.mark.parametrize(("op", "values"), PLACES)
def test_an_error_bound_holds_at_every_corner_of_wrong_inputs(op, values):
    _, exact, double = (TWO if op in TWO else ONE)[op]
    used = values if op in TWO else values[:1]
    for errors in itertools.product(SHARES, repeat=2):
        allowed = bound(op, values, errors)
        if not math.isfinite(allowed):
            continue  # nothing is promised
        true = float(exact(*map(flint.arb, used)))
        for signs in itertools.product((-1, 1), repeat=len(used)):
            wrong = [x + sign * e for x, sign, e in zip(used, signs, errors, strict=False)]
            assert abs(double(*wrong) - true) <= allowed + 1e-14 * abs(true)


@pytest.mark.parametrize(("op", "values"), PLACES)
def test_small_errors_are_bounded(op, values):
    assert math.isfinite(bound(op, values, (1e-9, 1e-9)))


def test_products_and_sums_of_errors_are_exact_to_a_rounding():
    a, b = number(1.5, 0.5), number(-2.0, 0.25)
    assert mul(a, b).error[0] == pytest.approx(1.5 * 0.25 + 2 * 0.5 + 0.5 * 0.25, rel=1e-9)
    assert add(a, b).error[0] == pytest.approx(0.75, rel=1e-9)
    assert mul(a, a).error[0] == pytest.approx(2 * 1.5 * 0.5 + 0.25, rel=1e-9)
    exact = mul(number(1.5, 0.0), number(-2.0, 0.0))
    assert exact.error[0] == pytest.approx(3 * 2.0**-51, rel=1e-6)  # one rounding of the result
