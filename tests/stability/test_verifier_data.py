"""Data as the verifier reads them: pieces, what doubles do to them, steps across knots, and lies about them."""

import copy
import json
import math
import random
from fractions import Fraction
from functools import cache
from hashlib import sha256

import flint
import numpy as np
import pytest

import holdfast as hf
from holdfast.problem.data import data
from holdfast.stability.certificate.attack import NativeRun
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers.pieces import Data, Pieces
from holdfast.stability.verifier.reading.code import clock_error
from holdfast.stability.verifier.reading.file import claims, digest
from holdfast.stability.verifier.refusal import Refused
from holdfast.stability.verifier.steps.cells import boxes
from holdfast.stability.verifier.steps.data import DataSteps
from holdfast.stability.verifier.steps.rounding import RoundingModel
from tests.stability.test_data_proofs import FOLLOW, Spline, exact_defect


@pytest.fixture(autouse=True)
def many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 300
    yield
    flint.ctx.prec = before


@cache
def followed(degree=5, step=0.02):
    equations = hf.derive(hf.loads(FOLLOW.format(degree=degree, program="x - track", step=step)))
    return hf.certify(equations, step=step, effort=1)


def pieces(degree=5, seed=1, count=12):
    draw = random.Random(seed)
    times = np.cumsum([draw.uniform(0.05, 1) for _ in range(count)])
    given = data(times, [draw.gauss(0, 1) for _ in times], degree)
    ends, rows = given.pieces()
    return Data("f", list(given.times), list(given.values), degree), Pieces(ends, rows), Spline(given)


def test_data_are_confirmed():
    found = hf.verify(followed())
    assert found.holds, found.findings


@pytest.mark.prove
@pytest.mark.parametrize("degree", [3, 4, 7])
def test_data_of_other_degrees_are_confirmed(degree):
    found = hf.verify(followed(degree, 0.01))
    assert found.holds, found.findings


@pytest.mark.prove
def test_data_of_a_place_push_what_is_not_held():
    text = FOLLOW.format(degree=5, program="x - track", step=0.02).replace('["x"]', '["x", "y"]')
    text = (
        text.replace("x_dot**2/2", "x_dot**2/2 + y_dot**2/2")
        + """[functions.pull]
of = "y"
times = [-3, -1, 0, 1, 3]
values = [0, 1, 0, 1, 0]
degree = 3
[system.forces]
y = "pull"
"""
    )
    found = hf.verify(hf.certify(hf.derive(hf.loads(text)), step=0.02, effort=1))
    assert found.holds, found.findings


def test_what_is_not_finite_has_no_range():
    _, found, _ = pieces()
    low, high = np.array([np.nan, -np.inf, 1.0, 1.0]), np.array([1.0, 1.0, np.inf, 2.0])
    least, most = found.ranges(0, low, high)
    assert np.isinf(least[:3]).all()
    assert np.isinf(most[:3]).all()
    alone = found.ranges(0, low[3:], high[3:])
    assert (least[3], most[3]) == (alone[0][0], alone[1][0])
    assert np.isinf(found.noise(0, low[:3], high[:3])).all()


