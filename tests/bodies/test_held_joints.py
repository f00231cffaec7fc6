"""Joints that only hold: rods, gears, racks, curves, surfaces, and what rolls."""

import numpy as np
import pytest
import sympy as sp

import holdfast as hf

LAW = hf.critically_damped(10)


def problem(bodies, joints, gravity, start=None, law=LAW, **more):
    made = hf.Problem(
        hf.System(bodies=bodies, joints=joints, gravity=gravity, **more), hf.Program(law=law), start=start or {}
    )
    assert hf.loads(hf.dumps(made)) == made
    return made


def test_the_multiplier_of_a_rod_is_its_force():
    """A body that hangs at rest on a rod: it pulls with its weight."""
    body = hf.Body(mass=2, inertia=(1, 1, 1), position=(0, 0, -3))
    made = problem({"b": body}, {"rod": hf.Distance("ground", "b", length=3)}, (0, 0, -9.81))
    values = hf.derive(made).evaluate()
    assert values["lambda_rod"] == pytest.approx(-2 * 9.81, rel=1e-12)
    assert np.abs(values.accelerations).max() < 1e-12


def test_a_rod_swings_like_a_pendulum():
    """In the plane, from rest at 1 rad, the body not turning: l φ'' = −g sin φ."""
    body = hf.Body(mass=2, inertia=1, position=(2 * np.sin(1.0), -2 * np.cos(1.0)))
    made = problem({"b": body}, {"rod": hf.Distance("ground", "b", length=2)}, (0, -9.81))
    run = hf.simulate(hf.derive(made), hf.RK4, step=1e-3, duration=2)
    phi = hf.coordinates("phi")
    other = hf.System(coordinates=phi, kinetic=4 * phi.rate**2, potential=-2 * 9.81 * 2 * sp.cos(phi))
    angle = hf.simulate(hf.derive(hf.Problem(other, start={phi: 1})), hf.RK4, step=1e-3, duration=2)["phi"]
    assert np.abs(np.arctan2(run["b_x"], -run["b_y"]) - angle).max() < 1e-8


def test_gears_share_their_inertia():
    """a = 3 b, a torque 6 on a: (J_a + J_b/9) a'' = 6."""
    wheels = {n: hf.Body(mass=1, inertia=j) for n, j in (("small", 2), ("large", 9))}
    joints = {"a": hf.Revolute("ground", "small"), "b": hf.Revolute("far", "large"), "mesh": hf.Gear("a", "b", ratio=3)}
    made = problem(wheels, joints, (), points={"far": (1, 0)}, forces={"a": 6})
    a, b = hf.derive(made).evaluate().accelerations
    assert (a, b) == pytest.approx((2, 2 / 3), rel=1e-12)


def test_a_pinion_drives_its_rack():
    """x = r φ, the rack hanging: (m + J/r²) x'' = −m g."""
    parts = {"wheel": hf.Body(mass=1, inertia=0.5), "rack": hf.Body(mass=2, inertia=1)}
    joints = {
        "turn": hf.Revolute("ground", "wheel"),
        "slide": hf.Prismatic("ground", "rack", axis=(0, 1)),
        "mesh": hf.RackAndPinion("turn", "slide", radius=0.5),
    }
    values = hf.derive(problem(parts, joints, (0, -9.81))).evaluate()
    assert values.accelerations == pytest.approx([-2 * 9.81 / 4 / 0.5, -2 * 9.81 / 4], rel=1e-12)


def test_a_point_stays_on_its_curve():
    """A bead on y = x² in the plane, against the same bead by its energies."""
    bead = hf.Body(mass=1, inertia=1, position=(1, 1))
    made = problem({"b": bead}, {"wire": hf.PointOnCurve("b", "ground", curve="y - x**2")}, (0, -9.81))
    run = hf.simulate(hf.derive(made), hf.RK4, step=1e-3, duration=1)
    s = hf.coordinates("s")
    other = hf.System(coordinates=s, kinetic=(1 + 4 * s**2) * s.rate**2 / 2, potential=9.81 * s**2)
    x = hf.simulate(hf.derive(hf.Problem(other, start={s: 1})), hf.RK4, step=1e-3, duration=1)["s"]
    assert np.abs(run["b_x"] - x).max() < 1e-8


