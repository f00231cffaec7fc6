"""What does the rod of a pendulum carry at the lowest point?  Three times the weight, if let go from the horizontal."""

import holdfast as hf

x, z = hf.coordinates("x z")
m, g, l = hf.parameters("m g l")

system = hf.System(
    coordinates=(x, z),
    kinetic=m * (x.rate**2 + z.rate**2) / 2,
    potential=m * g * z,
    parameters={m: 1, g: 9.81, l: 1},
)
program = hf.Program(holonomic={"rod": (x**2 + z**2 - l**2) / 2}, law=hf.critically_damped(5))
problem = hf.Problem(system, program, start={x: l}, title="Pendulum in Cartesian coordinates")

equations = hf.derive(problem)
speed = (2 * 9.81) ** 0.5  # by energy
lowest = equations.evaluate({x: 0, z: -1, x.rate: speed})
print(equations.summary())
print(f"the rod pulls with {lowest['R_z']:.3f} N")

assert abs(lowest["R_z"] - 3 * 9.81) < 1e-12
