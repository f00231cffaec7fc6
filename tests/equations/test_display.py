"""What people read: as short as a textbook's, and never other than what the machine computes."""

from itertools import pairwise

import pytest
import sympy as sp

import holdfast as hf
from holdfast.equations.writing import text as writing
from holdfast.equations.writing.closed_form import closed_form
from holdfast.graph.display import Display, common_factors_out, expanded_terms, tree_size
from holdfast.graph.nodes import Graph
from holdfast.graph.walk import Walker
from tests.equations.mechanisms import double_pendulum, example

a, b = hf.coordinates("a b")
m1, m2, l, l1, l2, g = hf.parameters("m1 m2 l l1 l2 g")
x, phi = hf.coordinates("x phi")
SHOWN = {
    "cart": (lambda: example("cart_rod"), 20, 15),
    "double pendulum": (double_pendulum, 25, 35),
    "four bar": (lambda: example("four_bar"), 200, 200),
    "adaptive optics": (lambda: example("adaptive_optics"), 5, 20),
    "pendulum": (lambda: example("pendulum"), 5, 5),
}


@pytest.mark.parametrize("name", SHOWN)
def test_shown_mass_and_forces_are_the_graphs_and_short(name):
    make, most_mass, most_bias = SHOWN[name]
    equations = make()
    agrees, zero = equations.display.agrees, equations.inputs.graph.zero
    n = len(equations.coordinates)
    for i in range(n):
        assert agrees(equations.bias[i], equations.dynamics.bias[i])
        for j in range(n):
            assert agrees(equations.mass_matrix[i, j], equations.dynamics.mass[i].get(j, zero))
    assert sp.count_ops(equations.mass_matrix) <= most_mass
    assert sp.count_ops(equations.bias) <= most_bias
    assert agrees(equations.energy, equations.observables["energy"])


def test_the_double_pendulum_reads_like_a_textbook():
    shown = double_pendulum()
    assert shown.mass_matrix == sp.Matrix(
        [[l1**2 * (m1 + m2), l1 * l2 * m2 * sp.cos(a - b)], [l1 * l2 * m2 * sp.cos(a - b), l2**2 * m2]]
    )
    expected = sp.Matrix(
        [
            -m2 * l1 * l2 * b.rate**2 * sp.sin(a - b) - (m1 + m2) * g * l1 * sp.sin(a),
            m2 * l1 * l2 * a.rate**2 * sp.sin(a - b) - m2 * g * l2 * sp.sin(b),
        ]
    )
    assert (shown.bias - expected).applyfunc(sp.expand) == sp.zeros(2, 1)


def test_the_cart_reads_like_a_textbook():
    shown = example("cart_rod")
    assert shown.mass_matrix == sp.Matrix(
        [[m1 + m2, -l * m2 * sp.sin(phi)], [-l * m2 * sp.sin(phi), 4 * l**2 * m2 / 3]]
    )
    assert shown.bias == sp.Matrix([l * m2 * phi.rate**2 * sp.cos(phi), -g * l * m2 * sp.cos(phi)])
    assert shown.jacobian == sp.eye(2)
    assert shown.drift_term == sp.zeros(2, 1)
    assert shown.holder_matrix == sp.eye(2)


def test_the_law_is_shown_with_gains_by_name():
    shown = example("cart_rod")
    upper, lower = shown.deviation_matrix[:2, :], shown.deviation_matrix[2:, :]
    assert upper == sp.Matrix([[0, 0, 1, 0], [0, 0, 0, 1]])
    names = [[str(entry) for entry in lower.row(i)] for i in range(2)]
    assert names[0] == ["-law.stiffness.home", "0", "-law.damping.home", "0"]


def test_only_what_is_used_more_than_once_gets_a_name():
    graph = Graph()
    walk = Walker(graph, {s.name: graph.input(s.name) for s in (a, b)})
    display = Display(graph, {s.name: s for s in (a, b)})
    once = display.statements({"r": walk(sp.sin(a) * b + sp.exp(a * b))})
    assert [str(line.name) for line in once] == ["r"]
    twice = display.statements({"r": walk(sp.sin(a) * b + sp.exp(sp.sin(a))), "q": walk(sp.cos(b))})
    assert [str(line.name) for line in twice] == ["s_1", "r", "q"]
    assert twice[0].value == sp.sin(a)


