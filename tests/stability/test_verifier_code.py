"""The verifier's view of the code that is run: over a cell, its forms hold the exact values and its errors the doubles.

Every operation at random points of random cells: exactly, in 300 bits, and as doubles do it from inputs that are
already wrong.
"""

import math

import flint
import numpy as np
import pytest

from holdfast.stability.verifier.numbers.forms import Form, space
from holdfast.stability.verifier.reading.code import ARITY, FUNCTION, LIBRARY, Code, Rounded, function_unit
from holdfast.stability.verifier.rounding.slopes import CodeSlopes

CELLS, POINTS = 24, 25
CHOSEN = space((1, 1), 1, 1)


@pytest.fixture(autouse=True)
def many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


def grown(x, sign):
    return (x.exp() + sign * (-x).exp()) / 2


def angle(y, x):
    return flint.arb.atan2(y, x)


# by operation: the middles of x and y, the exact value, and what doubles do
ONE = {
    "neg": ((1.5, -1.5, 0.0), lambda x: -x, lambda x: -x),
    "sqrt": ((1.5, 0.3), lambda x: x.sqrt(), math.sqrt),
    "exp": ((1.5, -1.5, 0.0), lambda x: x.exp(), math.exp),
    "log": ((1.5, 0.4), lambda x: x.log(), math.log),
    "sin": ((1.5, -1.5, 0.0, 4.7), lambda x: x.sin(), math.sin),
    "cos": ((3.1, -3.1, 0.0, 1.5), lambda x: x.cos(), math.cos),
    "tan": ((0.5, -0.5, 0.0), lambda x: x.tan(), math.tan),
    "asin": ((0.4, -0.4, 0.0), lambda x: x.asin(), math.asin),
    "acos": ((0.4, -0.4, 0.0), lambda x: x.acos(), math.acos),
    "atan": ((1.5, -1.5, 0.0), lambda x: x.atan(), math.atan),
    "sinh": ((1.5, -1.5, 0.0), lambda x: grown(x, -1), math.sinh),
    "cosh": ((1.5, -1.5, 0.0), lambda x: grown(x, 1), math.cosh),
    "tanh": ((1.5, -1.5, 0.0), lambda x: grown(x, -1) / grown(x, 1), math.tanh),
    "abs": ((1.5, -1.5), lambda x: abs(x), abs),
    "sign": ((1.5, -1.5), lambda x: flint.arb(1 if x > 0 else -1), lambda x: math.copysign(1.0, x)),
}
BOTH = ((1.5, 2.0), (-1.5, 2.0), (1.5, -2.0), (-1.5, -2.0), (0.0, 2.0))
TWO = {
    "add": (BOTH, lambda x, y: x + y, lambda x, y: x + y),
    "sub": (BOTH, lambda x, y: x - y, lambda x, y: x - y),
    "mul": ((*BOTH, (2.0, 0.0), (0.0, 0.0)), lambda x, y: x * y, lambda x, y: x * y),
    "div": (BOTH, lambda x, y: x / y, lambda x, y: x / y),
    "pow": (((1.5, 2.0), (0.5, -1.5)), lambda x, y: x**y, lambda x, y: x**y),
    "min": (((0.5, 2.0), (2.0, 0.5), (-1.5, 0.5)), lambda x, y: x.min(y), min),
    "max": (((0.5, 2.0), (2.0, 0.5), (-1.5, 0.5)), lambda x, y: x.max(y), max),
    "atan2": (((1.5, 2.0), (-1.5, 2.0), (1.5, -2.0), (-1.5, -2.0), (2.0, 0.0), (-2.0, 0.0)), angle, math.atan2),
}
CASES = [(op, (x, 1.0), ((op, 0),), exact, double) for op, (places, exact, double) in ONE.items() for x in places]
CASES += [(op, place, ((op, 0, 1),), exact, double) for op, (places, exact, double) in TWO.items() for place in places]
CASES += [
    (f"power {n}", (x, 1.0), (("power", 0, n),), lambda x, n=n: x**n, lambda x, n=n: x**n)
    for n in (2, 3, 4, 5)
    for x in (1.5, -1.5, 0.0)
]
CASES += [("square", (x, 1.0), (("mul", 0, 0),), lambda x: x * x, lambda x: x * x) for x in (1.5, -1.5, 0.0, -0.6, 0.1)]
CASES += [
    ("select", (x, 2.0), (("select", 0, 1, 0),), lambda x, y: y if x > 0 else x, lambda x, y: y if x > 0 else x)
    for x in (1.5, -1.5)
]


