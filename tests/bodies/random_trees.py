"""Random trees of bodies, stated twice: for the library, and for `newton_euler`."""

from fractions import Fraction

import numpy as np

import holdfast as hf
from tests.bodies.newton_euler import Moving

JOINTS = ("revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "weld", "free")
AXES = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (2, 1, 2), (0, 3, -4)]


def decimal(x):
    return Fraction(round(float(x) * 1000), 1000)


def vector(random, size=3):
    return tuple(decimal(x) for x in random.uniform(-1, 1, size))


def inertia(random):
    """tr(S) E − S of second moments S: what masses somewhere have."""
    a = random.uniform(-1, 1, (3, 3))
    s = a @ a.T + 0.1 * np.eye(3)
    s = np.round(np.trace(s) * np.eye(3) - s, 3)
    return tuple(decimal(s[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))


def random_tree(seed, count, kinds=JOINTS):
    """A problem with `count` bodies, the same bodies as plain numbers, the rates by coordinate, and gravity."""
    random = np.random.default_rng(seed)
    bodies, joints, moving, start, rates = {}, {}, [], {}, {}
    for k in range(count):
        carrier = int(random.integers(-1, k)) if k else -1
        kind = kinds[int(random.integers(len(kinds)))] if k else "revolute"
        name, joint = f"b{k}", f"j{k}"
        outer, inner, m = vector(random), vector(random), inertia(random)
        body = hf.Body(
            mass=decimal(random.uniform(0.5, 2)),
            center=vector(random),
            inertia=m,
            points={f"{name}_in": inner, **{f"{name}_out{i}": vector(random) for i in range(2)}},
        )
        point = f"b{carrier}_out{int(random.integers(2))}" if carrier >= 0 else "ground"
        outer = np.array(bodies[f"b{carrier}"].points[point], float) if carrier >= 0 else np.zeros(3)
        turn = (1, *vector(random)) if random.uniform() < 0.7 else (1, 0, 1, 0)
        made, steps = _joint(random, kind, joint, point, f"{name}_in", turn, rates, start)
        bodies[name], joints[joint] = body, made
        full = [[m[0], m[3], m[4]], [m[3], m[1], m[5]], [m[4], m[5], m[2]]]
        moving.append(
            Moving(
                carrier, outer, np.array(inner, float), np.array(turn, float), steps, float(body.mass),
                np.array(body.center, float), np.array(full, float),
            )
        )  # fmt: skip
    gravity = vector(random)
    system = hf.System(bodies=bodies, joints=joints, gravity=gravity)
    return hf.Problem(system, start=start), moving, rates, np.array(gravity, float)


def _joint(random, kind, name, a, b, turn, rates, start):
    axis = AXES[int(random.integers(len(AXES)))]
    other = next(a for a in AXES[int(random.integers(3)) :] if np.linalg.norm(np.cross(a, axis)) > 0)
    unit, second = (np.array(x) / np.linalg.norm(x) for x in (axis, other))

    def single(word, along, suffix=""):
        q, v = decimal(random.uniform(-2, 2)), decimal(random.uniform(-2, 2))
        start[f"{name}{suffix}"], start[f"{name}{suffix}_dot"] = q, v
        rates[f"{name}{suffix}"] = float(v)
        return (word, along, (len(rates) - 1,), float(q))

    def ball():
        p, w = (1, *vector(random)), vector(random)
        start[name], start[f"{name}_spin"] = p, w
        rates.update({f"{name}_turn_{c}": float(x) for c, x in zip("xyz", w, strict=True)})
        return ("ball", p, tuple(range(len(rates) - 3, len(rates))))

    x, y, z = np.eye(3)
    if kind == "revolute":
        return hf.Revolute(a, b, axis=axis, orientation=turn), [single("turn", unit)]
    if kind == "prismatic":
        return hf.Prismatic(a, b, axis=axis, orientation=turn), [single("slide", unit)]
    if kind == "cylindrical":
        joint = hf.Cylindrical(a, b, axis=axis, orientation=turn)
        return joint, [single("slide", unit, "_slide"), single("turn", unit)]
    if kind == "universal":
        joint = hf.Universal(a, b, axis=axis, axis2=other, orientation=turn)
        return joint, [single("turn", unit, "_1"), single("turn", second, "_2")]
    if kind == "planar":
        joint = hf.Planar(a, b, axis="z", orientation=turn)
        return joint, [single("slide", x, "_x"), single("slide", y, "_y"), single("turn", z)]
    if kind == "spherical":
        return hf.Spherical(a, b, orientation=turn), [ball()]
    if kind == "free":
        steps = [single("slide", along, f"_{c}") for c, along in zip("xyz", (x, y, z), strict=True)]
        return hf.Free(a, b, orientation=turn), [*steps, ball()]
    return hf.Weld(a, b, orientation=turn), []
