"""hf.lyapunov: V of the deviations and of the motion, its rate, and the label of each sign (docs/theory, 2.10)."""

from functools import cache
from math import factorial

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import holdfast as hf
from holdfast.stability.theory.state_function import StateFunction

x, y = hf.coordinates("x y")
t = hf.time
ROD = hf.deviations("rod")


@cache
def pendulum(law=None):
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    law = hf.SpringDamper(stiffness=4, damping=3) if law is None else law
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 1}, run=hf.Run(scheme="rk4", step=0.01, duration=2)))


def varying(stiffness, damping=4):
    return pendulum(hf.SpringDamper(stiffness=stiffness, damping=damping))


NEAR = {x: (-1.2, 1.2), y: (-1.2, 1.2), x.rate: (-6, 6), y.rate: (-6, 6)}


# ---------------------------------------------------------------- constant coefficients


def test_a_constant_form_is_proved_for_all_states():
    """V = 3y² + 4yw + 3w² falls exactly as −4/3 V for k = 1, b = 4/3 (theory: l₁ = 1, l₂ = 5)."""
    equations = pendulum(hf.gains_from((3, 4, 3)).law("rod"))
    found = hf.lyapunov(equations, 3 * ROD**2 + 4 * ROD * ROD.rate + 3 * ROD.rate**2)
    assert found.positive.label == found.decreasing.label == "proved"
    assert found.positive
    assert found.decreasing
    assert found.region == {}
    assert "for all states and times" in str(found.decreasing)
    for number, wanted in ((found.positive.numbers["l1"], 1), (found.decreasing.numbers["rate"], 4 / 3)):
        assert wanted * (1 - 1e-8) < number < wanted  # what is proved is a little less than what is true
    assert 5 < found.positive.numbers["l2"] < 5 * (1 + 1e-8)
    assert (found.function.l1, found.function.l2) == pytest.approx((1, 5), abs=1e-12)
    assert found.function.exact


def test_a_matrix_is_as_good_as_an_expression():
    one = hf.lyapunov(pendulum(), 3 * ROD**2 + ROD * ROD.rate + ROD.rate**2)
    other = hf.lyapunov(pendulum(), [[6, 1], [1, 2]])
    assert sp.expand(one.V - other.V) == 0
    assert dict(one.decreasing.numbers) == dict(other.decreasing.numbers)
    letters = hf.lyapunov(pendulum(), sp.Matrix([[6 + x**2, 1], [1, 2]]), NEAR)
    assert letters.matrix == sp.Matrix([[6 + x**2, 1], [1, 2]])
    with pytest.raises(hf.BadRequest, match="symmetric matrix of 2 rows"):
        hf.lyapunov(pendulum(), [[6, 1], [0, 2]])


@given(st.floats(0.1, 20), st.floats(0.1, 20), st.floats(-3, 3), st.floats(0.1, 5))
@settings(max_examples=40, deadline=None)
def test_a_proved_sign_is_the_sign_of_the_eigenvalues(stiffness, damping, cross, weight):
    """Against the eigenvalues of GH + HᵀG, for constant laws and forms of all kinds."""
    equations = pendulum().with_law(hf.SpringDamper(stiffness=stiffness, damping=damping))
    G = np.array([[2.0, cross], [cross, weight]])
    found = hf.lyapunov(equations, G.tolist())
    H = np.array([[0, 1], [-stiffness, -damping]])
    sizes, slopes = np.linalg.eigvalsh(G), np.linalg.eigvalsh(G @ H + H.T @ G)
    if found.positive.label == "proved":
        assert sizes[0] > 0
    if found.positive.label == "refuted":
        assert sizes[0] < 0
    if found.decreasing.label == "proved":
        assert slopes[-1] < 0
    if found.decreasing.label == "refuted":
        assert slopes[-1] > 0
    if sizes[0] > 1e-6 and abs(slopes[-1]) > 1e-6:
        assert found.positive.label == "proved"
        assert found.decreasing.label == ("proved" if slopes[-1] < 0 else "refuted")