def random_input(rng, middle):
    """A value over cells, and errors that doubles already have."""
    c = np.zeros((CELLS, CHOSEN.size, 1))
    c[:, 0, 0] = middle + 0.05 * rng.normal(size=CELLS)
    for place in CHOSEN.linear:
        c[:, place, 0] = rng.uniform(-0.1, 0.1, CELLS)
    errors = 10.0 ** rng.uniform(-13, -6, CELLS) * (np.arange(CELLS) % 3 > 0)  # a third of them exact
    return Rounded(Form(CHOSEN, c, rng.uniform(1e-4, 1e-3, (CELLS, 1))), errors)


def polynomial(form, cell, point):
    total = flint.arb(float(form.c[cell, 0, 0]))
    for place, x in zip(CHOSEN.linear, point, strict=True):
        total += flint.arb(float(form.c[cell, place, 0])) * flint.arb(float(x))
    return total


@pytest.mark.parametrize(
    ("name", "middles", "operations", "exact", "double"), CASES, ids=[f"{case[0]} at {case[1]}" for case in CASES]
)
def test_an_operation_over_cells_holds_what_is_exact_and_what_doubles_make_of_it(
    name, middles, operations, exact, double
):
    rng = np.random.default_rng(17)
    inputs = [random_input(rng, middle) for middle in middles]
    arity = exact.__code__.co_argcount - len(exact.__defaults__ or ())
    (made,) = Code(("x", "y"), operations, (2,)).rounded(dict(zip("xy", inputs, strict=True)))
    assert np.isfinite(made.error).all()
    for cell in range(CELLS):
        for _ in range(POINTS):
            point = rng.uniform(-1, 1, 2)
            point = np.where(rng.random(2) < 0.4, np.sign(point), point)
            true, wrong = [], []
            for x in inputs[:arity]:
                value = float(polynomial(x.form, cell, point) + 0.9 * float(x.form.r[cell, 0]) * rng.uniform(-1, 1))
                true.append(flint.arb(value))
                wrong.append(value + 0.99 * float(x.error[cell]) * int(rng.choice([-1, 0, 1])))
            wanted = exact(*true)
            assert abs(wanted - polynomial(made.form, cell, point)) <= flint.arb(float(made.form.r[cell, 0]))
            assert abs(flint.arb(double(*wrong)) - wanted) <= flint.arb(float(made.error[cell]))


def test_every_operation_of_the_file_is_tried():
    assert {operation[0] for _, _, operations, *_ in CASES for operation in operations} == {*ARITY, "power"}


EDGES = [  # over cells that reach where the operation jumps or ends
    ("div", (1.5, 0.0)), ("sqrt", (0.0, 1.0)), ("log", (0.0, 1.0)), ("abs", (0.0, 1.0)), ("sign", (0.0, 1.0)),
    ("asin", (1.0, 1.0)), ("acos", (-1.0, 1.0)), ("tan", (math.pi / 2, 1.0)), ("pow", (0.0, 1.5)),
    ("atan2", (0.0, -2.0)), ("atan2", (0.0, 0.0)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "middles"), EDGES)
def test_over_an_edge_no_error_is_bounded(op, middles):
    linear = np.zeros((1, CHOSEN.size, 1))
    linear[:, CHOSEN.linear[0], 0] = 0.2
    inputs = []
    for middle in middles:
        c = linear.copy()
        c[:, 0, 0] = middle
        inputs.append(Rounded(Form(CHOSEN, c, np.zeros((1, 1))), np.full(1, 1e-12)))
    (made,) = Code(("x", "y"), ((op, *range(ARITY[op])),), (2,)).rounded(dict(zip("xy", inputs, strict=True)))
    with np.errstate(all="ignore"):
        assert not (np.isfinite(made.error) & np.isfinite(made.form.r[:, 0])).any()


