"""Factors of quotients, as SymPy gives them, without its luck."""

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from holdfast.equations.writing.factors import in_factors

x, y, z = sp.symbols("x y z")
SMALL = st.integers(-3, 3)
LINEAR = st.builds(lambda a, b, c, d: a * x + b * y + c * z + d, SMALL, SMALL, SMALL, SMALL)


@given(st.lists(LINEAR, min_size=1, max_size=3), LINEAR, st.fractions(-3, 3, max_denominator=7))
def test_a_quotient_has_the_factors_that_sympy_finds(above, below, number):
    quotient = sp.Rational(number) * sp.expand(sp.Mul(*above)) / (below if below != 0 else 1)
    assert in_factors(quotient) == sp.factor(quotient)


@pytest.mark.parametrize(
    "expression",
    [
        sp.sin(x) ** 2 - 1,
        sp.sqrt(x) * y - sp.sqrt(x),
        sp.sqrt(2) * x - sp.sqrt(2),
        sp.pi * x + sp.pi,
        x**z * y - y,
        1 / x + 1 / y,
        sp.Float(0.5) * x + sp.Float(0.5) * y,
        sp.I * x + sp.I,
        sp.Integer(0),
        sp.Rational(3, 4),
    ],
)
def test_functions_roots_and_other_numbers_are_factored_alike(expression):
    assert in_factors(expression) == sp.factor(expression)
