"""The coefficients of (4.10) against the formulas of docs/theory, section 4.6, worked out in SymPy alone."""

import pytest
import sympy as sp

import holdfast as hf

x, y, z = q = hf.coordinates("x y z")
v = sp.Matrix([c.rate for c in q])
t = hf.time
a0, a1, a2 = 2, 3, sp.Rational(1, 2)
GAINS = {"law.stiffness.surface": a0, "law.damping.surface": a1, "law.quadratic.surface": a2}


POINTS = [(2, 3, 5, sp.Rational(3, 5), sp.Rational(4, 5)), (-7, 1, 4, sp.Rational(-5, 13), sp.Rational(12, 13))]


def zero(expression):
    """Whether it is 0, exactly, at points with rational sines and cosines."""
    numbers = {symbol: GAINS[symbol.name] for symbol in expression.free_symbols if symbol.name in GAINS}
    for *place, sine, cosine in POINTS:
        found = expression.subs(numbers).subs({sp.sin(t): sine, sp.cos(t): cosine})
        found = found.subs({**dict(zip(q, place, strict=True)), **dict(zip(v, (3, -2, 5), strict=True))})
        if found != 0:
            return False
    return True


def moving():
    """A surface that moves, under a law of second degree, with a motion along it of one's choice."""
    surface = x**2 + y * z - sp.sin(t) * x
    program = hf.Program(
        holonomic={"surface": surface}, law=hf.Quadratic(a0=2, a1=3, a2={"surface": sp.Rational(1, 2)})
    )
    along = {x: y, y: -z}
    made = hf.family(program, q, along, start={x: 1, y: 0.5, z: 0.5, x.rate: 0.2})
    return surface, along, made


def test_h_and_b_are_those_of_the_theory():
    surface, along, made = moving()
    found = hf.coefficients(made)
    g = sp.Matrix([sp.diff(surface, c) for c in q])
    g0 = sp.diff(surface, t)
    K = g / (g.T * g)[0]
    u = sp.Matrix([along.get(c, 0) for c in q])
    tangential = u - K * (g.T * u)[0]
    for j, one in enumerate(q):
        hj = sp.diff(g[j], t) + sp.diff(g0, one) + a1 * g[j] + 2 * a2 * g[j] * g0
        assert zero(found.h_j[0, j] - hj)
        for l, two in enumerate(q):
            hjl = sp.diff(g[j], two) + sp.diff(g[l], one) + 2 * a2 * g[j] * g[l]
            assert zero(found.h_jl[0][j, l] - hjl)
            assert all(zero(found.b_jl[i][j, l] - K[i] * hjl) for i in range(3))
        assert all(zero(found.b_j[i, j] - K[i] * hj) for i in range(3))
    h0 = sp.diff(g0, t) + a0 * surface + a1 * g0 + a2 * g0**2
    assert zero(found.h_0[0] - h0)
    assert all(zero(found.b_0[i] - (K[i] * h0 - tangential[i])) for i in range(3))


def test_they_add_up_to_the_accelerations_also_with_masses_and_forces():
    m = hf.parameters("m")
    system = hf.System(
        coordinates=(x, y),
        kinetic=m * (x.rate**2 * (1 + y**2) + y.rate**2) / 2,
        potential=x * y,
        forces={x: -3 * x.rate * y.rate, y: 0.2 * y.rate},
        parameters={m: 2},
    )
    program = hf.Program(holonomic={"hyperbola": x * y - 1}, law=hf.critically_damped(2))
    equations = hf.derive(hf.Problem(system, program, start={x: 1.3, x.rate: 0.4, y: 1.0, y.rate: -0.3}))
    found = hf.coefficients(equations)
    at = equations.evaluate({x: 1.1, y: 0.8, x.rate: 0.7, y.rate: -0.2})
    numbers = {"x": 1.1, "y": 0.8} | equations.parameter_values
    rates = sp.Matrix([0.7, -0.2])
    for i in range(2):
        total = (rates.T * found.b_jl[i] * rates)[0] / 2 + (found.b_j[i, :] * rates)[0] + found.b_0[i]
        assert not total.free_symbols & {x.rate, y.rate}
        value = total.subs({s: numbers[s.name] for s in total.free_symbols})
        assert float(-value) == pytest.approx(at.accelerations[i], rel=1e-12)


def test_the_circle_has_the_coefficients_that_are_not_symmetric():
    program = hf.Program(holonomic={"circle": (x**2 + y**2 - 1) / 2}, law=hf.SpringDamper(stiffness=4, damping=3))
    found = hf.coefficients(hf.family(program, (x, y), start={x: 1}))
    square = x**2 + y**2
    assert found.h_jl[0] == 2 * sp.eye(2)
    assert [zero(found.b_jl[0][1, 1] - 2 * x / square), found.b_jl[1][0, 1]] == [True, 0]
    shown = found.summary()
    assert "b[x; y, y] = 2*x/(x^2 + y^2)" in shown
    assert "h[circle; x, x] = 2" in shown
    assert r"b^{x}_{y y} = \frac{2 x}{x^{2} + y^{2}}" in found.latex()


@pytest.mark.parametrize(
    ("system", "program", "reason"),
    [
        ({"kinetic": x.rate**2 / 2 + x.rate**4 / 4 + y.rate**2 / 2}, {}, "mass matrix depends on the rates"),
        ({}, {"nonholonomic": {"speed": x.rate**2 + y.rate**2 - 1}}, "J depends on them"),
        ({"forces": {x: -(x.rate**3)}}, {}, "the force on 'x' is not"),
        ({"forces": {x: -abs(x.rate)}}, {}, "the force on 'x' is not"),
    ],
)
def test_other_powers_are_refused_by_name(system, program, reason):
    stated = hf.System(**{"coordinates": (x, y), "kinetic": (x.rate**2 + y.rate**2) / 2} | system)
    held = hf.Program(**program, law=hf.critically_damped(1)) if program else hf.Program()
    equations = hf.derive(hf.Problem(stated, held, start={x.rate: 0.6, y.rate: 0.8}))
    with pytest.raises(hf.BadStatement, match=reason):
        hf.coefficients(equations)


def test_what_is_not_equations_is_refused():
    with pytest.raises(hf.BadRequest, match="takes Equations"):
        hf.coefficients("x")
