"""Bertrand's problem, docs/theory, section 4.7: its integrals, its L and D, and the table of motions."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.structure.algebra.zero import is_zero
from tests.structure import systems as S

x, y, r, e, p, c, a0, a1 = S.x, S.y, S.distance, S.ecc, S.p, S.c, S.a0, S.a1
h = x * y.rate - y * x.rate


def zero(expression):
    return is_zero(sp.sympify(expression)).zero


# ---------------------------------------------------------------- 4.1 and 4.2


def test_the_general_solution_is_the_papers_510():
    A, B = sp.symbols("A B", real=True)
    alpha_rate, turning = hf.rate(S.alpha), h
    ax = (x * (A - h**2 / r**3) - y / r * B) / (r - e * x)
    ay = (y * (A - h**2 / r**3) + (x - e * r) / r * B) / (r - e * x)
    moved = {x.acceleration: ax, y.acceleration: ay}
    assert zero(hf.rate(alpha_rate).subs(moved) - A)
    assert zero(hf.rate(turning).subs(moved) - B)


def test_the_truncated_law_keeps_the_conic_only_for_the_actual_momentum():
    moved = {u.acceleration: -u * S.truncated_R / p for u in (x, y)}
    alpha, rate = S.alpha, hf.rate(S.alpha)
    wanted = -(1 + alpha / p) * (a0 * alpha + a1 * rate) + (h**2 - c**2 * (1 - alpha**2 / p**2)) / r**3
    assert zero(hf.rate(rate).subs(moved) - wanted)


def test_s_and_r_of_the_truncated_system():
    found = hf.helmholtz(S.truncated, (x, y))
    assert found
    assert zero(found.s[0, 0] - a1 * x * (x / r - e))
    assert zero(found.s[1, 1] - a1 * y**2 / r)
    assert zero(found.s[0, 1] - a1 * y * (x / r - e / 2))
    assert zero(found.r[0, 1] - (e * y * (a0 - c**2 / (p * r**3)) + a1 * h / r - a1 * e * y.rate / 2))
    assert zero(found.r[0, 1] + found.r[1, 0])
    assert zero(found.s.det() + (a1 * e * y) ** 2 / 4)


def test_s_and_A_of_the_exact_system():
    found = hf.helmholtz(S.exact, (x, y))
    assert zero(found.A[0, 1] - a1 * e * y / (r - e * x))
    assert zero(found.s.det() + (a1 * e * y) ** 2 / 4 / (r - e * x) ** 2)


def test_the_explicit_solutions_of_the_theory():
    U = -2 * c**2 / r - c**2 / p * sp.log(r) + a0 * (r**3 / 3 - p * r**2 / 2)
    L = p * (x.rate**2 + y.rate**2) / 2 + a1 * e * y**2 * x.rate / 4 - U
    D = a1 * (x * (x / r - e) * x.rate**2 + 2 * y * (x / r - e / 2) * x.rate * y.rate + y**2 / r * y.rate**2) / 2
    D += e * x * (c**2 / (p * r**3) - a0) * (x * x.rate + y * y.rate)
    assert all(zero(a - b) for a, b in zip(S.lagrange(L, D, (x, y)), S.truncated, strict=True))
    L = (x.rate**2 + y.rate**2) / 2 + a1 * e * (r + e * x * sp.log(r - e * x)) * x.rate / 2
    D = a1 * (x * x.rate + y * y.rate) * hf.rate(S.alpha) / 2 + (c**2 / r**3 + a0 * S.alpha) * (x * x.rate + y * y.rate)
    D /= r - e * x
    assert all(zero(a - b) for a, b in zip(S.lagrange(L, D, (x, y)), S.exact, strict=True))


def test_with_the_printed_D_alone_no_L_exists():
    printed = a1 * (x * x.rate + y * y.rate) * hf.rate(S.alpha) / 2
    rest = [f - sp.diff(printed, u.rate) for f, u in zip(S.truncated, (x, y), strict=True)]
    found = hf.helmholtz(rest, (x, y))
    assert all(zero(entry) for entry in found.s)
    assert zero(found.r[0, 1] - e * y * (a0 - c**2 / (p * r**3)))


def test_what_is_impossible():
    multiplied = hf.helmholtz([(r - e * x) * f for f in S.exact], (x, y))
    assert multiplied.defects[0].condition == "K2"
    for system in (S.truncated, S.exact):
        current = hf.helmholtz([f.subs(c, h) for f in system], (x, y))
        assert {d.condition for d in current.defects} == {"K2"}


def test_a_circle_is_strict_and_dissipative():
    form = hf.lagrangian([f.subs(e, 0) for f in S.truncated], (x, y), parameters={"a1": 3, "a0": 2, "p": 1, "c": 1})
    assert form.strict
    assert form.dissipative
    assert zero(form.D - a1 * (x * x.rate + y * y.rate) ** 2 / r / 2)


# ---------------------------------------------------------------- 4.3

TABLE = {  # e: alpha at t = 1, 2, 5, 10 and (x, y) at 20 for the exact and the truncated law; alpha for none
    0.0: (
        ([2.53702968e-2, 1.02773535e-2, 5.37673762e-4, 3.63193e-6], (0.43373589, -0.90104005)),
        ([2.56277362e-2, 1.06118061e-2, 5.75385697e-4, 3.90729e-6], (0.43200767, -0.90186993)),
        [1.06063889e-2, -3.79428997e-2, 4.49405849e-2, -7.43557e-4],
        0.054060,
    ),
    0.5: (
        ([3.80554452e-2, 1.54160302e-2, 8.06510643e-4, 5.44790e-6], (0.91891754, -1.13384763)),
        ([3.97055260e-2, 1.67692056e-2, 9.15767720e-4, 6.21832e-6], (0.91234754, -1.13492908)),
        [-2.54646097e-2, -1.23619457e-1, -1.22497762e-1, -1.50736660e-1],
        0.174200,
    ),
    1.0: (
        ([5.07405936e-2, 2.05547070e-2, 1.07534752e-3, 7.26387e-6], (11.37845207, -4.87410547)),
        ([5.53916558e-2, 2.36502225e-2, 1.30070065e-3, 8.84068e-6], (11.37016624, -4.87240521)),
        [-8.92122121e-2, -2.70607193e-1, -6.29122317e-1, -9.25679016e-1],
        1.0,
    ),
    1.5: (
        ([6.34257420e-2, 2.56933837e-2, 1.34418441e-3, 9.07983e-6], (17.38797132, -20.76272736)),
        ([7.28256583e-2, 3.13548212e-2, 1.73990078e-3, 1.18444e-5], (17.35683683, -20.72788560)),
        [-1.78887168e-1, -4.76320247e-1, -1.24709103, -2.39295858],
        4.522481,
    ),
}
TIMES = [0, 1, 2, 5, 10, 20]


def initial(ecc):
    return {x: -1 / (1 + ecc) - 0.05, x.rate: 0.02, y.rate: -(1 + ecc)}


@cache
def exact_family(b1=0.0):
    """(5.10): as many constraints as coordinates, so that the law fixes the accelerations."""
    program = hf.Program(
        holonomic={"conic": S.alpha},
        nonholonomic={"areal": h - c},
        law=hf.SpringDamper(stiffness={"conic": 2}, damping={"conic": 3, "areal": b1}),
    )
    return hf.family(program, (x, y), parameters={e: 0, p: 1, c: 1}, start=initial(0.5))


@cache
def central(kind):
    """(5.12), or Newton's force alone, as a system with given forces and nothing held."""
    strength = S.truncated_R / p if kind == "truncated" else c**2 / (p * r**3)
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        forces={u: -u * strength for u in (x, y)},
        parameters={e: 0, p: 1, c: 1, a0: 2, a1: 3},
    )
    return hf.derive(hf.Problem(system, start=initial(0.5)))


