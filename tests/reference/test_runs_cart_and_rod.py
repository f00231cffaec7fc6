"""Runs of the cart and rod, Mukharlyamov & Gorshkov 2015; docs/theory, section 1.3."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from scipy.linalg import expm

import holdfast as hf
from tests.reference.shipped import derived

TIMES = [0, 1, 2, 5, 10, 20, 40, 60]
H = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, -0.3, 0], [0, -0.05, 0, -0.1]])  # of (x, φ − π/2, v, w)
U0 = np.array([0.1, np.pi / 6, 0, 0])


def run(**changes):
    return hf.simulate(derived("cart_rod"), hf.Euler, **({"step": 0.01, "duration": 60} | changes))


def deviations(of):
    return np.array([of["y_home"], of["y_upright"], of["w_home"], of["w_upright"]]).T


def powers(step, count):
    """(I + hH)^k u0 for k = 0, 1, ..., count."""
    rows = [U0]
    for _ in range(count):
        rows.append(rows[-1] + step * (H @ rows[-1]))
    return np.array(rows)


def test_the_table_of_the_euler_run():
    table = run(at=TIMES)
    x = [0.1, 0.0584133968, -0.0193688707, 0.0042879256, -0.0224282401, 0.0038505083, -0.0000558792, -0.0000151056]
    phi = [
        2.0943951024,
        2.0818986194,
        2.0463510924,
        1.8425535166,
        1.4483865164,
        1.4625309755,
        1.5268301620,
        1.5967635317,
    ]
    force = [-1.0773275079, -0.3807635933, 0.4600877022, -0.1971489975, 0.1984134650, -0.0288712803, -0.0016993619,
             0.0011801506]  # fmt: skip
    torque = [-4.8533040447, -4.7974188623, -4.5526369921, -2.6224160124, 1.1949596462, 1.0641504487, 0.4353718775,
              -0.2560578986]  # fmt: skip
    for name, expected in {"x": x, "phi": phi, "F": force, "M": torque}.items():
        assert_allclose(table[name], expected, rtol=0, atol=6e-11, err_msg=name)


def test_the_table_of_the_exact_law():
    x = [0.1, 0.0582283911, -0.0189736745, 0.0038406139, -0.0214821554, 0.0036025405, -0.0000317458, -0.0000108343]
    phi = [
        2.0943951024,
        2.0817830980,
        2.0461589945,
        1.8424206017,
        1.4489902817,
        1.4626577736,
        1.5274779046,
        1.5964645215,
    ]
    table = hf.simulate(derived("cart_rod"), hf.DOP853, tolerance=1e-12, duration=60, at=TIMES)
    assert_allclose(table["x"], x, rtol=0, atol=1e-10)
    assert_allclose(table["phi"], phi, rtol=0, atol=1e-10)


def test_a_start_at_three_quarters_of_pi():
    table = run(at=[0, 1, 5, 10, 20], start={"phi": 3 * sp.pi / 4})
    assert_allclose(table["phi"][1:], [2.3374497657, 1.9784321115, 1.3871816112, 1.4083982998], rtol=0, atol=6e-11)
    assert_allclose(
        [table["F"][0], table["M"][0], table["M"][3]], [-1.0722319816, -6.9183667229, 1.7965221060], atol=6e-11
    )
    assert_allclose(table["x"], run(at=[0, 1, 5, 10, 20])["x"], rtol=0, atol=1e-14)


def test_euler_on_the_full_equations_is_the_matrix_power_to_rounding():
    # 5.3e-15, where the controls come out of an elimination instead of (27), (28)
    assert np.abs(deviations(run()) - powers(0.01, 6000)).max() < 6e-15


def test_the_error_of_euler_is_of_first_order():
    whole = run()
    exact = np.array([expm(H * t) @ U0 for t in whole.times[::10]])
    error = np.abs(deviations(whole)[::10] - exact).max(axis=0)
    assert_allclose(error[:2], [1.2569e-3, 9.351e-4], rtol=2e-3)  # sampled each tenth step
    for step, expected in {0.01: (-9.4608e-4, -6.0377e-4), 0.005: (-4.6726e-4, -3.0179e-4)}.items():
        at_ten = deviations(run(step=step, duration=10, at=[10]))[0]
        assert_allclose((at_ten - expm(H * 10) @ U0)[:2], expected, rtol=1e-4)


@pytest.mark.parametrize(("step", "low", "high"), [(0.299, 0.06, 0.07), (0.301, 0.15, 0.17), (0.31, 9, 11)])
def test_the_step_limit_is_three_tenths(step, low, high):
    """After 3000 steps |x| is 6.5e-2 and falling, 1.6e-1 and growing, 1.0e1."""
    cart = run(step=step, duration=3000 * step)
    last = np.abs(cart["x"][-20:]).max()
    earlier = np.abs(cart["x"][-1500:-1480]).max()
    assert low < last < high
    assert (last < earlier) == (step < 0.3)
    assert cart.success == (step < 0.31)  # at 0.301 it has hardly begun to grow
    if step == 0.31:
        assert cart.outcome is hf.Outcome.deviation_grew


def by_forces(torque):
    """The cart under given forces, with nothing held: for formulas as they are printed."""
    x, phi = hf.coordinates("x phi")
    m1, m2, l, g = 10, 1, 1, sp.Rational(981, 100)
    v, w = x.rate, phi.rate
    a, b = x + sp.Rational(3, 10) * v, (phi - sp.pi / 2) / 20 + w / 10
    force = m2 * l * sp.sin(phi) * b - m2 * l * w**2 * sp.cos(phi) - (m1 + m2) * a
    moment = torque(m2 * l * g * sp.cos(phi), m2 * l * a * sp.sin(phi), m2 * l**2 * sp.Rational(4, 3) * b)
    rod = m2 * ((v - l * w * sp.sin(phi)) ** 2 + (l * w * sp.cos(phi)) ** 2) / 2 + m2 * l**2 * w**2 / 6
    system = hf.System(
        coordinates=(x, phi),
        kinetic=m1 * v**2 / 2 + rod,
        potential=m2 * g * l * sp.sin(phi),
        forces={x: force, phi: moment},
    )
    return hf.derive(hf.Problem(system, start={x: 0.1, phi: 2 * sp.pi / 3}))


def test_the_printed_torque_does_not_hold_the_rod():
    printed = by_forces(lambda weight, pull, turn: weight - pull + turn)
    mutant = hf.simulate(printed, hf.Euler, step=0.01, duration=10, at=[5, 10])
    assert_allclose(mutant["phi"], [2.252179, 3.807589], rtol=0, atol=6e-7)
    right = by_forces(lambda weight, pull, turn: weight + pull - turn)
    assert_allclose(
        hf.simulate(right, hf.Euler, step=0.01, duration=10, at=[5, 10])["phi"],
        [1.8425535166, 1.4483865164],
        atol=6e-11,
    )


def test_the_coefficient_as_the_scan_shows_it_leaves_the_matrix_power():
    """With 3 instead of 3/2 in (22): off by 1.85e-3."""
    h, count = 0.01, 6000
    state, rows = np.array([0.1, 2 * np.pi / 3, 0.0, 0.0]), powers(0.01, count)
    worst = 0.0
    for k in range(count):
        x, phi, v, w = state
        a, b = x + 0.3 * v, 0.05 * (phi - np.pi / 2) + 0.1 * w
        s, c = np.sin(phi), np.cos(phi)
        F, M = s * b - w**2 * c - 11 * a, 9.81 * c + a * s - 4 / 3 * b
        D = 40 + 1 + 3 * c**2
        vd = (c * (4 * w**2 - 3 * 9.81 * s) + 4 * F + 3 * s * M) / D
        wd = (3 * w**2 * np.sin(2 * phi) - 3 * 9.81 * 11 * c + 3 * s * F + 33 * M) / D
        state = state + h * np.array([v, w, vd, wd])
        worst = max(worst, np.abs(state - [0, np.pi / 2, 0, 0] - rows[k + 1]).max())
    assert worst == pytest.approx(1.85e-3, rel=5e-3)