def test_statements_are_straight_line_and_end_in_what_was_asked_for():
    equations = example("four_bar")
    lines = equations.statements
    known = set(equations.display._symbols.values())
    for line in lines:
        assert line.value.free_symbols <= known
        known.add(line.name)
    last = [line.name.name for line in lines[-5:]]
    assert last == ["lambda_loop_x", "lambda_loop_y", "a1_ddot", "a2_ddot", "a3_ddot"]


def test_statements_compute_what_the_graph_computes():
    equations = example("four_bar")
    at = equations.evaluate()
    numbers = dict(zip(equations.state_names, at.state.tolist(), strict=True)) | equations.parameter_values | {"t": 0.0}
    for line in equations.statements:
        arguments = sorted(line.value.free_symbols, key=lambda s: s.name)
        numbers[line.name.name] = sp.lambdify(arguments, line.value)(*(numbers[s.name] for s in arguments))
    assert numbers["lambda_loop_x"] == pytest.approx(at["lambda_loop_x"], rel=1e-12)
    assert numbers["a2_ddot"] == pytest.approx(at["a2_ddot"], rel=1e-10)


def test_a_wrong_formula_is_not_shown():
    graph = Graph()
    p, q = sp.symbols("p q", real=True)
    nodes = {"p": graph.input("p"), "q": graph.input("q")}
    node = Walker(graph, nodes)(sp.sin(p) ** 2 * q + sp.cos(p) ** 2 * q)
    display = Display(graph, {"p": p, "q": q})
    assert display.agrees(q, node)
    assert not display.agrees(q + sp.Rational(1, 10**20), node)
    assert not display.agrees(q * sp.cos(p), node)
    assert display.tidy(node) == q


def test_the_size_of_a_formula_is_known_before_it_is_written():
    graph = Graph()
    p, q = graph.input("p"), graph.input("q")
    assert expanded_terms((p + q) * (p - q)) == 4
    assert tree_size((p + q) * (p + q)) == 4  # a power over a sum of two
    power = (p + q + 1) ** 40
    display = Display(graph, {"p": sp.Symbol("p"), "q": sp.Symbol("q")})
    assert expanded_terms(power) > 600
    assert sp.count_ops(display.tidy(power)) < 10  # not multiplied out


def test_closed_forms_are_shown_only_where_they_are_short():
    assert set(example("cart_rod").inverse_dynamics) == {"F", "M"}
    assert set(example("pendulum").inverse_dynamics) == {"lambda_rod"}
    assert example("four_bar").inverse_dynamics == {}
    assert example("rlc").inverse_dynamics == {}


@pytest.mark.parametrize("name", ["cart_rod", "pendulum", "adaptive_optics", "piston_line", "skate", "bertrand"])
def test_closed_forms_have_the_values_of_the_elimination(name):
    equations = example(name)
    at = equations.evaluate({c: 0.4 + 0.1 * k for k, c in enumerate(equations.coordinates)}, 0.3)
    numbers = dict(zip(equations.state_names, at.state.tolist(), strict=True))
    numbers |= equations.parameter_values | at.observables | {"t": 0.3}
    assert len(equations.inverse_dynamics) == len(equations.constraints) > 0
    for holder, formula in equations.inverse_dynamics.items():
        arguments = sorted(formula.free_symbols, key=lambda s: s.name)
        value = sp.lambdify([arguments], formula)([numbers[s.name] for s in arguments])
        assert value == pytest.approx(at[holder], rel=1e-11, abs=1e-12), holder


@pytest.mark.parametrize("name", ["cart_rod", "four_bar", "rlc", "skate", "rocket_ascent", "adaptive_optics"])
def test_summary_and_latex_name_what_there_is(name):
    equations = example(name)
    text, latex = equations.summary(), equations.latex()
    assert equations.problem.title in text
    for word in (*equations.constraints, *equations.problem.program.controls):
        assert word in text
    assert latex.count(r"\[") == latex.count(r"\]") > 0
    assert "law." not in text + latex
    assert latex.count("{") == latex.count("}")


