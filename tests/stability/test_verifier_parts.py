"""The verifier's own arithmetic, reading and derivation, each against something else."""

import random
import re
from fractions import Fraction
from importlib import resources
from types import SimpleNamespace

import flint
import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.graph.arithmetics.tape import Tape
from holdfast.schemes.by_name import scheme_named
from holdfast.stability.certificate.run_code import run_code
from holdfast.stability.verifier.check import reading
from holdfast.stability.verifier.numbers import functions
from holdfast.stability.verifier.numbers.dag import UNARY, Dag
from holdfast.stability.verifier.numbers.evaluate import Forms, ball_function, ball_values, double_values
from holdfast.stability.verifier.numbers.forms import Form, space
from holdfast.stability.verifier.reading.data import stated_tables
from holdfast.stability.verifier.reading.equations import equations
from holdfast.stability.verifier.reading.file import claims
from holdfast.stability.verifier.reading.law import Law
from holdfast.stability.verifier.reading.limits import free_code
from holdfast.stability.verifier.reading.statement import statement
from holdfast.stability.verifier.reading.text import Expression
from holdfast.stability.verifier.refusal import Refused, Unconfirmed
from holdfast.stability.verifier.schemes import TABLEAUS
from holdfast.stability.verifier.steps.cells import Cutter, Limit, boxes
from holdfast.stability.verifier.steps.motion import WholeMotion
from holdfast.stability.verifier.steps.rounding import Agreement
from holdfast.stability.verifier.steps.step import coefficients, nearby
from holdfast.stability.verifier.steps.unknowns import System, bounded, enclosed
from holdfast.stability.verifier.steps.unknowns import _parts as unknowns_parts
from holdfast.stability.verifier.tube.limits import LimitAgreement
from tests.stability.held import pendulum

EXAMPLES = sorted(path.name for path in (resources.files("holdfast") / "examples").iterdir() if path.name[0] != "_")


@pytest.fixture(autouse=True)
def many_bits():
    before, flint.ctx.prec, cap, flint.ctx.cap = flint.ctx.prec, 200, flint.ctx.cap, 5
    yield
    flint.ctx.prec, flint.ctx.cap = before, cap


# ── forms ─────────────────────────────────────────────────────────────────────────────────────────

CELLS, TERMS = 12, 5


def random_form(rng, chosen, middle):
    c = 0.05 * rng.normal(size=(CELLS, chosen.size, TERMS))
    c[:, 0, 0] = middle + 0.2 * rng.normal(size=CELLS)
    return Form(chosen, c, np.abs(rng.normal(size=(CELLS, TERMS))) * 1e-6)


def series_at(form, cell, point, sides):
    """The series in s that a form means at a point, with remainders pushed to their ends."""
    out = []
    for k in range(form.space.terms):
        total = flint.arb(float(form.r[cell, k])) * int(sides[k])
        for j, exponents in enumerate(form.space.exponents):
            term = flint.arb(float(form.c[cell, j, k]))
            for x, e in zip(point, exponents, strict=True):
                term = term * flint.arb(float(x)) ** int(e)
            total = total + term
        out.append(total)
    return out


def hyperbolic(x, sign):
    return (x.exp() + sign / x.exp()) / 2


TRUTH = {
    "sqrt": lambda x, y: x.sqrt(), "exp": lambda x, y: x.exp(), "log": lambda x, y: x.log(),
    "sin": lambda x, y: x.sin(), "cos": lambda x, y: x.cos(), "atan": lambda x, y: x.atan(),
    "sinh": lambda x, y: hyperbolic(x, -1), "cosh": lambda x, y: hyperbolic(x, 1),
    "tanh": lambda x, y: hyperbolic(x, -1) / hyperbolic(x, 1),
    "product": lambda x, y: x * y, "quotient": lambda x, y: x / y, "cube": lambda x, y: x * x * x,
}  # fmt: skip


