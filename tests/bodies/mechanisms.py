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


def bennett(q1=1.1, v1=2.0, **program):
    """Bennett's four-bar: lengths 3 4 3 4 (tenths), twists with sines 3/5 and 4/5; tan(q1/2) tan(q2/2) = 5."""
    alpha, beta = (3, 1, 0, 0), (2, 1, 0, 0)
    lengths, masses = (F(3, 10), F(4, 10), F(3, 10)), (1, 2, 1)
    bodies = {
        name: hf.Body(
            mass=m,
            center=(x / 2, 0, 0),
            inertia=(m * x * x / 200, m * x * x / 12, m * x * x / 12 + m * x * x / 300),
            points={f"{name}_end": (x, 0, 0)},
        )
        for name, x, m in zip(("crank", "coupler", "rocker"), lengths, masses, strict=True)
    }
    joints = {
        "q1": hf.Revolute("ground", "crank", axis="z"),
        "q2": hf.Revolute("crank_end", "coupler", axis="z", orientation=alpha),
        "q3": hf.Revolute("coupler_end", "rocker", axis="z", orientation=beta),
        # the ground is the fourth link, from its joint with the rocker to that with the crank
        "q4": hf.Revolute("rocker_end", "ground_link", axis="z", orientation=alpha),
        "fixed": hf.Weld("ground", "ground_link", orientation=(2, -1, 0, 0)),
    }
    bodies["ground_link"] = hf.Body(mass=1, points={"ground_end": (F(4, 10), 0, 0)})
    joints["fixed"] = hf.Weld("ground", "ground_end", orientation=(2, -1, 0, 0))
    q2 = 2 * np.arctan(5 / np.tan(q1 / 2))
    v2 = -v1 * np.sin(q2) / np.sin(q1)
    start = {"q1": q1, "q2": q2, "q3": -q1, "q1_dot": v1, "q2_dot": v2, "q3_dot": -v1}
    system = hf.System(bodies=bodies, joints=joints, gravity=(0, 0, -9.81))
    law = program.pop("law", hf.critically_damped(10))
    return hf.Problem(system, hf.Program(law=law, **program), start=start)


RING = ((0.5909, -0.1042), (0.5909, 0.1042), (-0.2052, 0.5638), (-0.3857, 0.4596))
BASE = (*RING, *((x, -y) for x, y in reversed(RING[2:])))
RING = ((0.2571, -0.3064), (0.2571, 0.3064), (0.1368, 0.3759), (-0.3939, 0.0695))
TOP = (*RING, *((x, -y) for x, y in reversed(RING[2:])))


def stewart(law=None):
    """A Stewart platform with a cylinder and a rod in each leg, a spring and a damper between them: 13 bodies."""
    from scipy.spatial.transform import Rotation

    bodies = {
        "plate": hf.Body(mass=10, inertia=(0.5, 0.6, 0.9), points={f"a{i}": (x, y, 0) for i, (x, y) in enumerate(TOP)})
    }
    joints, points, start = {}, {f"b{i}": (x, y, 0) for i, (x, y) in enumerate(BASE)}, {}
    for i in range(6):
        bodies[f"cylinder{i}"] = hf.Body(mass=1.5, center=(0, 0, 0.2), inertia=(0.02, 0.02, 0.001))
        bodies[f"rod{i}"] = hf.Body(mass=0.8, center=(0, 0, -0.2), inertia=(0.01, 0.01, 0.0005))
        joints[f"foot{i}"] = hf.Universal(f"b{i}", f"cylinder{i}", axis="x", axis2="y")
        joints[f"leg{i}"] = hf.Prismatic(f"cylinder{i}", f"rod{i}", axis="z")
        joints[f"top{i}"] = hf.Spherical(f"rod{i}", f"a{i}")
    r, v, w = np.array([0.02, -0.01, 0.71]), np.array([0.1, 0.05, -0.1]), np.array([0.2, -0.1, 0.3])
    R = Rotation.from_rotvec([0.05, -0.04, 0.08]).as_matrix()
    for i in range(6):
        b, a = np.array([*BASE[i], 0]), np.array([*TOP[i], 0])
        u, ud = r + R @ a - b, v + R @ np.cross(w, a)
        L = np.linalg.norm(u)
        Ld = u @ ud / L
        second = np.arcsin(u[0] / L)
        start |= {f"foot{i}_1": np.arctan2(-u[1], u[2]), f"foot{i}_2": second, f"leg{i}": L, f"leg{i}_dot": Ld}
        start[f"foot{i}_1_dot"] = (-ud[1] * u[2] + u[1] * ud[2]) / (u[1] ** 2 + u[2] ** 2)
        start[f"foot{i}_2_dot"] = (ud[0] / L - u[0] * Ld / L**2) / np.cos(second)
    legs = [hf.coordinates(f"leg{i}") for i in range(6)]
    system = hf.System(
        bodies=bodies,
        joints=joints,
        points=points,
        gravity=(0, 0, -9.81),
        potential=sum(2500 * (leg - F(8, 10)) ** 2 for leg in legs),
        dissipation=sum(25 * leg.rate**2 for leg in legs),
    )
    one = Rotation.from_rotvec([start["foot0_1"], 0, 0]) * Rotation.from_rotvec([0, start["foot0_2"], 0])
    x, y, z, e = (one.inv() * Rotation.from_matrix(R)).as_quat()
    start["top0"] = (e, x, y, z)
    outer = one.inv().as_matrix() @ (
        np.array([start["foot0_1_dot"], 0, 0])
        + Rotation.from_rotvec([start["foot0_1"], 0, 0]).as_matrix() @ [0, start["foot0_2_dot"], 0]
    )
    start["top0_spin"] = tuple(w - Rotation.from_quat([x, y, z, e]).as_matrix().T @ outer)
    return hf.Problem(system, hf.Program(law=law or hf.critically_damped(10)), start=start)