def run(equations, ecc, at=TIMES, momentum=None, **options):
    start = initial(ecc)
    actual = start[x] * start[y.rate] if momentum is None else momentum
    options = {"tolerance": 1e-13, "duration": max(at), "at": at, "start_policy": "keep", **options}
    values = {"ecc": ecc, "c": actual}
    return hf.simulate(equations, hf.DOP853, start=start, parameters=values, **options)


def deviation(trajectory, ecc):
    return np.hypot(trajectory["x"], trajectory["y"]) - ecc * trajectory["x"] - 1


@pytest.mark.parametrize("ecc", TABLE)
def test_the_table_of_motions(ecc):
    (exact, at_exact), (truncated, at_truncated), none, _ = TABLE[ecc]
    for equations, alphas, place in (
        (exact_family(), exact, at_exact),
        (central("truncated"), truncated, at_truncated),
    ):
        found = run(equations, ecc)
        assert_allclose(deviation(found, ecc)[1:5], alphas, rtol=2e-6, atol=2e-11)
        assert_allclose((found["x"][-1], found["y"][-1]), place, atol=2e-8)
        assert np.ptp(found["x"] * found["y_dot"] - found["y"] * found["x_dot"]) < 1e-11
    assert_allclose(deviation(run(central("none"), ecc), ecc)[1:5], none, rtol=1e-6, atol=2e-9)


