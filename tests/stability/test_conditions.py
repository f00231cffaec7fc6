"""Stability in letters: the inequalities hold exactly where the roots lie to the left."""

import json

import numpy as np
import pytest
import sympy as sp
from click.testing import CliRunner

import holdfast as hf
from holdfast.cli.main import main
from holdfast.stability.letters.routh import ROOT, stable_where
from holdfast.stability.letters.signs import positive_conditions

x, z = hf.coordinates("x z")
m, k, b, c, d = hf.parameters("m k b c d")
p, q = hf.parameters("p q", positive=True)


def equations(law, holonomic=None, nonholonomic=None):
    system = hf.System(coordinates=(x, z), kinetic=m * (x.rate**2 + z.rate**2) / 2)
    program = hf.Program(holonomic=holonomic or {"rod": x - 1}, nonholonomic=nonholonomic or {}, law=law)
    return hf.derive(hf.Problem(system, program))


PAIR = {"one": x, "two": z}


def test_one_constraint_needs_a_spring_and_a_damper():
    found = hf.conditions(equations(hf.SpringDamper(stiffness=k, damping=b)))
    assert sp.expand(found.polynomial - (ROOT**2 + b * ROOT + k)) == 0
    assert set(found.inequalities) == {sp.Gt(k, 0), sp.Gt(b, 0)}
    assert "exactly where b > 0, k > 0" in found.summary()
    assert "lambda^2 + b*lambda + k" in found.summary()
    assert found.hold is None


def test_letters_declared_positive_need_no_condition():
    found = hf.conditions(equations(hf.SpringDamper(stiffness=p, damping=b)))
    assert found.inequalities == (sp.Gt(b, 0),)


def test_the_mixed_cart_has_two_pairs():
    from importlib import resources

    found = hf.conditions(hf.derive(hf.load(resources.files("holdfast") / "examples" / "cart_rod.toml")))
    assert [len(block.inequalities) for block in found.blocks] == [2, 2]
    assert found.hold is True


def test_a_rate_constraint_has_one_root_and_no_spurious_zero():
    law = hf.SpringDamper(damping={"roll": b})
    found = hf.conditions(equations(law, {"rod": x}, {"roll": z.rate - x}))
    (block,) = [block for block in found.blocks if "roll" in block.constraints]
    assert sp.expand(sp.cancel(block.polynomial / (ROOT + b))).has(b) is False


def test_without_a_spring_nothing_attracts():
    found = hf.conditions(equations(hf.SpringDamper(stiffness={}, damping=b)))
    assert found.hold is False
    free = hf.conditions(equations(hf.Unstabilised()))
    assert not free.blocks[0].attainable
    assert free.inequalities == (sp.false,)
    assert "never asymptotically stable" in free.summary()


LAWS = {
    "coupled springs": hf.SpringDamper(
        stiffness={"one": k, "two": b, "one.two": c, "two.one": -c}, damping={"one": d, "two": d}
    ),
    "coupled dampers": hf.SpringDamper(stiffness={"one": k, "two": k}, damping=[[b, c], [d, b]]),
    "one way": hf.SpringDamper(stiffness={"one": k, "two": b, "one.two": c}, damping={"one": d, "two": b}),
}


@pytest.mark.parametrize("name", LAWS)
def test_inequalities_hold_exactly_where_eigenvalues_lie_to_the_left(name):
    """Against NumPy's eigenvalues at random values of the letters, of both signs."""
    found = hf.conditions(equations(LAWS[name], PAIR))
    H = sp.lambdify((k, b, c, d), equations(LAWS[name], PAIR).deviation_matrix)
    holds = sp.lambdify((k, b, c, d), [relation.lhs - relation.rhs for relation in found.inequalities])
    signs = [1 if isinstance(relation, sp.StrictGreaterThan) else -1 for relation in found.inequalities]
    random, both = np.random.default_rng(3), set()
    for _ in range(400):
        values = random.uniform(-1, 3, 4)
        abscissa = np.linalg.eigvals(np.array(H(*values), dtype=float)).real.max()
        if abs(abscissa) > 1e-9:
            said = all(sign * value > 0 for sign, value in zip(signs, holds(*values), strict=True))
            assert said == (abscissa < 0), values
            both.add(said)
    assert both == {True, False}


