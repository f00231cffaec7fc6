"""Formulas with letters: undetermined η(t), ζ(t), f_c and x(t) give what the papers print, corrected."""

from functools import cache

import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

t = hf.time
x, y, z = hf.coordinates("x y z")
g, a11, a14, a22, a25, a33, a36 = hf.parameters("g a11 a14 a22 a25 a33 a36")
m, eta, zeta = hf.functions("m eta zeta")
f_c = hf.function("f_c", of=(z, x.rate, y.rate, z.rate))
V = sp.sqrt(x.rate**2 + y.rate**2 + z.rate**2)


@cache
def rocket():
    """A point of mass m(t) on x = 0, y = η(t), z = ζ(t), the last two by its thrust (theory 1.8)."""
    drag = [-m * f_c * v / V for v in (x.rate, y.rate, z.rate)]
    point = hf.MovingMass(position=(x, y, z), mass=m, force=(drag[0], drag[1], drag[2] - m * g), thrust=(0, "P2", "P3"))
    program = hf.Program(
        holonomic={"plane": x, "range": y - eta, "height": z - zeta},
        controls={"P2": {y: 1}, "P3": {z: 1}},
        reactions=("plane",),
        law=hf.SpringDamper(
            stiffness={"plane": -a11, "range": -a22, "height": -a33},
            damping={"plane": -a14, "range": -a25, "height": -a36},
        ),
    )
    return hf.Problem(hf.System(coordinates=(x, y, z), masses={"rocket": point}), program)


def written_out(expression, deviations):
    """An expression of the equations with the deviations y, w as functions of the state."""
    names = {}
    for name, value in deviations.items():
        deviation = hf.deviations(name)
        names |= {deviation: value, deviation.rate: hf.rate(value)}
    return expression.subs(names)


def closed_forms(problem, deviations):
    equations = hf.derive(problem)
    return {name: written_out(value, deviations) for name, value in equations.inverse_dynamics.items()}


def zero(expression):
    return sp.simplify(sp.expand(sp.together(expression))) == 0


def test_thrust_and_reaction_of_the_rocket_are_30_for_any_program():
    found = closed_forms(rocket(), {"plane": x, "range": y - eta, "height": z - zeta})
    e1, e2 = eta.rate, zeta.rate
    assert zero(found["lambda_plane"] - m * (f_c * x.rate / V + a11 * x + a14 * x.rate))
    p2 = m * (e1.rate + f_c * y.rate / V + a22 * (y - eta) + a25 * (y.rate - e1))
    p3 = m * (e2.rate + g + f_c * z.rate / V + a33 * (z - zeta) + a36 * (z.rate - e2))
    assert zero(found["P2"] - p2)
    assert zero(found["P3"] - p3)
    assert not zero(found["P3"] - p3 + m * g)  # as printed, without g


def test_exhaust_ratios_are_the_corrected_ones_for_any_program():
    found = closed_forms(rocket(), {"plane": x, "range": y - eta, "height": z - zeta})
    on_program = {x: 0, y: eta, z: zeta, x.rate: 0, y.rate: eta.rate, z.rate: zeta.rate}
    here = f_c.subs(on_program)
    speed = sp.sqrt(eta.rate**2 + zeta.rate**2)
    beta2 = 1 + m / m.rate * (eta.rate.rate / eta.rate + here / speed)
    beta3 = 1 + m / m.rate * ((zeta.rate.rate + g) / zeta.rate + here / speed)
    for force, rate, ratio in (("P2", eta.rate, beta2), ("P3", zeta.rate, beta3)):
        thrust = found[force].xreplace(on_program)
        assert zero(1 + thrust / (m.rate * rate) - ratio)