SUMS = [
    x / 2 + phi, x / 2 + 3 * phi / 2, x / 4 + phi / 6, -x - phi, -2 * x**2 * phi - 4 * x * phi**3, x**-2 + x**-3,
    x * sp.sqrt(x + g) + phi * sp.sqrt(x + g), x * sp.exp(-phi / l) - g * sp.exp(-phi / l), sp.sqrt(2) * x + 2 * phi,
    2 * x + 4, m1 * sp.cos(phi) ** 2 * x - m1 * sp.cos(phi) * g, x**l * phi + x**l, x * phi, x + phi,
]  # fmt: skip


@pytest.mark.parametrize("expanded", SUMS, ids=str)
def test_common_factors_are_taken_out_as_by_sympy(expanded):
    found, known = common_factors_out(expanded), sp.factor_terms(expanded)
    assert sp.expand(found - known) == 0
    assert sp.count_ops(found) <= sp.count_ops(known)


def test_of_many_equations_only_those_that_are_shown_are_written(monkeypatch):
    names = hf.coordinates(" ".join(f"x{k}" for k in range(30)))
    springs = sum((one - other) ** 2 for one, other in pairwise(names))
    equations = hf.derive(
        hf.Problem(hf.System(coordinates=names, kinetic=sum(x.rate**2 for x in names), potential=springs))
    )
    written, real = [], writing._equation_of_motion
    monkeypatch.setattr(writing, "_equation_of_motion", lambda *given: written.append(given) or real(*given))
    summary = equations.summary()
    assert len(written) == 6
    assert "... and 24 more" in summary


@pytest.mark.parametrize("potential", [(10**300 * x) ** 64, (10**300 * x + 1) ** 60], ids=["power", "expanded"])
def test_a_number_of_thousands_of_digits_is_a_letter(potential):
    d = hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2, potential=sp.Pow(*potential.args)), hf.Program())
    for number in hf.derive(d).bias.atoms(sp.Rational):
        assert len(str(number)) < 1300


def test_a_constant_that_sympy_would_evaluate_for_ever_is_a_letter():
    """Each link doubles the tree; SymPy's evaluation looks at all of it whenever it is asked for a sign."""
    graph = Graph()
    link = graph.const(2**63)
    for _ in range(40):
        link = link * graph.call("cos", link)
    x_node = graph.input("x")
    display = Display(graph, {"x": x})
    shown = display.raw(link * x_node)
    assert shown.count_ops() < 40
    assert display.letters
    assert display.raw(graph.call("sqrt", graph.const(2)) * x_node) == sp.sqrt(2) * x


@pytest.mark.parametrize(("count", "written"), [(0, False), (1, True), (2, True), (3, True)])
def test_multipliers_have_a_closed_form_where_constraints_are_few(count, written):
    """By Cramer's rule where r is small, by the demand alone where r = n."""
    x, y, z = hf.coordinates("x y z")
    system = hf.System(coordinates=(x, y, z), kinetic=(x.rate**2 + y.rate**2 + z.rate**2) / 2, potential=z)
    held = dict(list({"a": x + y - hf.time, "b": y - z, "c": z}.items())[:count])
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic=held, law=hf.critically_damped(2))))
    assert set(closed_form(equations)) == (set(equations.holder_names) if written else set())


def test_latex_of_matrices_beyond_any_page_is_refused_before_they_are_made(monkeypatch):
    names = hf.coordinates(" ".join(f"q{i}" for i in range(150)))
    system = hf.System(coordinates=names, kinetic=sum(q.rate**2 for q in names) / 2)
    equations = hf.derive(hf.Problem(system, hf.Program(holonomic={f"c{i}": q for i, q in enumerate(names[:60])})))
    monkeypatch.setattr(type(equations), "mass_matrix", property(lambda self: pytest.fail("a matrix was written out")))
    with pytest.raises(hf.BadRequest, match="40,500 entries") as refused:
        equations.latex()
    assert "summary()" in refused.value.fix
