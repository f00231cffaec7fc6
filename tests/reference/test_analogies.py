"""Joined domains, energies that are not quadratic, masses that depend on the position (docs/theory, section 6.2)."""

import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

t = hf.time


def piston_and_line():
    x, Vol = hf.coordinates("x Vol")
    A, pressure = hf.parameters("A pressure")
    system = hf.System(
        coordinates=(x, Vol),
        kinetic=2 * x.rate**2 / 2 + 8 * Vol.rate**2 / 2,
        potential=50 * x**2 / 2,
        dissipation=6 * Vol.rate**2 / 2,
        forces={Vol: pressure},
        parameters={A: 0.5, pressure: 100},
    )
    program = hf.Program(holonomic={"join": Vol - A * x}, law=hf.SpringDamper(stiffness=25, damping=10))
    return hf.derive(hf.Problem(system, program))


def test_piston_and_line_start_with_the_known_pressure():
    at = piston_and_line().evaluate()
    assert at["lambda_join"] == pytest.approx(-50, abs=1e-13)
    assert at["x_ddot"] == pytest.approx(0.5 * 100 / (2 + 0.25 * 8), rel=1e-14)


def test_piston_and_line_move_as_one_equivalent_piston():
    """(m + A² I) x'' + A² R x' + c x = A p, on the program."""
    equations = piston_and_line()
    at = equations.evaluate({"x": 0.7, "Vol": 0.35, "x_dot": -0.4, "Vol_dot": -0.2})
    assert at["x_ddot"] == pytest.approx((50 - 1.5 * -0.4 - 50 * 0.7) / 4, rel=1e-13)


def test_piston_and_line_correct_a_wrong_volume_by_the_law():
    at = piston_and_line().evaluate({"Vol": 0.1})
    assert_allclose(at.jacobian @ at.accelerations, [-2.5], rtol=1e-13)


def test_a_relativistic_mass_is_the_second_derivative_of_its_co_energy():
    x = hf.coordinates("x")
    m = hf.parameters("m")
    equations = hf.derive(
        hf.Problem(
            hf.System(
                coordinates=(x,),
                kinetic=m * (1 - sp.sqrt(1 - x.rate**2)),
                forces={x: 1},
                parameters={m: 1},
            )
        )
    )
    difference = equations.mass_matrix[0] - m * (1 - x.rate**2) ** sp.Rational(-3, 2)
    assert sp.simplify(difference) == 0
    at = equations.evaluate({x.rate: 0.6})
    assert at.accelerations[0] == pytest.approx(0.8**3, rel=1e-14)
    assert at.energy == pytest.approx(0.25, rel=1e-14)  # T = p v − T*, not the co-energy 0.2


def test_a_mass_that_depends_on_position_keeps_its_quadratic_term():
    """L = m (1 + q²) v²/2 − k q²/2: the printed recipe of the paper has the sign of m v² wrong (E3)."""
    q = hf.coordinates("q")
    m, k = hf.parameters("m k")
    system = hf.System(
        coordinates=(q,), kinetic=m * (1 + q**2) * q.rate**2 / 2, potential=k * q**2 / 2, parameters={m: 2, k: 3}
    )
    equations = hf.derive(hf.Problem(system))
    acceleration = equations.bias[0] / equations.mass_matrix[0]
    assert sp.simplify(acceleration + (k + m * q.rate**2) * q / (m * (1 + q**2))) == 0
    at = equations.evaluate({q: 0.5, q.rate: 2})
    assert at.accelerations[0] == pytest.approx(-(3 + 2 * 4) * 0.5 / (2 * 1.25), rel=1e-14)