@pytest.mark.parametrize("degree", [1, 2, 5, *(pytest.param(k, marks=pytest.mark.prove) for k in (3, 4, 6, 7))])
def test_the_spline_of_the_data_is_known_by_what_makes_it_one(degree):
    stated, found, _ = pieces(degree)
    stated.take(found)
    for row in {0, len(found.rows) // 2, len(found.rows) - 1}:
        for k in (0, degree // 2, degree):
            rows = [list(one) for one in found.rows]
            width = found.ends[row + 1] - found.ends[row]
            rows[row][k] += 1e-3 * max(abs(c) * width**j for j, c in enumerate(rows[row])) / width**k
            with pytest.raises(Refused, match="do not"):
                stated.take(Pieces(found.ends, tuple(map(tuple, rows))))
    with pytest.raises(Refused, match="other knots"):
        stated.take(Pieces((found.ends[0] - 1, *found.ends[1:]), found.rows))


@pytest.mark.parametrize("order", range(6))
def test_enclosures_hold_what_the_pieces_are(order):
    _, found, exact = pieces()
    rng = np.random.default_rng(order)
    low = rng.uniform(found.ends[0], found.ends[-1], 60)
    high = np.minimum(low + 10.0 ** rng.uniform(-12, 0.5, 60), found.ends[-1])
    least, most = found.ranges(order, low, high)
    noise, inside = found.noise(order, low, high), rng.uniform(low, high)
    for k, x in enumerate(inside):
        true = exact(Fraction(x), order)
        assert least[k] <= true <= most[k]
        assert found.ball(order, flint.arb(x), flint).contains(flint.fmpq(true.numerator, true.denominator))
        assert abs(Fraction(found.doubles(order, np.array([x]))[0]) - true) <= noise[k]
    narrow = high - low < 1e-9
    scale = np.abs(least).max() + 1
    assert narrow.any()
    crossing = found.jumps(order, low, high) > 0
    assert ((most - least)[narrow & ~crossing] < 1e-4 * scale).all()


def test_doubles_that_may_read_either_side_of_a_knot_are_counted():
    found = Pieces((0.0, 1.0, 2.0), ((0.0, 1.0), (3.0, -2.0)))
    low, high = np.array([0.2, 0.9, 1.0, 1.1]), np.array([0.4, 1.1, 1.0, 1.2])
    assert found.jumps(0, low, high).tolist() == pytest.approx([0, 2, 2, 0])
    assert found.jumps(1, low, high).tolist() == pytest.approx([0, 3, 3, 0])


def test_a_ball_over_a_knot_holds_both_pieces():
    found = Pieces((0.0, 1.0, 2.0), ((0.0, 1.0), (3.0, -2.0)))
    value = found.ball(0, flint.arb(1, 0.5), flint)
    assert 0.5 in value
    assert 3.9 in value
    assert 4.5 not in value
    assert found.ball(0, flint.arb(1), flint) == 3


def test_native_steps_along_data_round_less_than_the_bound():
    certificate = followed()
    made = reading(claims(certificate.to_dict()))
    (block,), inputs = made.claims.blocks, made.equations.inputs
    region = np.array([block.proof.region[name] for name in inputs])
    jumps = DataSteps(made.equations, block.names, made.equations.matrix(block.names), made.tableau, 0.02, []).jumps()
    model = RoundingModel(
        made.equations, made.claims.code, block.names, made.tableau, 0.02, block.proof.factor, made.claims.parameters,
        clock_error(0.0, 0.0, 2.8, 0.02, made.tableau), jumps,
    )  # fmt: skip
    bound, worst = float(model.bounds(boxes(inputs, region[:, 0][None], region[:, 1][None]))[0]), 0.0
    f, tau = Spline(hf.loads(made.claims.problem).system.functions["track"].value), Fraction(0.02)
    native = NativeRun(made)
    draw = random.Random(3)
    for place in range(60):
        t = draw.uniform(0, 2.78) if place % 2 else float(draw.choice(f.ends[1:-1])) - 0.01 * draw.choice([1, 2])
        x = np.array([draw.uniform(*region[1]), draw.uniform(*region[2])])
        _, after = native.step(t, x)
        true = exact_step(f, Fraction(t), tau, [Fraction(v) for v in x])
        off = np.array([float(Fraction(a) - b) for a, b in zip(after, true, strict=True)])
        worst = max(worst, float(np.linalg.norm(off @ np.array(block.proof.factor))))
    assert 1e-4 * bound < worst <= bound <= block.proof.rounding


def exact_step(f, t, tau, state):
    """RK4 in rational numbers from any state of the follower."""

    def rates(s, x, v):
        return v, f(s, 2) - 16 * (x - f(s, 0)) - 8 * (v - f(s, 1))

    stages, half = [rates(t, *state)], tau / 2
    for by in (half, half, tau):
        stages.append(rates(t + by, *(x + by * k for x, k in zip(state, stages[-1], strict=True))))
    return [x + tau * (a + 2 * b + 2 * c + d) / 6 for x, a, b, c, d in zip(state, *stages, strict=True)]


class OnePiece(Spline):
    """The polynomial of one piece, everywhere."""

    def __init__(self, spline, place):
        self.ends, self.rows, self.only = spline.ends, spline.rows, place

    def __call__(self, t, order):
        u = t - self.ends[self.only]
        terms = enumerate(self.rows[self.only])
        return sum(math.perm(k, order) * c * u ** (k - order) for k, c in terms if k >= order)


@pytest.mark.parametrize("degree", [5, *(pytest.param(k, marks=pytest.mark.prove) for k in (1, 2, 3, 4, 7))])
def test_what_a_knot_adds_is_that_of_steps_in_rational_numbers(degree):
    text = FOLLOW.format(degree=degree, program="x - track", step=0.05)
    certificate = followed()
    body = {**certificate.to_dict(), "problem": text, "step": 0.05, "title": ""}
    body |= {"code": certificate_code(text), "problem_hash": sha256(text.encode()).hexdigest()}
    made = reading(claims(body | {"digest": digest(body)}))
    factor, names = block_of(body)["proof"]["factor"], ["y_follow", "w_follow"]
    steps = DataSteps(made.equations, names, made.equations.matrix(names), made.tableau, 0.05, factor)
    f, tau = Spline(hf.loads(text).system.functions["track"].value), Fraction(0.05)
    draw = random.Random(7)
    for place, knot in enumerate(f.ends[1:-1]):
        bound, most = steps.crossing(float(knot)), 0.0
        for theta in [1e-9, 0.5, 0.5 + 1e-9, 1, *(round(draw.random(), 3) for _ in range(8))]:
            t = knot - Fraction(theta) * tau
            true = np.subtract(exact_defect(f, t, tau, 16, 8), exact_defect(OnePiece(f, place), t, tau, 16, 8))
            most = max(most, float(np.linalg.norm([float(x) for x in true] @ np.array(factor))))
        assert 0.5 * bound <= most <= bound


def certificate_code(text):
    from holdfast.stability.certificate.run_code import run_code

    return run_code(hf.derive(hf.loads(text)))


def block_of(body):
    return body["blocks"][0]


# ── lies ──────────────────────────────────────────────────────────────────────────────────────────


def other_piece(body, share=1e-3):
    row = body["code"]["tables"]["track"]["pieces"][1]
    row[0] += share


def nearly_the_same(body):
    row = body["code"]["tables"]["track"]["pieces"][1]
    row[5] = math.nextafter(row[5], math.inf)


def other_knots(body):
    body["code"]["tables"]["track"]["ends"][1] += 0.01


def fewer_pieces(body):
    table = body["code"]["tables"]["track"]
    table["pieces"].pop()
    table["ends"].pop(-2)


def no_pieces(body):
    del body["code"]["tables"]


def up_to_minus_nothing(body):
    """[0, -0.0] is a range of one number; random times in it were an error of numpy's."""
    next(entry for entry in block_of(body)["proof"]["region"] if entry[0] == "t")[2] = -0.0


def other_data(body):
    body["problem"] = body["problem"].replace("0.3, 0.1", "0.3, 0.12")


def other_derivative(body):
    body["code"]["operations"] = [
        ["table 1 track", *entry[1:]] if entry[0] == "table 2 track" else entry for entry in body["code"]["operations"]
    ]


def strange_table(body):
    body["code"]["tables"]["wind"] = body["code"]["tables"]["track"]


def smaller(body):
    one = block_of(body)
    for table, names in ((one["proof"], ("coefficient", "radius")), (one, ("defect", "epsilon"))):
        for name in names:
            table[name] /= 2
    one["bounds"] = [x / 2 for x in one["bounds"]]


def beyond_the_data(body):
    for entry in block_of(body)["proof"]["region"]:
        if entry[0] == "t":
            entry[2] += 1


LIES = [
    other_piece, nearly_the_same, other_knots, fewer_pieces, no_pieces, other_data, other_derivative, strange_table,
    smaller, beyond_the_data, up_to_minus_nothing,
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
def test_no_lie_about_data_is_confirmed(lie, tmp_path):
    body = copy.deepcopy(followed().to_dict())
    before = json.dumps(body)
    lie(body)
    assert json.dumps(body) != before
    body["problem_hash"] = sha256(body["problem"].encode()).hexdigest()
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(body | {"digest": digest(body)}))
    found = hf.verify(path, cells=600)
    assert not found.holds, found.findings
    if lie in (no_pieces, nearly_the_same):
        assert not found.contradicts


def test_a_file_without_the_pieces_of_its_data_is_no_certificate_to_load(tmp_path):
    """It was an exception of the verifier's own, which no caller knows."""
    body = copy.deepcopy(followed().to_dict())
    no_pieces(body)
    (tmp_path / "certificate.json").write_text(json.dumps(body | {"digest": digest(body)}))
    with pytest.raises(hf.BadRequest, match="whose pieces are not in the certificate"):
        hf.Certificate.load(tmp_path / "certificate.json")


def test_certificates_are_of_problems_with_the_same_data():
    text = FOLLOW.format(degree=5, program="x - track", step=0.02)
    assert hf.verify(followed(), hf.loads(text)).holds
    found = hf.verify(followed(), hf.loads(text.replace("0.3, 0.1", "0.3, 0.1000001")))
    assert "the data of track differ" in found.findings[0]
