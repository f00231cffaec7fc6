"""Programs that follow data: proved across the knots, and held against steps in exact arithmetic."""

import math
import random
from fractions import Fraction
from importlib import resources

import numpy as np
import pytest

import holdfast as hf
from holdfast.problem.data import data
from holdfast.stability.proof.knots import shifted

EXAMPLES = resources.files("holdfast") / "examples"
FOLLOW = """schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[functions.track]
times = [0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8]
values = [0, 0.3, 0.1, -0.4, -0.2, 0.5, 0.4, 0]
degree = {degree}
[program.holonomic]
follow = "{program}"
[program.controls]
F = {{ x = "1" }}
[program.law]
kind = "critically-damped"
rate = 4
[run]
scheme = "rk4"
step = {step}
duration = 2.8
"""


class Spline:
    """The same data by pieces, exactly: its value and derivatives from the piece that a time lies in."""

    def __init__(self, given):
        ends, rows = given.pieces()
        self.ends = [Fraction(x) for x in ends]
        self.rows = [[Fraction(c) for c in row] for row in rows]

    def __call__(self, t, order):
        place = max(0, min(sum(end <= t for end in self.ends) - 1, len(self.rows) - 1))
        u = t - self.ends[place]
        terms = enumerate(self.rows[place])
        return sum(math.perm(k, order) * c * u ** (k - order) for k, c in terms if k >= order)


def exact_defect(f, t, tau, k, b):
    """ψ after one step of RK4 from the program itself: x'' = f'' − k (x − f) − b (x' − f'), in rational numbers."""

    def rates(s, x, v):
        return v, f(s, 2) - k * (x - f(s, 0)) - b * (v - f(s, 1))

    x, v, half = f(t, 0), f(t, 1), tau / 2
    k1 = rates(t, x, v)
    k2 = rates(t + half, x + half * k1[0], v + half * k1[1])
    k3 = rates(t + half, x + half * k2[0], v + half * k2[1])
    k4 = rates(t + tau, x + tau * k3[0], v + tau * k3[1])
    sums = [tau * (p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(k1, k2, k3, k4, strict=True)]
    return x + sums[0] - f(t + tau, 0), v + sums[1] - f(t + tau, 1)


def most_attained(certificate, f, k, b, last):
    """The largest ‖Lᵀd‖ among steps from random times, and from times just before knots, beside the stated defect."""
    (block,), draw, worst = certificate.blocks, random.Random(4), 0.0
    factor, tau = np.array(block.proof.factor), Fraction(certificate.step)
    times = [Fraction(draw.uniform(0, last)) for _ in range(150)]
    times += [end - tau * Fraction(draw.random()) for end in f.ends[1:-1] for _ in range(25)]
    for t in times:
        d = np.array([float(x) for x in exact_defect(f, t, tau, k, b)])
        worst = max(worst, float(np.linalg.norm(d @ factor)) / block.defect)
    return worst


@pytest.mark.parametrize("degree", [5, *(pytest.param(k, marks=pytest.mark.prove) for k in (3, 4, 7))])
def test_no_step_along_data_adds_more_than_is_proved(degree):
    problem = hf.loads(FOLLOW.format(degree=degree, program="x - track", step=0.01))
    certificate = hf.certify(hf.derive(problem), effort=1)
    assert certificate.label is hf.Label.proved
    f = Spline(problem.system.functions["track"].value)
    assert 0.2 < most_attained(certificate, f, 16, 8, 2.79) <= 1


def test_the_measured_path_is_proved_and_re_checked():
    problem = hf.load(str(EXAMPLES / "measured_path.toml"))
    certificate = hf.certify(hf.derive(problem))
    assert certificate.label is hf.Label.proved
    assert certificate["follow"].stayed
    f = Spline(problem.system.functions["track"].value)
    assert 0.2 < most_attained(certificate, f, 25, 10, 3.99) <= 1
    found = hf.verify(certificate)
    assert found.holds, found.findings


@pytest.mark.parametrize(
    ("program", "step", "why"),
    [
        ("x - track", 0.56, "passes more than one knot"),
        ("x - sin(track)", 0.01, "does not enter the program by a sum alone"),
        ("x**2 - 2 - track", 0.01, "not affine in the coordinates"),
    ],
)
def test_what_data_leave_unproved_is_said_by_name(program, step, why):
    problem = hf.loads(FOLLOW.format(degree=5, program=program, step=step) + "[start]\nx = 1.4\n")
    (block,) = hf.certify(hf.derive(problem), effort=0.2, step=step, duration=2.8).blocks
    assert not block.label.is_proof
    assert why in block.reason


def test_a_polynomial_is_shifted_exactly():
    row = (Fraction(1), Fraction(-2), Fraction(3, 7), Fraction(5))
    by = Fraction(2, 3)
    moved = shifted(row, by)
    for u in (Fraction(0), Fraction(1, 5), Fraction(-3)):
        assert sum(c * u**k for k, c in enumerate(moved)) == sum(c * (u + by) ** k for k, c in enumerate(row))


def test_data_of_one_piece_have_no_knots():
    assert len(data([0, 1, 2, 3, 4, 5], [0, 1, 0, 1, 0, 1]).pieces()[1]) == 1
