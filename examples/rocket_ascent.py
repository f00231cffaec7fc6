"""How fast must the exhaust leave to hold the climb?  1330.5 m/s at lift-off and 1021.6 m/s after half a minute."""

import numpy as np
import sympy as sp

import holdfast as hf

x, y, z = hf.coordinates("x y z")
t = hf.time
mass, burn = 100 - t, 1
speed = sp.sqrt(x.rate**2 + y.rate**2 + z.rate**2)
drag = mass * sp.Rational(1, 10**4) * sp.exp(-z / 8000) * speed

system = hf.System(
    coordinates=(x, y, z),
    kinetic=mass * speed**2 / 2,
    potential=mass * 9.81 * z,
    forces={c: -(drag + burn) * c.rate for c in (x, y, z)},  # the mass that leaves takes its momentum along
)
program = hf.Program(
    holonomic={"plane": x, "along": y - 40 * t - t**2 / 2, "climb": z - 60 * t - 1.5 * t**2},
    reactions=("plane",),
    controls={"P2": {y: 1}, "P3": {z: 1}},
    law=hf.SpringDamper(stiffness={"plane": 1, "along": 2, "climb": 4}, damping={"plane": 2, "along": 1.5, "climb": 2}),
)
start = {x: 0.5, y: 2, z: -1, x.rate: 0.1, y.rate: 39.5, z.rate: 60.3}
problem = hf.Problem(system, program, start=start, title="Rocket ascent")

equations = hf.derive(problem)


def exhaust(s):
    """The speed of the exhaust relative to the rocket, on the program: |P|/burn."""
    on_program = {x: 0, y: 40 * s + s**2 / 2, z: 60 * s + 1.5 * s**2, x.rate: 0, y.rate: 40 + s, z.rate: 60 + 3 * s}
    return float(np.linalg.norm(equations.evaluate(on_program, s).controls)) / burn


print(f"{exhaust(0):.1f} m/s at lift-off, {exhaust(30):.1f} m/s after 30 s")

assert abs(exhaust(0) - 1330.519805) < 1e-6 and abs(exhaust(30) - 1021.576678) < 1e-6
