"""What an attack on the newest proofs found false, each with the smallest input that showed it."""

from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.engine.kernel import compiled
from holdfast.equations.values import parameter_vector

TRACK = """schema = 1
[system]
coordinates = ["x"]
kinetic = "x_dot**2/2"
[functions.track]
times = [0, 0.4, 0.8, 1.2, 1.6, 2, 2.4, 2.8]
values = [0, 0.3, 0.1, -0.4, -0.2, 0.5, 0.4, 0]
degree = 3
[program.holonomic]
follow = "x - track"
[program.controls]
F = { x = "1" }
[program.law]
kind = "critically-damped"
rate = 4
[run]
begin = 0.6
step = 0.02
duration = 1.2
"""


def pendulum():
    x, y = hf.coordinates("x y")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(10))
    return hf.derive(hf.Problem(system, program, start={x: 0.6, y: -0.8}))


def three_stages(second, third):
    """A scheme of order 3 whose stages stand at these places of the step."""
    c, d = F(second), F(third)
    b, e = (3 * d - 2) / (6 * c * (d - c)), (2 - 3 * c) / (6 * d * (d - c))
    last = 1 / (6 * e * c)
    return hf.RungeKutta(
        name=f"stages at {c} and {d}", order=3, stages=((), (c,), (d - last, last)), weights=(1 - b - e, b, e)
    )


@pytest.mark.parametrize("places", [("-1", "-11/10"), ("3/2", "1/2")])
def test_stages_that_read_data_outside_of_the_step_are_not_proved(places):
    """A step from behind a knot read the piece before it, which no bound held: 1.3 times the stated defect."""
    (block,) = hf.certify(hf.derive(hf.loads(TRACK)), three_stages(*places), effort=0.2).blocks
    assert not block.label.is_proof
    assert "read the data outside of the step" in block.reason


def test_stages_within_the_step_are_proved():
    (block,) = hf.certify(hf.derive(hf.loads(TRACK)), three_stages("1/2", "1"), effort=0.2).blocks
    assert block.label is hf.Label.proved


def test_a_scheme_by_the_name_of_another_has_no_bounds_along_its_steps():
    """The midpoint's steps under the name of RK4 were 333 times beyond bounds proved for RK4."""
    equations = pendulum()
    other = hf.RungeKutta(name="rk4", order=2, stages=((), ("1/2",)), weights=(0, 1))
    with pytest.raises(hf.BadRequest, match="another scheme that is called rk4"):
        hf.own_step_bounds(equations, hf.simulate(equations, other, step=0.01, duration=0.05, every=1))
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=0.05, every=1)
    assert hf.own_step_bounds(equations, run)["rod"].bounds[0] < 1e-6
    with pytest.raises(hf.BadRequest, match="other parameters"):
        hf.own_step_bounds(equations, run, parameters={"law.stiffness.rod": 50})


def test_the_shortened_step_by_which_an_event_ends_a_run_is_in_no_phase():
    """Its row was held to lie where a whole step would have ended."""
    equations, lowest = pendulum(), {"lowest": hf.Event("x", terminal=True)}
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=2, events=lowest, every=1)
    certificate = hf.certify(equations, hf.RK4, trajectory=run, tube=True, effort=0.3)
    found = hf.in_phase(equations, certificate)["rod"]
    psi = np.array([run[name] for name in found.names]).T
    assert len(found.middle) == len(psi) - 1
    assert (np.abs(psi[:-1] - found.middle) <= found.radius).all()
    starts = hf.safe_starts(equations, certificate)
    assert starts.part > 0.1


def rope(rate=10, duration=0.1):
    """A rope that goes slack, in phases."""
    x, y = hf.coordinates("x y")
    g = hf.parameters("g")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=g * y, parameters={g: 9.81})
    held = hf.Program(holonomic={"rope": (x**2 + y**2 - 1) / 2}, law=hf.critically_damped(rate))
    phases = {"swing": hf.Phase(until="lambda_rope", then="fly"), "fly": hf.Phase(program=hf.Program(), lasts=9)}
    run = hf.Run(scheme="rk4", step=0.005, duration=duration)
    return hf.derive(hf.Problem(system, held, start={x: 0, y: -1, x.rate: 6}, phases=phases, run=run))


def test_phases_and_stretches_are_certified_with_the_numbers_of_their_run():
    """They were certified with those of the problem: another motion than the one that was given."""
    equations = rope()
    run = hf.simulate(equations, parameters={"g": 5.0})
    (found,) = hf.certify_phases(equations, trajectory=run, effort=0.1).values()
    assert found.parameters["g"] == 5
    with pytest.raises(hf.BadRequest, match="made with g = 5, not 6"):
        hf.certify_phases(equations, trajectory=run, parameters={"g": 6.0})
    with pytest.raises(hf.BadRequest, match="another system, program or law"):
        hf.certify_phases(rope(rate=3), trajectory=run)


