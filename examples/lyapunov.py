"""Does a rod whose spring changes with the swing still attract?  Yes, proved: one V falls at 2.3 a second all along."""

import holdfast as hf

x, y = hf.coordinates("x y")
d = hf.deviations("rod")

system = hf.System(coordinates=(x, y), kinetic=(x.rate**2 + y.rate**2) / 2, potential=9.81 * y)
rod = (x**2 + y**2 - 1) / 2
law = hf.SpringDamper(stiffness=20 + 5 * x, damping=8)  # roots of a frozen law would prove nothing
equations = hf.derive(hf.Problem(system, hf.Program(holonomic={"rod": rod}, law=law), start={x: 1}))

V = 22 * d**2 + 4 * d * d.rate + d.rate**2
found = hf.lyapunov(equations, V, region={x: (-1.1, 1.1)})
print(found)

wide = hf.lyapunov(equations, V, region={x: (-9, 9)})
print(f"over |x| <= 9: {wide.decreasing}")

assert found.positive.label == found.decreasing.label == "proved" and found.decreasing.numbers["rate"] > 2.3
assert wide.decreasing.label == "refuted"