@pytest.mark.parametrize("name", TRUTH)
def test_forms_contain_what_they_enclose(name):
    rng = np.random.default_rng(3)
    chosen = space((1, 1, 2), 3, TERMS)
    a, b = random_form(rng, chosen, 1.5), random_form(rng, chosen, 2.0)
    made = {
        "product": lambda: a * b, "quotient": lambda: functions.divided(a, b), "cube": lambda: a.raised(3)
    }.get(name, lambda: functions.applied(name, a))()  # fmt: skip
    for _ in range(60):
        cell, point = rng.integers(CELLS), rng.uniform(-1, 1, 3)
        point = np.where(rng.random(3) < 0.4, np.sign(point), point)
        x, y = (flint.arb_series(series_at(form, cell, point, rng.choice([-1, 0, 1], TERMS))) for form in (a, b))
        truth, middle = TRUTH[name](x, y), series_at(made, cell, point, [0] * TERMS)
        for k in range(TERMS):
            assert abs(truth[k] - middle[k]) <= flint.arb(float(made.r[cell, k]))


AT_THE_EDGE = {  # x over [-1, 1], exactly 0, and over [0.9, 1.1]: defined only where nothing jumps or ends
    "sign": lambda x, one: functions.applied("sign", x),
    "abs": lambda x, one: functions.applied("abs", x),
    "sqrt": lambda x, one: functions.applied("sqrt", x),
    "log": lambda x, one: functions.applied("log", x),
    "1/x": lambda x, one: functions.divided(one, x),
    "atan2(x, -1)": lambda x, one: functions.applied("atan2", x, -one),
    "atan2(x, x)": lambda x, one: functions.applied("atan2", x, x),
}


@pytest.mark.parametrize("name", AT_THE_EDGE)
def test_what_is_not_defined_all_over_a_cell_has_no_bound(name):
    chosen = space((1,), 3, 2)
    c = np.zeros((3, chosen.size, 2))
    c[:, 0, 0], c[:, chosen.linear[0], 0] = (0.0, 0.0, 1.0), (1.0, 0.0, 0.1)
    with np.errstate(all="ignore"):
        made = AT_THE_EDGE[name](Form(chosen, c, np.zeros((3, 2))), Form.constant(chosen, np.ones(3)))
    assert np.isfinite(made.r[:, 0]).tolist() == [False, False, True]


def test_remainders_hold_what_doubles_round():
    """0.1 + 0.2 as forms of nothing but numbers: the exact sum of the doubles lies within."""
    rng = np.random.default_rng(4)
    chosen = space((), 0, 1)
    x, y = rng.normal(size=(2, 1000)) * 10.0 ** rng.integers(-8, 8, (2, 1000))
    for made, exact in (
        (Form.constant(chosen, x) + Form.constant(chosen, y), lambda a, b: a + b),
        (Form.constant(chosen, x) * Form.constant(chosen, y), lambda a, b: a * b),
    ):
        for k in range(0, 1000, 7):
            off = abs(exact(Fraction(x[k]), Fraction(y[k])) - Fraction(made.c[k, 0, 0]))
            assert off <= Fraction(made.r[k, 0])


def test_krawczyk_encloses_the_solution_and_refuses_a_singular_matrix():
    rng = np.random.default_rng(5)
    chosen = space((1, 1), 2, 3)
    entries = [[random_form_of(rng, chosen, float(i == j)) for j in range(3)] for i in range(3)]
    right = [random_form_of(rng, chosen, 1.0) for _ in range(3)]
    z = enclosed(entries, right)
    flint.ctx.cap = 3
    for _ in range(40):
        cell, point = rng.integers(CELLS), rng.uniform(-1, 1, 2)
        matrix = [[plain_series(form, cell, point) for form in row] for row in entries]
        b = [plain_series(form, cell, point) for form in right]
        truth = cramer(matrix, b)
        for k in range(3):
            for s in range(3):
                off = abs(truth[k][s] - plain_series(z[k], cell, point)[s])
                assert off <= flint.arb(float(z[k].r[cell, s]))
    singular = [[Form.constant(chosen, np.full(CELLS, 1.0)) for _ in range(2)] for _ in range(2)]
    assert not np.isfinite(enclosed(singular, right[:2])[0].r).any()