@pytest.mark.parametrize("degree", [3, 4, 5, 6])
def test_lienard_and_chipart_decide_as_the_roots_do(degree):
    letters = sp.symbols(f"a1:{degree + 1}", real=True)
    polynomial = ROOT**degree + sum(a * ROOT ** (degree - i) for i, a in enumerate(letters, start=1))
    conditions = sp.lambdify(letters, stable_where(polynomial))
    random, both = np.random.default_rng(5), set()
    for _ in range(300):
        roots = random.uniform(-2, 0.3, degree % 2) + 0j
        for _ in range(degree // 2):
            pair = complex(random.uniform(-2, 0.3), random.uniform(0, 2))
            roots = np.append(roots, [pair, pair.conjugate()])
        numbers = np.poly(roots).real[1:]
        said = all(value > 0 for value in conditions(*numbers))
        if np.abs(roots.real).min() > 1e-6:
            assert said == (roots.real.max() < 0)
            both.add(said)
    assert both == {True, False}


# ---------------------------------------------------------------- signs


@pytest.mark.parametrize(
    ("expressions", "expected"),
    [
        ([k * b, k], {sp.Gt(k, 0), sp.Gt(b, 0)}),
        ([-k], {sp.Lt(k, 0)}),
        ([p * k / q], {sp.Gt(k, 0)}),
        ([k**2 * b], {sp.Ne(k, 0), sp.Gt(b, 0)}),
        ([k, b, k + b], {sp.Gt(k, 0), sp.Gt(b, 0)}),
        ([k**2 + c**2, k], {sp.Gt(k, 0)}),
        ([k, -k], {sp.false}),
        ([k - k], {sp.false}),
        ([p + q], set()),
        ([k * b], {sp.Gt(k * b, 0)}),
        ([k, 4 * k - 1], {sp.Gt(4 * k - 1, 0)}),
        ([3 - k, k], {sp.Lt(k - 3, 0), sp.Gt(k, 0)}),
        ([k - 3, 2 - k], {sp.false}),
        ([k, c, k * b, k * c * b], {sp.Gt(k, 0), sp.Gt(b, 0), sp.Gt(c, 0)}),
        ([k, -c, k * b, k * c * b], {sp.false}),
        ([-k, -c, k * b, k * c * b * d], {sp.Lt(k, 0), sp.Lt(c, 0), sp.Lt(b, 0), sp.Lt(d, 0)}),
        ([k / b, b], {sp.Gt(k, 0), sp.Gt(b, 0)}),
        ([k / b**2], {sp.Gt(k, 0), sp.Ne(b, 0)}),
        ([k * (b - c) / (b - c)], {sp.Gt(k, 0)}),
        ([-2 * k * b], {sp.Lt(k * b, 0)}),
        ([-k / -(b**3), b], {sp.Gt(k, 0), sp.Gt(b, 0)}),
        ([-p * k], {sp.Lt(k, 0)}),
        ([(-p) ** 2 * k], {sp.Gt(k, 0)}),
        ([-k - b], {sp.Lt(k + b, 0)}),
        ([(-k - b) ** 2], {sp.Ne(k + b, 0)}),
        ([k - b], {sp.Lt(b - k, 0)}),
        ([-(sp.sin(k) ** 2) - sp.cos(k) ** 2 + 1], {sp.false}),
        ([sp.Integer(-1)], {sp.false}),
        ([sp.Integer(2), k], {sp.Gt(k, 0)}),
        ([k - 3, k - 2], {sp.Gt(k - 3, 0)}),
        ([3 - k, 2 - k], {sp.Lt(k - 2, 0)}),
        ([2 * k - 6, k - 2], {sp.Gt(k - 3, 0)}),
        ([k - 2, 2 - k], {sp.false}),
    ],
)
def test_conditions_are_brought_down_to_what_decides_the_sign(expressions, expected):
    assert set(positive_conditions(expressions)) == expected


# ---------------------------------------------------------------- V


def test_the_papers_v_of_adaptive_optics():
    """V = 3y² + 4yw + 3w²: V' = −(4/3)V for b = 4/3, k = 1; in letters the coefficients of V'."""
    y = hf.deviations("rod")
    found = hf.conditions(equations(hf.SpringDamper(stiffness=k, damping=b)), 3 * y**2 + 4 * y * y.rate + 3 * y.rate**2)
    (block,) = found.blocks
    form = block.form
    assert form.positive == ()
    assert sp.expand(form.rate - (-4 * k * y**2 + (6 - 4 * b - 6 * k) * y * y.rate + (4 - 6 * b) * y.rate**2)) == 0
    at = {b: sp.Rational(4, 3), k: 1}
    assert sp.expand(form.rate.subs(at) + sp.Rational(4, 3) * form.function) == 0
    assert all(relation.subs(at) == sp.true for relation in form.inequalities)
    assert not all(relation.subs({b: 4, k: sp.Rational(1, 10)}) == sp.true for relation in form.inequalities)


def test_v_with_letters_of_its_own():
    made, y = equations(hf.SpringDamper(stiffness=k, damping=b)), hf.deviations("rod")
    form = hf.conditions(made, c * y**2 + d * y.rate**2).blocks[0].form
    assert set(form.positive) == {sp.Gt(c, 0), sp.Gt(d, 0)}
    assert form.decreasing == (sp.false,)  # V' has no term in y²: semidefinite at best


def test_v_as_text_is_the_same_as_v():
    made, y = equations(hf.SpringDamper(stiffness=k, damping=b)), hf.deviations("rod")
    said = hf.conditions(made, "k*y_rod**2 + y_rod*w_rod + w_rod**2").summary()
    assert said == hf.conditions(made, k * y**2 + y * y.rate + y.rate**2).summary()


@pytest.mark.parametrize("V", ["y_rod**3", "y_rod + w_rod**2", "x*y_rod**2", "1 + y_rod**2"])
def test_what_is_no_quadratic_form_is_refused(V):
    with pytest.raises(hf.BadRequest):
        hf.conditions(equations(hf.SpringDamper(stiffness=k, damping=b)), V)


def test_a_matrix_that_varies_is_said_to_prove_nothing():
    found = hf.conditions(equations(hf.SpringDamper(stiffness=1 + x**2, damping=b)))
    assert not found.constant
    assert "proves nothing" in found.summary()


# ---------------------------------------------------------------- elsewhere


def test_conditions_on_the_command_line(tmp_path):
    path = tmp_path / "open.toml"
    made = equations(hf.SpringDamper(stiffness=k, damping=b))
    hf.dump(made.problem, path)
    result = CliRunner().invoke(main, ["conditions", str(path), "--function", "w_rod**2 + k*y_rod**2"])
    assert result.exit_code == 0, result.output
    assert "b > 0, k > 0" in result.output
    assert "V' = " in result.output
    data = json.loads(CliRunner().invoke(main, ["conditions", str(path), "--json"]).output)
    assert data["blocks"][0]["inequalities"] == ["b > 0", "k > 0"]
    assert r"\lambda" in CliRunner().invoke(main, ["conditions", str(path), "--latex"]).output


@pytest.mark.parametrize(
    "call",
    [
        lambda H: hf.spectrum(H),
        lambda H: hf.transient(H),
        lambda H: hf.spectral_limit(hf.RK4, H),
        lambda H: hf.norm_limit(hf.RK4, H, hf.Norm(np.eye(2))),
        lambda H: hf.LyapunovFunction.of(H),
        lambda H: hf.LyapunovFunction(np.eye(2), H),
        lambda H: hf.Norm(H),
        lambda H: hf.stationary_covariance(H, np.eye(2)),
        lambda H: hf.mean_square_abscissa(H, []),
        lambda H: hf.LyapunovFunction(np.eye(2), -np.eye(2))(H),
    ],
)
def test_letters_in_a_matrix_are_asked_for_by_name(call):
    with pytest.raises(hf.BadRequest, match="contains b, k"):
        call(sp.Matrix([[0, 1], [-k, -b]]))


def test_conditions_too_long_to_read_are_refused_and_fewer_letters_help():
    q = hf.coordinates("q1 q2 q3")
    system = hf.System(coordinates=q, kinetic=sum(c.rate**2 for c in q) / 2)
    gains = [[2 if i == j else 0.1 * (i + j + 1) for j in range(3)] for i in range(3)]
    law = hf.SpringDamper(stiffness=gains, damping=gains)
    made = hf.derive(hf.Problem(system, hf.Program(holonomic={f"c{i}": c for i, c in enumerate(q)}, law=law)))
    with pytest.raises(hf.BadRequest, match="terms") as caught:
        hf.conditions(made)
    assert "letters=" in caught.value.fix
    found = hf.conditions(made, letters=("law.stiffness.c0",))
    assert {s.name for relation in found.inequalities for s in relation.free_symbols} == {"law.stiffness.c0"}
    assert found.hold
    assert np.linalg.eigvals(made.evaluate().deviation_matrix).real.max() < 0
    with pytest.raises(hf.BadRequest, match="stifness"):
        hf.conditions(made, letters=("law.stifness.c0",))


# ---------------------------------------------------------------- words


def test_conditions_are_told_line_by_line():
    y = hf.deviations("rod")
    made = equations(hf.SpringDamper(stiffness=k, damping=b))
    assert hf.conditions(made, k * y**2 + y.rate**2).summary().splitlines() == [
        "rod",
        "  characteristic polynomial: lambda^2 + b*lambda + k",
        "  asymptotically stable exactly where b > 0, k > 0",
        "  V = k*y_rod^2 + w_rod^2",
        "  V' = -2*b*w_rod^2",
        "  V > 0 where k > 0",
        "  V' < 0 where nothing: for no values",
    ]


def test_letters_that_are_always_positive_need_no_condition_and_this_is_told():
    text = hf.conditions(equations(hf.SpringDamper(stiffness=p, damping=q))).summary()
    assert "exactly where always: for all values of the letters" in text


@pytest.mark.parametrize(("value", "word"), [(2.0, "all of them"), (-2.0, "not all of them")])
def test_whether_the_stated_numbers_satisfy_the_conditions_is_told(value, word):
    system = hf.System(coordinates=(x, z), kinetic=m * (x.rate**2 + z.rate**2) / 2, parameters={m: 1, k: 4, b: value})
    program = hf.Program(holonomic={"rod": x - 1}, law=hf.SpringDamper(stiffness=k, damping=b))
    found = hf.conditions(hf.derive(hf.Problem(system, program)))
    assert found.summary().splitlines()[-1] == f"  the stated numbers satisfy {word}"
    assert found.hold is (value > 0)
    data = found.to_dict()
    assert (data["schema"], data["hold"], data["constant"]) == (1, value > 0, True)


def test_nothing_to_hold_has_no_conditions():
    free = hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=x.rate**2 / 2)))
    found = hf.conditions(free)
    assert found.summary() == "There is nothing to hold.\n"
    assert (found.inequalities, found.polynomial, found.hold) == ((), 1, True)
