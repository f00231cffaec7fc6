"""Systems of sympy.physics.mechanics come in, and move as SymPy's own equations say."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Lagrangian,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
)

import holdfast as hf

T = dynamicsymbols._t
m, l, g, r = sp.symbols("m l g r", positive=True)


def double_pendulum():
    """Textbook: two particles on two rods, by angles; the frame, the particles, the gravity on each."""
    q1, q2 = dynamicsymbols("q1 q2")
    N = ReferenceFrame("N")
    O, P, R = Point("O"), Point("P"), Point("R")
    O.set_vel(N, 0)
    P.set_pos(O, l * (sp.sin(q1) * N.x - sp.cos(q1) * N.y))
    R.set_pos(P, l * (sp.sin(q2) * N.x - sp.cos(q2) * N.y))
    P.set_vel(N, P.pos_from(O).dt(N))
    R.set_vel(N, R.pos_from(O).dt(N))
    return N, O, (q1, q2), (Particle("ParP", P, m), Particle("ParR", R, 2 * m))


def lagrange_double_pendulum(**options):
    N, O, q, bodies = double_pendulum()
    for body in bodies:
        body.potential_energy = body.mass * g * body.point.pos_from(O).dot(N.y)
    return LagrangesMethod(Lagrangian(N, *bodies), q, frame=N, **options), q


def accelerations_by_sympy(method, place):
    """q'' by the method's own mass matrix and forcing, at numbers for all its symbols."""
    mass, forcing = method.mass_matrix_full, method.forcing_full
    symbols = {atom: sp.Dummy() for atom in place}
    values = list(place.values())
    M = np.array(sp.lambdify([*symbols.values()], mass.xreplace(symbols))(*values), float)
    f = np.array(sp.lambdify([*symbols.values()], forcing.xreplace(symbols))(*values), float)
    return np.linalg.solve(M, f)[:, 0]


def test_the_pendulum():
    theta = dynamicsymbols("theta")
    L = m * l**2 * theta.diff(T) ** 2 / 2 + m * g * l * sp.cos(theta)
    problem = hf.from_sympy_mechanics(
        LagrangesMethod(L, [theta]), parameters={m: 2, l: 0.5, g: 9.81}, start={theta: 0.3, theta.diff(T): -1}
    )
    equations = hf.derive(problem)
    assert equations.coordinates == ("theta",)
    assert_allclose(equations.evaluate().accelerations, [-9.81 / 0.5 * np.sin(0.3)], rtol=1e-14)
    assert equations.evaluate()["theta_dot"] == -1
    run = hf.simulate(equations, "rk4", step=1e-3, duration=1)
    assert abs(np.ptp(run.energy)) < 1e-9


def test_parameters_without_a_value_are_letters():
    method, _ = lagrange_double_pendulum()
    problem = hf.from_sympy_mechanics(method)
    assert {letter.name for letter in problem.system.letters} == {"m", "l", "g"}
    assert hf.derive(problem).mass_matrix.shape == (2, 2)


PLACE = {m: 1.3, l: 0.7, g: 9.81}


def test_the_double_pendulum_by_lagrange():
    method, q = lagrange_double_pendulum()
    start = {q[0]: 0.4, q[1]: -0.9, q[0].diff(T): 0.6, q[1].diff(T): 1.1}
    problem = hf.from_sympy_mechanics(method, parameters=PLACE, start=start)
    method.form_lagranges_equations()
    expected = accelerations_by_sympy(method, PLACE | start)[2:]
    assert_allclose(hf.derive(problem).evaluate().accelerations, expected, rtol=1e-12)


def test_the_double_pendulum_by_kane_with_speeds_of_its_own():
    """u1 = q1' + q2', u2 = q2': speeds are replaced by rates."""
    N, _, (q1, q2), bodies = double_pendulum()
    u1, u2 = dynamicsymbols("u1 u2")
    kd = [u1 - q1.diff(T) - q2.diff(T), u2 - q2.diff(T)]
    loads = [(body.point, -body.mass * g * N.y) for body in bodies]
    kane = KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=kd)
    for body in bodies:
        body.point.set_vel(N, body.point.vel(N).subs({q1.diff(T): u1 - u2, q2.diff(T): u2}))
    kane.kanes_equations(list(bodies), loads)
    values = {q1: 0.4, q2: -0.9, u1: 0.6, u2: 1.1}
    du = accelerations_by_sympy(kane, PLACE | values)[2:]
    start = {q1: 0.4, q2: -0.9, q1.diff(T): 0.6 - 1.1, q2.diff(T): 1.1}
    problem = hf.from_sympy_mechanics(kane, parameters=PLACE, start=start)
    assert_allclose(hf.derive(problem).evaluate().accelerations, [du[0] - du[1], du[1]], rtol=1e-11)