@pytest.mark.parametrize("scale", [1.0, 1e-250])
def test_what_bounds_the_unknowns_solves_its_inequality_exactly(scale):
    """δ̄ ≥ start + distance ∗ δ̄, power by power, in fractions; infinite exactly where no such δ̄ exists."""
    rng, terms, size = np.random.default_rng(9), 4, 3
    distance = rng.uniform(0, 0.3, (20, size, size, terms))
    distance[0] = 0
    distance[1, :, :, 0] = 0.5  # beyond a contraction: rows of 1.5
    distance[2, 0, 0, 1] = np.inf
    start = scale * rng.uniform(0, 1, (20, size, terms)) * (rng.random((20, size, terms)) < 0.7)
    start[3] = 0
    start[4, 0, 0] = np.nan
    found = bounded(distance, start)
    lost = [1, 2, 4]
    assert np.isinf(found[lost]).all()
    for g, s, d in (tuple(x[k] for x in (distance, start, found)) for k in range(20) if k not in lost):
        for i in range(size):
            for k in range(terms):
                image = sum(Fraction(g[i, j, p]) * Fraction(d[j, k - p]) for j in range(size) for p in range(k + 1))
                assert Fraction(d[i, k]) >= Fraction(s[i, k]) + image
        first = np.linalg.inv(np.eye(size) - g[:, :, 0])
        known = s[:, 0]
        assert (d[:, 0] <= 1.01 * (first @ known) + 1e-280).all()  # and it is no wild guess


def test_krawczyk_works_alike_in_any_units():
    """Rows and unknowns of powers of two: the same doubles, so the same remainders, in those units."""
    rng, chosen = np.random.default_rng(5), space((1, 1), 2, 3)
    entries = [[random_form_of(rng, chosen, 2.0 * (i == j)) for j in range(3)] for i in range(3)]
    right = [random_form_of(rng, chosen, 1.0) for _ in range(3)]
    for form in (*right, *(form for row in entries for form in row)):
        form.c[:, :, 1:] = 0  # nothing moves with the step: its further powers have remainders of underflow alone
    plain = [form.r[:, 0] for form in enclosed(entries, right)]
    rows, columns = (1.0, 8.0, 0.25), (2.0**20, 1.0, 2.0**-25)
    scaled = [
        [form.scaled(a * b) for form, b in zip(row, columns, strict=True)] for row, a in zip(entries, rows, strict=True)
    ]
    found = enclosed(scaled, [form.scaled(a) for form, a in zip(right, rows, strict=True)])
    for form, size, unit in zip(found, plain, columns, strict=True):
        assert np.isfinite(form.r).all()
        assert form.r[:, 0] * unit == pytest.approx(size, rel=1e-6)


def test_a_singular_cell_leaves_the_others_as_they_are():
    chosen = space((1,), 1, 1)
    right = [Form.constant(chosen, np.ones(2)) for _ in range(2)]
    numbers = [[[1.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 1.0]]]  # the second cell is singular
    entries = [[Form.constant(chosen, np.array(pair)) for pair in row] for row in numbers]
    first, second = enclosed(entries, right)
    assert np.isfinite(first.r[0]).all()
    assert np.isfinite(second.r[0]).all()
    assert not np.isfinite(first.r[1]).any()


def test_equations_fall_into_their_smallest_parts_in_an_order_that_can_be_solved():
    rng = np.random.default_rng(3)
    for _ in range(50):
        sizes = rng.integers(1, 4, size=rng.integers(1, 5))
        block = np.repeat(np.arange(len(sizes)), sizes)
        full = (block[:, None] == block) | ((block[:, None] > block) & (rng.random((len(block),) * 2) < 0.5))
        rows, columns = rng.permutation(len(block)), rng.permutation(len(block))
        found = unknowns_parts(full[rows][:, columns])
        held = [(set(block[rows[part.rows]]), set(block[columns[part.columns]])) for part in found]
        assert all(a == b and len(a) == 1 for a, b in held)  # each is one of the blocks, with its own unknowns
        assert sorted(min(a) for a, _ in held) == list(range(len(sizes)))
        known = set()
        for part in found:
            known |= set(part.columns)
            assert all(set(np.flatnonzero(full[rows][:, columns][i])) <= known for i in part.rows)
    with pytest.raises(Refused, match="do not decide"):
        unknowns_parts(np.array([[True, True], [False, False]]))


