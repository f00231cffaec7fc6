"""The conditions: their redundancy, the second opinion of the printed ones, and the second-degree ansatz."""

from itertools import product

import pytest
import sympy as sp

import holdfast as hf
from holdfast.structure.algebra.normal_form import normal_form, tidied
from holdfast.structure.algebra.zero import Points, is_zero
from tests.structure import systems as S

x, y, z, t = S.x, S.y, S.z, hf.time
q = (x, y, z)
v = tuple(u.rate for u in q)
QUICK = [name for name in (S.TABLE | S.TEXTBOOK) if name not in ("T8d", "T10 exact", "T8c")]


@pytest.mark.parametrize("name", QUICK)
def test_the_printed_conditions_agree_with_K1_to_K3(name):
    f, coordinates, *_ = (S.TABLE | S.TEXTBOOK)[name]
    found = hf.helmholtz(f, coordinates)
    assert all(found.printed().values()) == bool(found)


def generic():
    """An L and a D with a bit of everything."""
    L = v[0] ** 2 * (1 + y**2) / 2 + v[1] ** 2 * v[2] ** 2 / 4 + v[1] ** 2 + v[2] ** 2 * sp.exp(x) / 2
    L += y * z * v[0] + t * x**2 * v[1] - x * y * z
    D = v[0] ** 4 / 4 + x * v[1] ** 2 * v[0] + t * v[2] ** 2 + y * v[0] - x * z * v[1]
    return L, D, S.lagrange(L, D, q)


def test_any_L_and_D_satisfy_the_conditions_and_are_found_again():
    _, D, f = generic()
    found = hf.helmholtz(f, q)
    assert found
    assert all(found.printed(D).values())
    form = hf.lagrangian(f, q)
    assert form.residual.size == 0
    rest = [sp.diff(form.D - D, u) for u in v]
    assert all(is_zero(sp.diff(e, u)).zero for e in rest for u in v)  # D is unique up to terms linear in v
    assert all(is_zero(sp.diff(rest[i], q[j]) - sp.diff(rest[j], q[i])).zero for i, j in product(range(3), repeat=2))


def test_one_equation_always_has_an_L_and_a_D():
    f = [(1 + x.rate**2 * sp.cos(x)) * x.acceleration + sp.sin(t) * x.rate**5 + sp.exp(x)]
    form = hf.lagrangian(f, (x,))
    assert form.wide
    assert form.residual.size == 0


def test_two_equations_with_constant_masses_and_forces_affine_in_v_always_have():
    f = [
        2 * x.acceleration + y.acceleration + sp.sin(x * y) * y.rate + sp.exp(x) * y,
        x.acceleration + 3 * y.acceleration + x**2 * x.rate - y * t,
    ]
    form = hf.lagrangian(f, (x, y))
    assert form.wide
    assert form.residual.size == 0


# ---------------------------------------------------------------- section 3.4 and 3.5


def test_the_coefficients_of_the_second_degree_ansatz():
    g = [x * y + t * z**2, sp.sin(x) + y * z * t]
    G = [[sp.diff(e, u) for u in q] for e in g]
    g0 = [sp.diff(e, t) for e in g]
    rates = [hf.rate(e) for e in g]
    a0, a1 = sp.Matrix(2, 2, sp.symbols("p:4", real=True)), sp.Matrix(2, 2, sp.symbols("r:4", real=True))
    a2 = {
        (m, i, j): sp.Symbol(f"w{m}{min(i, j)}{max(i, j)}", real=True)
        for m in range(2)
        for i in range(2)
        for j in range(2)
    }
    two = list(product(range(2), repeat=2))
    for m in range(2):
        Y = -sum(a0[m, k] * g[k] + a1[m, k] * rates[k] for k in range(2))
        Y -= sum(a2[m, i, j] * rates[i] * rates[j] for i, j in two)
        left = hf.rate(rates[m]).subs({u.acceleration: 0 for u in q}) - Y

        def pair(j, l, m=m):
            own = sp.diff(G[m][j], q[l]) + sp.diff(G[m][l], q[j])
            return own + sum(a2[m, i, k] * (G[i][j] * G[k][l] + G[i][l] * G[k][j]) for i, k in two)

        def single(j, m=m):
            own = sp.diff(G[m][j], t) + sp.diff(g0[m], q[j]) + sum(a1[m, k] * G[k][j] for k in range(2))
            return own + sum(a2[m, i, k] * (G[i][j] * g0[k] + g0[i] * G[k][j]) for i, k in two)

        free = sp.diff(g0[m], t) + sum(a0[m, k] * g[k] + a1[m, k] * g0[k] for k in range(2))
        free += sum(a2[m, i, k] * g0[i] * g0[k] for i, k in two)
        right = sum(pair(j, l) * v[j] * v[l] for j in range(3) for l in range(3)) / 2
        right += sum(single(j) * v[j] for j in range(3)) + free
        assert sp.expand(left - right) == 0


