"""Native Taylor forms against balls in 300 bits, at random points of random cells."""

from fractions import Fraction

import flint
import numpy as np
import pytest

from holdfast.engine.forms.evaluate import FormTape
from holdfast.engine.forms.monomials import monomials
from holdfast.engine.forms.operations import OPERATIONS
from holdfast.engine.forms.tape import DIFFERENCE, RUNNING, SYMBOLS, Recorder
from holdfast.errors import BadRequest
from holdfast.graph.arithmetics.balls import ball_series, precision
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import BINARY, UNARY, Graph

TERMS = 6
DEPENDS = ([0], [0, 1], [0, 2])  # which variables of the cell t, x and y move with

graph = Graph()
t, x, y = (graph.input(name) for name in "txy")
call = graph.call
EXPRESSIONS = {
    "add": x + y * 3 - t,
    "sub": 3 - x * t - y,
    "mul": (x * y + t) * (x - y) ** 3,
    "neg": -(x + t * y),
    "power": (x + y - t) ** 5,
    "div": (x + 1) / (y * y + 2 + t),
    "sqrt": call("sqrt", x * x + y * y + 2),
    "sin": call("sin", x * y * 7 + t),
    "cos": call("cos", x - t * 3),
    "exp": call("exp", x * y - t),
    "log": call("log", x * x + y + 4),
    "tan": call("tan", x * t / 4),
    "tanh": call("tanh", x + y),
    "sinh": call("sinh", x - y),
    "cosh": call("cosh", x * 2),
    "pow": call("pow", x * x + 3, y + t),
    "pi": call("sin", graph.pi() * x) + graph.pi(),
    "deep": call("sin", call("exp", x * y / 3) / (call("sqrt", t * t + 1) + x * x)) / (2 + call("cos", y)),
}
REFUSED = {"asin", "acos", "atan", "abs", "sign", "atan2", "min", "max"}


def random_cells(rng, shape, count):
    """t, x, y around random centres, and their slopes in s."""
    cells = np.zeros((count, 3, len(shape) + 3))
    for cell in cells:
        width = 10.0 ** rng.uniform(-6, -0.5)
        for row, chosen in zip(cell, DEPENDS, strict=True):
            row[0] = rng.uniform(-1, 1)
            row[shape.place[(0, 0)]] = width**2 * rng.uniform(-1, 1)
            for variable in chosen:
                row[shape.place[(variable,)]] = width * rng.uniform(-1, 1)
        cell[0, -3], cell[1, -3] = 1.0, rng.uniform(-1, 1)
    return cells


def exactly(row, shape, e):
    """The polynomial of a row at a point, in balls."""
    total = flint.arb(0)
    for coefficient, factors in zip(row, shape.factors, strict=False):
        term = flint.arb(float(coefficient))
        for k in factors:
            term = term * flint.arb(float(e[k]))
        total = total + term
    return total


def corner(rng, size):
    e = rng.uniform(-1, 1, size)
    return np.sign(e) if rng.random() < 0.6 else e


def coefficient(value, degree):
    if isinstance(value, flint.arb_series):
        return value[degree]
    return value if degree == 0 else flint.arb(0)


def worst_miss(tape, shape, cells, truth, rng, points=2):
    """The largest distance of the truth from the polynomial, as a part of the remainder, over all powers of s."""
    worst = 0.0
    for degree in range(tape.terms):
        found = tape(cells, degree)
        for k, cell in enumerate(cells):
            for _ in range(points):
                e = corner(rng, len(shape.weights))
                rows = [flint.arb_series([exactly(row, shape, e), flint.arb(float(row[-3]))]) for row in cell]
                for o, value in enumerate(truth(rows)):
                    rest = found.remainders[k, o]
                    if np.isfinite(rest):
                        away = abs(coefficient(value, degree) - exactly(found.polynomials[k, o], shape, e))
                        worst = max(worst, float(away.upper()) / rest)
    return worst


@pytest.mark.parametrize(("centre", "half_width", "bounded"), [(2.0**29 - 9, 1.0, True), (2.0**29 - 9, 10.0, False)])
def test_a_cell_of_angles_that_our_own_sine_does_not_serve_all_has_no_bound(centre, half_width, bounded):
    """Not even where its middle is served: beyond, the run asks the library."""
    shape = monomials((1, 2, 2, 1), 3)
    tape = Recorder(1, shape)
    inputs = [tape.input(chosen, 1) for chosen in DEPENDS]
    sine = [tape.number(value) for value in tape.graph((t, x, y), inputs, [call("sin", x)])]
    cells = np.zeros((1, 3, len(shape) + 3))
    cells[0, 1, 0], cells[0, 1, shape.place[(1,)]] = centre, half_width
    assert np.isfinite(FormTape(tape, sine)(cells, 0).remainders[0, 0]) == bounded


