"""The same statement by coordinates of joints and by those of bodies; and bodies that lose mass."""

import numpy as np
import pytest

import holdfast as hf
from tests.bodies.random_trees import vector


def arm(placing, kind, random):
    """Two bodies in a row, the second on a joint of some kind."""
    more = {} if kind in (hf.Spherical, hf.Weld) else {"axis": "z"}
    shapes = [vector(random) for _ in range(4)]
    bodies = {
        "one": hf.Body(mass=1, center=shapes[0], inertia=(1, 2, 2.5), points={"out": shapes[1]}),
        "two": hf.Body(mass=2, center=shapes[2], inertia=(0.5, 0.6, 0.7, 0.1, 0, 0), points={"inner": shapes[3]}),
    }
    joints = {
        "first": hf.Revolute("ground", "one", axis=(1, 2, 2)),
        "second": kind("out", "inner", orientation=(2, 1, 0, 1), **more),
    }
    return hf.System(bodies=bodies, joints=joints, gravity=(0, 0, -9.81), placing=placing)


KINDS = (hf.Revolute, hf.Prismatic, hf.Cylindrical, hf.Spherical, hf.Planar, hf.Universal, hf.Weld)


QUICK = (hf.Revolute, hf.Spherical)


@pytest.mark.parametrize("kind", [k if k in QUICK else pytest.param(k, marks=pytest.mark.prove) for k in KINDS])
def test_both_placings_move_alike(kind):
    """From the pose and rates of one run, the other has the same accelerations of every point."""
    relative = arm("relative", kind, np.random.default_rng(4))
    names = [c.name for c in relative.coordinates]
    start = {name: 0.3 + 0.2 * k for k, name in enumerate(names) if "turn" not in name}
    start |= {f"{name}_dot": 0.5 - 0.3 * k for k, name in enumerate(names)}
    one = hf.derive(hf.Problem(relative, start=start))
    run = hf.simulate(one, hf.RK4, step=1e-3, duration=0.2)
    absolute = arm("absolute", kind, np.random.default_rng(4))
    begin = {}
    for body in ("one", "two"):
        R = np.array([[_at(run, f"{body}_r{i}{j}") for j in (1, 2, 3)] for i in (1, 2, 3)])
        w = np.sqrt(max(0.0, 1 + np.trace(R))) / 2
        skew = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
        begin |= {f"{body}_{c}": _at(run, f"{body}_{c}") for c in "xyz"}
        begin |= {f"{body}_{c}_dot": _at(run, f"ddt({body}_{c})") for c in "xyz"}
        begin |= {
            body: (w, *(s / (4 * w) for s in skew)),
            f"{body}_spin": tuple(_at(run, f"{body}_w{c}") for c in "xyz"),
        }
    assert set(absolute.frames.layout.cut) == {"first", "second"}
    problem = hf.Problem(absolute, hf.Program(law=hf.critically_damped(20)), start=begin)
    assert hf.loads(hf.dumps(problem)) == problem
    other = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=0.2)
    for name in ("two_x", "two_y", "two_z", "out_z", "inner_x"):
        assert np.abs(run[name] - other[name]).max() < 1e-8


def _at(run, name):
    return float(np.asarray(run[name])[0])


def test_a_body_that_burns_is_pushed_as_its_mass_is_left():
    """m(t) v' = F − m g: what leaves is at rest on the body, so that only the force moves it."""
    body = hf.Body(mass="m0 - burn*t", inertia=(1, 1, 1))
    system = hf.System(
        bodies={"b": body},
        gravity=(0, 0, "-g"),
        forces={"b_z": "F"},
        parameters={"m0": 10, "burn": 2, "g": 9.81, "F": 150},
    )
    problem = hf.Problem(system)
    assert hf.loads(hf.dumps(problem)) == problem
    run = hf.simulate(hf.derive(problem), hf.RK4, step=1e-3, duration=3)
    assert run["b_z_dot"][-1] == pytest.approx(75 * np.log(10 / 4) - 9.81 * 3, rel=1e-10)
    balance = run["power_forces"] + run["power_dissipation"] + run["power_held"] + run["power_explicit"]
    gained = np.trapezoid(balance, run.times)
    assert run["energy"][-1] - run["energy"][0] == pytest.approx(gained, rel=1e-6)
