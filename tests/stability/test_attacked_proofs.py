"""What an attack on the newest proofs found false, each with the smallest input that showed it."""

from fractions import Fraction as F

import numpy as np
import pytest

import holdfast as hf

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
    with pytest.raises(hf.BadRequest, match="are not steps of rk4"):
        hf.own_step_bounds(equations, hf.simulate(equations, other, step=0.01, duration=0.05, every=1))
    true = hf.own_step_bounds(equations, hf.simulate(equations, hf.RK4, step=0.01, duration=0.05, every=1))["rod"]
    assert true.bounds[0] < 1e-6


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
