"""Does gravity change how the mirror of the adaptive optics moves?  No; only the moment at the crank knows it."""

import sympy as sp

import holdfast as hf

r, phi = hf.coordinates("r phi")
R, c, m, g = hf.parameters("R c m g")
source = 2 * c + sp.cos(hf.time) / 2 - 1

system = hf.System(
    coordinates=(r, phi),
    kinetic=m * (r.rate**2 + r**2 * phi.rate**2) / 2,
    potential=m * g * r * sp.sin(phi),
    parameters={R: 3.4641, c: 3, m: 1, g: 9.81},
)
program = hf.Program(
    holonomic={"crank": r - R, "ray": source * (2 * sp.cos(phi) - R / c) - R},
    controls={"F": {r: 1}, "M": {phi: 1}},
    law=hf.SpringDamper(stiffness={"ray": 1}, damping={"ray": sp.Rational(4, 3)}),
)
problem = hf.Problem(system, program, start={r: R, phi: 0.4685, phi.rate: -0.005}, title="Adaptive optics")

equations = hf.derive(problem)
earth, moon = equations.evaluate(), equations.evaluate(parameters={g: 1.62})
print(f"phi'' = {earth['phi_ddot']:.9f} on Earth, {moon['phi_ddot']:.9f} on the Moon")
print(f"M     = {earth['M']:.6f} on Earth, {moon['M']:.6f} on the Moon")

assert abs(earth["phi_ddot"] - moon["phi_ddot"]) < 1e-13 and earth["M"] > 5 * moon["M"] > 0
