"""A Stewart platform with a cylinder and a rod in each leg (13 bodies, loops) beside Pinocchio's constraint dynamics.

Of Pinocchio, four bare calls of `constraintDynamics` from Python, one contact point for each leg, one proximal
iteration: less than a step of RK4 needs. Of Holdfast, steps of runs.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import holdfast as hf
from tests.bodies.mechanisms import BASE, TOP, stewart

STEPS = 1000  # of a burst: some milliseconds, of which the least of many is taken, with and without them
LEGS = range(6)
REST, STIFFNESS, DAMPING = 0.8, 5000.0, 50.0  # of the spring and damper in a leg, as `stewart` has them


def step_time() -> tuple[float, float, float]:
    """Seconds of a step by Holdfast, of four bare calls of Pinocchio, and how far their accelerations differ."""
    equations = hf.derive(stewart())
    first = hf.simulate(equations, hf.RK4, step=1e-6, duration=1e-6)
    theirs, names = pinocchio(first), [f"{n}_ddot" for i in LEGS for n in (f"foot{i}_1", f"foot{i}_2", f"leg{i}")]
    expected, own = np.array(theirs())[:18], np.array([first.at(name)[0] for name in names])
    off = float(np.abs(own - expected).max() / np.abs(expected).max())
    bare = lambda: [theirs() for _ in range(4)]  # noqa: E731
    return our_step(equations), min(timed(bare) for _ in range(2000)), off


def our_step(equations: hf.Equations) -> float:
    """Seconds of an RK4 step, without what a run costs beside its steps."""
    burst = lambda n: hf.simulate(equations, hf.RK4, step=1e-6, duration=n * 1e-6, every=n)  # noqa: E731
    for _ in range(3):
        burst(20 * STEPS)  # until the optimised kernel is there
    long, short = (min(timed(lambda n=n: burst(n)) for _ in range(300)) for n in (STEPS + 100, 100))
    return (long - short) / STEPS


def pinocchio(run: hf.Trajectory) -> Callable[[], Any]:
    """A bare call at the first state of a run."""
    import pinocchio as pin

    model = pin.Model()
    for i in LEGS:
        foot = pin.SE3(np.eye(3), np.array([*BASE[i], 0.0]))
        hook = model.addJoint(0, pin.JointModelRX(), foot, f"foot{i}_1")
        cylinder = model.addJoint(hook, pin.JointModelRY(), pin.SE3.Identity(), f"foot{i}_2")
        rod = model.addJoint(cylinder, pin.JointModelPZ(), pin.SE3.Identity(), f"leg{i}")
        _load(pin, model, cylinder, 1.5, 0.2, (0.02, 0.02, 0.001))
        _load(pin, model, rod, 0.8, -0.2, (0.01, 0.01, 0.0005))
    plate = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "plate")
    _load(pin, model, plate, 10.0, 0.0, (0.5, 0.6, 0.9))
    model.gravity.linear = np.array([0, 0, -9.81])
    contacts = pin.StdVec_RigidConstraintModel()
    for i in LEGS:
        top = pin.SE3(np.eye(3), np.array([*TOP[i], 0.0]))
        ends = (model.getJointId(f"leg{i}"), pin.SE3.Identity(), plate, top)
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL))
    data = model.createData()
    found = pin.StdVec_RigidConstraintData([contact.createData() for contact in contacts])
    pin.initConstraintDynamics(model, data, contacts, found)
    q, v, push = _state(run)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    return lambda: pin.constraintDynamics(model, data, q, v, push, contacts, found, settings)


def _load(pin: Any, model: Any, joint: int, mass: float, center: float, moments: tuple[float, ...]) -> None:
    inertia = pin.Inertia(mass, np.array([0, 0, center]), np.diag(moments))
    model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())


def _state(run: hf.Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, rates and pushes in the order of Pinocchio: legs, place and quaternion x y z w of the plate."""
    from scipy.spatial.transform import Rotation

    at = lambda name: float(run.at(name)[0])  # noqa: E731
    names = [n for i in LEGS for n in (f"foot{i}_1", f"foot{i}_2", f"leg{i}")]
    turn = np.array([[at(f"plate_r{i}{j}") for j in (1, 2, 3)] for i in (1, 2, 3)])
    place, speed = ([at(text.format(c)) for c in "xyz"] for text in ("plate_{}", "ddt(plate_{})"))
    q = np.array([*map(at, names), *place, *Rotation.from_matrix(turn).as_quat()])
    v = np.array([*(at(f"{name}_dot") for name in names), *(turn.T @ speed), *(at(f"plate_w{c}") for c in "xyz")])
    push = np.zeros(len(v))
    push[2:18:3] = -STIFFNESS * (q[2:18:3] - REST) - DAMPING * v[2:18:3]
    return q, v, push


def timed(call: Callable[[], Any]) -> float:
    began = perf_counter()
    call()
    return perf_counter() - began


if __name__ == "__main__":
    ours, theirs, off = step_time()
    print(f"{1e6 * ours:.2f} us, Pinocchio {1e6 * theirs:.1f} us, {theirs / ours:.1f} times; off by {off:.1e}")
