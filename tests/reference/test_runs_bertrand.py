"""Bertrand's problem along four conics; docs/theory, section 4.7."""

from functools import cache

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, y = hf.coordinates("x y")
e, p, c0, h = hf.parameters("ecc p c0 h")
r = sp.sqrt(x**2 + y**2)
CONIC, AREAL = r - e * x - p, x * y.rate - y * x.rate - c0
TIMES = [1, 2, 5, 10, 20]

EXACT = {  # eccentricity: h, α at 1, 2, 5, 10, and (x, y) at 20
    0.0: (1.05, [2.53702968e-2, 1.02773535e-2, 5.37673762e-4, 3.63193e-6], (0.43373589, -0.90104005)),
    0.5: (1.075, [3.80554452e-2, 1.54160302e-2, 8.06510643e-4, 5.44790e-6], (0.91891754, -1.13384763)),
    1.0: (1.1, [5.07405936e-2, 2.05547070e-2, 1.07534752e-3, 7.26387e-6], (11.37845207, -4.87410547)),
    1.5: (1.125, [6.34257420e-2, 2.56933837e-2, 1.34418441e-3, 9.07983e-6], (17.38797132, -20.76272736)),
}
TRUNCATED = {
    0.0: ([2.56277362e-2, 1.06118061e-2, 5.75385697e-4, 3.90729e-6], (0.43200767, -0.90186993)),
    0.5: ([3.97055260e-2, 1.67692056e-2, 9.15767720e-4, 6.21832e-6], (0.91234754, -1.13492908)),
    1.0: ([5.53916558e-2, 2.36502225e-2, 1.30070065e-3, 8.84068e-6], (11.37016624, -4.87240521)),
    1.5: ([7.28256583e-2, 3.13548212e-2, 1.73990078e-3, 1.18444e-5], (17.35683683, -20.72788560)),
}
UNHELD = {
    0.0: ([1.06063889e-2, -3.79428997e-2, 4.49405849e-2, -7.43557e-4], 0.054060),
    0.5: ([-2.54646097e-2, -1.23619457e-1, -1.22497762e-1, -1.50736660e-1], 0.174200),
    1.0: ([-8.92122121e-2, -2.70607193e-1, -6.29122317e-1, -9.25679016e-1], 1.000000),
    1.5: ([-1.78887168e-1, -4.76320247e-1, -1.24709103, -2.39295858], 4.522481),
}
START = {x: -p / (1 + e) - 0.05, x.rate: 0.02, y.rate: -(1 + e)}
NUMBERS = {e: 0.5, p: 1, c0: 1, h: 1}


@cache
def held(b1):
    """(5.10): the conic with the roots −1 and −2, the areal velocity with the root −b1."""
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, parameters=NUMBERS)
    law = hf.SpringDamper(stiffness={"conic": 2}, damping={"conic": 3, "areal": b1})
    program = hf.Program(holonomic={"conic": CONIC}, nonholonomic={"areal": AREAL}, law=law)
    return hf.derive(hf.Problem(system, program, start=START, run=hf.Run(start_policy="keep")))


@cache
def central(kind):
    """A central force with nothing held: (5.12), or none, with c = h."""
    pull = h**2 / r**3
    if kind == "truncated":
        pull = pull * (1 - CONIC / p) + 2 * CONIC + 3 * hf.rate(CONIC)
    system = hf.System(
        coordinates=(x, y),
        kinetic=(x.rate**2 + y.rate**2) / 2,
        forces={x: -x * pull / p, y: -y * pull / p},
        parameters=NUMBERS,
    )
    return hf.derive(hf.Problem(system, start=START))


def alpha(run, eccentricity):
    return np.hypot(run["x"], run["y"]) - eccentricity * run["x"] - 1


def exact_law(eccentricity, t):
    a0, r0 = 0.05 * (1 + eccentricity), -0.02 * (1 + eccentricity)
    return (2 * a0 + r0) * np.exp(-t) - (a0 + r0) * np.exp(-2 * t)


