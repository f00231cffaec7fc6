"""Reactions of joints: against closed forms, against multipliers of the same joint cut, and against another program."""

import numpy as np
import pytest

import holdfast as hf
from tests.bodies.mechanisms import ur5


def test_the_base_of_an_arm_carries_what_pinocchio_says():
    """Force of the ground on the first link of a UR5, in its axes (Pinocchio's RNEA, 2026)."""
    run = hf.simulate(hf.derive(ur5()), hf.RK4, step=1e-3, duration=1e-3)
    found = [run[f"pan_f{c}"][0] for c in "xyz"]
    assert found == pytest.approx((26.721206255, 4.158067802, 113.184152177), abs=1e-8)
    assert abs(run["pan_mz"][0]) < 1e-9  # along its own axis nothing drives it


def test_a_pendulum_passes_on_its_weight_and_its_pull():
    """Let go from the horizontal: three times the weight at the lowest point, for a point on a rod without mass."""
    bob = hf.Body(mass=2, center=(0, -1), inertia=0)
    system = hf.System(bodies={"bob": bob}, joints={"pin": hf.Revolute("ground", "bob")}, gravity=(0, -9.81))
    run = hf.simulate(hf.derive(hf.Problem(system, start={"pin": np.pi / 2})), hf.RK4, step=1e-3, duration=1)
    lowest = int(np.abs(run["pin"]).argmin())
    assert run["pin_fy"][lowest] == pytest.approx(3 * 2 * 9.81, rel=1e-4)
    assert np.abs(run["pin_mz"]).max() < 1e-9


def loop(first):
    """A four-bar of bodies, cut at its last joint, with a spring, a damper and a force on the way."""
    rod = {
        n: hf.Body(
            mass=m, center=(x / 2, 0), inertia=m * x**2 / 12, points={f"{n}_end": (x, 0), f"{n}_mid": (x / 2, 0.1)}
        )
        for n, x, m in (("crank", 1, 1), ("coupler", 3, 2), ("rocker", 2, 3))
    }
    joints = {
        "a": hf.Revolute("ground", "crank"),
        "b": hf.Revolute("crank_end", "coupler"),
        "c": hf.Revolute("pivot", "rocker"),
        "d": hf.Revolute("coupler_end", "rocker_end"),
    }
    joints = {name: joints[name] for name in (*first, *(n for n in joints if n not in first))}
    system = hf.System(
        bodies=rod,
        joints=joints,
        points={"pivot": (3, 0)},
        gravity=(0, -9.81),
        potential="20*(distance(pivot, coupler_mid) - 1)**2",
        dissipation="3*dot(ddt(coupler_mid), ddt(coupler_mid))",
    )
    return system, {"a": 1.0, "a_dot": 2.0, "b": -0.7, "c": 1.6}


def test_a_joint_passes_on_what_its_multipliers_say_when_it_is_cut_instead():
    """The same motion, cut at d or at c: the reactions of c as a joint of the tree are its multipliers as a row."""
    law = hf.critically_damped(5)
    system, start = loop(("a", "b", "c", "d"))
    one = hf.derive(
        hf.assemble_start(hf.Problem(system, hf.Program(law=law), start=start), keep=("a", "a_dot")).problem
    )
    run = hf.simulate(one, hf.RK4, step=1e-3, duration=0.5)
    other, _ = loop(("a", "b", "d", "c"))
    begin = {"a": run["a"][0], "a_dot": run["a_dot"][0], "b": run["b"][0], "b_dot": run["b_dot"][0]}
    begin |= {"d": run["rocker_angle"][0] - run["coupler_angle"][0], "d_dot": run["rocker_w"][0] - run["coupler_w"][0]}
    two = hf.derive(hf.Problem(other, hf.Program(law=law), start={n: float(x) for n, x in begin.items()}))
    again = hf.simulate(two, hf.RK4, step=1e-3, duration=0.5)
    assert other.frames.layout.cut == ("c",)
    assert np.abs(again["a"] - run["a"]).max() < 1e-9
    # rows are r_pivot − r_rocker: the force on the rocker is −λ, in the ground's axes
    c, s = np.cos(run["rocker_angle"]), np.sin(run["rocker_angle"])
    fx, fy = run["c_fx"] * c - run["c_fy"] * s, run["c_fx"] * s + run["c_fy"] * c
    assert np.abs(fx + again["lambda_c_p1"]).max() < 1e-6
    assert np.abs(fy + again["lambda_c_p2"]).max() < 1e-6
    assert np.abs(run["c_mz"]).max() < 1e-8
    assert np.abs(run["b_mz"]).max() < 1e-8


def test_reactions_of_what_only_energies_state_are_refused_by_name():
    body = hf.Body(mass=1, inertia=1)
    pin = hf.coordinates("pin")
    system = hf.System(bodies={"b": body}, joints={"pin": hf.Revolute("ground", "b")}, kinetic=pin.rate**2)
    run = hf.simulate(hf.derive(hf.Problem(system)), hf.RK4, step=1e-2, duration=1e-1)
    with pytest.raises(hf.HoldfastError, match="bodies alone"):
        run["pin_fx"]
