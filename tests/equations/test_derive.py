"""Forms of solution, diagnoses by name, and what an evaluation accepts and gives."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.equations.dynamics.masses import _cross
from holdfast.graph.arithmetics.tape import Tape
from holdfast.graph.nodes import Graph
from tests.equations.mechanisms import double_pendulum, example

x, z = hf.coordinates("x z")
m, g = hf.parameters("m g")
t = hf.time


def stated(program=None, *, kinetic=None, start=None, title="", **more):
    system = hf.System(
        coordinates=(x, z),
        kinetic=m * (x.rate**2 + z.rate**2) / 2 if kinetic is None else kinetic,
        potential=m * g * z,
        parameters={m: 2, g: 9.81},
        **more,
    )
    return hf.Problem(system, program or hf.Program(), start=start or {x: 0.6, z: -0.8}, title=title)


# ---------------------------------------------------------------- forms of solution


def test_a_definite_mass_matrix_is_eliminated_first():
    assert example("four_bar").solver.form == "solved"


def test_a_massless_coordinate_borrows_inertia_from_its_constraint():
    """z has no inertia of its own: the constraint z = sin x carries its weight."""
    program = hf.Program(holonomic={"link": z - sp.sin(x)}, law=hf.critically_damped(3))
    equations = hf.derive(stated(program, kinetic=m * x.rate**2 / 2, start={x: 0.5, x.rate: 2}))
    assert equations.solver.form == "weighted"
    on_program = {x: 0.5, z: np.sin(0.5), x.rate: 2, z.rate: 2 * np.cos(0.5)}
    at = equations.evaluate(on_program)
    assert at["x_ddot"] == pytest.approx(-9.81 * np.cos(0.5), rel=1e-13)
    assert at["lambda_link"] == pytest.approx(2 * 9.81, rel=1e-13)
    assert at["z_ddot"] == pytest.approx(np.cos(0.5) * at["x_ddot"] - np.sin(0.5) * 4, rel=1e-13)
    assert 1 < at.condition < 100
    with pytest.raises(hf.BadRequest, match="mass matrix is singular"):
        at.authority


def test_a_mass_matrix_that_is_not_definite_is_still_solved():
    equations = hf.derive(stated(kinetic=m * (x.rate**2 - z.rate**2) / 2))
    assert equations.solver.form == "saddle"
    assert_allclose(equations.evaluate().accelerations, [0, 9.81], atol=1e-14)


def test_a_program_that_is_singular_at_the_start_only_is_derived():
    """At x = z = 0 the rod has no direction; beside it everything is defined."""
    program = hf.Program(holonomic={"rod": x**2 + z**2 - 1})
    equations = hf.derive(stated(program, start={x: 0}))
    at = equations.evaluate({x: 1, z: 0, z.rate: 2})
    assert at["lambda_rod"] == pytest.approx(-4)


# ---------------------------------------------------------------- diagnoses


@pytest.mark.parametrize(
    ("holonomic", "what"),
    [
        ({"rod": x + z, "again": 2 * x + 2 * z}, "'again' repeats what 'rod' already fixes"),
        ({"a": x, "b": z, "c": x * z}, "'c' repeats what 'a' and 'b' already fix"),
        ({"a": x - z, "b": sp.exp(x - z) - 1}, "'b' repeats what 'a' already fixes"),
    ],
)
def test_dependent_constraints_are_named(holonomic, what):
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(stated(hf.Program(holonomic=holonomic, redundant="refuse")))
    assert what in caught.value.what
    assert caught.value.where == f"program.holonomic.{list(holonomic)[-1]}"
    assert "remove it" in caught.value.fix


def test_contradicting_constraints_are_told_from_repeated_ones():
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(stated(hf.Program(holonomic={"rod": x + z, "again": 2 * x + 2 * z - 1})))
    assert "'again' contradicts 'rod': it is -1 where 'rod' holds" in caught.value.what


def test_the_number_of_a_contradiction_is_what_the_last_constraint_is_off_by():
    radius = sp.sqrt(x**2 + z**2)
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(stated(hf.Program(holonomic={"one": radius - 1, "two": radius - 2})))
    assert "'two' contradicts 'one': it is -1 where 'one' holds" in caught.value.what


def test_a_nonholonomic_repetition_of_a_holonomic_constraint_is_named():
    both = {"holonomic": {"rod": x**2 + z**2 - 1}, "nonholonomic": {"roll": x * x.rate + z * z.rate}}
    program = hf.Program(**both, redundant="refuse")
    with pytest.raises(hf.ConstraintsDependent, match="'roll' repeats what 'rod'"):
        hf.derive(stated(program))


def test_a_constraint_that_nothing_moves_is_named():
    with pytest.raises(hf.ConstraintsDependent) as caught:
        hf.derive(stated(hf.Program(holonomic={"rod": x, "clock": t - 1})))
    assert "'clock'" in caught.value.what
    assert "coordinate" in caught.value.what


@pytest.mark.parametrize(
    ("controls", "held", "weak"),
    [
        ({"F": {z: 1}}, {"a": x}, "'a'"),
        ({"F": {x: 1}, "G": {x: 2}}, {"a": x, "b": z}, "'b'"),
    ],
)
def test_controls_without_authority_are_named_with_what_they_cannot_move(controls, held, weak):
    with pytest.raises(hf.NoAuthority) as caught:
        hf.derive(stated(hf.Program(holonomic=held, controls=controls)))
    assert weak in caught.value.what
    assert all(repr(name) in caught.value.what for name in controls)
    assert caught.value.where == "program.controls"
    assert "reaction" in caught.value.fix


@pytest.mark.parametrize(
    ("kinetic", "names"),
    [(m * x.rate**2 / 2, "'z'"), (m * (x.rate + z.rate) ** 2 / 2, "'x' and 'z'"), (sp.S.Zero, "'x' and 'z'")],
)
def test_a_coordinate_that_nothing_determines_is_named(kinetic, names):
    with pytest.raises(hf.SingularSystem) as caught:
        hf.derive(stated(kinetic=kinetic))
    assert names in caught.value.what
    assert "constraint" in caught.value.fix


def test_constraints_that_nearly_repeat_each_other_are_named_too():
    program = hf.Program(holonomic={"a": x + z, "b": x + z * (1 + sp.Rational(1, 10**9))})
    with pytest.raises(hf.ConstraintsDependent, match="'b' repeats what 'a'"):
        hf.derive(stated(program))


def test_units_do_not_make_a_system_singular():
    """Masses in grams and rods in kilometres: sizes differ by 1e12, nothing is dependent."""
    program = hf.Program(holonomic={"rod": (x**2 + z**2) * 10**6 - 10**6, "rail": sp.Rational(1, 10**6) * z})
    at = hf.derive(stated(program, kinetic=sp.Rational(1, 10**6) * (x.rate**2 + z.rate**2), start={x: 1})).evaluate(
        {x: 1, z: 0}
    )
    assert at["x_ddot"] == pytest.approx(0, abs=1e-12)
    assert np.isfinite(at.mu).all()


# ---------------------------------------------------------------- evaluation


def test_a_state_may_be_a_mapping_an_array_or_the_start():
    equations = double_pendulum()
    by_name = equations.evaluate({"a": 0.3, "b_dot": 2})
    assert by_name.state.tolist() == [0.3, 0.5, 0, 2]  # the rest is the start's
    by_array = equations.evaluate([0.3, 0.5, 0, 2])
    assert by_array.accelerations.tolist() == by_name.accelerations.tolist()
    assert equations.evaluate().state.tolist() == [1, 0.5, 0, 0]
    assert equations.evaluate({"a": sp.pi / 3})["a"] == pytest.approx(np.pi / 3)


def test_parameters_may_be_changed_in_an_evaluation_without_deriving_again():
    equations = double_pendulum()
    still = equations.evaluate(parameters={"g": 0})
    assert_allclose(still.accelerations, 0, atol=1e-15)
    assert equations.evaluate()["a_ddot"] != 0


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda e: e.evaluate({"aa": 1}), "unknown name 'aa'"),
        (lambda e: e.evaluate({"m1": 1}), "'m1' is a parameter"),
        (lambda e: e.evaluate([1, 2]), "4 components, not 2"),
        (lambda e: e.evaluate(parameters={"mm": 1}), "unknown name 'mm'"),
        (lambda e: e.evaluate(parameters={"a": 1}), "'a' is a coordinate"),
        (lambda e: e.evaluate()["lambda_rod"], "no quantity 'lambda_rod'"),
        (lambda e: e.evaluate().norm({"y_rod": 1}), "no deviation 'y_rod'"),
        (lambda e: hf.derive(e), "takes a Problem"),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_a_hint(call, what):
    with pytest.raises(hf.HoldfastError) as caught:
        call(double_pendulum())
    assert what in caught.value.what
    assert caught.value.fix


def test_a_start_that_is_not_real_is_refused_where_it_stands():
    with pytest.raises(hf.BadStatement) as caught:
        hf.derive(stated(start={x: sp.acos(m)}))
    assert "not a real number" in caught.value.what
    assert caught.value.where == "start.x"
    with pytest.raises(hf.BadStatement, match="not a real number"):
        hf.derive(stated(start={x: sp.sqrt(m)})).evaluate(parameters={m: -1})


def test_numbers_of_an_evaluation_cannot_be_changed():
    at = example("cart_rod").evaluate()
    with pytest.raises(ValueError, match="read-only"):
        at.accelerations[0] = 1


def test_quantities_are_found_by_name_and_symbol():
    at = example("cart_rod").evaluate()
    assert at["x"] == at[x] == 0.1
    assert at["F"] == at.controls[0] == at["R_x"]
    assert at["x_ddot"] == at[x.acceleration] == at.accelerations[0]
    assert at["y_home"] == at.deviation[0]
    assert at["energy"] == pytest.approx(9.81 * np.sin(2 * np.pi / 3))


def test_a_displacement_splits_into_its_tangent_and_normal_parts():
    at = example("four_bar").evaluate()
    along, across = at.decompose([1.0, -2.0, 0.5])
    assert_allclose(along + across, [1, -2, 0.5])
    assert_allclose(at.jacobian @ along, 0, atol=1e-14)
    assert_allclose(at.tangent_basis.T @ across, 0, atol=1e-14)
    free = at.cross_product()
    assert_allclose(at.jacobian @ free, 0, atol=1e-14)
    assert np.linalg.norm(np.cross(free, at.tangent_basis[:, 0])) < 1e-14


def test_the_vector_product_takes_further_rows():
    at = hf.derive(stated(hf.Program(holonomic={"rod": x + 2 * z}))).evaluate()
    assert_allclose(at.jacobian @ at.cross_product(), 0, atol=1e-15)
    with pytest.raises(hf.BadRequest, match="0 further rows"):
        at.cross_product([1, 0])


def test_an_empty_program_has_empty_results():
    at = double_pendulum().evaluate()
    assert at.mu.shape == at.deviation.shape == (0,)
    assert at.jacobian.shape == (0, 2)
    assert at.condition == 1
    assert at.geometric_distance == at.norm() == 0
    assert_allclose(at.tangent_basis, np.eye(2))


def test_the_field_is_what_the_engine_runs():
    equations = example("cart_rod")
    field = equations.field
    assert len(field.state) == len(field.rates) == 4
    assert field.positions == 2
    assert equations.parameter_names[:4] == ("m1", "m2", "l", "g")
    assert [node.data for node in field.parameters] == list(equations.parameter_names)
    assert len(field.observables) == len(equations.observables)
    assert [node.data for node in field.pivots] == [1]  # four, equal: one is watched


def test_the_fingerprint_sees_structure_not_values():
    def changed(**values):
        system = hf.System(
            coordinates=(x, z),
            kinetic=values.get("kinetic", m * (x.rate**2 + z.rate**2) / 2),
            potential=m * g * z,
            parameters={m: values.get("mass", 2), g: 9.81},
        )
        program = hf.Program(holonomic={"rod": x**2 + z**2 - 1}, law=hf.critically_damped(values.get("rate", 1)))
        return hf.derive(hf.Problem(system, program, start={x: values.get("x", 1)})).fingerprint

    assert changed() == changed(mass=7) == changed(rate=5) == changed(x=0.5)
    assert changed() != changed(kinetic=m * (x.rate**2 + 2 * z.rate**2) / 2)


# ---------------------------------------------------------------- one singular state


def test_a_state_without_authority_is_told_by_its_values():
    program = hf.Program(holonomic={"circle": x**2 + z**2 - 1}, controls={"F": {x: 1}})
    equations = hf.derive(stated(program))
    assert equations.evaluate({x: 1, z: 0}).singularity is None
    with pytest.raises(hf.NoAuthority, match="the control 'F' cannot move 'circle' at this state"):
        equations.evaluate({x: 0, z: 1})


def test_constraints_that_meet_at_one_state_are_told_by_its_values():
    equations = hf.derive(stated(hf.Program(holonomic={"a": x, "b": x + z**2})))
    with pytest.raises(hf.ConstraintsDependent, match="constraint 'b' repeats what 'a' already fixes at this state"):
        equations.evaluate({x: 0, z: 0})
    with pytest.raises(hf.ConstraintsDependent, match="nothing can hold the constraint 'b' at this state"):
        hf.derive(stated(hf.Program(holonomic={"b": z**2}))).evaluate({z: 0})


def test_a_law_that_corrects_nothing_shows_no_gains():
    equations = hf.derive(stated(hf.Program(holonomic={"rod": x**2 + z**2 - 1}, law=hf.Unstabilised())))
    assert equations.form.gains  # the kernel takes them, so that another law need not be compiled
    shown = [*equations.inverse_dynamics.values(), *equations.demand, *equations.deviation_matrix]
    shown += [statement.value for statement in equations.statements]
    assert not {s.name for e in shown for s in sp.sympify(e).free_symbols} & set(equations.form.gains)
    held = equations.with_law(hf.critically_damped(3))
    assert {s.name for s in held.inverse_dynamics["lambda_rod"].free_symbols} >= set(held.form.gains)


def test_a_law_that_does_not_vanish_on_the_program_is_told_with_its_value():
    x, y = hf.coordinates("x y")
    rod = hf.deviations("rod")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    law = hf.GeneralLaw({"rod": -rod + sp.Rational(2, 3)})
    program = hf.Program(holonomic={"rod": x**2 + y**2 - 1}, law=law)
    with pytest.raises(hf.BadStatement) as refused:
        hf.derive(hf.Problem(system, program, start={x: 1}))
    assert refused.value.what == "the law of 'rod' does not vanish on the program: there dw/dt = 0.666667"
    assert refused.value.where == "law.rod"


def test_a_turning_frame_turns_inner_motions_as_a_cross_product():
    graph = Graph()
    names = [graph.input(name) for name in ("a", "b", "c", "x", "y", "z")]
    values = np.array([1.5, -0.7, 2.0, 0.3, -1.1, 0.9])
    found = Tape(tuple(names), tuple(_cross(names[:3], names[3:])))(values)
    assert found == pytest.approx(np.cross(values[:3], values[3:]))
    turned = Tape(tuple(names), tuple(_cross(names[:1], names[3:5])))(values)
    assert turned == pytest.approx([-1.5 * -1.1, 1.5 * 0.3])


def test_energies_are_observables_of_their_own():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + 3 * y.rate**2) / 2, potential=5 * x + y**2)
    equations = hf.derive(hf.Problem(system))
    named = [equations.observables[name] for name in ("kinetic", "potential", "energy")]
    found = Tape(equations.field.inputs, tuple(named))([0.0, 2.0, 3.0, 4.0, 1.0])
    assert found == pytest.approx([9.5, 19.0, 28.5])