def test_stretches_are_whole_steps_of_a_run_of_these_equations():
    equations, lowest = pendulum(), {"lowest": hf.Event("x", terminal=True)}
    run = hf.simulate(equations, hf.RK4, step=0.01, duration=2, events=lowest, every=1)
    ((name, found),) = hf.certify_stretches(equations, trajectory=run, effort=0.3).items()
    assert name == "0 to 0.51"
    assert found.begin + found.duration == pytest.approx(run.times[-2])
    with pytest.raises(hf.BadRequest, match="another system, program or law"):
        hf.certify_stretches(equations.with_law(hf.critically_damped(3)), trajectory=run)
    moved = hf.simulate(equations, hf.RK4, step=0.01, duration=0.2, project=True, every=1)
    with pytest.raises(hf.BadRequest, match="moved back onto the program"):
        hf.certify_stretches(equations, trajectory=moved)
    begun = hf.simulate(equations, hf.RK4, step=0.01, duration=0.2, every=1)
    with pytest.raises(hf.BadRequest, match="of one run with one step"):  # it was said to be one stretch
        hf.certify_stretches(equations, trajectory=begun.continued(0.2, step=0.005))


def test_a_page_refuses_certificates_of_phases_of_another_law_number_scheme_or_length():
    """A page of Euler's run said "proved" of what was proved for RK4."""
    equations = rope()
    found = hf.certify_phases(equations, effort=0.1)
    assert hf.report(hf.simulate(equations), found, state_error=False).word == "proved"
    others = [
        hf.simulate(rope(rate=3)), hf.simulate(equations, parameters={"g": 5.0}), hf.simulate(rope(duration=0.15)),
        hf.simulate(equations, hf.Euler),
    ]  # fmt: skip
    for run in others:
        with pytest.raises(hf.BadRequest, match="made for another run"):
            hf.report(run, found, state_error=False)


CANCELS = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[definitions]
once = "b*x"
[parameters]
a = 3
b = 7
c = 21
[program.holonomic]
path = "y - sin(t) + sin(a*once - c*x)"
[program.controls]
F = { y = "1" }
[program.law]
kind = "spring-damper"
stiffness = 25
damping = 10
[start]
x = 100000000000.1
x_dot = 1
y_dot = 1
[run]
scheme = "rk4"
step = 0.002
duration = 0.5
start_policy = "keep"
"""


ASKED = [
    {"tube": True},
    {"in_order": True},
    {"scheme": hf.DOPRI5, "tolerance": 1e-8},
    {"region": {"x": (1e11, 1.1e11)}},
]


@pytest.mark.parametrize("asked", ASKED)
def test_what_cancels_once_numbers_are_put_in_is_rounded_all_the_same(asked):
    """a·(b·x) − c·x is 0 of these numbers, so that x was 0 where it rounds: a run was 31 700 times beyond its bound."""
    equations = hf.derive(hf.loads(CANCELS))
    certificate = hf.certify(equations, **asked)
    (block,), run = certificate.blocks, certificate.trajectory
    worst = np.abs(run["y"] - np.sin(run.times)).max()  # y_path, a·b being c
    assert worst > 1e-7
    assert not block.label.is_proof or worst <= block.bounds[0]


SWITCHED_OFF = """schema = 1
[system]
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
[system.forces]
y = "{force}"
[parameters]
j = {k}
k = {k}
[program.holonomic]
path = "y - sin(5*t)"
[program.law]
kind = "spring-damper"
stiffness = 25
damping = 10
[start]
x = {x}
x_dot = 1
[run]
scheme = "rk4"
step = 0.01
duration = 0.3
start_policy = "project"
"""
OVERFLOWS = [
    ("k*exp(x)", 0, 350, (300, 800), 750.0),  # 0 times what is no number any more
    ("j*(k*x**2)", 1e-155, 1e154, (1e154, 1.5e154), 1.45e154),
]


@pytest.mark.parametrize(("force", "k", "x", "ends", "beyond"), OVERFLOWS)
def test_a_region_in_which_doubles_overflow_is_not_proved(force, k, x, ends, beyond):
    """Balls do not overflow: steps from the far end of it did not arrive, and all of it was called proved."""
    equations = hf.derive(hf.loads(SWITCHED_OFF.format(force=force, k=k, x=x)))
    kernel, numbers = compiled(equations.field, hf.RK4), parameter_vector(equations, {})
    run = kernel.run(np.array([beyond, 0.0, 1.0, 5.0]), numbers, t0=0.0, step=0.01, steps=1)
    assert len(run.times) == 1  # it does not arrive
    (block,) = hf.certify(equations, region={"x": ends}).blocks
    assert block.label is not hf.Label.proved


def test_omega_of_a_run_at_rest_holds_more_than_that_run():
    """Its energy is one number: Omega was limited to it, and no state beside the run was claimed anything of."""
    text = (Path(hf.__file__).parent / "examples" / "pendulum.toml").read_text("utf-8")
    hanging = hf.certify(hf.derive(hf.loads(text.replace('x = "l"', 'z = "-l"'))))
    (block,) = hanging.blocks
    assert block.label is hf.Label.proved
    assert "energy" not in {name for name, *_ in block.proof.limits}
    assert "; 64 random native steps" in hf.verify(hanging).findings[0]
