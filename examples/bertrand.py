"""Which force keeps a point on a conic at a constant areal velocity?  Newton's: c^2/(p r^2), towards the focus."""

import numpy as np
import sympy as sp

import holdfast as hf

x, y = hf.coordinates("x y")
ecc, p, c0 = hf.parameters("ecc p c0")

system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, parameters={ecc: 0.5, p: 1, c0: 1})
program = hf.Program(
    holonomic={"conic": sp.sqrt(x**2 + y**2) - ecc * x - p},
    nonholonomic={"areal": x * y.rate - y * x.rate - c0},
    controls={"X": {x: 1}, "Y": {y: 1}},
    law=hf.from_roots({"conic": (-1, -2), "areal": -1}),
)
start = {x: -p / (1 + ecc) - 0.05, x.rate: 0.02, y.rate: -(1 + ecc)}
problem = hf.Problem(system, program, start=start, title="Bertrand's problem")

equations = hf.derive(problem)
worst = 0.0
for angle in np.linspace(0.3, 6, 20):
    r = 1 / (1 - 0.5 * np.cos(angle))  # the conic
    turning = 1 / r**2  # the areal law
    growth = -0.5 * np.sin(angle) * r**2 * turning
    place, across = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    on_program = [*r * place, *(growth * place + r * turning * across)]
    force = equations.evaluate(on_program).controls
    worst = max(worst, float(np.abs(force + place / r**2).max()))
print(f"along the ellipse the force differs from Newton's by {worst:.0e}")

assert worst < 1e-13