def test_a_semidefinite_rate_is_neither_proved_nor_refuted():
    """The energy of the deviations, 4y² + w²: V̇ = −6w², zero at w = 0."""
    found = hf.lyapunov(pendulum(), 4 * ROD**2 + ROD.rate**2)
    b, k = (pendulum().display.symbols[f"law.{name}.rod"] for name in ("damping", "stiffness"))
    assert sp.expand(found.rate.subs({b: 3, k: 4}) + 6 * ROD.rate**2) == 0
    assert found.decreasing.label == "undecided"
    assert found.decreasing.holds is None
    assert not found.decreasing


# ---------------------------------------------------------------- over a region


def test_a_varying_law_is_proved_over_its_region():
    """k = 9/2 + x/2 in [4, 5] over |x| ≤ 1: one V for all of them, by the corners of the interval."""
    V = [[6.0, 1.0], [1.0, 1.0]]
    found = hf.lyapunov(varying(sp.Rational(9, 2) + x / 2), V, {x: (-1, 1)})
    assert found.decreasing.label == "proved"
    assert found.region == {"x": (-1.0, 1.0)}
    corners = [hf.LyapunovFunction(V, [[0, 1], [-k, -4]]).rate for k in (4, 5)]
    assert 0.85 * min(corners) < found.decreasing.numbers["rate"] <= min(corners)
    with pytest.raises(hf.BadRequest, match="constant coefficients"):
        _ = found.function


def test_a_region_that_spoils_the_sign_refutes_it():
    found = hf.lyapunov(varying(sp.Rational(9, 2) + x / 2), [[6.0, 1.0], [1.0, 1.0]], {x: (-30, 1)})
    assert found.decreasing.label == "refuted"
    assert "x = -" in found.decreasing.reason


def test_what_the_region_does_not_name_is_taken_from_the_problems_run():
    found = hf.lyapunov(varying(5 + x), [[6.0, 1.0], [1.0, 1.0]])
    low, high = found.region["x"]
    assert low < -1 < 1 < high
    assert "the problem's run" in found.note
    idle = hf.derive(hf.Problem(varying(5 + x).problem.system, varying(5 + x).problem.program, start={x: 1}))
    with pytest.raises(hf.BadRequest, match="depends on x, of which the region says nothing"):
        hf.lyapunov(idle, [[6.0, 1.0], [1.0, 1.0]])


def test_a_form_with_the_state_and_time_in_it_is_enclosed_along_the_motion():
    """Against a grid: V̇/V at many states of the region is never above what is proved."""
    V = (6 + sp.cos(x) + t / 10) * ROD**2 + ROD * ROD.rate + (1 + y.rate**2 / 100) * ROD.rate**2
    region = {x: (0.9, 1.1), y: (-0.1, 0.1), x.rate: (-0.2, 0.2), y.rate: (-0.2, 0.2), t: (0, 1)}
    equations = pendulum()
    found = hf.lyapunov(equations, V, region, effort=8)
    assert found.decreasing.label == "proved"
    rate = found.decreasing.numbers["rate"]
    random = np.random.default_rng(5)
    for _ in range(200):
        state = random.uniform([0.9, -0.1, -0.2, -0.2], [1.1, 0.1, 0.2, 0.2])
        at = found.at(state, random.uniform(0, 1))
        assert at.derivative <= -rate * at.value + 1e-15
        size = equations.evaluate(state).norm() ** 2
        assert found.positive.numbers["l1"] * size <= at.value <= found.positive.numbers["l2"] * size