def test_a_curve_in_space_is_two_functions_and_a_surface_one():
    helix = hf.PointOnCurve("b", "ground", curve=("x - cos(z)", "y - sin(z)"))
    body = hf.Body(mass=1, inertia=(1, 1, 1), position=(1, 0, 0))
    run = hf.simulate(hf.derive(problem({"b": body}, {"wire": helix}, (0, 0, -9.81))), hf.RK4, step=1e-3, duration=1)
    assert run["b_z"][-1] == pytest.approx(-9.81 / 4, rel=1e-8)  # s = √2 z, s'' = −g/√2
    bowl = hf.PointOnSurface("b", "ground", surface="x**2 + y**2 + z**2 - 1")
    run = hf.simulate(hf.derive(problem({"b": body}, {"bowl": bowl}, (0, 0, -9.81))), hf.RK4, step=1e-3, duration=1)
    assert np.abs(run["b_x"] ** 2 + run["b_z"] ** 2 - 1).max() < 1e-8
    assert np.ptp(run["energy"]) < 1e-7


@pytest.mark.parametrize("plane", [True, False])
def test_what_rolls_down_a_slope_is_held_back_by_its_inertia(plane):
    """x'' = g sin α/(1 + J/(m r²)), with gravity turned in the place of the slope."""
    g, m, r, J = 9.81, 2, 0.5, 0.4
    if plane:
        body, gravity = hf.Body(mass=m, inertia=J, position=(0, r)), (g * 0.6, -g * 0.8)
    else:
        body, gravity = hf.Body(mass=m, inertia=(J, J, J), position=(0, 0, r)), (g * 0.6, 0, -g * 0.8)
    made = problem({"b": body}, {"road": hf.RollingOnPlane("b", "ground", radius=r)}, gravity)
    equations = hf.derive(made)
    assert equations.evaluate().accelerations[0] == pytest.approx(g * 0.6 / (1 + J / (m * r**2)), rel=1e-12)
    run = hf.simulate(equations, hf.RK4, step=2e-3, duration=1)
    assert np.ptp(run["energy"]) < 1e-8


def test_a_coin_rolls_without_slip_and_keeps_its_energy():
    """A thin coin, tilted and rolling: its rim touches the ground at rest, its energy and its spin law are kept."""
    m, r, tilt = 0.01, 0.02, 0.3
    body = hf.Body(
        mass=m, inertia=(m * r**2 / 4, m * r**2 / 4, m * r**2 / 2), position=(0, 0, r * np.cos(tilt)),
        orientation={"axis": "x", "angle": np.pi / 2 - tilt}, spin=(0, 0.5, -30),
    )  # fmt: skip
    made = problem({"coin": body}, {"rim": hf.RollingOnPlane("coin", "ground", radius=r, axis="z")}, (0, 0, -9.81))
    run = hf.simulate(hf.derive(made), hf.RK4, step=5e-4, duration=1)
    assert run.outcome.name == "completed"
    assert np.hypot(run["coin_x_dot"][0], run["coin_y_dot"][0]) == pytest.approx(30 * r, rel=0.02)
    assert np.ptp(run["energy"]) < 1e-7 * run["energy"][0]
    assert np.abs(run.deviation_rate).max() < 1e-7


def test_slips_are_said_by_name():
    body = {"b": hf.Body(mass=1, inertia=1)}
    with pytest.raises(hf.BadStatement, match="needs its length"):
        hf.System(bodies=body, joints={"rod": hf.Distance("ground", "b")})
    with pytest.raises(hf.BadStatement, match="no coordinate of a joint"):
        hf.System(bodies=body, joints={"mesh": hf.Gear("x1", "b_angle", ratio=2)})
    with pytest.raises(hf.BadStatement, match="the length is 0"):
        hf.System(bodies=body, joints={"rod": hf.Distance("ground", "b", length=0)})
    with pytest.raises(hf.BadStatement, match="one function"):
        hf.System(bodies=body, joints={"wire": hf.PointOnCurve("b", "ground", curve=("x", "y"))})
    with pytest.raises(hf.HoldfastError, match="'q'"):
        hf.System(bodies=body, joints={"wire": hf.PointOnCurve("b", "ground", curve="x - q")})
    spatial = {"b": hf.Body(mass=1, inertia=(1, 1, 1))}
    with pytest.raises(hf.BadStatement, match="both axes"):
        hf.System(bodies=spatial, joints={"u": hf.Universal("ground", "b", axis="x", axis2=(-2, 0, 0))})
