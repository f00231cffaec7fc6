"""Laws: each dialect says the same as its spring and damper; what cannot mean anything is refused with its reason."""

import copy
import pickle

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.problem.laws.linear import Gain

x, z, th = hf.coordinates("x z th")
p = hf.parameters("p")
y_rod, y_rail = hf.deviations("rod rail")
w_rod, w_rail, w_roll = y_rod.rate, y_rail.rate, hf.deviations("roll").rate
START = {x: 0.6, z: 0.4, th: 0.2, x.rate: 0.3, z.rate: -0.2, th.rate: 0.5}


def problem(law):
    """Two holonomic constraints, rod and rail, and a nonholonomic one, roll."""
    system = hf.System(
        coordinates=(x, z, th), kinetic=x.rate**2 + z.rate**2 + (1 + z**2) * th.rate**2 / 2, parameters={p: 2}
    )
    program = hf.Program(
        holonomic={"rod": x**2 + z**2 - 1, "rail": z - sp.sin(th)},
        nonholonomic={"roll": x.rate - th.rate * sp.cos(th)},
        law=law,
    )
    return hf.Problem(system, program, start=START)


def demand(law):
    """Y by constraint with the gains' numbers put in."""
    stated = problem(law)
    form = stated.program.law_form(stated.names)
    numbers = {Gain(name): value for name, value in form.gains.items()}
    return {name: sp.expand(value.subs(numbers)) for name, value in form.demand.items()}


def gains(law):
    stated = problem(law)
    return dict(stated.program.law_form(stated.names).gains)


def refused(law):
    with pytest.raises(hf.BadStatement) as caught:
        problem(law)
    return caught.value


# ---------------------------------------------------------------- dialects


@pytest.mark.parametrize(
    ("law", "stiffness", "damping"),
    [
        (hf.SpringDamper(stiffness=4, damping=3), (4, 4), (3, 3, 3)),
        (hf.SpringDamper(stiffness={"rod": 4}, damping={"roll": 3}), (4, 0), (0, 0, 3)),
        (hf.SpringDamper(), (0, 0), (0, 0, 0)),
        (hf.Unstabilised(), (0, 0), (0, 0, 0)),
        (hf.Baumgarte(alpha=5), (25, 25), (10, 10, 5)),
        (hf.Baumgarte(alpha=5, beta=2), (4, 4), (10, 10, 5)),
        (hf.Baumgarte(alpha=5, beta=2, kappa=7), (4, 4), (10, 10, 7)),
        (
            hf.Baumgarte(alpha={"rod": 1, "rail": 2}, beta={"rod": 3, "rail": 4}, kappa={"roll": 5}),
            (9, 16),
            (2, 4, 5),
        ),
        (hf.critically_damped(3), (9, 9), (6, 6, 3)),
        (hf.critically_damped({"rod": 1, "rail": 2, "roll": 3}), (1, 4), (2, 4, 3)),
        (hf.from_roots(-1, -2), (2, 2), (3, 3, 1)),
        (hf.from_roots({"rod": (-1, -2), "rail": (-3, -3), "roll": -4}), (2, 9), (3, 6, 4)),
        (hf.from_roots({"rod": (-1 + 2j, -1 - 2j), "rail": (-3, -3), "roll": (-4,)}), (5, 9), (2, 6, 4)),
        (hf.from_roots(-1 - 2 * sp.I, -1 + 2 * sp.I), None, None),
        (hf.Quadratic(a0=4, a1=3), (4, 4), (3, 3, 3)),
    ],
    ids=repr,
)
def test_every_dialect_is_its_spring_and_damper(law, stiffness, damping):
    if stiffness is None:  # a complex pair for all leaves the nonholonomic row without a real root
        assert "conjugate" in refused(law).what
        return
    pairs = dict(zip(("rod", "rail"), stiffness, strict=True))
    same = hf.SpringDamper(stiffness=pairs, damping=dict(zip(("rod", "rail", "roll"), damping, strict=True)))
    assert demand(law) == demand(same)
    k, b = stiffness, damping
    assert demand(law) == {
        "rod": -k[0] * y_rod - b[0] * w_rod,
        "rail": -k[1] * y_rail - b[1] * w_rail,
        "roll": -b[2] * w_roll,
    }