def test_a_nonlinear_law_is_proved_within_limits_of_its_deviations():
    """w' = −4y − 3w − w³ and V of fourth degree: mean values over the segment from 0 to z."""
    cubic = pendulum(hf.GeneralLaw({"rod": -4 * ROD - 3 * ROD.rate - ROD.rate**3}))
    V = 6 * ROD**2 + ROD * ROD.rate + ROD.rate**2 + ROD**4
    limits = {"y_rod": (-0.2, 0.2), "w_rod": (-0.2, 0.2)}
    found = hf.lyapunov(cubic, V, limits)
    assert found.decreasing.label == "proved"
    rate = found.decreasing.numbers["rate"]
    function, slope = sp.lambdify((ROD, ROD.rate), V), sp.lambdify((ROD, ROD.rate), found.rate)
    grid = np.linspace(-0.2, 0.2, 41)
    for a in grid:
        for b in grid:
            assert slope(a, b) <= -rate * function(a, b) + 1e-15
    quadratic = sp.Matrix([[ROD, ROD.rate]]) * found.rate_matrix * sp.Matrix([ROD, ROD.rate])
    assert sp.expand(found.rate - quadratic[0] - found.rest) == 0
    assert sp.Poly(found.rest, ROD, ROD.rate).monoms()[-1] != (0, 0)
    assert all(sum(powers) >= 3 for powers in sp.Poly(found.rest, ROD, ROD.rate).monoms())


def test_without_a_function_one_is_sought_for_the_whole_region():
    """k in [4, 5], b = 4: a common V exists, and what was found by samples is then proved."""
    found = hf.lyapunov(varying(sp.Rational(9, 2) + x / 2), region={x: (-1, 1)})
    assert found.decreasing.label == "proved"
    with pytest.raises(hf.BadRequest, match="no V was found"):
        hf.lyapunov(varying(x), region={x: (-1, 1)})


# ---------------------------------------------------------------- what is never proved


def test_a_function_that_branches_is_never_proved():
    """y² − 2|y| has the second derivatives of a positive form, and is negative near 0."""
    for V in (ROD**2 + ROD.rate**2 - 2 * sp.Abs(ROD), 6 * ROD**2 + ROD * ROD.rate + ROD.rate**2 + ROD**2 * sp.Abs(ROD)):
        found = hf.lyapunov(pendulum(), V, NEAR)
        assert "proved" not in (found.positive.label, found.decreasing.label)
        assert "V branches" in found.positive.reason


def test_a_law_that_branches_is_never_proved():
    law = hf.GeneralLaw({"rod": -4 * ROD - 3 * ROD.rate - sp.Abs(ROD.rate) * ROD.rate})
    found = hf.lyapunov(pendulum(law), [[12, 1], [1, 2]], {"y_rod": (-1, 1), "w_rod": (-1, 1)})
    assert found.decreasing.label != "proved"
    assert "the law branches" in found.decreasing.reason


@pytest.mark.parametrize(
    ("V", "match"),
    [
        (1 + ROD**2, "does not vanish"),
        (ROD + ROD**2 + ROD.rate**2, "first degree in y_rod"),
        (sp.sin(ROD.rate) + ROD**2, "first degree in w_rod"),
        (sp.S.Zero, "contains no deviation"),
        (x**2, "does not vanish"),
    ],
)
def test_functions_without_a_sign_near_the_program_are_refused(V, match):
    with pytest.raises(hf.BadRequest, match=match):
        hf.lyapunov(pendulum(), V)


def test_a_function_that_leaves_out_a_coupled_constraint_decides_nothing():
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    law = hf.SpringDamper(stiffness={"a": 1, "b": 1, "a.b": 1}, damping=2)
    program = hf.Program(holonomic={"a": x, "b": y}, law=law)
    found = hf.lyapunov(hf.derive(hf.Problem(system, program)), hf.deviations("a") ** 2 + hf.deviations("a").rate ** 2)
    assert found.decreasing.label == "undecided"
    assert "depends on the deviation of b" in found.decreasing.reason


def test_noise_is_refused():
    system = hf.System(coordinates=x, kinetic=x.rate**2 / 2, noise={"wind": {x: 0.1}})
    program = hf.Program(holonomic={"home": x}, controls={"F": {x: 1}}, law=hf.critically_damped(2))
    with pytest.raises(hf.BadRequest, match="Ito"):
        hf.lyapunov(hf.derive(hf.Problem(system, program)), hf.deviations("home") ** 2)


# ---------------------------------------------------------------- formulas


