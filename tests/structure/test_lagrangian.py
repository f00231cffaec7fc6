"""L and D are found whenever they exist, proved by substitution, and refused with the condition that fails."""

import json

import numpy as np
import pytest
import sympy as sp

import holdfast as hf
from holdfast.structure.algebra.zero import is_zero
from tests.structure import systems as S

TABLE, TEXTBOOK = S.TABLE, S.TEXTBOOK
_forms = {}


def form_of(name):
    if name not in _forms:
        f, coordinates, *_ = (TABLE | TEXTBOOK)[name]
        _forms[name] = hf.lagrangian(f, coordinates)
    return _forms[name]


def same(a, b):
    return is_zero(sp.sympify(a) - b).zero


def rederived(form):
    """E[L] + ∂D/∂v − f, by another route than the product's own."""
    system = form.system
    return [e - f for e, f in zip(S.lagrange(form.L, form.D, system.q), system.f, strict=True)]


# ---------------------------------------------------------------- the table of section 6


@pytest.mark.parametrize("name", TABLE)
def test_the_three_verdicts_are_those_of_the_table(name):
    _, _, wide, strict, dissipative = TABLE[name]
    form = form_of(name)
    assert (bool(form.wide), bool(form.strict), bool(form.dissipative)) == (wide, strict, dissipative)


@pytest.mark.parametrize("name", [name for name, row in (TABLE | TEXTBOOK).items() if row[2]])
def test_what_is_found_gives_the_equations_back_exactly(name):
    form = form_of(name)
    assert form.exact
    assert not form.residual
    assert form.residual.size == 0
    assert all(is_zero(left).zero for left in rederived(form))


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row[2]])
def test_the_second_derivatives_of_D_are_s(name):
    form = form_of(name)
    v = form.system.v
    assert all(same(sp.diff(form.D, v[i], v[j]), form.conditions.s[i, j]) for i in range(len(v)) for j in range(len(v)))


def test_T1_has_the_textbook_form():
    x, w, z = S.x, S.omega, S.zeta
    form = form_of("T1")
    assert same(form.L, x.rate**2 / 2 - w**2 * x**2 / 2)
    assert same(form.D, z * w * x.rate**2)


def test_T2_is_dissipative_under_a_condition():
    verdict = form_of("T2").dissipative
    assert verdict.condition == "c >= 0"
    assert not hf.lagrangian(S.gyroscopic, (S.q1, S.q2), parameters={"c": -1}).dissipative
    assert hf.lagrangian(S.gyroscopic, (S.q1, S.q2), parameters={"c": 1}).dissipative


def test_a_D_that_gains_with_time_is_not_dissipative():
    form = hf.lagrangian([(1 + S.t**2) * S.x.acceleration + S.x], (S.x,))
    assert same(form.D, -S.t * S.x.rate**2)
    assert not form.dissipative


def test_T3_names_the_circulatory_part():
    (defect,) = form_of("T3").conditions.strict_defects
    assert same(defect.value, 2 * S.nu)
    assert same(form_of("T3").D - form_of("T2").D, S.nu * (S.q2 * S.v1 - S.q1 * S.v2))


def test_T4_has_an_indefinite_D():
    assert same(form_of("T4").D, S.v1 * S.v2 / 2)
    assert "indefinite" in form_of("T4").dissipative.why


def test_T5_is_impossible_once_divided():
    (defect,) = form_of("T5'").conditions.defects
    assert defect.condition == "K2"
    assert same(defect.value**2, (2 * S.r + 2 / S.r) ** 2)
    assert same(form_of("T5").D, S.c * S.r.rate**2 / 2)


def test_T6_fails_in_K3_alone_and_its_sister_in_K2():
    (defect,) = form_of("T6").conditions.defects
    assert (defect.condition, abs(defect.value)) == ("K3", 1)
    (defect,) = form_of("T6'").conditions.defects
    assert (defect.condition, abs(defect.value)) == ("K2", 2)
    assert "K3 fails at (q1, q2, q3)" in form_of("T6").wide.why


def test_T7_has_a_closed_form():
    assert same(form_of("T7").L, -sp.sqrt(1 - S.x.rate**2) - S.omega**2 * S.x**2 / 2)


@pytest.mark.parametrize(
    "name", ["T2", "T4", "T7", "relativistic oscillator in the plane", "pendulum with air resistance"]
)
def test_without_closed_forms_quadrature_gives_the_same_equations(name):
    f, coordinates, *_ = (TABLE | TEXTBOOK)[name]
    form = hf.lagrangian(f, coordinates, closed_forms=False)
    assert not form.exact
    assert form.residual.how == "quadrature at random points"
    assert form.residual.size < 1e-12
    assert "by quadrature" in form.notes[-1]