FLAT = {"plane": x + 2 * y - z, "slanted": (x + 2 * y - z) ** 3 / 3 + x + 2 * y - z}
CURVED = {"sphere": sp.sqrt(x**2 + y**2 + z**2) - 1, "cylinder": x**2 + y**2 - 1, "saddle": z - x * y}


@pytest.mark.parametrize("name", FLAT | CURVED)
def test_least_accelerations_have_an_L_only_for_flat_constraints(name):
    e = (FLAT | CURVED)[name]
    program = hf.Program(holonomic={"surface": e}, law=hf.SpringDamper(stiffness=4, damping=3))
    made = hf.family(program, q, start={x: 0.7, y: 0.4, z: 0.3})
    found = hf.helmholtz(made)
    assert bool(found) == (name in FLAT)
    if name in CURVED:
        assert found.defects[0].condition == "K2"


def test_linear_laws_give_a_quadratic_D_along_the_gradient():
    line = 3 * x - 4 * y
    program = hf.Program(holonomic={"line": line}, law=hf.SpringDamper(stiffness=4, damping=3))
    s = hf.helmholtz(hf.family(program, (x, y))).s
    numbers = s.subs({symbol: 3 for symbol in s.free_symbols})
    assert (numbers - sp.Rational(3, 25) * sp.Matrix([[9, -12], [-12, 16]])).is_zero_matrix


# ---------------------------------------------------------------- what is zero


@pytest.mark.parametrize(
    ("expression", "zero", "how"),
    [
        (sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1, True, "symbolic"),
        (sp.sqrt(x**2 + y**2) ** 3 - (x**2 + y**2) * sp.sqrt(x**2 + y**2), True, "symbolic"),
        (1 / (sp.sqrt(x + 2) - 1) - (sp.sqrt(x + 2) + 1) / (x + 1), True, "symbolic"),
        (sp.sin(x + y) - sp.sin(x) * sp.cos(y) - sp.cos(x) * sp.sin(y), True, "symbolic"),
        (sp.log(x * y) - sp.log(x) - sp.log(y), True, "random points"),
        (x - x * (1 + sp.Rational(1, 10**25)), False, "symbolic"),
        (sp.Integer(0), True, "symbolic"),
    ],
)
def test_zero_is_recognised_and_it_is_said_how(expression, zero, how):
    found = is_zero(expression)
    assert found.zero is zero
    if zero:
        assert found.how == how


def test_points_stay_near_a_given_place_and_are_the_same_each_time():
    points = Points(near={x: sp.Integer(100)})
    first = next(points.of([x, y]))
    assert first == next(points.of([x, y]))
    assert abs(first[x] - 100) < 40


def test_an_expression_that_is_nowhere_real_is_not_called_zero():
    assert not is_zero(sp.sqrt(-1 - x**2) * y).zero


def test_tidying_keeps_the_value():
    for e in ((x**2 - y**2) / (x - y), sp.sqrt(x) ** 3 / x, (x + 1) ** 2 - x**2):
        assert normal_form(tidied(e) - e) == 0