def test_the_rate_is_the_derivative_along_the_motion():
    """V̇ by SymPy's chain rule, with letters for gains, against the graph's: zero difference."""
    V = (3 + x * y.rate) * ROD**2 + (y + t) * ROD * ROD.rate + (1 + x.rate**2) * ROD.rate**2
    found = hf.lyapunov(pendulum(), V, NEAR | {t: (0, 1)}, effort=0.1)
    Y = pendulum().demand[0]
    along = {t: 1, x: x.rate, y: y.rate, x.rate: x.acceleration, y.rate: y.acceleration, ROD: ROD.rate, ROD.rate: Y}
    by_hand = sum(V.diff(symbol) * rate for symbol, rate in along.items())
    assert sp.expand(found.rate - by_hand) == 0
    assert found.rest != 0
    assert found.latex().count("V_3 &= ") == 1  # what is of third order is written with the rest


def test_coefficients_are_those_of_the_papers():
    """2V = u y² + 2v yw + ω w²: u' = ½ Du + vK, v' = u + Dv + vB + Kω, ω' = ½ Dω + v + ωB (s', p', l' elsewhere)."""
    u, v, omega = 4 + x**2, y, 2 + sp.cos(t)
    V = (u * ROD**2 + 2 * v * ROD * ROD.rate + omega * ROD.rate**2) / 2
    found = hf.lyapunov(pendulum(), V, NEAR | {t: (0, 1)}, effort=0.1)
    K, B = -pendulum().display.symbols["law.stiffness.rod"], -pendulum().display.symbols["law.damping.rod"]
    along = lambda e: e.diff(t) + e.diff(x) * x.rate + e.diff(y) * y.rate  # noqa: E731
    cross = u + along(v) + v * B + K * omega
    wanted = sp.Matrix([[along(u) / 2 + v * K, cross / 2], [cross / 2, along(omega) / 2 + v + omega * B]])
    assert sp.expand(found.rate_matrix - wanted) == sp.zeros(2, 2)
    assert found.matrix == sp.Matrix([[u, v], [v, omega]])
    assert found.rest == 0
    assert "V_3" not in found.latex()
    at = found.at({x: 0.9, y: 0.3, x.rate: 0.1, y.rate: 0.2}, 0.5)
    numbers = {x: 0.9, y: 0.3, x.rate: 0.1, y.rate: 0.2, t: 0.5, -K: 4, -B: 3}
    assert_allclose(at.derivative_matrix, np.array(found.rate_matrix.subs(numbers).tolist(), dtype=float), rtol=1e-12)


def test_sylvesters_minors_come_in_letters_and_decide_the_signs():
    """For V = 3y² + 4yw + 3w²: 6 and 20; 4k and 24bk − 16k − (3 − 2b − 3k)², positive at b = 4/3, k = 1."""
    found = hf.lyapunov(pendulum(), 3 * ROD**2 + 4 * ROD * ROD.rate + 3 * ROD.rate**2)
    k, b = (pendulum().display.symbols[f"law.{name}.rod"] for name in ("stiffness", "damping"))
    sizes, slopes = found.minors
    assert sizes == (6, 20)
    assert sp.expand(slopes[0] - 4 * k) == 0
    assert sp.expand(slopes[1] - (4 * k * (6 * b - 4) - (3 - 2 * b - 3 * k) ** 2)) == 0
    for stiffness, damping in ((1, 4 / 3), (4, 3), (0.1, 5), (9, 0.5)):
        numbers = [float(minor.subs({k: stiffness, b: damping})) for minor in slopes]
        law = hf.SpringDamper(stiffness=stiffness, damping=damping)
        judged = hf.lyapunov(pendulum().with_law(law), found.V).decreasing.label
        assert judged == ("proved" if min(numbers) > 0 else "refuted")


def test_text_latex_and_data_say_the_same():
    found = hf.lyapunov(pendulum(), 3 * ROD**2 + ROD * ROD.rate + ROD.rate**2)
    assert "V falls: proved" in found.summary()
    assert r"\dot V" in found.latex()
    data = found.to_dict()
    assert data["decreasing"]["label"] == "proved"
    assert data["deviations"] == ["y_rod", "w_rod"]
    assert "exp(-" in str(found)


