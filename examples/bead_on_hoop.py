"""At which angle does a bead rest on a spinning hoop?  At arccos(g/(R omega^2)), 66.9 degrees from the bottom here."""

import numpy as np
import sympy as sp

import holdfast as hf

x, y, z = hf.coordinates("x y z")
m, g, R, omega, theta0 = hf.parameters("m g R omega theta0")
turn = omega * hf.time

system = hf.System(
    coordinates=(x, y, z),
    kinetic=m * (x.rate**2 + y.rate**2 + z.rate**2) / 2,
    potential=m * g * z,
    parameters={m: 1, g: 9.81, R: 1, omega: 5, theta0: 0.3},
)
program = hf.Program(
    holonomic={"plane": x * sp.sin(turn) - y * sp.cos(turn), "wire": x**2 + y**2 + z**2 - R**2},
    law=hf.Baumgarte(alpha=5, beta=5),
)
start = {x: R * sp.sin(theta0), z: -R * sp.cos(theta0), y.rate: omega * R * sp.sin(theta0)}
problem = hf.Problem(system, program, start=start, title="Bead on a spinning hoop")

equations = hf.derive(problem)
angle = np.arccos(9.81 / 25)
resting = equations.evaluate(parameters={theta0: angle})  # the start, with another angle
print(f"at {np.degrees(angle):.1f} degrees z'' = {resting['z_ddot']:.1e}; x'' = {resting['x_ddot']:.3f} is the turning")

assert abs(np.degrees(angle) - 66.9) < 0.05 and abs(resting["z_ddot"]) < 1e-14 and resting.norm() < 1e-14