@pytest.mark.parametrize("ecc", TABLE)
def test_the_exact_law_gives_the_exact_decay(ecc):
    found = run(exact_family(), ecc)
    first, rate = 0.05 * (1 + ecc), -0.02 * (1 + ecc)
    wanted = (2 * first + rate) * np.exp(-found.times) - (first + rate) * np.exp(-2 * found.times)
    assert_allclose(deviation(found, ecc), wanted, atol=1e-10)


def test_unstabilised_the_deviation_never_decays():
    for ecc, (_, _, _, largest) in TABLE.items():
        found = run(central("none"), ecc, at=np.linspace(0, 20, 4001))
        assert np.abs(deviation(found, ecc)).max() == pytest.approx(largest, abs=2e-4)


def test_with_a_wrong_c_there_is_a_permanent_error():
    found = run(central("truncated"), 0.5, at=np.linspace(20, 40, 2001), momentum=1.0)
    alpha = deviation(found, 0.5)
    assert (alpha.min(), alpha.max()) == pytest.approx((0.011141, 0.116158), abs=2e-6)


def test_the_areal_law_is_attracting_with_b1():
    found = run(exact_family(1.0), 0.5, momentum=1.0)
    turning = found["x"] * found["y_dot"] - found["y"] * found["x_dot"]
    assert_allclose(turning - 1, 0.075 * np.exp(-found.times), atol=1e-10)
    assert turning[1] - 1 == pytest.approx(2.75909581e-2, abs=1e-10)


def test_explicit_euler_needs_b1_to_keep_the_momentum():
    start = {x: -2 / 3, y: 0, x.rate: 0, y.rate: -1.5}
    worst = {}
    for name, equations in (("b1", exact_family(1.0)), ("B=0", exact_family()), ("none", central("none"))):
        found = hf.simulate(
            equations,
            hf.Euler,
            step=1e-3,
            duration=50,
            start=start,
            start_policy="keep",
            parameters={"ecc": 0.5, "c": 1},
        )
        turning = found["x"] * found["y_dot"] - found["y"] * found["x_dot"]
        worst[name] = (np.abs(deviation(found, 0.5)).max(), np.abs(turning - 1).max())
    assert worst["b1"] == pytest.approx((1.703705e-3, 2.098853e-3), rel=1e-5)
    assert worst["B=0"] == pytest.approx((1.789762e-3, 3.532349e-2), rel=1e-5)
    assert worst["none"] == pytest.approx((1.018868e-1, 2.804548e-2), rel=1e-5)
