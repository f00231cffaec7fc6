"""First integrals at their start values, as rows of a program in one word."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, y = hf.coordinates("x y")
DISTANCE = sp.sqrt(x**2 + y**2)
AREAL = x * y.rate - y * x.rate
LAPLACE = (y.rate * AREAL - x / DISTANCE, -x.rate * AREAL - y / DISTANCE)
ECCENTRICITY = sp.Rational(3, 5)  # the eccentricity
SUN = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=-1 / DISTANCE)
PAIR = {"energy": hf.keep("energy"), "area": hf.keep(AREAL)}
ALL = PAIR | {"axis": hf.keep(LAPLACE[0]), "across": hf.keep(LAPLACE[1])}


def perihelion(e):
    return {x: 1 - e, y.rate: sp.sqrt((1 + e) / (1 - e))}


def kepler(kept, e=ECCENTRICITY, rate=1):
    program = hf.Program(nonholonomic=kept, law=hf.critically_damped(rate))
    return hf.derive(hf.Problem(SUN, program, start=perihelion(e)))


def error(run, e):
    """The distance from the place by Kepler's equation E − e sin E = t."""
    e, time = float(e), run.times[-1]
    angle = time
    for _ in range(100):
        angle -= (angle - e * np.sin(angle) - time) / (1 - e * np.cos(angle))
    return np.hypot(run["x"][-1] - np.cos(angle) + e, run["y"][-1] - np.sqrt(1 - e**2) * np.sin(angle))


@pytest.mark.parametrize("e", [sp.Rational(3, 10), sp.Rational(3, 5)])
@pytest.mark.parametrize("kept", [PAIR, ALL], ids=["pair", "all"])
@pytest.mark.parametrize("rate", [1, 5, 20])
def test_an_orbit_is_better_at_every_step_or_says_that_it_failed(e, kept, rate):
    held, free = kepler(kept, e, rate), kepler({}, e)
    for step in (0.08, 0.04, 0.02, 0.01, 0.005):
        run = hf.simulate(held, hf.RK4, step=step, duration=100)
        plain = hf.simulate(free, hf.RK4, step=step, duration=100)
        assert not run.success or error(run, e) < error(plain, e), step
        assert run.success or rate * step > 0.5, step  # a law too fast for the step, which the outcome names


@pytest.mark.parametrize("kept", [PAIR, ALL], ids=["pair", "all"])
@pytest.mark.parametrize("step", [0.08, 0.04, 0.01])
def test_projection_conserves_all_of_them_to_rounding(kept, step):
    e = sp.Rational(3, 5)
    run = hf.simulate(kepler(kept, e), hf.RK4, step=step, duration=20, project=True)
    assert run.success
    assert np.abs(run.deviation_rate).max() < 2e-15
    plain = hf.simulate(kepler({}, e), hf.RK4, step=step, duration=20)
    assert error(run, e) < error(plain, e) / 3


def test_energy_and_momenta_are_known_by_name():
    m = hf.parameters("m")
    bead = hf.System(coordinates=(x, y), kinetic=m * (1 + x**2) * y.rate**2 / 2 + x.rate**2 / 2, parameters={m: 3})
    program = hf.Program(nonholonomic={"spin": hf.keep("p_y"), "all": hf.keep("energy")}, law=hf.critically_damped(1))
    made = hf.derive(hf.Problem(bead, program, start={x: 1, y.rate: 2}))
    run = hf.simulate(made, hf.RK4, step=0.01, duration=1)
    assert run["keep_spin"][0] == 12
    assert run["keep_all"][0] == 12


def test_a_function_of_positions_is_a_holonomic_row():
    program = hf.Program(holonomic={"rod": hf.keep(DISTANCE)}, law=hf.critically_damped(3))
    falling = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    made = hf.derive(hf.Problem(falling, program, start={x: 3, y: 4}))
    assert made.problem.program.holonomic
    run = hf.simulate(made, hf.RK4, step=0.01, duration=1)
    assert run["keep_rod"][0] == 5
    assert np.abs(run["y_rod"]).max() < 1e-6


def test_each_start_keeps_its_own_value_to_the_last_bit():
    made = kepler(ALL)
    many = hf.ensemble(made, hf.RK4, cases={"x": [0.4, 0.7, 1.0]}, step=0.01, duration=2)
    for case, place in enumerate([0.4, 0.7, 1.0]):
        one = hf.simulate(made, hf.RK4, step=0.01, duration=2, start={x: place})
        assert one["keep_energy"][0] == 2 - 1 / place
        assert one["w_energy"][0] == 0
        assert (many[case]["x"] == one["x"]).all()


def test_at_another_state_the_deviation_is_that_from_the_start():
    assert_allclose(kepler(PAIR).evaluate({x: 0.5}).deviation_rate, [0.5, 0.2], atol=1e-15)


def test_a_stated_value_is_kept_instead():
    problem = hf.Problem(SUN, hf.Program(keep={"area": AREAL}, law=hf.critically_damped(2)), start={x: 1, "y_dot": 1})
    run = hf.simulate(hf.derive(problem), hf.RK4, step=0.01, duration=9, start={"keep_area": 1.1}, start_policy="keep")
    assert_allclose(run["w_area"][0], -0.1)
    assert_allclose(run["x"][-1] * run["y_dot"][-1] - run["y"][-1] * run["x_dot"][-1], 1.1, atol=1e-6)


def test_it_has_a_file_and_another_law():
    problem = kepler(ALL).problem
    text = hf.dumps(problem)
    assert 'energy = "energy"' in text
    assert "keep_" not in text
    assert hf.loads(text) == problem
    assert hf.derive(hf.loads(text)).fingerprint == kepler(ALL).fingerprint
    assert problem.with_law(hf.critically_damped(2)).program.keep == problem.program.keep


def test_integrals_that_are_none_of_the_motion_are_refused_where_they_repeat_each_other():
    twice = {"one": hf.keep(x.rate * y), "two": hf.keep(2 * x.rate * y)}
    with pytest.raises(hf.HoldfastError, match="one"):
        kepler(twice)


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(hf.BadStatement, match="no integral is called 'momentum'") as refused:
        kepler({"p": hf.keep("momentum")})
    assert "energy, p_x, p_y" in refused.value.fix


def test_no_proof_is_claimed_for_integrals_that_are_eased():
    certificate = hf.certify(kepler(ALL), hf.RK4, step=0.01, duration=1, effort=1)
    assert certificate.label is not hf.Label.proved
