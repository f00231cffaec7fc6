"""Cart and rod, Mukharlyamov & Gorshkov 2015, (20)-(28): a force and a torque bring the cart home."""

from functools import cache

import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf

x, phi = hf.coordinates("x phi")
m1, m2, l, g = hf.parameters("m1 m2 l g")
k11, k12, k21, k22 = hf.parameters("k11 k12 k21 k22")
v, w = x.rate, phi.rate
F, M = sp.symbols("F M")
D = 4 * m1 + m2 * (1 + 3 * sp.cos(phi) ** 2)
GAINS = {k11: 1, k12: 0.3, k21: 0.05, k22: 0.1}


def problem(controls, law=None):
    rod = m2 * ((v - l * w * sp.sin(phi)) ** 2 + (l * w * sp.cos(phi)) ** 2) / 2 + m2 * l**2 * w**2 / 6
    system = hf.System(
        coordinates=(x, phi),
        kinetic=m1 * v**2 / 2 + rod,
        potential=m2 * g * l * sp.sin(phi),
        parameters={m1: 10, m2: 1, l: 1, g: 9.81, **GAINS},
    )
    program = hf.Program(
        holonomic={"home": x, "upright": phi - sp.pi / 2},
        controls=controls,
        law=law or hf.SpringDamper(stiffness={"home": k11, "upright": k21}, damping={"home": k12, "upright": k22}),
    )
    return hf.Problem(system, program, start={x: 0.1, phi: 2 * sp.pi / 3})


@cache
def derived(order="FM"):
    directions = {"F": {x: 1}, "M": {phi: 1}}
    return hf.derive(problem({name: directions[name] for name in order}))


def is_zero(expression):
    return sp.simplify(sp.expand(sp.expand_trig(expression))) == 0


def accelerations():
    shown = derived()
    return shown.mass_matrix.LUsolve(shown.bias + sp.Matrix([F, M]))


def test_the_cart_accelerates_by_21():
    expected = m2 * l * sp.cos(phi) * (4 * l * w**2 - 3 * g * sp.sin(phi)) + 4 * l * F + 3 * sp.sin(phi) * M
    assert is_zero(sp.together(accelerations()[0] * l * D - expected))


def test_the_rod_accelerates_by_22_with_the_coefficient_three_halves():
    def expected(coefficient):
        return (
            coefficient * m2 * l**2 * w**2 * sp.sin(2 * phi)
            - 3 * g * l * (m1 + m2) * sp.cos(phi)
            + 3 * l * sp.sin(phi) * F
            + 3 * (m1 + m2) / m2 * M
        )

    ours = accelerations()[1] * l**2 * D
    assert is_zero(sp.together(ours - expected(sp.Rational(3, 2))))
    assert not is_zero(sp.together(ours - expected(3)))  # as the scan shows it


def control_forces(order="FM"):
    """The closed forms with the deviations written out."""
    home, upright = hf.deviations("home upright")
    actual = {home: x, home.rate: v, upright: phi - sp.pi / 2, upright.rate: w}
    return {name: value.subs(actual) for name, value in derived(order).inverse_dynamics.items()}


def test_control_forces_are_27_and_28_corrected():
    a = k11 * x + k12 * v
    b = k21 * (phi - sp.pi / 2) + k22 * w
    force = m2 * l * sp.sin(phi) * b - m2 * l * w**2 * sp.cos(phi) - (m1 + m2) * a
    torque = m2 * l * (g * sp.cos(phi) + a * sp.sin(phi) - 4 * l / 3 * b)
    printed = m2 * l * (g * sp.cos(phi) - a * sp.sin(phi) + 4 * l / 3 * b)
    forces = control_forces()
    assert is_zero(forces["F"] - force)
    assert is_zero(forces["M"] - torque)
    assert not is_zero(forces["M"] - printed)


def test_controls_in_another_order_are_the_same_forces():
    first, second = control_forces("FM"), control_forces("MF")
    assert list(second) == ["M", "F"]
    for name in "FM":
        assert is_zero(first[name] - second[name])
    state = {x: 0.3, phi: 1.1, v: -0.2, w: 0.7}
    one, other = derived("FM").evaluate(state), derived("MF").evaluate(state)
    assert_allclose([other["F"], other["M"]], [one["F"], one["M"]], rtol=1e-14)
    assert_allclose(other.controls, one.controls[::-1], rtol=1e-14)


@pytest.mark.parametrize(
    ("angle", "force", "torque"),
    [(2 * sp.pi / 3, -1.0773275079, -4.8533040447), (3 * sp.pi / 4, -1.0722319816, -6.9183667229)],
    ids=["120_degrees", "135_degrees"],
)
def test_forces_at_the_start_are_the_tabulated_ones(angle, force, torque):
    at = derived().evaluate({phi: angle})
    assert_allclose(at.controls, [force, torque], rtol=0, atol=6e-11)


def test_the_roots_of_the_law_are_the_papers():
    roots = sorted(sp.Matrix(derived().evaluate().deviation_matrix).evalf().eigenvals(multiple=True), key=sp.im)
    found = sorted((complex(root) for root in roots), key=lambda root: root.imag)
    expected = [-0.15 - 0.9886859967j, -0.05 - 0.2179449472j, -0.05 + 0.2179449472j, -0.15 + 0.9886859967j]
    assert_allclose(found, expected, atol=1e-9)


def test_the_deviation_obeys_its_law_wherever_the_cart_is():
    at = derived().evaluate({x: -3, phi: 0.2, v: 1.5, w: -4})
    wanted = [3 * 1 - 0.3 * 1.5, -0.05 * (0.2 - float(sp.pi) / 2) + 0.1 * 4]
    assert_allclose(at.accelerations, wanted, rtol=1e-13)