def test_excess_energies_with_constant_coefficients_are_the_linear_law_of_theory():
    """Y = −a⁻¹(c w + [k; 0] y) for constant a, c, k."""
    a = np.array([[2, 0.5, 0.1], [0.5, 3, 0.2], [0.1, 0.2, 1.5]])
    c = np.array([[4, 1, 0], [1, 5, 0.3], [0, 0.3, 2]])
    k = np.array([[6, 1], [1, 7]])
    law = hf.ExcessEnergies(inertia=a, damping=c, stiffness=k)
    at = hf.derive(problem(law)).evaluate()
    assert_allclose(at.law_matrix[:, 2:], -np.linalg.solve(a, c), rtol=1e-13)
    assert_allclose(at.law_matrix[:, :2], -np.linalg.solve(a, np.vstack([k, [0, 0]])), rtol=1e-13)
    assert_allclose(at.excess_bias, 0)
    linear = hf.SpringDamper(stiffness=np.linalg.solve(a, np.vstack([k, [0, 0]])), damping=np.linalg.solve(a, c))
    other = hf.derive(problem(linear)).evaluate()
    assert_allclose(at.accelerations, other.accelerations, rtol=1e-12)
    assert_allclose(at.mu, other.mu, rtol=1e-12)


def test_unit_excess_inertia_is_the_default():
    law = hf.ExcessEnergies(damping=3, stiffness=4)
    at = hf.derive(problem(law)).evaluate()
    other = hf.derive(problem(hf.SpringDamper(stiffness=4, damping=3))).evaluate()
    assert_allclose(at.demand, other.demand, rtol=1e-14)
    by_energies = hf.ExcessEnergies(
        potential=2 * y_rod**2 + 2 * y_rail**2, dissipation=3 * (w_rod**2 + w_rail**2 + w_roll**2) / 2
    )
    assert_allclose(hf.derive(problem(by_energies)).evaluate().demand, other.demand, rtol=1e-14)


def test_a_pair_of_an_energy_given_once_stands_for_both_of_its_places():
    once = hf.ExcessEnergies(inertia={"rod": 2, "rail": 3, "roll": 1, "rod.roll": 0.5}, damping=1)
    matrix = hf.ExcessEnergies(inertia=[[2, 0, 0.5], [0, 3, 0], [0.5, 0, 1]], damping=1)
    assert_allclose(hf.derive(problem(once)).evaluate().demand, hf.derive(problem(matrix)).evaluate().demand)


# ---------------------------------------------------------------- matrices and cross terms


def test_full_matrices_couple_every_row_as_in_9():
    """α'' = K0 α + K0' α' + L0 β, β' = K1 α + K1' α' + L1 β, with the signs of stiffness and damping."""
    stiffness = [[1, 2], [3, 4], [5, 6]]
    damping = [[7, 8, 9], [10, 11, 12], [13, 14, 15]]
    law = hf.SpringDamper(stiffness=stiffness, damping=damping)
    w = sp.Matrix([w_rod, w_rail, w_roll])
    expected = -sp.Matrix(stiffness) * sp.Matrix([y_rod, y_rail]) - sp.Matrix(damping) * w
    assert list(demand(law).values()) == [sp.expand(e) for e in expected]
    at = hf.derive(problem(law)).evaluate()
    assert_allclose(at.law_matrix, -np.hstack([stiffness, damping]))


def test_a_square_stiffness_matrix_leaves_nonholonomic_rows_alone():
    law = hf.SpringDamper(stiffness=[[1, 2], [3, 4]], damping=1)
    assert demand(law)["roll"] == -w_roll
    assert demand(law)["rail"] == -3 * y_rod - 4 * y_rail - w_rail


@pytest.mark.parametrize("key", ["roll.rail", ("roll", "rail"), ("roll", y_rail)], ids=["dotted", "pair", "symbols"])
def test_cross_terms_by_name_are_entries_of_the_matrix(key):
    law = hf.SpringDamper(stiffness={"rod": 4, key: 5}, damping={"rod.roll": 6})
    assert demand(law) == {"rod": -4 * y_rod - 6 * w_roll, "rail": 0, "roll": -5 * y_rail}
    assert gains(law)["law.stiffness.roll.rail"] == 5
    assert gains(law)["law.damping.rod.roll"] == 6


def test_matrices_may_be_numpy_sympy_or_lists():
    rows = [[1, 0, 0], [0, 2, 0], [0, 0, 3]]
    laws = [hf.SpringDamper(damping=given) for given in (rows, np.array(rows), sp.Matrix(rows), np.array(rows, float))]
    assert len(set(laws)) == 1
    assert demand(laws[0])["roll"] == -3 * w_roll