def test_the_series_along_a_run_is_that_of_the_state_function():
    run = hf.simulate(pendulum(), hf.Euler, step=0.01, duration=1)
    found = hf.lyapunov(pendulum(), 3 * ROD**2 + ROD * ROD.rate + ROD.rate**2)
    series = found.along(run)
    assert_allclose(series.values, StateFunction(pendulum(), found.V).along(run).values)
    assert series.deviations.shape == (101, 2)


# ---------------------------------------------------------------- letters where numbers are needed


def test_a_matrix_with_letters_is_refused_in_words():
    k = sp.Symbol("k")
    with pytest.raises(hf.BadRequest, match="P contains k"):
        hf.LyapunovFunction(sp.Matrix([[k, 0], [0, 1]]), sp.Matrix([[0, 1], [-1, -1]]))
    with pytest.raises(hf.BadRequest, match="H contains k"):
        hf.LyapunovFunction.of(sp.Matrix([[0, 1], [-k, -1]]))
    with pytest.raises(hf.BadRequest, match="not made of numbers"):
        hf.spectral_limit(hf.RK4, [[0, 1], [-1]])


# ---------------------------------------------------------------- steps along a varying law


def test_the_condition_of_a_constant_law_is_that_of_its_propagator():
    """One constraint with k = 25, b = 10: ‖R‖_P = 0.96002287 (Euler), 0.96076917 (two-stage), 0.96076098 (RK4)."""
    equations = pendulum().with_law(hf.SpringDamper(stiffness=25, damping=10))
    norm = hf.Norm(np.array([[165.5, 26.5], [26.5, 4.5]]))
    for scheme, size in ((hf.Euler, 0.96002287), (hf.two_stage("3/4"), 0.96076917), (hf.RK4, 0.96076098)):
        found = hf.step_condition(equations, scheme, 0.01, V=norm)
        assert_allclose(found.contraction, size, atol=1e-8)
        assert found.label == "for all states"
        assert found.holds is None
    assert hf.step_condition(equations, hf.RK4, 0.01, V=norm, defect=0.03).holds is True
    assert hf.step_condition(equations, hf.RK4, 0.01, V=norm, defect=0.05).holds is False
    flat = hf.step_condition(equations, hf.Euler, 0.01, V=hf.Norm(np.eye(2)))
    assert flat.holds is False
    assert "cannot hold" in str(flat)


def test_the_rates_of_a_varying_law_are_taken_along_the_motion():
    """H', H'' of k(x, v, t) against finite differences of H along an accurate run, and H_1 … H_4 by their products."""
    equations = varying(25 + 5 * sp.sin(x) + t**2, 10 + x.rate)
    found = hf.step_condition(equations, hf.RK4, 0.01)
    fine = hf.simulate(equations, hf.DOP853, tolerance=1e-13, duration=0.04, at=np.linspace(0, 0.04, 5))
    H = [equations.evaluate(fine.y[:, k], fine.times[k]).deviation_matrix for k in range(5)]
    h = 0.01
    first = (-25 * H[0] + 48 * H[1] - 36 * H[2] + 16 * H[3] - 3 * H[4]) / (12 * h)
    second = (35 * H[0] - 104 * H[1] + 114 * H[2] - 56 * H[3] + 11 * H[4]) / (12 * h**2)
    H1, H2, H3, H4 = found.matrices
    assert_allclose(H1, H[0], rtol=1e-12)
    assert_allclose(H2, first + H1 @ H1, atol=1e-3)
    assert_allclose(H3, second + 2 * first @ H1 + H1 @ first + H1 @ H1 @ H1, atol=0.2)
    assert H4.shape == (2, 2)
    assert found.label == "checked at 1 state"