@pytest.mark.parametrize(("order", "weights"), [(3, (1, 2, 2, 1)), (2, (1, 1, 1, 1)), (3, (1, 1, 1, 1))])
def test_every_operation_encloses_its_values_over_random_cells(order, weights):
    rng, shape = np.random.default_rng(order), monomials(weights, order)
    tape = Recorder(TERMS, shape)
    inputs = [tape.input(chosen, 1) for chosen in DEPENDS]
    outputs = [tape.number(value) for value in tape.graph((t, x, y), inputs, list(EXPRESSIONS.values()))]
    with precision(300, TERMS + 1):
        truth = Tape((t, x, y), tuple(EXPRESSIONS.values())).compiled(ball_series())
        worst = worst_miss(FormTape(tape, outputs), shape, random_cells(rng, shape, 8), truth, rng)
    assert 0.5 < worst <= 1  # enclosed, and not by a remainder that is far too wide


@pytest.mark.parametrize("terms", [1, TERMS])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_in_thin_cells_rounding_alone_is_enclosed_and_little_more(order, terms):
    rng, shape = np.random.default_rng(order), monomials((1, 1, 1, 1), order)
    tape = Recorder(terms, shape)
    inputs = [tape.input(chosen, 1) for chosen in DEPENDS]
    outputs = [tape.number(value) for value in tape.graph((t, x, y), inputs, list(EXPRESSIONS.values()))]
    with precision(300, TERMS + 1):
        truth = Tape((t, x, y), tuple(EXPRESSIONS.values())).compiled(ball_series())
        worst = worst_miss(FormTape(tape, outputs), shape, thin_cells(rng, shape, 16), truth, rng, 1)
    assert 0.1 < worst <= 1


def thin_cells(rng, shape, count):
    """t, x, y around random centres, and hardly any width."""
    cells = np.zeros((count, 3, len(shape) + 3))
    for cell in cells:
        for row, chosen in zip(cell, DEPENDS, strict=True):
            row[0] = rng.uniform(-1, 1)
            row[shape.place[(chosen[-1],)]] = 10.0 ** rng.uniform(-40, -12)
        cell[0, -3], cell[1, -3] = 1.0, rng.uniform(-1, 1)
    return cells


def test_every_operation_of_the_graph_is_known_or_refused_by_name():
    assert set(OPERATIONS) | REFUSED == (UNARY | BINARY)
    for name in sorted(REFUSED):
        tape = Recorder(TERMS, monomials((1, 1), 1))
        node = call(name, x, y) if name in BINARY else call(name, x)
        with pytest.raises(BadRequest, match=name):
            tape.graph((x, y), [tape.input([0]), tape.input([1])], [node])


def test_a_linear_system_encloses_its_solution():
    rng, shape = np.random.default_rng(4), monomials((1, 2, 2, 1), 3)
    entries = {
        (0, 0): 3 + x * t,
        (0, 1): call("sin", y),
        (1, 0): y - x,
        (1, 1): call("cos", x) + 2,
        (1, 2): t,
        (2, 2): 4 + y,
        (2, 0): x,
    }
    right = [x + 1, t * y, call("exp", x)]
    tape = Recorder(TERMS, shape)
    inputs = [tape.input(chosen, 1) for chosen in DEPENDS]
    found = tape.graph((t, x, y), inputs, [*entries.values(), *right])
    first = tape.solve(dict(zip(entries, found, strict=False)), found[len(entries) :])
    after = tape.graph((t, x, y), [inputs[0], first[0], first[1]], [*entries.values(), *right])  # depends on residuals
    second = tape.solve(dict(zip(entries, after, strict=False)), after[len(entries) :])
    last = tape.graph((t, x, y), [inputs[0], second[0], second[2]], list(EXPRESSIONS.values())[:13])
    tape = FormTape(tape, [*first, *second, *(value for value in last)])
    evaluate = {}

    def truth(rows):
        system = evaluate["system"]

        def solved(place):
            values = system(place)
            a = [[flint.arb(0)] * 3 + [values[len(entries) + i]] for i in range(3)]
            for (i, j), value in zip(entries, values, strict=False):
                a[i][j] = value
            for c in range(3):
                for i in range(3):
                    if i != c:
                        factor = a[i][c] / a[c][c]
                        a[i] = [u - factor * v for u, v in zip(a[i], a[c], strict=True)]
            return [a[i][3] / a[i][i] for i in range(3)]

        one = solved(rows)
        two = solved([rows[0], one[0], one[1]])
        return [*one, *two, *evaluate["last"]([rows[0], two[0], two[2]])]

    with precision(300, TERMS + 1):
        evaluate["system"] = Tape((t, x, y), (*entries.values(), *right)).compiled(ball_series())
        evaluate["last"] = Tape((t, x, y), tuple(list(EXPRESSIONS.values())[:13])).compiled(ball_series())
        cells = random_cells(rng, shape, 8)
        assert np.isfinite(tape(cells, 0).remainders).any(axis=1).sum() >= 4
        assert 1e-3 < worst_miss(tape, shape, cells, truth, rng) <= 1


