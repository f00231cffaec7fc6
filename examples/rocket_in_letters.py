"""Which thrust holds any climb zeta(t)?  P3 = m (zeta'' + g + f z'/V), for any mass m(t) and any drag f(z, V)."""

import sympy as sp

import holdfast as hf

x, z = hf.coordinates("x z")
g, k, b = hf.parameters("g k b")
m, eta, zeta = hf.functions("m eta zeta")  # of time, and not determined
f = hf.function("f", of=(z, x.rate, z.rate))  # the drag per mass, of height and speed

speed = sp.sqrt(x.rate**2 + z.rate**2)
drag = [-m * f * v / speed for v in (x.rate, z.rate)]
rocket = hf.MovingMass(position=(x, z), mass=m, force=(drag[0], drag[1] - m * g), thrust=("P1", "P3"))
program = hf.Program(
    holonomic={"range": x - eta, "height": z - zeta},
    controls={"P1": {x: 1}, "P3": {z: 1}},
    law=hf.SpringDamper(stiffness=k, damping=b),
)
equations = hf.derive(hf.Problem(hf.System(coordinates=(x, z), masses={"rocket": rocket}), program))
print(equations.summary())
print(hf.conditions(equations).summary())

height = hf.deviations("height")
on_program = equations.inverse_dynamics["P3"].subs({height: 0, height.rate: 0})
expected = m * (zeta.rate.rate + g + f * z.rate / speed)

assert sp.simplify(on_program - expected) == 0
