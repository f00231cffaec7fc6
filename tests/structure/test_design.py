"""Constructions that are in Lagrange form, and multipliers that bring equations into it."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import holdfast as hf
from holdfast.structure.algebra.zero import is_zero

x, y, z, r, theta = hf.coordinates("x y z r theta")
law = hf.SpringDamper(stiffness=4, damping=3)
sphere = sp.sqrt(x**2 + y**2 + z**2) - 1
cylinder = sp.sqrt(x**2 + y**2) - 1
start = {x: 0.7, y: 0.4, z: 0.9, x.rate: 0.3, y.rate: -0.2, z.rate: 0.5}


def obeys_its_law(made):
    """The reactions vanish: L and D alone give the accelerations, and deviations obey the law."""
    at = made.equations.evaluate()
    assert_allclose(at.mu, 0, atol=1e-12)
    values = {**{s: float(v) for s, v in start.items()}}
    values |= dict(zip([c.acceleration for c in made.coordinates], at.accelerations.tolist(), strict=True))
    for f in made.f:
        assert abs(complex(f.subs(values).evalf())) < 1e-12


@pytest.mark.parametrize(
    "constraints", [{"sphere": sphere}, {"cylinder": cylinder, "height": z}, {"square": (x**2 + y**2 + z**2 - 1) / 2}]
)
def test_cubic_D_holds_curved_constraints_in_Lagrange_form(constraints):
    made = hf.design(hf.Program(holonomic=constraints, law=law), (x, y, z), "cubic", start=start)
    obeys_its_law(made)
    assert made.strict
    assert not made.dissipative
    assert "third degree" in made.notes[-1]


def test_cubic_D_does_no_work_on_the_program():
    made = hf.design(hf.Program(holonomic={"sphere": sphere}, law=law), (x, y, z), "cubic", start=start)
    on = {x: sp.Rational(3, 5), y: sp.Rational(4, 5), z: 0, x.rate: 4, y.rate: -3, z.rate: sp.Rational(7, 2)}
    power = sum(u.rate * sp.diff(made.D, u.rate) for u in (x, y, z))
    assert power.subs(on) == 0


def test_a_general_surface_is_held_in_the_wide_sense():
    surface = x**2 + 2 * y**2 + 3 * z**2 + x * y * z - 1
    made = hf.design(hf.Program(holonomic={"surface": surface}, law=law), (x, y, z), "cubic", start=start)
    obeys_its_law(made)
    assert not made.strict
    assert "linear in the rates" in made.notes[0]


def test_gradients_that_do_not_commute_are_refused():
    program = hf.Program(holonomic={"sphere": sphere, "height": z}, law=law)
    with pytest.raises(hf.BadStatement, match="do not commute"):
        hf.design(program, (x, y, z), "cubic", start=start)
    obeys_its_law(hf.design(program, (x, y, z), start=start))  # the adapted metric does it


def test_flat_constraints_need_no_cubic_part():
    made = hf.design(hf.Program(holonomic={"plane": 0.6 * x + 0.8 * y}, law=law), (x, y), "cubic", start={x: 1})
    assert made.strict
    assert made.dissipative


def test_the_circle_has_the_form_of_T8c():
    circle = hf.Program(holonomic={"circle": sp.sqrt(x**2 + y**2) - 1}, law=law)
    made = hf.design(circle, (x, y), "cubic", start={x: 1})
    radius = sp.sqrt(x**2 + y**2)
    radial, across = (x * x.rate + y * y.rate) / radius, (x * y.rate - y * x.rate) / radius
    assert is_zero(made.L - (x.rate**2 + y.rate**2) / 2 + 2 * (radius - 1) ** 2).zero
    assert is_zero(made.D - radial * across**2 / radius - 3 * radial**2 / 2).zero
    assert hf.helmholtz(made.f, (x, y))


def test_the_adapted_metric_is_strict_and_dissipative():
    circle = hf.Program(holonomic={"circle": sp.sqrt(x**2 + y**2) - 1}, law=law)
    made = hf.design(circle, (x, y), complete=[sp.atan2(y, x)], start={x: 1.1, y: 0.2, x.rate: 0.3, y.rate: 1})
    at = made.equations.evaluate()
    assert_allclose(at.mu, 0, atol=1e-12)
    assert made.strict
    assert made.dissipative
    place, rate, acc = np.array([1.1, 0.2]), np.array([0.3, 1.0]), at.accelerations
    square = place @ place
    turning = (place[0] * rate[1] - place[1] * rate[0]) / square
    assert (place[0] * acc[1] - place[1] * acc[0]) / square - 2 * turning * (place @ rate) / square == pytest.approx(0)
    assert hf.lagrangian(made.f, (x, y)).dissipative


@pytest.mark.parametrize(
    ("program", "arguments", "message"),
    [
        (hf.Program(nonholonomic={"roll": x.rate - y.rate}), {}, "no metric is adapted"),
        (
            hf.Program(nonholonomic={"a": x.rate - y.rate, "b": x.rate - 1}, law=hf.SpringDamper(damping=2)),
            {"method": "cubic"},
            "several constraints",
        ),
        (
            hf.Program(nonholonomic={"speed": x.rate**2 + y.rate**2 - 1}, law=hf.SpringDamper(damping=2)),
            {"method": "cubic", "start": {x.rate: 1}},
            "not linear in the rates",
        ),
        (hf.Program(holonomic={"a": x}, law=law), {"method": "magic"}, "no construction"),
        (hf.Program(holonomic={"a": x}, law=law), {"complete": [x]}, "depend on each other"),
        (hf.Program(holonomic={"a": x}, law=law), {"complete": []}, "1 functions complete"),
    ],
)
def test_what_cannot_be_designed_is_refused(program, arguments, message):
    with pytest.raises(hf.HoldfastError, match=message):
        hf.design(program, (x, y), **arguments)


# ---------------------------------------------------------------- programs that move, or are of velocities


def keeps_its_law(made, program, coordinates):
    """J a + γ = -K y - B w, as an identity, with the accelerations of E[L] + ∂D/∂v = 0; and L and D are L and D."""
    accelerations = [u.acceleration for u in coordinates]
    solved = sp.solve(made.f, accelerations, dict=True)[0]
    places = list(program.holonomic.values())
    rates = [hf.rate(e) for e in places] or list(program.nonholonomic.values())
    for k, w in enumerate(rates):
        demand = -3 * w - (4 * places[k] if places else 0)
        assert sp.simplify(hf.rate(w).subs(solved) - demand) == 0
    assert hf.lagrangian(made.f, coordinates, state={x: 0.7, y: 0.4}).wide


@pytest.mark.parametrize("method", ["adapted metric", "cubic"])
@pytest.mark.parametrize(
    "place",
    [x - sp.sin(hf.time), pytest.param(y - x**2 * sp.cos(hf.time), marks=pytest.mark.prove), x * y - hf.time],
)
def test_a_program_that_moves_is_designed(method, place):
    program = hf.Program(holonomic={"moving": place}, law=hf.SpringDamper(stiffness=4, damping=3))
    made = hf.design(program, (x, y), method, start={x: 1, y: 1})
    keeps_its_law(made, program, (x, y))
    assert not made.strict
    assert made.notes
    assert abs(made.equations.evaluate().held_forces).max() < 1e-12  # L and D do it all


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(x.rate * sp.sin(y) + y.rate * sp.cos(x), marks=pytest.mark.prove),
        x.rate - y * y.rate - hf.time * x,
        y.rate - x * x.rate,
    ],
)
def test_a_velocity_constraint_is_designed_by_a_cubic_dissipation(row):
    program = hf.Program(nonholonomic={"roll": row}, law=hf.SpringDamper(damping=3))
    made = hf.design(program, (x, y), "cubic", start={x: 1, y: 1})
    keeps_its_law(made, program, (x, y))
    assert abs(made.equations.evaluate().held_forces).max() < 1e-12


def test_a_skate_is_designed():
    heading = hf.coordinates("heading")
    edge = -sp.sin(heading) * x.rate + sp.cos(heading) * y.rate
    program = hf.Program(nonholonomic={"edge": edge}, law=hf.SpringDamper(damping=3))
    made = hf.design(program, (x, y, heading), "cubic", start={x.rate: 1, heading.rate: 1})
    keeps_its_law(made, program, (x, y, heading))
    assert made.strict  # nothing acts at rest
    assert not made.dissipative  # a cubic part


def test_a_flat_velocity_constraint_is_held_by_rayleighs_function():
    program = hf.Program(nonholonomic={"slope": x.rate - 2 * y.rate}, law=hf.SpringDamper(damping=3))
    made = hf.design(program, (x, y), "cubic")
    assert sp.expand(made.D - sp.Rational(3, 10) * (x.rate - 2 * y.rate) ** 2) == 0
    assert made.strict
    assert made.dissipative


# ---------------------------------------------------------------- multipliers

drag = [r * theta.rate**2 - 1 / r**2 - r.rate / 5, -2 * r.rate * theta.rate / r]
free = [drag[0] + r.rate / 5, drag[1]]


def test_polar_motion_with_drag_has_two_multipliers():
    found = hf.multiplier_search(drag, (r, theta), basis=[1, r, r**2])
    assert found
    assert found.exact
    assert len(found.matrices) == 2
    wanted = [sp.diag(1, r**2), sp.diag(0, r)]
    assert all(sp.Matrix(g) in wanted for g in found.matrices)
    assert hf.lagrangian(found.f, (r, theta)).wide


def test_without_drag_the_multiplier_is_the_metric():
    found = hf.multiplier_search(free, (r, theta), basis=[1, r, r**2], dissipation=False)
    assert [sp.Matrix(g) for g in found.matrices] == [sp.diag(1, r**2)]
    assert hf.lagrangian(found.f, (r, theta)).D == 0


def test_with_drag_there_is_none_without_dissipation():
    found = hf.multiplier_search(drag, (r, theta), basis=[1, r, r**2], dissipation=False)
    assert not found
    assert str(found) == "for this basis there is no multiplier with D = 0"


def test_douglas_has_only_singular_multipliers():
    q1, q2 = hf.coordinates("q1 q2")
    t = hf.time
    symbols = [q1, q2, q1.rate, q2.rate, t]
    basis = [1, *symbols, *(a * b for i, a in enumerate(symbols) for b in symbols[i:])]
    found = hf.multiplier_search([-q2.rate, -q2], (q1, q2), basis=basis, dissipation=False)
    assert not found
    assert all(g[0, 0] == 0 and g[0, 1] == 0 for g in found.matrices)


def test_the_damped_oscillator_has_an_exponential_multiplier():
    found = hf.multiplier_search([-x.rate - x], (x,), basis=[1, sp.exp(hf.time)], dissipation=False)
    assert found.member == sp.Matrix([[sp.exp(hf.time)]])
    with pytest.raises(hf.BadRequest, match="basis is empty"):
        hf.multiplier_search([-x], (x,), basis=[])