@pytest.mark.parametrize("name", ["div", "sqrt", "log", "exp", "sin"])
def test_what_is_not_defined_over_a_cell_has_no_bound(name):
    shape = monomials((1,), 2)
    wrong = {"div": (0.1, 0.2), "sqrt": (0.1, 0.2), "log": (0.1, 0.2), "exp": (800.0, 1.0), "sin": (2.0**40, 1.0)}[name]
    tape = Recorder(2, shape)
    a = tape.input([0])
    tape = FormTape(tape, [tape.function({"div": "recip"}.get(name, name), a)])
    cells = np.zeros((3, 1, len(shape) + 3))
    cells[:, 0, 0], cells[:, 0, 1] = [wrong[0], np.nan, 1.0], [wrong[1], 0.1, 0.1]
    assert np.isfinite(tape(cells).sizes()[:, 0]).tolist() == [False, False, True]


def test_a_singular_system_has_no_bound():
    shape = monomials((1,), 1)
    tape = Recorder(2, shape)
    a = tape.input([0])
    tape = FormTape(
        tape, tape.solve({(0, 0): a, (0, 1): Fraction(1), (1, 0): Fraction(1), (1, 1): a}, [Fraction(1), a])
    )
    cells = np.zeros((2, 1, len(shape) + 3))
    cells[:, 0, 0], cells[:, 0, 1] = [1.05, 3.0], 0.1  # a = 1 is in the first cell
    assert np.isfinite(tape(cells).sizes()).all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("way", [RUNNING, SYMBOLS])
def test_the_rounding_of_doubles_stays_within_what_is_carried(way):
    rng, shape = np.random.default_rng(9), monomials((1, 2, 2, 1), 2)
    tape = Recorder(1, shape)
    inputs = [tape.input(chosen) for chosen in DEPENDS]
    tape.rounds = way
    names = [name for name in EXPRESSIONS if name not in ("pi",)]
    nodes = [EXPRESSIONS[name] for name in names]
    tape = FormTape(tape, [tape.number(value) for value in tape.graph((t, x, y), inputs, nodes)])
    cells = random_cells(rng, shape, 16)
    cells[:, :, -3] = 0
    bounds = tape(cells).rounding
    from holdfast.graph.arithmetics.floats import FLOATS

    doubles, worst = Tape((t, x, y), tuple(nodes)).compiled(FLOATS), 0.0
    with precision(300):
        exact = Tape((t, x, y), tuple(nodes)).compiled(ball_series())
        for cell, bound in zip(cells, bounds, strict=True):
            for _ in range(20):
                e = corner(rng, 4)
                place = [float(exactly(row, shape, e).mid()) for row in cell]
                place = [
                    min(max(v, row[0] - abs(row[1:-3]).sum()), row[0] + abs(row[1:-3]).sum())
                    for v, row in zip(place, cell, strict=True)
                ]
                truth = exact([flint.arb(v) for v in place])
                errors = [abs(float((a - b).mid())) for a, b in zip(truth, doubles(place), strict=True)]
                ok = np.isfinite(bound)
                worst = max(worst, float((np.array(errors)[ok] / bound[ok]).max()))
    assert 0.01 < worst <= 1


