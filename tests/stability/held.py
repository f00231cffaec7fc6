"""Problems that the tests of tuning and certificates share."""

import numpy as np
import sympy as sp

import holdfast as hf

AIM = 0.4683  # phi at which the adaptive optics start on their program, roughly

ALL_SWINGS = {  # of the pendulum below, released at any angle up to the horizontal
    "x": (-1.01, 1.01),
    "y": (-1.01, 1.01),
    "x_dot": (-4.6, 4.6),
    "y_dot": (-4.6, 4.6),
    "energy": (-10, 0.05),
}
LOWER_SWINGS = {  # and up to 60 degrees
    "x": (-0.9, 0.9),
    "y": (-1.01, -0.45),
    "x_dot": (-3.2, 3.2),
    "y_dot": (-2.5, 2.5),
    "energy": (-10, -4.9),
}


def adaptive_optics() -> hf.Problem:
    """A mirror on a crank: the law holds the aim, and the crank only neutrally."""
    r, phi = hf.coordinates("r phi")
    m, g, R, c = hf.parameters("m g R c")
    distance = 2 * c + sp.cos(hf.time) / 2 - 1
    system = hf.System(
        coordinates=(r, phi),
        kinetic=m * (r.rate**2 + r**2 * phi.rate**2) / 2,
        potential=m * g * r * sp.sin(phi),
        parameters={m: 1, g: 9.81, R: 3.4641, c: 3},
    )
    program = hf.Program(
        holonomic={"radius": r - R, "aim": distance * (2 * sp.cos(phi) - R / c) - R},
        law=hf.SpringDamper(stiffness={"aim": 1}, damping={"aim": 1.25}),
    )
    start = sp.acos((sp.Rational(34641, 10000) / sp.Rational(11, 2) + sp.Rational(34641, 30000)) / 2)
    return hf.Problem(system, program, start={r: R, phi: float(start)}, run=hf.Run(start_policy="keep"))


def pendulum(angle: float = np.pi / 2, law: hf.SpringDamper | None = None) -> hf.Problem:
    """In Cartesian coordinates, released at rest at an angle from the vertical."""
    x, y = hf.coordinates("x y")
    g = hf.parameters("g")
    system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=g * y, parameters={g: 9.81})
    program = hf.Program(holonomic={"rod": (x**2 + y**2 - 1) / 2}, law=law or hf.SpringDamper(stiffness=25, damping=10))
    return hf.Problem(system, program, start={x: float(np.sin(angle)), y: -float(np.cos(angle))})


def double_pendulum(law: hf.SpringDamper | None = None) -> hf.Problem:
    """Two unit rods in Cartesian coordinates, released horizontal at rest."""
    x1, y1, x2, y2 = coordinates = hf.coordinates("x1 y1 x2 y2")
    g = hf.parameters("g")
    system = hf.System(
        coordinates=coordinates,
        kinetic=sum(c.rate**2 for c in coordinates) / 2,
        potential=g * (y1 + y2),
        parameters={g: 9.81},
    )
    rods = {"upper": (x1**2 + y1**2 - 1) / 2, "lower": ((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1) / 2}
    return hf.Problem(system, hf.Program(holonomic=rods, law=law or hf.Tuned()), start={x1: 1, x2: 2})
