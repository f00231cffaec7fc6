"""Whether two rests are one: the same place, the same turn, or places of one family.

A quaternion and its opposite are one turn, and nothing depends on the angles that spins would add up to. Along a family
in which bodies turn, quaternions are nowhere alike: there all else must be, and the energy too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.equations.equations import Equations

if TYPE_CHECKING:
    from holdfast.stability.linear.equilibria import Equilibrium

Array = np.ndarray
APART = 1e-6  # of the size of a state: rests nearer than this are one
TURN = 2 * np.pi
SAME = 1e-9  # of its size: what a full turn changes by less does not feel it


def wrapped(equations: Equations, state: Array, turning: Array) -> Array:
    """Angles between -π and π, quaternions of length 1 with their largest part positive, angles of spins at 0."""
    turned = state.copy()
    angles = (state[turning] + np.pi) % TURN - np.pi
    turned[turning] = np.where(angles < -np.pi + SAME, angles + TURN, angles)
    names = list(equations.state_names)
    for quaternion in _quaternions(equations):
        places = [names.index(name) for name in quaternion]
        p = turned[places]
        length = float(np.linalg.norm(p))
        if length > 0:
            turned[places] = p * np.sign(p[int(np.abs(p).argmax())]) / length
    spun = [names.index(name) for name in equations.problem.system.spun]
    turned[spun] = 0.0
    return turned


def _quaternions(equations: Equations) -> list[tuple[str, ...]]:
    frames = equations.problem.system.frames
    return [] if frames is None else [step.states for step in frames.layout.balls]


def alike(one: Equilibrium, other: Equilibrium, turning: Array) -> bool:
    """Whether two rests are one."""
    a, b = (np.array(list(rest.state.values())) for rest in (one, other))
    apart = a - b
    apart[turning] -= TURN * np.round(apart[turning] / TURN)
    size, names = 1.0 + max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0))), list(one.state)
    family, turned = {*one.family} | {*other.family}, set[str]()
    for quaternion in _quaternions(one.equations):
        places = [names.index(name) for name in quaternion]
        if float(np.abs(a[places] + b[places]).max()) <= APART * size:
            apart[places] = 0.0
        if family & set(quaternion):
            turned |= set(quaternion)
    same = one.word == other.word and (one.family == other.family or _one_turning_family(one, other, turned))
    free = family | turned if same else set()
    fixed = [k for k, name in enumerate(names) if name not in free]
    near = float(np.abs(apart[fixed]).max(initial=0.0)) <= APART * size
    return near and not (turned and same and _told_apart(one, other))


def _one_turning_family(one: Equilibrium, other: Equilibrium, turned: set[str]) -> bool:
    """Whether both are of families in which bodies turn, and differ in no other member."""
    return bool(turned and one.family and other.family) and {*one.family} - turned == {*other.family} - turned


def _told_apart(one: Equilibrium, other: Equilibrium) -> bool:
    """Whether energies differ: along a family they do not, while roots may."""
    energies = [rest.energy for rest in (one, other)]
    return abs(energies[0] - energies[1]) > APART * max(map(abs, energies))