def test_the_taylor_matrices_have_the_order_of_their_scheme():
    """‖U(τ) − I − Σ τˢ/s! H_s‖ falls by 2⁵ with a halved step, U by SciPy from u' = H(x(t), t)u along the motion."""
    equations = varying(25 + 5 * sp.sin(x) + t**2, 10 + x.rate)
    begin = np.array([0.9, 0.2, 0.4, -0.3])
    stated = {x: 0.9, y: 0.2, x.rate: 0.4, y.rate: -0.3}

    def slope(time, row):
        at = equations.evaluate(row[:4], time)
        return [*row[2:4], *at.accelerations, *(at.deviation_matrix @ row[4:].reshape(2, 2)).ravel()]

    moved = hf.derive(hf.Problem(equations.problem.system, equations.problem.program, start=stated))
    matrices = hf.step_condition(moved, hf.RK4, 0.01).matrices
    errors = []
    for step in (0.04, 0.02):
        first = [*begin, 1, 0, 0, 1]
        flow = solve_ivp(slope, (0, step), first, method="DOP853", rtol=1e-13, atol=1e-15).y[4:, -1].reshape(2, 2)
        taylor = np.eye(2) + sum(step**s / factorial(s) * H for s, H in enumerate(matrices, 1))
        errors.append(np.linalg.norm(flow - taylor))
    assert_allclose(np.log2(errors[0] / errors[1]), 5, atol=0.15)


def test_a_step_along_a_run_is_judged_in_one_norm_for_all_its_states():
    equations = varying(25 + 5 * sp.sin(x), 10)
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=2)
    found = hf.step_condition(equations, hf.two_stage("3/4"), 0.01, run=run)
    assert found.contracts
    assert found.count == 201
    again = hf.step_condition(equations, hf.two_stage("3/4"), 0.01, run=run, V=found.norm)
    assert again.contraction == pytest.approx(found.contraction)
    with pytest.raises(hf.BadRequest, match="another system, program or law"):
        hf.step_condition(pendulum(), hf.RK4, 0.01, run=run)
    with pytest.raises(hf.BadRequest, match="of order 4 at most"):
        hf.step_condition(equations, hf.DOP853, 0.01)


def test_one_norm_serves_an_interval_of_stiffness():
    """H = [[0, 1], [−k, −4]], k in [4, 5], Euler h = 0.05, P of Lyapunov's equation (Q = I) at k = 4.5: 0.9846528."""
    norm = hf.LyapunovFunction.of([[0, 1], [-4.5, -4]], np.eye(2) / 2).norm
    sizes = []
    for place in (-1.0, 1.0):
        equations = varying(sp.Rational(9, 2) + x / 2)
        stated = hf.derive(hf.Problem(equations.problem.system, equations.problem.program, start={x: place}))
        sizes.append(hf.step_condition(stated, hf.Euler, 0.05, V=norm).contraction)
    assert_allclose(max(sizes), 0.9846528, atol=5e-8)


def test_misuse_is_told_in_words():
    found = hf.lyapunov(pendulum(), [[6, 1], [1, 2]])
    for wrong, match in (
        (lambda: hf.lyapunov(3, ROD**2), "equations belong here, not int"),
        (lambda: hf.lyapunov(pendulum(), ROD**2 + ROD.rate**2, effort="long"), "effort = 'long'"),
        (lambda: hf.lyapunov(pendulum(), ROD**2, {"z": (0, 1)}), "unknown quantity 'z'"),
        (lambda: hf.lyapunov(pendulum(), ROD**2, {x: 3}), "not a range"),
        (lambda: hf.lyapunov(pendulum(), ROD**2, {x: (1, 0)}), "empty"),
        (lambda: hf.step_rule(3), "takes V with its law"),
        (lambda: hf.step_condition("pendulum", hf.RK4, 0.1), "equations belong here"),
        (lambda: hf.step_condition(pendulum(), hf.RK4, -0.1), "a step of -0.1"),
        (lambda: hf.step_condition(pendulum(), hf.RK4, 0.1, constraints=("pin",)), "no constraint 'pin'"),
        (lambda: hf.step_condition(pendulum(), hf.RK4, 0.1, V=hf.Norm(np.eye(3))), "speaks of 3 deviations"),
        (lambda: hf.theorems(found, ROD**2, 0.1), "a run that knows its problem"),
    ):
        with pytest.raises(hf.BadRequest, match=match):
            wrong()