def test_quadrature_gives_numbers_for_L_and_D():
    f, coordinates, *_ = TABLE["T7"]
    L, D = hf.lagrangian(f, coordinates, closed_forms=False).functions({"c": 0.5, "omega": 2})
    rate, place = 0.6, 0.3
    assert L([place], [rate]) == pytest.approx(1 - np.sqrt(1 - rate**2) - 2 * place**2, abs=1e-12)
    assert D([place], [rate]) == pytest.approx(0.25 * rate**2, abs=1e-12)


def test_T8_defects_and_deviation_equation():
    defects = {d.indices: d.value for d in form_of("T8b").conditions.defects}
    assert same(defects["q1", "q2", "q1"] ** 2, (2 * S.q2 / S.radius**2) ** 2)
    assert same(defects["q1", "q2", "q2"] ** 2, (2 * S.q1 / S.radius**2) ** 2)


def test_T9_is_strict_only_locally():
    form = form_of("T9")
    assert form.strict.scope == "locally"
    assert form.construction.loops[0].work == pytest.approx(2 * np.pi, abs=1e-9)
    assert same(form.D, (S.x * S.y.rate - S.y * S.x.rate) / (S.x**2 + S.y**2))
    assert "6.28319" in form.strict.why


def test_a_magnetic_monopole_has_a_lagrangian_only_locally():
    x, y, z = place = (S.x, S.y, S.z)
    cube = (x**2 + y**2 + z**2) ** sp.Rational(3, 2)
    u, v, w = (e.rate for e in place)
    force = (v * z - w * y, w * x - u * z, u * y - v * x)
    form = hf.lagrangian([e.acceleration - f / cube for e, f in zip(place, force, strict=True)], place)
    assert form.wide
    assert form.wide.scope == "locally"
    assert abs(form.construction.fluxes[0].flux) == pytest.approx(8 * np.pi, rel=1e-9)  # A is twice the field
    assert form.residual.size == 0


def test_what_looks_short_but_is_long_does_not_hang():
    x, y, z = S.x, S.y, S.z
    force = (x + y + z + sp.sin(x)) ** 90
    form = hf.lagrangian([e.acceleration + force for e in (x, y, z)], (x, y, z), time_limit=2)
    assert form.wide
    assert not form.strict
    assert form.residual.size == 0


# ---------------------------------------------------------------- further systems


def test_there_are_twenty_further_systems():
    assert len(TEXTBOOK) >= 20


@pytest.mark.parametrize("name", TEXTBOOK)
def test_the_verdicts_on_textbook_systems(name):
    _, _, wide, strict = TEXTBOOK[name]
    form = form_of(name)
    assert (bool(form.wide), bool(form.strict)) == (wide, strict)
    if not wide:
        assert form.L is None
        assert form.conditions.defects[0].condition in ("K1", "K2", "K3")


@pytest.mark.parametrize("name", ["T3", "T5", "Caldirola and Kanai's oscillator", "pendulum on a moving support"])
def test_the_energy_balance_closes_on_every_motion(name):
    form = form_of(name)
    system = form.system
    solved = system.mass.LUsolve(-sp.Matrix(system.rest))
    rate = hf.rate(form.energy).subs(dict(zip(system.a, solved, strict=True)))
    assert is_zero(rate - form.energy_rate).zero


def test_the_freedom_is_a_freedom():
    form, (q1, q2) = form_of("T3"), (S.q1, S.q2)
    G, change = q1**2 * q2 * S.t, sp.sin(q1) * q2
    L = form.L + hf.rate(G) + change
    D = form.D + hf.rate(change) + q1 * S.t
    assert all(is_zero(e - f).zero for e, f in zip(S.lagrange(L, D, (q1, q2)), form.system.f, strict=True))
    assert "dG(q, t)/dt" in form.freedom


def test_functions_evaluate_L_and_D():
    L, D = form_of("T2").functions({"c": 1, "g": 2, "k": 3, "kappa": 0})
    assert D((0, 0), (1, 2)) == pytest.approx(4.5)
    assert L((1, 0), (0, 1)) == pytest.approx(1 - 1.5)


# ---------------------------------------------------------------- equations that were derived


def test_derived_equations_are_asked_as_they_stand():
    x, y = hf.coordinates("x y")
    system = hf.System(
        coordinates=(x, y), kinetic=(x.rate**2 + 2 * y.rate**2) / 2, potential=x**2 * y, dissipation=x.rate**2
    )
    form = hf.lagrangian(hf.derive(hf.Problem(system)))
    assert form.strict
    assert form.dissipative
    assert same(form.D, x.rate**2)
    assert same(form.L, (x.rate**2 + 2 * y.rate**2) / 2 - x**2 * y)


