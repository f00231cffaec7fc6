"""The extended Lagrange equations (2.17) of Mukharlyamov 2006, set up here by SymPy alone.

    d/dt ∂T/∂v − ∂T/∂q = −∂P/∂q − ∂D/∂v + Q + Jᵀλ,      d/dt ∂T/∂w − ∂T/∂y = −∂P/∂y − ∂D/∂w,      w = d/dt f

with y, w as quantities of their own. Accelerations, dw/dt and λ come from one linear system, solved in exact fractions.
"""

import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

a, b = hf.coordinates("a b")
u, v = a.rate, b.rate
t = hf.time
y = hf.deviations("f")
w = y.rate
R = sp.Rational
STATE = {a: R(7, 10), b: R(-2, 5), u: R(1, 5), v: R(3, 10)}
TIME = R(1, 4)


def by_hand(kinetic, potential, dissipation, forces, excess, function, kind):
    """(a'', b'', dw/dt, λ) at the state, exactly."""
    T, P, D = kinetic + excess["kinetic"], potential + excess["potential"], dissipation + excess["dissipation"]
    A, B, W, L = sp.symbols("A B W L")
    along = {a: u, b: v, t: 1, y: w, u: A, v: B, w: W} if kind == "holonomic" else {a: u, b: v, t: 1, u: A, v: B, w: W}

    def total(e):
        return sum(sp.diff(e, x) * dx for x, dx in along.items())

    actual_w = sum(sp.diff(function, x) * along[x] for x in (a, b, t)) if kind == "holonomic" else function
    row = [sp.diff(actual_w, x) for x in (u, v)]
    equations = [
        total(sp.diff(T, x_rate)) - sp.diff(T, x) + sp.diff(P, x) + sp.diff(D, x_rate) - Q - g * L
        for x, x_rate, Q, g in zip((a, b), (u, v), forces, row, strict=True)
    ]
    force_y = sp.diff(T, y) - sp.diff(P, y) if kind == "holonomic" else 0
    equations.append(total(sp.diff(T, w)) - force_y + sp.diff(D, w))
    equations.append(sum(sp.diff(actual_w, x) * along[x] for x in (a, b, t, u, v)) - W)
    deviation = {w: actual_w} | ({y: function} if kind == "holonomic" else {})
    numbers = {**STATE, t: TIME}
    exact = [sp.expand(e.subs(deviation).subs(numbers)) for e in equations]
    matrix, right = sp.linear_eq_to_matrix(exact, [A, B, W, L])
    return [float(x) for x in matrix.LUsolve(right)]


HOLONOMIC = a**2 + b**2 - t * a / 2 - R(1, 2)
NONHOLONOMIC = u * v + a * v**2 - t / 3
NONE = sp.Integer(0)
CASES = {
    "cubic_kinetic": ("holonomic", {"kinetic": w**2 / 2 + w**3 / 3, "potential": y**2, "dissipation": w**2}),
    "cubic_in_all": (
        "holonomic",
        {
            "kinetic": w**2 / 2 + a * w**3 / 5 + y * w**2 / 4,
            "potential": 2 * y**2 + b * y**3,
            "dissipation": 3 * w**2 / 2 + u * w**3 / 3 + y * w**2,
        },
    ),
    "cubic_nonholonomic": (
        "nonholonomic",
        {"kinetic": w**2 / 2 + (1 + b) * w**3 / 4, "potential": NONE, "dissipation": w**2 + t * w**4},
    ),
    "inertia_depends_on_rates": (
        "holonomic",
        {"kinetic": (1 + a**2 + u**2 + t) * w**2 / 2, "potential": y**2, "dissipation": (1 + v**2) * w**2 / 2},
    ),
    "cubic_with_rates": (
        "holonomic",
        {"kinetic": (2 + u * v) * w**2 / 2 + v * w**3, "potential": (1 + a) * y**2, "dissipation": w**2},
    ),
    "nonholonomic_inertia_depends_on_rates": (
        "nonholonomic",
        {"kinetic": (2 + sp.cos(v) + b) * w**2 / 2, "potential": NONE, "dissipation": 2 * w**2},
    ),
}


def problem(kind, excess):
    function = HOLONOMIC if kind == "holonomic" else NONHOLONOMIC
    system = hf.System(
        coordinates=(a, b), kinetic=KINETIC, potential=POTENTIAL, dissipation=DISSIPATION, forces={a: FORCE}
    )
    return hf.Problem(system, hf.Program(**{kind: {"f": function}}, law=hf.ExcessEnergies(**excess)), start=STATE)


KINETIC = (1 + b**2) * u**2 / 2 + u * v / 3 + v**2
POTENTIAL = 3 * a * b + t * b
DISSIPATION = u**2 / 10
FORCE = sp.sin(t)


@pytest.mark.parametrize("case", CASES)
def test_any_excess_energies_give_the_motion_of_the_extended_equations(case):
    kind, excess = CASES[case]
    function = HOLONOMIC if kind == "holonomic" else NONHOLONOMIC
    expected = by_hand(KINETIC, POTENTIAL, DISSIPATION, (FORCE, 0), excess, function, kind)
    values = hf.derive(problem(kind, excess)).evaluate(time=float(TIME))
    assert_allclose([*values.accelerations, *values.demand, *values.mu], expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_truncated_equations_obey_the_linear_law(case):
    kind, excess = CASES[case]
    values = hf.derive(problem(kind, excess), second_order=False).evaluate(time=float(TIME))
    z = [*values.deviation, *values.deviation_rate]
    assert_allclose(values.jacobian @ values.accelerations + values.drift_term, values.law_matrix @ z, rtol=1e-12)


def test_the_rest_of_the_law_falls_with_the_square_of_the_deviation():
    """|Y₂| falls by four when the deviation is halved; at z = 0 nothing is left of it."""
    kind, excess = CASES["cubic_in_all"]
    equations = hf.derive(problem(kind, excess))

    def rest(size):  # a deviation of this size, at t = 0
        radius = sp.sqrt(R(1, 2) + R(size))
        at = equations.evaluate({a: 0, b: radius, u: 0, v: R(size)}, 0)
        return abs(at.demand - at.law_matrix @ [*at.deviation, *at.deviation_rate])[0]

    assert rest("1/100") / rest("1/200") == pytest.approx(4, abs=0.2)
    assert rest("0") < 1e-15


def test_a_cubic_term_alone_follows_its_closed_form():
    """T = w²/2 + c w³/3, P = k y²/2:  (1 + 2 c w) w' = −k y, solved by hand."""
    c, k = R(1, 3), R(2)
    x = hf.coordinates("x")
    law = hf.ExcessEnergies(kinetic=w**2 / 2 + c * w**3 / 3, potential=k * y**2 / 2)
    system = hf.System(coordinates=(x,), kinetic=x.rate**2)
    at = hf.derive(hf.Problem(system, hf.Program(holonomic={"f": x}, law=law))).evaluate({x: 0.3, x.rate: 0.4})
    expected = -2 * 0.3 / (1 + 2 * 0.4 / 3)
    assert at.accelerations[0] == pytest.approx(expected, rel=1e-15)
    assert at.mu[0] == pytest.approx(2 * expected, rel=1e-14)