def test_a_holonomic_constraint_and_a_force():
    """A particle on a rod in Cartesian coordinates, pushed by F(t)."""
    x, y, F = dynamicsymbols("x y F")
    N = ReferenceFrame("N")
    O, P = Point("O"), Point("P")
    O.set_vel(N, 0)
    P.set_pos(O, x * N.x + y * N.y)
    P.set_vel(N, P.pos_from(O).dt(N))
    ball = Particle("ball", P, m)
    ball.potential_energy = m * g * y
    rod = [x**2 + y**2 - l**2]
    method = LagrangesMethod(Lagrangian(N, ball), [x, y], forcelist=[(P, F * N.x)], frame=N, hol_coneqs=rod)
    start = {x: 0.42, y: -0.56, x.diff(T): 0.4, y.diff(T): 0.3}
    problem = hf.from_sympy_mechanics(method, parameters=PLACE, start=start)
    assert list(problem.program.holonomic) == ["c1"]
    assert "F" in problem.open_letters
    method.form_lagranges_equations()
    multiplier = method.lam_vec[0]
    expected = accelerations_by_sympy(method, PLACE | start | {F: 2.5, multiplier: 0.0})
    values = hf.derive(problem.with_values({"F": 2.5})).evaluate()
    assert_allclose(values.accelerations, expected[2:4], rtol=1e-12)
    run = hf.simulate(hf.derive(problem.with_values({"F": 3 * sp.sin(2 * hf.time)})), "rk4", step=1e-3, duration=0.5)
    assert run.outcome is hf.Outcome.completed