def test_the_rocket_with_the_numbers_of_the_theory_flies_as_there():
    numbers = {
        m: 100 - t, eta: 40 * t + t**2 / 2, zeta: 60 * t + sp.Rational(3, 2) * t**2,
        f_c: sp.exp(-z / 8000) * (x.rate**2 + y.rate**2 + z.rate**2) / 10000,
        g: 9.81, a11: -1, a14: -2, a22: -2, a25: -1.5, a33: -4, a36: -2,
    }  # fmt: skip
    equations = hf.derive(rocket()).with_values(numbers)
    start = {x: 0.5, y: 2, z: -1, x.rate: 0.1, y.rate: 39.5, z.rate: 60.3}
    run = hf.simulate(
        equations, hf.DOP853, tolerance=1e-12, duration=10, at=[0, 1, 10], start=start, start_policy="keep"
    )
    found = [[run[name][k] for name in ("x", "y", "z", "lambda_plane", "P2", "P3")] for k in range(3)]
    assert_allclose(found[0][3:], [-69.927905276, -196.52258396, 1664.47311866], rtol=0, atol=6e-9)
    assert_allclose(found[1][:3], [0.404667385, 41.210305457, 61.412317579], rtol=0, atol=2e-9)
    assert_allclose(found[1][3:], [-3.77762126, 197.87796101, 1199.84595963], rtol=0, atol=2e-7)
    assert_allclose(found[2][3:], [0.02142978, 131.97149250, 1228.84317321], rtol=0, atol=2e-7)


# ---------------------------------------------------------------- adaptive optics, any x(t)

r, phi = hf.coordinates("r phi")
R, c, mass, b, k = hf.parameters("R c mass b k")
ray_place = hf.functions("x")
RAY = ray_place * (2 * sp.cos(phi) - R / c) - R


@cache
def optics(**holders):
    system = hf.System(
        coordinates=(r, phi),
        kinetic=mass * (r.rate**2 + r**2 * phi.rate**2) / 2,
        potential=mass * g * r * sp.sin(phi),
    )
    law = hf.SpringDamper(stiffness={"ray": k}, damping={"ray": b})
    return hf.Problem(system, hf.Program(holonomic={"crank": r - R, "ray": RAY}, law=law))


def big_l():
    """L of (6.9), for any x(t)."""
    p, p1, p2 = ray_place, ray_place.rate, ray_place.rate.rate
    l2 = 2 * R * p * sp.cos(phi)
    l1 = 2 * R * (2 * p1 + b * p) * sp.sin(phi)
    l0 = R * (R / c - 2 * sp.cos(phi)) * (p2 + b * p1 + k * p) - g * p * sp.sin(2 * phi) + k * R**2
    return l2 * phi.rate**2 + l1 * phi.rate + l0


def test_optics_are_6_8_to_6_10_for_any_path_of_the_ray():
    equations = hf.derive(optics())
    found = closed_forms(optics(), {"crank": r - R, "ray": RAY})
    first, second = (found[f"lambda_{name}"].subs({r: R, r.rate: 0}) for name in ("crank", "ray"))
    assert zero(sp.expand_trig(first - mass * (g * sp.sin(phi) - R * phi.rate**2)))
    printed = mass * R * big_l() / (4 * ray_place**2 * sp.sin(phi) ** 2)
    assert zero(sp.expand_trig(second - printed))
    force = equations.holder_matrix[1, 1] * printed
    bias = equations.bias[1].subs({r: R, r.rate: 0})
    acceleration = (bias + force) / (mass * R**2)
    expected = -big_l() / (2 * R * ray_place * sp.sin(phi)) - g * sp.cos(phi) / R
    assert zero(sp.expand_trig(acceleration - expected))
    assert zero(sp.diff(sp.expand_trig(expected), g))  # gravity cancels


def test_optics_with_the_numbers_of_the_paper_give_its_multipliers():
    numbers = {R: 3.4641, c: 3, mass: 1, g: 9.81, b: sp.Rational(4, 3), k: 1, "x": 5 + sp.cos(t) / 2}
    at = hf.derive(optics().with_values(numbers)).evaluate({r: 3.47, r.rate: 0.01, phi: 0.4, phi.rate: -0.05}, 1.3)
    assert_allclose(at.mu_parts[0], [3.811518938048, -7.725435421553], rtol=0, atol=1e-12)
    assert at["phi_ddot"] == pytest.approx(-0.065821903014, abs=1e-12)
