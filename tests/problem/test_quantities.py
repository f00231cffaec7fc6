"""Symbols that know their rates: names, derivatives, and the manners of ordinary SymPy symbols."""

import copy
import pickle

import pytest
import sympy as sp

import holdfast as hf
from holdfast.problem.quantities import Coordinate, RateOf, latex_name, pretty_name

x, phi = hf.coordinates("x phi")
m, l = hf.parameters("m l")
t = hf.time


def test_one_name_gives_a_symbol_and_several_give_a_tuple():
    assert isinstance(hf.coordinates("x"), Coordinate)
    assert hf.coordinates("x phi") == hf.coordinates("x, phi") == hf.coordinates(["x", "phi"]) == (x, phi)
    assert hf.coordinates("x,") == (x,)


def test_rates_follow_from_the_name():
    assert x.rate.name == "x_dot"
    assert x.rate.rate == x.acceleration
    assert x.acceleration.name == "x_ddot"
    assert x.rate.coordinate == x
    y = hf.deviations("rod")
    assert (y.name, y.rate.name, y.constraint) == ("y_rod", "w_rod", "rod")


@pytest.mark.parametrize("symbol", [x, x.rate, x.acceleration, m, t, hf.deviations("rod"), hf.deviations("rod").rate])
def test_symbols_survive_copying_pickling_and_substitution(symbol):
    for other in (copy.copy(symbol), copy.deepcopy(symbol), pickle.loads(pickle.dumps(symbol))):
        assert other == symbol
        assert type(other) is type(symbol)
    assert (symbol**2).subs(symbol, 3) == 9
    assert sp.lambdify([symbol], symbol + 1)(2) == 3


def test_symbols_print_as_a_mechanist_writes_them():
    assert str(m * l * x.rate) in ("m*l*x_dot", "l*m*x_dot")  # parameters before coordinates, these before rates
    assert sp.latex(phi.rate) == r"\dot{\varphi}"
    assert sp.latex(phi.acceleration) == r"\ddot{\varphi}"
    assert latex_name("m1") == "m_{1}"
    assert latex_name("lambda_rod") == r"\lambda_{\mathrm{rod}}"
    assert pretty_name("phi_ddot") == "phi''"
    assert sp.pretty(phi.rate) == "phi'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (x * phi, x.rate * phi + x * phi.rate),
        (l * sp.sin(phi), l * sp.cos(phi) * phi.rate),
        (x.rate**2, 2 * x.rate * x.acceleration),
        (t**2 * x, 2 * t * x + t**2 * x.rate),
        (sp.Integer(7), 0),
        (m * l, 0),
    ],
)
def test_rate_is_the_total_time_derivative(expression, expected):
    assert sp.expand(hf.rate(expression) - expected) == 0


def test_rate_goes_into_matrices_and_lists():
    assert hf.rate(sp.Matrix([x, phi])) == sp.Matrix([x.rate, phi.rate])
    assert hf.rate([x, 3]) == [x.rate, 0]


@pytest.mark.parametrize("corner", [sp.Abs(x), sp.sign(x), sp.Min(x, phi), sp.Max(x, 1), sp.Heaviside(x)])
def test_the_rate_of_a_corner_waits_for_the_graph(corner):
    assert hf.rate(corner).has(RateOf)
    assert not hf.rate(corner).has(sp.DiracDelta, sp.Derivative)


def test_the_rate_of_an_acceleration_is_not_known():
    with pytest.raises(hf.BadExpression, match="x_ddot"):
        hf.rate(x.acceleration)


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("lambda_rod", "kept for results"),
        ("y_rod", "kept for results"),
        ("w_rod", "kept for results"),
        ("R_x", "kept for results"),
        ("xdot", "kept for rates"),
        ("x_dot", "kept for rates"),
        ("t", "taken"),
        ("pi", "taken"),
        ("sin", "taken"),
        ("lambda", "taken"),
        ("law", "starts with"),
        ("2x", "not a name"),
        ("x'", "not a name"),
        ("é", "not a name"),
        ("x" * 42, "not a name"),
    ],
)
def test_names_that_would_mislead_are_refused(name, because):
    with pytest.raises(hf.BadStatement) as caught:
        hf.coordinates([name])
    assert because in caught.value.what
    assert repr(name) in caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize("name", ["t", "pi", "sin", "lambda", "law", "dot", "if"])
def test_the_name_that_a_refusal_proposes_is_itself_allowed(name):
    with pytest.raises(hf.BadStatement) as caught:
        hf.coordinates([name])
    proposed = caught.value.fix.split()[-1]
    assert hf.coordinates([proposed])[0].name == proposed


def test_no_name_at_all_is_refused():
    with pytest.raises(hf.BadStatement, match="no name"):
        hf.parameters("")
