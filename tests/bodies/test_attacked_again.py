"""What a second attack on bodies found false: each case once, against plain numbers."""

import numpy as np
import pytest

import holdfast as hf

HANGING = """schema = 1
[system]
gravity = [0, 0, -9.81]
[bodies.arm]
mass = 1
center = [0, 0, -1]
[joints.j]
kind = "revolute"
between = ["hip", "arm"]
axis = "y"
[parameters]
R = 2
[points]
toe = [1e-3, 0, 0]
hip = HIP
"""


@pytest.mark.parametrize(
    ("hip", "expected"),
    [
        ('["R*cos(2*pi/3)", 0, 0]', -1.0),
        ('["1e1*R", 0, 0]', 20.0),
        ('["toe.x + R", 0, 0]', 2.001),
        ('["distance(toe, [0, 0, 0])", 0, 0]', 1e-3),
        ('"toe + [dot([R, 0, 0], [1, 0, 0]), 0, 0]"', 2.001),
    ],
)
def test_a_point_of_the_ground_is_any_constant(hip, expected):
    """Points with pi, powers of ten, components and products of vectors were not taken for points that stand still."""
    run = hf.simulate(hf.derive(hf.loads(HANGING.replace("HIP", hip))), step=0.1, duration=0.1)
    assert run["arm_x"][0] == pytest.approx(expected, abs=1e-15)


def test_a_part_of_a_quaternion_that_only_rounding_moves_is_no_error():
    """Of a pendulum that swings about (1, 3, 0) the part e3 is noise, and as large as the range of this noise."""
    bob = hf.Body(mass=1, center=(0, 0, -1), inertia=(0.1, 0.1, 0.15))
    system = hf.System(bodies={"bob": bob}, joints={"j": hf.Spherical("ground", "bob")}, gravity=(0, 0, -9.81))
    start = {"j": hf.turned((1, 3, 0), 0.7), "j_spin": (0.1, 0.3, 0)}
    run = hf.simulate(hf.derive(hf.Problem(system, start=start)), hf.RK4, step=1e-3, duration=2)
    assert 0 < run.state_error.by_name["j_e3"] < 1e-12
    assert run.state_error.relative < 1e-6


def test_own_steps_do_not_follow_the_rounding_of_a_quaternion():
    """A part of 1e-17 was to be true to 1e-26: a Delta robot took 88 499 steps in a tenth of a second, now 101."""
    bob = hf.Body(mass=1, center=(0, 0, -1), inertia=(0.1, 0.1, 0.15))
    system = hf.System(bodies={"bob": bob}, joints={"j": hf.Spherical("ground", "bob")}, gravity=(0, 0, -9.81))
    start = {"j": (0.9, 0.1, 0.3, 5e-18), "j_spin": (0.1, 0.3, 0)}
    run = hf.simulate(hf.derive(hf.Problem(system, start=start)), hf.DOP853, tolerance=1e-9, duration=2, every=1)
    assert len(run.times) < 200


def engine():
    bodies = {
        "crank": hf.Body(mass=2, inertia=0.01, points={"pin": ("r", 0)}),
        "rod": hf.Body(mass=0.5, center=(0.1, 0), inertia=0.002, points={"wrist": (0.2, 0)}),
        "piston": hf.Body(mass=0.3, inertia=0.001),
    }
    joints = {
        "turn": hf.Revolute("ground", "crank"),
        "bigend": hf.Revolute("pin", "rod"),
        "slide": hf.Prismatic("ground", "piston", axis="x"),
        "gudgeon": hf.Revolute("wrist", "piston"),
    }
    system = hf.System(bodies=bodies, joints=joints, gravity=(0, -9.81), parameters={"r": 0.05})
    return hf.Problem(system, hf.Program(law=hf.critically_damped(50)), start={"turn": 0.5, "turn_dot": 30})


def test_a_loop_is_linearised_where_its_runs_start():
    """It was linearised with its rod and its piston at 0, as a loop that is not closed."""
    equations = hf.derive(engine())
    run = hf.simulate(equations, hf.RK4, step=1e-4, duration=1e-4, parameters={"r": 0.06})
    rates = hf.right_hand_side(equations, parameters={"r": 0.06})
    state = run.y[:, 0]
    ways = 1e-6 * np.eye(len(state))
    slopes = np.array([(np.array(rates(0.0, state + h)) - rates(0.0, state - h)) / 2e-6 for h in ways]).T
    found = hf.linearise(equations, parameters={"r": 0.06})
    assert np.abs(found.A - slopes).max() < 1e-7 * np.abs(slopes).max()
    assert found.state == pytest.approx(state, abs=1e-12)


def test_a_carried_body_is_told_how_its_ball_joint_starts():
    """It was told to state j_turn_x, whose value nothing depends on."""
    body = hf.Body(mass=1, inertia=(1, 1, 1), orientation=hf.turned("x", 0.3))
    system = hf.System(bodies={"b": body}, joints={"j": hf.Spherical("ground", "b")})
    with pytest.raises(hf.BadStatement, match="state j, j_spin in the start"):
        hf.Problem(system)


def lifting():
    """An arm lifted along a path by a cylinder beside it; what the start says nothing of closes the loop."""
    arm = hf.Body(mass=10, center=(1, 0), inertia=3, points={"lug": (0.5, 0)})
    cylinder = hf.Body(mass=2, center=(0.2, 0), inertia=0.1)
    rod = hf.Body(mass=1, center=(0.1, 0), inertia=0.05, points={"eye": (0.3, 0)})
    system = hf.System(
        bodies={"arm": arm, "cylinder": cylinder, "rod": rod},
        joints={
            "a": hf.Revolute("ground", "arm"),
            "foot": hf.Revolute("base", "cylinder"),
            "stroke": hf.Prismatic("cylinder", "rod", axis="x"),
            "pin": hf.Revolute("eye", "lug"),
        },
        points={"base": (0.3, -0.6)},
        gravity=(0, -9.81),
    )
    program = hf.Program(
        holonomic={"path": "a - 0.3*sin(t)"}, controls={"F": {"stroke": 1}}, law=hf.critically_damped(10)
    )
    return hf.derive(hf.Problem(system, program, start={"a": 0, "a_dot": 0.3}))


def test_a_loop_whose_start_leaves_its_leg_out_is_certified():
    """It runs; a certificate was refused, for F cannot move the path where the leg lies flat, unclosed."""
    equations = lifting()
    run = hf.simulate(equations, hf.RK4, step=1e-3, duration=0.05)
    assert run["F"][0] == pytest.approx(217.479784, rel=1e-7)  # G a'' + G' a'²/2 + V' = F ds/da, by hand
    certificate = hf.certify(equations, hf.RK4, step=1e-3, duration=0.05, effort=0.1)
    assert {name for block in certificate.blocks for name in block.constraints} == {"path", "pin_p1", "pin_p2"}
    assert hf.spectrum(equations).blocks[0].constraints == ("path",)
    assert hf.dialects(equations)["path"]["controller"]["Kp"] == pytest.approx(100)
