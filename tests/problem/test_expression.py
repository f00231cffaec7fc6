"""The language of problem files: what it means, and that writing and reading it are inverse."""

import pickle

import pytest
import sympy as sp
from hypothesis import assume, given
from hypothesis import strategies as st

import holdfast as hf
from holdfast.errors import BadExpression
from holdfast.problem.quantities import Definition, Parameter, RateOf
from holdfast.problem.text.expression import Expressions, parse
from holdfast.problem.text.spelling import Unreadable
from holdfast.problem.text.written import number_text, text_of
from holdfast.problem.vocabulary import Vocabulary

x, phi = hf.coordinates("x phi")
m, l, g = hf.parameters("m l g")
t = hf.time


def words() -> Vocabulary:
    names = Vocabulary()
    for symbol in (x, phi, m, l, g):
        names.declare(symbol, where="")
    names.define("area", m * l, where="")
    return names


POINTS = {"C": (x + l * sp.cos(phi), l * sp.sin(phi)), "A": (x, sp.S.Zero, l)}
area = Definition("area")


def read(text):
    return parse(text, words(), POINTS)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("0.1", sp.Rational(1, 10)),
        ("1e-3", sp.Rational(1, 1000)),
        ("1_000.5", sp.Rational(2001, 2)),
        (".5", sp.Rational(1, 2)),
        ("2.", sp.Integer(2)),
        ("9.81*m", sp.Rational(981, 100) * m),
        ("-x**2", -(x**2)),
        ("2**-1", sp.Rational(1, 2)),
        ("x - -x", 2 * x),
        ("m*g*l*(1 - cos(phi))", m * g * l * (1 - sp.cos(phi))),
        ("sqrt(x**2 + l**2)", sp.sqrt(x**2 + l**2)),
        ("x/2/m", x / (2 * m)),
        ("atan2(x, l)", sp.atan2(x, l)),
        ("abs(x) + sign(x)", sp.Abs(x) + sp.sign(x)),
        ("min(x, l, 2)", sp.Min(x, l, 2)),
        ("max(x)", x),
        ("sin(pi/6)", sp.Rational(1, 2)),
        ("exp(1)", sp.E),
        ("x_dot*t", x.rate * t),
        ("ddt(x*phi)", x.rate * phi + x * phi.rate),
        ("ddt(ddt(x))", x.acceleration),
        ("ddt(abs(x))", RateOf(sp.Abs(x))),
        ("ddt(area)", RateOf(area)),
        ("2*area", 2 * area),
        ("C.x - A.x", l * sp.cos(phi)),
        ("ddt(C).y", l * sp.cos(phi) * phi.rate),
        ("dot(C - C, C)", sp.S.Zero),
        ("cross([1, 2], [3, 4])", sp.Integer(-2)),
        ("cross([1, 0, 0], [0, 1, 0])", (0, 0, 1)),
        ("[x, l] + 2*[1, m]/4", (x + sp.Rational(1, 2), l + m / 2)),
        ("-A", (-x, sp.S.Zero, -l)),
        ("  x\n  + l ", x + l),
    ],
)
def test_texts_mean_what_they_say(text, meaning):
    assert read(text) == meaning


def test_a_factor_before_a_sum_stays_where_it_is_written():
    assert text_of(read("(x**2 - l**2)/2")) == "(x**2 - l**2)/2"


def test_a_long_chain_of_terms_is_not_deep():
    assert read("+".join(["x"] * 1500)) == 1500 * x


def test_a_large_derivative_is_left_to_the_graph():
    product = "*".join(f"sin(x + {k}*phi)" for k in range(60))
    assert isinstance(read(f"ddt({product})"), RateOf)


@given(st.permutations([x, phi]), st.integers(-3, 3))
def test_derivatives_agree_with_sympy(order, power):
    a, b = order
    e = (sp.sin(a) * sp.exp(b * a) + sp.sqrt(1 + a**2)) ** power + sp.atan2(a, b) * sp.tanh(b) + t**b * sp.log(2 + a**2)
    expected = sum((sp.diff(e, q) * q.rate for q in (x, phi)), sp.diff(e, t))
    at = {x: 0.3, phi: 0.7, t: 1.3, x.rate: -0.4, phi.rate: 0.9}
    assert abs(float((hf.rate(e) - expected).subs(at))) < 1e-12


def test_the_rate_of_a_deviation_is_refused():
    with pytest.raises(BadExpression, match="does not know the rate"):
        hf.rate(hf.deviations("rod"))