def variable_mass_point():
    """As in docs/theory, section 1.8: a point whose mass burns away is held on a climbing path."""
    x, y, z = hf.coordinates("x y z")
    m = 100 - t
    speed = sp.sqrt(x.rate**2 + y.rate**2 + z.rate**2)
    drag = m * sp.Rational(1, 10**4) * sp.exp(-z / 8000) * speed
    carried = sp.diff(m, t)  # the leaving mass takes its momentum along
    system = hf.System(
        coordinates=(x, y, z),
        kinetic=m * speed**2 / 2,
        potential=m * 9.81 * z,
        forces={c: (carried - drag) * c.rate for c in (x, y, z)},
    )
    program = hf.Program(
        holonomic={"plane": x, "range": y - 40 * t - t**2 / 2, "climb": z - 60 * t - 1.5 * t**2},
        controls={"P2": {y: 1}, "P3": {z: 1}},
        reactions=("plane",),
        law=hf.SpringDamper(
            stiffness={"plane": 1, "range": 2, "climb": 4}, damping={"plane": 2, "range": 1.5, "climb": 2}
        ),
    )
    start = {x: 0.5, y: 2, z: -1, x.rate: 0.1, y.rate: 39.5, z.rate: 60.3}
    return hf.derive(hf.Problem(system, program, start=start))


def test_a_point_of_variable_mass_needs_the_tabulated_forces():
    at = variable_mass_point().evaluate()
    assert_allclose(at.mu, [-69.927905276, -196.52258396, 1664.47311866], rtol=0, atol=6e-9)
    assert at["lambda_plane"] == at.multipliers[0]
    exhaust = at["y_dot"] + at["P2"] / -1, at["z_dot"] + at["P3"] / -1
    assert_allclose(exhaust, [236.02258396, -1604.17311866], rtol=0, atol=6e-9)


def test_a_point_of_variable_mass_obeys_29():
    """λ_i = m (e_i'' + g δ_i3 + f_c v_i/V + Σ a_ij α_j), here at a later moment."""
    state = {"x": 0.2, "y": 85, "z": 130, "x_dot": -0.3, "y_dot": 41, "z_dot": 67}
    at = variable_mass_point().evaluate(state, 2.0)
    mass, speed = 98.0, (0.09 + 41**2 + 67**2) ** 0.5
    drag = 1e-4 * float(sp.exp(-130 / 8000)) * speed
    expected = [
        mass * (drag * -0.3 - 0.2 + 2 * 0.3),
        mass * (1 + drag * 41 - 2 * (85 - 82) - 1.5 * (41 - 42)),
        mass * (3 + 9.81 + drag * 67 - 4 * (130 - 126) - 2 * (67 - 66)),
    ]
    assert_allclose(at.mu, expected, rtol=1e-13)


@pytest.mark.parametrize("b1", [0, 1], ids=["central", "areal"])
def test_the_bertrand_problem_gives_5_10(b1):
    """ẍ = [x (A − c²/r³) − (y/r) B]/(p + α), ÿ = [y (A − c²/r³) + ((x − e r)/r) B]/(p + α), c of the current state."""
    x, y = hf.coordinates("x y")
    e, p, c0 = hf.parameters("ecc p c0")
    r = sp.sqrt(x**2 + y**2)
    conic, areal = r - e * x - p, x * y.rate - y * x.rate - c0
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, parameters={e: 0.5, p: 1, c0: 1})
    law = hf.SpringDamper(stiffness={"conic": 2}, damping={"conic": 3, "areal": b1})
    program = hf.Program(holonomic={"conic": conic}, nonholonomic={"areal": areal}, law=law)
    equations = hf.derive(hf.Problem(system, program, start={x: -0.7, y.rate: -1.5}))
    A, B = -2 * conic - 3 * hf.rate(conic), -b1 * areal
    c = areal + c0
    expected = [
        (x * (A - c**2 / r**3) - y / r * B) / (p + conic),
        (y * (A - c**2 / r**3) + (x - e * r) / r * B) / (p + conic),
    ]
    at = {x: -0.6, y: 0.4, x.rate: 0.3, y.rate: -1.2}
    numbers = {**at, e: 0.5, p: 1, c0: 1}
    assert_allclose(
        equations.evaluate(at).accelerations, [float(value.subs(numbers)) for value in expected], rtol=1e-13
    )
    y_conic, w_areal = hf.deviations("conic"), hf.deviations("areal").rate
    demand = equations.demand.subs({y_conic: conic, y_conic.rate: hf.rate(conic), w_areal: areal})
    gains = {gain: equations.form.gains[gain.name] for gain in demand.free_symbols if gain.name.startswith("law.")}
    solved = equations.jacobian.LUsolve(demand.subs(gains) - equations.drift_term)
    assert [sp.simplify(ours - theirs) for ours, theirs in zip(solved, expected, strict=True)] == [0, 0]