def test_a_matrix_of_the_wrong_shape_is_refused_with_the_shape_it_needs():
    error = refused(hf.SpringDamper(damping=[[1, 2], [3, 4]]))
    assert "damping matrix" in error.what
    assert "3 rows and 3 columns" in error.fix


# ---------------------------------------------------------------- quadratic (4.9)


def test_the_quadratic_law_is_4_9():
    law = hf.Quadratic(a0=2, a1=3, a2={"rod": 5, "rail": {"rod.roll": 7, "rail.rail": 11}})
    assert demand(law) == {
        "rod": -2 * y_rod - 3 * w_rod - 5 * w_rod**2,
        "rail": -2 * y_rail - 3 * w_rail - 7 * w_rod * w_roll - 11 * w_rail**2,
        "roll": -3 * w_roll,
    }
    at = hf.derive(problem(law)).evaluate()
    w = at.deviation_rate
    assert_allclose(at.jacobian @ at.accelerations + at.drift_term, at.demand, rtol=1e-12)
    assert at.demand[0] == pytest.approx(-2 * at.deviation[0] - 3 * w[0] - 5 * w[0] ** 2, rel=1e-13)


def test_each_product_of_a_quadratic_law_has_a_gain_of_its_own():
    products = {"rod.rod": 1, "rod.rail": 2, "rail.rod": 3, "rail.rail": 4, "rail.roll": 5, "roll.roll": 6}
    law = hf.Quadratic(a2={"rod": products})
    assert sum(name.startswith("law.quadratic") for name in gains(law)) == len(products)
    expected = w_rod**2 + 5 * w_rod * w_rail + 4 * w_rail**2 + 5 * w_rail * w_roll + 6 * w_roll**2
    assert demand(law)["rod"] == sp.expand(-expected)


def test_the_quadratic_part_is_dropped_with_the_second_order():
    law = hf.Quadratic(a0=2, a1=3, a2=5)
    at = hf.derive(problem(law), second_order=False).evaluate()
    other = hf.derive(problem(hf.SpringDamper(stiffness=2, damping=3))).evaluate()
    assert_allclose(at.accelerations, other.accelerations, rtol=1e-13)


# ---------------------------------------------------------------- general laws


def test_a_general_law_is_met_wherever_the_system_is():
    law = hf.GeneralLaw(
        {
            "rod": -(1 + x**2) * y_rod - p * w_rod - sp.tanh(y_rail * w_rod),
            "rail": -4 * sp.sin(y_rail) - 3 * w_rail * sp.exp(-hf.time),
            "roll": -2 * w_roll**3 - w_roll,
        }
    )
    at = hf.derive(problem(law)).evaluate()
    (a, b), (u, v, w) = at.deviation, at.deviation_rate
    expected = [-1.36 * a - 2 * u - np.tanh(b * u), -4 * np.sin(b) - 3 * v, -2 * w**3 - w]
    assert_allclose(at.jacobian @ at.accelerations + at.drift_term, expected, rtol=1e-12)


@pytest.mark.parametrize("offset", [sp.Integer(1), x, sp.cos(y_rod), x.rate * sp.sin(th), sp.Rational(1, 10**9)])
def test_a_general_law_that_does_not_vanish_on_the_program_is_refused(offset):
    law = hf.GeneralLaw({"rod": -y_rod - w_rod + offset, "rail": -w_rail, "roll": -w_roll})
    with pytest.raises(hf.BadStatement) as caught:
        hf.derive(problem(law))
    assert "'rod'" in caught.value.what
    assert caught.value.where == "law.rod"
    assert "deviation" in caught.value.fix


def test_a_general_law_that_vanishes_only_by_an_identity_is_accepted():
    one = sp.cos(x) ** 2 + sp.sin(x) ** 2 - 1
    law = hf.GeneralLaw({"rod": -y_rod - w_rod + one, "rail": -w_rail, "roll": -w_roll})
    assert hf.derive(problem(law)).evaluate().demand[1] == pytest.approx(-(-0.2 - 0.5 * np.cos(0.2)), rel=1e-14)


def test_a_general_law_names_every_constraint_and_no_other():
    error = refused(hf.GeneralLaw({"rod": -y_rod, "rail": -y_rail}))
    assert "no expression for constraint 'roll'" in error.what
    error = refused(hf.GeneralLaw({"rod": 0, "rail": 0, "roll": 0, "rood": 0}))
    assert "'rood'" in error.what
    assert error.fix == "did you mean 'rod'?"