def random_form_of(rng, chosen, middle):
    c = 0.03 * rng.normal(size=(CELLS, chosen.size, 3))
    c[:, 0, 0] += middle
    return Form(chosen, c, np.zeros((CELLS, 3)))


def plain_series(form, cell, point):
    return flint.arb_series(series_at(form, cell, point, [0] * form.space.terms))


def cramer(a, b):
    def det(m):
        return (m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]))  # fmt: skip

    whole = det(a)
    return [det([[b[i] if j == k else a[i][j] for j in range(3)] for i in range(3)]) / whole for k in range(3)]


# ── reading and deriving ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", [
    "-x**2 + 2*x*y/3", "2**-2*x", "x**2**1", "-(x - y)*-1", "sin(x)*cos(y) - tan(x*y)", "sqrt(x**2 + 1e-3)/(1 + x)",
    "atan2(y, x) + min(x, y, 0.3) - max(x, 2*y)", "abs(x) - sign(y)*exp(-x)", "x**0.5 + (1/3)*y", "log(2 + x)**3",
    "sinh(x) + cosh(y)*tanh(x)", "2*pi*x", ".5*x + 1.e2*y",
])  # fmt: skip
def test_expressions_mean_what_sympy_says(text):
    dag, names = Dag(), sp.symbols("x y")
    nodes = {"x": dag.input("x"), "y": dag.input("y")}
    node = Expression(text, dag, nodes, lambda node: node, "test").scalar()
    truth = sp.sympify(
        re.sub(r"\bmin\b", "Min", re.sub(r"\bmax\b", "Max", text)), locals={"x": names[0], "y": names[1]}
    )
    for x, y in ((0.3, 0.7), (1.25, -0.5)):
        (found,) = double_values([node], {"x": np.array([x]), "y": np.array([y])}, 1)
        assert found[0] == pytest.approx(complex(truth.subs({names[0]: x, names[1]: y})).real, rel=1e-12)
    slopes = dag.partials([node], nodes.values())[0]
    for slope, symbol in zip(slopes, names, strict=True):
        (found,) = double_values([slope], {"x": np.array([0.3]), "y": np.array([0.7])}, 1)
        step = 1e-6
        moved = ({names[0]: 0.3, names[1]: 0.7} for _ in range(2))
        ends = [complex(truth.subs(at | {symbol: at[symbol] + s})) for at, s in zip(moved, (-step, step), strict=True)]
        assert found[0] == pytest.approx((ends[1] - ends[0]).real / (2 * step), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("text", ["__import__('os')", "x.y", "x if y else 1", "x y", "f(x)", "(x", "1e999999", "x[0]"])
def test_what_is_no_expression_is_refused(text):
    dag = Dag()
    with pytest.raises(Refused):
        Expression(text, dag, {"x": dag.input("x"), "y": dag.input("y")}, lambda node: node, "test").scalar()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_verifier_and_the_product_derive_the_same(name):
    """Two derivations that share nothing: deviations, and J a + γ = Y and M a = h + E μ of the product's own rates."""
    problem = hf.load(str(resources.files("holdfast") / "examples" / name))
    if isinstance(problem.program.law, hf.Tuned):
        problem = problem.with_law(hf.SpringDamper(stiffness=4, damping=4))
    product = hf.derive(problem)
    if product.deviations.degrees:
        assert_alike_above_degree_2(product)
        return
    unread = {  # what is never proved, and refused by name
        "\\[program\\] holds": bool(problem.program.model) or problem.program.sampling is not None,
    }
    for word in (word for word, there in unread.items() if there):
        with pytest.raises(Refused, match=word):
            statement(hf.dumps(problem))
        return
    stated = statement(hf.dumps(problem))
    try:
        law = Law(stated)
    except Unconfirmed:
        pytest.skip("a law that only the product knows")
    stated.take(stated_tables(run_code(product).get("tables", {}), "tables"))
    values = hf_parameters(product)
    own = equations(stated, law, values)
    assert own.inputs == ["t", *product.state_names]
    rates = Tape(product.field.inputs, product.field.rates)
    from holdfast.stability.verifier.reading.file import _code

    if len(own.jacobian) > len(product.coordinates):  # kepler: eased, so never proved
        with pytest.raises(Refused, match="do not decide accelerations"):
            Agreement(own, _code(run_code(product), "code"), values)
        return
    agreement = agreement_of(own, _code(run_code(product), "code"), values)
    shake, compared = random.Random(2), 0
    start = [product.problem.run.begin, *(float(x) for x in hf_start(product))]
    for _ in range(10):
        point = [x + 0.05 * shake.uniform(-1, 1) * (1 + abs(x)) for x in start]
        if not np.isfinite(rates([*point, *values.values()])).all():
            continue
        compared += agreement.check(point)
        deviations = Tape(product.field.inputs, (*product.deviations.y, *product.deviations.w))
        theirs = deviations([*point, *values.values()])
        ours = ball_values(list(own.psi.values()), dict(zip(own.inputs, map(flint.arb, point), strict=True)))
        assert theirs == pytest.approx([float(x.mid()) for x in ours], rel=1e-9, abs=1e-9)
    assert compared


def agreement_of(own, code, values):
    if not own.stated.limits:
        return Agreement(own, code, values)
    free, cuts = free_code(code, len(own.inputs))
    return LimitAgreement(own, free, cuts, values)


def assert_alike_above_degree_2(product):
    """Deviations are rates along the code, which moves as the law and the problem ask, in the verifier's reading."""
    from holdfast.stability.verifier.reading.chains import ChainAgreement, ChainLaw, chain_equations
    from holdfast.stability.verifier.reading.file import _code

    stated, values = statement(hf.dumps(product.problem)), hf_parameters(product)
    begin, start = product.problem.run.begin, hf_start(product)
    names = SimpleNamespace(names=product.deviation_names, proof=None, tube_proof=None)
    claims = SimpleNamespace(blocks=[names], code=_code(run_code(product), "code"), parameters=values, start=start)
    own = chain_equations(stated, ChainLaw(stated, claims), claims)
    assert own.inputs == ["t", *product.state_names]
    agreement, run = ChainAgreement(own, claims.code, values), hf.simulate(product, hf.RK4, step=1e-3, duration=5e-3)
    for row in range(2, 6):
        at = [begin + run.times[row], *run.y[:, row]]
        assert agreement.check(at)
        ours = ball_values(
            [own.psi[name] for name in names.names], dict(zip(own.inputs, map(flint.arb, at), strict=True))
        )
        theirs = [run[name][row] for name in names.names]
        assert theirs == pytest.approx([float(x.mid()) for x in ours], rel=1e-6, abs=1e-8)


def hf_parameters(product):
    from holdfast.equations.values import parameter_vector

    return dict(zip(product.parameter_names, parameter_vector(product, {}), strict=True))


def hf_start(product):
    run = hf.simulate(product, hf.Euler, step=1e-6, duration=1e-6, start_policy="keep")
    return run.y[:, 0]


def test_the_total_rate_of_an_expression_counts_all_that_moves():
    """d(t x y')/dt + ds/dt, with s' = −s: x y' + t x' y' + t x y'' − s."""
    text = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
states = {s = "-s"}
"""
    stated = statement(text)
    node = stated.scalar("t*x*y_dot + s", "here")
    values = {"t": 2.0, "x": 3.0, "x_dot": 5.0, "y_dot": 7.0, "y_ddot": 11.0, "s": 13.0}
    (found,) = double_values([stated.rate(node)], {name: np.array([x]) for name, x in values.items()}, 1)
    assert found[0] == 3 * 7 + 2 * 5 * 7 + 2 * 3 * 11 - 13


@pytest.mark.parametrize("gains", ["{rod = 25, rope = 3}", '{rod = 25, "rod.rope" = 3}', '{rod = 25, "rope.rod" = 3}'])
def test_a_law_with_a_gain_of_no_constraint_is_refused(gains):
    text = hf.dumps(pendulum(0.3))
    assert Law(statement(text.replace("stiffness = 25", "stiffness = {rod = 25}")))
    with pytest.raises(Refused, match="a gain of no constraint"):
        Law(statement(text.replace("stiffness = 25", f"stiffness = {gains}")))


@pytest.mark.parametrize("name", TABLEAUS)
def test_the_tableaus_of_the_verifier_are_those_that_are_run(name):
    """Written down twice, for two readers: the second is checked by its order conditions too."""
    own, run = TABLEAUS[name], scheme_named(name)
    assert [list(row) for row in own.stages] == [list(row) for row in run.stages]
    assert list(own.weights) == list(run.weights)
    assert list(own.nodes) == list(run.nodes) == [sum(row, Fraction(0)) for row in own.stages]
    assert own.order == run.order
    assert sum(own.weights) == 1


# ── cells and defects ─────────────────────────────────────────────────────────────────────────────


def test_cutting_a_box_loses_no_state():
    dag = Dag()
    x, y = dag.input("x"), dag.input("y")
    circle = dag.sub(dag.add(dag.power(x, 2), dag.power(y, 2)), dag.one)
    cutter = Cutter(["x", "y"], [Limit(circle, -1e-3, 1e-3, across=True)])
    rng = np.random.default_rng(6)
    low = rng.uniform(-1.2, 1.0, (40, 2))
    high = low + rng.uniform(0.01, 0.6, (40, 2))
    alive, cells = cutter.cells(low, high)
    angles, radii = rng.uniform(0, 2 * np.pi, 4000), np.sqrt(1 + rng.uniform(-1e-3, 1e-3, 4000))
    points = np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])
    seen = 0
    for k in range(40):
        inside = points[((points >= low[k]) & (points <= high[k])).all(axis=1)]
        assert k in alive or not len(inside)
        if len(inside):
            at = int(np.flatnonzero(alive == k)[0])
            e = np.linalg.solve(cells.basis[at], (inside - cells.centre[at]).T)
            assert (np.abs(e) <= 1 + 1e-9).all()
            seen += len(inside)
    assert seen > 100


@pytest.mark.parametrize("scheme", ["euler", "heun", "rk4"])
def test_the_defect_of_real_steps_lies_in_its_enclosure(scheme):
    """ψ(Φ(x)) − R ψ(x) at random points of random cells, in 200 bits, by another way of solving."""
    stated = statement(hf.dumps(pendulum(0.3)))
    law = Law(stated)
    numbers = {"g": 9.81, "law.stiffness.rod": 25.0, "law.damping.rod": 10.0}
    own, tableau, step = equations(stated, law, numbers), TABLEAUS[scheme], 0.01
    motion = WholeMotion(own, ["y_rod", "w_rod"])
    rng = np.random.default_rng(8)
    centre = np.array([[np.sin(a), -np.cos(a), v * np.cos(a), v * np.sin(a)] for a, v in rng.uniform(-1, 1, (8, 2))])
    size = 0.02
    cells = boxes(motion.variables, centre - size, centre + size)
    near, far = space((1,) * 4, 3, tableau.order + 3), space((1,) * 5, 1, tableau.order + 4)
    found = coefficients(motion, tableau, step, nearby(motion, tableau, cells.values(near)), cells.values(far))
    system = System(own)
    for k in range(8):
        for _ in range(6):
            point = [flint.arb(float(x)) for x in centre[k] + size * rng.uniform(-1, 1, 4)]
            defect = exact_defect(own, system, tableau, step, point)
            for form, value in zip(found, defect, strict=True):
                low, high = form.range()
                scaled = value / flint.arb(step) ** (tableau.order + 1)
                assert float(low[k]) <= float(scaled.mid()) <= float(high[k])


def exact_defect(own, system, tableau, step, point):
    names, h = own.inputs[1:], flint.arb(step)

    def rates(state):
        values = dict(zip(own.inputs, [flint.arb(0), *state], strict=True))
        rows = [ball_values(row, values) for row in system.matrix]
        right = [[x] for x in ball_values(system.right, values)]
        z = flint.arb_mat(rows).solve(flint.arb_mat(right))
        return [*state[2:], z[0, 0], z[1, 0]]

    def exactly(x):
        return flint.arb(flint.fmpq(x.numerator, x.denominator))

    def moved(weights, stages):
        return [
            x + h * sum((exactly(b) * stage[i] for b, stage in zip(weights, stages, strict=False)), flint.arb(0))
            for i, x in enumerate(point)
        ]

    stages = []
    for row in tableau.stages:
        stages.append(rates(moved(row, stages)))
    after = moved(tableau.weights, stages)
    psi = [ball_values(list(own.psi.values()), dict(zip(names, state, strict=True))) for state in (point, after)]
    law = flint.arb_mat([[0, 1], [-25, -10]]) * h
    power, total = flint.arb_mat([[1, 0], [0, 1]]), flint.arb_mat([[0, 0], [0, 0]])
    for b in tableau.stability:
        total, power = total + power * exactly(b), power * law
    return [psi[1][i] - total[i, 0] * psi[0][0] - total[i, 1] * psi[0][1] for i in range(2)]


def test_the_tableaus_are_those_that_are_run():
    """Every scheme that may be proved, written down once more: what the verifier does not know it cannot re-check."""
    assert set(TABLEAUS) >= {scheme.name for scheme in hf.ALL_SCHEMES if not scheme.unproved}
    for name, tableau in TABLEAUS.items():
        run = next(scheme for scheme in hf.ALL_SCHEMES if scheme.name == name)
        assert run.order == tableau.order
        assert run.weights == tableau.weights
        assert [tuple(x for x in row if x) for row in run.stages] == [
            tuple(x for x in row if x) for row in tableau.stages
        ]
        assert run.nodes == tuple(tableau.nodes)


def test_a_dropped_equation_is_seen_in_the_code():
    """A code that leaves the second row out: the control is 0, and J a + γ is not what the law asks."""
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    held = {"a": x + y - sp.sin(hf.time), "b": x + 2 * y}
    program = hf.Program(
        holonomic=held, controls={"F": {x: 1}, "G": {y: 1}}, law=hf.SpringDamper(stiffness=25, damping=10)
    )
    made = hf.certify(
        hf.derive(hf.Problem(system, program, start={x.rate: 2, y.rate: -1})), hf.RK4, step=0.01, duration=0.5
    )
    assert made.label is hf.Label.proved
    assert hf.verify(made)
    read = reading(claims(made.to_dict()))
    assert read.agreement.check([0.1, 0.2, 0.3, 2.0, -1.0])
    data = made.to_dict()
    data["code"]["operations"].append(["const", "0"])
    data["code"]["rates"][3] = len(data["code"]["inputs"]) + len(data["code"]["operations"]) - 1
    from holdfast.stability.certificate.certificate import digest

    wrong = reading(claims(data | {"digest": digest(data)}))
    with pytest.raises(Refused, match="does not ask of 'a' what the law asks"):
        wrong.agreement.check([0.1, 0.2, 0.3, 2.0, -1.0])


def test_form_evaluation_knows_every_function_of_the_grammar():
    dag, chosen = Dag(), space((1,), 2, 2)
    x = dag.input("x")
    place = Form.constant(chosen, np.array([0.4]))
    place.c[:, chosen.linear[0], 0] = 0.05
    for name in UNARY:
        (made,) = Forms(chosen, 1, {"x": place}).of([dag.call(name, x)])
        low, high = made.range()
        (truth,) = double_values([dag.call(name, x)], {"x": np.linspace(0.35, 0.45, 50)}, 50)
        assert low[0] <= truth.min() <= truth.max() <= high[0] < np.inf
        enclosed = float(ball_function(name, [flint.arb(0.4)], flint))
        (slope,) = double_values(dag.derivatives([dag.call(name, x)], {x: dag.one}), {"x": np.array([0.4])}, 1)
        beside = [float(ball_function(name, [flint.arb(0.4 + h)], flint)) for h in (-1e-6, 1e-6)]
        assert truth.min() <= enclosed <= truth.max()
        assert float(slope[0]) == pytest.approx((beside[1] - beside[0]) / 2e-6, abs=1e-6)