def test_a_held_line_is_in_Lagrange_form_and_a_held_circle_is_not():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2)
    law = hf.SpringDamper(stiffness=2, damping=3)
    line = hf.derive(hf.Problem(system, hf.Program(holonomic={"rail": 0.6 * x + 0.8 * y}, law=law)))
    form = hf.lagrangian(line)
    assert form.strict
    assert form.dissipative
    circle = hf.Program(holonomic={"rod": sp.sqrt(x**2 + y**2) - 1}, law=law)
    form = hf.lagrangian(hf.derive(hf.Problem(system, circle, start={x: 1})))
    assert not form.wide
    assert form.conditions.defects[0].condition == "K2"


def test_solved_equations_lose_their_Lagrangian():
    r, theta = hf.coordinates("r theta")
    system = hf.System(coordinates=(r, theta), kinetic=(r.rate**2 + r**2 * theta.rate**2) / 2, potential=-1 / r)
    equations = hf.derive(hf.Problem(system, start={r: 1}))
    assert hf.lagrangian(equations).strict
    assert not hf.lagrangian(equations, solved=True).wide


# ---------------------------------------------------------------- words, data, bad input


def test_the_answer_reads_as_text_latex_and_data():
    form = form_of("T2")
    assert "D only takes power: v·∂D/∂v >= 0 (dissipative)              yes if c >= 0" in form.summary()
    assert form.latex().startswith("L = ")
    data = json.loads(json.dumps(form.to_dict()))
    assert data["wide"]["value"] is True
    refused = json.loads(json.dumps(form_of("T6").to_dict()))
    assert refused["defects"][0] == {"condition": "K3", "at": ["q1", "q2", "q3"], "value": "1"}
    assert "K3" in form_of("T6").latex()


def test_accelerations_must_enter_linearly():
    with pytest.raises(hf.BadExpression, match="not linear in the acceleration x_ddot"):
        hf.lagrangian([S.x.acceleration**2 + S.x], (S.x,))


def test_there_must_be_an_equation_for_each_coordinate():
    with pytest.raises(hf.BadStatement, match="2 coordinates need 2 equations, not 1"):
        hf.lagrangian([S.q1.acceleration], (S.q1, S.q2))


def test_a_singular_mass_matrix_is_refused():
    with pytest.raises(hf.SingularSystem, match="do not determine the accelerations"):
        hf.lagrangian([S.v1.rate + S.v2.rate, S.v1.rate + S.v2.rate + S.q1], (S.q1, S.q2))


@pytest.mark.parametrize(
    ("f", "coordinates", "error"),
    [
        ("x", None, hf.BadRequest),
        ([S.x.acceleration], None, hf.BadRequest),
        ([S.x.acceleration + S.y], (S.x,), hf.BadExpression),
        ([S.x.acceleration + sp.Abs(S.x)], (S.x,), hf.BadExpression),
        (["x"], (S.x,), hf.BadExpression),
        ([S.x.acceleration + sp.Function("g")(S.x)], (S.x,), hf.BadExpression),
    ],
)
def test_what_means_nothing_is_refused_at_the_door(f, coordinates, error):
    with pytest.raises(error):
        hf.lagrangian(f, coordinates)


# ---------------------------------------------------------------- letters


def test_any_potential_and_any_push_have_a_lagrangian():
    x, y = hf.coordinates("x y")
    m, b = hf.parameters("m b")
    U, push = hf.function("U", of=(x, y)), hf.functions("push")
    system = hf.System(
        coordinates=(x, y), kinetic=m * (x.rate**2 + y.rate**2) / 2, potential=U, forces={x: push - b * x.rate}
    )
    form = hf.lagrangian(hf.derive(hf.Problem(system)))
    assert form.wide
    assert form.strict
    assert sp.expand(form.L - (m * (x.rate**2 + y.rate**2) / 2 - U + push * x)) == 0
    assert form.D == b * x.rate**2 / 2
    assert form.residual.how == "symbolic"


def test_a_force_of_one_coordinate_has_its_primitive_as_potential():
    x = hf.coordinates("x")
    f = hf.function("f", of=x)
    form = hf.lagrangian([x.acceleration - f], coordinates=(x,))
    assert sp.diff(form.L, x) == f
    with pytest.raises(hf.BadStatement, match="primitive"):
        hf.Problem(hf.System(coordinates=x, kinetic=x.rate**2 / 2, potential=-form.L + x.rate**2 / 2))


def test_a_push_across_of_an_undetermined_function_has_no_rayleigh_function():
    x, y = hf.coordinates("x y")
    f = hf.function("f", of=x)
    found = hf.helmholtz([x.acceleration, y.acceleration + f], coordinates=(x, y))
    assert "diff(f, x)" in str(found)


def test_a_state_that_is_not_a_number_is_refused():
    x = hf.coordinates("x")
    p = hf.parameters("p")
    with pytest.raises(hf.BadRequest, match="p is not a number"):
        hf.lagrangian([x.acceleration + p * x], (x,), state={x: p})