def test_a_law_may_not_speak_of_the_value_of_a_nonholonomic_function():
    error = refused(hf.GeneralLaw({"rod": 0, "rail": 0, "roll": -hf.deviations("roll")}))
    assert "y_roll" in error.what
    assert "w_roll" in error.fix


# ---------------------------------------------------------------- what is refused


def test_a_named_stiffness_on_a_nonholonomic_constraint_is_refused():
    error = refused(hf.SpringDamper(stiffness={"roll": 1}))
    assert "'roll' is nonholonomic" in error.what
    assert "damping" in error.fix


def test_an_unknown_constraint_is_refused_with_the_list_of_known_ones():
    error = refused(hf.SpringDamper(stiffness={"rodd": 1}))
    assert "'rodd' is not a constraint" in error.what
    assert "rod" in error.fix
    assert "'rodd'" in refused(hf.Quadratic(a2={"rod": {"rodd.rod": 1}})).what.replace("rodd.rod", "rodd")


@pytest.mark.parametrize(
    "law",
    [
        hf.Baumgarte(alpha={"rod": 1, "rodd": 2, "rail": 1, "roll": 1}),
        hf.critically_damped({"rod": 1, "rodd": 2, "rail": 1, "roll": 1}),
        hf.from_roots({"rod": (-1, -1), "rodd": (-2, -2), "rail": (-1, -1), "roll": -1}),
        hf.Quadratic(a2={"rodd": 1}),
    ],
    ids=["baumgarte", "critically_damped", "roots", "quadratic"],
)
def test_a_gain_for_a_constraint_that_does_not_exist_is_never_ignored(law):
    assert "'rodd'" in refused(law).what


def test_a_dialect_that_forgets_a_constraint_is_refused():
    assert "'rail'" in refused(hf.Baumgarte(alpha={"rod": 1, "roll": 1})).what
    assert "'roll'" in refused(hf.from_roots({"rod": (-1, -2), "rail": (-1, -2)})).what
    assert "two roots" in refused(hf.from_roots(-1)).what


def test_energies_given_twice_are_refused():
    with pytest.raises(hf.BadStatement, match="twice"):
        hf.ExcessEnergies(kinetic=w_rod**2, damping=3)


def test_a_constraint_without_excess_inertia_is_refused_by_name():
    with pytest.raises(hf.BadStatement) as caught:
        hf.derive(problem(hf.ExcessEnergies(kinetic=w_rod**2 + w_rail**2)))
    assert "roll" in str(caught.value)


@pytest.mark.parametrize(
    "energies",
    [
        {"potential": x**2},
        {"kinetic": (w_rod**2 + w_rail**2 + w_roll**2) / 2 + x.rate**2},
        {"dissipation": x.rate**2 + w_rod**2},
        {"kinetic": (w_rod**2 + w_rail**2 + w_roll**2) / 2 + x.rate**2 * (1 + w_rod**2)},
    ],
    ids=["potential", "kinetic", "dissipation", "coupled"],
)
def test_excess_energies_that_push_without_a_deviation_are_refused(energies):
    with pytest.raises(hf.BadStatement) as caught:
        hf.derive(problem(hf.ExcessEnergies(**energies)))
    assert "'x'" in caught.value.what
    assert "second degree" in caught.value.fix


@pytest.mark.parametrize(
    "energies",
    [{"potential": y_rod}, {"dissipation": w_rod}, {"kinetic": w_rod**2 + w_rail**2 + w_roll**2 + w_rod * x.rate}],
    ids=["potential", "dissipation", "kinetic"],
)
def test_excess_energies_of_first_degree_are_refused(energies):
    with pytest.raises(hf.BadStatement, match="does not vanish on the program"):
        hf.derive(problem(hf.ExcessEnergies(**energies)))


def test_complex_numbers_and_nan_are_no_gains():
    with pytest.raises(hf.HoldfastError):
        problem(hf.SpringDamper(damping=1 + 2j))
    with pytest.raises(hf.BadStatement):
        hf.SpringDamper(damping=float("nan"))


# ---------------------------------------------------------------- inputs and graph