@pytest.mark.parametrize("eccentricity", EXACT)
def test_the_exact_law_is_obeyed_to_1e_10(eccentricity):
    run = hf.simulate(
        held(0), hf.DOP853, tolerance=1e-13, duration=20, parameters={e: eccentricity, c0: EXACT[eccentricity][0]}
    )
    assert run.success
    assert np.abs(run["y_conic"] - exact_law(eccentricity, run.times)).max() < 1e-10
    assert np.abs(run["w_areal"]).max() < 1e-11  # h is kept: 1e-12 of it in each unit of time
    late = run.sol([15.0, 20.0])
    size = np.hypot(late[0], late[1]) - eccentricity * late[0] - 1
    assert np.log(size[0] / size[1]) / 5 == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("eccentricity", EXACT)
def test_the_table_of_the_exact_law(eccentricity):
    constant, deviations, place = EXACT[eccentricity]
    run = hf.simulate(
        held(0), hf.DOP853, tolerance=1e-13, duration=20, at=TIMES, parameters={e: eccentricity, c0: constant}
    )
    assert_allclose(run["y_conic"][:3], deviations[:3], rtol=0, atol=6e-11)
    assert run["y_conic"][3] == pytest.approx(deviations[3], abs=6e-11)
    assert_allclose([run["x"][-1], run["y"][-1]], place, rtol=0, atol=6e-9)


@pytest.mark.parametrize("eccentricity", TRUNCATED)
def test_the_table_of_the_truncated_force(eccentricity):
    deviations, place = TRUNCATED[eccentricity]
    given = {e: eccentricity, h: EXACT[eccentricity][0]}
    run = hf.simulate(central("truncated"), hf.DOP853, tolerance=1e-13, duration=20, at=TIMES, parameters=given)
    assert_allclose(alpha(run, eccentricity)[:3], deviations[:3], rtol=0, atol=6e-11)
    assert alpha(run, eccentricity)[3] == pytest.approx(deviations[3], abs=6e-11)
    assert_allclose([run["x"][-1], run["y"][-1]], place, rtol=0, atol=6e-9)


@pytest.mark.parametrize("eccentricity", UNHELD)
def test_the_table_of_the_kepler_force_that_holds_nothing(eccentricity):
    deviations, largest = UNHELD[eccentricity]
    given = {e: eccentricity, h: EXACT[eccentricity][0]}
    run = hf.simulate(central("none"), hf.DOP853, tolerance=1e-13, duration=20, parameters=given)
    found = run.sol([float(t) for t in TIMES])
    assert_allclose(np.hypot(found[0], found[1])[:4] - eccentricity * found[0][:4] - 1, deviations, rtol=0, atol=6e-9)
    fine = run.sol(np.linspace(0, 20, 20001))
    assert np.abs(np.hypot(fine[0], fine[1]) - eccentricity * fine[0] - 1).max() == pytest.approx(largest, abs=6e-7)


def test_an_attracted_areal_velocity_comes_back_exactly():
    """h − 1 = 0.075 e^−t with b1 = 1."""
    run = hf.simulate(held(1), hf.DOP853, tolerance=1e-13, duration=5, at=[1, 5])
    assert_allclose(run["w_areal"], [2.75909581e-2, 5.05346025e-4], rtol=0, atol=6e-11)


@pytest.mark.parametrize(
    ("b1", "conic", "areal"), [(1, 1.703705e-3, 2.098853e-3), (0, 1.789762e-3, 3.532349e-2)], ids=["b1=1", "B=0"]
)
def test_euler_drifts_in_the_areal_velocity_unless_that_is_held_too(b1, conic, areal):
    start = {x: -sp.Rational(2, 3), x.rate: 0, y.rate: -1.5}
    run = hf.simulate(held(b1), hf.Euler, step=1e-3, duration=50, start=start)
    assert np.abs(run["y_conic"]).max() == pytest.approx(conic, rel=1e-6)
    assert np.abs(run["w_areal"]).max() == pytest.approx(areal, rel=1e-6)


def test_euler_under_the_kepler_force_leaves_the_conic():
    start = {x: -sp.Rational(2, 3), x.rate: 0, y.rate: -1.5}
    run = hf.simulate(central("none"), hf.Euler, step=1e-3, duration=50, start=start)
    assert np.abs(alpha(run, 0.5)).max() == pytest.approx(1.018868e-1, rel=1e-6)
    areal = run["x"] * run["y_dot"] - run["y"] * run["x_dot"] - 1
    assert np.abs(areal).max() == pytest.approx(2.804548e-2, rel=1e-6)