def rolling_disc_by_lagrange():
    """The position (x, y), yaw, lean and spin of a thin disc; the point of contact does not slip."""
    x, y, yaw, lean, spin = q = dynamicsymbols("x y yaw lean spin")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [yaw, N.z])
    L = Y.orientnew("L", "Axis", [lean, Y.x])
    D = L.orientnew("D", "Axis", [spin, L.y])
    O, C = Point("O"), Point("C")
    O.set_vel(N, 0)
    centre = C.locatenew("centre", r * L.z)
    C.set_pos(O, x * N.x + y * N.y)
    centre.set_vel(N, centre.pos_from(O).dt(N))
    disc = RigidBody("disc", centre, D, m, (inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    disc.potential_energy = m * g * centre.pos_from(O).dot(N.z)
    slip = centre.vel(N) + D.ang_vel_in(N).cross(-r * L.z)
    rolling = [slip.dot(N.x), slip.dot(N.y)]
    return LagrangesMethod(Lagrangian(N, disc), q, frame=N, nonhol_coneqs=rolling), q


@pytest.mark.slow
def test_the_rolling_disc_by_lagrange():
    method, q = rolling_disc_by_lagrange()
    numbers = dict(zip(q, (0.1, 0.2, 0.7, 0.3, 0.5), strict=True))
    numbers |= dict(zip([c.diff(T) for c in q], (0.3, -0.2, 0.4, 0.1, 2.0), strict=True))
    values = {m: 1.3, g: 9.81, r: 0.4}
    problem = hf.from_sympy_mechanics(method, parameters=values, start=numbers)
    assert list(problem.program.nonholonomic) == ["n1", "n2"]
    method.form_lagranges_equations()
    still = dict.fromkeys(method.lam_vec, 0.0)
    expected = accelerations_by_sympy(method, values | numbers | still)[5:10]
    assert_allclose(hf.derive(problem).evaluate().accelerations, expected, rtol=1e-9)


def test_a_disc_whose_rolling_is_built_into_its_velocities_is_refused():
    """The textbook disc of Kane: three angles, no position. T(q, q') exists, and gives another motion."""
    q1, q2, q3, u1, u2, u3 = dynamicsymbols("q1 q2 q3 u1 u2 u3")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    turning = R.ang_vel_in(N)
    kd = [turning.dot(axis) - u for axis, u in zip((L.x, L.y, L.z), (u1, u2, u3), strict=True)]
    R.set_ang_vel(N, u1 * L.x + u2 * L.y + u3 * L.z)
    C = Point("C")
    C.set_vel(N, 0)
    centre = C.locatenew("centre", r * L.z)
    centre.v2pt_theory(C, N, R)
    disc = RigidBody("disc", centre, R, m, (inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4), centre))
    kane = KanesMethod(N, [q1, q2, q3], [u1, u2, u3], kd_eqs=kd)
    kane.kanes_equations([disc], [(centre, -m * g * Y.z)])
    with pytest.raises(hf.BadRequest, match="energies do not give its motion"):
        hf.from_sympy_mechanics(kane)


def test_kane_with_constraints():
    """A particle on a rod: x and y, one of them dependent, the velocity constraint being the rate of the other."""
    x, y, u, v = dynamicsymbols("x y u v")
    N = ReferenceFrame("N")
    O, P = Point("O"), Point("P")
    O.set_vel(N, 0)
    P.set_pos(O, x * N.x + y * N.y)
    P.set_vel(N, u * N.x + v * N.y)
    rod = x**2 + y**2 - l**2
    kane = KanesMethod(
        N, [x], [u], kd_eqs=[u - x.diff(T), v - y.diff(T)], q_dependent=[y], configuration_constraints=[rod],
        u_dependent=[v], velocity_constraints=[x * u + y * v],
    )  # fmt: skip
    kane.kanes_equations([Particle("ball", P, m)], [(P, -m * g * N.y)])
    start = {x: 0.42, y: -0.56, x.diff(T): 0.4, y.diff(T): 0.3}
    problem = hf.from_sympy_mechanics(kane, parameters=PLACE, start=start)
    assert (list(problem.program.holonomic), list(problem.program.nonholonomic)) == (["c1"], [])
    expected = accelerations_by_sympy(kane, PLACE | {x: 0.42, y: -0.56, u: 0.4, v: 0.3})[2:]
    assert_allclose(hf.derive(problem).evaluate().accelerations, expected, rtol=1e-11)


def test_a_pivot_that_moves_as_a_function_of_time():
    """z(t), with z' in L and z'' in the motion, is the same as its formula written out."""
    theta, z = dynamicsymbols("theta z")
    path = sp.sin(3 * T) / 5

    def method(along):
        x, y = along + l * sp.sin(theta), -l * sp.cos(theta)
        return LagrangesMethod(m * (x.diff(T) ** 2 + y.diff(T) ** 2) / 2 - m * g * y, [theta])

    start = {theta: 0.4, theta.diff(T): 0.2}
    written = hf.from_sympy_mechanics(method(path), parameters=PLACE, start=start)
    named = hf.from_sympy_mechanics(method(z), parameters=PLACE, start=start)
    named = named.with_values({"z": sp.sin(3 * hf.time) / 5})
    one, other = (hf.derive(problem).evaluate(time=0.7).accelerations for problem in (written, named))
    assert_allclose(one, other, rtol=1e-13)


def test_constraints_and_parameters_may_share_a_name():
    x, y = dynamicsymbols("x y")
    c1 = sp.Symbol("c1")
    method = LagrangesMethod(c1 * (x.diff(T) ** 2 + y.diff(T) ** 2), [x, y], hol_coneqs=[x - c1 * y])
    assert hf.derive(hf.from_sympy_mechanics(method, parameters={c1: 2}, start={x: 2, y: 1})).evaluate().defined


def test_what_is_not_known_is_refused():
    with pytest.raises(hf.BadRequest, match="no method that is known"):
        hf.from_sympy_mechanics("a pendulum")
    N, _, (q1, q2), _ = double_pendulum()
    u1, u2 = dynamicsymbols("u1 u2")
    with pytest.raises(hf.BadRequest, match="not formed"):
        hf.from_sympy_mechanics(KanesMethod(N, [q1, q2], [u1, u2], kd_eqs=[u1 - q1.diff(T), u2 - q2.diff(T)]))
    theta = dynamicsymbols("theta")
    with pytest.raises(hf.BadRequest, match="has no place"):
        hf.from_sympy_mechanics(LagrangesMethod(theta.diff(T, 2) ** 2 + theta.diff(T) ** 2, [theta]))
    odd = dynamicsymbols("\\theta'")
    with pytest.raises(hf.BadStatement, match="is not a name"):
        hf.from_sympy_mechanics(LagrangesMethod(odd.diff(T) ** 2, [odd]))


def test_an_imported_system_leaves_again():
    method, q = lagrange_double_pendulum()
    problem = hf.from_sympy_mechanics(method, parameters=PLACE, start={q[0]: 0.4}, title="Two rods")
    module = hf.export(hf.derive(problem), to="numpy").load()
    assert np.isfinite(module.rhs(0.0, module.START)).all()
