"""Mechanisms of bodies that several tests use: a 6-R arm with the numbers of ur_description, and chains."""

from fractions import Fraction as F

import numpy as np

import holdfast as hf

QUARTER = (1, 0, 1, 0)  # about y
UNIT = (1, 0, 0, 0)
# name, place of the joint in the carrier, turn there, axis, mass, centre, inertia across and along z
UR5 = (
    ("shoulder", (0, 0, "0.089159"), UNIT, "z", "3.7", (0, 0, 0), ("0.010267495893", "0.00666")),
    ("upper_arm", (0, "0.13585", 0), QUARTER, "y", "8.393", (0, 0, "0.28"), ("0.22689067591", "0.0151074")),
    ("forearm", (0, "-0.1197", "0.425"), UNIT, "y", "2.275", (0, 0, "0.25"), ("0.049443313556", "0.004095")),
    ("wrist_1", (0, 0, "0.39225"), QUARTER, "y", "1.219", (0, 0, 0), ("0.111172755531", "0.21942")),
    ("wrist_2", (0, "0.093", 0), UNIT, "z", "1.219", (0, 0, 0), ("0.111172755531", "0.21942")),
    ("wrist_3", (0, 0, "0.09465"), UNIT, "y", "0.1879", (0, 0, 0), ("0.0171364731454", "0.033822")),
)  # fmt: skip
UR5_Q = (0.3, -1.1, 1.2, -0.7, 0.9, 0.4)
UR5_V = (0.5, -0.4, 0.3, 0.8, -0.6, 1.0)


def ur5(**more):
    """The arm: joint `pan` at the ground, then lift, elbow and three of the wrist."""
    names = ("pan", "lift", "elbow", "wrist_a", "wrist_b", "wrist_c")
    bodies, joints, points, carrier = {}, {}, {"base": tuple(F(x) for x in UR5[0][1])}, "base"
    for k, (name, _, turn, axis, mass, center, (across, along)) in enumerate(UR5):
        onward = {f"{name}_out": tuple(F(x) for x in UR5[k + 1][1])} if k < 5 else {}
        bodies[name] = hf.Body(
            mass=F(mass), center=tuple(map(F, center)), inertia=(F(across), F(across), F(along)), points=onward
        )
        joints[names[k]] = hf.Revolute(carrier, name, axis=axis, orientation=turn)
        carrier = f"{name}_out"
    system = hf.System(bodies=bodies, joints=joints, gravity=(0, 0, -9.81), points=points)
    start = dict(zip(names, UR5_Q, strict=True)) | {f"{n}_dot": v for n, v in zip(names, UR5_V, strict=True)}
    return hf.Problem(system, start=start, **more)


def chain(n):
    """n equal rods in a row, 1 m and 1 kg in all, hinged about x and y in turn."""
    L = m = F(1, n)
    thin = m * L * L / 12 + m * L * L / 200
    bodies = {
        f"rod{i}": hf.Body(
            mass=m, center=(0, 0, -L / 2), inertia=(thin, thin, m * L * L / 100), points={f"end{i}": (0, 0, -L)}
        )
        for i in range(n)
    }
    joints = {
        f"h{i}": hf.Revolute("ground" if i == 0 else f"end{i - 1}", f"rod{i}", axis="x" if i % 2 == 0 else "y")
        for i in range(n)
    }
    start = {f"h{i}": 0.4 * np.cos(0.7 * i) for i in range(n)}
    start |= {f"h{i}_dot": 0.3 * np.sin(1.3 * i + 0.2) for i in range(n)}
    return hf.Problem(hf.System(bodies=bodies, joints=joints, gravity=(0, 0, -9.81)), start=start)
