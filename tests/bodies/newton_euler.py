"""Trees of bodies by Kane's equations in the axes of the ground, in plain numbers: shares no code with the library.

    M = Σ m Jᵥᵀ Jᵥ + J_ωᵀ I J_ω,      h = Σ Jᵥᵀ m (g − a₀) − J_ωᵀ (I α₀ + ω × I ω)

where a₀ and α₀ are accelerations while the rates are held.
"""

from dataclasses import dataclass, field

import numpy as np


def about(axis, angle):
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def of_quaternion(p):
    p = np.array(p, float)
    w, x, y, z = p / np.linalg.norm(p)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@dataclass
class Moving:
    """One body: its carrier, the constant geometry of the joint, and the steps with their values now."""

    carrier: int
    outer: np.ndarray
    inner: np.ndarray
    turn: np.ndarray  # quaternion at zero
    steps: list  # ("turn" | "slide", axis, place, value) or ("ball", quaternion, places)
    mass: float
    center: np.ndarray
    inertia: np.ndarray  # about the centre, own axes
    state: dict = field(default_factory=dict)


def mass_and_bias(bodies, rates, gravity):
    """M and h of a tree, carriers first."""
    n = len(rates)
    M, h = np.zeros((n, n)), np.zeros(n)
    ground = dict(R=np.eye(3), o=np.zeros(3), w=np.zeros(3), al=np.zeros(3), u=np.zeros(3), a=np.zeros(3))
    ground |= dict(Jw=np.zeros((3, n)), Jv=np.zeros((3, n)))
    placed = []
    for body in bodies:
        now = dict(ground if body.carrier < 0 else placed[body.carrier])
        _move(now, now["R"] @ body.outer)
        now["R"] = now["R"] @ of_quaternion(body.turn)
        for kind, axis, places, *value in body.steps:
            _step(now, kind, axis, places, value, rates)
        _move(now, -now["R"] @ body.inner)
        placed.append(now)
        tip = dict(now)
        _move(tip, now["R"] @ body.center)
        inertia = now["R"] @ body.inertia @ now["R"].T
        M += body.mass * tip["Jv"].T @ tip["Jv"] + tip["Jw"].T @ inertia @ tip["Jw"]
        spin = tip["w"]
        h += tip["Jv"].T @ (body.mass * (gravity - tip["a"]))
        h -= tip["Jw"].T @ (inertia @ tip["al"] + np.cross(spin, inertia @ spin))
    return M, h, placed


def _move(now, r):
    """To another point of the same body."""
    w, al = now["w"], now["al"]
    now["o"] = now["o"] + r
    now["a"] = now["a"] + np.cross(al, r) + np.cross(w, np.cross(w, r))
    now["u"] = now["u"] + np.cross(w, r)
    now["Jv"] = now["Jv"] + np.cross(now["Jw"].T, r).T


def _step(now, kind, axis, places, value, rates):
    n = len(rates)
    if kind == "slide":
        d, (q,) = now["R"] @ axis, value
        rate = rates[places[0]]
        _move(now, d * q)
        now["a"] = now["a"] + 2 * rate * np.cross(now["w"], d)
        now["u"] = now["u"] + rate * d
        now["Jv"] = now["Jv"] + np.outer(d, np.eye(n)[places[0]])
        return
    if kind == "ball":
        now["R"] = now["R"] @ of_quaternion(axis)
        columns, relative = now["R"], now["R"] @ rates[list(places)]
    else:
        columns, relative = (now["R"] @ axis)[:, None], now["R"] @ axis * rates[places[0]]
        now["R"] = now["R"] @ about(axis, value[0])
    now["al"] = now["al"] + np.cross(now["w"], relative)
    now["w"] = now["w"] + relative
    for column, place in zip(columns.T, places, strict=True):
        now["Jw"] = now["Jw"] + np.outer(column, np.eye(n)[place])
