"""Units wherever the file has them, words that can be read in formulas, and letters that are used once."""

import pytest
import sympy as sp

import holdfast as hf
from holdfast.graph.squares import squares_joined
from holdfast.page.markup.mathml import mathml
from holdfast.problem.units.derived import DerivedUnits

UNITS = {"x": "m", "m": "kg", "k": "N/m"}
TEXT = """schema = 1
[system]
coordinates = ["x"]
kinetic = "m*x_dot**2/2"
potential = "k*x**2/2"
[parameters]
m = 1
k = 1
[program.holonomic]
rest = "x"
[units]
x = "m"
m = "kg"
k = "N/m"
"""


@pytest.mark.parametrize(
    ("name", "unit"),
    [("t", "s"), ("x", "m"), ("x_dot", "m/s"), ("energy", "J"), ("power_correction", "W"), ("k", "N/m"),
     ("y_rest", "m"), ("w_rest", "m/s"), ("lambda_rest", "N"), ("nobody", "")],
)  # fmt: skip
def test_a_unit_follows_from_the_stated_ones(name, unit):
    assert DerivedUnits(hf.loads(TEXT)).of(name) == unit


def test_without_units_nothing_has_one():
    bare = hf.loads(TEXT[: TEXT.index("[units]")])
    assert [DerivedUnits(bare).of(name) for name in ("t", "x", "energy")] == ["", "", ""]


def test_an_energy_of_which_a_part_has_no_unit_has_none():
    assert DerivedUnits(hf.loads(TEXT.replace('m = "kg"\n', "").replace('k = "N/m"\n', ""))).of("energy") == ""


def test_a_rate_of_a_word_is_d_by_dt_and_its_power_stands_behind_brackets():
    shown = mathml(r"\dot{\mathrm{shaft}}^{2}")
    assert "<mover" not in shown
    assert shown.index("<mo>(</mo>") < shown.index("shaft") < shown.index("<mo>)</mo>") < shown.index("<mn>2</mn>")
    assert "<mover" not in mathml(r"\ddot{\mathrm{shaft}}")
    assert "<mo>(" not in mathml(r"x^{2}")


def test_sin2_plus_cos2_is_one_and_nothing_else_is():
    a, b, m = sp.symbols("a b m")
    assert squares_joined(m / (sp.sin(a) ** 2 + sp.cos(a) ** 2)) == m
    assert squares_joined(b + m * sp.sin(a) ** 2 + m * sp.cos(a) ** 2) == b + m
    for kept in (sp.sin(a) ** 2 + sp.cos(b) ** 2, sp.sin(a) ** 2 + 2 * sp.cos(a) ** 2, sp.sin(a) + sp.cos(a)):
        assert squares_joined(kept) == kept


def test_the_mass_matrix_takes_another_letter_where_a_torque_has_its():
    text = (
        TEXT.replace("k = 1\n", "k = 1\nM = 2\n")
        .replace("k*x**2/2", "k*x**2/2 + M*x**2")
        .replace(TEXT[TEXT.index("[units]") :], "")
    )
    run = hf.simulate(hf.derive(hf.loads(text)), "rk4", step=0.1, duration=0.2)
    html = hf.report(run, state_error=False, live=False).html
    assert "A = " in html
    assert 'data-copy="M = ' not in html
