"""The door of a system: what is exact, what is one symbol, and what is refused in words that help."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape
from holdfast.problem.quantities import Coordinate, Parameter

x, z = hf.coordinates("x z")
m, g = hf.parameters("m g")
t = hf.time
GIVEN = {
    "coordinates": (x, z),
    "kinetic": m * (x.rate**2 + z.rate**2) / 2,
    "potential": m * g * z,
    "parameters": {m: 1, g: 9.81},
}


def system(**changes):
    return hf.System(**(GIVEN | changes))


def refused(**changes):
    with pytest.raises(hf.BadStatement) as caught:
        system(**changes)
    assert caught.value.fix, "an error says how to mend it"
    return caught.value


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "value", [0.1, np.float64(0.1), Fraction(1, 10), sp.Rational(1, 10), sp.Float("0.1"), np.float32(0.1)], ids=repr
)
def test_a_float_means_its_shortest_decimal(value):
    found = system(parameters={m: value, g: 1}).parameters["m"]
    expected = sp.Rational(Fraction(repr(float(value)))) if isinstance(value, np.float32) else sp.Rational(1, 10)
    assert found == expected


def test_floats_inside_expressions_become_exact():
    assert system(potential=0.1 * z + 0.2 * x).potential == z / 10 + x / 5


def test_a_parameter_may_be_any_real_constant():
    assert system(parameters={m: sp.pi / 6, g: sp.sqrt(2)}).parameters["m"] == sp.pi / 6


# ---------------------------------------------------------------- a symbol is its name


def test_a_symbol_is_its_name():
    X, mass = sp.Symbol("x"), sp.Symbol("m", positive=True)
    found = system(kinetic=mass * sp.Symbol("x_dot") ** 2, potential=X * sp.Symbol("g"))
    assert found.kinetic == m * x.rate**2
    assert found.potential == x * g
    assert found.kinetic.atoms(sp.Symbol) == {m, x.rate}
    assert all(type(s) in (Coordinate, Parameter) for s in found.potential.free_symbols)


def test_symbols_of_one_name_and_many_kinds_cancel():
    difference = sp.Symbol("x") - x + sp.Symbol("x", positive=True) - Parameter("x")
    assert system(potential=difference).potential == 0


def test_keys_may_be_symbols_or_names():
    assert system(parameters={"m": 1, g: 9.81}, forces={"x": 1}) == system(forces={x: 1})


def test_a_key_given_twice_is_refused():
    assert "'m' is given twice" in refused(parameters={m: 1, "m": 2, g: 1}).what
    assert "'x' is given twice" in refused(forces={x: 1, "x": 2}).what


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("changes", "what", "where", "fix"),
    [
        ({"kinetic": sp.Symbol("mm") * x.rate**2}, "unknown name 'mm'", "system.kinetic", "did you mean 'm'?"),
        ({"kinetic": sp.Symbol("xdot") ** 2}, "unknown name 'xdot'", "system.kinetic", "did you mean 'x_dot'?"),
        ({"potential": sp.Symbol("quux")}, "unknown name 'quux'", "system.potential", "x, x_dot, z"),
        ({"parameters": {m: 1, g: 2 * x}}, "'g' is not a number: it depends on 'x'", "parameters.g", "definition"),
        ({"parameters": {m: float("inf"), g: 1}}, "inf is not a finite", "parameters.m", "finite"),
        ({"parameters": {m: sp.acos(2), g: 1}}, "'m' is not real", "parameters.m", "real"),
        ({"parameters": {m: "1", g: 1}}, "'1' is not an expression", "parameters.m", "not in quotes"),
        ({"parameters": {m: 1, g: 1, "x": 2}}, "'x' is given twice", "parameters.x", "rename"),
        ({"coordinates": (x, x)}, "coordinate 'x' is given twice", "system.coordinates", "rename"),
        ({"coordinates": "x z"}, "'x z' is not a coordinate", "system.coordinates", "hf.coordinates"),
        ({"coordinates": (x, m)}, "'m' is given twice", "parameters.m", "rename"),
        ({"potential": x.rate * z}, "'x_dot' is a rate", "system.potential", "coordinates"),
        ({"kinetic": x.acceleration}, "'x_ddot' is an acceleration", "system.kinetic", "rates"),
        ({"forces": {"q": 1}}, "unknown name 'q'", "system.forces", "x, z"),
        ({"forces": {x.rate: 1}}, "'x_dot' is a rate", "system.forces", "a coordinate"),
        ({"kinetic": sp.I * x.rate}, "contains I", "system.kinetic", "real"),
        ({"kinetic": sp.nan}, "contains nan", "system.kinetic", "finite"),
        ({"potential": sp.zoo}, "contains zoo", "system.potential", "finite"),
        ({"potential": sp.gamma(x)}, "'gamma' is not known", "system.potential", "atan2"),
        ({"potential": sp.Function("f")(x)}, "'f' is not known", "system.potential", "sqrt"),
        ({"kinetic": "m*y_dot**2/2"}, "unknown name 'y_dot'", "system.kinetic", ""),
        ({"kinetic": True}, "True is not an expression", "system.kinetic", "number"),
        ({"points": {"A": (x,)}}, "two or three components", "points.A", "(x, y)"),
        ({"points": {"A": (x, x.rate)}}, "'x_dot' is a rate", "points.A", "coordinates"),
        ({"points": {"m": (x, z)}}, "'m' is given twice", "points.m", "rename"),
        ({"states": {"s": sp.Symbol("ss")}}, "unknown name 'ss'", "system.states.s", "did you mean"),
        ({"parameters": {m: 1, g: 1, "y_a": 1}}, "kept for results", "parameters.y_a", "another name"),
    ],
)
def test_a_bad_system_is_refused_with_what_where_and_how(changes, what, where, fix):
    error = refused(**changes)
    assert what in error.what
    assert error.where == where
    assert fix in error.fix


def test_a_system_without_coordinates_is_refused():
    with pytest.raises(hf.BadStatement, match="at least one coordinate"):
        system(coordinates=())


def test_an_error_reads_as_three_lines():
    text = str(refused(kinetic=sp.Symbol("mm")))
    assert text.splitlines() == ["unknown name 'mm'", "  where: system.kinetic", "  fix:   did you mean 'm'?"]


# ---------------------------------------------------------------- definitions, states, values


def test_definitions_are_judged_by_what_they_depend_on():
    speed = sp.Symbol("speed")
    found = system(definitions={"speed": x.rate**2 + z.rate**2}, kinetic=m * speed / 2)
    assert hf.derive(hf.Problem(found)).evaluate().mass_matrix.tolist() == [[1, 0], [0, 1]]
    assert "'x_dot' is a rate" in refused(definitions={"speed": x.rate**2}, potential=speed).what


def test_a_definition_may_use_only_earlier_ones():
    a, b = sp.symbols("a b")
    system(definitions={"a": x, "b": a**2}, potential=b)
    assert "unknown name 'a'" in refused(definitions={"b": a**2, "a": x}).what


def test_first_order_states_move_by_their_stated_rates():
    mass = hf.states("mass")
    found = system(kinetic=mass * (x.rate**2 + z.rate**2) / 2, potential=0, states={mass: -t * mass})
    equations = hf.derive(hf.Problem(found, start={mass: 2, x.rate: 3}))
    at = equations.evaluate(time=0.5)
    assert equations.state_names == ("x", "z", "x_dot", "z_dot", "mass")
    assert at["x_ddot"] == pytest.approx(0.5 * 3)  # d(m v)/dt = 0
    (rate,) = Tape(equations.field.inputs, equations.field.rates[-1:])([0.5, *at.state, 1, 9.81])
    assert rate == -0.5 * 2


def test_systems_are_values():
    one, other = system(), system(parameters={"g": 9.81, "m": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.deepcopy(one) == one
    with pytest.raises(AttributeError):
        one.kinetic = 0
    with pytest.raises((AttributeError, TypeError)):
        one.parameters["m"] = 3


def test_one_system_serves_many_programs():
    shared = system()
    first = hf.Problem(shared, hf.Program(holonomic={"rod": x}))
    second = hf.Problem(shared, hf.Program(holonomic={"rod": z}))
    assert first.system == second.system
    assert first.program != second.program


def test_the_rate_of_a_state_counts_with_what_it_depends_on():
    x, m = hf.coordinates("x"), hf.states("m")
    system = hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, states={m: x.rate})
    with pytest.raises(hf.BadExpression, match="x_dot"):
        hf.Problem(system, hf.Program(holonomic={"still": hf.rate(m)}))


# ---------------------------------------------------------------- parameters by parameters


BAR = """schema = 1
[system]
coordinates = ["th"]
kinetic = "J*th_dot**2/2"
[parameters]
J = "m*l**2/3"
m = 2
l = "w/3"
w = 3
[ensemble]
grid = { w = [3, 6] }
"""


def test_parameters_may_be_stated_by_others_and_follow_them():
    problem = hf.loads(BAR)
    assert list(problem.system.definitions) == ["l", "J"]  # each after what it uses
    assert hf.loads(hf.dumps(problem)) == problem
    equations = hf.derive(problem)
    run = hf.simulate(equations, step=0.1, duration=0.1)
    assert run["J"][0] == pytest.approx(2 / 3)
    runs = hf.ensemble(equations, step=0.1, duration=0.1)
    assert runs["J"][:, 0] == pytest.approx([2 / 3, 8 / 3])
    m, length, J = hf.parameters("m l J")
    th = hf.coordinates("th")
    system = hf.System(coordinates=th, kinetic=J * th.rate**2 / 2, parameters={J: m * length**2, m: 2, length: 1})
    assert system.definitions == {"J": m * length**2}


@pytest.mark.parametrize(
    ("stated", "what"),
    [
        ('"m*J"', "'J' needs itself"),
        ('"m*l2"', "unknown name 'l2'"),
        ('"m*th"', "'th' is a coordinate"),
        ('"m*k"\nk = "J"', "need each other"),
    ],
)
def test_parameters_that_have_no_value_by_others_are_refused_at_their_line(stated, what):
    text = BAR.replace('"m*l**2/3"', stated)
    with pytest.raises(hf.BadFile) as refused:
        hf.loads(text)
    assert what in str(refused.value)
    assert ":6:" in str(refused.value)