@pytest.mark.parametrize(
    ("op", "proved", "taken"),
    [("sin", 2.0**30, 2.0**30 + 1), ("cos", -(2.0**30), -1e13), ("exp", 707.0, 709.0), ("log", 1e-307, 1e-309)],
)
def test_where_a_run_asks_the_system_its_unit_counts(op, proved, taken):
    low, high = np.minimum(proved, taken), np.maximum(proved, taken)
    units = function_unit(op, np.array([proved, taken, low]), np.array([proved, taken, high]))
    assert units.tolist() == [FUNCTION, LIBRARY, LIBRARY]


@pytest.mark.parametrize("exponent", [0.5, 2.5, 40.5, -40.5])
def test_a_power_of_a_base_that_is_badly_known_holds_what_doubles_make_of_it(exponent):
    """A quarter of the base is lost: a slope where it is exact says too little of where it may be."""
    c = np.zeros((1, CHOSEN.size, 1))
    c[:, 0, 0] = 1.0
    base, power = Form(CHOSEN, c, np.zeros((1, 1))), Form(CHOSEN, c * exponent, np.zeros((1, 1)))
    inputs = {"x": Rounded(base, np.full(1, 0.25)), "y": Rounded(power, np.full(1, 1e-3))}
    (made,) = Code(("x", "y"), (("pow", 0, 1),), (2,)).rounded(inputs)
    worst = max(abs(x ** (exponent + y) - 1) for x in (0.75, 1.25) for y in (-1e-3, 1e-3))
    assert worst <= made.error[0] < 1e3 * worst


@pytest.mark.parametrize("op", [*ONE, *TWO])
def test_errors_are_not_far_beyond_what_they_bound(op):
    """A bound that is always infinite would hold too: what is carried grows by slopes of a few, not by orders."""
    places = (ONE.get(op) or TWO[op])[0]
    middles = places[0] if isinstance(places[0], tuple) else (places[0], 1.0)
    inputs = [random_input(np.random.default_rng(2), middle) for middle in middles]
    (made,) = Code(("x", "y"), ((op, *range(ARITY[op])),), (2,)).rounded(dict(zip("xy", inputs, strict=True)))
    assert (made.error <= 40 * (inputs[0].error + inputs[1].error + 1e-15)).all()


@pytest.mark.parametrize("middle", [-1.5, -0.6, 0.6, 1.5])
def test_a_square_lies_between_the_squares_of_its_ends(middle):
    x = random_input(np.random.default_rng(5), middle)
    (made,) = Code(("x", "y"), (("mul", 0, 0),), (2,)).rounded({"x": x, "y": x})
    ends = np.sort(np.array(x.form.range()) ** 2, axis=0)
    low, high = made.form.range()
    assert (low >= ends[0] - 1e-9).all()
    assert (high <= ends[1] + 1e-9).all()


@pytest.mark.parametrize(("unit", "off", "exact"), [(1.0, 0.0, True), (1.0, 1e-17, False), (2.5, 0.0, False)])
def test_products_and_quotients_by_one_round_nothing(unit, off, exact):
    """By what is one and nothing else; forwards, and by the slope of each."""
    x = random_input(np.random.default_rng(6), 1.5)
    x = Rounded(x.form, np.zeros(x.cells))
    by = Rounded(Form.constant(CHOSEN, np.full(CELLS, unit)), np.full(CELLS, off))
    code = Code(("x", "y"), (("mul", 1, 0), ("div", 2, 1), ("mul", 3, 1)), (4,))
    slopes = CodeSlopes(code, code.rates)
    known = slopes.followed({"x": x, "y": by})
    moved = slopes.moved([Form.constant(CHOSEN, np.ones(CELLS))], known, 1)
    assert (known[4].error == 0).all() == exact
    assert (moved == 0).all() == exact
