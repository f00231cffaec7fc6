"""Which force and torque bring the cart home, the rod upright?  -1.077 N and -4.853 N m at first, in closed form."""

import sympy as sp

import holdfast as hf

x, phi = hf.coordinates("x phi")
m1, m2, l, g = hf.parameters("m1 m2 l g")

rod = hf.rate(sp.Matrix([x + l * sp.cos(phi), l * sp.sin(phi)]))  # velocity of its centre
system = hf.System(
    coordinates=(x, phi),
    kinetic=m1 * x.rate**2 / 2 + m2 * rod.dot(rod) / 2 + m2 * l**2 * phi.rate**2 / 6,
    potential=m2 * g * l * sp.sin(phi),
    parameters={m1: 10, m2: 1, l: 1, g: 9.81},
)
program = hf.Program(
    holonomic={"home": x, "upright": phi - sp.pi / 2},
    controls={"F": {x: 1}, "M": {phi: 1}},
    law=hf.SpringDamper(stiffness={"home": 1, "upright": 0.05}, damping={"home": 0.3, "upright": 0.1}),
)
problem = hf.Problem(system, program, start={x: 0.1, phi: 2 * sp.pi / 3}, title="Cart and rod")

equations = hf.derive(problem)
start = equations.evaluate()
for name, formula in equations.inverse_dynamics.items():
    print(name, "=", formula)
print(f"at the start F = {start['F']:.3f} N, M = {start['M']:.3f} N m")

assert abs(start["F"] + 1.0773275079) < 1e-10 and abs(start["M"] + 4.8533040447) < 1e-10