# ---------------------------------------------------------------- and back


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ((981, 100), "9.81"), ((1, 2), "1/2"), ((-1, 3), "-1/3"), ((1, 10), "0.1"), ((5, 1), "5"), ((-7, 1), "-7"),
        ((1, 1000), "0.001"), ((1, 10**20), "1e-20"), ((10**30, 1), "1e30"), ((-1, 16), "-0.0625"), ((1, 12), "1/12"),
        ((123, 10**9), "123e-9"), ((1, 7**3), "1/343"), ((0, 1), "0"),
    ],
)  # fmt: skip
def test_numbers_are_written_exactly_and_short(number, text):
    assert number_text(sp.Rational(*number)) == text
    assert read(text) == sp.Rational(*number)


RATIONALS = st.builds(sp.Rational, st.integers(-50, 50), st.integers(1, 40))
LEAVES = st.one_of(st.sampled_from([x, phi, m, l, x.rate, t, area, sp.pi]), RATIONALS)


def larger(parts):
    return st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a - b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, b: a / b if b != 0 else a, parts, parts),
        st.builds(lambda a, n: a**n if a != 0 else a, parts, st.integers(-3, 3)),
        st.builds(
            lambda a, n: (a**2 + 1) ** sp.Rational(*n), parts, st.sampled_from([(1, 2), (-1, 2), (2, 3), (-5, 4)])
        ),
        st.builds(
            lambda f, a: f(a), st.sampled_from([sp.sin, sp.cos, sp.atan, sp.tanh, sp.exp, sp.Abs, sp.sign]), parts
        ),
        st.builds(lambda f, a, b: f(a, b), st.sampled_from([sp.Min, sp.Max]), parts, parts),
        st.builds(lambda a: sp.factor_terms(a), parts),
        st.builds(hf.rate, parts),
    )


def is_finite_and_real(e):
    return isinstance(e, sp.Expr) and not e.has(sp.nan, sp.zoo, sp.oo, sp.I) and sp.count_ops(e) <= 150


@given(st.recursive(LEAVES, larger, max_leaves=8))
def test_reading_what_was_written_gives_the_same_expression(expression):
    assume(is_finite_and_real(expression))
    text = text_of(expression)
    try:
        same = read(text) == expression
    except Unreadable as error:  # a Python user may write larger numbers than a file
        same = any(word in error.what for word in ("out of range", "cancel", "exponent"))
    assert same, text


@pytest.mark.parametrize("expression", [sp.Piecewise((x, x > 0), (0, True)), sp.Heaviside(x), sp.sec(x), sp.gamma(x)])
def test_what_has_no_spelling_is_refused(expression):
    with pytest.raises(BadExpression, match="no form in a problem file"):
        text_of(1 + expression)


# ---------------------------------------------------------------- limits


def test_chained_definitions_stay_small_in_memory():
    names = words()
    reader = Expressions(names)
    last = "x"
    for k in range(60):
        expression = reader.scalar(f"{last}*sin({last}) + {last}")
        names.define(f"d{k}", expression, where="")
        reader.add_definition(f"d{k}", expression)
        last = f"d{k}"
    assert names.dependence(names[last]) == {x}


def test_chained_constant_definitions_cannot_grow_without_limit():
    names = words()
    reader = Expressions(names)
    reader.add_definition("c", sp.Rational(3**50 + 1, 3**50))
    names.declare(Definition("c"), where="")
    assert reader.scalar("c**20*x") == Definition("c") ** 20 * x
    for text in ("c**60", "(c*x/x)**60", "((x + c - x)**20)**20"):
        with pytest.raises(Unreadable, match="out of range"):
            reader.scalar(text)


def test_chained_points_cannot_grow_without_limit():
    reader = Expressions(words(), {"P": (x, x)})

    def grow():
        for _ in range(30):
            reader.add_point("P", reader.read("[sin(P.x)*P.y, P.x + cos(P.y)]"))

    with pytest.raises(Unreadable, match="too large"):
        grow()


def test_an_error_shows_its_place_even_outside_a_file():
    with pytest.raises(Unreadable) as caught:
        read("m*omega_dot")
    assert "m*omega_dot\n        ^^^^^^^^^" in str(caught.value)


def test_errors_survive_pickling():
    with pytest.raises(Unreadable) as caught:
        read("x^2")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_parameters_keep_their_assumptions_out_of_the_text():
    assert text_of(sp.sqrt(Parameter("k", positive=True))) == "sqrt(k)"