def test_the_same_cells_give_the_same_bits_whatever_lies_beside_them():
    rng, shape = np.random.default_rng(2), monomials((1, 2, 2, 1), 3)
    tape = Recorder(TERMS, shape)
    inputs = [tape.input(chosen, 1) for chosen in DEPENDS]
    tape = FormTape(tape, [tape.number(v) for v in tape.graph((t, x, y), inputs, list(EXPRESSIONS.values()))])
    cells = random_cells(rng, shape, 11)
    together = tape(cells, 3)
    for k in (0, 7, 10):
        alone = tape(cells[k : k + 1], 3)
        assert (alone.polynomials[0] == together.polynomials[k]).all()
        assert np.array_equal(alone.remainders[0], together.remainders[k], equal_nan=True)


def test_differences_of_residuals_bound_what_another_right_side_does():
    """A computed solution that leaves a residual r differs from the exact one by no more than is said."""
    rng, shape = np.random.default_rng(5), monomials((1, 2, 2, 1), 2)
    tape = Recorder(1, shape)
    inputs = [tape.input(chosen) for chosen in DEPENDS]
    tape.rounds = DIFFERENCE
    a = tape.graph((t, x, y), inputs, [3 + x, y, t - y, 2 + x * y])
    size = 1e-6
    zero = tape.number(Fraction(0))
    left = tape.slack(zero, tape.number(Fraction(1)), size)
    unknowns = tape.solve(
        {(0, 0): a[0], (0, 1): a[1], (1, 0): a[2], (1, 1): a[3]}, [Fraction(1), inputs[1]], [left, left]
    )
    product = tape.mul(unknowns[0], unknowns[1])
    tape = FormTape(tape, [*unknowns, product])
    cells = random_cells(rng, shape, 16)
    cells[:, :, -3] = 0
    found = tape(cells)
    good = np.isfinite(found.rounding).all(axis=1)
    worst = 0.0
    assert good.sum() >= 8
    for cell, bound in zip(cells[good], found.rounding[good], strict=True):
        for _ in range(50):
            e = corner(rng, 4)
            values = shape.values(e)
            tt, xx, yy = (row[: len(shape)] @ values for row in cell)
            matrix, right = np.array([[3 + xx, yy], [tt - yy, 2 + xx * yy]]), np.array([1, xx])
            exact = np.linalg.solve(matrix, right)
            other = np.linalg.solve(matrix, right + size * np.sign(rng.uniform(-1, 1, 2)))
            moved = np.abs([*(other - exact), other.prod() - exact.prod()])
            worst = max(worst, float((moved / (bound + 1e-15)).max()))
    assert 0.3 < worst <= 1


def test_a_value_made_plain_keeps_its_difference_and_made_wide_holds_it():
    shape = monomials((1,), 1)
    tape = Recorder(1, shape)
    a = tape.input([0])
    tape.rounds = DIFFERENCE
    left = tape.slack(tape.number(Fraction(0)), tape.number(Fraction(1)), 1e-3)
    (x,) = tape.solve({(0, 0): a}, [Fraction(1)], [left])
    same = tape.mul(x, x)
    tape.add(tape.mul(x, Fraction(1000)), Fraction(1))  # never used: its rows are what is found where `plain` is put
    plain = tape.plain(same)
    wide = tape.wide(plain)
    tape = FormTape(tape, [plain, same, wide])
    cells = np.zeros((1, 1, len(shape) + 3))
    cells[0, 0, 0], cells[0, 0, 1] = 2.0, 0.1
    found = tape(cells)
    assert found.rounding[0, 0] == found.rounding[0, 1] > 1e-4
    assert found.rounding[0, 2] == 0
    assert found.remainders[0, 2] == pytest.approx(found.remainders[0, 0] + found.rounding[0, 0], rel=1e-9)


def test_rounding_that_is_added_brings_no_symbols_along():
    """A value with residuals, beside one whose rounding has more symbols than there are residuals."""
    shape = monomials((1,), 1)
    tape = Recorder(1, shape)
    a = tape.input([0])
    tape.rounds = DIFFERENCE
    (x,) = tape.solve({(0, 0): a}, [Fraction(1)])
    tape.rounds = SYMBOLS
    computed = tape.number(tape.power(tape.wide(tape.plain(a)), 37))
    tape.rounds = DIFFERENCE
    more = tape.more(x, computed)
    assert tape.registers[computed].residuals > tape.registers[x].residuals == tape.registers[more].residuals
    cells = np.zeros((1, 1, len(shape) + 3))
    cells[0, 0, 0], cells[0, 0, 1] = 2.0, 0.1
    found = FormTape(tape, [x, more, computed, tape.number(tape.mul(more, more))])(cells).rounding[0]
    assert found[1] == pytest.approx(found[0] + found[2], rel=1e-9)
    assert np.isfinite(found[3])
