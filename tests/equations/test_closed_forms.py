"""Forces in closed form: what Cramer's rule gives is what the papers print, and what the graph computes."""

import pytest
import sympy as sp
from hypothesis import given, settings

import holdfast as hf
from holdfast.equations.writing.short import CramersRule, difference, length, short
from tests.equations.mechanisms import example
from tests.properties.strategies import derived, mechanisms

x, y = hf.coordinates("x y")
ecc, p, c0 = hf.parameters("ecc p c0")
r = sp.sqrt(x**2 + y**2)


def zero(expression):
    return sp.simplify(sp.expand(expression)) == 0


def gains(equations):
    return {symbol.name.removeprefix("law."): symbol for symbol in equations.demand.free_symbols}


def test_bertrands_force_is_shown_as_the_papers_510():
    equations = example("bertrand")
    named = gains(equations)
    alpha, alpha_rate, areal = (named[name] for name in ("y_conic", "w_conic", "w_areal"))
    A = -named["stiffness.conic"] * alpha - named["damping.conic"] * alpha_rate
    B = -named["damping.areal"] * areal
    c = x * y.rate - y * x.rate
    printed = {
        "X": (x * (A - c**2 / r**3) - (y / r) * B) / (r - ecc * x),
        "Y": (y * (A - c**2 / r**3) + ((x - ecc * r) / r) * B) / (r - ecc * x),
    }
    shown = equations.inverse_dynamics
    assert set(shown) == {"X", "Y"}
    for name, formula in printed.items():
        assert zero(shown[name] - formula)
        assert length(shown[name]) <= length(formula) + 4  # the gains written out
        assert sp.fraction(shown[name])[1] == r - ecc * x or sp.fraction(-shown[name])[1] == r - ecc * x
        assert shown[name].has(c**2) or shown[name].has((-c) ** 2)


def test_the_summary_writes_it_out():
    shown = example("bertrand").summary()
    assert "by elimination" not in shown
    assert "(x*y' - y*x')^2/(x^2 + y^2)^(3/2)" in shown


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", ["bead_on_hoop", "portfolio", "pendulum", "skate", "bertrand", "adaptive_optics"])
def test_a_closed_form_is_what_the_elimination_computes(name, sign):
    """Against numbers of the solution at states of either sign: a root taken wrongly would show at one of them."""
    equations = example(name)
    closed = equations.inverse_dynamics
    assert set(closed) == set(equations.holder_names)
    state = {symbol: sign * (0.3 + 0.17 * k) for k, symbol in enumerate(equations.state_names)}
    at = equations.evaluate(state, time=0.4)
    numbers = dict(zip(equations.state_names, at.state, strict=True)) | equations.parameter_values | {"t": 0.4}
    numbers |= {name: at[name] for name in equations.deviation_names}
    for holder, formula in closed.items():
        value = formula.subs({symbol: numbers[symbol.name] for symbol in formula.free_symbols})
        assert float(value) == pytest.approx(at[holder], rel=1e-12, abs=1e-12)


@given(mechanisms())
@settings(max_examples=25, deadline=None)
def test_closed_forms_of_random_mechanisms_are_their_multipliers(mechanism):
    equations, at = derived(mechanism)
    numbers = dict(zip(equations.state_names, at.state, strict=True)) | equations.parameter_values | {"t": at.time}
    numbers |= {name: at[name] for name in equations.deviation_names}
    scale = 1 + abs(at.mu).max(initial=0) + abs(at.accelerations).max(initial=0)
    for holder, formula in equations.inverse_dynamics.items():
        if {symbol.name for symbol in formula.free_symbols} <= set(numbers):  # no letter for a long formula
            value = formula.subs({symbol: numbers[symbol.name] for symbol in formula.free_symbols})
            assert float(value) == pytest.approx(at[holder], rel=0, abs=1e-9 * scale * at.condition)


def test_a_divisor_that_is_one_is_not_written():
    assert sp.fraction(example("skate").inverse_dynamics["lambda_edge"])[1] == 1  # sin² + cos²


def test_roots_are_reduced_both_ways():
    assert short(x * (x / r - ecc) + y**2 / r) == r - ecc * x
    speed = (x.rate**2 + y.rate**2) / r - (x * x.rate + y * y.rate) ** 2 / r**3
    assert short(speed) == (x * y.rate - y * x.rate) ** 2 / r**3


def test_the_sign_of_all_terms_goes_in_front():
    assert str(difference(-x, y)) == "-(x + y)"
    assert difference(x, y) == x - y


def test_cramer_divides_by_one_determinant():
    a, b, c, d = sp.symbols("a b c d")
    found = CramersRule(sp.Matrix([[a, b], [c, d]])).solve([x, y])
    assert [zero(f - g) for f, g in zip(found, [(d * x - b * y) / (a * d - b * c), (a * y - c * x) / (a * d - b * c)],
                                        strict=True)] == [True, True]  # fmt: skip
    (single,) = CramersRule(sp.Matrix([[a * b]])).solve([x])
    assert single == x / (a * b)
