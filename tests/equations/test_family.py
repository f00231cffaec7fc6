"""All systems that keep a program: the forms say the same, and every member is Equations like any other."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.forms.family import cross_product

x, y, z, s, p = hf.coordinates("x y z s p")
radius = sp.sqrt(x**2 + y**2 + z**2)
law = hf.SpringDamper(stiffness=4, damping=3)
sphere = hf.Program(holonomic={"sphere": radius - 1}, law=law)
start = {x: 0.8, y: 0.5, z: -0.3, x.rate: 0.2, y.rate: -0.4, z.rate: 0.7}
two = hf.Program(holonomic={"sum": x + 2 * y * z + p}, nonholonomic={"roll": z * s.rate - x.rate}, law=law)
FIVE = (x, y, z, s, p)
AT = {name: value for name, value in zip(FIVE, (0.3, -0.7, 0.9, 0.4, 0.2), strict=True)} | {
    u.rate: value for u, value in zip(FIVE, (1.0, 0.5, -0.8, 0.1, 0.6), strict=True)
}


def test_the_generalised_cross_product_is_orthogonal_with_the_gram_determinant_as_its_square():
    rows = sp.Matrix(4, 5, lambda i, j: sp.Rational((7 * i + 3 * j * j + 2) % 11 - 5, 1 + (i + j) % 3))
    w = cross_product(rows.tolist(), 5)
    assert (rows * w).is_zero_matrix
    assert (w.T * w)[0] == (rows * rows.T).det()


def test_the_solutions_fill_an_affine_space_of_dimension_n_minus_m():
    made = hf.family(two, FIVE, start=AT)
    found, at = made.general_solution(), made.evaluate()
    assert made.freedom == 3
    assert found.tangent.shape == (5, 3)
    assert found.rank == 2
    assert found.smallest == pytest.approx(np.linalg.svd(at.jacobian)[1][-1])
    wanted = at.demand - at.drift_term
    for u in np.eye(3):
        assert_allclose(at.jacobian @ (found.particular + found.tangent @ u), wanted, atol=1e-13)
    assert_allclose(found.particular, np.linalg.pinv(at.jacobian) @ wanted, atol=1e-13)
    assert_allclose(at.accelerations, found.particular, atol=1e-13)  # no u: the least of all


def test_the_formula_and_the_numbers_agree():
    made = hf.family(sphere, (x, y, z), start=start)
    K, wanted = made.formula()
    at = made.evaluate()
    values = {**start, "y_sphere": at["y_sphere"], "w_sphere": at["w_sphere"]} | made.parameter_values
    numbers = {symbol: values[symbol.name] for symbol in (K * wanted).free_symbols if symbol.name in values}
    numbers |= {symbol: value for symbol, value in start.items()}
    assert_allclose(np.array((K * wanted).subs(numbers).evalf(), float)[:, 0], at.accelerations, atol=1e-13)


def test_only_the_tangential_part_of_u_acts():
    u = {x: 1, y: x * z.rate, z: -2}
    made = hf.family(sphere, (x, y, z), u, start=start)
    at, free = made.evaluate(), hf.family(sphere, (x, y, z), start=start).evaluate()
    tangent = made.general_solution().tangent
    given = np.array([1, start[x] * start[z.rate], -2.0])
    assert_allclose(at.accelerations - free.accelerations, tangent @ tangent.T @ given, atol=1e-13)


def test_the_cross_product_in_one_and_two_dimensions():
    assert cross_product([], 1) == sp.Matrix([1])
    assert cross_product([[3, 5]], 2) == sp.Matrix([5, -3])
    with pytest.raises(hf.BadRequest, match="needs 2 vectors"):
        cross_product([[1, 2, 3]], 3)


def test_every_tangent_vector_is_a_cross_product_with_suitable_c():
    made = hf.family(two, FIVE, start=AT)
    basis = made.general_solution().tangent
    u = basis @ np.array([0.4, -1.2, 0.7])
    c0, rows = made.cross_product_form(u)
    assert rows.shape == (2, 5)
    assert_allclose(c0 * made.evaluate().cross_product(*rows), u, atol=1e-12)


def test_the_cross_product_form_with_fixed_c_moves_along_one_line():
    c = [(0, x, 1)]
    made = hf.family(sphere, (x, y, z), c0=2, vectors=c, start=start)
    free = hf.family(sphere, (x, y, z), start=start)
    moved = made.evaluate().accelerations - free.evaluate().accelerations
    at = free.evaluate()
    assert_allclose(moved, 2 * at.cross_product((0, start[x], 1)), atol=1e-13)
    assert abs(at.jacobian @ moved).max() < 1e-13
    assert abs(np.array([0, start[x], 1]) @ moved) < 1e-13


def test_on_a_circle_in_a_plane_c0_alone_says_all():
    """n − 1 − m = 0: no vector c is asked for, and the tangent is the gradient turned by a right angle."""
    circle, at = hf.Program(holonomic={"ring": x**2 + y**2 - 1}), {x: 0.6, y: 0.8}
    moved = hf.family(circle, (x, y), c0=3, start=at).evaluate().accelerations
    free = hf.family(circle, (x, y), start=at).evaluate().accelerations
    assert_allclose(moved - free, 3 * np.array([2 * 0.8, -2 * 0.6]), atol=1e-13)
    with pytest.raises(hf.BadStatement, match="nothing is left free"):
        hf.family(hf.Program(holonomic={"a": x, "b": y}), (x, y), c0=3)


def test_the_cross_product_vanishes_where_the_vectors_are_dependent():
    made = hf.family(sphere, (x, y, z), c0=5, vectors=[(x, y, z)], start=start)
    free = hf.family(sphere, (x, y, z), start=start)
    assert_allclose(made.evaluate().accelerations, free.evaluate().accelerations, atol=1e-14)


def test_a_metric_changes_the_tangential_part_only():
    M = [[2, sp.Rational(1, 2), 0], [sp.Rational(1, 2), 1 + x**2, 0], [0, 0, 3]]
    u = {x: 1, y: z.rate, z: x}
    at = hf.family(sphere, (x, y, z), u, metric=M, start=start).evaluate()
    G, wanted = at.jacobian, at.demand - at.drift_term
    mass = np.array([[2, 0.5, 0], [0.5, 1 + start[x] ** 2, 0], [0, 0, 3]])
    K = np.linalg.solve(mass, G.T) @ np.linalg.inv(G @ np.linalg.solve(mass, G.T))
    P = np.eye(3) - K @ G
    assert_allclose(G @ K, np.eye(1), atol=1e-13)
    assert_allclose(P @ P, P, atol=1e-13)
    assert_allclose(P @ K, 0, atol=1e-13)
    given = np.array([1, start[z.rate], start[x]])
    assert_allclose(at.accelerations, K @ wanted + P @ given, atol=1e-12)
    assert_allclose(G @ (at.accelerations - np.linalg.pinv(G) @ wanted), 0, atol=1e-12)


def test_as_many_constraints_as_coordinates_leave_nothing_free():
    both = hf.Program(holonomic={"a": x - 1, "b": y + x**2}, law=law)
    made = hf.family(both, (x, y), start={x: 0.5, x.rate: 1})
    at = made.evaluate()
    assert made.freedom == 0
    assert_allclose(at.accelerations, np.linalg.solve(at.jacobian, at.demand - at.drift_term), atol=1e-13)
    assert "No tangential freedom" in made.explain()


def test_the_object_explains_why_its_forms_are_one_family():
    text = hf.family(two, FIVE, start=AT).explain()
    for words in ("affine space of dimension 3", "rank 2", "2 vectors c and c0, 11 numbers in place of 3", "ker G"):
        assert words in text


def test_a_member_is_simulated_and_its_deviations_obey_the_law():
    made = hf.family(sphere, (x, y, z), {x: -y, y: x}, start=start)
    run = hf.simulate(made, hf.DOP853, tolerance=1e-12, duration=2, at=[0, 1, 2], start_policy="keep")
    assert isinstance(made, hf.Equations)
    deviation, rate = run["y_sphere"], run["w_sphere"]
    H = np.array([[0, 1], [-4, -3]])
    from scipy.linalg import expm

    for k, moment in enumerate(run.times):
        assert_allclose([deviation[k], rate[k]], expm(H * moment) @ [deviation[0], rate[0]], atol=1e-9)


@pytest.mark.slow
def test_a_member_is_certified_and_tuned_like_any_equations():
    made = hf.family(sphere, (x, y, z), {x: -y, y: x}, start={x: 1, y.rate: 1})
    assert hf.certify(made, hf.RK4, step=0.01, duration=1)
    assert hf.tune(made, hf.RK4, step=0.01, duration=1).law


def test_another_law_keeps_the_family():
    made = hf.family(sphere, (x, y, z), start=start).with_law(hf.SpringDamper(stiffness=1, damping=2))
    assert isinstance(made, hf.Family)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tangential": {"w": 1}}, "not a coordinate"),
        ({"c0": 1}, "1 vectors c, not 0"),
        ({"vectors": [(1, 0, 0)]}, "need a c0"),
        ({"c0": 1, "vectors": [(1, 0, 0)], "tangential": {x: 1}}, "not both"),
        ({"metric": [[1, 2], [3, 4]]}, "symmetric 3 by 3"),
    ],
)
def test_what_fits_no_form_is_refused(arguments, message):
    with pytest.raises(hf.HoldfastError, match=message):
        hf.family(sphere, (x, y, z), start=start, **arguments)


@pytest.mark.parametrize("metric", [None, [[2, 0, 0], [0, 1 + x**2, 0], [0, 0, 3]]])
def test_controls_choose_the_member_in_which_they_hold_the_program(metric):
    held = hf.Program(holonomic=sphere.holonomic, controls={"F": {x: 1, y: z}}, law=law)
    u = {x: 1, y: z.rate, z: x}
    made = hf.family(held, (x, y, z), u, metric=metric, start=start)
    at, mass = made.evaluate(), np.diag([2, 1 + start[x] ** 2, 3]) if metric else np.eye(3)
    direction, given = np.array([1, start[z], 0.0]), np.array([1, start[z.rate], start[x]])
    assert_allclose(at.jacobian @ at.accelerations, at.demand - at.drift_term, atol=1e-12)
    assert_allclose(at.accelerations, given + np.linalg.solve(mass, direction) * at["F"], atol=1e-12)
    K, wanted = made.formula()
    values = {**{s.name: value for s, value in start.items()}, **made.parameter_values}
    values |= {name: at[name] for name in ("y_sphere", "w_sphere")}
    numbers = {s: values[s.name] for s in K.free_symbols | wanted.free_symbols}
    K, wanted = (np.array(part.subs(numbers).evalf(), float) for part in (K, wanted))
    shown = (K @ wanted)[:, 0] + (np.eye(3) - K @ at.jacobian) @ given
    assert_allclose(shown, at.accelerations, atol=1e-12)
    assert "held by the controls F" in made.explain()
    least = hf.family(sphere, (x, y, z), start=start).general_solution()
    assert_allclose(made.general_solution().particular, least.particular, atol=1e-12)  # of all systems, as without


def test_controls_without_authority_make_no_family():
    with pytest.raises(hf.NoAuthority):
        hf.family(hf.Program(holonomic={"a": x}, controls={"F": {y: 1}}), (x, y))


def test_a_family_keeps_letters_and_undetermined_functions():
    x, y = hf.coordinates("x y")
    k, b = hf.parameters("k b")
    radius, c0 = hf.functions("radius"), hf.function("c0", of=(x, y, hf.time))
    program = hf.Program(
        holonomic={"circle": (x**2 + y**2 - radius**2) / 2}, law=hf.SpringDamper(stiffness=k, damping=b)
    )
    found = hf.family(program, (x, y), c0=c0)
    response, demand = found.formula()
    assert sp.simplify(response - sp.Matrix([x, y]) / (x**2 + y**2)) == sp.zeros(2, 1)
    d = hf.deviations("circle")
    rates = x.rate**2 + y.rate**2 - radius.rate**2 - radius * radius.rate.rate
    assert sp.expand(demand[0] - (-k * d - b * d.rate - rates)) == 0
    assert found.tangential == (c0 * y, -c0 * x)
    assert "At random values of" in found.explain()


@pytest.mark.parametrize("metric", [[[1, 0]], [[1, 2], [3, 1]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1], [1]]])
def test_a_metric_is_symmetric_and_of_its_coordinates(metric):
    program = hf.Program(holonomic={"circle": x**2 + y**2 - 1}, law=hf.critically_damped(1))
    with pytest.raises(hf.BadStatement, match="not a symmetric 2 by 2 matrix"):
        hf.family(program, (x, y), metric=metric)
    assert hf.family(program, (x, y), metric=[[2, 1], [1, 2]]).mass_matrix == sp.Matrix([[2, 1], [1, 2]])


def test_a_family_is_of_a_program():
    with pytest.raises(hf.BadRequest, match="takes a Program, not dict"):
        hf.family({}, (x, y))