def test_numbers_become_inputs_and_expressions_stay_in_the_graph():
    law = hf.SpringDamper(stiffness={"rod": 1 + x**2, "rail": 3}, damping={"rod": p, "rail": 2, "roll": hf.time})
    assert gains(law) == {"law.stiffness.rail": 3, "law.damping.rail": 2}
    equations = hf.derive(problem(law))
    assert equations.parameter_names == ("p", "law.stiffness.rail", "law.damping.rail")
    at = equations.evaluate(time=0.5)
    assert_allclose(np.diag(at.law_matrix[:, 2:]), [-2, -2, -0.5])
    assert_allclose(np.diag(at.law_matrix[:2, :2]), [-1.36, -3])


def test_a_gain_is_exact_as_it_is_written():
    assert gains(hf.SpringDamper(damping=0.1))["law.damping.rod"] == sp.Rational(1, 10)
    assert gains(hf.SpringDamper(damping=np.float64(0.3)))["law.damping.rod"] == sp.Rational(3, 10)
    assert gains(hf.from_roots(-0.1, -0.2))["law.stiffness.rod"] == sp.Rational(2, 100)


def test_changing_numbers_keeps_the_fingerprint_and_the_graph():
    first = hf.derive(problem(hf.SpringDamper(stiffness=4, damping=3)))
    second = first.with_law(hf.Baumgarte(alpha=7, beta=2))
    assert second.inputs is first.inputs
    assert second.fingerprint == first.fingerprint
    assert second.evaluate().demand[2] == pytest.approx(-7 * second.evaluate().deviation_rate[2])
    assert hf.derive(problem(hf.critically_damped(9))).fingerprint == first.fingerprint
    fresh = hf.derive(problem(hf.Baumgarte(alpha=7, beta=2))).evaluate()
    assert_allclose(second.evaluate().accelerations, fresh.accelerations, rtol=1e-14)


def test_a_law_of_another_form_is_derived_anew():
    first = hf.derive(problem(hf.SpringDamper(stiffness=4, damping=3)))
    second = first.with_law(hf.Quadratic(a0=4, a1=3, a2=1))
    assert second.inputs is not first.inputs
    assert second.fingerprint != first.fingerprint


def test_gains_may_be_given_as_parameters_of_an_evaluation():
    equations = hf.derive(problem(hf.SpringDamper(stiffness=4, damping=3)))
    at = equations.evaluate(parameters={"law.damping.roll": 30})
    assert at.demand[2] == pytest.approx(10 * equations.evaluate().demand[2])


def test_laws_are_values():
    law = hf.SpringDamper(stiffness={"rod": 1, "rail": 2}, damping=[[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    same = hf.SpringDamper(stiffness={"rail": 2.0, "rod": 1}, damping=np.eye(3))
    assert law == same
    assert hash(law) == hash(same)
    assert pickle.loads(pickle.dumps(law)) == law
    assert copy.deepcopy(law) == law
    with pytest.raises(AttributeError):
        law.damping = 3


@pytest.mark.parametrize(
    ("made", "what", "where"),
    [
        (lambda: hf.from_roots("-1", "-2"), "'-1' is not an expression", "law.roots"),
        (lambda: hf.from_roots("-1"), "'-1' is not an expression", "law.roots"),
        (lambda: hf.from_roots(), "one root or more, at most 8, not 0", "law.roots"),
        (lambda: hf.from_roots(*range(-13, 0)), "one root or more, at most 8, not 13", "law.roots"),
        (lambda: hf.from_roots([-1, -2], [-3, -4]), "a root is one number", "law.roots"),
        (lambda: hf.from_roots({"rod": [[-1, -2]]}), "a root is one number", "law.roots"),
        (lambda: hf.critically_damped("fast"), "'fast' is not an expression", "law.rate"),
        (lambda: hf.critically_damped([1, 2]), "one rate, not several", "law.rate"),
        (lambda: hf.Baumgarte(alpha=[1, 2]), "one alpha, not several", "law.alpha"),
        (lambda: hf.Baumgarte(alpha=1, beta={"rod": (1, 2)}), "one beta, not several", "law.beta"),
        (lambda: hf.SpringDamper(stiffness="4"), "'4' is not an expression", "law.stiffness"),
    ],
)
def test_arguments_of_a_wrong_type_are_refused_when_the_law_is_made(made, what, where):
    with pytest.raises(hf.BadStatement) as caught:
        made()
    assert what in caught.value.what
    assert caught.value.where == where


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_roots_in_a_list_are_the_roots(kind):
    assert demand(hf.from_roots(kind([-1, -2]))) == demand(hf.from_roots(-1, -2))


def test_one_root_in_a_list_is_too_few_for_a_holonomic_constraint():
    assert "needs two roots" in refused(hf.from_roots([-1])).what
