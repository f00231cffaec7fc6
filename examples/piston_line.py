"""What pressure does the line feel while the piston rests?  Half of the source's 100 Pa: both weigh the same."""

import holdfast as hf

x, Vol = hf.coordinates("x Vol")
m, c, I, R, p0, A = hf.parameters("m c I R p0 A")

system = hf.System(
    coordinates=(x, Vol),
    kinetic=m * x.rate**2 / 2 + I * Vol.rate**2 / 2,
    potential=c * x**2 / 2,
    dissipation=R * Vol.rate**2 / 2,
    forces={Vol: p0},
    parameters={m: 2, c: 50, I: 8, R: 6, p0: 100, A: 0.5},
)
program = hf.Program(holonomic={"join": Vol - A * x}, law=hf.SpringDamper(stiffness=25, damping=10))
problem = hf.Problem(system, program, title="Piston and line")

rest = hf.derive(problem).evaluate()
print(f"back pressure {rest['lambda_join']:.1f} Pa, piston acceleration {rest['x_ddot']:.1f} m/s^2")

assert abs(rest["lambda_join"] + 50) < 1e-12 and abs(rest["x_ddot"] - 12.5) < 1e-12
