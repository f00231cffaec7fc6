"""What was found false by attack, each with the smallest input that showed it."""

import pytest
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
v, w = x.rate, y.rate


def pushed_by_a_weak_motor():
    system = hf.System(coordinates=(x,), kinetic=v**2 / 2, potential=-3 * x)
    law = hf.SpringDamper(stiffness=4, damping=4)
    program = hf.Program(holonomic={"p": x}, controls={"F": {x: 1}}, limits={"F": 1}, law=law)
    return hf.derive(hf.Problem(system, program, start={x: 0.1}))


@pytest.mark.parametrize(
    "asked",
    [
        lambda e: hf.lyapunov(e),
        lambda e: hf.lyapunov(e, sp.sympify("6*y_p**2 + 2*y_p*w_p + w_p**2")),
        lambda e: hf.step_condition(e, "euler", 0.01),
        lambda e: hf.theorems(hf.simulate(e, "euler", step=0.01, duration=0.1), sp.sympify("y_p**2 + w_p**2"), 1.0),
        lambda e: hf.quasi(e, {"u": 2 * v}),
        lambda e: hf.canonical(e),
        lambda e: hf.routh(e),
        lambda e: hf.coefficients(e),
        lambda e: hf.mean_square(e),
        lambda e: hf.multiplier_parts(e),
        lambda e: hf.internal(e),
        lambda e: hf.conditions(e),
        lambda e: hf.deviation_covariance(e),
    ],
)
def test_what_speaks_of_the_law_everywhere_is_refused_where_controls_have_limits(asked):
    with pytest.raises(hf.BadRequest, match="only within the limits of F"):
        asked(pushed_by_a_weak_motor())
    assert not pushed_by_a_weak_motor().inverse_dynamics
    assert "within the limits of F" in hf.spectrum(pushed_by_a_weak_motor()).blocks[0].reason


@pytest.mark.parametrize(
    ("kinetic", "start"),
    [
        (-sp.sqrt(1 - v**2 - w**2) + x * w - y * v, {x: 0.5, v: -0.1, w: 0.7}),
        pytest.param(-sp.sqrt(1 - v**2 * (1 + x**2) - w**2), {x: 0.1, v: 0.2, w: 0.3}, marks=pytest.mark.prove),
        (-sp.sqrt(1 - v**2 - w**2) + 2 * v, {v: 0.3, w: 0.1}),
    ],
)
def test_rates_of_momenta_have_the_right_sign_on_either_side(kinetic, start):
    system = hf.System(coordinates=(x, y), kinetic=kinetic, potential=x**2)
    equations = hf.derive(hf.Problem(system, start=start))
    canonical = hf.canonical(equations)
    for sign in (1, -1):
        state = {x: 0.5 * sign, y: -0.2, v: -0.3 * sign, w: 0.2 * sign}
        ours, theirs = canonical.evaluate(state), equations.evaluate(state)
        assert ours.rates == pytest.approx([-0.3 * sign, 0.2 * sign], abs=1e-8)
        assert ours.accelerations == pytest.approx(theirs.accelerations, abs=1e-7)


def test_a_start_whose_momentum_belongs_to_another_rate_is_not_run():
    """v²/2 + v³/6 has the momentum v + v²/2, the same at v = 1 and at v = -3."""
    canonical = hf.canonical(
        hf.derive(hf.Problem(hf.System(coordinates=(x,), kinetic=v**2 / 2 + v**3 / 6), start={v: 0.3}))
    )
    with pytest.raises(hf.BadRequest, match="belong to other rates"):
        hf.simulate(canonical, hf.RK4, step=0.01, duration=0.1, start={v: -3.0})


@pytest.mark.parametrize("name", ["energy", "kinetic", "potential", "power_held", "deviation_norm"])
def test_names_of_results_are_not_to_be_had(name):
    q = hf.coordinates(name)
    with pytest.raises(hf.BadStatement, match="kept for a result of every run"):
        hf.System(coordinates=(q,), kinetic=q.rate**2 / 2)
    with pytest.raises(hf.BadStatement, match="kept for a result of every run"):
        hf.System(coordinates=(x,), kinetic=hf.parameters(name) * v**2 / 2, parameters={name: 2})
    program = hf.Program(holonomic={"p": x}, controls={name: {x: 1}})
    with pytest.raises(hf.BadStatement, match="kept for a result of every run"):
        hf.Problem(hf.System(coordinates=(x,), kinetic=v**2 / 2), program)


@pytest.mark.parametrize("more", [v**4, v**3 / 10])
def test_maggi_refuses_a_kinetic_energy_that_is_not_quadratic(more):
    system = hf.System(coordinates=(x, y), kinetic=(v**2 + w**2) / 2 + more)
    equations = hf.derive(hf.Problem(system, hf.Program(nonholonomic={"n": v - y * w}), start={y: 1, v: 0.5, w: 0.5}))
    with pytest.raises(hf.BadStatement, match="not quadratic in the rates"):
        hf.maggi(equations)
